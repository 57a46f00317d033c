"""Results of detection: one pair of windows, many pairs, or a scan of a series."""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import as_count, as_scalar, shown
from ...entropy import Array, Index
from ...errors import DataError
from ...solution import Status
from ...tables import as_frame

if TYPE_CHECKING:
    from ...plots.canvas import Figure

__all__ = ["Peak", "Scan", "Score", "Scores"]


@dataclass(frozen=True, eq=False)
class Score:
    """How far y_q stands out from y_p.

    Attributes
    ----------
    score : float
        −ℓ(δ̂) for ``method="pre"``, otherwise the baseline's distance; infinite where no finite δ exists. With a penalty
        it is the divergence of the fitted posterior from that of q, without the penalty's own part.
    delta : ndarray of shape (k,)
        The ratio's parameters; empty for methods without any.
    status : Status or None
        What is proven about δ; ``None`` for methods that solve no program.
    gap : float
    ess_p, ess_q : float
        Effective numbers of prior rows after seeing y_p, and y_q; nan for methods without likelihoods.
    minimal_radius : float
        Where the target lies outside the hull: the radius above which a finite δ exists; otherwise nan.
    p_value : float
        Share of background pairs with so large a score; nan without a calibration.
    method : str
    names : tuple of str
        Names of the features.
    warnings : tuple of str
        Why the score may not mean what it seems to.
    """

    score: float
    delta: Array
    status: Status | None
    gap: float
    ess_p: float
    ess_q: float
    minimal_radius: float
    p_value: float
    method: str
    names: tuple[str, ...]
    warnings: tuple[str, ...]

    def to_frame(self, backend: str = "pandas") -> Any:
        """A data frame of one row."""
        facts = ("score", "gap", "ess_p", "ess_q", "minimal_radius", "p_value")
        data = {"status": [_name(self.status)], **{name: [getattr(self, name)] for name in facts}}
        data |= {name: [value] for name, value in zip(self.names, self.delta.tolist(), strict=False)}
        return as_frame(data, backend)


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Scores of W pairs of windows; attributes as in :class:`Score`, with one entry or row for each pair.

    Attributes
    ----------
    n_p, n_q : int
        Rows of the priors, which the effective sample sizes are to be compared with.
    p_values : ndarray of shape (W,)
        nan without a calibration.
    threshold : float
        Scores above it are alarms at the chosen rate; nan without a calibration.
    """

    scores: Array
    delta: Array
    status: tuple[Status | None, ...]
    gap: Array
    ess_p: Array
    ess_q: Array
    minimal_radius: Array
    p_values: Array
    threshold: float
    n_p: int
    n_q: int
    method: str
    names: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def score(self) -> Array:
        """The scores, under the name that one pair has for its own."""
        return self.scores

    @property
    def alarms(self) -> Any:
        """Which scores lie above the threshold."""
        if np.isnan(self.threshold):
            raise DataError("threshold: there is none; ask for a calibration with replicates=999, say")
        return self.scores > self.threshold

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, w: int) -> Score:
        """One pair."""
        try:
            w = range(len(self))[operator.index(w)]
        except (TypeError, IndexError):
            raise IndexError(f"{shown(w)} is not the place of one of {len(self)} pairs") from None
        return Score(
            score=float(self.scores[w]),
            delta=self.delta[w],
            status=self.status[w],
            gap=float(self.gap[w]),
            ess_p=float(self.ess_p[w]),
            ess_q=float(self.ess_q[w]),
            minimal_radius=float(self.minimal_radius[w]),
            p_value=float(self.p_values[w]),
            method=self.method,
            names=self.names,
            warnings=self.warnings,
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """A data frame of pandas or polars, one row for each pair."""
        return as_frame(self.columns(), backend)

    def columns(self) -> dict[str, Any]:
        """Names and values of the data frame."""
        facts = ("gap", "ess_p", "ess_q", "minimal_radius")
        return {
            "score": self.scores,
            "p_value": self.p_values,
            "status": [_name(status) for status in self.status],
            **{name: getattr(self, name) for name in facts},
            **{name: self.delta[:, i] for i, name in enumerate(self.names[: self.delta.shape[1]])},
        }

    def __repr__(self) -> str:
        counts = Counter(_name(status) for status in self.status)
        said = ", ".join(f"{count} {name}" for name, count in counts.items() if name)
        return f"{type(self).__name__}({len(self)} pairs, method={self.method!r}{': ' * bool(said)}{said})"


@dataclass(frozen=True)
class Peak:
    """A local maximum of a scan: its place among the times, the time, the score and its p-value."""

    index: int
    time: int
    score: float
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Scan(Scores):
    """Scores along a series.

    Attributes
    ----------
    times : ndarray of int of shape (W,)
        t: y_p is the window that ends before it, y_q the one that begins with it.
    series : ndarray of shape (T,) or (T, channels)
    window : int
    """

    times: Index
    series: Array
    window: int

    def peaks(self, count: int | None = None, *, distance: int | None = None, above: float | None = None) -> list[Peak]:
        """Local maxima, the highest first; among infinite scores, those whose target lies farthest from the hull.

        Parameters
        ----------
        count : int, optional
            How many at most.
        distance : int, optional
            Time points between two peaks at least; a window by default.
        above : float, optional
            Lowest score of a peak; the threshold by default where there is one.
        """
        from scipy.signal import find_peaks

        apart = float(self.window) if distance is None else as_scalar(distance, "distance")
        if apart < 1.0:
            raise DataError(f"distance: {apart:g} is not a number of time points")
        if count is not None:
            count = as_count(count, "count", 0)
        if above is None:
            above = -np.inf if np.isnan(self.threshold) else self.threshold
        elif not (isinstance(above, float | np.floating) and np.isinf(above)):
            above = as_scalar(above, "above")
        known = np.where(np.isnan(self.scores), -np.inf, self.scores)
        finite = known[np.isfinite(known)]
        top, low = (finite.max(), finite.min()) if finite.size else (0.0, 0.0)
        high = top + abs(top) + 1.0
        height = np.clip(known, low - 1.0, high)  # finite for the search
        outside = np.isposinf(known)
        if outside.any():
            far = np.nan_to_num(self.minimal_radius[outside])
            height[outside] *= 1.0 + far / max(far.max(), 1e-300)
        step = int(self.times[1] - self.times[0]) if len(self.times) > 1 else 1
        # padded, so that a maximum at an end counts
        padded = np.concatenate([[low - 2.0], height, [low - 2.0]])
        index = find_peaks(padded, distance=max(1.0, apart / step))[0] - 1
        index = index[known[index] > above]
        order = index[np.argsort(-height[index], kind="stable")][:count]
        return [Peak(int(i), int(self.times[i]), float(self.scores[i]), float(self.p_values[i])) for i in order]

    def plot(self, rate: float | None = None) -> Figure:
        """The series above its scores, with the threshold and the peaks above it.

        Parameters
        ----------
        rate : float, optional
            Time points in a second, if the axis is to have seconds.
        """
        from ...plots.detection import plot_scan

        found = [] if np.isnan(self.threshold) else [peak.index for peak in self.peaks()]
        return plot_scan(
            self.series,
            self.times,
            self.scores,
            threshold=self.threshold,
            peaks=found,
            window=self.window,
            method=self.method,
            rate=rate,
        )

    def columns(self) -> dict[str, Any]:
        """Names and values of the data frame."""
        return {"time": self.times, **super().columns()}


def _name(status: Status | None) -> str:
    """A status in a table."""
    return "" if status is None else status.name
