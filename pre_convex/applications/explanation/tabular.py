"""Perturbation of tables with numeric and categorical columns, as pandas frames or arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._internal.typing import Array
from ..._internal.validation import (
    MAX_ENTRY,
    as_fraction,
    as_matrix,
    as_scalar,
    column_names,
    duplicate,
    preview,
    read_only,
)
from ...data.tables import as_frame
from ...errors import DataError
from .neighbourhood import dimensions
from .row import frame_library, labels_of, read_table_row

__all__ = ["CategoricalColumn", "NumericColumn", "TableNeighbourhood", "Tabular"]


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """A numeric column around x; its feature is the number itself.

    Attributes
    ----------
    name : str
        Name of the column, and of its feature.
    value : float
        Value of x.
    low, high : float
        Range to draw from.
    step : float
        Half-width of the box.
    integer : bool
        Whether the column holds whole numbers.
    """

    name: str
    value: float
    low: float
    high: float
    step: float
    integer: bool

    @property
    def feature(self) -> str:
        """Name of the feature."""
        return self.name

    @property
    def origin(self) -> float:
        """Feature of x itself."""
        return self.value

    def draw(self, n: int, keep: float, rng: np.random.Generator) -> Array:
        """Random numbers from the range."""
        if self.integer:
            return rng.integers(int(np.ceil(self.low)), int(np.floor(self.high)), n, endpoint=True).astype(float)
        return np.asarray(rng.uniform(self.low, self.high, n))

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """Values of the column for features z."""
        return z

    def encode(self, values: Any) -> Array:
        """Features of given values."""
        try:
            numbers = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            numbers = np.array([np.nan])
        if not np.all(np.abs(numbers) <= MAX_ENTRY):  # False for nan
            raise DataError(
                "z", f"column {self.name!r} holds values that are not numbers up to 1e100", "pass finite numbers"
            )
        return numbers

    def in_dtype(self, dtype: Any) -> NumericColumn:
        """The column itself; raise if the type of the data cannot hold the value of x."""
        inner = getattr(dtype, "numpy_dtype", dtype)
        if hasattr(dtype, "categories") or getattr(inner, "kind", "O") != "f":
            _convert(self.name, self.value, dtype)
            return self
        with np.errstate(all="ignore"):  # rounding to a short float is harmless, overflow is not
            if not np.isfinite(np.array([self.value]).astype(inner))[0]:
                raise _not_representable(self.name, self.value, dtype)
        return self


@dataclass(frozen=True, eq=False)
class CategoricalColumn:
    """A categorical column around x; its feature is 1 for the category of x and 0 for any other.

    Attributes
    ----------
    name : str
        Name of the column.
    value : object
        Category of x.
    alternatives : list
        The other categories of the data.
    frequencies : ndarray
        Their relative frequencies, which sum to one.
    """

    name: str
    value: Any
    alternatives: list[Any]
    frequencies: Array

    @property
    def feature(self) -> str:
        """Name of the feature."""
        return f"{self.name} = {self.value}"

    @property
    def origin(self) -> float:
        """Feature of x itself."""
        return 1.0

    @property
    def step(self) -> float:
        """A typical step of the feature: from one category to another."""
        return 1.0

    def draw(self, n: int, keep: float, rng: np.random.Generator) -> Array:
        """Ones with probability ``keep``, otherwise zeros; all ones if there is no other category."""
        return (rng.random(n) < keep).astype(float) if self.alternatives else np.ones(n)

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """Values of the column: the category of x, or a random other one where z is 0."""
        values = np.empty(len(z), dtype=object)
        values[:] = [self.value] * len(z)
        off = np.flatnonzero(z < 0.5)
        if off.size:
            drawn = rng.choice(len(self.alternatives), off.size, p=self.frequencies)
            values[off] = [self.alternatives[j] for j in drawn]
        return values

    def encode(self, values: Any) -> Array:
        """Features of given values."""
        return np.array([float(_same(value, self.value)) for value in values])

    def in_dtype(self, dtype: Any) -> CategoricalColumn:
        """The column with the value of x in the type of the data."""
        return replace(self, value=_convert(self.name, self.value, dtype))


Column = NumericColumn | CategoricalColumn


@dataclass(frozen=True, eq=False)
class TableNeighbourhood:
    """Rows of a table around x: numbers from a box, categories kept or replaced.

    Attributes
    ----------
    columns : tuple of NumericColumn or CategoricalColumn
        The columns.
    keep : float
        Probability that a category is kept.
    types : tuple of dtypes, or dtype
        Types of the columns of the frame that the black box reads, or the type of an array.
    labels : tuple
        Labels of that frame's columns, which need not be strings.
    block_size : int
        Number of rows to make and predict at a time.
    """

    columns: tuple[Column, ...]
    keep: float
    types: Any
    labels: tuple[Any, ...]
    block_size: int = 100_000

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, with the category of x if they are categorical."""
        return tuple(column.feature for column in self.columns)

    @property
    def origin(self) -> Array:
        """Numbers of x, and 1 for each category."""
        return read_only(np.array([column.origin for column in self.columns]))

    @property
    def unit(self) -> Array:
        """Half-widths, and 1 for each category."""
        return read_only(np.array([column.step for column in self.columns]))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Features of n random rows."""
        return np.column_stack([column.draw(n, self.keep, rng) for column in self.columns])

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """Rows as the black box reads them; a category that is off becomes a random other one."""
        data = {column.name: column.inputs(z[:, i], rng) for i, column in enumerate(self.columns)}
        if not isinstance(self.types, tuple):
            return np.column_stack(list(data.values())).astype(self.types)
        frame = as_frame(data, "pandas").astype(dict(zip(data, self.types, strict=True)))
        return frame.set_axis(list(self.labels), axis=1)

    def encode(self, rows: Any) -> Array:
        """Features of one row or more; if the data is a frame, numbers without names are features already."""
        names = [column.name for column in self.columns]
        if column_names(rows) is not None:
            labels = [str(label) for label in rows.columns]
            missing = [name for name in names if name not in labels]
            if missing:
                raise DataError("z", f"lacks the columns {', '.join(missing)}", "pass a value for each column")
            return np.column_stack([c.encode(rows[rows.columns[labels.index(c.name)]]) for c in self.columns])
        if isinstance(rows, Mapping) or labels_of(rows) is not None:
            row = read_table_row(rows, names, "z")
            return np.column_stack([column.encode([row[column.name]]) for column in self.columns])
        framed = isinstance(self.types, tuple)
        if dimensions(rows) < 1:
            raise DataError("z", f"{preview(rows)} is not a row", "pass rows of the table, or features")
        values = np.asarray(rows)
        values = values[None, :] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise DataError(
                "z", f"has shape {values.shape} for {len(self.columns)} columns", "pass one value for each column"
            )
        if framed:
            return as_matrix(rows if dimensions(rows) == 2 else values, "z", limit=MAX_ENTRY)
        return np.column_stack([column.encode(values[:, i]) for i, column in enumerate(self.columns)])


@dataclass(frozen=True, eq=False)
class Tabular:
    """Rows of a table: numbers from a box within the range of the data, categories kept or replaced.

    The feature of a categorical column is 1 if a row has the category of x. A category that is not kept is replaced by
    another one, drawn as often as it occurs in the data; missing values are never drawn. Numbers vary uniformly around
    x, whole numbers by whole numbers.

    Parameters
    ----------
    data : pandas frame, or array of shape (n, d)
        A sample of typical inputs of the black box, which then gets frames with the same columns and types, or arrays.
    categorical : sequence of names or indices, default ()
        Columns to treat as categorical, besides those that do not hold numbers; boolean columns are categorical.
    half_width : float, default 1.0
        Half-width of the box in standard deviations of each column, positive.
    keep : float, default 0.5
        Probability that a category is kept, between 0 and 1. Far from ½ a category is rarely replaced or rarely kept,
        and intervals need many more rows.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": [30, 50, 40], "job": ["cook", "smith", "cook"]})
    >>> Tabular(data).around(data.iloc[0]).names
    ('age', 'job = cook')
    """

    data: Any
    categorical: Any = ()
    half_width: float = 1.0
    keep: float = 0.5

    def around(self, x: Any) -> TableNeighbourhood:
        """The neighbourhood of a row.

        Parameters
        ----------
        x : mapping, series, frame of one row, or values in the order of the columns
            The row to explain. Each value must fit the type of its column.

        Returns
        -------
        TableNeighbourhood
            Random rows around x.
        """
        frame, labels, types = self._table()
        row = read_table_row(x, list(frame.columns), "x")
        categorical = self._categorical_names(list(frame.columns))
        width = as_scalar(self.half_width, "half_width")
        if not 0.0 < width <= MAX_ENTRY:
            raise DataError(
                "half_width", f"{width:g} is not between 0 and {MAX_ENTRY:g}", "pass a number of standard deviations"
            )
        columns: list[Column] = [
            _categorical_column(name, row[name], frame[name])
            if name in categorical or not _holds_numbers(frame[name])
            else _numeric_column(name, row[name], frame[name], width)
            for name in frame.columns
        ]
        by_column = types if isinstance(types, tuple) else (types,) * len(columns)
        columns = [column.in_dtype(dtype) for column, dtype in zip(columns, by_column, strict=True)]
        return TableNeighbourhood(tuple(columns), as_fraction(self.keep, "keep"), types, labels)

    def _table(self) -> tuple[Any, tuple[Any, ...], Any]:
        """The data as a pandas frame with string names, its labels, and its types, or the type of an array."""
        data = self.data
        types: Any
        if frame_library(data) == "pandas" and hasattr(data, "columns"):
            frame, types = data, tuple(data.dtypes)
        else:
            sparse = hasattr(data, "nnz") or np.ma.is_masked(data)
            if sparse or dimensions(data) != 2 or hasattr(data, "columns"):
                raise DataError(
                    "data",
                    "is neither a pandas frame nor an array of shape (n, d)",
                    "pass one of them; use x.to_pandas() or x.toarray()",
                )
            array = np.asarray(data)
            frame = as_frame({f"x{i}": column for i, column in enumerate(array.T)}, "pandas").infer_objects()
            types = np.dtype(str) if array.dtype.kind == "U" else array.dtype  # text of x may be longer than the data's
        if len(frame) == 0 or frame.shape[1] == 0:
            raise DataError("data", f"is empty, shape {frame.shape}", "pass at least one row and one column")
        labels = tuple(frame.columns)
        names = [str(label) for label in labels]
        twice = duplicate(names)
        if twice is not None:
            raise DataError("data", f"duplicate column {twice!r}", "rename one of the columns")
        return frame.set_axis(names, axis=1), labels, types

    def _categorical_names(self, columns: list[str]) -> set[str]:
        """Names of the columns that the user calls categorical."""
        if isinstance(self.categorical, str) or not np.iterable(self.categorical):
            raise DataError(
                "categorical",
                f"{self.categorical!r} is not a sequence of columns",
                f"pass a list such as [{columns[0]!r}]",
            )
        names = set()
        for each in self.categorical:
            index = isinstance(each, (int, np.integer)) and not isinstance(each, bool)
            if str(each) in columns:
                names.add(str(each))
            elif index and -len(columns) <= each < len(columns):
                names.add(columns[each])
            else:
                raise DataError("categorical", f"{each!r} is not a column of the data", "pass names or indices")
        return names


def _holds_numbers(column: Any) -> bool:
    """Whether a pandas column holds numbers; booleans are categories."""
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)  # nullable pandas types wrap one of NumPy's
    return getattr(kind, "kind", "O") in "iuf"


def _numeric_column(name: str, value: Any, data: Any, width: float) -> NumericColumn:
    """A numeric column: the box around x, within the range of the data."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise DataError("x", f"column {name!r} is {value!r}", "fill it first, or list the column in categorical")
    known = data.dropna().to_numpy(dtype=float)
    known = known[np.isfinite(known)]
    if known.size == 0:
        raise DataError("data", f"column {name!r} has no finite value", "drop the column, or list it in categorical")
    deviation = float(known.std())
    integer = data.dtype.kind in "iu"
    if integer and np.abs(known).max() > 2**53:
        raise DataError(
            "data", f"column {name!r} has whole numbers above 2**53, which floats round", "list it in categorical"
        )
    step = max(width * (deviation or 1.0), 1.0 if integer else 0.0)
    low, high = max(number - step, min(known.min(), number)), min(number + step, max(known.max(), number))
    return NumericColumn(name, number, float(low), float(high), step, integer)


