"""ROC curves, the areas under them, and how far figures of few samples can be trusted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..applications.explanation.fidelity import roc_area
from ..entropy import Array

__all__ = ["RESAMPLES", "area", "area_interval", "mean_interval", "resampled_areas", "roc", "share_of_rows"]

RESAMPLES = 2000


def area(scores: Array, pairs: int) -> float:
    """AUC of scores of background pairs, then of as many signal pairs."""
    return roc_area(np.arange(len(scores)) >= pairs, _ranked(scores))


def _wins(scores: Array, pairs: int) -> Array:
    """Which signal pairs score higher than which background pairs; one half where they are equal."""
    background, signal = _ranked(scores[:pairs]), _ranked(scores[pairs:])
    return np.asarray((signal[:, None] > background) + 0.5 * (signal[:, None] == background))


def resampled_areas(scores: Mapping[str, Array], pairs: int, rng: np.random.Generator) -> dict[str, Array]:
    """AUC of the sample, then of resamples of its background and signal pairs, the same for all methods."""
    drawn = rng.multinomial(pairs, np.full(pairs, 1.0 / pairs), (2, RESAMPLES)) / pairs
    weights = np.concatenate([np.full((2, 1, pairs), 1.0 / pairs), drawn], axis=1)
    return {
        name: np.asarray(np.einsum("bs,bs->b", weights[1], weights[0] @ _wins(values, pairs).T))
        for name, values in scores.items()
    }


def area_interval(values: Array, pairs: int) -> list[float]:
    """An AUC of the sample, and the 95 % interval of its resamples.

    Resamples of a perfect sample are perfect. There the lower end is the exact one for as many independent couples of a
    signal and a background pair, all in the right order.
    """
    low, high = np.quantile(values[1:], [0.025, 0.975]).tolist()
    return [float(values[0]), min(low, 0.025 ** (1.0 / pairs)) if values[0] > 1.0 - 1e-12 else low, high]


def mean_interval(values: Array) -> list[float]:
    """The mean of repetitions, and its 95 % interval by Student's t.

    Examples
    --------
    >>> [round(v, 2) for v in mean_interval(np.array([1.0, 2.0, 3.0]))]
    [2.0, -0.48, 4.48]
    """
    from scipy.stats import t

    mean = float(values.mean())
    margin = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return [mean, mean - margin, mean + margin]


def _ranked(scores: Array) -> Array:
    """Scores that can be compared; without a value they are lowest."""
    return np.where(np.isnan(scores), -np.inf, scores)


def roc(scores: Array, pairs: int) -> list[list[float]]:
    """False-alarm rates and hit rates, from no alarm to all; equal scores are passed together."""
    values = _ranked(scores)
    levels = np.unique(values)[::-1]
    sides = (np.sort(values[:pairs]), np.sort(values[pairs:]))
    return [[0.0, *(1.0 - np.searchsorted(side, levels, side="left") / pairs).tolist()] for side in sides]


def share_of_rows(table: Array) -> float:
    """Share of the rows in the variance of a table, that of the columns being the rest: two-way analysis of variance.

    Examples
    --------
    >>> share_of_rows(np.add.outer(np.array([0.0, 3.0, 6.0]), np.array([0.0, 1.0, 2.0])))
    0.9
    """
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    rest = table - rows[:, None] - columns + table.mean()
    error = np.square(rest).sum() / ((len(rows) - 1) * (len(columns) - 1))
    by_row = max(rows.var(ddof=1) - error / len(columns), 0.0)
    by_column = max(columns.var(ddof=1) - error / len(rows), 0.0)
    return float(by_row / max(by_row + by_column, 1e-300))
