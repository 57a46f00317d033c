"""The step of an ℓ1 penalty, when guesses of its face go round in circles: signs are changed one at a time.

    minimise over x     ⟨q,x⟩ + ½ x'Hx + R‖x‖₁

On a face, where signs are fixed, this is a linear solve. Every move goes towards the solution on the current face
and stops where the objective, a convex piecewise quadratic along the way, is least; then the zero that violates its
bound most joins. The objective falls with every move, so that no face comes twice (the feature-sign search of Lee,
Battle, Raina and Ng, 2007).
"""

from __future__ import annotations

import numpy as np

from ..entropy import Array
from ..linear import solve_psd

__all__ = ["AGREE", "ROUND_OFF", "by_signs", "direction"]

#: how closely signs and residuals have to agree, relative to R, beside the round-off of the residuals
AGREE, ROUND_OFF = 1e-11, 16.0 * float(np.finfo(float).eps)
#: how much of a residual a face may leave before it counts as one without curvature
FLAT = 1e-6


def by_signs(start: Array, q: Array, H: Array, R: float) -> Array | None:
    """The minimiser, searched from ``start``; ``None`` where round-off keeps signs and residuals from agreeing."""
    x = np.array(start)
    signs, sizes = np.sign(x), np.abs(H)
    for _ in range(20 + 6 * x.size):
        r = -q - H @ x
        close = AGREE * R + ROUND_OFF * (np.abs(q) + sizes @ np.abs(x))
        carries = signs != 0.0
        off = np.where(carries, r - R * signs, 0.0)
        if np.all(np.abs(off) <= close):
            excess = np.where(carries, 0.0, np.abs(r) - R - close)
            worst = int(np.argmax(excess))
            if excess[worst] <= 0.0:
                return x
            signs[worst] = np.sign(r[worst])
            off[worst] = r[worst] - R * signs[worst]
        face = np.flatnonzero(signs)
        d, curvature = direction(H[np.ix_(face, face)], off[face])
        t, ends = _least(x[face], d, float(-off[face] @ d), curvature, R)
        if t == 0.0:
            return None
        x[face] += t * d
        x[face[ends]] = 0.0
        signs = np.sign(x)
    return None


def direction(H: Array, off: Array) -> tuple[Array, float]:
    """Where the face's solution lies, and the curvature on the way; down the slope where nothing curves to stop it."""
    d = solve_psd(H, off)
    left = off - H @ d
    if np.abs(left).max() > FLAT * np.abs(off).max():
        size = H.diagonal()  # what is left is orthogonal to the range of H once columns are scaled to unit variance
        return left / np.where(size > 0.0, size, 1.0), 0.0
    return d, float(d @ H @ d)


def _least(x: Array, d: Array, slope: float, curvature: float, R: float) -> tuple[float, Array]:
    """Where the objective along x + t d is least, and which coordinates are zero there; t = 0 if it falls for ever."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        zeros = np.where(x * d < 0.0, -x / d, np.inf)  # where a coordinate changes its sign
    order = np.argsort(zeros)
    for i in order[np.isfinite(zeros[order])]:
        if slope + curvature * zeros[i] >= 0.0:
            break
        slope += 2.0 * R * abs(d[i])
        if slope + curvature * zeros[i] >= 0.0:
            return float(zeros[i]), zeros == zeros[i]
    nothing = np.zeros(x.size, dtype=bool)
    return (max(-slope, 0.0) / curvature, nothing) if curvature > 0.0 else (0.0, nothing)
