"""``pre-convex explore``: the duality explorer, a page for the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from .console import show


def explore(
    # not a temporary or hidden file by default: browsers in a sandbox may not read those
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("duality-explorer.html"),
    start: Annotated[bool, typer.Option("--open/--no-open", help="Open the file in the browser.")] = True,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a file that is not an explorer.")] = False,
) -> None:
    """Open the duality explorer: move points and watch the primal, the dual and the gap between them.

    Example, write the page and do not open it: pre-convex explore --no-open --out explorer.html
    """
    from ..data.files import check_overwrite, report_write_errors, write_text
    from ..teaching.explorer import is_page, page

    with report_write_errors("--out", out):
        if not replace:
            check_overwrite(out, "--out", "pass another name, or --replace to overwrite it", is_page)
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, page())
    show(f"Duality explorer: {out}")
    if start and not webbrowser.open(out.resolve().as_uri()):
        show("No browser found. Open the file in one; it needs no server and no network.")
