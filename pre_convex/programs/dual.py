"""The dual [D] in cvxpy: entropy of simplex weights under a bounded moment residual."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np

from .._internal.threads import cvxpy_lock
from .._internal.typing import Array
from .._internal.validation import as_flag
from ..problem import RatioProblem, as_problem
from .program import Program, column_scale

__all__ = ["dual_program"]


@cvxpy_lock()
def dual_program(problem: RatioProblem, *, scaled: bool = False, counts: bool = False) -> Program:
    """Build [D]: maximise Σ_j −μ_j log μ_j + μ_j a_j over the simplex with ‖b − F'μ‖ ≤ R.

    The residual r = b − F'μ is a variable with an equation of its own, so that the multiplier is the vector δ and not
    only its norm: cvxpy's multiplier of ``r == b − F'μ`` is −δ. With R = 0 the equation is ``b − F'μ == 0``, with the
    multiplier +δ.

    Parameters
    ----------
    problem : RatioProblem
        The problem, in memory.
    scaled : bool, default False
        Whether to centre the features at b and scale their columns, which saves iterations of a cone solver.
    counts : bool, default False
        Whether the variable is ν = n μ, whose entries are of size one.

    Returns
    -------
    Program

    Examples
    --------
    >>> problem = RatioProblem(target=[0.2, 0.1], features_q=np.eye(2), radius=0.1)
    >>> print(dual_program(problem))
    maximize sum(entr(mu)) + a @ mu
    subject to 0.0 <= mu
               sum(mu) == 1.0
               r == b - F.T @ mu
               norm2(r) <= R
    """
    problem, scaled, counts = as_problem(problem), as_flag(scaled, "scaled"), as_flag(counts, "counts")
    rows = problem.positive_rows
    F = np.asarray(problem.features_q[rows], dtype=float)
    n, k = F.shape
    s = column_scale(F, scaled)
    unit = float(n) if counts else 1.0
    weights = cp.Variable(n, name="nu" if counts else "mu")
    a = cp.Constant(problem.log_base[rows] + math.log(unit), name="a")
    objective = cp.sum(cp.entr(weights)) + a @ weights
    simplex = [weights >= 0, cp.sum(weights) == unit]
    if scaled:  # Σμ = 1 turns b − F'μ into −G'μ with G = F − b
        moment = -cp.Constant((F - problem.target) / s, name="G").T @ weights
    else:
        moment = cp.Constant(problem.target * unit, name="b") - cp.Constant(F, name="F").T @ weights
    if problem.radius > 0.0:
        r = cp.Variable(k, name="r")
        equation, sign = r == moment, -1.0
        residual = r if not scaled else cp.multiply(s, r)
        ball = [cp.norm(residual, problem.norm) <= cp.Constant(problem.radius * unit, name="R")]
    else:
        equation, sign, ball = moment == 0, 1.0, []
    program = cp.Problem(cp.Maximize(objective), [*simplex, equation, *ball])

    def recover() -> tuple[Array, Array] | None:
        if weights.value is None or equation.dual_value is None or not np.all(np.isfinite(weights.value)):
            return None
        mu = np.zeros(problem.n_q)
        mu[rows] = np.asarray(weights.value, dtype=float) / unit
        return sign * np.asarray(equation.dual_value, dtype=float) / s, mu

    return Program(program, recover)
