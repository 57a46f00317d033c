"""The step of an ℓ∞ penalty, when guesses of its face go round in circles: coordinates are tied one at a time.

    minimise over x     ⟨q,x⟩ + ½ x'Hx + R‖x‖∞

With s = ‖x‖∞ this is a quadratic program in (x, s) under −s ≤ x_i ≤ s. On a face, where some coordinates are tied to s
or to −s, it is a linear solve. Every move goes towards the solution on the current face and stops at the first bound,
which joins the ties; a solution that is reached drops the tie that pulls the wrong way most. The objective never rises
(an active-set method, from the last answer or from the point where all are tied).
"""

from __future__ import annotations

import numpy as np

from ..entropy import Array, Index
from .signs import AGREE, ROUND_OFF, direction

__all__ = ["by_ties", "on_ties"]

#: share of the largest size by which a coordinate may be smaller and start as tied to it
TIED = 1e-12


def on_ties(H: Array, lead: Array, free: Index) -> Array:
    """Curvature in (s, x_free), where x = s · lead + x_free and lead is zero on the free coordinates."""
    inner = np.empty((1 + free.size, 1 + free.size))
    together = H @ lead
    inner[0, 0] = lead @ together
    inner[0, 1:] = inner[1:, 0] = together[free]
    inner[1:, 1:] = H[np.ix_(free, free)]
    return inner


def by_ties(q: Array, H: Array, R: float, start: Array | None = None, rank: float = np.inf) -> Array | None:
    """The minimiser where ‖q‖₁ > R; ``None`` where round-off keeps ties and residuals from agreeing.

    It is searched from ``start``, unless more coordinates are free there than the rank of H can tell apart.
    """
    k = q.size
    signs, tied = np.where(q < 0.0, 1.0, -1.0), np.ones(k, dtype=bool)
    sizes = np.abs(H)
    x: Array = np.zeros(k)
    s = 0.0
    near = np.ones(k, dtype=bool) if start is None else np.abs(start) >= (1.0 - TIED) * np.abs(start).max()
    if start is not None and np.any(start) and k - np.count_nonzero(near) <= rank:
        s, tied = float(np.abs(start).max()), near
        signs = np.where(start > 0.0, 1.0, -1.0)
        x = np.where(tied, signs * s, start)
    for _ in range(20 + 6 * k):
        free = np.flatnonzero(~tied)
        lead = np.where(tied, signs, 0.0)
        slope = q + H @ x
        z, curvature = direction(on_ties(H, lead, free), -np.append(lead @ slope + R, slope[free]))
        d, rise = z[0] * lead, float(z[0])
        d[free] = z[1:]
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
