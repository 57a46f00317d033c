"""The step of an ℓ∞ penalty, when guesses of its face go round in circles: coordinates are tied one at a time.

    minimise over x     ⟨q,x⟩ + ½ x'Hx + R‖x‖∞

With s = ‖x‖∞ this is a quadratic program in (x, s) under −s ≤ x_i ≤ s. On a face, where some coordinates are tied to s
or to −s, it is a linear solve. Every move goes towards the solution on the current face and stops at the first bound,
which joins the ties; a solution that is reached drops the tie that pulls the wrong way most. The objective never rises
(an active-set method from the point where all are tied).
"""

from __future__ import annotations

import numpy as np

from ..entropy import Array
from .signs import AGREE, ROUND_OFF, direction

__all__ = ["by_ties"]


def by_ties(q: Array, H: Array, R: float) -> Array | None:
    """The minimiser where ‖q‖₁ > R; ``None`` where round-off keeps ties and residuals from agreeing."""
    k = q.size
    signs, tied = np.where(q < 0.0, 1.0, -1.0), np.ones(k, dtype=bool)
    sizes = np.abs(H)
    x, s = np.zeros(k), 0.0
    for _ in range(20 + 6 * k):
        free = np.flatnonzero(~tied)
        B = np.zeros((k, 1 + free.size))
        B[tied, 0] = signs[tied]
        B[free, 1 + np.arange(free.size)] = 1.0
        downhill = -(B.T @ (q + H @ x))
        downhill[0] -= R
        z, curvature = direction(B.T @ H @ B, downhill)
        d, rise = B @ z, float(z[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(tied | (d <= rise), np.inf, (s - x) / (d - rise))
            below = np.where(tied | (-d <= rise), np.inf, (s + x) / (-d - rise))
        reach = np.minimum(above, below)
        bound = int(np.argmin(reach))
        least = 1.0 if curvature > 0.0 else np.inf
        t = max(min(float(reach[bound]), least), 0.0)
        if not np.isfinite(t) or s + t * rise < 0.0:
            return None
        x, s = x + t * d, s + t * rise
        if reach[bound] < least:
            tied[bound], signs[bound] = True, 1.0 if above[bound] <= below[bound] else -1.0
            x[tied] = signs[tied] * s
            continue
        x[tied] = signs[tied] * s
        pull = np.where(tied, signs * (-q - H @ x), np.inf)
        worst = int(np.argmin(pull))
        if pull[worst] >= -(AGREE * R + ROUND_OFF * float(np.abs(q[worst]) + sizes[worst] @ np.abs(x))):
            return x
        tied[worst] = False
    return None
