"""Nearest point of the hull of a few rows, in memory: weights and direction of [HULL].

Norm 2 is a non-negative least-squares fit. The norms inf and 1 are linear programs, solved by an interior-point method
whose systems have as many unknowns as there are rows or columns, whichever is less.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .._internal.typing import Array
from ..errors import SolveError

__all__ = ["nearest_euclidean", "nearest_polyhedral"]

#: bound on interior-point iterations; 10 to 25 are usual
MAX_ITERATIONS = 60
#: share of the way to the boundary that an interior-point step may go
STEP_SHARE = 0.995
#: shorter steps make no progress
SHORTEST_STEP = 1e-6
#: largest weight, in units in which the weights that matter are about one; larger ones change the program only in digits
#: that float64 does not have
MAX_WEIGHT = 1e4
#: added to the unit diagonal of a Newton system, which may be singular near the solution; refinement undoes it
REGULARISATION = 1e-13
#: rows of G that are scaled at a time, so that no second copy of G is needed
ROWS_AT_ONCE = 512


def nearest_euclidean(G: Array) -> tuple[Array, Array]:
    """Weights μ of min ‖G'μ‖₂ over the simplex, and the direction of G'μ with unit length, zero if G'μ is zero.

    This is the least-distance problem of Lawson and Hanson: a non-negative least-squares fit of (0, …, 0, 1) by the
    rows (G_j, 1).
    """
    from scipy.optimize import nnls  # slow to import and seldom needed

    scale = float(np.abs(G).max()) or 1.0
    E = np.empty((G.shape[1] + 1, len(G)))
    np.divide(G.T, scale, out=E[:-1])
    E[-1] = 1.0
    try:
        x, _ = nnls(E, np.append(np.zeros(G.shape[1]), 1.0), maxiter=100 * len(G))
    except RuntimeError as error:
        raise SolveError(f"distance to the hull: {error}") from error
    mu = x / x.sum()
    return mu, _normal(G, mu)


def _normal(G: Array, mu: Array) -> Array:
    """Unit normal of the affine span of the rows with positive weight, towards the origin; zero if it contains it.

    This is the direction of G'μ, which has few digits left if it is short. Projecting twice makes it orthogonal to the
    differences of those rows up to round-off, and only then does it separate.
    """
    used = np.flatnonzero(mu)
    first = used[np.argmax(mu[used])]
    Q = np.linalg.qr((G[used[used != first]] - G[first]).T)[0]
    v = G[first]
    for _ in range(2):
        v = v - Q @ (Q.T @ v)
        v = v / (float(np.linalg.norm(v)) or 1.0)
    return v


class _NewtonSystem:
    """Solves, for (y, Δt, Δx, Δh), the equations of one interior-point step.

        y/D + w Δt − G'Δx = f,   ⟨w,y⟩ − e Δt = c,   G y + θ Δx − Δh = R,   ΣΔx = ρ      with D, θ, e > 0

    If there are more rows than columns, everything but y is eliminated, otherwise everything but Δx; each elimination
    adds positive terms, so that none cancels another. Raises ``LinAlgError`` if the result is singular in float64.
    """

    def __init__(self, G: Array, D: Array, w: Array, e: float, theta: Array) -> None:
        self.G, self.D, self.w, self.e, self.theta = G, D, w, e, theta
        self.by_columns = len(G) > G.shape[1]
        if self.by_columns:
            self.mean = (1.0 / theta) @ G / (1.0 / theta).sum()
            matrix = _weighted_gram(G, 1.0 / theta, self.mean) + np.outer(w, w / e)
            matrix[np.diag_indices_from(matrix)] += 1.0 / D
        else:
            matrix = _weighted_gram(G.T, D, np.zeros(len(G)))
            matrix[np.diag_indices_from(matrix)] += theta
        self.unit = np.sqrt(matrix.diagonal())
        matrix /= self.unit
        matrix /= self.unit[:, None]
        matrix[np.diag_indices_from(matrix)] += REGULARISATION
        self.factor, failed = dpotrf(matrix, lower=1, overwrite_a=1)
        if failed or not np.all(np.isfinite(self.factor.diagonal())):
            raise np.linalg.LinAlgError
        if not self.by_columns:
            self.border = np.column_stack([G @ (D * w), np.ones(len(G))])
            self.solved = self._solve(self.border)

    def __call__(self, f: Array, c: float, R: Array, rho: float) -> tuple[Array, float, Array, float]:
        """(y, Δt, Δx, Δh), with one step of iterative refinement."""
        once = self._solve_by_columns if self.by_columns else self._solve_by_rows
        y, t, x, h = once(f, c, R, rho)
        f, c = f - y / self.D - t * self.w + x @ self.G, c - float(self.w @ y) + self.e * t
        R, rho = R - self.G @ y - self.theta * x + h, rho - float(x.sum())
        dy, dt, dx, dh = once(f, c, R, rho)
        return y + dy, t + dt, x + dx, h + dh

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


def _weighted_gram(A: Array, weights: Array, centre: Array) -> Array:
    """Σ_i weights_i (A_i − centre)(A_i − centre)', without a second copy of A."""
    total, root = np.zeros((A.shape[1], A.shape[1])), np.sqrt(weights)
    for i in range(0, len(A), ROWS_AT_ONCE):
        part = (A[i : i + ROWS_AT_ONCE] - centre) * root[i : i + ROWS_AT_ONCE, None]
        total += part.T @ part
    return total


