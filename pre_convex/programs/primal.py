"""The primal [P] in cvxpy: a log-sum-exp program in δ, or a separable program in (c, δ)."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import cvxpy as cp
import numpy as np

from .._internal.threads import cvxpy_lock
from .._internal.typing import Array, Index
from .._internal.validation import as_flag
from ..logistic import LogisticProblem
from ..penalties.user_terms import radius_term, user_terms
from ..problem import RatioProblem, as_problem
from .logistic import logistic_primal_program
from .program import Program, column_scale

__all__ = ["primal_program"]


@cvxpy_lock()
def primal_program(
    problem: RatioProblem | LogisticProblem, *, penalty: Any = None, constraints: Any = None, scaled: bool = False
) -> Program:
    """Build [P]: minimise −⟨b,δ⟩ + log Σ_j exp(a_j + ⟨δ,F_j⟩) + R‖δ‖_* over δ.

    For another divergence, or with bounds, minimise −c − ⟨b,δ⟩ + Σ_j π_j ψ(c + ⟨δ,F_j⟩) + R‖δ‖_* over (c, δ), where ψ
    is the conjugate φ* under the bounds: an infimal convolution, written with non-negative variables u and v as
    ψ(s) = min φ*(s − u + v) + hi u − lo v.

    Parameters
    ----------
    problem : RatioProblem or LogisticProblem
        The problem, in memory. That of a logistic regression is [LOGIT].
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
    >>> problem = RatioProblem(target=[0.2, 0.1], features_q=np.eye(2), bounds=(0, 5))
    >>> print(primal_program(problem))
    minimize -c - b @ delta + pi @ (exp(c + F @ delta - u) - 1.0) + hi * pi @ u
    """
    if isinstance(problem, LogisticProblem):
        return logistic_primal_program(problem, penalty=penalty, constraints=constraints, scaled=scaled)
    problem, scaled = as_problem(problem), as_flag(scaled, "scaled")
    rows = problem.positive_rows
    F = np.asarray(problem.features_q[rows], dtype=float)
    s = column_scale(F, scaled)
    name = "delta" if not scaled else "s * delta"
    variable = cp.Variable(problem.k, name=name)
    if scaled:
        delta, linear = cp.multiply(1.0 / s, variable), None
        scores = cp.Constant((F - problem.target) / s, name="G") @ variable
    else:
        delta, linear = variable, -cp.Constant(problem.target, name="b") @ variable
        scores = cp.Constant(F, name="F") @ delta
    intercept: Any = None
    fixed: list[Any] = []
    if problem.exponential:
        terms = [linear, cp.log_sum_exp(cp.Constant(problem.log_base[rows], name="a") + scores)]
    else:
        intercept = cp.Variable(name="c")
        conjugate, fixed = _conjugate(problem, rows, intercept + scores)
        terms = [-intercept, linear, *conjugate]
    term, out = radius_term(problem.radius, problem.moment_norm.dual_order, delta)
    g, limits = user_terms(delta, penalty, constraints)
    terms = [*terms, term, g if penalty is not None else None]
    objective = reduce(add, [term for term in terms if term is not None])
    program = cp.Problem(cp.Minimize(objective), [*fixed, *out, *limits])

    def recover() -> tuple[Array, Array] | None:
        if variable.value is None or not np.all(np.isfinite(variable.value)):
            return None
        solved = np.asarray(variable.value, dtype=float) / s
        if problem.radius_per_feature:
            solved[np.isinf(problem.radius)] = 0.0
        return solved, np.exp(problem.log_mu(solved))

    if intercept is not None and scaled:  # c for rows that are not relative to the target
        intercept = intercept - cp.Constant(problem.target) @ delta
    return Program(program, recover, delta=delta, intercept=intercept)


def _conjugate(problem: RatioProblem, rows: Index, scores: Any) -> tuple[list[Any], list[Any]]:
    """Terms whose sum is Σ_j π_j ψ(s_j) at the minimum over u and v, and constraints on these."""
    link, pi = problem.link.take(rows), np.exp(problem.log_base[rows])
    prices, limits = [], []
    finite = np.broadcast_to(np.isfinite(link.upper), pi.shape)
    if finite.any():
        u = cp.Variable(pi.size, name="u", nonneg=True)
        scores = scores - u
        prices.append(cp.Constant(pi * np.where(finite, link.upper, 0.0), name="hi * pi") @ u)
        if not finite.all():
            limits.append(u[np.flatnonzero(~finite)] == 0)
    if np.any(np.asarray(link.lower) > 0.0):
        v = cp.Variable(pi.size, name="v", nonneg=True)
        scores = scores + v
        prices.append(-cp.Constant(pi * link.lower, name="lo * pi") @ v)
    return [cp.Constant(pi, name="pi") @ link.divergence.primal_atom(scores), *prices], limits
