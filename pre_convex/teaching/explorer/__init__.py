"""The duality explorer: one self-contained page of plain JavaScript and SVG, without a server or network access."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["SCRIPTS", "is_page", "page"]

#: in dependency order
SCRIPTS = (
    "norms.js",
    "linear.js",
    "geometry.js",
    "divergences.js",
    "linked.js",
    "tilt.js",
    "step.js",
    "certificate.js",
    "solver.js",
    "model.js",
    "presets.js",
    "link.js",
    "state.js",
    "numbers.js",
    "svg.js",
    "player.js",
    "panels/frame.js",
    "panels/views.js",
    "panels/contours.js",
    "panels/marks.js",
    "panels/lanes.js",
    "panels/scatter.js",
    "panels/samples.js",
    "panels/hull.js",
    "panels/primal.js",
    "panels/weights.js",
    "panels/gap.js",
    "panels/ratio.js",
    "drag.js",
    "words.js",
    "questions.js",
    "task.js",
    "given.js",
    "theme.js",
    "controls.js",
    "main.js",
)


def page() -> str:
    """The page as HTML, with style and scripts inlined.

    Examples
    --------
    >>> text = page()
    >>> text.startswith("<!doctype html>"), "src=" in text, "http-equiv" in text
    (True, False, False)
    """
    here = files(__name__)
    script = "\n".join(here.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)
    style = here.joinpath("style.css").read_text(encoding="utf-8")
    text = here.joinpath("page.html").read_text(encoding="utf-8")
    return text.replace("/*style*/", style).replace("/*script*/", script)


def is_page(path: Path) -> bool:
    """Whether a file is the page, of this version or another."""
    with path.open("rb") as file:
        return b"<title>Duality explorer \xc2\xb7 pre_convex</title>" in file.read(1000)
