"""The user's own penalty and constraints, given as functions of a cvxpy expression δ."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.typing import Array, Index
from ..errors import DataError
from .penalty import Trial, UserTerms

if TYPE_CHECKING:
    from ..problem import RatioProblem
    from .step_program import StepProgram

__all__ = ["UserPenalty", "check_terms", "variable_of"]


class UserPenalty(UserTerms):
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
        return steps.solve(zero, np.diag(steps.scale**2))

    def value(self, delta: Array) -> float:
        """R‖δ‖_* + g(δ)."""
        return float(self._program.total(delta))

    def violation(self, delta: Array) -> float:
        """Largest violation of a constraint."""
        return float(self._program.violation(delta))

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Solve the step as a cvxpy program."""
        return self._program.solve(gradient - H @ delta, H)

    def exact(self, k: int) -> Index:
        """Coordinates that no term depends on."""
        return self._program.form.unused

    def trial(self, delta: Array, r: Array, H: Array, margin: Array) -> Trial | None:
        """The residual after a step, with the bound [CONE] of g* from the step's dual variables.

        The bound does not rest on the solver's accuracy: it holds for an exact dual point that is proven to exist near
        the one of the solver.
        """
        return self._program.bound(delta, r, H, margin)


def variable_of(name: str) -> str:
    """What the user's terms of this name are functions of: δ or μ."""
    return "mu" if name.startswith("weight_") else "delta"


def check_terms(penalty: Any, constraints: Any, names: tuple[str, str] = ("penalty", "constraints")) -> None:
    """Raise :class:`DataError` unless the user's terms are functions."""
    x = variable_of(names[0])
    examples = (f"lambda {x}: cp.norm1({x})", f"lambda {x}: [{x} >= 0]")
    for name, term, example in zip(names, (penalty, constraints), examples, strict=True):
        if term is not None and not callable(term):
            reason = f"must be a function of a cvxpy expression {x}, not {type(term).__name__}"
            raise DataError(name, reason, f"pass a function such as {example}")
