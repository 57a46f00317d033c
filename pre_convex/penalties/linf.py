"""The penalty R‖δ‖∞ of the moment constraint ‖b − F'μ‖₁ ≤ R, which bounds the largest coefficient of δ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._internal.typing import Array, Index
from .polyhedral import AGREEMENT, ROUND_OFF, ActiveSet, PolyhedralPenalty, solve_regular

__all__ = ["LInfPenalty", "search_ties"]

#: relative difference from the largest size up to which a coordinate of the start counts as tied to it
TIED = 1e-12


class LInfPenalty(PolyhedralPenalty):
    """R‖δ‖∞; the active set is the set of tied coordinates ±‖δ‖∞ and their signs, the others are free."""

    def active_set(self, w: Array, scale: Array) -> ActiveSet:
        """Tied coordinates move together, as the first column of B; each free one has a column of its own.

        The common size σ solves Σ_i (|w_i| − scale_i σ)₊ = R; coordinates with a positive part are tied.
        """
        size = np.abs(w)
        ratio = np.where(size > 1e-12 * self.radius, np.inf, 0.0)  # of columns without curvature
        with np.errstate(over="ignore"):
            ratio = np.divide(size, scale, out=ratio, where=scale > 0.0)
        order = np.argsort(-ratio)
        with np.errstate(over="ignore"):  # the total curvature may be zero
            level = (np.cumsum(size[order]) - self.radius) / np.maximum(np.cumsum(scale[order]), 1e-300)
        level = np.minimum(level, np.finfo(float).max)  # finite, so that an infinite ratio exceeds it
        beyond = np.flatnonzero(ratio[order] > level)
        count = int(beyond[-1]) + 1 if beyond.size else w.size
        tied = np.zeros(w.size, dtype=bool)
        tied[order[:count]] = True
        free = np.flatnonzero(~tied)
        B = np.zeros((w.size, 1 + free.size))
        B[tied, 0] = np.sign(w[tied])
        B[free, 1 + np.arange(free.size)] = 1.0
        c = np.zeros(1 + free.size)
        c[0] = 1.0
        return ActiveSet(B, c)

    def is_optimal(self, z: Array, r: Array, active: ActiveSet) -> bool:
        """No free coordinate beyond the tied ones, and residuals of the tied ones on the side of their signs."""
        signs = active.B[:, 0]
        inside = np.all(np.abs(z[1:]) <= z[0]) and self.norm(r) <= self.radius * (1 + 1e-10)
        return bool(z[0] > 0.0 and inside and np.all(r * signs >= -1e-12 * self.radius))

    def reduced_curvature(self, H: Array, active: ActiveSet) -> Array:
        """Curvature in the common size and the free coordinates."""
        return _tied_curvature(H, active.B[:, 0], active.B.argmax(axis=0)[1:])

    def search(self, delta: Array, q: Array, H: Array) -> Array | None:
        """Search from δ, then from the point where all coordinates are tied."""
        x = search_ties(q, H, self.radius, delta, self.problem.n_q)
        return search_ties(q, H, self.radius) if x is None else x


def search_ties(q: Array, H: Array, R: float, start: Array | None = None, rank: float = np.inf) -> Array | None:
    """Minimiser of ⟨q,x⟩ + ½ x'Hx + R‖x‖∞ where ‖q‖₁ > R, by tying and freeing one coordinate at a time.

    With s = ‖x‖∞ this is a quadratic program in (x, s) under −s ≤ x_i ≤ s, and while the ties stay the same it is a
    linear solve. Every move goes towards its solution and stops at the first bound, which becomes a tie; at a solution,
    the tie that pulls the wrong way most is freed. The objective never rises (an active-set method).

    The search begins at ``start``, unless more coordinates are free there than the rank of H can tell apart; otherwise
    where all coordinates are tied. ``None`` if round-off keeps ties and residuals from agreeing.
    """
    sizes = np.abs(H)
    x: Array
    x, s, tied, signs = _initial_ties(q, start, rank)
    for _ in range(20 + 6 * q.size):
        free = np.flatnonzero(~tied)
        lead = np.where(tied, signs, 0.0)
        slope = q + H @ x
        rhs = -np.append(lead @ slope + R, slope[free])
        z = solve_regular(_tied_curvature(H, lead, free), rhs)
        if z is None:
            return None
        d, rise = z[0] * lead, float(z[0])
        d[free] = z[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(tied | (d <= rise), np.inf, (s - x) / (d - rise))
            below = np.where(tied | (-d <= rise), np.inf, (s + x) / (-d - rise))
        reach = np.minimum(above, below)
        bound = int(np.argmin(reach))
        t = max(min(float(reach[bound]), 1.0), 0.0)
        if s + t * rise < 0.0:
            return None
        x, s = x + t * d, s + t * rise
        if reach[bound] < 1.0:
            tied[bound], signs[bound] = True, 1.0 if above[bound] <= below[bound] else -1.0
            x[tied] = signs[tied] * s
            continue
        x[tied] = signs[tied] * s
        pull = np.where(tied, signs * (-q - H @ x), np.inf)
        worst = int(np.argmin(pull))
        if pull[worst] >= -(AGREEMENT * R + ROUND_OFF * float(np.abs(q[worst]) + sizes[worst] @ np.abs(x))):
            return x
        tied[worst] = False
    return None


def _initial_ties(q: Array, start: Array | None, rank: float) -> tuple[Array, float, NDArray[np.bool_], Array]:
    """(x, s, which coordinates are tied, signs) at ``start`` if that can be used, otherwise at x = 0."""
    if start is not None and np.any(start):
        s = float(np.abs(start).max())
        tied = np.abs(start) >= (1.0 - TIED) * s
        if q.size - np.count_nonzero(tied) <= rank:
            signs = np.where(start > 0.0, 1.0, -1.0)
            return np.where(tied, signs * s, start), s, tied, signs
    return np.zeros(q.size), 0.0, np.ones(q.size, dtype=bool), np.where(q < 0.0, 1.0, -1.0)


def _tied_curvature(H: Array, lead: Array, free: Index) -> Array:
    """Curvature in (s, x_free), where x = s · lead + x_free and lead is zero on the free coordinates."""
    inner = np.empty((1 + free.size, 1 + free.size))
    together = H @ lead
    inner[0, 0] = lead @ together
    inner[0, 1:] = inner[1:, 0] = together[free]
    inner[1:, 1:] = H[np.ix_(free, free)]
    return inner
