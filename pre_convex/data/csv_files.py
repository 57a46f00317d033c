"""CSV files as text: gzip and the separator are detected; cells stay strings."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._internal.typing import Array
from .._internal.validation import parse_number
from ..errors import DataError
from .files import CORRUPT_FILE_ERRORS, GUARDED_BYTES, MAX_RATIO

__all__ = ["CsvLines", "cell_number", "has_decimal_comma", "holds_number", "is_number", "is_row_index", "open_csv"]

#: separators that are looked for in the header; the first wins a tie
SEPARATORS = ",;\t|"
#: first bytes of a gzip file
GZIP = b"\x1f\x8b"


def cell_number(cell: str) -> float:
    """The number in a cell; 1 and 0 for true and false.

    Examples
    --------
    >>> cell_number("1.5"), cell_number("True")
    (1.5, 1.0)
    """
    try:
        return parse_number(cell)
    except ValueError:
        truth = cell.strip().lower()
        if truth in ("true", "false"):
            return float(truth == "true")
        raise


def holds_number(cell: str) -> bool:
    """Whether a cell is a number or a truth value."""
    return _is_valid(cell_number, cell)


def is_number(name: str) -> bool:
    """Whether the name of a column is a number."""
    return _is_valid(parse_number, name)


def _is_valid(read: Callable[[str], float], cell: str) -> bool:
    try:
        read(cell)
    except ValueError:
        return False
    return True


def has_decimal_comma(cell: str) -> bool:
    """Whether a cell looks like a number with a decimal comma, which could also separate thousands.

    Examples
    --------
    >>> has_decimal_comma("98,4"), has_decimal_comma("98.4")
    (True, False)
    """
    return re.fullmatch(r"[+-]?\d+,\d+", cell.strip()) is not None


def is_row_index(values: Array) -> bool:
    """Whether a column without a name holds row numbers, as pandas writes them: whole, and each of them once."""
    return bool(np.all(values == np.round(values)) and len(np.unique(values)) == len(values))


@dataclass(eq=False)
class CsvLines:
    """The header and the lines of an open CSV file.

    Attributes
    ----------
    path : Path
    header : tuple of str
        Column names; empty for an empty file.
    separator : str
    number : int
        Number of the last line that was read, from 1.
    """

    path: Path
    header: tuple[str, ...]
    separator: str
    number: int
    _file: io.TextIOBase

    def __iter__(self) -> Iterator[list[str]]:
        """Lines of cells, each as long as the header; blank lines at the end are skipped, others are an error."""
        lines, blank, before = csv.reader(self._file, delimiter=self.separator), 0, self.number
        for line in lines:
            self.number = before + lines.line_num
            if not line:
                blank = blank or self.number
                continue
            if blank:  # it may be a missing value
                raise DataError(self.path, f"line {blank} is empty", "fill it in or remove it")
            if len(line) != len(self.header):
                reason = f"line {self.number} has {len(line)} cells, the header has {len(self.header)}"
                raise DataError(self.path, reason, "give every line one cell per column")
            yield line


@contextmanager
def open_csv(path: Path) -> Iterator[CsvLines]:
    """Header and lines of a CSV file in UTF-8, which may be compressed by gzip.

    Commas, semicolons, tabs and vertical bars separate cells: the one that gives the header most cells is taken.
    """
    try:
        with _open_text(path) as file:
            first, separator = "", SEPARATORS[0]
            for line in file:  # a quoted name may hold a line break
                first += line
                if first.count('"') % 2 == 0:
                    break
            if first:
                separator = max(SEPARATORS, key=lambda mark: len(_cells(first, mark)))
            header = tuple(cell.strip() for cell in _cells(first, separator))
            yield CsvLines(path, header, separator, first.count("\n") or 1, file)
    except UnicodeDecodeError as error:
        raise DataError(path, f"is not text in UTF-8 ({error.reason})", "save it in UTF-8") from error
    except csv.Error as error:
        raise DataError(path, f"is not a CSV file ({error})", "save it as CSV") from error


def _cells(text: str, separator: str) -> list[str]:
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])


def _open_text(path: Path) -> io.TextIOBase:
    """The file as text; a gzip file is unpacked in memory."""
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
    if not packed:
        return path.open(newline="", encoding="utf-8-sig")
    limit = max(GUARDED_BYTES, MAX_RATIO * path.stat().st_size)
    try:
        with gzip.open(path) as unpacked:
            content = unpacked.read(limit + 1)
    except (OSError, *CORRUPT_FILE_ERRORS) as error:
        raise DataError(path, f"is not an intact gzip file ({error})", "compress it again") from error
    if len(content) > limit:
        raise DataError(path, "unpacks to an implausible size", "unpack it first")
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
