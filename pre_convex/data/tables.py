"""Tables of numbers with named columns, from CSV, Parquet and npz files; pickled objects are never read."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._internal.typing import Array
from .._internal.validation import as_choice, as_matrix, column_names, duplicate, first_line, read_only
from ..errors import DataError, MissingExtraError
from .csv_files import cell_number, has_decimal_comma, holds_number, is_number, is_row_index, open_csv
from .files import check_regular_file, read_npz, unreadable
from .parquet import ParquetSource

__all__ = ["TABLE_SUFFIXES", "Table", "as_frame", "read_table", "table_suffix"]


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers with named columns.

    Parameters
    ----------
    columns : tuple of str
        Column names.
    values : ndarray of shape (n, d)
        The numbers.

    Examples
    --------
    >>> table = Table(("a", "b"), np.array([[1.0, 2.0]]))
    >>> table.column("b"), table.without("b").columns
    (array([2.]), ('a',))
    """

    columns: tuple[str, ...]
    values: Array

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.asarray(self.values, dtype=dtype)

    def column(self, name: str) -> Array:
        """One column by name."""
        return np.asarray(self.values[:, self._index(name)])

    def without(self, name: str) -> Table:
        """The table without one column."""
        i = self._index(name)
        rest = tuple(c for j, c in enumerate(self.columns) if j != i)
        return Table(rest, np.delete(self.values, i, axis=1))

    def select(self, names: tuple[str, ...]) -> Table:
        """Some columns, in the order given."""
        return Table(names, self.values[:, [self._index(name) for name in names]])

    def _index(self, name: str) -> int:
        if name not in self.columns:
            raise DataError("column", f"there is no column {name!r}", f"use one of {', '.join(self.columns)}")
        return self.columns.index(name)


def as_frame(data: dict[str, Any], backend: str) -> Any:
    """Data frame of pandas or polars."""
    try:
        return importlib.import_module(as_choice(backend, "backend", ("pandas", "polars"))).DataFrame(data)
    except ImportError:
        raise MissingExtraError(backend) from None


def read_table(path: str | Path, columns: Sequence[str] = ()) -> Table:
    """Read a table of numbers; the file's suffix determines the format.

    Parameters
    ----------
    path : str or Path
        ``.csv``, ``.tsv`` and the same with ``.gz``: a header line, then numbers; an empty cell or line is an error,
        the separator is detected, and the index that pandas writes is left out. ``.parquet``: read with pyarrow,
        polars or pandas, whichever is installed. ``.npz``: an array ``x`` of shape (n, d) and, optionally, names
        ``columns``; other arrays of length n, such as a log-likelihood, become further columns.
    columns : sequence of str, default ()
        Columns to read, in this order; all if empty.

    Returns
    -------
    Table
    """
    path = Path(path)
    suffix = table_suffix(path)
    if suffix not in READERS:
        raise DataError(path, f"unknown suffix {path.suffix!r}", f"use {', '.join(READERS)}")
    try:
        check_regular_file(path)
        names, values = READERS[suffix](path, columns)
    except OSError as error:
        raise unreadable(path, error) from error
    return Table(names, read_only(values))


