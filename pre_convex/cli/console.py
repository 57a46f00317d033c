"""Tables and output folders of commands."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile

from rich import box
from rich.table import Table

from ..data.files import report_write_errors

__all__ = ["make_folder", "new_table"]


def new_table() -> Table:
    """A table that fits a terminal of eighty columns."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def make_folder(out: Path) -> None:
    """Create the output folder, and check that it is writable before anything is computed."""
    with report_write_errors("--out", out):
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
