"""Verdict and metrics of an answer, computed from its (δ, μ) in the original variables.

To add a metric, add an entry to ``METRICS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from pre_convex._internal.entropy import negative_kl
from pre_convex.certificate.certificate import Certificate
from pre_convex.data.passes import tilt
from pre_convex.penalties.norms import get_norm
from pre_convex.solvers import certify

from .cases import Case, Truth
from .contenders import Answer

__all__ = ["METRICS", "Judged", "Metric", "Verdict", "judge"]

#: largest KL(μ ‖ μ(δ)) of a solved row, in tolerances
MAX_DIVERGENCE = 100.0
#: claims that there is an answer, and that there is none, for [P] or [D]
CLAIMS_OPTIMAL = ("optimal", "boundary")
CLAIMS_INFEASIBLE = ("infeasible", "unbounded", "infeasible_or_unbounded")


class Verdict(StrEnum):
    """Verdict on one solve. Only the first is a success; the next two are false claims."""

    SOLVED = "solved"  #: proven at the tolerance, or correctly called infeasible
    FALSE_OPTIMAL = "false optimal"  #: called optimal, but not proven at the tolerance
    FALSE_INFEASIBLE = "false infeasible"  #: called infeasible, but an answer exists
    INACCURATE = "inaccurate"  #: not proven at the tolerance, and no claim made
    FAILED = "failed"  #: no answer
    TIME = "time limit"  #: over the time limit
    MEMORY = "memory limit"  #: over the memory limit
    CRASH = "crash"  #: the process died


@dataclass(frozen=True, eq=False)
class Judged:
    """What metrics are computed from.

    Attributes
    ----------
    case : Case
        The case.
    answer : Answer
        The contender's answer.
    tol : float
        Requested tolerance.
    certificate : Certificate or None
        Certificate of (δ, μ); ``None`` if the answer has no finite δ.
    gap : float
        Bound on the distance of ℓ_R(δ) from the optimum, from weights near μ or from the known answer.
    """

    case: Case
    answer: Answer
    tol: float
    certificate: Certificate | None
    gap: float


@dataclass(frozen=True)
class Metric:
    """A number stored in every row.

    Attributes
    ----------
    description : str
        What it is, for the report.
    compute : callable or None
        A function of :class:`Judged`; nan if undefined. ``None`` if the runner measures it.
    unit : str, default ""
        Unit, for the report.
    """

    description: str
    compute: Callable[[Judged], float] | None
    unit: str = ""


def _error(judged: Judged) -> float:
    """Standard deviation of ⟨δ − δ*, F⟩ under the optimal weights."""
    case, delta = judged.case, judged.answer.delta
    if case.delta is None or delta is None:
        return np.nan
    H = case.problem.hessian(case.delta)
    error = np.asarray(delta) - case.delta
    return float(np.sqrt(max(float(error @ H @ error), 0.0)))


def _stationarity(judged: Judged) -> float:
    """Violation of the optimality condition of [P] at δ, in units of the features' spread.

    At the optimum r = b − F'μ(δ) has ‖r‖ ≤ R and ⟨r, δ⟩ = R‖δ‖_*: it equals the projection of r + tδ onto the ball, for
    any t > 0. Here t is the mean curvature, and the violation is the distance between the two.
    """
    if judged.certificate is None:
        return np.nan
    problem, delta = judged.case.problem, np.asarray(judged.answer.delta, dtype=float)
    r = -tilt(problem.rows, delta, covariance=False).mean
    if problem.radius:
        t = _unit(judged.certificate) ** 2 / problem.k
        r = r - get_norm(problem.norm).project(r + t * delta, problem.radius)
    return float(np.linalg.norm(r)) / _unit(judged.certificate)


def _divergence(judged: Judged) -> float:
    """KL(μ ‖ μ(δ)), which is ℓ(δ) minus the value of [D] at μ if μ has the moment b; zero if μ was left out."""
    problem, mu = judged.case.problem, judged.answer.mu
    if judged.certificate is None:
        return np.nan
    if mu is None or not np.all(np.isfinite(mu)):
        return 0.0
    clean = np.maximum(mu, 0.0)
    clean = clean / (float(clean.sum()) or 1.0)
    return max(0.0, -negative_kl(clean, problem.log_mu(np.asarray(judged.answer.delta, dtype=float))))


def _feasibility(judged: Judged) -> float:
    """Violation of the constraints of [D] by μ, in units of the features' spread."""
    certificate = judged.certificate
    if certificate is None:
        return np.nan
    return max(certificate.moment_residual / _unit(certificate), certificate.simplex_residual)


