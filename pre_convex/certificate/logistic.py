"""Duality gap of a logistic regression: [FY] for the pooled rows, in the units of [LOGIT].

For probabilities v that are feasible for the dual, with r' = (1/m) Σ_i (t_i − v_i) f_i, the gap is

    (1/m) Σ_i KL(Bernoulli(v_i) ‖ Bernoulli(u_i))  +  [ g(δ) + g*(r') − ⟨r', δ⟩ ].

The v_i are the lift u_i + ω_i ⟨[1, f_i − b], d⟩ with ω_i ≤ u_i (1 − u_i). If |⟨[1, f_i − b], d⟩| ≤ x < 1 on all rows,
they stay strictly between 0 and 1, and the first sum is at most 1/(1 − x) times half the quadratic form of [FY]. With
R = 0 such v also prove that a minimiser exists: if (α, δ) separates, Σ_i (t_i − v_i)(α + ⟨δ, f_i⟩) is positive for
every v strictly between 0 and 1, but for a feasible v it is zero. So separable data have no certificate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import MAX_PARAMETER, as_scalar, as_vector
from ..data.linked import linked_tilt
from ..data.logistic import LogisticRows
from ..data.passes import Summary
from ..logistic import LogisticProblem, as_logistic_problem
from ..penalties import Penalty, make_penalty, with_intercept
from .certificate import Certificate, Proof
from .family import certificate_at, linked_arithmetic, prove_linked

__all__ = ["certify_logistic", "logistic_certificate", "make_logistic_penalty", "proven_certificate"]


def make_logistic_penalty(problem: LogisticProblem, penalty: Any = None, constraints: Any = None) -> Penalty:
    """Penalty of a problem in the solver's units, with the user's own terms if there are any.

    Parameters
    ----------
    problem : LogisticProblem
        Supplies radius and norm.
    penalty, constraints : functions of a cvxpy expression, optional
        The user's own terms, in the units of the objective.
    """
    scaled = penalty
    if callable(penalty):

        def scaled(delta: Any) -> Any:
            g = penalty(delta)
            return g if isinstance(g, str | bytes | bool) or g is None else g / problem.unit

    return make_penalty(problem.moments, scaled, constraints)


def proven_certificate(
    problem: LogisticProblem, theta: Array, summary: Summary, penalty: Penalty, proof: Proof
) -> Certificate:
    """Certificate of θ = (c, δ) in the units of [LOGIT], from what a lift proves in those of the solver."""
    certificate = certificate_at(problem.moments, theta, summary, penalty, proof)
    names = ("primal_value", "dual_value", "gap", "moment_residual", "slackness", "noise", "last_digit")
    return replace(certificate, **{name: problem.unit * getattr(certificate, name) for name in names})


def logistic_certificate(problem: LogisticProblem, theta: Array, penalty: Penalty) -> Certificate:
    """Certificate of θ = (c, δ), by one lift on all rows.

    Parameters
    ----------
    problem : LogisticProblem
        The problem.
    theta : ndarray of shape (k + 1,)
        (c, δ) for rows relative to the target.
    penalty : Penalty
        From :func:`make_logistic_penalty`.
    """
    terms, arithmetic = with_intercept(penalty, problem.k), linked_arithmetic(problem.moments)
    summary = linked_tilt(problem.rows, problem.link, theta, covariance=False)  # type: ignore[arg-type]
    steps = prove_linked(theta, summary, terms, arithmetic, problem.link.divergence)
    proof = LogisticRows(problem.rows, problem.link).run(steps)
    return proven_certificate(problem, theta, summary, penalty, proof)


@single_threaded_blas()
def certify_logistic(
    problem: LogisticProblem,
    delta: Any,
    intercept: float | None = None,
    *,
    penalty: Any = None,
    constraints: Any = None,
) -> Certificate:
    """Certificate of any (α, δ) of a logistic regression, however it was computed.

    Parameters
    ----------
    problem : LogisticProblem
        The problem that (α, δ) is an answer to.
    delta : array of shape (k,)
        Ratio parameter δ.
    intercept : float, optional
        α; by default the one that is optimal for δ.
    penalty, constraints : functions of a cvxpy expression, optional
        The user's terms that the problem was solved with.

    Returns
    -------
    Certificate
        Its gap bounds by how much (α, δ) may be from optimal, round-off included.

    Examples
    --------
    >>> problem = LogisticProblem([[1.0], [2.0], [4.0]], [[0.0], [3.0]])
    >>> certify_logistic(problem, [0.0]).gap > 0.1
    True
    """
    problem = as_logistic_problem(problem)
    delta = as_vector(delta, "delta", problem.k, limit=MAX_PARAMETER)
    alpha = problem.best_intercept(delta) if intercept is None else as_scalar(intercept, "intercept")
    terms = make_logistic_penalty(problem, penalty, constraints)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # after overflow the gap is infinite
        return logistic_certificate(problem, problem.theta(alpha, delta), terms)
