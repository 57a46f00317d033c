"""Targets on the boundary of the hull: [D] is attained on a face, [P] only in the limit of an infinite δ."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from .._internal.typing import Array
from ..certificate.certificate import Certificate, value_round_off
from ..certificate.lift import rebalance
from ..certificate.mixture import mixture_bound
from ..data.passes import tilt
from ..errors import SolveError
from ..feasibility.face import restrict, row_sizes, smallest_face, spanning_rows
from ..feasibility.hull import Hull, Position, minimal_radius
from ..penalties import make_penalty
from ..problem import RatioProblem
from ..solution import Solution, Status
from .newton import newton

__all__ = ["solve_on_boundary", "with_mixture_bound"]

#: largest tolerance on a face: the weights must match the target closely, since δ itself diverges
FACE_TOL = 1e-10


def solve_on_boundary(problem: RatioProblem, hull: Hull, solution: Solution, tol: float) -> Solution:
    """Solve on the face of the hull that contains the target, then move along its normal.

    All optimal weights are on the rows of the smallest face that contains b. On those rows b is interior and Newton
    converges; the value at δ = δ_face + t v, with v the normal of the face, tends to the optimum as t grows.
    """
    if not problem.rows.in_memory:  # the face may be too large for memory, so the solution is kept
        return replace(solution, status=Status.BOUNDARY, hull=hull)
    if problem.radius > 0.0:
        return _solve_at_hull_distance(problem, hull, solution, tol)
    problem = problem.centred_at_target()  # for large δ moments are differences of large numbers
    support, weights = spanning_rows(problem, hull)
    target = weights @ problem.features_q[support]  # b may be off the face by round-off; this is on it
    for least in (1e-6, 1e-9):
        found = smallest_face(problem, support, least)
        if found is None:
            continue
        index, v = found
        face = restrict(problem, index, target)
        inside = _solve_on_face(face, hull, tol)
        if inside is None:
            continue
        mu = np.zeros(problem.n_q)
        features = problem.rows.take(index).features  # relative to the target
        mu[index] = rebalance(features, np.exp(face.log_mu(inside)), row_sizes(problem, index))
        lower, miss = problem.dual_value(mu), np.abs(problem.residual(mu))
        gap = 0.1 * (tol * (1.0 + abs(lower)))
        delta = inside + _step_length(problem, inside, v, lower, gap, miss) * v
        break
    else:  # no face was found: the nearest weights, and the δ that Newton reached
        delta, mu = solution.delta, _nearest_weights(problem, hull)
        lower = problem.dual_value(mu)
    return _boundary_solution(problem, hull, solution, delta, mu, lower)


def _solve_on_face(face: RatioProblem, hull: Hull, tol: float) -> Array | None:
    """Proven δ of a problem on a face, or None; heavy rows prove it if the others are too light for a lift."""
    found = newton(face, make_penalty(face), tol=min(0.01 * tol, FACE_TOL))
    proof = found.certificate
    if not proof.proves(tol):
        proof = with_mixture_bound(face, proof, np.exp(face.log_mu(found.delta)), hull)
    return found.delta if proof.proves(tol) else None


def with_mixture_bound(problem: RatioProblem, proof: Certificate, mu: Array, hull: Hull) -> Certificate:
    """Certificate with the dual bound of a mixture of μ and nearest weights, if that bound is better."""
    gap = proof.primal_value - mixture_bound(problem, mu, hull) + proof.noise
    return replace(proof, gap=gap, dual_value=proof.primal_value - gap) if gap < proof.gap else proof


def _nearest_weights(problem: RatioProblem, hull: Hull) -> Array:
    """Weights over all rows of the nearest point of the hull."""
    mu = np.zeros(problem.n_q)
    mu[hull.index] = hull.weights
    return mu


def _solve_at_hull_distance(problem: RatioProblem, hull: Hull, solution: Solution, tol: float) -> Solution:
    """Solve a problem whose radius equals the distance to the hull.

    In norm 2 the nearest point of the hull is unique, and the optimal weights are those of the problem with this point
    as its target and no radius. In the other norms the nearest weights, which are feasible, are returned.
    """
    with suppress(SolveError):  # keep the distance as it was
        hull = minimal_radius(problem, hint=hull.direction, rtol=1e-11)
    if hull.lower > problem.radius:
        return replace(solution, status=Status.INFEASIBLE, hull=hull)
    if hull.radius > problem.radius * (1.0 + 1e-9):  # no known weights are within the radius
        return replace(solution, hull=hull)
    delta, mu, v = solution.delta, _nearest_weights(problem, hull), hull.direction
    lower = problem.dual_value(mu)
    if problem.norm == 2.0:
        found = _solve_at_nearest_point(problem, hull, solution, tol)
        if found is not None and found[-1] > lower:
            delta, mu, lower = found
            gap, miss = 0.1 * tol * (1.0 + abs(lower)), np.zeros(problem.k)
            delta = delta + _step_length(problem, delta, v, lower, gap, miss) * v
    return _boundary_solution(problem, hull, solution, delta, mu, lower)


def _solve_at_nearest_point(
    problem: RatioProblem, hull: Hull, solution: Solution, tol: float
) -> tuple[Array, Array, float] | None:
    """(δ, μ, lower bound) of the problem whose target is the nearest point of the hull; None if it is not solved."""
    target = hull.weights @ problem.features_q[hull.index]
    at_nearest = RatioProblem(target, problem.features_q, problem.log_base)
    try:
        nearest_hull = minimal_radius(at_nearest)
    except SolveError:
        return None
    if nearest_hull.position is Position.BOUNDARY:
        limit = solve_on_boundary(at_nearest, nearest_hull, solution, tol)
        return limit.delta, limit.mu, limit.dual_value
    found = newton(at_nearest, make_penalty(at_nearest), tol=min(0.01 * tol, FACE_TOL))
    if not found.certificate.proves(tol):
        return None
    return found.delta, np.exp(at_nearest.log_mu(found.delta)), found.certificate.dual_value


def _step_length(problem: RatioProblem, delta: Array, v: Array, lower: float, gap: float, miss: Array) -> float:
    """Length of the step along v after which the value is within ``gap`` of its limit and doubling gains little.

    For large δ the value may change only by round-off, or because the target is off the face in its last digit; bounds
    on both are added to the value.
    """
    size = 2.0 * np.abs(problem.centred_target) + problem.rows.shift_size
    t, best = 1.0, problem.value(delta)
    furthest, lowest = 0.0, best
    while t < 1e12:
        point = delta + t * v
        value = problem.value(point) + value_round_off(float(size @ np.abs(point))) + float(miss @ np.abs(point))
        if value < lowest:
            furthest, lowest = t, value
        if best - value <= 0.01 * gap and value - lower <= gap:
            return t
        best, t = value, 2.0 * t
    return furthest


def _boundary_solution(
    problem: RatioProblem, hull: Hull, solution: Solution, delta: Array, mu: Array, lower: float
) -> Solution:
    """BOUNDARY solution with these weights, and the gap between them and δ."""
    delta = delta if np.all(np.isfinite(delta)) else np.zeros(problem.k)
    r, b, g = problem.residual(mu), problem.centred_target, problem.radius * problem.moment_norm.dual(delta)
    summary = tilt(problem.rows, delta, covariance=False)
    value = float(summary.log_z - b @ delta + g)
    rows = np.flatnonzero(mu)
    reached = mu[rows] @ np.abs(problem.rows.take(rows).features)
    noise = value_round_off(summary.log_z, float((np.abs(b) + problem.rows.shift_size + reached) @ np.abs(delta)), g)
    if lower > -np.inf:
        # weights that miss the target weaken the lower bound by ⟨miss, |δ|⟩
        depth = float(mu[rows] @ np.abs(problem.log_base[rows]))
        miss = np.abs(r - problem.moment_norm.project(r, problem.radius))
        lower -= float(miss @ np.abs(delta)) + value_round_off(lower, depth)
    spread = np.ptp(problem.features_q[problem.log_base > -np.inf], axis=0)
    if problem.radius == 0.0 and np.any(np.abs(r) > 1e-9 * spread + 1e-13 * np.abs(problem.target)):
        lower = -np.inf  # they miss the target by more than round-off, so their value is no bound
    proof = Certificate(
        primal_value=value,
        dual_value=lower,
        gap=value - lower + noise,
        moment_residual=max(problem.moment_norm(r) - problem.radius, 0.0),
        simplex_residual=abs(float(mu.sum()) - 1.0),
        slackness=problem.radius * problem.moment_norm.dual(delta) - float(r @ delta),
        e_qn=float(np.linalg.norm(r + summary.mean - b)),
        noise=noise,
    )
    return replace(solution, delta=delta, weights=mu, status=Status.BOUNDARY, certificate=proof, hull=hull)
