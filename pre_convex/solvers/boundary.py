"""Targets on the boundary of the hull: [D] is attained on a face, [P] only in the limit of an infinite δ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._internal.typing import Array
from ..certificate.certificate import Certificate, value_round_off
from ..data.passes import tilt
from ..feasibility.face import restrict, smallest_face, spanning_rows
from ..feasibility.hull import Hull
from ..penalties import make_penalty
from ..problem import RatioProblem
from ..solution import Solution, Stage, Status
from .settings import Clock, Settings
from .stages import newton

__all__ = ["solve_on_boundary"]

#: largest tolerance on a face: the weights must match the target closely, since δ itself diverges
FACE_TOL = 1e-14


def solve_on_boundary(problem: RatioProblem, hull: Hull, solution: Solution, settings: Settings) -> Solution:
    """Solve on the face of the hull that contains the target, then move along its normal.

    All optimal weights are on the rows of the smallest face that contains b. On those rows b is interior and Newton
    converges; the value at δ = δ_face + t v, with v the normal of the face, tends to the optimum as t grows.
    """
    if not problem.rows.in_memory:  # the face may be too large for memory, so the solution is kept
        return replace(solution, status=Status.BOUNDARY)
    clock, tol = Clock(), settings.tol
    problem = problem.centred_at_target()  # for large δ moments are differences of large numbers
    support, weights = spanning_rows(problem, hull)
    target = weights @ problem.features_q[support]  # b may be off the face by round-off; this is on it
    # no face: the nearest weights, and the δ that Newton reached
    delta, mu, reason = solution.delta, _nearest_weights(problem, hull), "no face found"
    for least in (1e-6, 1e-9):
        found = smallest_face(problem, support, least)
        if found is None:
            continue
        index, v = found
        face = restrict(problem, index, target)
        inside = newton(face, make_penalty(face), replace(settings, tol=min(0.01 * tol, FACE_TOL)))
        if not inside.certificate.proves(tol):
            continue
        mu = np.zeros(problem.n_q)
        mu[index] = np.exp(face.log_mu(inside.delta))
        lower, miss = problem.dual_value(mu), np.abs(problem.residual(mu))
        gap = 0.1 * (tol * (1.0 + abs(lower)))
        delta = inside.delta + _step_length(problem, inside.delta, v, lower, gap, miss) * v
        reason = f"face of {index.size:,} rows"
        break
    certificate = _boundary_certificate(problem, delta, mu)
    stage = Stage("boundary", problem.n_q, 0, clock.seconds, certificate.gap, reason)
    return replace(
        solution,
        delta=delta,
        weights=mu,
        status=Status.BOUNDARY,
        certificate=certificate,
        trace=(*solution.trace, stage),
    )


def _nearest_weights(problem: RatioProblem, hull: Hull) -> Array:
    """Weights over all rows of the nearest point of the hull."""
    mu = np.zeros(problem.n_q)
    mu[hull.index] = hull.weights
    return mu


def _step_length(problem: RatioProblem, delta: Array, v: Array, lower: float, gap: float, miss: Array) -> float:
    """Length of the step along v after which the value is within ``gap`` of its limit and doubling gains little.

    For large δ the value may change only by round-off, or because the target is off the face in its last digit; bounds
    on both are added to the value.
    """
    t, best = 1.0, problem.value(delta)
    furthest, lowest = 0.0, best
    while t < 1e12:
        point = delta + t * v
        value = problem.value(point) + value_round_off(0.0) + float(miss @ np.abs(point))
        if value < lowest:
            furthest, lowest = t, value
        if best - value <= 0.01 * gap and value - lower <= gap:
            return t
        best, t = value, 2.0 * t
    return furthest


def _boundary_certificate(problem: RatioProblem, delta: Array, mu: Array) -> Certificate:
    """Certificate of weights on a face and a δ far along its normal, which need not belong together."""
    r, summary = problem.residual(mu), tilt(problem.rows, delta, covariance=False)
    rows = np.flatnonzero(mu)
    reached = mu[rows] @ np.abs(problem.rows.take(rows).features)
    noise = value_round_off(summary.log_z, float(reached @ np.abs(delta)))
    depth = float(mu[rows] @ np.abs(problem.log_base[rows]))
    lower = problem.dual_value(mu)
    # weights that miss the target weaken the lower bound by ⟨miss, |δ|⟩
    lower -= float(np.abs(r) @ np.abs(delta)) + value_round_off(lower, depth)
    lowest, highest = problem.ranges
    if np.any(np.abs(r) > 1e-9 * (highest - lowest) + 1e-13 * np.abs(problem.target)):
        lower = -np.inf  # they miss the target by more than round-off, so their value is no bound
    return Certificate(
        primal_value=summary.log_z,
        dual_value=lower,
        gap=summary.log_z - lower + noise,
        moment_residual=problem.moment_norm(r),
        simplex_residual=abs(float(mu.sum()) - 1.0),
        slackness=-float(r @ delta),
        e_qn=float(np.linalg.norm(r + summary.mean)),
        noise=noise,
    )
