"""Tables with numeric and categorical columns, as pandas frames or arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import as_matrix, as_scalar, column_names, frozen, shown
from ...checks import LARGEST
from ...entropy import Array
from ...errors import DataError
from ...tables import as_frame
from .perturbations import chance, dimensions
from .row import frame_kind, labels_of

__all__ = ["Column", "TableNeighbourhood", "Tabular"]


@dataclass(frozen=True, eq=False)
class Column:
    """One column around x.

    Attributes
    ----------
    name : str
    value : object
        What x has in it.
    low, high, step : float
        Numeric: the range that is drawn from, and the half-width of the box.
    whole : bool
        Numeric: whether it holds whole numbers.
    others, shares : list, ndarray
        Categorical: the other categories of the data, and how frequent they are among themselves.
    """

    name: str
    value: Any
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0
    whole: bool = False
    others: Any = None
    shares: Array | None = None

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers."""
        return self.shares is None

    @property
    def feature(self) -> str:
        """Name of the feature: the column, or that it has the category of x."""
        return self.name if self.numeric else f"{self.name} = {self.value}"

    def encode(self, values: Any) -> Array:
        """Feature of given values: the number, or 1 for the category of x and 0 for any other."""
        if self.numeric:
            try:
                numbers = np.asarray(values, dtype=float)
            except (TypeError, ValueError):
                numbers = np.array([np.nan])
            if not np.all(np.abs(numbers) <= LARGEST):  # nan is not
                raise DataError(f"z: column {self.name!r} holds values that are not finite numbers, 1e100 at most")
            return numbers
        return np.array([float(_same(v, self.value)) for v in values])