def nearest_polyhedral(G: Array, mu: Array, shared: bool, rtol: float) -> tuple[Array, Array]:
    """Weights and direction, of any length, of min ‖G'μ‖ in norm inf (``shared``) or 1.

    Parameters
    ----------
    G : ndarray of shape (m, k)
        b − F_j of a few rows; overwritten.
    mu : ndarray of shape (m,)
        Weights to start from. The program is written for changes of them in units of their own distance, because for
        a short distance G'μ is a small difference of large numbers.
    shared : bool
        True for norm inf, False for norm 1.
    rtol : float
        Relative accuracy of the distance over these rows.
    """
    r = mu @ G
    distance = float(np.abs(r).max() if shared else np.abs(r).sum())
    spread = float(np.abs(G).max())
    if not distance > 0.0:
        return mu, r
    unit = distance / spread  # of the weights: x = μ / unit
    start = np.minimum(mu / unit, MAX_WEIGHT)
    G /= spread
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # in the last digits; those steps are rejected
        x, v = _interior_point(G, r / distance - start @ G, start, shared, rtol)
    change = unit * (x - start)
    mu = np.maximum(mu + change, 0.0)
    return mu / mu.sum(), v


def _interior_point(G: Array, c: Array, start: Array, shared: bool, rtol: float) -> tuple[Array, Array]:
    """(x, v) of min ‖c + G'x‖ over x ≥ 0 with Σx = Σ start, by Mehrotra's predictor-corrector method.

    With a bound t on all residuals r = c + G'x in norm inf, or one on each in norm 1, slacks t ∓ r and their multipliers
    p and q, the dual is max ⟨v,c⟩ + h Σx over ⟨v,G_j⟩ ≥ h, where v = p − q and p + q sums to one, or is one.
    """
    m, k = G.shape
    total = float(start.sum())
    x = 0.5 * start + 0.5 * total / m
    r = c + x @ G
    t = np.full(k, 1.5 * np.abs(r).max()) if shared else np.abs(r) + np.abs(r).mean()
    p = np.full(k, 0.5 / k if shared else 0.5)
    q, h = p.copy(), -float(t[0] if shared else t.sum()) / total
    z = np.full(m, -h)
    best, smallest = (x, p - q), np.inf
    for _ in range(MAX_ITERATIONS):
        r = c + x @ G
        above, below = t - r, t + r
        gap = float(p @ above + q @ below + x @ z)
        if not (above.min() > 0.0 and below.min() > 0.0 and gap < np.inf):
            break
        if gap < smallest:
            smallest, best = gap, (x, p - q)
        if gap <= rtol * float(t[0] if shared else t.sum()):
            break
        a, b = p / above, q / below
        tilt = (a - b) / (a + b)
        separate = 4.0 * a * b / (a + b)
        try:  # in norm 1 each t_i is eliminated with its residual, in norm inf the system has the one t
            if shared:
                system = _NewtonSystem(G, a + b, tilt, float(separate.sum()), z / x)
            else:
                system = _NewtonSystem(G, separate, np.zeros(k), 1.0, z / x)
        except np.linalg.LinAlgError:
            break
        dual_error = G @ (p - q) - z - h
        bound_error = 1.0 - float((p + q).sum()) if shared else 1.0 - (p + q)

        def direction(rp: Array, rq: Array, rz: Array) -> tuple[Array, Array, Array, Array, Array, Array, float]:
            """Changes of x, t − r, t + r, p, q, z and h for right-hand sides of the complementarity equations."""
            up, uq = rp / above, rq / below
            offset = up - uq if shared else up - uq - tilt * (up + uq - bound_error)
            c = float(np.sum(bound_error) - (up + uq).sum()) if shared else 0.0
            y, dt, dx, dh = system(np.zeros(k), c, rz / x - dual_error - G @ offset, total - float(x.sum()))
            if shared:
                da, db = (2.0 * dt * b - y) / (a + b), (2.0 * dt * a + y) / (a + b)
            else:
                each = (up + uq - bound_error) / (a + b)
                da, db = each - 0.5 * y / a, each + 0.5 * y / b
            return dx, da, db, up - a * da, uq - b * db, (rz - z * dx) / x, dh

        dx, da, db, dp, dq, dz, dh = direction(-p * above, -q * below, -z * x)
        primal = min(1.0, _longest_step((x, dx), (above, da), (below, db)))
        dual = min(1.0, _longest_step((p, dp), (q, dq), (z, dz)))
        left = float((p + dual * dp) @ (above + primal * da) + (q + dual * dq) @ (below + primal * db))
        left += float((x + primal * dx) @ (z + dual * dz))
        tau = (left / gap) ** 3 * gap / (2 * k + m)
        dx, da, db, dp, dq, dz, dh = direction(
            tau - p * above - dp * da, tau - q * below - dq * db, tau - z * x - dz * dx
        )
        primal = min(1.0, STEP_SHARE * _longest_step((x, dx), (above, da), (below, db)))
        dual = min(1.0, STEP_SHARE * _longest_step((p, dp), (q, dq), (z, dz)))
        if not max(primal, dual) > SHORTEST_STEP:
            break
        x, t = x + primal * dx, t + primal * 0.5 * (da + db)
        p, q, z, h = p + dual * dp, q + dual * dq, z + dual * dz, h + dual * dh
    return best


def _longest_step(*pairs: tuple[Array, Array]) -> float:
    """Longest step that keeps all values non-negative."""
    return min(float(np.min(-v[d < 0.0] / d[d < 0.0], initial=np.inf)) for v, d in pairs)
