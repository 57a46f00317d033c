"""``pre-convex explore``: the duality explorer, a page for the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def explore(
    # not a temporary or hidden file by default: browsers in a sandbox may not read those
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("duality-explorer.html"),
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the file in the browser.")] = True,
) -> None:
    """Open the duality explorer: move points and watch the primal, the dual and the gap between them."""
    from ..data.files import report_write_errors, write_text
    from ..teaching.explorer import page

    with report_write_errors("--out", out):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, page())
    console = Console(soft_wrap=True)
    console.print(f"Duality explorer: {out}", highlight=False)
    if show and not webbrowser.open(out.resolve().as_uri()):
        console.print("No browser found. Open the file in one; it needs no server and no network.")
