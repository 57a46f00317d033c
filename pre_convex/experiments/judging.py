"""Judging detectors on runs of a real series: AUC, false alarms and power, with a bootstrap of runs and of draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..applications.detection import Background
from ..entropy import Array, Index

__all__ = [
    "RATE",
    "Judged",
    "Sample",
    "calibrated",
    "interval",
    "rate_interval",
    "resampled",
    "standing",
    "verdict",
]

#: nominal false-alarm rate, and what the real one must not exceed for the nominal one to count as kept
RATE, BOUND = 0.05, 0.1


@dataclass(frozen=True, eq=False)
class Sample:
    """What each replicate takes.

    Attributes
    ----------
    counts : ndarray of shape (replicates, runs)
        How often each run is taken.
    draws : ndarray of shape (replicates, draws)
        How often each draw of noise, or each matching of days, is taken.
    picks : ndarray of int of shape (replicates, simulated)
        Which simulated pairs the threshold comes from.
    """

    counts: Array
    draws: Array
    picks: Index


def resampled(runs: int, draws: int, simulated: int, rng: np.random.Generator, replicates: int) -> Sample:
    """Everything once, then bootstrap samples of runs, of draws and of simulated pairs."""
    counts, taken = (
        np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1.0 / n), replicates)]) for n in (runs, draws)
    )
    return Sample(counts, taken, np.vstack([np.arange(simulated), rng.integers(0, simulated, (replicates, simulated))]))


@dataclass(frozen=True, eq=False)
class Judged:
    """Scores of one method.

    Attributes
    ----------
    null : ndarray of shape (draws, pairs) or (1, pairs)
        Pairs without a change; one row where nothing about them is drawn.
    change : ndarray of shape (draws, pairs)
        Pairs with a change.
    run : ndarray of int of shape (pairs,)
        The run of each pair's first window, and of the second window where there is no change.
    second : ndarray of int of shape (draws, pairs) or None
        The run that the second window of a change comes from.
    background : ndarray of shape (simulated,)
        Simulated pairs without a change.
    """

    null: Array
    change: Array
    run: Index
    second: Index | None
    background: Array

    def figures(self, sample: Sample) -> Array:
        """AUC, false-alarm rate and power of each replicate; a pair counts by the runs of both its windows."""
        replicates = len(sample.counts)
        first = sample.counts[:, None, self.run]
        by_draw = sample.draws[:, :, None]
        of_null = first * (by_draw if len(self.null) > 1 else 1.0)
        of_change = first * by_draw * (1.0 if self.second is None else sample.counts[:, self.second])
        weights = [w.reshape(replicates, -1) / w.sum(axis=(1, 2))[:, None] for w in (of_null, of_change)]
        null, change = self.null.ravel(), self.change.ravel()
        above = (change[:, None] > null) + 0.5 * (change[:, None] == null)
        auc = ((weights[1] @ above) * weights[0]).sum(axis=1)
        thresholds = np.array([Background(self.background[pick]).threshold(RATE) for pick in sample.picks])
        rates = [(w * (s > thresholds[:, None])).sum(axis=1) for w, s in zip(weights, (null, change), strict=True)]
        return np.stack([auc, *rates])


def interval(values: Array) -> list[float]:
    """The figure itself, and the 95 % interval of its bootstrap."""
    return [float(values[0]), *(float(q) for q in np.quantile(values[1:], [0.025, 0.975]))]


def rate_interval(values: Array, trials: int) -> list[float]:
    """The same for a rate; where it is zero, up to what so many trials without an alarm do not exclude."""
    rate, low, high = interval(values)
    return [rate, low, 1.0 - 0.025 ** (1.0 / trials) if rate == 0.0 else high]


def calibrated(values: Sequence[float]) -> str:
    """Whether the nominal rate is kept: the interval of the real one has to contain it, and to exclude twice as much.

    Examples
    --------
    >>> [calibrated(values) for values in ([0.05, 0.02, 0.08], [0.05, 0.01, 0.12], [0.09, 0.06, 0.12], [0.01, 0, 0.02])]
    ['kept', 'open', 'exceeded', 'not reached']
    """
    _, low, high = values
    return "exceeded" if low > RATE else "not reached" if high < RATE else "kept" if high <= BOUND else "open"


def standing(values: Sequence[float]) -> str:
    """Where PRE stands, from the interval of its lead."""
    _, low, high = values
    return "ahead of" if low > 0.0 else "behind" if high < 0.0 else "level with"


def verdict(values: Sequence[float], holds: str = "holds") -> str:
    """Whether PRE leads."""
    found = standing(values)
    return holds if found == "ahead of" else f"does not hold: {'behind' if found == 'behind' else 'no difference'}"
