"""The user's terms in conic form, and rigorous upper bounds of their conjugate, [CONE].

cvxpy writes a convex g, with constraints as its indicator, as

    g(x) = min over t of ⟨c, x⟩ + ⟨e, t⟩ + offset   s.t.  h − A x − B t ∈ K,

with auxiliary variables t and a product K of cones. For any z in the dual cone K* with B'z + e = 0, weak duality bounds
the conjugate at one residual: g*(r') ≤ ⟨h, z⟩ − offset for r' = c + A'z. A solver's z satisfies the equation up to its
tolerance only. An exact one exists close by: at an inner point z of K* there is a matrix C such that z + Cξ stays in K*
for all ‖ξ‖ < 1, and ξ = −(B'C)⁺ (B'z + e) removes the residual. As for [LIFT], bounds on the norm of this ξ are enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import clarabel
import cvxpy as cp
import numpy as np
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, qr
from scipy.linalg.lapack import dtrtri

from .._internal.linear_algebra import EPS
from .._internal.threads import cvxpy_lock
from .._internal.typing import Array, Index, Mask
from ..errors import SolveError
from .penalty import Trial

__all__ = ["ConicForm"]

#: tolerances of the solver, tried in turn until it reports an answer; proofs do not rest on its accuracy
TOLERANCES, SOLVED = (1e-12, 1e-10, 1e-8), ("Solved", "AlmostSolved")
#: distance from the boundary of K* that a block of a dual point is given, relative to its size
INSIDE = 1e-13
#: size of a block, relative to the largest entry, below which it counts as zero
TINY = 1e-25
#: ‖ξ‖ up to which z + Cξ counts as inner point; what is left of 1 pays for the round-off of C
NEAR = 0.5
#: corrections of a dual point
ROUNDS = 3
#: share of the scaled diagonal that keeps a system of corrections regular; they need not be exact
RIDGE = 1e-14
#: rows of the largest semidefinite matrix that has a bound
LARGEST_MATRIX = 40


def _columns_of(delta: Any, data: Any) -> Mask:
    """Which columns of a program that cvxpy compiled are δ."""
    columns = np.arange(len(data["c"])) - data["param_prob"].var_id_to_col[delta.id]
    return np.isin(columns, np.arange(delta.size))


def _solved(P: Any, cost: Array, A: Any, b: Array, cones: Any, tolerances: tuple[float, ...]) -> tuple[Array, Array]:
    """Solution and dual variables of a cone program; raises :class:`SolveError` if there is none."""
    for tol in tolerances:
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, 200
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
        found = clarabel.DefaultSolver(P, cost, A, b, cones, settings).solve()
        if str(found.status) in SOLVED:
            break
    x, z = np.array(found.x), np.array(found.z)
    if str(found.status) not in SOLVED:
        raise SolveError(f"Newton step: the cone program failed ({found.status})")
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(z))):
        raise SolveError("Newton step: the cone program returned numbers that are not finite")
    return x, z


class ConicForm:
    """g(δ) in conic form.

    Parameters
    ----------
    delta : cvxpy.Variable
        What g and the constraints are functions of.
    g : cvxpy.Expression or number
        Convex penalty.
    constraints : list of cvxpy.Constraint
        Convex constraints.
    unit : ndarray of shape (k,)
        Powers of two close to the inverse size of δ, for the solver.
    """

    @cvxpy_lock()
    def __init__(self, delta: Any, g: Any, constraints: list[Any], unit: Array) -> None:
        zero = np.zeros(delta.size) @ delta  # keeps δ in a problem without other terms of it
        program = cp.Problem(cp.Minimize(g + zero), constraints)
        data = program.get_problem_data(cp.CLARABEL, solver_opts={"use_quad_obj": False})[0]
        form, dims = data["param_prob"], data["dims"]
        A, cost = sparse.csc_array(data["A"]), np.asarray(data["c"], dtype=float)
        own = _columns_of(delta, data)
        self.unit, self.offset = unit, float(form.apply_parameters()[1])
        self.h = np.asarray(data["b"], dtype=float)
        self.A, self.c = A[:, own], cost[own]
        self.B, self.e = A[:, ~own], cost[~own]
        self.cones = dims_to_solver_cones(dims)
        self.zero, self.nonneg, self.soc, self.psd = dims.zero, dims.nonneg, tuple(dims.soc), tuple(dims.psd)
        # squares as cones cost half of the digits of a step
        self.quadratic = program.get_problem_data(cp.CLARABEL, solver_opts={"use_quad_obj": True})[0]
        self.first = int(np.flatnonzero(_columns_of(delta, self.quadratic))[0])
        self.exp, self.bounded = dims.exp, not (list(dims.p3d) or list(getattr(dims, "pnd", ())))

    # the step ---------------------------------------------------------------------------------------------------------

    def step(self, q: Array, root: Array) -> Array:
        """Minimiser of ⟨q, x⟩ + ½‖root x‖² + g(x); raises :class:`SolveError` if there is no solution."""
        data, own = self.quadratic, slice(self.first, self.first + q.size)
        cost, scale = np.array(data["c"], dtype=float), np.ones(len(data["c"]))
        cost[own] += q
        scale[own] = 1.0 / self.unit
        turned = sparse.diags_array(scale)
        P = sparse.lil_array((cost.size, cost.size))
        P[own, own] = root.T @ root
        if data.get("P") is not None:
            P = P + sparse.csc_array(data["P"])
        P = sparse.triu(turned @ sparse.csc_array(P) @ turned, format="csc")
        A, cones = sparse.csc_array(sparse.csc_array(data["A"]) @ turned), dims_to_solver_cones(data["dims"])
        x, _ = _solved(P, cost * scale, A, np.asarray(data["b"], dtype=float), cones, TOLERANCES)
        return np.asarray(x[own] / self.unit)

    def solve(self, q: Array, root: Array, tolerances: tuple[float, ...] = TOLERANCES) -> Array:
        """Dual variables z of the conic constraints of a step; raises :class:`SolveError` if there is no solution."""
        m, scaled = self.e.size, root / self.unit
        P = sparse.block_diag([sparse.csc_array(np.triu(scaled.T @ scaled)), sparse.csc_array((m, m))], format="csc")
        cost = np.concatenate([(q + self.c) / self.unit, self.e])
        A = sparse.hstack([self.A / self.unit, self.B], format="csc")
        return _solved(P, cost, A, self.h, self.cones, tolerances)[1]

    # the bound --------------------------------------------------------------------------------------------------------

    @property
    def unused(self) -> Index:
        """Coordinates of δ that no term depends on."""
        return np.flatnonzero((self.c == 0.0) & (np.asarray(abs(self.A).sum(axis=0)).ravel() == 0.0))

    def residual(self, z: Array) -> Array:
        """r' = c + A'z, at which a dual point bounds the conjugate."""
        return np.asarray(self.c + self.A.T @ z)

    def bound(
        self, z: Array, delta: Array, value: float, margin: Array, flat: Array, r: Array, variance: Array
    ) -> Trial | None:
        """A residual r', and the slack g(δ) + g*(r') − ⟨r', δ⟩ that is proven for it.

        ``None`` if no exact dual point is proven to exist near z, or g has cones without such a proof.

        Parameters
        ----------
        z : ndarray
            Dual variables of a step, to any accuracy.
        delta : ndarray of shape (k,)
            δ.
        value : float
            g(δ).
        margin : ndarray of shape (k,)
            The slack is proven for all residuals that differ from r' by no more than that. If it is not zero, r' is
            exact.
        flat : ndarray of shape (k, l)
            Directions in which r' has to agree with ``r``, orthonormal after scaling.
        r : ndarray of shape (k,)
            Residual of the weights.
        variance : ndarray of shape (k,)
            Squares of the scales.
        """
        if not self.bounded or not math.isfinite(value):
            return None
        z = self._corrected(z, flat, r)
        wanted = self.residual(z)
        wanted = wanted - variance * (flat @ (flat.T @ (wanted - r)))
        C = self._room(z)
        if C is None:
            return None
        gamma = self._gamma
        size = gamma * (np.abs(self.c) + np.abs(self.A.T) @ np.abs(z))
        off = np.abs(self.residual(z) - wanted) * (1.0 + 4.0 * EPS) + size
        held = np.full(margin.size, bool(margin.any()))
        held[self.unused] = False
        M = sparse.vstack([self.A.T[held], self.B.T], format="csr")
        error = np.concatenate([(off + margin)[held], gamma * (abs(self.B.T) @ np.abs(z) + np.abs(self.e))])
        miss = np.concatenate([np.zeros(int(held.sum())), self.B.T @ z + self.e])
        sizes = np.asarray((abs(M) @ abs(C)).sum(axis=1)).ravel()
        left = _length_of_shortest((M @ C).toarray(), miss, error, sizes, gamma)
        if not left < NEAR:
            return None
        AC, BC = self.A.T @ C, (self.B.T @ C).toarray()
        moved = left * np.sqrt(np.asarray(AC.multiply(AC).sum(axis=1)).ravel()) * (1.0 + 1e-6)
        # any t may be subtracted, because B'z + e is zero in the end; one close to optimal makes the change small
        t = np.nan_to_num(_normal_solve(BC, BC @ (C.T @ (self.h - self.A @ delta))))
        room = self.h - self.A @ delta - self.B @ t
        terms = np.abs(self.h) + np.abs(self.A) @ np.abs(delta) + abs(self.B) @ np.abs(t)
        slack = value - self.offset + float(z @ room) - float(self.c @ delta) - float(self.e @ t)
        total = float(np.abs(z) @ terms) + float(np.abs(self.c) @ np.abs(delta)) + float(np.abs(self.e) @ np.abs(t))
        round_off = gamma * (
            2.0 * (abs(value) + abs(self.offset) + total) + left * float(np.linalg.norm(abs(C.T) @ terms))
        )
        slack = max(slack, 0.0) + left * float(np.linalg.norm(C.T @ room)) * (1.0 + 1e-6) + round_off
        return Trial(wanted, slack, np.where(held, 0.0, off + moved)) if math.isfinite(slack) else None

    @property
    def _gamma(self) -> float:
        """Relative round-off of a sum over all rows or columns of the form, in any order."""
        return float(EPS * (sum(self.A.shape) + self.e.size + 8))

    def _corrected(self, z: Array, flat: Array, r: Array) -> Array:
        """z moved inside K* and to B'z + e = 0, and to the residual r in flat directions."""
        M = np.vstack([(self.A @ flat).T, self.B.T.toarray()])
        goal = np.concatenate([flat.T @ (r - self.c), -self.e])
        z = self._inside(z)
        for _ in range(ROUNDS):
            C = self._room(z)
            if C is None:
                break
            for first in (0, flat.shape[1]):  # the second time without flat directions
                change = M[first:] @ C
                xi = change.T @ _normal_solve(change, goal[first:] - M[first:] @ z)
                if float(np.linalg.norm(xi)) < NEAR:
                    z = self._inside(z + C @ xi)
                    break
        return z

    def _size(self, z: Array) -> float:
        """Largest entry of a dual point; positive."""
        return max(float(np.abs(z).max(initial=0.0)), float(np.abs(self.e).max(initial=0.0)), 1e-100)

    def _blocks(self) -> Iterator[tuple[str, slice]]:
        """Kind and place of each cone that has a boundary."""
        start = self.zero
        kinds = (("nonneg", (self.nonneg,)), ("soc", self.soc))
        triangles = (("psd", tuple(d * (d + 1) // 2 for d in self.psd)), ("exp", (3,) * self.exp))
        for kind, sizes in (*kinds, *triangles):
            for size in sizes:
                yield kind, slice(start, start + size)
                start += size

    def _inside(self, z: Array) -> Array:
        """z with every block at a small distance from the boundary of its dual cone."""
        z, least = z.copy(), TINY * self._size(z)
        for kind, place in self._blocks():
            z[place] = _INSIDE[kind](z[place], least)
        return z

    def _room(self, z: Array) -> Any | None:
        """C such that z + Cξ is in K* for all ‖ξ‖ < 1; ``None`` if z is not clearly inside."""
        parts: list[Any] = [self._size(z) * sparse.eye_array(self.zero)] if self.zero else []
        for kind, place in self._blocks():
            part = _ROOM[kind](z[place])
            if part is None:
                return None
            parts.append(part)
        return sparse.block_diag(parts, format="csr") if parts else None


def _normal_solve(M: Array, v: Array) -> Array:
    """(MM')⁻¹ v for rows of any size, kept regular by a small ridge; nan if that fails."""
    size = np.linalg.norm(M, axis=1)
    size[size == 0.0] = 1.0
    S = (M / size[:, None]) @ (M / size[:, None]).T
    S[np.diag_indices_from(S)] += RIDGE * len(S)
    try:
        return np.asarray(cho_solve(cho_factor(S), v / size) / size)
    except (np.linalg.LinAlgError, ValueError):  # ValueError: numbers that are not finite
        return np.full(len(v), np.nan)


def _length_of_shortest(M: Array, miss: Array, error: Array, sizes: Array, gamma: float) -> float:
    """Bound on the norm of the shortest ξ with Mξ = −miss; infinite if rows of M may depend on others.

    Entries of a row of M are off by at most ``gamma`` times its part of ``sizes``, together, and the miss by ``error``.
    """
    rows, columns = M.shape
    if not rows:
        return 0.0
    length = np.linalg.norm(M, axis=1)
    if columns < rows or not (np.all(length > 0.0) and np.all(np.isfinite(M))):
        return math.inf
    M, miss, error = M / length[:, None], miss / length, error / length
    R = qr(M.T, mode="r")[0][:rows]
    inverse, failed = dtrtri(R)
    if failed:
        return math.inf
    # the exact matrix is M + E: ξ for M leaves Eξ, which takes a correction, and so on
    size = np.abs(inverse.T)
    share = float(np.linalg.norm(size @ (gamma * sizes / length + EPS * rows * (rows + columns))))
    if not share < 0.5:
        return math.inf
    return (
        (float(np.linalg.norm(inverse.T @ miss)) + float(np.linalg.norm(size @ error))) / (1.0 - share) * (1.0 + 1e-3)
    )


# cones: the block moved inside the dual cone, and its room C ----------------------------------------------------------


def _inside_orthant(z: Array, least: float) -> Array:
    return np.maximum(z, least)


def _room_of_orthant(z: Array) -> Any:
    """Every entry may change by its own size."""
    return sparse.diags_array(z) if np.all(z > 0.0) else None


def _inside_soc(z: Array, least: float) -> Array:
    z[0] = max(z[0], float(np.linalg.norm(z[1:])) * (1.0 + INSIDE), least)
    return z


def _room_of_soc(z: Array) -> Any:
    """Root of the inverse Hessian of −log(z₀² − ‖z₁‖²), which is self-concordant: along its two rays, and across."""
    size = float(np.linalg.norm(z[1:]))
    plus, minus = z[0] + size, z[0] - size
    if not minus > 0.5 * INSIDE * z[0]:
        return None
    n = z[1:] / size if size > 0.0 else np.eye(z.size - 1)[0] if z.size > 1 else z[1:]
    C = np.zeros((z.size, z.size + 1))
    C[0, :2], C[1:, 0], C[1:, 1] = (0.5 * plus, 0.5 * minus), 0.5 * plus * n, -0.5 * minus * n
    C[1:, 2:] = math.sqrt(0.5 * plus * minus) * (np.eye(z.size - 1) - np.outer(n, n))
    return sparse.csr_array(C)


def _matrix(z: Array) -> Array:
    """The symmetric matrix with this upper triangle, whose off-diagonal entries are multiplied by √2."""
    d = int(math.sqrt(2 * z.size))
    Z = np.zeros((d, d))
    Z.T[np.tril_indices(d)] = z / _root_two(d)
    return np.asarray(np.triu(Z) + np.triu(Z, 1).T)


def _root_two(d: int) -> Array:
    i, j = np.tril_indices(d)
    return np.where(i == j, 1.0, math.sqrt(2.0))


def _inside_psd(z: Array, least: float) -> Array:
    Z = _matrix(z)
    values, vectors = np.linalg.eigh(Z)
    Z = (vectors * np.maximum(values, max(INSIDE * float(np.abs(values).max()), least))) @ vectors.T
    return np.asarray(Z.T[np.tril_indices(len(Z))] * _root_two(len(Z)))


def _room_of_psd(z: Array) -> Any:
    """L X L' for the matrix LL', which is L (I + X) L' after the change."""
    Z = _matrix(z)
    d = len(Z)
    values, vectors = np.linalg.eigh(Z)
    if d > LARGEST_MATRIX or not values[0] > 0.5 * INSIDE * values[-1]:
        return None
    L, (i, j) = vectors * np.sqrt(values), np.tril_indices(d)
    # entry (a, b) of L X L' for X with the entry (i, j) and its mirror image
    both = L[j][:, i] * L[i][:, j] + L[j][:, j] * L[i][:, i]
    scale = _root_two(d)
    return sparse.csr_array(scale[:, None] * both / np.where(i == j, 2.0, 1.0) / scale)


def _inside_exp(z: Array, least: float) -> Array:
    y = max(-z[0], least)
    with np.errstate(over="ignore"):
        return np.array([-y, z[1], max(z[2], least, y * float(np.exp(-z[1] / y - 1.0)) * (1.0 + 100.0 * INSIDE))])


def _room_of_exp(z: Array) -> Any:
    """Root of the inverse Hessian of −log ψ − log w − log y at (−y, v, w), with ψ = y log(w/y) + v + y.

    For relative changes α of y, β of w and p of ψ it is the quadratic form p² + α² + β² + (y/ψ) (α − β)².
    """
    y, v, w = -z[0], z[1], z[2]
    if not (y > 0.0 and 0.0 < w < math.inf):
        return None
    log = math.log(w / y)
    psi = y * log + v + y
    if not psi > INSIDE * (abs(y * log) + abs(v) + y):
        return None
    across = 1.0 / math.sqrt(2.0 + 4.0 * y / psi)
    alpha, beta = np.array([math.sqrt(0.5), across, 0.0]), np.array([math.sqrt(0.5), -across, 0.0])
    return sparse.csr_array(np.vstack([-y * alpha, psi * np.eye(3)[2] - y * log * alpha - y * beta, w * beta]))


_INSIDE = {"nonneg": _inside_orthant, "soc": _inside_soc, "psd": _inside_psd, "exp": _inside_exp}
_ROOM = {"nonneg": _room_of_orthant, "soc": _room_of_soc, "psd": _room_of_psd, "exp": _room_of_exp}
