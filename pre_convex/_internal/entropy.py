"""Log-sum-exp and sums over weights that are kept as logarithms."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import entr

from .typing import Array

__all__ = [
    "effective_sample_size",
    "exponentiate",
    "log_normalise",
    "log_sum_exp",
    "negative_kl",
    "safe_log",
    "scalar_log",
]


def safe_log(x: Array) -> Array:
    """Elementwise logarithm; zero gives −inf without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


def exponentiate(z: Array) -> tuple[float, float]:
    """Overwrite ``z`` by exp(z − max z); return (max z, sum of the result).

    Examples
    --------
    >>> z = np.array([1000.0, 1000.0])
    >>> exponentiate(z), z
    ((1000.0, 2.0), array([1., 1.]))
    """
    top = float(z.max(initial=-np.inf))
    if top == -np.inf:
        z[:] = 0.0
        return top, 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # logs near ±1.8e308
        z -= top
    np.exp(z, out=z)
    return top, float(z.sum())


def scalar_log(x: float) -> float:
    """Logarithm of one non-negative number; zero gives −inf."""
    return math.log(x) if x > 0.0 else -math.inf


def log_sum_exp(z: Array) -> float:
    """Log Σ_j exp(z_j), without overflow; −inf for an empty sum.

    Examples
    --------
    >>> log_sum_exp(np.array([-np.inf, -900.0]))
    -900.0
    """
    top, total = exponentiate(np.array(z, dtype=float))
    return top + scalar_log(total)


def log_normalise(z: Array) -> Array:
    """z − log Σ exp(z), the logs of weights that sum to one; logs that are normalised already stay bit for bit.

    Examples
    --------
    >>> once = log_normalise(np.array([0.3, -2.0, 1.7]))
    >>> bool(np.all(log_normalise(once) == once))
    True
    """
    for _ in range(2):  # subtracting a large log sum rounds z, which a second round corrects
        total, top = log_sum_exp(z), float(z.max(initial=-np.inf))
        if abs(total) <= 4.0 * float(np.finfo(float).eps) * (1.0 + abs(top)):
            break
        with np.errstate(over="ignore"):
            z = z - total
        if abs(total) <= 2.0 * (1.0 + abs(top - total)):
            break
    return z


def effective_sample_size(log_weights: Array) -> float:
    """Kish's effective sample size (Σ w)² / Σ w², from log weights.

    Examples
    --------
    >>> round(effective_sample_size(np.zeros(7) - 900.0), 12)
    7.0
    """
    weights = np.array(log_weights, dtype=float)
    _, total = exponentiate(weights)
    return total**2 / float(weights @ weights)


def negative_kl(mu: Array, log_base: Array) -> float:
    """Σ_j −μ_j log μ_j + μ_j a_j, the objective of [D]; −inf if μ puts mass on a zero base weight.

    Examples
    --------
    >>> negative_kl(np.array([0.5, 0.5, 0.0]), np.log([0.5, 0.5, 1e-300]))
    0.0
    """
    terms, positive = entr(mu), mu > 0.0
    terms[positive] += mu[positive] * log_base[positive]  # NumPy sums in pairs, which is more accurate than a product
    return float(terms.sum())