def _categorical_column(name: str, value: Any, data: Any) -> CategoricalColumn:
    """A categorical column: the other categories of the data and their frequencies."""
    try:
        counts = {each: count for each, count in data.dropna().value_counts().items() if count > 0}
    except TypeError:
        raise DataError(
            "data", f"column {name!r} holds unhashable values, such as lists", "drop or encode the column"
        ) from None
    others = [each for each in counts if not _same(each, value)]
    frequencies = np.array([float(counts[each]) for each in others])
    return CategoricalColumn(name, value, others, frequencies / frequencies.sum() if others else frequencies)


def _convert(name: str, value: Any, dtype: Any) -> Any:
    """A value in the type of a column; raise if the type cannot hold it."""
    boxed = np.empty(1, dtype=object)
    boxed[0] = converted = value
    try:
        with np.errstate(all="ignore"):
            if hasattr(dtype, "categories"):  # pandas would turn an unknown category into a missing value
                fits = _is_missing(value) or value in dtype.categories
            else:
                converted = as_frame({"x": boxed}, "pandas")["x"].astype(dtype).iloc[0]
                fits = _same(converted, value)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise _not_representable(name, value, dtype)
    return converted


def _not_representable(name: str, value: Any, dtype: Any) -> DataError:
    """The error about a value of x that the type of its column cannot hold."""
    return DataError(
        "x",
        f"column {name!r} is {value!r}, which its type {dtype} in the data cannot hold",
        "change x, or the type of the column",
    )


def _same(a: Any, b: Any) -> bool:
    """Whether two categories are equal; all missing values are."""
    if _is_missing(a) or _is_missing(b):
        return _is_missing(a) and _is_missing(b)
    return bool(np.all(a == b))


def _is_missing(value: Any) -> bool:
    """Whether a value is None, nan, pandas.NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))
