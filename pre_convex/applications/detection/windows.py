"""Windows of a series, and prior samples of the same shape: (rows, window) or (rows, window, channels)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._internal.typing import Array, Index
from ..._internal.validation import MAX_ENTRY, as_count, as_matrix, as_numbers, read_only
from ...errors import DataError

__all__ = [
    "WindowShape",
    "as_series",
    "as_window",
    "as_windows",
    "as_windows_like",
    "check_window",
    "cut_pairs",
    "flatten",
]


@dataclass(frozen=True)
class WindowShape:
    """Length of a window and number of channels; zero channels mean a plain sequence.

    Inside this package windows are flat rows: time point after time point, the channels of each next to each other.

    Attributes
    ----------
    window : int
        Time points.
    channels : int
        Channels of each time point; 0 if windows have no channel axis.
    """

    window: int
    channels: int = 0

    def unflatten(self, rows: Array) -> Array:
        """Flat rows as (rows, window) or (rows, window, channels)."""
        return rows.reshape(len(rows), self.window, self.channels) if self.channels else rows

    def split_channels(self, rows: Array) -> list[Array]:
        """Flat rows as one (rows, window) array for each channel."""
        cube = rows.reshape(len(rows), self.window, max(self.channels, 1))
        return [np.ascontiguousarray(cube[:, :, c]) for c in range(cube.shape[2])]

    def __str__(self) -> str:
        return f"{self.window} time points" + (f" of {self.channels} channels" if self.channels else "")


def as_windows(x: Any, name: str) -> tuple[Array, WindowShape]:
    """Windows or prior samples as flat rows, and their shape.

    Examples
    --------
    >>> rows, shape = as_windows(np.zeros((4, 5, 2)), "prior_p")
    >>> rows.shape, str(shape)
    ((4, 10), '5 time points of 2 channels')
    """
    sizes = _shape_of(x, name)
    if len(sizes) not in (2, 3):
        raise DataError(name, f"has {len(sizes)} dimensions", "pass shape (rows, window) or (rows, window, channels)")
    if len(sizes) == 2:
        rows = as_matrix(x, name, limit=MAX_ENTRY)
        return rows, WindowShape(rows.shape[1])
    values = as_numbers(x, name)
    return as_matrix(values.reshape(sizes[0], -1), name, limit=MAX_ENTRY), WindowShape(sizes[1], sizes[2])


def as_windows_like(x: Any, name: str, shape: WindowShape, source: str) -> Array:
    """Flat rows of the given shape, which is that of the argument ``source``."""
    rows, own = as_windows(x, name)
    if own != shape:
        raise DataError(
            name, f"has sequences of {own}, {source} has sequences of {shape}", f"pass sequences of {shape}"
        )
    return rows


def check_window(window: Any, prior: Any) -> None:
    """Raise if ``window`` is not the length of the prior sequences."""
    window, sizes = as_count(window, "window"), _shape_of(prior, "prior_p")
    if len(sizes) > 1 and sizes[1] != window:
        raise DataError(
            "window",
            f"{window} is not the length of the prior sequences, {sizes[1]} time points",
            f"use {sizes[1]}, or prior sequences of {window} time points",
        )


def as_series(series: Any, shape: WindowShape, name: str = "series") -> Array:
    """A series of shape (T,) or (T, channels) of finite numbers, with as many channels as the prior samples.

    Examples
    --------
    >>> as_series([[1.0], [2.0]], WindowShape(5)), as_series([1.0, 2.0], WindowShape(5, 1))
    (array([1., 2.]), array([[1.],
           [2.]]))
    """
    values = as_numbers(series, name)
    missing = np.argwhere(~np.isfinite(values))
    if len(missing):
        raise DataError(
            name,
            f"time point {missing[0][0]} is {values[tuple(missing[0])]} ({len(missing)} such values)",
            "fill missing values first; dropping them would shift all later times",
        )
    values = as_matrix(values, name, limit=MAX_ENTRY)
    if values.shape[1] != max(shape.channels, 1):
        raise DataError(
            name, f"has {values.shape[1]} channels, prior_p has sequences of {shape}", "pass the channels of prior_p"
        )
    return read_only(values if shape.channels else values[:, 0])


def as_window(y: Any, name: str, shape: WindowShape) -> Array:
    """One window of shape (window,) or (window, channels), as a flat row of shape (1, numbers in a window)."""
    values = as_series(y, shape, name)
    if len(values) != shape.window:
        raise DataError(
            name, f"has {len(values)} time points, prior_p has sequences of {shape}", f"pass {shape.window} time points"
        )
    return values.reshape(1, -1)


def flatten(windows: Array) -> Array:
    """Windows as contiguous flat rows."""
    return np.ascontiguousarray(windows).reshape(len(windows), -1)


def cut_pairs(series: Array, window: int, step: int, reference: Array | None = None) -> tuple[Index, Array, Array]:
    """Cut a series into pairs of neighbouring windows: times t, the windows before t and those from t on.

    The windows are views of the series, because copies would take ``window`` times its memory.

    Parameters
    ----------
    series : ndarray of shape (T,) or (T, channels)
        The series.
    window : int
        Length of a window in time points.
    step : int
        Time points between successive pairs.
    reference : ndarray of shape (1, numbers in a window), optional
        Takes the place of the window before t, for all t.

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
        raise DataError(
            "series", f"has {len(series)} time points, too few for {needs}", f"pass at least {first + window}"
        )
    # (starts, window) or (starts, window, channels)
    views = np.moveaxis(np.lib.stride_tricks.sliding_window_view(series, window, axis=0), -1, 1)
    times, after = np.arange(first, len(views), step), views[first::step]
    if reference is None:
        return times, views[: len(views) - window : step], after
    return times, np.broadcast_to(reference.reshape(after.shape[1:]), after.shape), after


def _shape_of(x: Any, name: str) -> tuple[int, ...]:
    """Shape of an array, a data frame or nested lists."""
    shape = getattr(x, "shape", None)
    return shape if isinstance(shape, tuple) else as_numbers(x, name).shape