@dataclass(frozen=True, eq=False)
class TableNeighbourhood:
    """Rows of a table around x: numbers from a box, categories kept or exchanged.

    Attributes
    ----------
    columns : tuple of Column
    keep : float
    types : tuple of dtypes, or dtype
        Types of the columns of the frame that the black box reads, or the type of an array.
    labels : tuple
        Labels of the columns of that frame, which need not be texts.
    """

    columns: tuple[Column, ...]
    keep: float
    types: Any
    labels: tuple[Any, ...]
    at_once: int = 100_000

    @property
    def names(self) -> tuple[str, ...]:
        """Columns, or columns with the category of x."""
        return tuple(c.feature for c in self.columns)

    @property
    def origin(self) -> Array:
        """Numbers of x; 1 for every category."""
        return frozen(np.array([float(c.value) if c.numeric else 1.0 for c in self.columns]))

    @property
    def unit(self) -> Array:
        """Half-widths; 1 for every category."""
        return frozen(np.array([c.step for c in self.columns]))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Numbers from the box, coins for the categories."""
        return np.column_stack([self._draw(c, n, rng) for c in self.columns])

    def _draw(self, column: Column, n: int, rng: np.random.Generator) -> Array:
        if not column.numeric:
            return (rng.random(n) < self.keep).astype(float) if len(column.others) else np.ones(n)
        if column.whole:
            return rng.integers(int(np.ceil(column.low)), int(np.floor(column.high)), n, endpoint=True).astype(float)
        return np.asarray(rng.uniform(column.low, column.high, n))

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """Rows as the black box reads them; a category that is exchanged becomes another one of the data."""
        data: dict[str, Any] = {}
        for i, column in enumerate(self.columns):
            if column.numeric:
                data[column.name] = z[:, i]
            else:
                values = np.empty(len(z), dtype=object)
                values[:] = [column.value] * len(z)
                off = np.flatnonzero(z[:, i] < 0.5)
                if off.size:
                    drawn = rng.choice(len(column.others), off.size, p=column.shares)
                    values[off] = [column.others[j] for j in drawn]
                data[column.name] = values
        if not isinstance(self.types, tuple):
            return np.column_stack(list(data.values())).astype(self.types)
        frame = as_frame(data, "pandas").astype(dict(zip(data, self.types, strict=True)))
        return frame.set_axis(list(self.labels), axis=1)

    def encode(self, rows: Any) -> Array:
        """Features of rows of the table, or of one; for a table of frames, numbers without names are features."""
        if column_names(rows) is not None:
            names = [str(label) for label in rows.columns]
            missing = [c.name for c in self.columns if c.name not in names]
            if missing:
                raise DataError(f"z: lacks the columns {', '.join(missing)}")
            return np.column_stack([c.encode(rows[rows.columns[names.index(c.name)]]) for c in self.columns])
        if isinstance(rows, Mapping) or labels_of(rows) is not None:
            row = _row(rows, [c.name for c in self.columns], "z")
            return np.column_stack([c.encode([row[c.name]]) for c in self.columns])
        framed = isinstance(self.types, tuple)
        if dimensions(rows) < 1:
            raise DataError(f"z: {shown(rows)} is no row; pass rows of the table, or features")
        values = np.asarray(rows)
        values = values[None, :] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise DataError(f"z: has shape {values.shape} for {len(self.columns)} columns")
        if framed:
            return as_matrix(rows if dimensions(rows) == 2 else values, "z", limit=LARGEST)
        return np.column_stack([c.encode(values[:, i]) for i, c in enumerate(self.columns)])


@dataclass(frozen=True, eq=False)
class Tabular:
    """Numeric columns from a box within the range of the data, categorical ones kept or exchanged.

    The feature of a categorical column is whether a row has the category of x: kept with a chance, otherwise another
    category is drawn as often as the data has it; missing values are never drawn. Numbers vary uniformly within some
    standard deviations of x, whole numbers by whole numbers.

    Parameters
    ----------
    data : pandas frame, or array of shape (n, d)
        A sample of what the black box usually reads; it is asked about frames with the same columns and types, or
        about arrays.
    categorical : sequence of names or indices, optional
        Columns of categories beside those that hold no numbers; truth values count as categories.
    half_width : float
        In standard deviations of a column.
    keep : float
        Probability that a category is kept; near ½, or every column needs some dozens of rows that exchange it.

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
        """The neighbourhood of a row."""
        framed = frame_kind(self.data) == "pandas" and hasattr(self.data, "columns")
        sparse = hasattr(self.data, "nnz") or np.ma.is_masked(self.data)
        if not framed and (sparse or dimensions(self.data) != 2 or hasattr(self.data, "columns")):
            raise DataError("data: is neither a pandas frame nor an array of shape (n, d)")
        frame = self.data
        if not framed:
            frame = as_frame({f"x{i}": column for i, column in enumerate(np.asarray(frame).T)}, "pandas")
            frame = frame.infer_objects()
        if len(frame) == 0 or frame.shape[1] == 0:
            raise DataError(f"data: is empty, shape {frame.shape}")
        labels = tuple(frame.columns)
        frame = frame.set_axis([str(label) for label in labels], axis=1)
        if frame.columns.has_duplicates:
            raise DataError(f"data: the column {frame.columns[frame.columns.duplicated()][0]!r} stands there twice")
        row = _row(x, list(frame.columns), "x")
        names = self._categorical(list(frame.columns))
        width = as_scalar(self.half_width, "half_width")
        if width <= 0.0:
            raise DataError(f"half_width: {width:g} is not positive")
        if width > LARGEST:
            raise DataError(f"half_width: {width:g} is beyond {LARGEST:g}; it counts standard deviations")
        columns = [
            _category(name, row[name], frame[name])
            if name in names or not _holds_numbers(frame[name])
            else _number(name, row[name], frame[name], width)
            for name in frame.columns
        ]
        types: Any = tuple(frame.dtypes)
        if not framed:
            types = np.asarray(self.data).dtype
            types = np.dtype(str) if types.kind == "U" else types  # a text of x may be longer than those of the data
        columns = [_in_type(column, types[i] if framed else types) for i, column in enumerate(columns)]
        return TableNeighbourhood(tuple(columns), chance(self.keep, "keep"), types, labels)

    def _categorical(self, columns: list[str]) -> set[str]:
        """Names of the columns that are called categorical."""
        if isinstance(self.categorical, str) or not np.iterable(self.categorical):
            raise DataError(f"categorical: {self.categorical!r} is not a sequence of columns, such as [{columns[0]!r}]")
        names = set()
        for each in self.categorical:
            whole = isinstance(each, (int, np.integer)) and not isinstance(each, bool)
            if str(each) in columns:
                names.add(str(each))
            elif whole and -len(columns) <= each < len(columns):
                names.add(columns[each])
            else:
                raise DataError(f"categorical: {each!r} is not a column of the data")
        return names


