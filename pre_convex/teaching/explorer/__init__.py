"""The duality explorer: one page of plain JavaScript and SVG that needs no server and asks no host for anything."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["SCRIPTS", "page"]

#: in the order in which they need each other
SCRIPTS = (
    "norms.js",
    "linear.js",
    "geometry.js",
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
    "theme.js",
    "controls.js",
    "main.js",
)


def page() -> str:
    """The whole page as text, its style and its scripts inside.

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