def table_suffix(path: Path) -> str:
    """The suffix that determines the format, in small letters; two of them for gzip files."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else (suffixes or [""])[-1]


def _positions(path: Path, names: tuple[str, ...], columns: Sequence[str]) -> list[int]:
    """Positions of the wanted columns; of all columns if none is named."""
    twice = duplicate(names)
    if twice is not None:
        raise DataError(path, f"duplicate column {twice!r}", "rename or drop one of them")
    for name in columns:
        if name not in names:
            raise DataError("columns", f"there is no column {name!r}", f"use one of {', '.join(names)}")
    return [names.index(name) for name in columns or names]


def _read_csv(path: Path, columns: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    """Names and numbers of the wanted columns; other columns may hold anything."""
    with open_csv(path) as lines:
        header = lines.header
        positions = _check_header(path, header, columns)
        rows = [_csv_row(path, lines.number, line, header, positions) for line in lines]
    if not rows:
        raise DataError(path, "has a header but no rows", "add at least one row")
    values = np.array(rows)
    if not header[positions[0]]:
        if len(positions) == 1 or not is_row_index(values[:, 0]):
            raise _nameless(path, positions[0])
        positions, values = positions[1:], values[:, 1:]
    return tuple(header[i] for i in positions), values


def _check_header(path: Path, header: tuple[str, ...], columns: Sequence[str]) -> list[int]:
    """Positions of the wanted columns in the header of a CSV file."""
    if not header:
        raise DataError(path, "is empty", "write a header line, then numbers")
    if all(is_number(cell) for cell in header):
        raise DataError(path, "has numbers in its first line", "add a header line with column names")
    positions = _positions(path, header, columns)
    nameless = next((i for i in positions if not header[i] and i > 0), None)  # the first may be the index of pandas
    if nameless is not None:
        raise _nameless(path, nameless)
    return positions


def _nameless(path: Path, column: int) -> DataError:
    """The error for a column without a name."""
    remedy = "name it or drop it (pandas: to_csv(..., index=False))"
    return DataError(path, f"column {column + 1} has no name", remedy)


def _csv_row(path: Path, number: int, line: list[str], header: tuple[str, ...], positions: list[int]) -> list[float]:
    """Numbers of the wanted cells of one line."""
    try:
        row = [cell_number(line[i]) for i in positions]
    except ValueError:
        row = [cell_number(line[i]) if holds_number(line[i]) else np.nan for i in positions]
    for i, value in zip(positions, row, strict=True):
        if value != value:
            reason = f"line {number}, column {header[i]!r} holds {line[i]!r}, which is not a number"
            remedy = "fill it in, drop the line or the column, or encode it as numbers"
            if has_decimal_comma(line[i]):
                remedy = "write numbers with a decimal point"
            raise DataError(path, reason, remedy)
    return row


def _read_parquet(path: Path, columns: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    """Names and numbers of the wanted columns."""
    path.open("rb").close()  # raises the system's OSError for an unreadable file
    if importlib.util.find_spec("pyarrow"):
        source = ParquetSource((str(path),))
        names = tuple(source.columns[i] for i in _positions(path, source.columns, columns))
        rows = source.shape[0]
        if not rows:
            raise DataError(path, "has no rows", "add at least one row")
        return names, as_matrix(source.select(names).read(0, rows), str(path), names)
    backend = next((b for b in ("polars", "pandas") if importlib.util.find_spec(b)), None)
    if backend is None:
        raise MissingExtraError("pyarrow", "files")
    try:
        frame = importlib.import_module(backend).read_parquet(path)
    except BaseException as error:  # a corrupt file raises many types, in polars one that is not an Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise DataError(path, f"is not a Parquet file ({first_line(error)})", "pass a valid Parquet file") from error
    names = column_names(frame) or ()
    names = tuple(names[i] for i in _positions(path, names, columns))
    return names, as_matrix(frame[list(names)] if columns else frame, str(path))


def _read_npz(path: Path, columns: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    """Array ``x``, and every other array with one number per row."""
    arrays = read_npz(path)
    if "x" not in arrays:
        raise DataError(path, f"has no array 'x' (found: {', '.join(arrays) or 'nothing'})", "store the samples as 'x'")
    x = as_matrix(arrays.pop("x"), f"{path}: x")
    names = arrays.pop("columns", np.array([f"x{i}" for i in range(x.shape[1])]))
    if names.shape != x.shape[1:]:
        raise DataError(path, f"{names.size} names for {x.shape[1]} columns", "store one name per column")
    extra = {name: a.ravel() for name, a in arrays.items() if a.size == len(x) and a.dtype.kind in "fiub"}
    values = np.column_stack([x, *(a.astype(float) for a in extra.values())])
    names = (*(str(n) for n in names), *extra)
    positions = _positions(path, names, columns)
    return tuple(names[i] for i in positions), values[:, positions]


#: readers by suffix
READERS = {
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), _read_csv),
    ".parquet": _read_parquet,
    ".npz": _read_npz,
}
#: suffixes of files that are always read into memory
TABLE_SUFFIXES = tuple(suffix for suffix in READERS if suffix != ".parquet")
