"""Figure of a scan: a series and its scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.typing import Array, Index
from .._internal.validation import MAX_ENTRY, as_count, as_matrix, as_numbers, as_scalar, as_vector, preview
from ..errors import DataError
from .canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, as_text, new_figure, set_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .canvas import Figure

__all__ = ["plot_scan"]

#: colours of the first channels; the others share one
CHANNELS = (GREY, SKY, PINK, AMBER, GREEN)
#: height of marks at the upper edge, as a share of the axes
EDGE = 0.97
#: maximum number of time points drawn, and number of scores below which each gets a dot
MAX_POINTS, FEW_SCORES = 20_000, 60


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
    """A series above its scores, with the threshold and the peaks.

    Parameters
    ----------
    series : array of shape (T,) or (T, channels)
        The series that was scanned.
    times : array of int of shape (W,)
        Time point of each score.
    scores : array of shape (W,)
        The scores; nan where there is none. Infinite scores are marked at the upper edge.
    threshold : float, default nan
        Alarm threshold; not drawn if nan.
    peaks : sequence of int, default ()
        Indices of the peaks among the scores.
    window : int, default 0
        Length of y_q in time points, at least 0; it is shaded at each peak.
    method : str, default "pre"
        Name of the score, for the legend.
    rate : float, optional
        Time points per second, positive; the axis shows seconds if it is given.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = plot_scan(np.zeros(50), np.arange(10, 40), np.ones(30), threshold=0.5)
    >>> len(figure.axes)
    2
    """
    series, times, scores, peaks, threshold = _checked(series, times, scores, peaks, threshold)
    window = as_count(window, "window", 0)
    unit = 1.0 if rate is None else as_scalar(rate, "rate")
    if unit <= 0.0:
        raise DataError("rate", f"{unit:g} is not positive", "pass time points per second")
    method = as_text(method, "method")
    figure = new_figure(9.0, 5.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.0, 1.25])
    _draw_series(above, series, unit)
    _draw_scores(below, times / unit, scores, threshold, method)
    _draw_peaks(above, below, times[peaks] / unit, scores[peaks], window / unit)
    unit_name = "time points" if rate is None else "seconds"
    below.set(xlabel=f"time t at which y$_q$ begins, in {unit_name}", ylabel="score")
    below.margins(y=0.12)
    set_legend(below, columns=5)
    return figure


def _draw_series(ax: Axes, series: Array, unit: float) -> None:
    """The channels, the first of them in colours of their own."""
    stride = max(1, len(series) // MAX_POINTS)
    at = np.arange(0, len(series), stride) / unit
    named, last = len(CHANNELS), series.shape[1] - 1
    for c in range(min(named, last + 1)):
        ax.plot(at, series[::stride, c], color=CHANNELS[c], linewidth=0.8, label=f"channel {c}")
    if last >= named:
        rest = ax.plot(at, series[::stride, named:], ":", color=GREY, linewidth=0.6, alpha=0.6, zorder=1.5)
        rest[0].set_label(f"channels {named} to {last}" if last > named else f"channel {last}")
    if last > 0:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    ax.set_ylabel("series")
    ax.grid(color=LIGHT)


def _draw_scores(ax: Axes, at: Array, scores: Array, threshold: float, method: str) -> None:
    """The scores, with infinite ones at the upper edge, and the threshold."""
    finite = np.where(np.isfinite(scores), scores, np.nan)
    ax.plot(at, finite, color=BLUE, linewidth=1.3, label=f"score ({method})")
    if len(at) < FEW_SCORES:
        ax.plot(at, finite, ".", color=BLUE, markersize=4)
    outside = np.isposinf(scores)
    if outside.any():
        ax.plot(
            at[outside], np.full(np.count_nonzero(outside), EDGE), "|", transform=ax.get_xaxis_transform(),
            color=ORANGE, markersize=8, label="infinite: target outside the hull",
        )  # fmt: skip
    if np.isfinite(threshold):
        ax.axhline(threshold, color=ORANGE, linestyle="--", linewidth=1.2, label="threshold")
    ax.grid(color=LIGHT)


def _draw_peaks(above: Axes, below: Axes, at: Array, scores: Array, width: float) -> None:
    """A mark at the score of every peak, and y_q shaded in the series."""
    for begin, score in zip(at, scores, strict=True):
        above.axvspan(begin, begin + width, color=AMBER, alpha=0.25, linewidth=0)
        edge = (EDGE, below.get_xaxis_transform())
        level, frame = (score, below.transData) if np.isfinite(score) else edge
        below.plot(begin, level, "v", color="black", markersize=6, transform=frame)
    if len(at):
        below.plot([], [], "v", color="black", markersize=6, label="peaks")
        below.fill_between([], [], color=AMBER, alpha=0.25, linewidth=0, label="y$_q$ of a peak")


def _checked(
    series: Any, times: Any, scores: Any, peaks: Any, threshold: Any
) -> tuple[Array, Index, Array, list[int], float]:
    """Validated arrays of matching lengths; scores may be infinite or nan."""
    rows, values = as_matrix(series, "series", limit=MAX_ENTRY), as_numbers(scores, "scores")
    at = as_vector(times, "times", limit=MAX_ENTRY)
    if values.shape != at.shape:
        raise DataError("scores", f"has shape {values.shape} for {len(at)} times", "pass one score per time")
    if np.any(at != np.round(at)):
        raise DataError("times", "has fractions", "pass time points as whole numbers")
    if np.any(np.abs(values[np.isfinite(values)]) > MAX_ENTRY):
        raise DataError("scores", f"has numbers beyond {MAX_ENTRY:g}, which cannot be drawn", "pass infinity instead")
    if not isinstance(peaks, list | tuple | range | np.ndarray) or np.ndim(peaks) != 1:
        raise DataError("peaks", f"{preview(peaks)} is not a sequence", "pass indices of scores")
    places = [as_count(place, "peaks", 0) for place in peaks]
    for place in places:
        if place >= len(at):
            raise DataError("peaks", f"{place} is not an index of {len(at)} scores", "pass indices of scores")
    limit = threshold if isinstance(threshold, float | np.floating) else as_scalar(threshold, "threshold")
    return rows, at.astype(np.intp), values, places, float(limit)