def _row(x: Any, names: list[str], argument: str) -> dict[str, Any]:
    """Values of x by column: a mapping, a series, a frame of one row, or values in the order of the columns."""
    if hasattr(x, "columns") and hasattr(x, "iloc"):
        if len(x) != 1:
            raise DataError(f"{argument}: has {len(x)} rows; one point is explained at a time")
        x = x.iloc[0]
    if frame_kind(x) == "polars" and hasattr(x, "to_dicts"):
        if len(x) != 1:
            raise DataError(f"{argument}: has {len(x)} rows; one point is explained at a time")
        x = x.to_dicts()[0]
    labels = labels_of(x)
    if isinstance(x, Mapping) or (labels is not None and hasattr(x, "items")):
        pairs = list(x.items())
        found = {str(key): value for key, value in pairs}
        if len(found) < len(pairs):
            raise DataError(f"{argument}: a column stands there twice among {', '.join(map(str, labels or x))}")
        missing = [name for name in names if name not in found]
        if missing:
            raise DataError(f"{argument}: lacks the columns {', '.join(missing)} of the data")
        return found
    try:
        values = list(np.asarray(x, dtype=object).ravel())
    except ValueError:
        raise DataError(f"{argument}: holds rows of different lengths; pass one row of values") from None
    if len(values) != len(names):
        raise DataError(f"{argument}: has {len(values)} entries, the data has {len(names)} columns")
    return dict(zip(names, values, strict=True))


def _in_type(column: Column, kind: Any) -> Column:
    """The column with x's value in its type, if that can hold it."""
    inner = getattr(kind, "numpy_dtype", kind)
    given = np.empty(1, dtype=object)
    given[0] = value = column.value
    try:
        with np.errstate(all="ignore"):
            if hasattr(kind, "categories"):  # pandas would turn an unknown one into a missing one
                held = _missing(value) or value in kind.categories
            elif column.numeric and inner.kind == "f":
                held = bool(np.isfinite(given.astype(inner))[0])  # digits that a short type drops are no harm
            else:
                value = as_frame({"x": given}, "pandas")["x"].astype(kind).iloc[0]
                held = _same(value, column.value)
    except (TypeError, ValueError, OverflowError):
        held = False
    if not held:
        raise DataError(
            f"x: column {column.name!r} is {column.value!r}, which its type {kind} in the data cannot hold; change x, "
            "or the type of the column"
        )
    return column if column.numeric else replace(column, value=value)


def _holds_numbers(column: Any) -> bool:
    """Whether a column holds numbers; truth values are categories."""
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)  # nullable types of pandas have one of NumPy's inside
    return getattr(kind, "kind", "O") in "iuf"


def _number(name: str, value: Any, data: Any, width: float) -> Column:
    """A numeric column: the box around x, within the range of the data."""
    try:
        here = float(value)
    except (TypeError, ValueError):
        here = np.nan
    if not np.isfinite(here):
        raise DataError(f"x: column {name!r} is {value!r}; fill it in first, or name it among the categorical columns")
    known = data.dropna().to_numpy(dtype=float)
    known = known[np.isfinite(known)]
    if known.size == 0:
        raise DataError(f"data: column {name!r} has no finite value")
    spread = float(known.std())
    whole = data.dtype.kind in "iu"
    if whole and np.abs(known).max() > 2**53:
        raise DataError(f"data: column {name!r} has numbers too large to be told apart; name it among the categorical")
    step = max(width * (spread or 1.0), 1.0 if whole else 0.0)
    low, high = max(here - step, min(known.min(), here)), min(here + step, max(known.max(), here))
    return Column(name, here, float(low), float(high), step, whole)


def _category(name: str, value: Any, data: Any) -> Column:
    """A categorical column: the other categories of the data and their shares."""
    try:
        counts = {each: count for each, count in data.dropna().value_counts().items() if count > 0}
    except TypeError:
        raise DataError(f"data: column {name!r} holds values that cannot be counted, such as lists") from None
    others = [each for each in counts if not _same(each, value)]
    shares = np.array([float(counts[each]) for each in others])
    return Column(name, value, others=others, shares=shares / shares.sum() if others else shares)


def _same(a: Any, b: Any) -> bool:
    """Whether two categories are the same; missing ones are."""
    if _missing(a) or _missing(b):
        return _missing(a) and _missing(b)
    return bool(np.all(a == b))


def _missing(value: Any) -> bool:
    """Whether a category is one of the many ways to say that there is none."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))
