"""Windows of a series, and prior samples of the same shape: (rows, window) or (rows, window, channels)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import as_matrix, column_names, frozen
from ...entropy import Array, Index
from ...errors import DataError

__all__ = ["Shape", "as_series", "as_windows", "check_window", "cut_pairs", "same_shape"]


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
    if column_names(x) is not None or np.ndim(x) < 3:
        if np.ndim(x) < 2:
            raise DataError(f"{name}: has {np.ndim(x)} dimensions; pass one row for each sequence")
        rows = as_matrix(x, name)
        return rows, Shape(rows.shape[1])
    if np.ndim(x) != 3:
        raise DataError(f"{name}: has {np.ndim(x)} dimensions; pass (rows, window) or (rows, window, channels)")
    n, window, channels = np.shape(x)
    return as_matrix(np.reshape(x, (n, -1)), name), Shape(window, channels)


def same_shape(x: Any, name: str, shape: Shape, other: str) -> Array:
    """Flat rows that must have the shape of others."""
    rows, own = as_windows(x, name)
    if own != shape:
        raise DataError(f"{name}: has sequences of {own}, {other} has sequences of {shape}; they must agree")
    return rows


def check_window(window: Any, prior: Any) -> None:
    """Raise if the window is not that of the prior samples."""
    if np.ndim(prior) > 1 and np.shape(prior)[1] != window:
        raise DataError(f"window: is {window!r}, the prior sequences have {np.shape(prior)[1]} time points")


def as_series(series: Any, name: str = "series") -> Array:
    """A series of shape (T,) or (T, channels) of finite numbers."""
    values = as_matrix(series, name)
    plain = column_names(series) is None and np.ndim(series) == 1
    return frozen(values[:, 0] if plain or hasattr(series, "to_frame") else values)


def cut_pairs(series: Array, window: int, step: int, reference: Any = None) -> tuple[Index, Array, Array]:
    """Times t, windows before them and windows after them, both in the shape of prior samples.

    Parameters
    ----------
    series : ndarray of shape (T,) or (T, channels)
    window, step : int
    reference : array of shape (window,) or (window, channels), optional
        One y_p for all times, instead of the window before each of them.

    Examples
    --------
    >>> times, before, after = cut_pairs(np.arange(6.0), window=2, step=2)
    >>> times, before.tolist(), after.tolist()
    (array([2, 4]), [[0.0, 1.0], [2.0, 3.0]], [[2.0, 3.0], [4.0, 5.0]])
    """
    for name, value in (("window", window), ("step", step)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise DataError(f"{name}: {value!r} is not a whole number of at least 1")
    first = window if reference is None else 0
    if len(series) < first + window:
        needs = f"two windows of {window}" if reference is None else f"a window of {window}"
        raise DataError(f"series: has {len(series)} time points, too few for {needs}")
    times = np.arange(first, len(series) - window + 1, step)
    # (starts, window) or (starts, window, channels), without a copy until rows are taken
    views = np.lib.stride_tricks.sliding_window_view(series, window, axis=0)
    views = np.moveaxis(views, -1, 1)
    after = views[times]
    if reference is None:
        return times, views[times - window], after
    fixed = np.asarray(reference, dtype=float)
    if fixed.shape != after.shape[1:] or not np.all(np.isfinite(fixed)):
        raise DataError(f"reference: must be finite numbers of shape {after.shape[1:]}, not of shape {fixed.shape}")
    return times, np.broadcast_to(fixed, after.shape), after
