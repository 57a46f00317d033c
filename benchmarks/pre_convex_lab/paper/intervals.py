"""95 % intervals for shares and for means over repetitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from pre_convex._internal.typing import Array

__all__ = ["Share", "bootstrap_interval", "mean_and_margin", "mean_interval"]


@dataclass(frozen=True)
class Share:
    """A count out of a total, with its exact (Clopper-Pearson) 95 % interval.

    Examples
    --------
    >>> print(Share(249, 5000))
    4.98 % (4.39 to 5.62)
    """

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.total

    @property
    def lower(self) -> float:
        """Lower end of the interval."""
        return float(betaincinv(self.count, self.total - self.count + 1, 0.025)) if self.count else 0.0

    @property
    def upper(self) -> float:
        """Upper end of the interval."""
        rest = self.total - self.count
        return float(betaincinv(self.count + 1, rest, 0.975)) if rest else 1.0

    def __str__(self) -> str:
        return f"{100 * self.value:.3g} % ({100 * self.lower:.3g} to {100 * self.upper:.3g})"


def mean_interval(values: Array) -> list[float]:
    """Mean of a few repetitions and its 95 % interval from Student's t.

    Examples
    --------
    >>> [round(v, 2) for v in mean_interval(np.array([1.0, 2.0, 3.0]))]
    [2.0, -0.48, 4.48]
    """
    from scipy.stats import t

    mean = float(values.mean())
    margin = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return [mean, mean - margin, mean + margin]


def mean_and_margin(values: Array) -> tuple[Array, Array]:
    """Mean over many repetitions (first axis) and half the width of its normal 95 % interval; nan are left out.

    Examples
    --------
    >>> mean, margin = mean_and_margin(np.array([1.0, 2.0, np.nan, 3.0]))
    >>> round(float(mean), 3), round(float(margin), 3)
    (2.0, 1.132)
    """
    count = np.isfinite(values).sum(axis=0)
    margin = 1.96 * np.nanstd(values, axis=0, ddof=1) / np.sqrt(count)
    return np.asarray(np.nanmean(values, axis=0)), np.asarray(margin)


def bootstrap_interval(replicates: Array) -> list[float]:
    """The estimate, which comes first, and the central 95 % of its bootstrap replicates, which follow.

    Examples
    --------
    >>> bootstrap_interval(np.append(7.0, np.arange(41.0)))
    [7.0, 1.0, 39.0]
    """
    return [float(replicates[0]), *np.quantile(replicates[1:], [0.025, 0.975]).tolist()]
