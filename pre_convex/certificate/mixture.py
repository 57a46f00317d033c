"""Dual-feasible mixtures, for weights that are too concentrated for the correction [LIFT] to move.

If nearly all of μ is on fewer rows than there are features, rescaling the weights cannot remove even a round-off
residual. Adding a little of other weights ρ can: μ' = (1 − τ)μ + τρ, with ρ chosen such that the moment of μ' is right.
"""

from __future__ import annotations

import numpy as np

from .._internal.typing import Array
from ..errors import SolveError
from ..feasibility.face import row_sizes
from ..feasibility.hull import Hull, Position, minimal_radius
from ..problem import RatioProblem
from .certificate import value_round_off
from .lift import HEAVY, rebalance

__all__ = ["mixture_bound"]


def mixture_bound(problem: RatioProblem, mu: Array, hull: Hull) -> float:
    """Dual value of feasible weights near μ: rebalanced, or mixed with a few other rows; −inf if none were found."""
    mu = np.maximum(mu, 0.0) / np.maximum(mu, 0.0).sum()
    if problem.radius > 0.0:
        return max(_value_in_ball(problem, mu, other) for other in _weights_near_target(problem, hull))
    centred = problem.centred_at_target().rows.take(slice(None)).features
    heavy = np.where(mu > HEAVY * mu.max(), mu, 0.0)
    scale = row_sizes(problem, np.flatnonzero(heavy))
    bound = max(_value(problem, centred, rebalance(centred, w, scale)) for w in (mu, heavy / heavy.sum()))
    return bound if bound > -np.inf else _mix_with_hull(problem, mu, centred)


def _mix_with_hull(problem: RatioProblem, mu: Array, centred: Array) -> float:
    """Dual value of a mixture of μ with the weights of a point beyond the target, which cancels the residual of μ."""
    r = problem.residual(mu)
    size = problem.moment_norm(r)
    spread = problem.moment_norm(np.ptp(problem.features_q[:: max(1, problem.n_q // 1000)], axis=0))
    if size > 1e-6 * spread:
        return -np.inf
    for distance in (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5):
        share = size / (distance * spread)
        beyond = RatioProblem(
            problem.target + r * (1.0 - share) / share,
            problem.features_q,
            problem.log_base,
            norm=problem.norm,
        )
        try:
            other = minimal_radius(beyond)
        except SolveError:
            continue
        if other.position is Position.INSIDE:
            mixed = (1.0 - share) * mu
            mixed[other.index] += share * other.weights
            value = _value(problem, centred, mixed)
            if value > -np.inf:
                return value
    return -np.inf


def _weights_near_target(problem: RatioProblem, hull: Hull) -> list[Array]:
    """Weights whose moment is close to the target: those of the hull, and all weight on the nearest row.

    If columns differ in size by more than float64 has digits, the hull may miss a distance, and near a corner its
    weights may be further from the target than the corner is.
    """
    positive = problem.positive_rows
    distances = [problem.moment_norm(g) for g in problem.target - problem.features_q[positive]]
    nearest, corner = np.zeros((2, problem.n_q))
    nearest[hull.index] = hull.weights
    corner[positive[np.argmin(distances)]] = 1.0
    return [nearest, corner]


def _value_in_ball(problem: RatioProblem, mu: Array, other: Array) -> float:
    """D of the mixture with as much of μ as the radius allows; −inf if the other weights are outside it as well.

    Moments are sums of b − F_j: on rows near the target these have digits that b − Σ μ_j F_j has lost.
    """
    G = problem.target - problem.features_q

    def excess(weights: Array, round_off: float = 1e-15) -> float:
        """Upper bound of ‖b − F'μ‖ − R, round-off included."""
        return problem.moment_norm(weights @ G) + round_off * problem.moment_norm(weights @ np.abs(G)) - problem.radius

    above, below = excess(mu, 3e-15), -excess(other)  # more for μ, since mixing adds round-off
    if below <= 0.0:
        return -np.inf
    share = min(1.0, 1.001 * max(above, 0.0) / (below + max(above, 0.0)) + 1e-15)
    mixed = (1.0 - share) * mu + share * other
    return max(problem.dual_value(weights) for weights in (mixed, other) if excess(weights) <= 0.0)


def _value(problem: RatioProblem, centred: Array, mu: Array) -> float:
    """D(μ) less its round-off if μ meets the target up to round-off in every column; otherwise −inf."""
    size = mu @ np.abs(problem.features_q) + np.abs(problem.target)
    if np.any(np.abs(mu @ centred) > 1e-15 * size):
        return -np.inf
    value, positive = problem.dual_value(mu), mu > 0.0
    return value - value_round_off(value, float(mu[positive] @ np.abs(problem.log_base[positive])))
