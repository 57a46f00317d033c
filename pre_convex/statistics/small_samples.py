"""Degrees of freedom of a variance that is a sum of squared influences [DF], skewness [SKEW], and tests with both."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc, chdtri, fdtrc, fdtri

from .._internal.typing import Array

__all__ = [
    "degrees_of_freedom",
    "joint_degrees_of_freedom",
    "quadratic_p_value",
    "quadratic_quantile",
    "skewed_quantile",
    "skewed_statistic",
    "skewness",
    "whitening",
]

#: eigenvalue of a correlation matrix below which a variance is round-off
ROUND_OFF = 1e-10
#: skewness below which Hall's transformation is a shift, up to round-off
SYMMETRIC = 1e-6


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


def skewness(influences: Array) -> Array:
    """Skewness of sums of independent influences [SKEW], one for each column; zero where the variance is zero.

    Examples
    --------
    >>> skewness(np.array([[3.0], [-1.0], [-2.0], [0.0]])).round(2)
    array([0.34])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = influences / np.abs(influences).max(axis=0, initial=0.0)
        found = (unit**3).sum(axis=0) / np.square(unit).sum(axis=0) ** 1.5
    return np.asarray(np.where(np.isnan(found), 0.0, found))


def skewed_statistic(z: Array, skew: Array) -> Array:
    """Hall's transformation of studentised estimates, which takes their skewness away [SKEW].

    Examples
    --------
    >>> skewed_statistic(np.array([-2.0, 2.0]), np.array([0.3, 0.3])).round(2)
    array([-1.58,  2.48])
    """
    return np.asarray(z + skew * (np.square(z) / 3.0 + 1.0 / 6.0) + np.square(skew) * z**3 / 27.0)


def skewed_quantile(quantile: Array, skew: Array) -> Array:
    """The z whose :func:`skewed_statistic` is a given number.

    Examples
    --------
    >>> skewed_quantile(np.array([-1.58, 2.48]), np.array([0.3, 0.3])).round(1)
    array([-2.,  2.])
    """
    off = quantile - skew / 6.0
    small = np.abs(skew) < SYMMETRIC
    safe = np.where(small, 1.0, skew)
    return np.asarray(np.where(small, off, 3.0 / safe * (np.cbrt(1.0 + safe * off) - 1.0)))


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
