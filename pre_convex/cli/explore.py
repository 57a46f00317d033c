"""``pre-convex explore``."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .app import app


@app.command()
def explore(
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("duality-explorer.html"),
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
) -> None:
    """Open the duality explorer: points to move, and the primal, the dual and the gap that move with them."""
    from ..files import write_text, writing
    from ..teaching.explorer import page

    # not in a hidden folder, nor in that for temporary files: browsers in a sandbox may read neither
    with writing("--out", out):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, page())
    console = Console(soft_wrap=True)
    console.print(f"Duality explorer: {out}", highlight=False)
    if show and not webbrowser.open(out.resolve().as_uri()):
        console.print("No browser was found; open the file in one. It needs no server and no network.")
