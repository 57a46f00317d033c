"""The target on the boundary of the hull: the dual is attained on a face, the primal only in the limit."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..entropy import Array, exp
from ..errors import SolveError
from ..feasibility import Hull, Position, minimal_radius
from ..lift import nudged
from ..problem import RatioProblem
from ..solution import Certificate, Solution, Status, round_off
from .face import around_target, carriers, on_rows, sizes, smallest_face
from .mixture import mixed_bound
from .newton import newton
from .steps import make_penalty

__all__ = ["solve_on_boundary"]

#: tolerance on a face whatever is asked for: far out, the weights tell more than the gap, and must hit the target
EXACT = 1e-10


def solve_on_boundary(problem: RatioProblem, hull: Hull, solution: Solution, tol: float) -> Solution:
    """Solve on the face of the hull that holds the target, and go far enough along its normal.

    All optimal weights sit on the rows of the smallest face that contains b. On those rows b is interior and
    Newton converges; δ = δ_face + t v, with v supporting the face, comes as close to the optimum as t is large.
    """
    if not problem.rows.in_memory:  # the face may be as long as the data; what was found so far stands
        return replace(solution, status=Status.BOUNDARY, hull=hull)
    if problem.radius > 0.0:
        return _at_distance(problem, hull, solution, tol)
    problem = around_target(problem)  # far out, moments are differences of large numbers
    nearest = _nearest_weights(problem, hull)
    delta, mu, lower = solution.delta, nearest, -np.inf
    support, weights = carriers(problem, hull)
    target = weights @ problem.features_q[support]  # b may miss the face by round-off; this does not
    for least in (1e-6, 1e-9):
        found = smallest_face(problem, support, least)
        if found is None:
            continue
        index, v = found
        face = on_rows(problem, index, target)
        inside = _inside(face, hull, tol)
        if inside is None:
            continue
        mu = np.zeros(problem.n_q)
        some = problem.rows.take(index).features  # relative to the target
        mu[index] = nudged(some, exp(face.log_mu(inside)), sizes(problem, index))
        lower, miss = problem.dual_value(mu), np.abs(problem.moment(mu))
        most = tol * (1.0 + abs(lower))
        delta = inside + _far_enough(problem, inside, v, lower, 0.1 * most, miss) * v
        break
    if mu is nearest:  # no face was found: feasible weights at least, and the δ that Newton reached
        lower = problem.dual_value(nearest)
    return _on_boundary(problem, hull, solution, delta, mu, lower)


def _inside(face: RatioProblem, hull: Hull, tol: float) -> Array | None:
    """δ on a face that has its target inside, proven; by a few heavy rows where the others are too light for a lift."""
    found = newton(face, make_penalty(face), tol=min(0.01 * tol, EXACT))
    proof = found.certificate
    if not proof.proves(tol):
        gap = proof.primal_value - mixed_bound(face, exp(face.log_mu(found.delta)), hull) + proof.noise
        proof = replace(proof, gap=gap)
    return found.delta if proof.proves(tol) else None


def _nearest_weights(problem: RatioProblem, hull: Hull) -> Array:
    """Weights of all rows that give the nearest point of the hull."""
    mu = np.zeros(problem.n_q)
    mu[hull.index] = hull.weights
    return mu


def _at_distance(problem: RatioProblem, hull: Hull, solution: Solution, tol: float) -> Solution:
    """Solve where the radius is the distance to the hull.

    In the norm 2 only one point of the hull is so near, and the optimal weights are those of the problem with this
    point as its target and no radius. In the others the nearest weights are given, which are feasible.
    """
    with suppress(SolveError):  # the distance stays as exact as it was
        hull = minimal_radius(problem, hint=hull.direction, rtol=1e-11)
    if hull.lower > problem.radius:
        return replace(solution, status=Status.INFEASIBLE, hull=hull)
    if hull.radius > problem.radius * (1.0 + 1e-9):  # no weights are known that come so close
        return replace(solution, hull=hull)
    delta, mu, v = solution.delta, _nearest_weights(problem, hull), hull.direction
    lower = problem.dual_value(mu)
    if problem.norm == 2.0:
        found = _at_nearest(problem, hull, solution, tol)
        if found is not None and found[-1] > lower:
            delta, mu, lower = found
            most, miss = 0.1 * tol * (1.0 + abs(lower)), np.zeros(problem.k)
            delta = delta + _far_enough(problem, delta, v, lower, most, miss) * v
    return _on_boundary(problem, hull, solution, delta, mu, lower)


def _at_nearest(problem: RatioProblem, hull: Hull, solution: Solution, tol: float) -> tuple[Array, Array, float] | None:
    """(δ, μ, lower bound) of the problem that has the nearest point of the hull as its target."""
    target = hull.weights @ problem.features_q[hull.index]
    flat = RatioProblem(target, problem.features_q, problem.log_base)
    try:
        place = minimal_radius(flat)
    except SolveError:
        return None
    if place.position is Position.BOUNDARY:
        there = solve_on_boundary(flat, place, solution, tol)
        return there.delta, there.mu, there.dual_value
    found = newton(flat, make_penalty(flat), tol=min(0.01 * tol, EXACT))
    if not found.certificate.proves(tol):
        return None
    return found.delta, exp(flat.log_mu(found.delta)), found.certificate.dual_value


def _far_enough(problem: RatioProblem, delta: Array, v: Array, lower: float, most: float, miss: Array) -> float:
    """How far to go along v until the value is within ``most`` of its limit and another doubling gains little.

    Far out, round-off may be all that changes, or a target that lies off the face by its last digit: what both are
    worth counts as part of the value.
    """
    size = 2.0 * np.abs(problem.residual_origin)
    t, best = 1.0, problem.value(delta)
    furthest, lowest = 0.0, best
    while t < 1e12:
        point = delta + t * v
        value = problem.value(point) + round_off(float(size @ np.abs(point))) + float(miss @ np.abs(point))
        if value < lowest:
            furthest, lowest = t, value
        if best - value <= 0.01 * most and value - lower <= most:
            return t
        best, t = value, 2.0 * t
    return furthest


def _on_boundary(
    problem: RatioProblem, hull: Hull, solution: Solution, delta: Array, mu: Array, lower: float
) -> Solution:
    """The solution with these weights, and the gap between them and δ for whoever wants to know how far it got."""
    delta = delta if np.all(np.isfinite(delta)) else np.zeros(problem.k)
    r, b, g = problem.moment(mu), problem.residual_origin, problem.radius * problem.ball.dual(delta)
    summary = problem.tilt(delta)
    value = float(summary.log_z - b @ delta + g)
    carries = np.flatnonzero(mu)
    reached = mu[carries] @ np.abs(problem.rows.take(carries).features)
    noise = round_off(summary.log_z, float((np.abs(b) + reached) @ np.abs(delta)), g)
    if lower > -np.inf:
        # weights that miss the target bound the value from below up to what the miss is worth
        depth = float(mu[carries] @ np.abs(problem.log_base[carries]))
        miss = np.abs(r - problem.ball.project(r, problem.radius))
        lower -= float(miss @ np.abs(delta)) + round_off(lower, depth)
    spread = np.ptp(problem.features_q[problem.log_base > -np.inf], axis=0)
    if problem.radius == 0.0 and np.any(np.abs(r) > 1e-9 * spread + 1e-13 * np.abs(problem.target)):
        lower = -np.inf  # the weights miss the target by more than round-off, so their value bounds nothing
    proof = Certificate(
        primal_value=value,
        dual_value=lower,
        gap=value - lower + noise,
        moment_residual=max(problem.ball(r) - problem.radius, 0.0),
        simplex_residual=abs(float(mu.sum()) - 1.0),
        slackness=problem.radius * problem.ball.dual(delta) - float(r @ delta),
        e_qn=float(np.linalg.norm(r + summary.mean - b)),
        noise=noise,
    )
    return replace(solution, delta=delta, weights=mu, status=Status.BOUNDARY, certificate=proof, hull=hull)
