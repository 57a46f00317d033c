"""The primal [P] in cvxpy: a log-sum-exp program in δ."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from .._internal.threads import cvxpy_lock
from .._internal.typing import Array
from .._internal.validation import as_flag
from ..penalties.user_terms import user_terms
from ..problem import RatioProblem, as_problem
from .program import Program, column_scale

__all__ = ["primal_program"]


@cvxpy_lock()
def primal_program(
    problem: RatioProblem, *, penalty: Any = None, constraints: Any = None, scaled: bool = False
) -> Program:
    """Build [P]: minimise −⟨b,δ⟩ + log Σ_j exp(a_j + ⟨δ,F_j⟩) + R‖δ‖_* over δ.

    Parameters
    ----------
    problem : RatioProblem
        The problem, in memory.
    penalty : function of a cvxpy expression, optional
        A further convex term in δ, such as ``lambda delta: cp.norm1(delta)``; none by default.
    constraints : function of a cvxpy expression, optional
        Convex constraints on δ, such as ``lambda delta: [delta >= 0]``; none by default.
    scaled : bool, default False
        Whether to centre the features at b and scale their columns, which saves iterations of a cone solver;
        the unscaled program reads like the equation.

    Returns
    -------
    Program

    Examples
    --------
    >>> problem = RatioProblem(target=[0.2, 0.1], features_q=np.eye(2), radius=0.1)
    >>> print(primal_program(problem))
    minimize -b @ delta + log_sum_exp(a + F @ delta) + R * norm2(delta)
    """
    problem, scaled = as_problem(problem), as_flag(scaled, "scaled")
    rows = problem.positive_rows
    F = np.asarray(problem.features_q[rows], dtype=float)
    s = column_scale(F, scaled)
    a = cp.Constant(problem.log_base[rows], name="a")
    name = "delta" if not scaled else "s * delta"
    variable = cp.Variable(problem.k, name=name)
    if scaled:
        delta = cp.multiply(1.0 / s, variable)
        loss = cp.log_sum_exp(a + cp.Constant((F - problem.target) / s, name="G") @ variable)
    else:
        delta = variable
        loss = -cp.Constant(problem.target, name="b") @ delta
        loss = loss + cp.log_sum_exp(a + cp.Constant(F, name="F") @ delta)
    if problem.radius > 0.0:
        loss = loss + cp.Constant(problem.radius, name="R") * cp.norm(delta, problem.moment_norm.dual_order)
    g, limits = user_terms(delta, penalty, constraints)
    program = cp.Problem(cp.Minimize(loss + g if penalty is not None else loss), limits)

    def recover() -> tuple[Array, Array] | None:
        if variable.value is None or not np.all(np.isfinite(variable.value)):
            return None
        solved = np.asarray(variable.value, dtype=float) / s
        return solved, np.exp(problem.log_mu(solved))

    return Program(program, recover)
