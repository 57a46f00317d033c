"""The Newton step in cvxpy: a k-dimensional program, compiled once and solved again with other numbers."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from scipy.linalg import null_space

from ..entropy import Array
from ..errors import SolveError
from ..linear import square_root
from ..problem import RatioProblem
from ..threads import alone, quietly
from .program import user_terms

__all__ = ["StepProgram"]

#: tolerances asked of the solver in turn, until it says that it reached one
STEP_TOLERANCES = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)
#: what the solver calls almost solved
ALMOST = 5e-5


class StepProgram:
    """[STEP] minimise ⟨q,x⟩ + ½ x'Hx + R‖x‖_* + g(x) under the user's constraints, for changing q and H.

    Parameters
    ----------
    problem : RatioProblem
        Supplies radius, norm and the number of features.
    scale : array of shape (k,)
        Typical standard deviation of every feature; the program's variable is scale · x.
    penalty, constraints : callables of a cvxpy expression, optional
    """

    @alone()
    def __init__(self, problem: RatioProblem, scale: Array, penalty: Any = None, constraints: Any = None) -> None:
        k = problem.k
        self.scale = scale
        self._penalty, self._constraints = penalty, constraints
        self._radius, self._dual_order = problem.radius, problem.ball.dual_order
        self._z = cp.Variable(k, name="s * delta")
        self._root = cp.Parameter((k, k), name="root of H")
        self._q = cp.Parameter(k, name="q")
        delta = cp.multiply(1.0 / scale, self._z)
        g, limits = user_terms(delta, penalty, constraints)
        if problem.radius > 0.0:
            g = g + problem.radius * cp.norm(delta, problem.ball.dual_order)
        quadratic = 0.5 * cp.sum_squares(self._root @ self._z) + self._q @ self._z
        self.cvxpy = cp.Problem(cp.Minimize(quadratic + g), limits)
        # the same terms once more on a free variable, to evaluate g and the constraints anywhere
        self._point = cp.Variable(k)
        self._g, self._limits = user_terms(self._point, penalty, constraints)

    def solve(self, q: Array, H: Array) -> tuple[Array, float, float]:
        """(x, value, tolerance reached); raises :class:`SolveError` if the program has no solution."""
        self._q.value = q / self.scale
        self._root.value = square_root(H) / self.scale
        failure, reached = "", ALMOST
        self._z.value = None  # a solver that raises leaves what was there before
        with quietly():  # of inaccuracy: it is in the tolerance that is returned
            for tol in STEP_TOLERANCES:
                try:
                    self.cvxpy.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol, max_iter=200)
                except cp.SolverError as error:
                    failure = str(error)
                    continue
                failure = ""
                if self.cvxpy.status != cp.OPTIMAL_INACCURATE:
                    reached = tol
                    break
        if self._z.value is None or failure:
            raise SolveError(
                f"Newton step: the penalty and constraints give a program that is {failure or self.cvxpy.status}"
            )
        return np.asarray(self._z.value, dtype=float) / self.scale, float(self.cvxpy.value), reached

    @alone()
    def shorten(self, delta: Array, null: Array) -> Array:
        """Shortest δ + N z that costs no more than δ; δ itself if the solver finds none."""
        if not delta.any():
            return delta
        moved, fixed = cp.Variable(len(delta)), null_space(null.T)  # has few columns where N is nearly all
        g, limits = user_terms(moved, self._penalty, self._constraints)
        if self._radius > 0.0:
            g = g + self._radius * cp.norm(moved, self._dual_order)
        if isinstance(g, cp.Expression):
            limits = [*limits, g <= self.total(delta)]
        stays = [fixed.T @ moved == fixed.T @ delta] if fixed.size else []
        problem = cp.Problem(cp.Minimize(cp.sum_squares(moved)), [*limits, *stays])
        try:
            with quietly():  # of inaccuracy: whoever asks certifies the answer
                problem.solve(solver=cp.CLARABEL)
        except cp.SolverError:
            return delta
        return delta if moved.value is None else np.asarray(delta + null @ (null.T @ (moved.value - delta)))

    def total(self, delta: Array) -> float:
        """R‖δ‖_* + g(δ)."""
        norm = float(np.linalg.norm(delta, self._dual_order)) if self._radius > 0.0 else 0.0
        return self._radius * norm + self.value(delta)

    @alone()
    def value(self, delta: Array) -> float:
        """g(δ) of the user's penalty alone."""
        if not isinstance(self._g, cp.Expression):
            return 0.0
        self._point.value = delta
        with np.errstate(all="ignore"):
            value = float(self._g.value)
        return value if np.isfinite(value) else np.inf

    @alone()
    def violation(self, delta: Array) -> float:
        """Largest violation of the user's constraints at δ."""
        self._point.value = delta
        with np.errstate(all="ignore"):  # a cone's projection divides by the length of a point that may be zero
            return max((float(np.max(c.violation())) for c in self._limits), default=0.0)
