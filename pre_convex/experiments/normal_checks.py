"""Whether numbers follow N(0, 1): in the middle, in the tails, and at the far end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from ..entropy import Array, exp_of

__all__ = ["BEYOND", "CHECKS", "NormalCheck", "anderson_darling", "check_normal"]

#: where the tails begin, in standard deviations, and the chance to lie beyond
TAIL = 3.0
BEYOND = float(2.0 * ndtr(-TAIL))
#: names of the p-values, from the middle outwards
CHECKS = ("ks", "ad", "tail", "largest")


@dataclass(frozen=True)
class NormalCheck:
    """Four figures with their p-values: distances of distribution functions, a count, and the largest of all.

    Attributes
    ----------
    distance : float
        Kolmogorov and Smirnov's largest distance, which sees the middle.
    squared : float
        Anderson and Darling's A², which weighs the tails up.
    beyond : int
        How many lie beyond three standard deviations.
    largest : float
        The largest absolute value.
    p : dict
        p-values of the four, by ``CHECKS``.
    """

    distance: float
    squared: float
    beyond: int
    largest: float
    p: dict[str, float]


def check_normal(z: Array) -> NormalCheck:
    """All checks of a sample.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.random.default_rng(0).normal(size=2000)
    >>> min(check_normal(z).p.values()) > 0.01
    True
    >>> check_normal(np.append(z, 6.0)).p["largest"] < 1e-4
    True
    """
    from scipy.stats import binomtest, kstest

    ks, (squared, tail) = kstest(z, "norm"), anderson_darling(z)
    beyond, largest = int((np.abs(z) > TAIL).sum()), float(np.abs(z).max())
    p = {
        "ks": float(ks.pvalue),
        "ad": tail,
        "tail": float(binomtest(beyond, len(z), BEYOND).pvalue),
        "largest": 1.0 - float(1.0 - 2.0 * ndtr(-largest)) ** len(z),
    }
    return NormalCheck(float(ks.statistic), squared, beyond, largest, p)


def anderson_darling(z: Array) -> tuple[float, float]:
    """A² of a sample from a law that is known in full, and its p-value by Marsaglia and Marsaglia's formulas."""
    ordered = np.sort(z)
    odd = 2.0 * np.arange(1, len(z) + 1) - 1.0
    a = float(-len(z) - np.mean(odd * (log_ndtr(ordered) + log_ndtr(-ordered[::-1]))))
    if a < 2.0:
        series = np.polyval([0.00168691, -0.011672, 0.0347962, -0.0649821, 0.247105, 2.00012], a)
        below = float(series) * exp_of(-1.2337141 / a) / a**0.5
    else:
        series = np.polyval([-0.0003146, 0.008056, -0.082433, 0.43424, -2.30695, 1.0776], a)
        below = exp_of(-exp_of(float(series)))
    return a, 1.0 - below