def _unit(certificate: Certificate) -> float:
    """Spread of the features, the unit of residuals."""
    return certificate.spread if 0.0 < certificate.spread < np.inf else 1.0


METRICS: dict[str, Metric] = {
    "gap": Metric(
        "proven bound on the distance from the optimal value, relative to 1 + |value|",
        lambda j: j.gap / (1.0 + abs(j.case.value)),
    ),
    "primal_residual": Metric(
        "violation of the optimality condition of [P] at δ, in standard deviations of the features", _stationarity
    ),
    "dual_residual": Metric("violation of the constraints of [D] by μ, in the same unit", _feasibility),
    "weights": Metric("divergence KL(μ ‖ μ(δ)) of the returned weights from those of δ", _divergence),
    "error": Metric("standard deviation of the error of the log ratio under the optimal weights", _error),
    "iterations": Metric("iterations of the solver, as it reports them", lambda j: float(j.answer.iterations)),
    "setup": Metric("time to build the program, as reported", lambda j: j.answer.setup_time, "s"),
    "compile": Metric("time to translate it for the solver, as reported", lambda j: j.answer.compile_time, "s"),
    "solve": Metric("time of the solver, including data transfer, as reported", lambda j: j.answer.solve_time, "s"),
    "time": Metric("time of the whole call, by the benchmark's clock", None, "s"),
    "memory": Metric("peak memory beyond the loaded case", None, "MB"),
}


def judge(case: Case, answer: Answer, tol: float) -> tuple[Verdict, dict[str, float]]:
    """Judge an answer by certificate and known truth.

    Parameters
    ----------
    case : Case
        The case.
    answer : Answer
        The contender's answer.
    tol : float
        Requested tolerance.

    Returns
    -------
    verdict : Verdict
        The judgement.
    numbers : dict of str to float
        All metrics except ``"time"`` and ``"memory"``, which the runner measures.

    Examples
    --------
    >>> from pre_convex_lab.solvers.sets import load_set
    >>> case = load_set("smoke").cases[0]
    >>> judge(case, Answer("optimal", case.delta), tol=1e-6)[0].value
    'solved'
    >>> judge(case, Answer("optimal", 0.0 * case.delta), tol=1e-6)[0].value
    'false optimal'
    """
    certificate, gap = None, np.inf
    if answer.delta is not None and np.all(np.isfinite(answer.delta)):
        mu = answer.mu if answer.mu is not None and np.all(np.isfinite(answer.mu)) else None
        certificate = certify(case.problem, np.asarray(answer.delta, dtype=float), mu)
        gap = certificate.gap
        if np.isfinite(case.value):  # the known value gives a better bound if no feasible weights are near μ(δ)
            gap = min(gap, max(certificate.primal_value - case.value, 0.0) + certificate.noise)
            certificate = replace(certificate, gap=gap, dual_value=certificate.primal_value - gap)
    judged = Judged(case, answer, tol, certificate, gap)
    numbers = {name: metric.compute(judged) for name, metric in METRICS.items() if metric.compute is not None}
    return _verdict(judged, numbers["weights"]), numbers


def _verdict(judged: Judged, divergence: float) -> Verdict:
    """Compare the claim with the certificate and the known truth.

    Weights with the right moments may still be far from μ(δ), so their divergence is bounded too.
    """
    truth, claim = judged.case.truth, judged.answer.claim
    claims_infeasible = claim in CLAIMS_INFEASIBLE
    if truth is Truth.INFEASIBLE:
        solved = claims_infeasible
    elif claims_infeasible or (claim == "boundary" and truth is Truth.OPTIMAL):
        return Verdict.FALSE_INFEASIBLE
    else:
        solved = judged.certificate is not None and judged.certificate.proves(judged.tol)
        solved = solved and divergence <= MAX_DIVERGENCE * judged.tol * (1.0 + abs(judged.case.value))
    if solved:
        return Verdict.SOLVED
    if claim in CLAIMS_OPTIMAL:
        return Verdict.FALSE_OPTIMAL
    return Verdict.FAILED if judged.certificate is None else Verdict.INACCURATE
