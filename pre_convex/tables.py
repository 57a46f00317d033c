"""Tables from files: CSV, Parquet and npz, as named columns of numbers; never pickled objects."""

from __future__ import annotations

import csv
import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import as_choice, as_matrix, column_names, frozen
from .entropy import Array
from .errors import DataError, MissingExtraError
from .files import check_plain, read_npz
from .parquet import ParquetSource

__all__ = ["Table", "as_frame", "read_table"]


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of numbers.

    Examples
    --------
    >>> table = Table(("a", "b"), np.array([[1.0, 2.0]]))
    >>> table.column("b"), table.without("b").columns
    (array([2.]), ('a',))
    """

    columns: tuple[str, ...]
    values: Array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.asarray(self.values, dtype=dtype)

    def column(self, name: str) -> Array:
        """One column by name."""
        return np.asarray(self.values[:, self._index(name)])

    def without(self, name: str) -> Table:
        """The table less one column."""
        i = self._index(name)
        rest = tuple(c for j, c in enumerate(self.columns) if j != i)
        return Table(rest, np.delete(self.values, i, axis=1))

    def select(self, names: tuple[str, ...]) -> Table:
        """Some columns, in the order given."""
        return Table(names, self.values[:, [self._index(name) for name in names]])

    def _index(self, name: str) -> int:
        if name not in self.columns:
            raise DataError(f"column: {name!r} is not among {', '.join(self.columns)}")
        return self.columns.index(name)


def as_frame(data: dict[str, Any], backend: str) -> Any:
    """A data frame of pandas or polars."""
    try:
        return importlib.import_module(as_choice(backend, "backend", ("pandas", "polars"))).DataFrame(data)
    except ImportError:
        raise MissingExtraError(backend) from None


def read_table(path: str | Path, columns: Sequence[str] = ()) -> Table:
    """Read a table of numbers, or only some of its columns; the ending of the name says how.

    CSV: a header line, then numbers; an empty cell or line is an error that names its line. Parquet: through pyarrow,
    polars or pandas, whichever is installed. npz: an array ``x`` of shape (n, d) and, if the columns have names,
    ``columns``; other arrays of length n, such as a log-likelihood, are further columns.
    """
    path = Path(path)
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".npz": _read_npz}
    if path.suffix.lower() not in readers:
        raise DataError(f"{path}: the ending {path.suffix!r} is not known; use {', '.join(readers)}")
    try:
        check_plain(path)
        names, values = readers[path.suffix.lower()](path, columns)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    return Table(names, frozen(values))


def _places(path: Path, names: tuple[str, ...], columns: Sequence[str]) -> list[int]:
    """Where the columns stand; all of them if none is named."""
    if len(set(names)) != len(names):
        twice = next(c for c in names if names.count(c) > 1)
        raise DataError(f"{path}: the column {twice!r} stands there twice")
    for name in columns:
        if name not in names:
            raise DataError(f"columns: {name!r} is not among {', '.join(names)}")
    return [names.index(name) for name in columns or names]


def _read_csv(path: Path, columns: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    """Header and numbers; cells of other columns may hold anything."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            header = tuple(c.strip() for c in next(lines, []))
            if not header:
                raise DataError(f"{path}: is empty")
            if all(_is_number(cell) for cell in header):
                raise DataError(f"{path}: has no header; its first line holds numbers instead of names")
            places, rows, blank = _places(path, header, columns), [], 0
            nameless = next((i + 1 for i in places if not header[i]), None)
            if nameless is not None:  # what pandas makes of its index, which would be taken for a feature
                raise DataError(
                    f"{path}: column {nameless} has no name; name it, or take it out (pandas: to_csv(..., index=False))"
                )
            for line in lines:
                if not line:
                    blank = blank or lines.line_num
                    continue
                if blank:  # one at the end of the file is nothing, any other may be a missing value
                    raise DataError(f"{path}: line {blank} is empty; fill in what is missing, or take the line out")
                if len(line) != len(header):
                    raise DataError(
                        f"{path}: line {lines.line_num} has {len(line)} cells, the header has {len(header)}"
                    )
                try:
                    row = [float(line[i]) for i in places]
                    if any(v != v for v in row):
                        raise ValueError("nan")
                    rows.append(row)
                except ValueError:
                    i = next(i for i in places if not _is_number(line[i]) or float(line[i]) != float(line[i]))
                    raise DataError(
                        f"{path}: line {lines.line_num}, column {header[i]!r} holds {line[i]!r}, which is not a number"
                    ) from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not a CSV file in UTF-8 ({error.reason}); save it as such") from error
    except csv.Error as error:
        raise DataError(f"{path}: is not a CSV file ({error})") from error
    if not rows:
        raise DataError(f"{path}: has a header and no rows")
    return tuple(header[i] for i in places), np.array(rows)


def _is_number(cell: str) -> bool:
    """Whether float() takes a cell."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path, columns: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    """Columns of a Parquet file."""
    path.open("rb").close()  # the system's own words for a file that cannot be read
    if importlib.util.find_spec("pyarrow"):
        source = ParquetSource((str(path),))
        names = tuple(source.columns[i] for i in _places(path, source.columns, columns))
        rows = source.shape[0]
        if not rows:
            raise DataError(f"{path}: has no rows")
        return names, as_matrix(source.only(names).read(0, rows), str(path), names)
    backend = next((b for b in ("polars", "pandas") if importlib.util.find_spec(b)), None)
    if backend is None:
        raise MissingExtraError("pyarrow", "files")
    try:
        frame = importlib.import_module(backend).read_parquet(path)
    except BaseException as error:  # each has types of its own for a broken file, polars one that is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise DataError(f"{path}: is not a Parquet file ({str(error).splitlines()[0]})") from error
    names = column_names(frame) or ()
    names = tuple(names[i] for i in _places(path, names, columns))
    return names, as_matrix(frame[list(names)] if columns else frame, str(path))


def _read_npz(path: Path, columns: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    """Array ``x`` and whatever else has a row for each of its rows."""
    arrays = read_npz(path)
    if "x" not in arrays:
        raise DataError(f"{path}: has no array 'x'; it holds {', '.join(arrays) or 'nothing'}")
    x = as_matrix(arrays.pop("x"), f"{path}: x")
    names = arrays.pop("columns", np.array([f"x{i}" for i in range(x.shape[1])]))
    if names.shape != x.shape[1:]:
        raise DataError(f"{path}: {names.size} names for {x.shape[1]} columns")
    extra = {name: a.ravel() for name, a in arrays.items() if a.size == len(x) and a.dtype.kind in "fiub"}
    values = np.column_stack([x, *(a.astype(float) for a in extra.values())])
    names = (*(str(n) for n in names), *extra)
    places = _places(path, names, columns)
    return tuple(names[i] for i in places), values[:, places]
