"""The Newton step in cvxpy: a k-dimensional program, compiled once and solved for many (q, H)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from .._internal.linear_algebra import square_root
from .._internal.threads import cvxpy_lock, warnings_ignored
from .._internal.typing import Array
from ..errors import SolveError
from .radius import radius_value
from .units import feature_scale
from .user_terms import radius_term, user_terms

if TYPE_CHECKING:
    from ..problem import RatioProblem

__all__ = ["StepProgram"]

#: solver tolerances tried in turn, until the solver reports success
TOLERANCES = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)
#: tolerance of an answer that the solver reports as almost solved
ALMOST_SOLVED = 5e-5


class StepProgram:
    """[STEP] minimise ⟨q,x⟩ + ½ x'Hx + R‖x‖_* + g(x) under the user's constraints, for changing q and H.

    Parameters
    ----------
    problem : RatioProblem
        Supplies radius, norm and the number of features.
    penalty, constraints : functions of a cvxpy expression, optional
        The user's terms g and constraints; none by default.
    """

    @cvxpy_lock()
    def __init__(self, problem: RatioProblem, penalty: Any = None, constraints: Any = None) -> None:
        k = problem.k
        self.scale = scale = feature_scale(problem)  # the variable is scale · x
        self._penalty, self._constraints = penalty, constraints
        self._radius, self._norm = problem.radius, problem.moment_norm
        self._z = cp.Variable(k, name="s * delta")
        self._root = cp.Parameter((k, k), name="root of H")
        self._q = cp.Parameter(k, name="q")
        delta = cp.multiply(1.0 / scale, self._z)
        g, limits = user_terms(delta, penalty, constraints)
        term, fixed = radius_term(problem.radius, problem.moment_norm.dual_order, delta)
        g, limits = g if term is None else g + term, [*limits, *fixed]
        quadratic = 0.5 * cp.sum_squares(self._root @ self._z) + self._q @ self._z
        self.cvxpy = cp.Problem(cp.Minimize(quadratic + g), limits)
        # the same terms on a free variable, to evaluate g and the constraints anywhere
        self._point = cp.Variable(k)
        self._g, self._limits = user_terms(self._point, penalty, constraints)

    def solve(self, q: Array, H: Array) -> tuple[Array, float, float]:
        """(x, value, solver tolerance); raises :class:`SolveError` if the program has no solution."""
        self._q.value = q / self.scale
        self._root.value = square_root(H) / self.scale
        failure, tolerance = "", ALMOST_SOLVED
        self._z.value = None  # a solver that raises would leave the last answer in place
        with warnings_ignored():  # about inaccuracy, which the returned tolerance shows
            for tol in TOLERANCES:
                try:
                    self.cvxpy.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol, max_iter=200)
                except cp.SolverError as error:
                    failure = str(error)
                    continue
                failure = ""
                if self.cvxpy.status != cp.OPTIMAL_INACCURATE:
                    tolerance = tol
                    break
        if self._z.value is None or failure:
            raise SolveError(f"Newton step: the cvxpy program failed ({failure or self.cvxpy.status})")
        return np.asarray(self._z.value, dtype=float) / self.scale, float(self.cvxpy.value), tolerance

    def total(self, delta: Array) -> float:
        """R‖δ‖_* + g(δ)."""
        return radius_value(self._radius, self._norm, delta) + self.value(delta)

    @cvxpy_lock()
    def value(self, delta: Array) -> float:
        """g(δ), the user's penalty without R‖δ‖_*."""
        if not isinstance(self._g, cp.Expression):
            return 0.0
        self._point.value = delta
        with np.errstate(all="ignore"):
            value = float(self._g.value)
        return value if np.isfinite(value) else np.inf

    @cvxpy_lock()
    def violation(self, delta: Array) -> float:
        """Largest violation of the user's constraints at δ."""
        self._point.value = delta
        with np.errstate(all="ignore"):  # the projection on a cone divides by a length that may be zero
            return max((float(np.max(c.violation())) for c in self._limits), default=0.0)
