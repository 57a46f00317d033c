"""Tables whose columns may hold text: the raw cells of a file, before they are encoded as numbers."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._internal.typing import Array, Mask
from .._internal.validation import duplicate, first_line
from ..errors import DataError, MissingExtraError
from .csv_files import cell_number, has_decimal_comma, holds_number, is_number, is_row_index, open_csv
from .files import check_regular_file, unreadable
from .tables import read_table, table_suffix

__all__ = ["Cells", "read_cells"]

#: cells, in small letters, that stand for a missing value
MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "<na>"))


@dataclass(frozen=True, eq=False)
class Cells:
    """Columns of a file, each an array of text or of numbers.

    Attributes
    ----------
    path : Path
        The file, for messages.
    columns : dict of str to ndarray
        Text has dtype object and an empty string where a value is missing; numbers have nan there.
    first : int
        Number of the first row in messages: lines of a CSV file count from 2, after the header, other rows from 0.
    """

    path: Path
    columns: dict[str, NDArray[Any]]
    first: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def check(self, names: Sequence[str], argument: str) -> None:
        """Raise unless all these columns exist."""
        for name in names:
            if name not in self.columns:
                known = ", ".join(self.columns)
                raise DataError(argument, f"{self.path} has no column {name!r}", f"use one of {known}")

    def missing(self, name: str) -> Mask:
        """Which rows have no value in a column."""
        values = self.columns[name]
        if values.dtype == object:
            return np.array([value.strip().lower() in MISSING for value in values], dtype=bool)
        return np.asarray(np.isnan(values), dtype=bool)

    def take(self, kept: Mask) -> Cells:
        """Some of the rows."""
        return Cells(self.path, {name: values[kept] for name, values in self.columns.items()}, self.first)

    def texts(self, name: str) -> list[str]:
        """A column as text; whole numbers without a decimal point."""
        values = self.columns[name]
        if values.dtype == object:
            return [value.strip() for value in values]
        return [str(int(value)) if value == int(value) else repr(float(value)) for value in values.tolist()]

    def numbers(self, name: str, option: str = "") -> Array:
        """A column as numbers; an option that needs them is named if it holds others."""
        values = self.columns[name]
        if values.dtype != object:
            bad = np.flatnonzero(np.isnan(values))
            if bad.size:
                raise self._not_a_number(name, int(bad[0]), "", option)
            return np.asarray(values, dtype=float)
        numbers = np.empty(len(values))
        for i, value in enumerate(values):
            try:
                numbers[i] = cell_number(value)
            except ValueError:
                raise self._not_a_number(name, i, value, option) from None
            if numbers[i] != numbers[i]:
                raise self._not_a_number(name, i, value, option)
        return numbers

    def holds_text(self, name: str) -> bool:
        """Whether most values of a column are no numbers."""
        values = self.columns[name][~self.missing(name)]
        return values.dtype == object and 2 * sum(map(holds_number, values)) < len(values)

    def _not_a_number(self, name: str, row: int, value: str, option: str = "") -> DataError:
        place = "line" if self.first else "row"
        if value.strip().lower() in MISSING:
            reason, remedy = "is missing", "fill it in, or pass --drop-missing"
        else:
            reason = f"holds {value!r}, which is not a number"
            if has_decimal_comma(value):
                remedy = "write numbers with a decimal point"
            elif option:
                remedy = f"encode it as numbers, which {option} needs"
            else:
                remedy = f"pass --categorical {name} if it holds categories, --key {name} if it identifies rows, or "
                remedy += f"--exclude {name}"
        return DataError(self.path, f"{place} {self.first + row}, column {name!r} {reason}", remedy)


def read_cells(path: Path) -> Cells:
    r"""All columns of a CSV, Parquet or npz file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "x.csv"
    ...     _ = path.write_text("age;sex\n31;f\n42;m\n")
    ...     cells = read_cells(path)
    >>> cells.numbers("age"), cells.texts("sex")
    (array([31., 42.]), ['f', 'm'])
    """
    suffix = table_suffix(path)
    try:
        check_regular_file(path)
        if suffix == ".parquet":
            return _parquet_cells(path)
        if suffix == ".npz":
            table = read_table(path)
            return Cells(path, {name: table.column(name) for name in table.columns}, 0)
        if suffix in (".csv", ".csv.gz", ".tsv", ".tsv.gz"):
            return _csv_cells(path)
    except OSError as error:
        raise unreadable(path, error) from error
    raise DataError(path, f"unknown suffix {path.suffix!r}", "use .csv, .csv.gz, .tsv, .parquet or .npz")


def _csv_cells(path: Path) -> Cells:
    with open_csv(path) as lines:
        header = lines.header
        if not header:
            raise DataError(path, "is empty", "write a header line, then rows")
        if all(is_number(cell) for cell in header):
            raise DataError(path, "has numbers in its first line", "add a header line with column names")
        _check_names(path, header[1:] if header[0] == "" else header)
        rows = list(lines)
    if not rows:
        raise DataError(path, "has a header but no rows", "add at least one row")
    columns = zip(*rows, strict=True)
    found = Cells(path, {name: _objects(cells) for name, cells in zip(header, columns, strict=True)}, 2)
    if header[0] == "":
        index = found.columns.pop("")
        if not found.columns or not all(map(is_number, index)) or not is_row_index(np.array(index, dtype=float)):
            _check_names(path, header)
    return found


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _check_names(path: Path, names: Sequence[str]) -> None:
    twice = duplicate(tuple(names))
    if twice is not None:
        raise DataError(path, f"duplicate column {twice!r}", "rename or drop one of them")
    if "" in names:  # pandas writes its index like this
        remedy = "name it or drop it (pandas: to_csv(..., index=False))"
        raise DataError(path, f"column {list(names).index('') + 1} has no name", remedy)


def _parquet_cells(path: Path) -> Cells:
    import narwhals as nw

    backend = next((b for b in ("polars", "pandas") if importlib.util.find_spec(b)), None)
    try:
        if importlib.util.find_spec("pyarrow"):
            frame = nw.from_native(importlib.import_module("pyarrow.parquet").read_table(path))
        elif backend is not None:
            frame = nw.from_native(importlib.import_module(backend).read_parquet(path), eager_only=True)
        else:
            raise MissingExtraError("pyarrow", "files")
    except MissingExtraError:
        raise
    except BaseException as error:  # a corrupt file raises many types, in polars one that is not an Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise DataError(path, f"is not a Parquet file ({first_line(error)})", "pass a valid Parquet file") from error
    if not len(frame):
        raise DataError(path, "has no rows", "add at least one row")
    _check_names(path, frame.columns)
    return Cells(path, {column.name: _from_series(column) for column in frame.iter_columns()}, 0)


def _from_series(series: Any) -> NDArray[Any]:
    """Numbers as they are, anything else as text; missing values as nan or as an empty string."""
    import narwhals as nw

    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        values = series.cast(nw.Float64).to_list()
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return _objects(["" if value is None else str(value) for value in series.to_list()])
