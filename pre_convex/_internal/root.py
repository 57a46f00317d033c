"""The root of an increasing function by Newton's method within a bracket."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["increasing_root"]

#: trial points: enough to halve any interval of floats down to round-off
MAX_TRIALS = 200
#: a step that leaves more than this share of the value is followed by a bisection
SLOW = 0.1
#: longest Newton step at first while there is no bracket; it doubles with each step
LONGEST = 1e3


def increasing_root(f: Callable[[float], tuple[float, float]], guess: float, tol: float) -> float:
    """The c at which an increasing function is zero, or the best that was found.

    Newton steps, which may take hundreds of trials where a function grows exponentially, alternate with bisections
    until they converge.

    Parameters
    ----------
    f : function
        Value and slope at c; nan counts as +inf.
    guess : float
        First trial point.
    tol : float
        Absolute value at which to stop.

    Examples
    --------
    >>> round(increasing_root(lambda c: (c**3 - 8.0, 3.0 * c**2), 0.0, 1e-12), 9)
    2.0
    >>> round(increasing_root(lambda c: (np.exp(c) - 1.0, np.exp(c)), 600.0, 1e-12), 9) + 0.0
    0.0
    """
    low, high, c, step = -np.inf, np.inf, float(guess), 1.0
    best, smallest, last = c, np.inf, np.inf
    for _ in range(MAX_TRIALS):
        value, slope = map(float, f(c))
        if abs(value) < smallest:
            best, smallest = c, abs(value)
        if abs(value) <= tol:
            break
        low, high = (low, c) if not value < 0.0 else (c, high)
        slow, last = SLOW * last < abs(value), abs(value)
        newton = -value / slope if slope > 0.0 else np.nan
        if c + newton == c:  # to round-off
            break
        if np.isfinite(low + high):
            c += newton
            if slow or not low < c < high:
                c, last = 0.5 * (low + high), np.inf
        else:  # no bracket yet
            known = abs(newton) < np.inf
            reach = min(max(abs(newton), step if slow else 0.0), LONGEST * step) if known else step
            c, step = (c + reach if np.isfinite(low) else c - reach), 2.0 * step
        if not low < c < high:  # neighbouring floats, or beyond all floats
            break
    return best
