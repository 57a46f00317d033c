"""Columns of a table by name: files as data frames, arguments that name a column, and targets by category."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._internal.typing import Array
from .._internal.validation import MAX_ENTRY, as_matrix, as_scalar, as_vector, column_names, preview
from ..data.cells import Cells, read_cells
from ..data.tables import Table, as_frame
from ..errors import DataError
from ..estimators.reading import pandas_index, read_rows

__all__ = ["by_category", "named_column", "read_frame", "text_columns", "without_columns"]

#: names that an error lists
MAX_NAMES = 10


def read_frame(X: Any) -> Any:
    """A path as a data frame with numbers and text, or as a table of numbers if pandas and polars are missing.

    Anything else is returned as it is.
    """
    index = pandas_index(X)
    if index:
        return X.drop_columns(index)
    if not isinstance(X, str | os.PathLike):
        return X
    backend = next((b for b in ("pandas", "polars") if importlib.util.find_spec(b)), None)
    if backend is None or Path(X).suffix in (".npy", ".zarr") or os.path.isdir(X):
        return read_rows(X, "X")
    cells = read_cells(Path(X))
    return as_frame({name: _values(cells, name) for name in cells.columns}, backend)


def _values(cells: Cells, name: str) -> Any:
    """A column as numbers if all its cells are numbers, otherwise as text; nan or None where a value is missing."""
    missing = cells.missing(name)
    try:
        numbers = cells.take(~missing).numbers(name)
    except DataError:
        return [None if gone else text for gone, text in zip(missing, cells.texts(name), strict=True)]
    values = np.full(len(missing), np.nan)
    values[~missing] = numbers
    return values


def named_column(X: Any, value: Any, argument: str) -> Any:
    """The column of X that an argument names; an argument that is no text is returned as it is."""
    if not isinstance(value, str):
        return value
    if column_names(X) is None:
        raise DataError(argument, f"{preview(value)} names a column, and X has no names", "pass an array")
    column = _column(X, value, argument)
    return column if isinstance(column, np.ndarray) else column.to_native()


def text_columns(X: Any) -> list[str]:
    """Columns of a data frame that hold neither numbers nor truth values; none for anything else."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return []
    return [c.name for c in frame.iter_columns() if not (c.dtype.is_numeric() or c.dtype == nw.Boolean)]


def without_columns(X: Any, names: list[str]) -> Any:
    """X without some of its columns."""
    if not names:
        return X
    if isinstance(X, Table):
        return X.select(tuple(name for name in X.columns if name not in names))
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    kept = [i for i, name in enumerate(column_names(X) or ()) if name not in names]
    return frame[:, kept].to_native()


def by_category(X: Any, targets: Mapping[str, Any], total: float | None) -> tuple[Array, tuple[str, ...], Array]:
    """Features, their names and their targets, from targets of columns and of categories.

    Parameters
    ----------
    X : data frame or Table
        The sample.
    targets : mapping
        For each column its mean or total, or a mapping of its categories to their shares or sizes. Categories must sum
        to one, or to the ``total``; the first one follows from the others and gets no feature.
    total : float or None
        Size of the population, if targets are totals.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sex": ["f", "m", "f"], "age": [20, 30, 40]})
    >>> by_category(X, {"sex": {"f": 0.5, "m": 0.5}, "age": 31.0}, None)[1:]
    (('sex=m', 'age'), array([ 0.5, 31. ]))
    """
    import narwhals as nw

    parts: list[Array] = []
    names: list[str] = []
    wanted: list[float] = []
    for column, target in targets.items():
        values = _column(X, column, "targets")
        if isinstance(target, Mapping):
            cells = values.tolist() if isinstance(values, np.ndarray) else values.to_list()
            levels, sizes = _categories(cells, column, target, total)
            for level in levels[1:]:
                parts.append(np.array([cell == level for cell in cells], dtype=float))
                names.append(f"{column}={level}")
                wanted.append(sizes[level])
        else:
            if not isinstance(values, np.ndarray) and not (values.dtype.is_numeric() or values.dtype == nw.Boolean):
                remedy = f"give every category its own, targets={{{column!r}: {{category: target, …}}}}"
                raise DataError("targets", f"one number for {column!r}, which holds categories", remedy)
            numbers = values if isinstance(values, np.ndarray) else values.to_native()
            parts.append(as_matrix(numbers, "X", (column,), limit=MAX_ENTRY)[:, 0])
            names.append(column)
            wanted.append(as_scalar(target, "targets"))
    if not parts:
        raise DataError("targets", "are empty, or name only one category", "pass one for each column or category")
    return np.column_stack(parts), tuple(names), as_vector(wanted, "targets")


def _categories(
    cells: list[Any], column: str, target: Mapping[Any, Any], total: float | None
) -> tuple[list[Any], dict[Any, float]]:
    """Categories of a column in the order of their targets, and the targets; both must have the same categories."""
    if any(cell is None or str(cell) in ("nan", "<NA>", "NaT") for cell in cells):
        raise DataError("X", f"column {column!r} has missing values", "drop those rows or fill them in first")
    found = dict.fromkeys(cells)
    sizes = {level: as_scalar(size, "targets") for level, size in target.items()}
    for level in found:
        if level not in sizes:
            reason = f"{preview(level)} of column {column!r} has no target"
            raise DataError("targets", reason, "give every category of the sample one")
    for level, size in sizes.items():
        if level not in found and size != 0.0:
            reason = f"no row has {preview(level)} in column {column!r}"
            raise DataError("targets", reason, "merge this category with another one, in X and in the targets")
    whole, size = sum(sizes.values()), 1.0 if total is None else total
    if abs(whole - size) > 1e-6 * abs(size):
        remedy = f"pass shares that sum to 1, or total={whole:.10g}" if total is None else "make them sum to the total"
        raise DataError("targets", f"those of {column!r} sum to {whole:.10g}, not to {size:.10g}", remedy)
    return [level for level in sizes if level in found], sizes


def _column(X: Any, name: Any, argument: str) -> Any:
    """A column of a table with names, as an array or a series of narwhals."""
    columns = column_names(X) or ()
    if name not in columns:
        known = ", ".join(columns[:MAX_NAMES]) + (", …" if len(columns) > MAX_NAMES else "")
        raise DataError(argument, f"{preview(name)} is not a column of X", f"use one of {known}")
    if isinstance(X, Table):
        return X.column(name)
    import narwhals as nw

    return nw.from_native(X, eager_only=True)[:, columns.index(name)]
