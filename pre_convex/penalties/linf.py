"""The penalty R‖δ‖∞ of the moment constraint ‖b − F'μ‖₁ ≤ R, which bounds the largest coefficient of δ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._internal.typing import Array, Index
from .polyhedral import AGREEMENT, ROUND_OFF, ActiveSet, PolyhedralPenalty, solve_regular

__all__ = ["LInfPenalty", "search_ties"]

#: relative difference from the largest size up to which a coordinate of the start counts as tied to it
TIED = 1e-12
#: shares of a move past the first bound that are tried
SHARES = (1.0, 0.5, 0.25, 0.125)


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
    """Minimiser of ⟨q,x⟩ + ½ x'Hx + R‖x‖∞ where ‖q‖₁ > R, by tying and freeing sets of coordinates.

    With s = ‖x‖∞ this is a quadratic program in (x, s) under −s ≤ x_i ≤ s, and while the ties stay the same it is a
    linear solve. Every move goes towards its solution and ends at the better of two points: at the first bound, which
    becomes a tie; or further on, with all coordinates beyond ±s tied. At a solution, the ties that pull the wrong way
    are freed, as many as the rank allows, except those that the next solve moves outwards. The objective never rises
    (an active-set method). Where round-off spoils a set, ties are changed one at a time.

    The search begins at ``start``, unless more coordinates are free there than the rank of H can tell apart; otherwise
    where all coordinates are tied. ``None`` if round-off keeps even then ties and residuals from agreeing.
    """
    sizes, in_sets = np.abs(H), True
    x: Array
    x, s, tied, signs = _initial_ties(q, start, rank)
    freed = np.zeros_like(tied)
    for _ in range(20 + 6 * q.size):
        free = np.flatnonzero(~tied)
        lead = np.where(tied, signs, 0.0)
        slope = q + H @ x
        rhs = -np.append(lead @ slope + R, slope[free])
        z = solve_regular(_tied_curvature(H, lead, free), rhs)
        if z is None and not (in_sets and np.any(freed)):
            return None
        d, rise = (np.zeros_like(x), 0.0) if z is None else (z[0] * lead, float(z[0]))
        if z is not None:
            d[free] = z[1:]
        outwards = freed & ((z is None) | (signs * d > rise))
        if in_sets and np.any(outwards):
            tied |= outwards
            freed &= ~outwards
            in_sets = bool(np.any(freed))
            continue
        freed[:] = False
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(tied | (d <= rise), np.inf, (s - x) / (d - rise))
            below = np.where(tied | (-d <= rise), np.inf, (s + x) / (-d - rise))
        reach = np.minimum(above, below)
        bound = int(np.argmin(reach))
        t = max(min(float(reach[bound]), 1.0), 0.0)
        if s + t * rise < 0.0:
            return None
        if reach[bound] < 1.0:
            further = _further(x, s, d, rise, t, q, H, R) if in_sets else None
            if further is None:
                x, s = x + t * d, s + t * rise
                tied[bound], signs[bound] = True, 1.0 if above[bound] <= below[bound] else -1.0
            else:
                x, s = further
                beyond = ~tied & (np.abs(x) >= s)
                tied |= beyond
                signs[beyond] = np.sign(x[beyond])
            x[tied] = signs[tied] * s
            continue
        x, s = x + d, s + rise
        x[tied] = signs[tied] * s
        pull = np.where(tied, signs * (-q - H @ x), np.inf)
        wrong = np.flatnonzero(pull < -(AGREEMENT * R + ROUND_OFF * (np.abs(q) + sizes @ np.abs(x))))
        if wrong.size == 0:
            return x
        most = max(1, int(min(rank - free.size, wrong.size))) if in_sets else 1
        freed[wrong[np.argsort(pull[wrong])[:most]]] = True
        tied &= ~freed
    return None


def _further(
    x: Array, s: float, d: Array, rise: float, t: float, q: Array, H: Array, R: float
) -> tuple[Array, float] | None:
    """(x, s) past the bound at t, clipped to ±s; ``None`` if the bound is the better end of the move."""

    def value(x: Array, s: float) -> float:
        return float(q @ x + 0.5 * (x @ H @ x) + R * s)

    at_bound = value(x + t * d, s + t * rise)
    for share in SHARES:
        level = s + share * rise
        if share > t and level > 0.0:
            clipped = np.clip(x + share * d, -level, level)
            if value(clipped, level) < at_bound:
                return clipped, level
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
