"""Dense interior-point method for min ‖c + G'x‖ in norm inf or 1 over x ≥ 0 with a given sum.

Its systems have as many unknowns as there are rows or columns, whichever is less, and no second copy of G is made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .._internal.typing import Array

__all__ = ["interior_point"]

#: bound on iterations; 10 to 25 are usual
MAX_ITERATIONS = 60
#: share of the way to the boundary that a step may go
STEP_SHARE = 0.995
#: share of the gap that a step keeps at least, so that no slack vanishes before the others
MIN_CENTRING = 1e-3
#: shorter steps make no progress
SHORTEST_STEP = 1e-6
#: pivot of a Cholesky factor, of a matrix with unit diagonal, below which the factor has too few digits
SMALL_PIVOT = 1e-5
#: steps of iterative refinement of a Newton system
REFINEMENTS = 3
#: rows of G that are scaled at a time
ROWS_AT_ONCE = 512


def interior_point(G: Array, c: Array, start: Array, shared: bool, rtol: float) -> tuple[Array, Array]:
    """(x, v) of min ‖c + G'x‖ over x ≥ 0 with Σx = Σ start, by Mehrotra's predictor-corrector method.

    With a bound t on all residuals r = c + G'x in norm inf (``shared``), or one on each in norm 1, slacks t ∓ r and
    their multipliers p and q, the dual is

        max ⟨v,c⟩ + h Σx  s.t. ⟨v,G_j⟩ ≥ h,      v = p − q,  with p + q summing to one, or equal to one in norm 1.

    The search ends when the gap between the two is at most ``rtol`` times the primal value, or when round-off allows no
    further step; the point of the smallest proven gap is returned.
    """
    m, k = G.shape
    x = 0.5 * start + 0.5 * start.mean()
    r = c + x @ G
    t = np.full(k, 1.5 * np.abs(r).max()) if shared else np.abs(r) + np.abs(r).mean()
    p = np.full(k, 0.5 / k if shared else 0.5)
    h = -float(t[0] if shared else t.sum()) / float(start.sum())
    point = _Point(G, c, float(start.sum()), shared, x, t, p, p, np.full(m, -h), h)
    best = point
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # in the last digits; those steps are rejected
        for _ in range(MAX_ITERATIONS):
            if not (0.0 < point.gap < np.inf):
                break
            best = point if point.proven_gap < best.proven_gap else best
            if point.gap <= rtol * float(point.t[0] if shared else point.t.sum()):
                break
            try:
                move, primal, dual = _predictor_corrector(point)
            except np.linalg.LinAlgError:
                break
            if not max(primal, dual) > SHORTEST_STEP:
                break
            point = point.moved(move, primal, dual).with_slack()
    return best.x, best.p - best.q


class _Move(NamedTuple):
    """Changes of x, of the slacks t − r and t + r, and of p, q, z and h."""

    x: Array
    above: Array
    below: Array
    p: Array
    q: Array
    z: Array
    h: float


@dataclass(frozen=True, eq=False)
class _Point:
    """An iterate: primal x > 0 and bounds t, multipliers p, q, z > 0 of the slacks and of x, and h of the sum."""

    G: Array
    c: Array
    total: float
    shared: bool
    x: Array
    t: Array
    p: Array
    q: Array
    z: Array
    h: float

    @cached_property
    def residual(self) -> Array:
        return np.asarray(self.c + self.x @ self.G)

    @cached_property
    def above(self) -> Array:
        return self.t - self.residual

    @cached_property
    def below(self) -> Array:
        return self.t + self.residual

    @cached_property
    def gap(self) -> float:
        return float(self.p @ self.above + self.q @ self.below + self.x @ self.z)

    @cached_property
    def proven_gap(self) -> float:
        """Gap between the norm of the residual and the bound that v proves, whatever round-off did to the rest."""
        v, r = np.abs(self.p - self.q), np.abs(self.residual)
        value, size = (r.max(), v.sum()) if self.shared else (r.sum(), v.max())
        bound = (self.p - self.q) @ self.c + self.total * (self.G @ (self.p - self.q)).min()
        return float(value - bound / size) if size > 0.0 and abs(self.x.sum() / self.total - 1.0) < 1e-9 else np.inf

    def moved(self, move: _Move, primal: float, dual: float) -> _Point:
        """The next iterate; primal and dual steps may differ in length."""
        return _Point(
            *(self.G, self.c, self.total, self.shared),
            self.x + primal * move.x,
            self.t + 0.5 * primal * (move.above + move.below),
            self.p + dual * move.p,
            self.q + dual * move.q,
            self.z + dual * move.z,
            self.h + dual * move.h,
        )

    def with_slack(self) -> _Point:
        """The point with t raised where round-off in the residuals took the slack, which costs no feasibility."""
        least = MIN_CENTRING * self.gap / (2 * self.t.size + self.x.size)
        t = np.maximum(self.t, np.maximum(self.residual + least / self.p, least / self.q - self.residual))
        return replace(self, t=np.full_like(t, t.max()) if self.shared else t) if np.any(t > self.t) else self

    def lengths(self, move: _Move, share: float) -> tuple[float, float]:
        """Primal and dual step lengths, at most one and at most ``share`` of the way to the boundary."""
        primal = _longest_step((self.x, move.x), (self.above, move.above), (self.below, move.below))
        dual = _longest_step((self.p, move.p), (self.q, move.q), (self.z, move.z))
        return min(1.0, share * primal), min(1.0, share * dual)


def _longest_step(*pairs: tuple[Array, Array]) -> float:
    """Longest step that keeps all values non-negative."""
    return min(float(np.min(-v[d < 0.0] / d[d < 0.0], initial=np.inf)) for v, d in pairs)


def _predictor_corrector(at: _Point) -> tuple[_Move, float, float]:
    """The move and its primal and dual lengths."""
    newton = _Newton(at)
    move = newton.move(-at.p * at.above, -at.q * at.below, -at.x * at.z)
    ahead = at.moved(move, *at.lengths(move, 1.0))
    # the centring of Mehrotra: the less a step without it would gain, the more of it
    tau = max((ahead.gap / at.gap) ** 3, MIN_CENTRING) * at.gap / (2 * at.t.size + at.x.size)
    move = newton.move(
        tau - at.p * at.above - move.p * move.above,
        tau - at.q * at.below - move.q * move.below,
        tau - at.x * at.z - move.x * move.z,
    )
    return move, *at.lengths(move, STEP_SHARE)


class _Newton:
    """Newton steps at a point, for changing right-hand sides of the complementarity equations."""

    def __init__(self, at: _Point) -> None:
        self.at = at
        self.a, self.b = a, b = at.p / at.above, at.q / at.below
        self.tilt = (a - b) / (a + b)
        apart = 4.0 * a * b / (a + b)
        # in norm 1 each t_i is eliminated with its residual, in norm inf the system has the one t
        if at.shared:
            self.system = _System(at.G, a + b, self.tilt, float(apart.sum()), at.z / at.x)
        else:
            self.system = _System(at.G, apart, np.zeros_like(a), 1.0, at.z / at.x)
        self.dual_error = at.G @ (at.p - at.q) - at.z - at.h

    def move(self, rp: Array, rq: Array, rz: Array) -> _Move:
        """Step that changes p (t − r), q (t + r) and x z by rp, rq and rz to first order."""
        at, a, b = self.at, self.a, self.b
        up, uq = rp / at.above, rq / at.below
        both = up + uq
        missing = at.total - float(at.x.sum())
        if at.shared:
            rhs = rz / at.x - self.dual_error - at.G @ (up - uq)
            y, dt, dx, dh = self.system(1.0 - float((at.p + at.q).sum()) - float(both.sum()), rhs, missing)
            above, below = (2.0 * dt * b - y) / (a + b), (2.0 * dt * a + y) / (a + b)
        else:
            both = both - (1.0 - at.p - at.q)
            rhs = rz / at.x - self.dual_error - at.G @ (up - uq - self.tilt * both)
            y, _, dx, dh = self.system(0.0, rhs, missing)
            above, below = both / (a + b) - 0.5 * y / a, both / (a + b) + 0.5 * y / b
        return _Move(dx, above, below, up - a * above, uq - b * below, (rz - at.z * dx) / at.x, dh)


class _System:
    """Solves, for (y, Δt, Δx, Δh), the equations of one interior-point step.

        y/D + w Δt − G'Δx = 0,   ⟨w,y⟩ − e Δt = c,   G y + θ Δx − Δh = R,   ΣΔx = ρ      with D, θ, e > 0

    If there are more rows than columns, everything but y is eliminated, otherwise everything but Δx; each elimination
    adds positive terms, so that none cancels another. Raises ``LinAlgError`` if the result is singular in float64.
    """

    def __init__(self, G: Array, D: Array, w: Array, e: float, theta: Array) -> None:
        self.G, self.D, self.w, self.e, self.theta = G, D, w, e, theta
        self.by_columns = len(G) > G.shape[1]
        if self.by_columns:
            self.mean = (1.0 / theta) @ G / (1.0 / theta).sum()
            self.unit, self.factor = _factor(G, 1.0 / theta, self.mean, 1.0 / D, w / np.sqrt(e))
        else:
            self.unit, self.factor = _factor(G.T, D, np.zeros(len(G)), theta, np.zeros(len(G)))
        if not self.by_columns:
            self.border = np.column_stack([G @ (D * w), np.ones(len(G))])
            self.solved = self._solve(self.border)

    def __call__(self, c: float, R: Array, rho: float) -> tuple[Array, float, Array, float]:
        """(y, Δt, Δx, Δh), with iterative refinement."""
        once = self._solve_by_columns if self.by_columns else self._solve_by_rows
        f = np.zeros_like(self.D)
        y, t, x, h = once(f, c, R, rho)
        for _ in range(REFINEMENTS):
            df, dc = f - y / self.D - t * self.w + x @ self.G, c - float(self.w @ y) + self.e * t
            dR, drho = R - self.G @ y - self.theta * x + h, rho - float(x.sum())
            dy, dt, dx, dh = once(df, dc, dR, drho)
            y, t, x, h = y + dy, t + dt, x + dx, h + dh
        return y, t, x, h

    def _solve_by_columns(self, f: Array, c: float, R: Array, rho: float) -> tuple[Array, float, Array, float]:
        G, theta = self.G, self.theta
        shift = (rho - float((R / theta).sum())) / float((1.0 / theta).sum())
        scaled = (R + shift) / theta
        y = self._solve(f + (c / self.e) * self.w + scaled @ G + (rho - scaled.sum()) * self.mean)
        level = float(self.mean @ y)
        return y, (float(self.w @ y) - c) / self.e, scaled - (G @ y - level) / theta, shift + level

    def _solve_by_rows(self, f: Array, c: float, R: Array, rho: float) -> tuple[Array, float, Array, float]:
        G, D, w = self.G, self.D, self.w
        x = self._solve(R - G @ (D * f))
        small = self.border.T @ self.solved
        small[0, 0] -= self.e + float(w @ (D * w))
        t, h = np.linalg.solve(small, np.array([c - w @ (D * f), rho]) - self.border.T @ x)
        x = x + self.solved @ [t, h]
        return D * (f - t * w + x @ G), float(t), x, float(h)

    def _solve(self, rhs: Array) -> Array:
        return np.asarray((dpotrs(self.factor, (rhs.T / self.unit).T, lower=1)[0].T / self.unit).T)


def _factor(A: Array, weights: Array, centre: Array, diagonal: Array, row: Array) -> tuple[Array, Array]:
    """(unit, L) with diag(unit) L L' diag(unit) = Σ_i weights_i (A_i − centre)(A_i − centre)' + diagonal + row row'.

    Cholesky is fast; where the matrix is nearly singular, as for collinear columns, a QR factorisation of its root has
    twice the digits.
    """
    root = np.sqrt(weights)
    M = np.outer(row, row)
    M[np.diag_indices_from(M)] += diagonal
    for i in range(0, len(A), ROWS_AT_ONCE):
        part = (A[i : i + ROWS_AT_ONCE] - centre) * root[i : i + ROWS_AT_ONCE, None]
        M += part.T @ part
    unit = np.sqrt(M.diagonal())
    M /= unit
    M /= unit[:, None]
    if not np.all(np.isfinite(M)):
        raise np.linalg.LinAlgError
    L, failed = dpotrf(M, lower=1, overwrite_a=1)
    if failed or L.diagonal().min() < SMALL_PIVOT:
        stacked = np.vstack([(A - centre) * root[:, None], np.diag(np.sqrt(diagonal)), row])
        L = np.asfortranarray(np.asarray(np.linalg.qr(stacked / unit, mode="r")).T)
    if not np.all(L.diagonal()):
        raise np.linalg.LinAlgError
    return unit, L
