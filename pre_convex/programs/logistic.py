"""Logistic regression with offsets [LOGIT] in cvxpy: the primal in (α, δ), and the dual in binary entropies."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import cvxpy as cp
import numpy as np

from .._internal.threads import cvxpy_lock
from .._internal.typing import Array
from .._internal.validation import as_flag
from ..logistic import LogisticProblem, as_logistic_problem
from ..penalties.user_terms import radius_term, user_terms
from .program import Program, column_scale

__all__ = ["logistic_dual_program", "logistic_primal_program"]


@cvxpy_lock()
def logistic_primal_program(
    problem: LogisticProblem, *, penalty: Any = None, constraints: Any = None, scaled: bool = False
) -> Program:
    """Build [LOGIT]: minimise (1/m) [Σ_p log(1 + exp(−η)) + Σ_q log(1 + exp(η))] + R‖δ‖_* over α and δ.

    Parameters
    ----------
    problem : LogisticProblem
        The problem.
    penalty : function of a cvxpy expression, optional
        A further convex term in δ; none by default.
    constraints : function of a cvxpy expression, optional
        Convex constraints on δ; none by default.
    scaled : bool, default False
        Whether to centre the features and scale their columns, which saves iterations of a cone solver.

    Returns
    -------
    Program
        ``recover`` returns δ and the weights u/n_p of the pooled rows.

    Examples
    --------
    >>> problem = LogisticProblem(np.eye(2), -np.eye(3)[:, :2], radius=0.1)
    >>> print(logistic_primal_program(problem))
    minimize 1/m * sum(logistic(-eta_p)) + 1/m * sum(logistic(eta_q)) + R * norm2(delta)
    subject to eta_p == alpha + F_p @ delta + o_p
               eta_q == alpha + F_q @ delta + o_q
    """
    problem, scaled = as_logistic_problem(problem), as_flag(scaled, "scaled")
    F, (n_p, _), offset = problem.features, problem.sizes, problem.offset
    s = column_scale(F, scaled)
    alpha, variable = cp.Variable(name="alpha"), cp.Variable(problem.k, name="s * delta" if scaled else "delta")
    if scaled:
        F, offset, delta = (F - problem.target) / s, problem.link.offset, cp.multiply(1.0 / s, variable)
    else:
        delta = variable
    eta_p, eta_q = cp.Variable(n_p, name="eta_p"), cp.Variable(len(F) - n_p, name="eta_q")
    unit = cp.Constant(1.0 / problem.m, name="1/m")
    scores = [
        eta == alpha + cp.Constant(F[rows], name=f"F_{side}") @ variable + cp.Constant(offset[rows], name=f"o_{side}")
        for eta, rows, side in ((eta_p, slice(n_p), "p"), (eta_q, slice(n_p, None), "q"))
    ]
    term, out = radius_term(problem.radius, problem.moment_norm.dual_order, delta)
    g, limits = user_terms(delta, penalty, constraints)
    terms = [unit * cp.sum(cp.logistic(-eta_p)), unit * cp.sum(cp.logistic(eta_q)), term]
    terms.append(g if penalty is not None else None)
    objective = reduce(add, [one for one in terms if one is not None])
    program = cp.Problem(cp.Minimize(objective), [*scores, *out, *limits])

    def recover() -> tuple[Array, Array] | None:
        if variable.value is None or not np.all(np.isfinite(variable.value)):
            return None
        solved = np.asarray(variable.value, dtype=float) / s
        if problem.radius_per_feature:
            solved[np.isinf(problem.radius)] = 0.0
        return solved, problem.weights(problem.best_intercept(solved), solved)

    intercept = alpha + problem.shift - cp.Constant(problem.target) @ delta if scaled else alpha
    return Program(program, recover, delta=delta, intercept=intercept)


@cvxpy_lock()
def logistic_dual_program(problem: LogisticProblem, *, scaled: bool = False) -> Program:
    """Build the dual of [LOGIT]: maximise (1/m) Σ_i [H(u_i) + (u_i − t_i) o_i] over probabilities u that sum to n_p.

    H is the binary entropy, and the residual r = (1/m) Σ_i (t_i − u_i) f_i is within the radius. cvxpy's multiplier of
    ``r == F.T @ (t − u) / m`` is −δ; with R = 0 the equation is ``F.T @ (t − u) / m == 0``, with the multiplier +δ.

    Parameters
    ----------
    problem : LogisticProblem
        The problem.
    scaled : bool, default False
        Whether to centre the features and scale their columns, which saves iterations of a cone solver.

    Returns
    -------
    Program
        ``recover`` returns δ and the weights u/n_p; ``mu`` is u/n_p and ``r`` the residual.

    Examples
    --------
    >>> problem = LogisticProblem(np.eye(2), -np.eye(3)[:, :2], radius=0.1)
    >>> print(logistic_dual_program(problem))
    maximize 1/m * (sum(entr(u) + entr(1.0 - u)) + o @ (u - t))
    subject to sum(u) == n_p
               r == 1/m * F.T @ (t - u)
               norm2(r) <= R
    """
    problem, scaled = as_logistic_problem(problem), as_flag(scaled, "scaled")
    F, (n_p, _), offset = problem.features, problem.sizes, problem.offset
    s = column_scale(F, scaled)
    if scaled:
        F, offset = (F - problem.target) / s, problem.link.offset
    u = cp.Variable(len(F), name="u")
    t = cp.Constant(problem.link.positive.astype(float), name="t")
    unit = cp.Constant(1.0 / problem.m, name="1/m")
    entropy = cp.sum(cp.entr(u) + cp.entr(1.0 - u))
    objective = unit * (entropy + cp.Constant(offset, name="o") @ (u - t))
    moment = unit * (cp.Constant(F, name="F").T @ (t - u))
    if problem.radius_per_feature or problem.radius > 0.0:
        residual = cp.Variable(problem.k, name="r")
        equation, sign = residual == moment, -1.0
        ball = _ball(problem, residual if not scaled else cp.multiply(s, residual))
    else:
        residual, equation, sign, ball = moment, moment == 0, 1.0, []
    program = cp.Problem(cp.Maximize(objective), [cp.sum(u) == cp.Constant(float(n_p), name="n_p"), equation, *ball])

    def recover() -> tuple[Array, Array] | None:
        if u.value is None or equation.dual_value is None or not np.all(np.isfinite(u.value)):
            return None
        delta = sign * np.asarray(equation.dual_value, dtype=float) / s
        if problem.radius_per_feature:
            delta[np.isinf(problem.radius)] = 0.0
        return delta, np.asarray(u.value, dtype=float) / n_p

    return Program(program, recover, mu=u / n_p, r=cp.multiply(s, residual) if scaled else residual)


def _ball(problem: LogisticProblem, residual: Any) -> list[Any]:
    """‖r‖ ≤ R, or |r_i| ≤ R_i of the features that are not left out."""
    if not problem.radius_per_feature:
        return [cp.norm(residual, problem.norm) <= cp.Constant(problem.radius, name="R")]
    some = np.flatnonzero(np.isfinite(problem.radius))
    return [cp.abs(residual[some]) <= cp.Constant(problem.radius[some], name="R")]
