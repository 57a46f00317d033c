"""Perturbations of numeric columns: boxes, normal clouds, columns switched off, and points of your own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._internal.typing import Array
from ..._internal.validation import MAX_ENTRY, as_fraction, as_matrix, as_scalar, as_vector, preview, read_only
from ...data.tables import as_frame
from ...errors import DataError
from .neighbourhood import CoinFlips, dimensions, on_off_rows
from .row import Row, labels_of, read_row

__all__ = ["Box", "Gaussian", "NumericNeighbourhood", "OnOff", "Points"]


@dataclass(frozen=True, eq=False)
class Uniform:
    """Draws uniformly from centre ± step."""

    centre: Array
    step: Array

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """A sample of n rows."""
        return np.asarray(self.centre + self.step * rng.uniform(-1.0, 1.0, (n, self.step.size)))


@dataclass(frozen=True, eq=False)
class Normal:
    """Draws from the normal distribution with mean ``centre`` and standard deviations ``step``."""

    centre: Array
    step: Array

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """A sample of n rows."""
        return np.asarray(self.centre + self.step * rng.normal(size=(n, self.step.size)))


@dataclass(frozen=True, eq=False)
class FixedRows:
    """Returns all given rows, in their order."""

    rows: Array

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """All rows; n is ignored."""
        return self.rows


@dataclass(frozen=True, eq=False)
class NumericNeighbourhood:
    """Neighbourhood of a point with numeric columns.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    origin, unit : ndarray of shape (k,)
        Features of x itself, and a typical step of each.
    sampler : callable
        (n, rng) → features z of n points.
    switch : (ndarray, ndarray), optional
        Values of the columns when on and when off, if z is on/off; otherwise z holds the values themselves.
    backend : {"pandas", "polars"} or None
        Library of the frame that the black box reads; ``None`` for an array.
    labels : tuple
        Labels of that frame's columns, which need not be strings.
    block_size : int
        Number of inputs to make and predict at a time.
    """

    names: tuple[str, ...]
    origin: Array
    unit: Array
    sampler: Callable[[int, np.random.Generator], Array]
    switch: tuple[Array, Array] | None = None
    backend: str | None = None
    labels: tuple[Any, ...] = ()
    block_size: int = 100_000

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Features of n random points."""
        return self.sampler(n, rng)

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """The points as an array, or as a frame if x was one; always a copy, which a black box may overwrite."""
        points = np.array(z) if self.switch is None else np.where(z > 0.5, *self.switch)
        return points if self.backend is None else as_frame(dict(zip(self.labels, points.T, strict=True)), self.backend)

    def encode(self, rows: Any) -> Array:
        """One row or a matrix of features; named columns are matched by name."""
        one = dimensions(rows) == 1
        z = as_vector(rows, "z", limit=MAX_ENTRY)[None, :] if one else as_matrix(rows, "z", limit=MAX_ENTRY)
        columns = [str(label) for label in labels_of(rows) or ()]
        missing = [name for name in self.names if name not in columns]
        if columns and not missing:
            z = z[:, [columns.index(name) for name in self.names]]
        elif columns and self.backend is not None:
            raise DataError("z", f"lacks the column {missing[0]!r}", f"pass the columns {', '.join(self.names)}")
        if self.switch is not None:
            return on_off_rows(z, len(self.names), "columns")
        if z.shape[1] != len(self.names):
            raise DataError(
                "z", f"has {z.shape[1]} columns for {len(self.names)} features", f"pass {len(self.names)} columns"
            )
        return z


def _neighbourhood(
    row: Row,
    origin: Array,
    unit: Array,
    sampler: Callable[[int, np.random.Generator], Array],
    switch: tuple[Array, Array] | None = None,
) -> NumericNeighbourhood:
    """Neighbourhood of a row with read-only arrays."""
    origin, unit = (read_only(np.array(each, dtype=float)) for each in (origin, unit))
    return NumericNeighbourhood(row.names, origin, unit, sampler, switch, row.backend, row.labels)


def _standard_deviations(rows: Array) -> Array:
    """Standard deviation of each column; one for a constant column."""
    deviations = rows.std(axis=0)
    return np.asarray(np.where(deviations > 0.0, deviations, 1.0))


def _steps(scale: Any, data: Any, row: Row, name: str) -> Array:
    """One positive step for each column, in its own units or in standard deviations of the data."""
    if scale is None and data is None:
        raise DataError(name, "is needed, because no data is given", f"pass {name}=..., or data=...")
    given = 1.0 if scale is None else scale
    step = as_vector(given, name, row.values.size) if dimensions(given) else np.asarray(as_scalar(given, name))
    if not np.all((step > 1.0 / MAX_ENTRY) & (step < MAX_ENTRY)):
        raise DataError(name, f"{preview(given)} is not between 1e-100 and 1e100", "pass positive numbers")
    unit = 1.0 if data is None else _standard_deviations(row.match(data, "data"))
    return np.asarray(np.broadcast_to(step * unit, row.values.shape))


