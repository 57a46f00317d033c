"""Targets on the boundary of the hull: [D] is attained on a face, [P] only in the limit of an infinite δ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._internal.entropy import log_sum_exp, safe_log
from .._internal.linear_algebra import PsdSolver
from .._internal.typing import Array, Index
from ..certificate.certificate import Certificate, arithmetic_of
from ..certificate.lift import RoundOff
from ..data.passes import logits, tilt
from ..data.rows import Rows
from ..feasibility.face import restrict, smallest_face, spanning_rows
from ..feasibility.hull import Hull
from ..penalties import make_penalty
from ..problem import RatioProblem
from ..solution import Solution, Stage, Status
from .settings import Clock, Settings
from .stages import newton

__all__ = ["solve_on_boundary"]

#: largest tolerance on a face: the weights must match the target closely, since δ itself diverges
FACE_TOL = 1e-10
#: sines of the angles by which rows must lie below a face: the second for faces that round-off hardly tells from others
MIN_SINES = (1e-6, 1e-9)
#: rounds of [LIFT], each of which removes the round-off that the last one left
LIFTS = 3
#: limit on the doublings of a step along the normal of a face
MAX_DOUBLINGS = 40


def solve_on_boundary(problem: RatioProblem, hull: Hull, solution: Solution, settings: Settings) -> Solution:
    """Solve on the face of the hull that contains the target, then move along its normal.

    All optimal weights are on the rows of the smallest face that contains b. On those rows b is interior and Newton
    converges; the value at δ = δ_face + t v, with v the normal of the face, tends to the optimum as t grows.
    """
    if not problem.rows.in_memory:  # the face may be too large for memory, so the solution is kept
        return replace(solution, status=Status.BOUNDARY)
    clock, tol = Clock(), settings.tol
    problem = problem.centred_at_target()  # for large δ moments are differences of large numbers
    # without a face: the nearest weights, and the δ that Newton reached
    delta, mu, reason = solution.delta, _on_rows(problem, hull.index, hull.weights), "no face found"
    certificate, index = _boundary_certificate(problem, delta, mu, -np.inf), spanning_rows(problem, hull)
    for least in MIN_SINES:
        found = smallest_face(problem, index, least)
        if found is None:
            continue
        face = restrict(problem, found[0])
        inside = newton(face, make_penalty(face), replace(settings, tol=min(0.01 * tol, FACE_TOL)))
        weights = _on_rows(problem, found[0], _lifted(face.rows, np.exp(face.log_mu(inside.delta))))
        far = _far_along(problem, inside.delta, found[1], weights, tol)
        # the base weights of the face sum to one on it
        lower = inside.certificate.dual_value + log_sum_exp(problem.log_base[found[0]])
        trial = _boundary_certificate(problem, far, weights, lower)
        if trial.proves(tol) or trial.gap < certificate.gap:
            delta, mu, certificate, reason = far, weights, trial, f"face of {found[0].size:,} rows"
        if trial.proves(tol):
            break
    stage = Stage("boundary", problem.n_q, 0, clock.seconds, certificate.gap, reason)
    return replace(
        solution,
        delta=delta,
        weights=mu,
        status=Status.BOUNDARY,
        certificate=certificate,
        trace=(*solution.trace, stage),
    )


def _on_rows(problem: RatioProblem, index: Index, weights: Array) -> Array:
    """Weights of all rows, from those of some."""
    mu = np.zeros(problem.n_q)
    mu[index] = weights
    return mu


def _lifted(rows: Rows, mu: Array) -> Array:
    """Weights that hit the target to its last digits, by [LIFT] of weights that nearly do; none is negative."""
    for _ in range(LIFTS):
        mean, covariance = _moments(rows, mu)
        d = PsdSolver(covariance)(-mean)
        mu = mu * np.maximum(1.0 + (logits(rows.with_log_base(0.0), d) - mean @ d), 0.0)
        mu /= mu.sum()
    return mu


def _moments(rows: Rows, mu: Array) -> tuple[Array, Array]:
    """Mean and covariance of the rows under given weights."""
    summary = tilt(rows.with_log_base(safe_log(mu)), np.zeros(rows.shape[1]))
    assert summary.covariance is not None  # it was asked for
    return summary.mean, summary.covariance


def _far_along(problem: RatioProblem, delta: Array, v: Array, mu: Array, tol: float) -> Array:
    """The δ + t v after which the value is within the tolerance of its limit and doubling t gains little.

    For large δ the value may change only because the target is off the face in its last digit, which is priced.
    """
    lower, miss = problem.dual_value(mu), np.abs(problem.residual(mu))
    gap = 0.1 * tol * (1.0 + abs(lower))
    best, lowest, last = delta, np.inf, np.inf
    for t in 2.0 ** np.arange(MAX_DOUBLINGS):
        point = delta + t * v
        value = problem.value(point) + float(miss @ np.abs(point))
        if value < lowest:
            best, lowest = point, value
        if last - value <= 0.01 * gap and value - lower <= gap:
            break
        last = value
    return best


def _boundary_certificate(problem: RatioProblem, delta: Array, mu: Array, lower: float) -> Certificate:
    """Certificate of a δ far along the normal of a face; the proof on the face is the lower bound."""
    r, summary = problem.residual(mu), tilt(problem.rows, delta, covariance=False)
    noise = RoundOff(delta, summary, problem.rows.reach, arithmetic_of(problem)).value
    return Certificate(
        primal_value=summary.log_z,
        dual_value=lower - noise,
        gap=max(summary.log_z - lower, 0.0) + noise,
        moment_residual=problem.moment_norm(r),
        simplex_residual=abs(float(mu.sum()) - 1.0),
        slackness=-float(r @ delta),
        e_qn=float(np.linalg.norm(r + summary.mean)),
        noise=noise,
    )
