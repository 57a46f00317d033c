"""What is measured, and the verdict; all of it computed here from (δ, μ), in original variables.

A new metric is one entry in ``METRICS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from ..entropy import negative_kl
from ..norms import get_norm
from ..passes import tilt
from ..solution import Certificate
from ..solvers import certify
from .case import Case, Truth
from .contenders import Answer

__all__ = ["METRICS", "Judged", "Metric", "Verdict", "judge"]

#: tolerances by which weights may differ, in divergence, from those that belong to δ
STRANGE = 100.0
#: claims that there is no answer, of [P] or of [D]
SAYS_NONE = ("infeasible", "unbounded", "infeasible_or_unbounded")


class Verdict(StrEnum):
    """What a run was worth. Only the first is a success; the next two are claims that are not true."""

    SOLVED = "solved"
    FALSE_OPTIMAL = "false optimal"
    FALSE_INFEASIBLE = "false infeasible"
    INACCURATE = "inaccurate"
    FAILED = "failed"
    TIME = "time limit"
    MEMORY = "memory limit"
    CRASH = "crash"


@dataclass(frozen=True, eq=False)
class Judged:
    """An answer, the case it answers, and the certificate of its numbers; ``None`` where it has none."""

    case: Case
    answer: Answer
    tol: float
    certificate: Certificate | None
    #: distance of ℓ_R(δ) from the optimum, proven by weights near μ or by the known answer
    gap: float


@dataclass(frozen=True)
class Metric:
    """A number of every row.

    Attributes
    ----------
    words : str
        What it is, for the report.
    of : callable
        Its value, nan where there is none; ``None`` for those the runner measures itself.
    unit : str
        Of the tables.
    """

    words: str
    of: Callable[[Judged], float] | None
    unit: str = ""


def _error(judged: Judged) -> float:
    """Standard deviation of ⟨δ − δ*, F⟩ under the optimal weights."""
    case, delta = judged.case, judged.answer.delta
    if case.delta is None or delta is None:
        return np.nan
    H = case.problem.hessian(case.delta)
    off = np.asarray(delta) - case.delta
    return float(np.sqrt(max(float(off @ H @ off), 0.0)))


def _stationarity(judged: Judged) -> float:
    """How far r = b − F'μ(δ) is from being a residual that δ calls for, in units of the features' spread.

    Such a residual has ‖r‖ ≤ R and ⟨r, δ⟩ = R‖δ‖_*, and is then the point of the ball that is next to r + tδ for any
    t > 0; here t is the mean curvature, in whose units δ is measured.
    """
    if judged.certificate is None:
        return np.nan
    problem, delta = judged.case.problem, np.asarray(judged.answer.delta, dtype=float)
    r = problem.residual_origin - tilt(problem.rows, delta, covariance=False).mean
    if problem.radius:
        t = _unit(judged.certificate) ** 2 / problem.k
        r = r - get_norm(problem.norm).project(r + t * delta, problem.radius)
    return float(np.linalg.norm(r)) / _unit(judged.certificate)


def _divergence(judged: Judged) -> float:
    """KL(μ ‖ μ(δ)), which is ℓ(δ) minus the value of [D] at μ where μ has the moment b; zero where μ was left out."""
    problem, mu = judged.case.problem, judged.answer.mu
    if judged.certificate is None:
        return np.nan
    if mu is None or not np.all(np.isfinite(mu)):
        return 0.0
    clean = np.maximum(mu, 0.0)
    clean = clean / (float(clean.sum()) or 1.0)
    return max(0.0, -negative_kl(clean, problem.log_mu(np.asarray(judged.answer.delta, dtype=float))))


def _feasibility(judged: Judged) -> float:
    """By how much μ violates the constraints of [D]."""
    proof = judged.certificate
    return np.nan if proof is None else max(proof.moment_residual / _unit(proof), proof.simplex_residual)


def _unit(proof: Certificate) -> float:
    """Spread of the features, the unit of residuals."""
    return proof.spread if 0.0 < proof.spread < np.inf else 1.0


METRICS: dict[str, Metric] = {
    "gap": Metric(
        "proven distance of the value from the optimum, relative to 1 + |value|",
        lambda j: j.gap / (1.0 + abs(j.case.value)),
    ),
    "primal_residual": Metric("stationarity of δ in [P], in standard deviations of the features", _stationarity),
    "dual_residual": Metric("violation of the constraints of [D] by μ, in the same unit", _feasibility),
    "weights": Metric("divergence KL(μ ‖ μ(δ)) of the weights from those that belong to δ", _divergence),
    "error": Metric("standard deviation of the error of the log ratio under the optimal weights", _error),
    "iterations": Metric("iterations of the solver", lambda j: float(j.answer.iterations)),
    "setup": Metric("time to build the program", lambda j: j.answer.setup_time, "s"),
    "compile": Metric("time to translate it for the solver", lambda j: j.answer.compile_time, "s"),
    "solve": Metric("time of the solver, with the hand-over to it and back", lambda j: j.answer.solve_time, "s"),
    "time": Metric("time of the whole call by the clock of the benchmark; the three before are told", None, "s"),
    "memory": Metric("memory at its peak, beyond that of the loaded case", None, "MB"),
}


def judge(case: Case, answer: Answer, tol: float) -> tuple[Verdict, dict[str, float]]:
    """Verdict on an answer, and its metrics; those that the runner measures are left out."""
    proof, gap = None, np.inf
    if answer.delta is not None and np.all(np.isfinite(answer.delta)):
        mu = answer.mu if answer.mu is not None and np.all(np.isfinite(answer.mu)) else None
        proof = certify(case.problem, np.asarray(answer.delta, dtype=float), mu)
        gap = proof.gap
        if np.isfinite(case.value):  # weights with the moment b may all be far from μ(δ); the known answer has some
            gap = min(gap, max(proof.primal_value - case.value, 0.0) + proof.noise)
            proof = replace(proof, gap=gap, dual_value=proof.primal_value - gap)
    judged = Judged(case, answer, tol, proof, gap)
    numbers = {name: metric.of(judged) for name, metric in METRICS.items() if metric.of is not None}
    return _verdict(judged, numbers["weights"]), numbers


def _verdict(judged: Judged, divergence: float) -> Verdict:
    """What the certificate and the known truth make of the claim.

    Weights with the right moments need not be those of δ, and the value of [D] may be anything at them.
    """
    truth, claim = judged.case.truth, judged.answer.claim
    says_none = claim in SAYS_NONE
    if truth is Truth.INFEASIBLE:
        solved = says_none
    elif says_none or (claim == "boundary" and truth is Truth.OPTIMAL):
        return Verdict.FALSE_INFEASIBLE
    else:
        solved = judged.certificate is not None and judged.certificate.proves(judged.tol)
        solved = solved and divergence <= STRANGE * judged.tol * (1.0 + abs(judged.case.value))
    if solved:
        return Verdict.SOLVED
    if claim in ("optimal", "boundary"):
        return Verdict.FALSE_OPTIMAL
    return Verdict.FAILED if judged.certificate is None else Verdict.INACCURATE
