"""The user's own penalty and constraints, given as functions of a cvxpy expression δ."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.typing import Array
from ..errors import DataError, SolveError

if TYPE_CHECKING:
    from ..certificate.lift import Lift, LiftByPasses
    from ..problem import RatioProblem
    from .step_program import StepProgram

__all__ = ["UserPenalty", "check_terms"]


class UserPenalty:
    """R‖δ‖_* plus the user's penalty, under the user's constraints."""

    def __init__(self, problem: RatioProblem, penalty: Any = None, constraints: Any = None) -> None:
        check_terms(penalty, constraints)
        self.problem, self.penalty, self.constraints = problem, penalty, constraints

    @cached_property
    def _program(self) -> StepProgram:
        """The step as a cvxpy program, compiled on first use."""
        from .step_program import StepProgram  # imports cvxpy, which most solves do without

        return StepProgram(self.problem, self.penalty, self.constraints)

    def start(self, k: int) -> Array:
        """Zero, or the shortest point that satisfies the constraints."""
        zero = np.zeros(k)
        steps = self._program
        if steps.violation(zero) <= 1e-9 and np.isfinite(steps.value(zero)):
            return zero
        x, *_ = steps.solve(zero, np.diag(steps.scale**2))
        return np.asarray(x)

    def value(self, delta: Array) -> float:
        """R‖δ‖_* + g(δ)."""
        return float(self._program.total(delta))

    def shorten(self, delta: Array, null: Array) -> Array:
        """Solve a small cvxpy program."""
        return np.asarray(self._program.shorten(delta, null))

    def violation(self, delta: Array) -> float:
        """Largest violation of a constraint."""
        return float(self._program.violation(delta))

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Solve the step as a cvxpy program."""
        x, *_ = self._program.solve(gradient - H @ delta, H)
        return np.asarray(x)

    def gap(self, delta: Array, r: Array, lift: Lift | LiftByPasses) -> float:
        """Gap from the value of one k-dimensional program.

        A lift by d costs KL(μ' ‖ μ) ≤ ½(1 + c) d'Hd if it changes no weight by more than a fraction c ≤ 1. By Fenchel
        duality, the best of these bounds over d is the value V of a step with curvature H/(1 + c):

            gap = g(δ) − ⟨r, δ⟩ − min over x of [ g(x) − ⟨r, x⟩ + ½ (x − δ)' H (x − δ) / (1 + c) ].
        """
        for c in (0.1, 1.0):
            H = lift.scatter / (1.0 + c)
            try:
                x, V, tol = self._program.solve(-r - H @ delta, H)
            except SolveError:
                return np.inf
            change = lift.reach(x - delta) / (1.0 + c)
            if change <= c:
                V += 0.5 * float(delta @ H @ delta)
                slack = self.value(delta) - float(r @ delta) - V
                return float(max(slack, 0.0) + 3.0 * tol * (1.0 + abs(V)))
        return np.inf


def check_terms(penalty: Any, constraints: Any) -> None:
    """Raise :class:`DataError` unless the user's terms are functions."""
    for name, term, example in (
        ("penalty", penalty, "lambda delta: cp.norm1(delta)"),
        ("constraints", constraints, "lambda delta: [delta >= 0]"),
    ):
        if term is not None and not callable(term):
            reason = f"must be a function of a cvxpy expression delta, not {type(term).__name__}"
            raise DataError(name, reason, f"pass a function such as {example}")
