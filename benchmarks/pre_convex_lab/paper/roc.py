"""ROC curves and areas under them (AUC), with bootstrap replicates, for methods that score the same pairs of windows.

An array of scores holds those of the background pairs in its first half and those of the signal pairs in its second.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pre_convex._internal.typing import Array, Index

from .intervals import bootstrap_interval

__all__ = ["REPLICATES", "auc", "auc_interval", "auc_replicates", "roc_points", "win_matrix"]

#: bootstrap replicates of an AUC
REPLICATES = 2000


def auc(scores: Array) -> float:
    """Area under the ROC curve."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(_labels(scores), _ranks(scores)))


def roc_points(scores: Array) -> list[list[float]]:
    """False-alarm rates and hit rates at every threshold, from no alarm to alarms only."""
    from sklearn.metrics import roc_curve

    alarms, hits, _ = roc_curve(_labels(scores), _ranks(scores), drop_intermediate=False)
    return [alarms.tolist(), hits.tolist()]


def win_matrix(signal: Array, background: Array) -> Array:
    """1 where a signal (row) scores above a background (column), ½ where they tie, 0 elsewhere; AUC is its mean."""
    return np.asarray((signal[:, None] > background) + 0.5 * (signal[:, None] == background))


def auc_replicates(scores: Mapping[str, Array], rng: np.random.Generator) -> dict[str, Array]:
    """AUC of each method, then of bootstrap samples of the pairs, which are the same for all methods.

    ``roc_auc_score`` takes one set of weights at a time; here all replicates share one matrix of comparisons.
    """
    pairs = len(next(iter(scores.values()))) // 2
    drawn = rng.multinomial(pairs, np.full(pairs, 1.0 / pairs), (2, REPLICATES)) / pairs
    weights = np.concatenate([np.full((2, 1, pairs), 1.0 / pairs), drawn], axis=1)
    found = {}
    for name, values in scores.items():
        values = _ranks(values)
        wins = win_matrix(values[pairs:], values[:pairs])
        found[name] = np.asarray(np.einsum("bs,bs->b", weights[1], weights[0] @ wins.T))
    return found


def auc_interval(replicates: Array, pairs: int) -> list[float]:
    """AUC and its 95 % bootstrap interval.

    If the signal scores are all above the background scores, so are those of every replicate. The lower end is then the
    exact one for ``pairs`` independent comparisons, all won.
    """
    value, low, high = bootstrap_interval(replicates)
    return [value, min(low, 0.025 ** (1.0 / pairs)) if value > 1.0 - 1e-12 else low, high]


def _labels(scores: Array) -> Index:
    """0 for the first half of the scores, 1 for the second."""
    return np.repeat([0, 1], len(scores) // 2)


def _ranks(scores: Array) -> Array:
    """Ranks, on which alone a ROC curve depends; nan, a score that a method could not compute, is lowest."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(np.where(np.isnan(scores), -np.inf, scores), "dense"))
