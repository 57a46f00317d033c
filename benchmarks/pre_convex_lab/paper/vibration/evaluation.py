"""Evaluation of detectors on the runs of a real series: AUC, false alarms and power, with a bootstrap of the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pre_convex._internal.typing import Array, Index
from pre_convex.applications.detection import Background

from ..intervals import bootstrap_interval
from ..roc import win_matrix

__all__ = [
    "RATE",
    "Resamples",
    "Scores",
    "compare",
    "judge_lead",
    "judge_rate",
    "rate_interval",
    "resample",
]

#: nominal false-alarm rate, and the largest rate at which it still counts as kept
RATE, BOUND = 0.05, 0.1


@dataclass(frozen=True, eq=False)
class Resamples:
    """Bootstrap samples; the first is the original sample.

    Attributes
    ----------
    counts : ndarray of shape (replicates, runs)
        How often each run is drawn.
    draws : ndarray of shape (replicates, draws)
        How often each draw of the noise, or each matching of days, is drawn.
    picks : ndarray of int of shape (replicates, simulated)
        Indices of the simulated pairs that the threshold comes from.
    """

    counts: Array
    draws: Array
    picks: Index


def resample(runs: int, draws: int, simulated: int, rng: np.random.Generator, replicates: int) -> Resamples:
    """The original sample, then bootstrap samples of runs, of draws and of simulated pairs."""
    counts, drawn = (
        np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1.0 / n), replicates)]) for n in (runs, draws)
    )
    picks = np.vstack([np.arange(simulated), rng.integers(0, simulated, (replicates, simulated))])
    return Resamples(counts, drawn, picks)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of one method.

    Attributes
    ----------
    null : ndarray of shape (draws, pairs) or (1, pairs)
        Scores of pairs without a change; one row if nothing is drawn at random.
    change : ndarray of shape (draws, pairs)
        Scores of pairs with a change.
    run : ndarray of int of shape (pairs,)
        Run of the first window, and of the second one if there is no change.
    second : ndarray of int of shape (draws, pairs) or None
        Run of the second window of the pairs with a change; None if it is from no run.
    background : ndarray of shape (simulated,)
        Scores of simulated pairs without a change.
    """

    null: Array
    change: Array
    run: Index
    second: Index | None
    background: Array

    def measures(self, resamples: Resamples) -> Array:
        """AUC, false-alarm rate and power of each replicate; a pair is weighted by the runs of both its windows."""
        replicates = len(resamples.counts)
        first = resamples.counts[:, None, self.run]
        by_draw = resamples.draws[:, :, None]
        of_null = first * (by_draw if len(self.null) > 1 else 1.0)
        of_change = first * by_draw * (1.0 if self.second is None else resamples.counts[:, self.second])
        weights = [w.reshape(replicates, -1) / w.sum(axis=(1, 2))[:, None] for w in (of_null, of_change)]
        null, change = self.null.ravel(), self.change.ravel()
        auc = ((weights[1] @ win_matrix(change, null)) * weights[0]).sum(axis=1)
        thresholds = np.array([Background(self.background[pick]).threshold(RATE) for pick in resamples.picks])
        rates = [(w * (s > thresholds[:, None])).sum(axis=1) for w, s in zip(weights, (null, change), strict=True)]
        return np.stack([auc, *rates])


def rate_interval(replicates: Array, trials: int) -> list[float]:
    """A rate with its 95 % bootstrap interval; if the rate is zero, the upper end is exact for independent trials."""
    rate, low, high = bootstrap_interval(replicates)
    return [rate, low, 1.0 - 0.025 ** (1.0 / trials) if rate == 0.0 else high]


def judge_rate(interval: Sequence[float]) -> str:
    """Whether the nominal rate is kept: the interval must contain it, and exclude twice the nominal rate.

    Examples
    --------
    >>> [judge_rate(rate) for rate in ([0.05, 0.02, 0.08], [0.05, 0.01, 0.12], [0.09, 0.06, 0.12], [0.01, 0, 0.02])]
    ['kept', 'open', 'exceeded', 'not reached']
    """
    _, low, high = interval
    return "exceeded" if low > RATE else "not reached" if high < RATE else "kept" if high <= BOUND else "open"


def compare(lead: Sequence[float]) -> str:
    """Whether PRE is ahead, behind or level, from the interval of its lead."""
    _, low, high = lead
    return "ahead of" if low > 0.0 else "behind" if high < 0.0 else "level with"


def judge_lead(lead: Sequence[float], holds: str = "holds") -> str:
    """Whether PRE leads."""
    place = compare(lead)
    return holds if place == "ahead of" else f"does not hold: {'behind' if place == 'behind' else 'no difference'}"
