"""The duality explorer in the site: one file beside the pages, the one that ``pre-convex explore`` opens."""

from pathlib import Path

from sphinx.application import Sphinx

from pre_convex.teaching.explorer import page


def write(app: Sphinx, error: Exception | None) -> None:
    """Put the page where docs/explorer.md looks for it."""
    if error is None and app.builder.format == "html":
        place = Path(app.outdir) / "_static" / "duality-explorer.html"
        place.write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
