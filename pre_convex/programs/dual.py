"""The dual [D] in cvxpy: the least divergence of weights under bounds on them and on the moment residual."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np

from .._internal.threads import cvxpy_lock
from .._internal.typing import Array
from .._internal.validation import as_flag
from ..errors import DataError
from ..logistic import LogisticProblem
from ..penalties.user_terms import user_terms
from ..problem import RatioProblem, as_problem
from .logistic import logistic_dual_program
from .program import Program, column_scale

__all__ = ["dual_program"]


@cvxpy_lock()
def dual_program(
    problem: RatioProblem | LogisticProblem,
    *,
    scaled: bool = False,
    counts: bool = False,
    weight_penalty: Any = None,
    weight_constraints: Any = None,
) -> Program:
    """Build [D]: maximise −Σ_j π_j φ(μ_j/π_j) over weights within their bounds that sum to one, with ‖b − F'μ‖ ≤ R.

    For KL the objective is Σ_j −μ_j log μ_j + μ_j a_j, which is the same on the simplex. The residual r = b − F'μ is a
    variable with an equation of its own, so that the multiplier is the vector δ and not only its norm: cvxpy's
    multiplier of ``r == b − F'μ`` is −δ. With R = 0 the equation is ``b − F'μ == 0``, with the multiplier +δ.

    Parameters
    ----------
    problem : RatioProblem or LogisticProblem
        The problem, in memory. That of a logistic regression is [LOGIT].
    scaled : bool, default False
        Whether to centre the features at b and scale their columns, which saves iterations of a cone solver.
    counts : bool, default False
        Whether the variable is ν = n μ, whose entries are of size one.
    weight_penalty : function of a cvxpy expression, optional
        A convex term in the weights μ that is subtracted from the objective, such as ``lambda mu: cp.sum_squares(mu)``;
        none by default. μ has one entry for each row of positive base weight.
    weight_constraints : function of a cvxpy expression, optional
        Convex constraints on the weights, such as ``lambda mu: [cp.sum(mu[:10]) <= 0.2]``; none by default.

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
    >>> problem = RatioProblem(target=[0.2, 0.1], features_q=np.eye(2), divergence="reverse-kl", bounds=(0, 5))
    >>> print(dual_program(problem))
    maximize -sum(kl_div(pi, mu))
    subject to 0.0 <= mu
               mu <= hi * pi
               sum(mu) == 1.0
               b - F.T @ mu == 0.0
    """
    if isinstance(problem, LogisticProblem):
        given = {"counts": counts or None, "weight_penalty": weight_penalty, "weight_constraints": weight_constraints}
        for name, value in given.items():
            if value is not None:
                raise DataError(name, "is for a RatioProblem", "leave it out")
        return logistic_dual_program(problem, scaled=scaled)
    problem, scaled, counts = as_problem(problem), as_flag(scaled, "scaled"), as_flag(counts, "counts")
    rows = problem.positive_rows
    F = np.asarray(problem.features_q[rows], dtype=float)
    n, k = F.shape
    s = column_scale(F, scaled)
    unit = float(n) if counts else 1.0
    weights = cp.Variable(n, name="nu" if counts else "mu")
    link = problem.link.take(rows)
    pi = np.exp(problem.log_base[rows])
    if problem.divergence == "kl":
        a = cp.Constant(problem.log_base[rows] + math.log(unit), name="a")
        objective = cp.sum(cp.entr(weights)) + a @ weights
    else:
        objective = -link.divergence.dual_atom(weights, cp.Constant(unit * pi, name="pi"))
    simplex = [*_bounds(weights, unit * pi, link.lower, link.upper), cp.sum(weights) == unit]
    if scaled:  # Σμ = 1 turns b − F'μ into −G'μ with G = F − b
        moment = -cp.Constant((F - problem.target) / s, name="G").T @ weights
    else:
        moment = cp.Constant(problem.target * unit, name="b") - cp.Constant(F, name="F").T @ weights
    if problem.radius_per_feature or problem.radius > 0.0:
        residual = cp.Variable(k, name="r")
        equation, sign = residual == moment, -1.0
        ball = _ball(problem, residual if not scaled else cp.multiply(s, residual), unit)
    else:
        residual, equation, sign, ball = moment, moment == 0, 1.0, []
    mu = weights if not counts else weights / unit
    extra, limits = user_terms(mu, weight_penalty, weight_constraints, names=("weight_penalty", "weight_constraints"))
    objective = objective - unit * extra if weight_penalty is not None else objective
    program = cp.Problem(cp.Maximize(objective), [*simplex, equation, *ball, *limits])

    def recover() -> tuple[Array, Array] | None:
        if weights.value is None or equation.dual_value is None or not np.all(np.isfinite(weights.value)):
            return None
        found = np.zeros(problem.n_q)
        found[rows] = np.asarray(weights.value, dtype=float) / unit
        delta = sign * np.asarray(equation.dual_value, dtype=float) / s
        if problem.radius_per_feature:
            delta[np.isinf(problem.radius)] = 0.0
        return delta, found

    plain = not (scaled or counts)
    return Program(program, recover, mu=mu, r=residual if plain else cp.multiply(s / unit, residual))


def _bounds(weights: Any, pi: Array, lower: Array | float, upper: Array | float) -> list[Any]:
    """Lo π ≤ μ ≤ hi π, where these are bounds at all."""
    limits = [weights >= (cp.Constant(lower * pi, name="lo * pi") if np.any(np.asarray(lower) > 0.0) else 0.0)]
    finite = np.broadcast_to(np.isfinite(upper), pi.shape)
    if finite.all():
        limits.append(weights <= cp.Constant(upper * pi, name="hi * pi"))
    elif finite.any():
        some = np.flatnonzero(finite)
        limits.append(weights[some] <= cp.Constant((np.asarray(upper) * pi)[some], name="hi * pi"))
    return limits


def _ball(problem: RatioProblem, residual: Any, unit: float) -> list[Any]:
    """‖r‖ ≤ R, or |r_i| ≤ R_i of the features that are not left out."""
    if not problem.radius_per_feature:
        return [cp.norm(residual, problem.norm) <= cp.Constant(problem.radius * unit, name="R")]
    R = problem.radius
    if np.all(np.isfinite(R)):
        return [cp.abs(residual) <= cp.Constant(R * unit, name="R")]
    some = np.flatnonzero(np.isfinite(R))
    return [cp.abs(residual[some]) <= cp.Constant(R[some] * unit, name="R")]
