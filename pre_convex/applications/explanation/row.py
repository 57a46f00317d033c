"""One point with numeric columns, as callers give it: an array, a series, or a frame of one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ...arrays import as_matrix, as_vector, column_names
from ...checks import LARGEST
from ...entropy import Array
from ...errors import DataError

__all__ = ["Row", "frame_kind", "labels_of", "read_row"]


@dataclass(frozen=True, eq=False)
class Row:
    """A point as its caller gave it: values, names and labels of columns, and the kind of frame it came from."""

    values: Array
    names: tuple[str, ...]
    labels: tuple[Any, ...]
    backend: str | None

    def match(self, data: Any, name: str) -> Array:
        """Rows of data with the columns in the order of this point, found by name if the data has names."""
        rows = as_matrix(data, name, limit=LARGEST)
        if rows.shape[1] != self.values.size:
            raise DataError(f"{name}: has {rows.shape[1]} columns, x has {self.values.size}")
        columns = column_names(data)
        if columns is None:
            return rows
        missing = [c for c in self.names if c not in columns]
        if missing:
            raise DataError(f"{name}: lacks the column {missing[0]!r} of x")
        return rows[:, [columns.index(c) for c in self.names]]


def frame_kind(x: Any) -> str | None:
    """``"pandas"`` or ``"polars"`` for their frames and series, ``None`` for anything else."""
    root = type(x).__module__.split(".")[0]
    return root if root in ("pandas", "polars") else None


def labels_of(x: Any) -> tuple[Any, ...] | None:
    """Labels of the columns of a frame, or of the entries of a pandas series; ``None`` for anything else."""
    if hasattr(x, "collect"):  # a lazy frame, which warns when it is asked
        return None
    labels = getattr(x, "columns", None)
    if labels is None and hasattr(x, "to_frame"):
        labels = getattr(x, "index", None)
    return None if labels is None else tuple(labels)


def read_row(x: Any, data: Any = None) -> Row:
    """One point with numeric columns: an array, a series, or a frame of one row; names may come from the data."""
    if isinstance(x, str):
        raise DataError("x: is a text; leave the perturbation out, or use Words")
    backend = frame_kind(x) or frame_kind(data)
    if hasattr(x, "columns"):
        rows = as_matrix(x, "x", limit=LARGEST)
        if len(rows) != 1:
            raise DataError(f"x: has {len(rows)} rows; one point is explained at a time")
        values = rows[0]
    else:
        given = x.to_numpy() if hasattr(x, "to_numpy") else x  # a series may have mixed types
        try:
            shape = np.shape(given)
        except ValueError:
            raise DataError("x: holds rows of different lengths; pass one row of numbers") from None
        except Exception:  # what is no array is named below
            shape = ()
        if len(shape) > 1 and shape[0] != 1:
            raise DataError(f"x: has shape {shape}; pass one row of numbers, or use SuperPixels for an image")
        # a sparse row is refused as it is: not every SciPy can take it out of its matrix
        first = given[0] if len(shape) > 1 and not issparse(given) else given
        values = as_vector(first, "x", limit=LARGEST)
    labels = labels_of(x) or labels_of(data) or tuple(f"x{i}" for i in range(values.size))
    names = tuple(map(str, labels))
    if len(names) != values.size:
        raise DataError(f"x: has {values.size} entries, the data has {len(names)} columns")
    if len(set(names)) < len(names):
        raise DataError(f"x: the column {next(c for c in names if names.count(c) > 1)!r} stands there twice")
    return Row(values, names, labels, backend)
