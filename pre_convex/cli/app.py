"""The app itself, and what its commands share."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from ..errors import DataError, PreConvexError

__all__ = ["app", "make_folder", "new_table", "run"]

app = typer.Typer(
    name="pre-convex",
    help="Posterior ratio estimation as convex programs, with a certificate for every answer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def run() -> None:
    """Run the app; errors the package raises on purpose become one line and exit code 2."""
    try:
        app()
    except PreConvexError as error:
        print(f"pre-convex: {error}", file=sys.stderr)
        sys.exit(2)


@app.callback(invoke_without_command=True)
def _main(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if show_version:
        print(f"pre_convex {version('pre_convex')}")
        raise typer.Exit


def new_table() -> Table:
    """A table that fits a terminal of eighty columns."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def make_folder(out: Path) -> None:
    """The folder of the results, found writable before anything is computed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise DataError(
            f"--out: cannot write to {out} ({error.strerror}); give a folder that can be written to"
        ) from error
