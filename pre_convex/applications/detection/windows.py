"""Windows of a series, and prior samples of the same shape: (rows, window) or (rows, window, channels)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import as_count, as_matrix, as_numbers, frozen
from ...checks import LARGEST
from ...entropy import Array, Index
from ...errors import DataError

__all__ = ["Shape", "as_series", "as_windows", "check_window", "cut_pairs", "flat", "one_window", "same_shape"]


@dataclass(frozen=True)
class Shape:
    """Time points of a window, and channels; zero channels stand for a plain sequence.

    Rows are kept flat, time point after time point, with the channels of each side by side.
    """

    window: int
    channels: int = 0

    @property
    def size(self) -> int:
        """Numbers in a window."""
        return self.window * max(self.channels, 1)

    def full(self, rows: Array) -> Array:
        """Flat rows in the shape they were given in."""
        return rows.reshape(len(rows), self.window, self.channels) if self.channels else rows

    def by_channel(self, rows: Array) -> list[Array]:
        """Flat rows as one (rows, window) array for each channel."""
        cube = rows.reshape(len(rows), self.window, max(self.channels, 1))
        return [np.ascontiguousarray(cube[:, :, c]) for c in range(cube.shape[2])]

    def __str__(self) -> str:
        return f"{self.window} time points" + (f" of {self.channels} channels" if self.channels else "")


def as_windows(x: Any, name: str) -> tuple[Array, Shape]:
    """Windows or prior samples as flat rows, and the shape of each.

    Examples
    --------
    >>> rows, shape = as_windows(np.zeros((4, 5, 2)), "prior_p")
    >>> rows.shape, str(shape)
    ((4, 10), '5 time points of 2 channels')
    """
    sizes = _sizes(x, name)
    if len(sizes) < 2:
        raise DataError(f"{name}: has {len(sizes)} dimensions; pass one row for each sequence")
    if len(sizes) == 2:
        rows = as_matrix(x, name, limit=LARGEST)
        return rows, Shape(rows.shape[1])
    if len(sizes) != 3:
        raise DataError(f"{name}: has {len(sizes)} dimensions; pass (rows, window) or (rows, window, channels)")
    values = as_numbers(x, name)
    return as_matrix(values.reshape(sizes[0], -1), name, limit=LARGEST), Shape(sizes[1], sizes[2])


def same_shape(x: Any, name: str, shape: Shape, other: str) -> Array:
    """Flat rows that must have the shape of others."""
    rows, own = as_windows(x, name)
    if own != shape:
        raise DataError(f"{name}: has sequences of {own}, {other} has sequences of {shape}; they must agree")
    return rows


def check_window(window: Any, prior: Any) -> None:
    """Raise if the window is not that of the prior samples."""
    window, sizes = as_count(window, "window"), _sizes(prior, "prior_p")
    if len(sizes) > 1 and sizes[1] != window:
        raise DataError(f"window: is {window}, the prior sequences have {sizes[1]} time points")


def as_series(series: Any, shape: Shape, name: str = "series") -> Array:
    """A series of shape (T,) or (T, channels) of finite numbers, with the channels of the prior samples.

    Examples
    --------
    >>> as_series([[1.0], [2.0]], Shape(5)), as_series([1.0, 2.0], Shape(5, 1))
    (array([1., 2.]), array([[1.],
           [2.]]))
    """
    try:
        values = as_matrix(series, name, limit=LARGEST)
    except DataError as error:
        # without those rows all later times would be wrong
        raise DataError(str(error).replace("drop those rows or fill them in first", "fill them in first")) from None
    if values.shape[1] != max(shape.channels, 1):
        raise DataError(f"{name}: has shape {values.shape}, prior_p has sequences of {shape}; they must agree")
    return frozen(values if shape.channels else values[:, 0])


def one_window(y: Any, name: str, shape: Shape) -> Array:
    """One window of shape (window,) or (window, channels), as the only one of flat rows."""
    values = as_series(y, shape, name)
    if len(values) != shape.window:
        raise DataError(f"{name}: has {len(values)} time points, prior_p has sequences of {shape}; they must agree")
    return values.reshape(1, -1)


def flat(windows: Array) -> Array:
    """Windows as flat rows of their own memory."""
    return np.ascontiguousarray(windows).reshape(len(windows), -1)


def cut_pairs(series: Array, window: int, step: int, reference: Array | None = None) -> tuple[Index, Array, Array]:
    """Times t, windows before them and windows after them, both in the shape of prior samples.

    The windows are views of the series: together they would be as many times as large as a window is long.

    Parameters
    ----------
    series : ndarray of shape (T,) or (T, channels)
    window, step : int
    reference : array of shape (1, numbers in a window), optional
        One y_p for all times, instead of the window before each of them.

    Examples
    --------
    >>> times, before, after = cut_pairs(np.arange(6.0), window=2, step=2)
    >>> times, before.tolist(), after.tolist()
    (array([2, 4]), [[0.0, 1.0], [2.0, 3.0]], [[2.0, 3.0], [4.0, 5.0]])
    """
    step = as_count(step, "step")
    first = window if reference is None else 0
    if len(series) < first + window:
        needs = f"two windows of {window}" if reference is None else f"a window of {window}"
        raise DataError(f"series: has {len(series)} time points, too few for {needs}")
    # (starts, window) or (starts, window, channels)
    views = np.moveaxis(np.lib.stride_tricks.sliding_window_view(series, window, axis=0), -1, 1)
    times, after = np.arange(first, len(views), step), views[first::step]
    if reference is None:
        return times, views[: len(views) - window : step], after
    return times, np.broadcast_to(reference.reshape(after.shape[1:]), after.shape), after


def _sizes(x: Any, name: str) -> tuple[int, ...]:
    """The shape of an array, a data frame or a list of lists."""
    shape = getattr(x, "shape", None)
    return shape if isinstance(shape, tuple) else as_numbers(x, name).shape