@dataclass(frozen=True, eq=False)
class Box:
    """Points drawn uniformly from x ± half-width, column by column.

    Parameters
    ----------
    half_width : float or array of shape (d,), optional
        Half-width of the box, between 1e-100 and 1e100: in units of the columns, or in standard deviations of ``data``
        if that is given (default 1). Required without ``data``.
    data : array or frame of shape (n, d), optional
        A sample of typical inputs of the black box.

    Examples
    --------
    >>> near = Box(0.5).around([1.0, 2.0])
    >>> near.names, near.draw(2, np.random.default_rng(0)).round(2)
    (('x0', 'x1'), array([[1.14, 1.77],
           [0.54, 1.52]]))
    """

    half_width: Any = None
    data: Any = None

    def around(self, x: Any) -> NumericNeighbourhood:
        """The neighbourhood of x.

        Parameters
        ----------
        x : array of shape (d,), series, or frame of one row
            The point to explain.

        Returns
        -------
        NumericNeighbourhood
            The box around x.
        """
        row = read_row(x, self.data)
        step = _steps(self.half_width, self.data, row, "half_width")
        return _neighbourhood(row, row.values, step, Uniform(row.values, step))


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Points drawn from a normal distribution around x, column by column.

    Normal points are unbounded, and intervals are too short where the black box is steep; prefer :class:`Box`.

    Parameters
    ----------
    scale : float or array of shape (d,), optional
        Standard deviation, between 1e-100 and 1e100: in units of the columns, or in standard deviations of ``data`` if
        that is given (default 1). Required without ``data``.
    data : array or frame of shape (n, d), optional
        A sample of typical inputs of the black box.

    Examples
    --------
    >>> Gaussian(0.5).around([1.0, 2.0]).draw(2, np.random.default_rng(0)).round(2)
    array([[1.06, 1.93],
           [1.32, 2.05]])
    """

    scale: Any = None
    data: Any = None

    def around(self, x: Any) -> NumericNeighbourhood:
        """The neighbourhood of x.

        Parameters
        ----------
        x : array of shape (d,), series, or frame of one row
            The point to explain.

        Returns
        -------
        NumericNeighbourhood
            Normal points around x.
        """
        row = read_row(x, self.data)
        step = _steps(self.scale, self.data, row, "scale")
        return _neighbourhood(row, row.values, step, Normal(row.values, step))


@dataclass(frozen=True, eq=False)
class OnOff:
    """Each column of x is kept (feature 1) or switched off (feature 0), independently.

    Parameters
    ----------
    off : float or array of shape (d,), default 0.0
        Value of a column that is off.
    keep : float, default 0.5
        Probability that a column is kept, between 0 and 1. Far from ½ a feature is rarely off or rarely on, and
        intervals need many more points.

    Examples
    --------
    >>> near = OnOff().around([5.0, 7.0])
    >>> near.inputs(np.array([[1.0, 0.0]]), None)
    array([[5., 0.]])
    """

    off: Any = 0.0
    keep: float = 0.5

    def around(self, x: Any) -> NumericNeighbourhood:
        """The neighbourhood of x.

        Parameters
        ----------
        x : array of shape (d,), series, or frame of one row
            The point to explain.

        Returns
        -------
        NumericNeighbourhood
            Copies of x with some columns off.
        """
        row = read_row(x)
        d = row.values.size
        off = as_vector(self.off, "off", d) if dimensions(self.off) else np.full(d, as_scalar(self.off, "off"))
        if np.abs(off).max() > MAX_ENTRY:
            raise DataError("off", f"{preview(self.off)} is beyond {MAX_ENTRY:g}", "pass a typical value of the column")
        coins, ones = CoinFlips(d, as_fraction(self.keep, "keep")), np.ones(d)
        return _neighbourhood(row, ones, ones, coins, switch=(row.values, off))


@dataclass(frozen=True, eq=False)
class Points:
    """Points of your own, each used once; their standard deviations are the unit of the features.

    Parameters
    ----------
    rows : array or frame of shape (n, d)
        The points, with the columns of x.

    Examples
    --------
    >>> Points([[0.0, 1.0], [2.0, 1.0]]).around([1.0, 1.0]).unit
    array([1., 1.])
    """

    rows: Any

    def around(self, x: Any) -> NumericNeighbourhood:
        """The points as a neighbourhood of x, at any distance from it.

        Parameters
        ----------
        x : array of shape (d,), series, or frame of one row
            The point to explain.

        Returns
        -------
        NumericNeighbourhood
            The points.
        """
        row = read_row(x, self.rows)
        rows = row.match(self.rows, "perturbation")
        return _neighbourhood(row, row.values, _standard_deviations(rows), FixedRows(rows))
