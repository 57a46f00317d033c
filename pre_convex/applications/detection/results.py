"""Results of detection: one pair of windows, many pairs, or a scan of a series."""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._internal.typing import Array, Index
from ..._internal.validation import as_count, as_scalar, preview
from ...data.tables import as_frame
from ...errors import DataError
from ...solution import Status

if TYPE_CHECKING:
    from ...plots.canvas import Figure

__all__ = ["PairScores", "Peak", "Scan", "Score", "Scores", "concatenate_scores", "scores_without_program"]


@dataclass(frozen=True, eq=False)
class Score:
    """How far y_q stands out from y_p.

    Attributes
    ----------
    score : float
        −ℓ(δ̂) for ``method="pre"``, an estimate of the divergence between the two posteriors in nats; otherwise the
        baseline's score. Infinite if no finite δ exists. With a penalty it is the divergence of the fitted posterior
        from that of q, without the penalty term.
    delta : ndarray of shape (k,)
        Parameters δ of the ratio; empty for methods without any.
    status : Status or None
        What is proven about δ; ``None`` for methods that solve no program.
    gap : float
        Certified duality gap; nan for methods that solve no program.
    ess_p, ess_q : float
        Effective number of prior rows given y_p and given y_q; nan for methods without likelihoods.
    minimal_radius : float
        Distance of the target from the hull if it lies outside: any larger radius gives a finite δ. Otherwise nan.
    p_value : float
        (1 + number of background scores at least as large) / (1 + number of background scores); nan without a
        background.
    method : str
        The scoring method.
    names : tuple of str
        Names of the features, one for each entry of ``delta``.
    warnings : tuple of str
        Reasons to distrust the score.

    Examples
    --------
    >>> from pre_convex.applications.detection import score
    >>> rng = np.random.default_rng(0)
    >>> prior_p, prior_q = rng.normal(0.0, 1.0, (500, 4)), rng.normal(0.0, 2.0, (500, 4))
    >>> found = score(np.zeros(4), np.full(4, 2.0), prior_p, prior_q, noise=1.0, features="linear")
    >>> found.status.name, found.delta.shape
    ('OPTIMAL', (4,))
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
        """A data frame of one row.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default "pandas"
            Library of the frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Status, score, gap, effective sample sizes, minimal radius, p-value, and δ by feature.
        """
        keys = ("score", "gap", "ess_p", "ess_q", "minimal_radius", "p_value")
        data = {"status": [_name(self.status)], **{key: [getattr(self, key)] for key in keys}}
        data |= {name: [value] for name, value in zip(self.names, self.delta.tolist(), strict=False)}
        return as_frame(data, backend)


@dataclass(frozen=True, eq=False)
class PairScores:
    """What a method computes for W pairs; fields as in :class:`Score`, one entry or row for each pair.

    Methods that solve no program have empty ``delta``, status ``None`` and nan elsewhere.
    """

    scores: Array
    delta: Array
    status: tuple[Status | None, ...]
    gap: Array
    ess_p: Array
    ess_q: Array
    minimal_radius: Array


def scores_without_program(scores: Array, *, ess_p: Array | None = None, ess_q: Array | None = None) -> PairScores:
    """Scores of a method that solves no program."""
    W = len(scores)
    nan = np.full(W, np.nan)
    ess_p, ess_q = nan if ess_p is None else ess_p, nan if ess_q is None else ess_q
    return PairScores(scores, np.empty((W, 0)), (None,) * W, nan, ess_p, ess_q, nan)


def concatenate_scores(blocks: list[PairScores]) -> PairScores:
    """Scores of several blocks of pairs as one."""
    arrays = {
        name: np.concatenate([getattr(block, name) for block in blocks])
        for name in ("scores", "delta", "gap", "ess_p", "ess_q", "minimal_radius")
    }
    return PairScores(status=tuple(status for block in blocks for status in block.status), **arrays)


@dataclass(frozen=True, eq=False, repr=False)
class Scores(PairScores):
    """Scores of W pairs of windows; index it for one pair as a :class:`Score`.

    Attributes
    ----------
    scores : ndarray of shape (W,)
        Scores, infinite where no finite δ exists; see :class:`Score` for what they measure.
    delta : ndarray of shape (W, k)
        Parameters δ of the ratios; no columns for methods without any.
    status : tuple of Status or None
        What is proven about each δ.
    gap : ndarray of shape (W,)
        Certified duality gaps.
    ess_p, ess_q : ndarray of shape (W,)
        Effective numbers of prior rows given y_p and given y_q, out of ``n_p`` and ``n_q``.
    minimal_radius : ndarray of shape (W,)
        Distances of targets outside the hull; nan elsewhere.
    p_values : ndarray of shape (W,)
        p-values; nan without a background.
    threshold : float
        Scores above it are alarms at the chosen false-alarm rate; nan without a background.
    n_p, n_q : int
        Rows of the two priors.
    method : str
        The scoring method.
    names : tuple of str
        Names of the features, one for each column of ``delta``.
    warnings : tuple of str
        Reasons to distrust the scores.

    Examples
    --------
    >>> from pre_convex.applications.detection import scores
    >>> rng = np.random.default_rng(0)
    >>> prior_p, prior_q = rng.normal(0.0, 1.0, (500, 4)), rng.normal(0.0, 2.0, (500, 4))
    >>> Y_p, Y_q = np.zeros((3, 4)), rng.normal(size=(3, 4))
    >>> found = scores(Y_p, Y_q, prior_p, prior_q, noise=1.0, features="linear")
    >>> found
    Scores(3 pairs, method='pre': 3 OPTIMAL)
    >>> found[0].status.name
    'OPTIMAL'
    """

    p_values: Array
    threshold: float
    n_p: int
    n_q: int
    method: str
    names: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def score(self) -> Array:
        """The scores: the same name as that of a single :class:`Score`."""
        return self.scores

    @property
    def alarms(self) -> Any:
        """Boolean array: which scores exceed the threshold."""
        if np.isnan(self.threshold):
            raise DataError("threshold", "is not known without a background", "pass replicates=999 or a background")
        return self.scores > self.threshold

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, w: int) -> Score:
        """One pair.

        Parameters
        ----------
        w : int
            Index of the pair; negative ones count from the end.

        Returns
        -------
        Score
            The score of that pair.
        """
        try:
            w = range(len(self))[operator.index(w)]
        except (TypeError, IndexError):
            raise IndexError(f"{preview(w)} is not an index of one of {len(self)} pairs") from None
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
        """A data frame with one row for each pair.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default "pandas"
            Library of the frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The columns of :meth:`columns`.
        """
        return as_frame(self.columns(), backend)

    def columns(self) -> dict[str, Any]:
        """Columns of the data frame by name.

        Returns
        -------
        dict of str to array or list
            Scores, p-values, statuses, gaps, effective sample sizes, minimal radii, and δ by feature.
        """
        keys = ("gap", "ess_p", "ess_q", "minimal_radius")
        return {
            "score": self.scores,
            "p_value": self.p_values,
            "status": [_name(status) for status in self.status],
            **{key: getattr(self, key) for key in keys},
            **{name: self.delta[:, i] for i, name in enumerate(self.names[: self.delta.shape[1]])},
        }

    def __repr__(self) -> str:
        counts = Counter(_name(status) for status in self.status)
        statuses = ", ".join(f"{count} {name}" for name, count in counts.items() if name)
        return f"{type(self).__name__}({len(self)} pairs, method={self.method!r}{': ' * bool(statuses)}{statuses})"


@dataclass(frozen=True)
class Peak:
    """A local maximum of a scan.

    Attributes
    ----------
    index : int
        Index into ``scan.times`` and ``scan.scores``.
    time : int
        Time point of the peak.
    score : float
        Its score.
    p_value : float
        Its p-value; nan without a background.
    """

    index: int
    time: int
    score: float
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Scan(Scores):
    """Scores along a series: a :class:`Scores` with times.

    Attributes
    ----------
    times : ndarray of int of shape (W,)
        Times t: y_p is the window that ends before t, y_q the one that starts at t.
    series : ndarray of shape (T,) or (T, channels)
        The series that was scanned.
    window : int
        Length of a window in time points.

    Examples
    --------
    >>> from pre_convex.applications.detection import scan
    >>> rng = np.random.default_rng(0)
    >>> prior_p, prior_q = rng.normal(0.0, 1.0, (500, 4)), rng.normal(0.0, 2.0, (500, 4))
    >>> series = np.r_[np.zeros(20), np.full(20, 2.0)]
    >>> found = scan(series, 4, prior_p, prior_q, noise=1.0, features="linear", warn=False)
    >>> found.peaks(1)[0].time
    20
    """

    times: Index
    series: Array
    window: int

    def peaks(self, count: int | None = None, *, distance: int | None = None, above: float | None = None) -> list[Peak]:
        """Local maxima, highest first; infinite scores are ranked by the distance of their target from the hull.

        Parameters
        ----------
        count : int, optional
            Maximum number of peaks to return; all by default.
        distance : int, optional
            Minimum distance between two peaks in time points, at least 1; the window by default.
        above : float, optional
            Return peaks with a score above this; the threshold by default if there is one, otherwise all.

        Returns
        -------
        list of Peak
            The peaks, highest first.
        """
        from scipy.signal import find_peaks

        separation = float(self.window) if distance is None else as_scalar(distance, "distance")
        if separation < 1.0:
            raise DataError("distance", f"{separation:g} is less than one time point", "pass a number of at least 1")
        if count is not None:
            count = as_count(count, "count", 0)
        if above is None:
            above = -np.inf if np.isnan(self.threshold) else self.threshold
        elif not (isinstance(above, float | np.floating) and np.isinf(above)):
            above = as_scalar(above, "above")
        known = np.where(np.isnan(self.scores), -np.inf, self.scores)
        height, floor = self._finite_heights(known)
        step = int(self.times[1] - self.times[0]) if len(self.times) > 1 else 1
        # pad the ends, so a maximum there is a peak too
        padded = np.concatenate([[floor], height, [floor]])
        index = find_peaks(padded, distance=max(1.0, separation / step))[0] - 1
        index = index[known[index] > above]
        order = index[np.argsort(-height[index], kind="stable")][:count]
        return [Peak(int(i), int(self.times[i]), float(self.scores[i]), float(self.p_values[i])) for i in order]

    def _finite_heights(self, known: Array) -> tuple[Array, float]:
        """Finite heights in the order of the scores, and a height below all of them."""
        finite = known[np.isfinite(known)]
        top, low = (finite.max(), finite.min()) if finite.size else (0.0, 0.0)
        height = np.clip(known, low - 1.0, top + abs(top) + 1.0)
        outside = np.isposinf(known)
        if outside.any():
            distance = np.nan_to_num(self.minimal_radius[outside])
            height[outside] *= 1.0 + distance / max(distance.max(), 1e-300)
        return height, low - 2.0

    def plot(self, rate: float | None = None) -> Figure:
        """Plot the series above its scores, with the threshold and the peaks above it.

        Parameters
        ----------
        rate : float, optional
            Sampling rate in time points a second, for a time axis in seconds; in time points by default.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from ...plots.detection import plot_scan

        peaks = [] if np.isnan(self.threshold) else [peak.index for peak in self.peaks()]
        return plot_scan(
            self.series,
            self.times,
            self.scores,
            threshold=self.threshold,
            peaks=peaks,
            window=self.window,
            method=self.method,
            rate=rate,
        )

    def columns(self) -> dict[str, Any]:
        """Columns of the data frame by name: the times, then those of :class:`Scores`.

        Returns
        -------
        dict of str to array or list
            Columns in order.
        """
        return {"time": self.times, **super().columns()}


def _name(status: Status | None) -> str:
    """Name of a status, empty for ``None``."""
    return "" if status is None else status.name
