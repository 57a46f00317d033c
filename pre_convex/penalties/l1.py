"""The penalty R‖δ‖₁ of the moment constraint ‖b − F'μ‖∞ ≤ R, which makes δ sparse."""

from __future__ import annotations

import numpy as np

from .._internal.typing import Array
from .polyhedral import AGREEMENT, ROUND_OFF, ActiveSet, PolyhedralPenalty, solve_regular

__all__ = ["L1Penalty", "search_signs"]


class L1Penalty(PolyhedralPenalty):
    """R‖δ‖₁; the active set is the set of nonzero coordinates and their signs."""

    def active_set(self, w: Array, scale: Array) -> ActiveSet:
        """Coordinates with |w_i| > R, with the signs of w."""
        support = np.flatnonzero(np.abs(w) > self.radius)
        B = np.zeros((w.size, support.size))
        B[support, np.arange(support.size)] = 1.0
        return ActiveSet(B, np.sign(w[support]))

    def is_optimal(self, z: Array, r: Array, active: ActiveSet) -> bool:
        """Signs kept, and no residual beyond the radius."""
        return bool(np.all(z * active.c > 0.0) and np.abs(r).max(initial=0.0) <= self.radius * (1 + 1e-10))

    def reduced_curvature(self, H: Array, active: ActiveSet) -> Array:
        """Rows and columns of H that belong to nonzero coordinates."""
        support = active.B.argmax(axis=0)
        return H[np.ix_(support, support)]

    def search(self, delta: Array, q: Array, H: Array) -> Array | None:
        """Feature-sign search from δ."""
        return search_signs(delta, q, H, self.radius)


def search_signs(start: Array, q: Array, H: Array, R: float) -> Array | None:
    """Minimiser of ⟨q,x⟩ + ½ x'Hx + R‖x‖₁, H positive definite, by changing sets of signs, from ``start``.

    While signs are fixed this is a linear solve. Every move goes towards its solution d and ends at the better of two
    points: where the objective, a convex piecewise quadratic along the way, is least; or all the way, with coordinates
    that would change their sign set to zero. At a solution, all zero coordinates that violate their bound become
    nonzero, except those that the next solve moves the wrong way. The objective falls with every move, so no set of
    signs is visited twice. Where round-off spoils a set, signs are changed one at a time (the feature-sign search of
    Lee, Battle, Raina and Ng, 2007). ``None`` if round-off keeps even then signs and residuals from agreeing.
    """
    x = np.array(start)
    signs, sizes, in_sets = np.sign(x), np.abs(H), True
    for _ in range(20 + 6 * x.size):
        r = -q - H @ x
        tolerance = AGREEMENT * R + ROUND_OFF * (np.abs(q) + sizes @ np.abs(x))
        nonzero = signs != 0.0
        rhs = np.where(nonzero, r - R * signs, 0.0)
        if np.all(np.abs(rhs) <= tolerance):
            excess = np.where(nonzero, 0.0, np.abs(r) - R - tolerance)
            new = np.flatnonzero(excess > 0.0)
            if new.size == 0:
                return x
            if not in_sets:
                new = np.array([excess.argmax()])
            signs[new] = np.sign(r[new])
            rhs[new] = r[new] - R * signs[new]
        active = np.flatnonzero(signs)
        inner = H[np.ix_(active, active)]
        d = solve_regular(inner, rhs[active])
        if in_sets:
            wrong = active if d is None else active[d * signs[active] < 0.0]
            wrong = wrong[x[wrong] == 0.0]
            if d is None or wrong.size:
                signs[wrong] = 0.0
                in_sets = bool(np.any(signs[x == 0.0]))
                continue
        if d is None:
            return None
        t, zeros = _exact_line_search(x[active], d, float(-rhs[active] @ d), float(d @ inner @ d), R)
        if t == 0.0:
            return None
        least, ahead = x.copy(), x.copy()
        least[active] += t * d
        least[active[zeros]] = 0.0
        ahead[active] += d
        ahead[ahead * signs < 0.0] = 0.0
        in_sets = in_sets and not np.array_equal(least, x)
        x = ahead if in_sets and _value(ahead, q, H, R) < _value(least, q, H, R) else least
        signs = np.sign(x)
    return None


def _value(x: Array, q: Array, H: Array, R: float) -> float:
    """⟨q,x⟩ + ½ x'Hx + R‖x‖₁."""
    return float(q @ x + 0.5 * (x @ H @ x) + R * np.abs(x).sum())


def _exact_line_search(x: Array, d: Array, slope: float, curvature: float, R: float) -> tuple[float, Array]:
    """(t, zeros): minimiser along x + t d, and which coordinates are zero there; t = 0 if there is none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossings = np.where(x * d < 0.0, -x / d, np.inf)  # where a coordinate changes its sign
    order = np.argsort(crossings)
    for i in order[np.isfinite(crossings[order])]:
        if slope + curvature * crossings[i] >= 0.0:
            break
        slope += 2.0 * R * abs(d[i])
        if slope + curvature * crossings[i] >= 0.0:
            return float(crossings[i]), crossings == crossings[i]
    none = np.zeros(x.size, dtype=bool)
    return (max(-slope, 0.0) / curvature, none) if curvature > 0.0 else (0.0, none)
