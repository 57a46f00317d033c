"""The user's terms for Newton: g, the constraints, the step, and a bound of the conjugate, compiled once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from .._internal.linear_algebra import eigen_directions, square_root
from .._internal.threads import cvxpy_lock
from .._internal.typing import Array
from ..errors import SolveError
from .conic_form import ConicForm
from .penalty import Trial
from .radius import radius_value
from .units import feature_scale
from .user_terms import radius_term, user_terms

if TYPE_CHECKING:
    from ..problem import RatioProblem

__all__ = ["StepProgram"]

#: tolerance of an early iterate, and shares of it in a dual point, tried in turn
EARLY, SHARES = 1e-2, (0.0, 1e-12, 1e-10, 1e-8, 1e-6)


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
        self.scale = feature_scale(problem)
        self._radius, self._norm = problem.radius, problem.moment_norm
        self._point = cp.Variable(problem.k, name="delta")
        self._g, self._limits = user_terms(self._point, penalty, constraints)

    @cached_property
    def form(self) -> ConicForm:
        """All terms in conic form."""
        term, fixed = radius_term(self._radius, self._norm.dual_order, self._point)
        g = self._g if term is None else self._g + term
        return ConicForm(self._point, g, [*self._limits, *fixed], np.exp2(np.round(np.log2(self.scale))))

    def solve(self, q: Array, H: Array) -> Array:
        """Minimiser; raises :class:`SolveError` if the program has no solution."""
        return self.form.step(q, square_root(H))

    def bound(self, delta: Array, r: Array, H: Array, margin: Array) -> Trial | None:
        """A residual close to that after a step, and its slack [CONE]; ``None`` if nothing is proven.

        Where H is flat, weights can only reach r. If the dual variables are too close to the boundary of their cones
        for a proof, they are moved towards those of an early iterate.
        """
        form, q, root, value = self.form, -r - H @ delta, square_root(H), self.total(delta)
        T, curvature = eigen_directions(H)
        flat, variance = T[:, curvature == 0.0], 1.0 / np.sum(np.square(T), axis=1)
        margin = margin.copy()
        margin[form.unused] = 0.0
        try:
            z = form.solve(q, root)
            early = None
            for share in SHARES:
                if share and early is None:
                    early = form.solve(q, root, (EARLY,))
                mixed = z if early is None else (1.0 - share) * z + share * early
                trial = form.bound(mixed, delta, value, margin, flat, r, variance)
                if trial is not None:
                    return trial
        except SolveError:
            pass
        return None

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
