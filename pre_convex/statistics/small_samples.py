"""Degrees of freedom of a variance that is a sum of squared influences [DF], and tests that allow for them."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc, chdtri, fdtrc, fdtri

from .._internal.typing import Array

__all__ = ["degrees_of_freedom", "joint_degrees_of_freedom", "quadratic_p_value", "quadratic_quantile", "whitening"]

#: eigenvalue of a correlation matrix below which a variance is round-off
ROUND_OFF = 1e-10


def degrees_of_freedom(influences: Array) -> Array:
    """Degrees of freedom of the variances Σφ² [DF], one for each column; infinite where the variance is zero.

    Examples
    --------
    >>> degrees_of_freedom(np.ones((50, 1)))
    array([150.])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = influences / np.abs(influences).max(axis=0, initial=0.0)  # fourth powers must not underflow
        found = 3.0 * np.square(np.square(unit).sum(axis=0)) / np.square(np.square(unit)).sum(axis=0)
    return np.asarray(np.where(np.isnan(found), np.inf, found))


def whitening(V: Array) -> Array:
    """Matrix T, shape (k, r) for a V of rank r, with T'VT = I.

    Examples
    --------
    >>> np.abs(whitening(np.diag([4.0, 0.0, 25.0]))).sum(axis=0)
    array([0.5, 0.2])
    """
    unit = np.sqrt(np.maximum(np.diag(V), 0.0))
    unit[unit == 0.0] = 1.0
    values, vectors = np.linalg.eigh(V / np.outer(unit, unit))
    keep = values > ROUND_OFF
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]) / unit[:, None])


def joint_degrees_of_freedom(influences: Array, whitener: Array) -> float:
    """Degrees of freedom of the covariance matrix of several columns of influences [DF]."""
    r = whitener.shape[1]
    fourth = float(np.square(np.square(influences @ whitener).sum(axis=1)).sum())
    return r * (r + 2.0) / fourth if fourth > 0.0 else np.inf


def quadratic_p_value(statistic: float, df: int, noise_df: float = np.inf) -> float:
    """Probability that a quadratic form in ``df`` normal variables is larger, given ``noise_df`` of its variance.

    χ² for infinite ``noise_df``, otherwise the T² distribution of Hotelling.

    Examples
    --------
    >>> round(quadratic_p_value(5.99, 2), 3), round(quadratic_p_value(5.99, 2, 20.0), 3)
    (0.05, 0.083)
    """
    if df == 0:
        return 1.0
    if not np.isfinite(noise_df):
        return float(chdtrc(df, statistic))
    nu = max(noise_df, df + 1.0)
    return float(fdtrc(df, nu - df + 1.0, statistic * (nu - df + 1.0) / (df * nu)))


def quadratic_quantile(level: float, df: int, noise_df: float = np.inf) -> float:
    """The statistic whose :func:`quadratic_p_value` is 1 − level.

    Examples
    --------
    >>> round(quadratic_quantile(0.95, 2), 2), round(quadratic_quantile(0.95, 2, 20.0), 2)
    (5.99, 7.41)
    """
    if not np.isfinite(noise_df):
        return float(chdtri(df, 1.0 - level))
    nu = max(noise_df, df + 1.0)
    return float(df * nu / (nu - df + 1.0) * fdtri(df, nu - df + 1.0, level))
