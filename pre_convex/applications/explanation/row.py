"""One row as passed by the caller: an array, a series, a mapping, or a frame of one row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._internal.typing import Array
from ..._internal.validation import MAX_ENTRY, as_matrix, as_vector, column_names, duplicate
from ...errors import DataError

__all__ = ["Row", "frame_library", "labels_of", "read_row", "read_table_row"]


@dataclass(frozen=True, eq=False)
class Row:
    """A point with numeric columns.

    Attributes
    ----------
    values : ndarray of shape (d,)
        The numbers.
    names : tuple of str
        Names of the columns.
    labels : tuple
        Their labels as the caller has them, which need not be strings.
    backend : {"pandas", "polars"} or None
        Library of the frame that x or the data came in.
    """

    values: Array
    names: tuple[str, ...]
    labels: tuple[Any, ...]
    backend: str | None

    def match(self, data: Any, name: str) -> Array:
        """Rows of data with columns in the order of this point, matched by name if the data has names."""
        rows = as_matrix(data, name, limit=MAX_ENTRY)
        if rows.shape[1] != self.values.size:
            raise DataError(
                name, f"has {rows.shape[1]} columns, x has {self.values.size}", "pass data with the columns of x"
            )
        columns = column_names(data)
        if columns is None:
            return rows
        missing = [c for c in self.names if c not in columns]
        if missing:
            raise DataError(name, f"lacks the column {missing[0]!r} of x", "pass data with the columns of x")
        return rows[:, [columns.index(c) for c in self.names]]


def frame_library(x: Any) -> str | None:
    """``"pandas"`` or ``"polars"`` for their frames and series, ``None`` for anything else."""
    root = type(x).__module__.split(".")[0]
    return root if root in ("pandas", "polars") else None


def labels_of(x: Any) -> tuple[Any, ...] | None:
    """Labels of the columns of a frame, or of the entries of a pandas series; ``None`` for anything else."""
    if hasattr(x, "collect"):  # asking a lazy frame for its columns issues a warning
        return None
    labels = getattr(x, "columns", None)
    if labels is None and hasattr(x, "to_frame"):
        labels = getattr(x, "index", None)
    return None if labels is None else tuple(labels)


def read_row(x: Any, data: Any = None) -> Row:
    """Read a point with numeric columns; names may come from the data."""
    if isinstance(x, str):
        raise DataError("x", "is text", "leave the perturbation out, or use Words()")
    backend = frame_library(x) or frame_library(data)
    values = _numbers(x)
    labels = labels_of(x) or labels_of(data) or tuple(f"x{i}" for i in range(values.size))
    names = tuple(map(str, labels))
    if len(names) != values.size:
        raise DataError(
            "x", f"has {values.size} entries, the data has {len(names)} columns", "pass one entry for each column"
        )
    twice = duplicate(names)
    if twice is not None:
        raise DataError("x", f"duplicate column {twice!r}", "rename one of the columns")
    return Row(values, names, labels, backend)


def _numbers(x: Any) -> Array:
    """The numbers of an array, a series, or a frame of one row."""
    if hasattr(x, "columns"):
        rows = as_matrix(x, "x", limit=MAX_ENTRY)
        if len(rows) != 1:
            raise DataError("x", f"has {len(rows)} rows", "pass one row")
        return np.asarray(rows[0])
    given = x.to_numpy() if hasattr(x, "to_numpy") else x  # a series may have mixed types
    try:
        shape = np.shape(given)
    except ValueError:
        raise DataError("x", "holds rows of different lengths", "pass one row of numbers") from None
    except Exception:  # as_vector says what is wrong with it
        shape = ()
    if len(shape) > 1 and shape[0] != 1:
        raise DataError("x", f"has shape {shape}", "pass one row of numbers, or use SuperPixels for an image")
    # as_vector refuses a sparse row; older SciPy cannot take it out of its matrix
    first = given[0] if len(shape) > 1 and not issparse(given) else given
    return as_vector(first, "x", limit=MAX_ENTRY)


def read_table_row(x: Any, names: list[str], argument: str) -> dict[str, Any]:
    """Values of any type by column name: from a mapping, a series, a frame of one row, or values in column order."""
    if (hasattr(x, "columns") and hasattr(x, "iloc")) or (frame_library(x) == "polars" and hasattr(x, "to_dicts")):
        if len(x) != 1:
            raise DataError(argument, f"has {len(x)} rows", "pass one row")
        x = x.iloc[0] if hasattr(x, "iloc") else x.to_dicts()[0]
    labels = labels_of(x)
    if isinstance(x, Mapping) or (labels is not None and hasattr(x, "items")):
        pairs = list(x.items())
        values = {str(key): value for key, value in pairs}
        if len(values) < len(pairs):
            columns = ", ".join(map(str, labels or x))
            raise DataError(argument, f"duplicate column name among {columns}", "rename one of the columns")
        missing = [name for name in names if name not in values]
        if missing:
            raise DataError(
                argument, f"lacks the columns {', '.join(missing)} of the data", "pass a value for each column"
            )
        return values
    try:
        entries = list(np.asarray(x, dtype=object).ravel())
    except ValueError:
        raise DataError(argument, "holds rows of different lengths", "pass one row of values") from None
    if len(entries) != len(names):
        raise DataError(
            argument, f"has {len(entries)} entries, the data has {len(names)} columns", "pass one entry for each column"
        )
    return dict(zip(names, entries, strict=True))
