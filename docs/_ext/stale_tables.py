"""A warning above every table that quotes a stored result whose code has changed since."""

import os.path
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from stale import stale_quotes  # noqa: E402


def warn(text: str, quotes: dict[str, str]) -> str:
    """Put a warning in front of the marks of stale tables."""
    for mark, sentence in quotes.items():
        start = f"<!-- {mark} -->"
        text = text.replace(start, f"```{{warning}}\n{sentence}\n```\n\n{start}")
    return text


def _find(app: Sphinx, config: Config) -> None:
    config.stale_tables = stale_quotes()  # pages are read again when this changes


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = warn(source[0], app.config.stale_tables.get(f"docs/{docname}.md", {}))


def _read_included(app: Sphinx, path: Path, docname: str, source: list[str]) -> None:
    page = os.path.relpath(app.srcdir / path, ROOT)
    source[0] = warn(source[0], app.config.stale_tables.get(Path(page).as_posix(), {}))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_config_value("stale_tables", {}, "env")
    app.connect("config-inited", _find)
    app.connect("source-read", _read)
    app.connect("include-read", _read_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
