"""Targets on the boundary of the hull: [D] is attained on a face, [P] only in the limit of an infinite δ."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._internal.entropy import log_sum_exp, safe_log
from .._internal.linear_algebra import PsdSolver
from .._internal.typing import Array, Index
from ..certificate.certificate import Certificate
from ..certificate.extended import precise_value
from ..data.passes import logits, tilt
from ..data.rows import Rows
from ..feasibility.exposed import ExposedFace, exposed_face
from ..feasibility.face import restrict, smallest_face, spanning_rows
from ..feasibility.hull import Hull
from ..penalties import make_penalty
from ..problem import RatioProblem
from ..solution import Solution, Stage, Status
from .settings import Clock, Settings
from .stages import newton

__all__ = ["closer", "solve_on_boundary", "solve_on_exposed_face"]

#: largest tolerance on a face
FACE_TOL = 1e-10
#: sines of the angles by which rows must lie below a face: the second for faces that round-off hardly tells from others
MIN_SINES = (1e-6, 1e-9)
#: rounds of [LIFT], each of which removes the round-off that the last one left
LIFTS = 3
#: ratio of the speeds of two coefficients that run to infinity one after the other
FASTER = 16.0
#: limit on the doublings of a step along the normal of a face
MAX_DOUBLINGS = 40


def closer(settings: Settings) -> Settings:
    """Settings for the rows of a face, where the weights must match the target closely, since δ itself diverges."""
    return replace(settings, tol=min(0.01 * settings.tol, FACE_TOL))


def solve_on_exposed_face(problem: RatioProblem, solve: Callable[[ExposedFace], Solution]) -> Solution | None:
    """Solve on the face that exposed columns leave; ``None`` if there is none, or if the target is not in its hull.

    The optimum on the face is the limit of ℓ(δ + t v) as t grows, where v consists of the coefficients that run to
    infinity, and its weights are optimal for all rows. So the certificate of the face proves the answer.
    """
    clock = Clock()
    face = exposed_face(problem)
    if face is None:
        return None
    seconds, count = clock.seconds, len(face.recession)
    found = solve(face)
    if found.status is Status.INFEASIBLE:  # the distance is that of the whole hull
        return None
    reason = f"{count} exposed column{'' if count == 1 else 's'}, {face.columns.size} of {problem.k} columns left"
    stage = Stage("face", problem.n_q, 2, seconds, math.nan, reason)
    optimal = found.status is Status.OPTIMAL and bool(face.recession)
    if found.status is Status.BOUNDARY and face.recession:  # on a face of the face
        return _far_from_both(problem, face, found)
    return replace(
        found,
        delta=face.extended(found.delta),
        weights=lambda: _on_all_rows(face, found),
        status=Status.BOUNDARY if optimal else found.status,
        certificate=_shifted(found.certificate, face),
        raw=None if found.raw is None else _shifted(found.raw, face),
        hull=None,  # that of the face
        free_directions=found.free_directions + problem.k - face.columns.size,
        solve_time=found.solve_time + seconds,
        trace=(stage, *found.trace),
        recession=face.recession,
    )


def _far_from_both(problem: RatioProblem, face: ExposedFace, found: Solution) -> Solution | None:
    """Solution on a face of an exposed face, at a δ far along the normals of both; ``None`` without a proof."""
    assert found.settings is not None  # every solve has settings
    if not problem.rows.in_memory:
        return None
    mu, v, tol = _on_all_rows(face, found), np.zeros(problem.k), found.settings.tol
    for faster, (feature, sign) in enumerate(reversed(face.recession)):
        v[feature] = sign * FASTER**faster
    delta = _far_along(problem, face.extended(found.delta), v, mu, tol)
    on_face = _shifted(found.certificate, face)
    certificate = _boundary_certificate(problem, delta, mu, on_face, 0.0)
    return (
        replace(found, delta=delta, weights=mu, certificate=certificate, hull=None) if certificate.proves(tol) else None
    )


def _shifted(certificate: Certificate, face: ExposedFace) -> Certificate:
    """Certificate for all rows and columns; on the face the base weights sum to one, and some columns are left out."""
    return replace(
        certificate,
        primal_value=certificate.primal_value + face.log_share,
        dual_value=certificate.dual_value + face.log_share,
        dependent=tuple(face.columns[list(certificate.dependent)].tolist()),
    )


def _on_all_rows(face: ExposedFace, found: Solution) -> Array:
    """Weights of all rows, from those of the face."""
    if found.mu.size == face.whole.n_q:
        return found.mu
    return _on_rows(face.whole, np.flatnonzero(logits(face.whole.rows, np.zeros(face.whole.k)) > -np.inf), found.mu)


def solve_on_boundary(problem: RatioProblem, hull: Hull, solution: Solution, settings: Settings) -> Solution | None:
    """Solve on the face of the hull that contains the target, then move along its normal; ``None`` without a proof.

    All optimal weights are on the rows of the smallest face that contains b. On those rows b is interior and Newton
    converges; the value at δ = δ_face + t v, with v the normal of the face, tends to the optimum as t grows.
    """
    if not problem.rows.in_memory:  # the face may be too large for memory
        return None
    clock, tol = Clock(), settings.tol
    problem = problem.centred_at_target()  # for large δ moments are differences of large numbers
    index = spanning_rows(problem, hull)
    for least in MIN_SINES:
        found = smallest_face(problem, index, least)
        if found is None:
            continue
        face = restrict(problem, found[0])
        inside = newton(face, make_penalty(face), closer(settings))
        mu = _on_rows(problem, found[0], _lifted(face.rows, np.exp(face.log_mu(inside.delta))))
        delta = _far_along(problem, inside.delta, found[1], mu, tol)
        share = log_sum_exp(problem.log_base[found[0]])
        certificate = _boundary_certificate(problem, delta, mu, inside.certificate, share)
        if certificate.proves(tol):
            reason = f"face of {found[0].size:,} rows"
            stage = Stage("boundary", problem.n_q, 0, clock.seconds, certificate.gap, reason)
            return replace(
                solution,
                delta=delta,
                weights=mu,
                status=Status.BOUNDARY,
                certificate=certificate,
                trace=(*solution.trace, stage),
            )
    return None


def _on_rows(problem: RatioProblem, index: Index, weights: Array) -> Array:
    """Weights of all rows, from those of some."""
    mu = np.zeros(problem.n_q)
    mu[index] = weights
    return mu


def _lifted(rows: Rows, mu: Array) -> Array:
    """Weights that hit the target to its last digits, by [LIFT] of weights that nearly do."""
    mean, covariance = _moments(rows, mu)
    for _ in range(LIFTS):
        d = PsdSolver(covariance)(-mean)
        nearer = mu * np.maximum(1.0 + (logits(rows.with_log_base(0.0), d) - mean @ d), 0.0)
        nearer /= nearer.sum()
        left, covariance = _moments(rows, nearer)
        if not np.abs(left).max(initial=0.0) < np.abs(mean).max(initial=0.0):
            break
        mu, mean = nearer, left
    return mu


def _moments(rows: Rows, mu: Array) -> tuple[Array, Array]:
    """Mean and covariance of the rows under given weights."""
    summary = tilt(rows.with_log_base(safe_log(mu)), np.zeros(rows.shape[1]))
    assert summary.covariance is not None  # it was asked for
    return summary.mean, summary.covariance


def _far_along(problem: RatioProblem, delta: Array, v: Array, mu: Array, tol: float) -> Array:
    """The δ + t v after which the value is within the tolerance of its limit and doubling t gains little.

    For large δ the value may change only because the target is off the face in its last digit; the gap includes that.
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


def _boundary_certificate(
    problem: RatioProblem, delta: Array, mu: Array, on_face: Certificate, log_share: float
) -> Certificate:
    """Certificate of a δ far along the normal of a face: the bound is that of the face.

    The base weights of the face sum to one on it, and to ``exp(log_share)`` among all rows.
    """
    r, summary = problem.residual(mu), tilt(problem.rows, delta, covariance=False)
    value, noise = precise_value(problem, delta)
    last_digit = float(np.sum(on_face.missed * np.abs(delta[list(on_face.dependent)])))
    gap = value - on_face.dual_value - log_share + noise + last_digit
    gap = max(gap, noise + last_digit) if gap >= 0.0 else np.inf  # below zero is a contradiction
    return Certificate(
        primal_value=value,
        dual_value=value - gap,
        gap=gap,
        moment_residual=problem.moment_norm(r),
        simplex_residual=abs(float(mu.sum()) - 1.0),
        slackness=-float(r @ delta),
        e_qn=float(np.linalg.norm(r + summary.mean)),
        noise=noise,
        spread=float(np.linalg.norm(problem.rows.reach.largest)),
        last_digit=last_digit,
        dependent=on_face.dependent,
        missed=on_face.missed,
    )
