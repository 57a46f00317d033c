"""Scores along a series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import as_count, as_matrix, as_numbers, as_scalar, as_vector, shown
from ..checks import LARGEST
from ..entropy import Array, Index
from ..errors import DataError
from .canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, as_text, new_figure, set_legend

if TYPE_CHECKING:
    from .canvas import Figure

__all__ = ["plot_scan"]

#: channels with a colour of their own
CHANNELS = (GREY, SKY, PINK, AMBER, GREEN)
#: time points of a series that are drawn at most
POINTS = 20_000


def plot_scan(
    series: Array,
    times: Index,
    scores: Array,
    *,
    threshold: float = np.nan,
    peaks: Sequence[int] = (),
    window: int = 0,
    method: str = "pre",
    rate: float | None = None,
) -> Figure:
    """The series above its scores, with the threshold and the peaks.

    Parameters
    ----------
    series : ndarray of shape (T,) or (T, channels)
    times : ndarray of int of shape (W,)
        Time of each score.
    scores : ndarray of shape (W,)
        Infinite ones are marked at the upper edge.
    threshold : float
        Drawn unless it is nan.
    peaks : sequence of int
        Places among the times.
    window : int
        Time points of y_q, which are shaded at each peak.
    method : str
    rate : float, optional
        Time points in a second, if the axis is to have seconds.

    Examples
    --------
    >>> figure = plot_scan(np.zeros(50), np.arange(10, 40), np.ones(30), threshold=0.5)
    >>> len(figure.axes)
    2
    """
    series, times, scores, peaks, threshold = _looked_at(series, times, scores, peaks, threshold)
    window = as_count(window, "window", 0)
    unit = 1.0 if rate is None else as_scalar(rate, "rate")
    if unit <= 0.0:
        raise DataError(f"rate: {unit:g} is not positive; it counts time points in a second")
    method = as_text(method, "method")
    figure = new_figure(9.0, 5.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.0, 1.25])
    channels = series
    stride = max(1, len(series) // POINTS)
    at = np.arange(0, len(series), stride) / unit
    named, last = len(CHANNELS), channels.shape[1] - 1
    for c in range(min(named, last + 1)):
        above.plot(at, channels[::stride, c], color=CHANNELS[c], linewidth=0.8, label=f"channel {c}")
    if last >= named:
        rest = above.plot(at, channels[::stride, named:], ":", color=GREY, linewidth=0.6, alpha=0.6, zorder=1.5)
        rest[0].set_label(f"channels {named} to {last}" if last > named else f"channel {last}")
    if channels.shape[1] > 1:
        above.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    above.set_ylabel("series")
    above.grid(color=LIGHT)
    finite = np.isfinite(scores)
    below.plot(times / unit, np.where(finite, scores, np.nan), color=BLUE, linewidth=1.3, label=f"score ({method})")
    if len(times) < 60:
        below.plot(times / unit, np.where(finite, scores, np.nan), ".", color=BLUE, markersize=4)
    top = below.get_xaxis_transform()  # x in data, y in shares of the axes
    outside = np.isposinf(scores)
    if outside.any():
        below.plot(
            times[outside] / unit, np.full(np.count_nonzero(outside), 0.97), "|", transform=top, color=ORANGE,
            markersize=8, label="infinite: target outside the hull",
        )  # fmt: skip
    if np.isfinite(threshold):
        below.axhline(threshold, color=ORANGE, linestyle="--", linewidth=1.2, label="threshold")
    for peak in peaks:
        begin = times[peak] / unit
        above.axvspan(begin, begin + window / unit, color=AMBER, alpha=0.25, linewidth=0)
        level, frame = (scores[peak], below.transData) if np.isfinite(scores[peak]) else (0.97, top)
        below.plot(begin, level, "v", color="black", markersize=6, transform=frame)
    if len(peaks):
        below.plot([], [], "v", color="black", markersize=6, label="peaks")
        below.fill_between([], [], color=AMBER, alpha=0.25, linewidth=0, label="y$_q$ of a peak")
    below.grid(color=LIGHT)
    unit_name = "time points" if rate is None else "seconds"
    below.set(xlabel=f"time t at which y$_q$ begins, in {unit_name}", ylabel="score")
    below.margins(y=0.12)
    set_legend(below, columns=5)
    return figure


def _looked_at(
    series: Any, times: Any, scores: Any, peaks: Any, threshold: Any
) -> tuple[Array, Index, Array, list[int], float]:
    """What is drawn, as arrays that belong together; scores may be infinite or unknown."""
    rows, found = as_matrix(series, "series", limit=LARGEST), as_numbers(scores, "scores")
    at = as_vector(times, "times", limit=LARGEST)
    if found.shape != at.shape:
        raise DataError(f"scores: has shape {found.shape} for {len(at)} times; pass one score for each")
    if np.any(at != np.round(at)):
        raise DataError("times: must be whole numbers, the time points of the scores")
    if np.any(np.abs(found[np.isfinite(found)]) > LARGEST):
        raise DataError(f"scores: has numbers beyond {LARGEST:g}, which no axis can show; infinite ones are marked")
    if not isinstance(peaks, list | tuple | range | np.ndarray) or np.ndim(peaks) != 1:
        raise DataError(f"peaks: {shown(peaks)} is not a sequence of places among the times")
    places = [as_count(place, "peaks", 0) for place in peaks]
    for place in places:
        if place >= len(at):
            raise DataError(f"peaks: {place} is not a place among {len(at)} times")
    limit = threshold if isinstance(threshold, float | np.floating) else as_scalar(threshold, "threshold")
    return rows, at.astype(np.intp), found, places, float(limit)
