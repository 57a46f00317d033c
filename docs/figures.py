"""Figures of the examples: ``make picture`` runs the code of each page up to its ``figure`` and stores that."""

import re
from pathlib import Path

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def draw(page: Path) -> None:
    """Store the figure of a page beside it, if it makes one."""
    names: dict[str, object] = {}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(block, names)
        if "figure" in names:
            names["figure"].savefig(page.with_suffix(".png"), dpi=90, metadata={"Software": None})  # type: ignore[attr-defined]
            return


if __name__ == "__main__":
    for page in [*sorted(DOCS.glob("examples/*.md")), DOCS / "howto" / "balance-groups.md"]:
        draw(page)
