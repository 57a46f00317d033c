"""The distribution of a weighted sum of χ² variables."""

from __future__ import annotations

import numpy as np

from .._internal.entropy import safe_log
from .._internal.typing import Array
from .._internal.validation import as_numbers, as_scalar
from ..errors import DataError

__all__ = ["p_value_text", "weighted_chi2_sf"]

#: step of the trapezoid rule, and final slope of the path of integration
STEP, SLOPE = 0.04, 0.8


def weighted_chi2_sf(x: float, weights: Array) -> float:
    """Survival function of a weighted sum of χ² variables: P(Σ_i weights_i χ²_1 > x).

    Accurate to about ten digits of the smaller tail, for any number and spread of weights. The moment generating
    function M is inverted, P = ∫ M(t) exp(−x t) / t dt / 2πi, along a hyperbola through the saddle point that follows
    the steepest descent there (after Rice 1980), on which the trapezoid rule converges fast. Left of the mean the
    saddle point is negative and the integral is minus the lower tail.

    Parameters
    ----------
    x : float
        Where to evaluate it.
    weights : array of shape (m,)
        Finite weights of the independent χ² variables, at least 0.

    Returns
    -------
    float
        A probability.

    Examples
    --------
    >>> [round(weighted_chi2_sf(x, np.ones(k)), 9) for x, k in ((3.841458820694124, 1), (5.991464547107979, 2))]
    [0.05, 0.05]
    """
    x, weights = as_scalar(x, "x"), as_numbers(weights, "weights")
    if weights.ndim != 1 or not np.all((weights >= 0.0) & (weights < np.inf)):
        raise DataError("weights", "must be a vector of finite, non-negative numbers", "pass one for each χ² variable")
    weights = weights[weights > 0.0]
    if weights.size == 0:
        return 1.0
    top = float(weights.max())
    x, weights = min(float(x) / top, 1e15), weights / top
    if not x > 1e-40:  # the lower tail is at most about √x, which is below round-off
        return 1.0
    upper = x > float(weights.sum())
    t = _saddle_point(x, weights, upper)
    pull = weights / (1.0 - 2.0 * weights * t)
    width: float = float(2.0 * np.square(pull).sum() + 1.0 / t**2) ** -0.5
    bend = width**3 * float(8.0 * (pull**3).sum() - (0.0 if upper else 2.0 / t**3)) / 6.0
    v = np.arange(0.0, 7.0, STEP)
    s = np.sinh(v)
    turn = 2.0 * bend * s / SLOPE
    root = np.sqrt(1.0 + turn**2)
    re, im = t + 0.5 * width * SLOPE**2 / bend * (root - 1.0), width * s
    factor_re, factor_im = 1.0 - 2.0 * np.outer(re, weights), -2.0 * np.outer(im, weights)
    size = -0.25 * safe_log(factor_re**2 + factor_im**2).sum(axis=1) - x * re - 0.5 * safe_log(re**2 + im**2)
    phase = -0.5 * np.arctan2(factor_im, factor_re).sum(axis=1) - x * im - np.arctan2(im, re)
    values = np.exp(size) * (np.cos(phase) + SLOPE * turn / root * np.sin(phase)) * np.cosh(v)
    tail = float(abs(values.sum() - 0.5 * values[0])) * STEP * width / np.pi
    return tail if upper else 1.0 - tail


def _saddle_point(x: float, weights: Array, upper: bool) -> float:
    """Minimum of log M(t) − x t − log |t|, whose derivative rises from −∞ to ∞ on either side of zero."""
    low, high = (0.0, 0.5) if upper else (-(0.5 * weights.size + 1.0) / x, 0.0)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if (weights / (1.0 - 2.0 * weights * middle)).sum() - x < 1.0 / middle:
            low = middle
        else:
            high = middle
    return low if upper else high


def p_value_text(p: float) -> str:
    """A p-value as text; one that is zero in doubles is below 1e-300.

    Parameters
    ----------
    p : float
        The p-value.

    Returns
    -------
    str

    Examples
    --------
    >>> p_value_text(0.0312), p_value_text(0.0)
    ('p = 0.0312', 'p < 1e-300')
    """
    return "p < 1e-300" if p < 1e-300 else f"p = {p:.3g}"
