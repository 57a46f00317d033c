"""Output of commands: text and tables in the terminal, output folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryFile

from rich import box
from rich.console import Console
from rich.table import Table

from .._internal.escaping import for_terminal
from ..data.files import check_overwrite, report_write_errors

__all__ = ["check_outputs", "make_folder", "new_console", "new_table", "show"]


def new_console() -> Console:
    """A console that prints text as it is: no markup in brackets, no emoji codes, no coloured numbers."""
    return Console(markup=False, emoji=False, highlight=False)


def show(text: str, *, wrap: bool = False) -> None:
    """Print text, with control characters, which names of files may hold, made visible; paths must not be wrapped."""
    new_console().print("\n".join(map(for_terminal, text.split("\n"))), soft_wrap=not wrap)


def new_table() -> Table:
    """A table that fits a terminal of eighty columns."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def check_outputs(paths: Iterable[Path], replace: bool) -> None:
    """Raise if one of the files exists, unless they may be replaced."""
    for path in () if replace else paths:
        with report_write_errors("--out", path):
            check_overwrite(path, "--out", "pass another place, or --replace to overwrite it")


def make_folder(out: Path) -> None:
    """Create the output folder, and check that it is writable before anything is computed."""
    with report_write_errors("--out", out):
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
