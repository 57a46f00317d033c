"""Points around x: what a local classifier is fitted to, and what the black box reads.

A perturbation is a recipe with ``around(x)``, which gives a :class:`Neighbourhood`: named features z in which x itself
is ``origin``, random rows of them, and the inputs that the black box is asked about. Perturbations are bounded by
default: the ratio of the two classes is then bounded too, and intervals keep their coverage as long as every feature
varies often enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...arrays import as_matrix, as_scalar, as_vector, frozen, shown
from ...checks import LARGEST
from ...entropy import Array
from ...errors import DataError
from ...tables import as_frame
from .row import Row, labels_of, read_row

__all__ = [
    "Box",
    "Coins",
    "Gaussian",
    "Neighbourhood",
    "Numeric",
    "OnOff",
    "Perturbation",
    "Points",
    "chance",
    "dimensions",
    "distance",
    "on_off_rows",
]


class Neighbourhood(Protocol):
    """Random points around x."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each feature."""

    @property
    def origin(self) -> Array:
        """Features of x itself, shape (k,)."""

    @property
    def unit(self) -> Array:
        """A typical step of every feature, shape (k,)."""

    @property
    def at_once(self) -> int:
        """How many inputs are made and predicted at a time."""

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Features z of n random points, shape (n, k)."""

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """What the black box reads for these features."""

    def encode(self, rows: Any) -> Array:
        """Features z of given points."""


class Perturbation(Protocol):
    """A recipe for points around any x."""

    def around(self, x: Any) -> Neighbourhood:
        """The neighbourhood of x."""


def distance(z: Array, origin: Array, unit: Array) -> Array:
    """Root mean square over the features of (z − origin) / unit, shape (n,)."""
    return np.asarray(np.sqrt(np.square((z - origin) / unit).mean(axis=1)))


def chance(value: Any, name: str) -> float:
    """A probability strictly between zero and one."""
    number = as_scalar(value, name)
    if not 0.0 < number < 1.0:
        raise DataError(f"{name}: {number:g} is not between 0 and 1")
    return number


def dimensions(x: Any) -> int:
    """Dimensions of what a caller gave; −1 for what is no array, such as rows of different lengths."""
    try:
        return np.ndim(x)
    except Exception:
        return -1


def on_off_rows(rows: Any, count: int, things: str) -> Array:
    """Rows of ones and zeros, one column for each thing that is on or off; one such row counts as a table of it."""
    z = as_vector(rows, "z")[None, :] if dimensions(rows) == 1 else as_matrix(rows, "z")
    if z.shape[1] != count:
        raise DataError(f"z: has {z.shape[1]} columns for {count} {things}")
    if not np.isin(z, (0.0, 1.0)).all():
        raise DataError(f"z: {things} are on (1) or off (0), and there are other values; give rows of ones and zeros")
    return z


@dataclass(frozen=True, eq=False)
class Uniform:
    """Uniform on centre ± step."""

    centre: Array
    step: Array

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """A sample of n rows."""
        return np.asarray(self.centre + self.step * rng.uniform(-1.0, 1.0, (n, self.step.size)))


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal with mean ``centre`` and standard deviations ``step``."""

    centre: Array
    step: Array

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """A sample of n rows."""
        return np.asarray(self.centre + self.step * rng.normal(size=(n, self.step.size)))


@dataclass(frozen=True)
class Coins:
    """Ones with a chance, otherwise zeros, in ``count`` columns."""

    count: int
    keep: float

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """A sample of n rows."""
        return (rng.random((n, self.count)) < self.keep).astype(float)


@dataclass(frozen=True, eq=False)
class Given:
    """Rows that are given, in their order."""

    rows: Array

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """All of them."""
        return self.rows


