"""[FY]: the duality gap of (c, δ) for any divergence, with bounds on the ratio and with any penalty.

For weights μ' that are feasible for [D], with s_j = c + ⟨δ, F_j⟩ and r' = b − F'μ',

    P(c,δ) − D(μ') = Σ_j [ φ*_j(s_j) + π_j φ(μ'_j/π_j) − s_j μ'_j ]  +  [ g(δ) + g*(r') − ⟨r', δ⟩ ],

and no term is negative. The weights μ' are a lift of those of [LINK] that keeps every ratio strictly within its bounds:

    μ'_j = μ_j + ω_j ⟨[1, F_j − b], d⟩,     ω_j = π_j min(1/φ''(t_j), t_j − lo, hi − t_j),

where d solves a system with Σ_j ω_j [1, F_j − b][1, F_j − b]', and |⟨[1, F_j − b], d⟩| < 1 on all rows. For KL without
bounds ω is μ, and this is [LIFT].
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._internal.linear_algebra import EPS, PsdSolver
from .._internal.typing import Array
from .._internal.validation import MAX_ENTRY, as_vector
from ..data.linked import LinkedRows, Magnitude, Move, Moved, Room, intercept_at, linked_scores, linked_tilt
from ..data.passes import Summary
from ..data.requests import ALL, Requests
from ..penalties import PartialPenalty, Penalty, with_intercept
from ..problem import RatioProblem
from .certificate import Certificate, Proof, certificate_of, sizes_of
from .lift import ROUND_OFF, ROUNDS, TARGET_NOISE, Sizes

__all__ = ["certificate_at", "linked_certificate", "prove_linked"]

#: largest |⟨[1, F_j − b], d⟩| of a lift: below one, so that round-off moves no ratio out of its bounds
FURTHEST = 0.9


def prove_linked(
    theta: Array, summary: Summary, penalty: PartialPenalty, sizes: Sizes, level: int = ALL
) -> Requests[Proof]:
    """Duality gap of θ = (c, δ) by a lift on the rows of one level.

    Parameters
    ----------
    theta : ndarray of shape (k + 1,)
        (c, δ) for rows relative to the target.
    summary : Summary
        Result of a pass over all rows at θ.
    penalty : PartialPenalty
        g as a penalty of θ, from :func:`~pre_convex.penalties.with_intercept`.
    sizes : Sizes
        Sizes of the target and of what passes subtract from their sums.
    level : int, default ALL
        Number of the level that is lifted; any rows give a valid bound, more rows a tighter one.
    """
    H = yield Room(theta, level)
    value_size, size = yield Magnitude(theta)
    size = size + np.append(0.0, sizes.shift) * size[0]
    noise = 4.0 * EPS * (1.0 + value_size + float(size @ np.abs(theta)) + penalty.value(theta))
    spread = float(np.sqrt(max(float(np.trace(H[1:, 1:])) / H[0, 0], 0.0))) if H[0, 0] > 0.0 else math.inf
    if not (math.isfinite(noise) and np.all(np.isfinite(H)) and np.all(np.isfinite(summary.mean))):
        return Proof(math.inf, 0.0, math.inf)  # after overflow nothing can be proven
    gap = yield from _lifted_gap(theta, -summary.mean, penalty, H, size, sizes.target, level)
    return Proof(gap + noise, noise, spread)


def _lifted_gap(
    theta: Array, residual: Array, penalty: PartialPenalty, H: Array, size: Array, target: Array, level: int
) -> Requests[float]:
    """Fenchel–Young gaps of rows and penalty, with what the lift misses at its price; infinity if no lift is found.

    ``size`` is the sum of absolute values that each entry of the residual is computed from.
    """
    used, hit = penalty.used, penalty.exact_coordinates(theta.size)
    solve = PsdSolver(H[np.ix_(used, used)])
    known = TARGET_NOISE * np.append(0.0, target)  # a target has to be hit as closely as it is known
    for goal, slack in _goals(theta, residual, penalty, H):
        d, left = np.zeros(theta.size), residual - goal
        for _ in range(ROUNDS):
            d[used] += solve(left[used])
            if not np.all(np.isfinite(d)):
                break
            moved: Moved = yield Move(theta, d, level)
            margin = ROUND_OFF * (size + moved.size)  # round-off of the moment of μ'
            left = residual - goal - moved.moment
            if not np.all(np.abs(left[hit]) <= margin[hit] + known[hit]):
                continue
            if slack is None:
                slack = penalty.slack(theta, residual - moved.moment, margin)
            if slack < math.inf and moved.furthest <= FURTHEST:
                missed = np.where(hit, np.abs(left) + margin, margin)
                return slack + moved.cost + float(missed @ (np.abs(theta) + 2.0 * np.abs(d)))
            break
    return math.inf


def _goals(theta: Array, residual: Array, penalty: PartialPenalty, H: Array) -> Iterator[tuple[Array, float | None]]:
    """Residuals to lift to, with their slack; without it if that is computed from what the lift reaches."""
    if penalty.relaxed:
        hit = penalty.exact_coordinates(theta.size)
        for d in penalty.directions(theta, residual, H):
            yield np.where(hit, 0.0, residual - H @ d), None
    else:
        trial = penalty.trial(theta, residual, H)
        if trial is not None:
            yield trial


def certificate_at(
    problem: RatioProblem, theta: Array, summary: Summary, penalty: Penalty, proof: Proof
) -> Certificate:
    """Certificate of δ from what a lift at θ = (c, δ) proves; ``penalty`` is that of δ.

    The weights of δ are those with the best c, which sum to one, and the value at any other c is an upper bound.
    """
    moments = Summary(summary.log_z, summary.mean[1:], None)
    return certificate_of(problem, theta[1:], moments, penalty, proof)


def linked_certificate(problem: RatioProblem, delta: Array, mu: Array | None, penalty: Penalty) -> Certificate:
    """Certificate of (δ, μ) with the best intercept for δ."""
    theta = np.append(intercept_at(problem.rows, problem.link, delta), delta)
    summary = linked_tilt(problem.rows, problem.link, theta, covariance=False)
    steps = prove_linked(theta, summary, with_intercept(penalty, problem.k), sizes_of(problem))
    certificate = certificate_at(problem, theta, summary, penalty, LinkedRows(problem.rows, problem.link).run(steps))
    if mu is None:
        return certificate
    mu = as_vector(mu, "mu", problem.n_q, limit=MAX_ENTRY)
    pi, (lower, upper) = linked_scores(problem.rows, theta)[1], problem.bounds
    with np.errstate(invalid="ignore"):
        outside = max(float(np.nanmax(lower * pi - mu)), float(np.nanmax(mu - upper * pi)), 0.0)
    r = problem.residual(mu)
    e_qn = float(np.linalg.norm(r + summary.mean[1:]))
    return replace(
        certificate,
        moment_residual=problem.excess(r),
        simplex_residual=max(abs(float(mu.sum()) - 1.0), outside),
        slackness=penalty.value(delta) - float(r @ delta),
        e_qn=e_qn if e_qn > 1e-14 * certificate.spread else 0.0,
    )