@dataclass(frozen=True, eq=False)
class Numeric:
    """Neighbourhood of a point with numeric columns.

    Attributes
    ----------
    names, origin, unit
        As in :class:`Neighbourhood`.
    law : function of (n, rng)
        Draws z.
    switch : (ndarray, ndarray), optional
        Values of columns that are on and off, where z says which; without it z are the values themselves.
    backend : {"pandas", "polars", None}
        The frame that the black box reads; ``None`` for an array.
    labels : tuple
        Labels of the columns of that frame, which need not be texts.
    """

    names: tuple[str, ...]
    origin: Array
    unit: Array
    law: Callable[[int, np.random.Generator], Array]
    switch: tuple[Array, Array] | None = None
    backend: str | None = None
    labels: tuple[Any, ...] = ()
    at_once: int = 100_000

    def __post_init__(self) -> None:
        for name in ("origin", "unit"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=float)))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Features of n random points."""
        return self.law(n, rng)

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """The points as an array, or as a frame if x was one; a copy, in which a black box may write."""
        points = np.array(z) if self.switch is None else np.where(z > 0.5, *self.switch)
        return points if self.backend is None else as_frame(dict(zip(self.labels, points.T, strict=True)), self.backend)

    def encode(self, rows: Any) -> Array:
        """Rows of features as a matrix, or one of them; columns with names are found by name."""
        one = dimensions(rows) == 1
        z = as_vector(rows, "z", limit=LARGEST)[None, :] if one else as_matrix(rows, "z", limit=LARGEST)
        columns = [str(label) for label in labels_of(rows) or ()]
        if columns and set(columns) >= set(self.names):
            z = z[:, [columns.index(name) for name in self.names]]
        elif columns and self.backend is not None:
            raise DataError(f"z: lacks the column {next(name for name in self.names if name not in columns)!r}")
        if self.switch is not None:
            return on_off_rows(z, len(self.names), "columns")
        if z.shape[1] != len(self.names):
            raise DataError(f"z: has {z.shape[1]} columns for {len(self.names)} features")
        return z


def spread_of(rows: Array) -> Array:
    """Standard deviation of every column; one where a column is constant."""
    spread = rows.std(axis=0)
    return np.asarray(np.where(spread > 0.0, spread, 1.0))


def _steps(scale: Any, data: Any, row: Row, name: str) -> Array:
    """One positive step for every column: given, or in standard deviations of the data."""
    if scale is None and data is None:
        raise DataError(f"{name}: how far points may lie from x is not known; give {name}, or data to take it from")
    given = 1.0 if scale is None else scale
    step = as_vector(given, name, row.values.size) if dimensions(given) else np.asarray(as_scalar(given, name))
    if not np.all((step > 1.0 / LARGEST) & (step < LARGEST)):
        raise DataError(f"{name}: {shown(given)} is not positive, or beyond what can be told apart; 1e-100 to 1e100")
    unit = 1.0 if data is None else spread_of(row.match(data, "data"))
    return np.asarray(np.broadcast_to(step * unit, row.values.shape))


def _numeric(row: Row, unit: Array, law: Callable[[int, np.random.Generator], Array]) -> Numeric:
    """Neighbourhood whose features are the columns themselves."""
    return Numeric(row.names, row.values, unit, law, backend=row.backend, labels=row.labels)


@dataclass(frozen=True, eq=False)
class Box:
    """Uniform on x ± half-width, column by column.

    Parameters
    ----------
    half_width : float or array of shape (d,), optional
        In units of the columns, or in standard deviations of ``data`` if that is given; then 1 when left out.
    data : array or frame of shape (n, d), optional
        A sample of what the black box usually reads.

    Examples
    --------
    >>> near = Box(0.5).around([1.0, 2.0])
    >>> near.names, near.draw(2, np.random.default_rng(0)).round(2)
    (('x0', 'x1'), array([[1.14, 1.77],
           [0.54, 1.52]]))
    """

    half_width: Any = None
    data: Any = None

    def around(self, x: Any) -> Numeric:
        """The neighbourhood of x."""
        row = read_row(x, self.data)
        step = _steps(self.half_width, self.data, row, "half_width")
        return _numeric(row, step, Uniform(row.values, step))


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Normal around x, column by column; intervals are then too short where the black box is steep.

    Parameters
    ----------
    scale : float or array of shape (d,), optional
        Standard deviation, in units of the columns, or in those of ``data`` if that is given; then 1 when left out.
    data : array or frame of shape (n, d), optional
    """

    scale: Any = None
    data: Any = None

    def around(self, x: Any) -> Numeric:
        """The neighbourhood of x."""
        row = read_row(x, self.data)
        step = _steps(self.scale, self.data, row, "scale")
        return _numeric(row, step, Normal(row.values, step))


@dataclass(frozen=True, eq=False)
class OnOff:
    """Every column of x is kept (feature 1) or switched off (feature 0), by independent coins.

    Parameters
    ----------
    off : float or array of shape (d,)
        What stands for a column that is off.
    keep : float
        Probability that a column is kept; near ½, or every column needs some dozens of points that have it off.

    Examples
    --------
    >>> near = OnOff().around([5.0, 7.0])
    >>> near.inputs(np.array([[1.0, 0.0]]), None)
    array([[5., 0.]])
    """

    off: Any = 0.0
    keep: float = 0.5

    def around(self, x: Any) -> Numeric:
        """The neighbourhood of x."""
        row = read_row(x)
        d = row.values.size
        off = as_vector(self.off, "off", d) if dimensions(self.off) else np.full(d, as_scalar(self.off, "off"))
        if np.abs(off).max() > LARGEST:
            raise DataError(f"off: {shown(self.off)} is beyond {LARGEST:g}; give a value that the black box knows")
        coins, ones = Coins(d, chance(self.keep, "keep")), np.ones(d)
        return Numeric(row.names, ones, ones, coins, (row.values, off), row.backend, row.labels)


@dataclass(frozen=True, eq=False)
class Points:
    """Points that are given, all of them taken once; their standard deviations are the unit.

    Parameters
    ----------
    rows : array or frame of shape (n, d)
    """

    rows: Any

    def around(self, x: Any) -> Numeric:
        """The neighbourhood of x, whatever its distance to the points."""
        row = read_row(x, self.rows)
        rows = row.match(self.rows, "perturbation")
        return _numeric(row, spread_of(rows), Given(rows))
