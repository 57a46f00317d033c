"""A dual-feasible point by mixing, for weights so peaked that the correction [LIFT] cannot move them.

Where nearly all of μ sits on fewer rows than there are features, rescaling the weights cannot remove even a
round-off residual. Adding a little of other weights ρ can: μ' = (1 − τ)μ + τρ, with ρ chosen such that the
moment of μ' is right.
"""

from __future__ import annotations

import numpy as np

from ..entropy import Array
from ..errors import SolveError
from ..feasibility import Hull, Position, minimal_radius
from ..lift import HEAVY, nudged
from ..problem import RatioProblem
from ..solution import round_off
from .face import around_target, sizes

__all__ = ["mixed_bound"]


def mixed_bound(problem: RatioProblem, mu: Array, hull: Hull) -> float:
    """Dual value of a mixture of μ with few other rows that is feasible; −inf if none was found."""
    mu = np.maximum(mu, 0.0) / np.maximum(mu, 0.0).sum()
    if problem.radius > 0.0:
        return max(_in_ball(problem, mu, other) for other in _near(problem, hull))
    away = around_target(problem).rows.take(slice(None)).features
    heavy = np.where(mu > HEAVY * mu.max(), mu, 0.0)
    scale = sizes(problem, np.flatnonzero(heavy))
    bound = max(_value(problem, away, nudged(away, weights, scale)) for weights in (mu, heavy / heavy.sum()))
    if bound > -np.inf:
        return bound
    r = problem.moment(mu)
    size = problem.ball(r)
    spread = problem.ball(np.ptp(problem.features_q[:: max(1, problem.n_q // 1000)], axis=0))
    if size > 1e-6 * spread:
        return -np.inf
    for reach in (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5):
        share = size / (reach * spread)
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
            value = _value(problem, away, _mixture(mu, other, share))
            if value > -np.inf:
                return value
    return -np.inf


def _near(problem: RatioProblem, hull: Hull) -> list[Array]:
    """Weights close to the target: those of the hull, and all on the row that is nearest.

    Where columns differ in size by more than numbers have digits, the hull may take a distance for none, and next to a
    corner its weights miss the target by more than the corner does.
    """
    alive = np.flatnonzero(problem.log_base > -np.inf)
    distances = [problem.ball(g) for g in problem.target - problem.features_q[alive]]
    found, row = np.zeros((2, problem.n_q))
    found[hull.index] = hull.weights
    row[alive[np.argmin(distances)]] = 1.0
    return [found, row]


def _in_ball(problem: RatioProblem, mu: Array, other: Array) -> float:
    """D of the mixture with as much of μ as the radius allows; −inf where the other weights are beyond it too.

    Moments are sums of b − F_j: on rows next to the target they have digits that b − Σ μ_j F_j has lost.
    """
    G = problem.target - problem.features_q

    def beyond(weights: Array, digit: float = 1e-15) -> float:
        """By how much the moment may be further from the target than the radius, with its round-off."""
        return problem.ball(weights @ G) + digit * problem.ball(weights @ np.abs(G)) - problem.radius

    excess, room = beyond(mu, 3e-15), -beyond(other)  # the mixture has a round-off of its own
    if room <= 0.0:
        return -np.inf
    share = min(1.0, 1.001 * max(excess, 0.0) / (room + max(excess, 0.0)) + 1e-15)
    mixed = (1.0 - share) * mu + share * other
    return max(problem.dual_value(weights) for weights in (mixed, other) if beyond(weights) <= 0.0)


def _value(problem: RatioProblem, away: Array, mu: Array) -> float:
    """D(μ) less its round-off if μ is feasible up to that of the sums that say so, column by column; otherwise −inf."""
    size = mu @ np.abs(problem.features_q) + np.abs(problem.target)
    if np.any(np.abs(mu @ away) > 1e-15 * size):
        return -np.inf
    value, carries = problem.dual_value(mu), mu > 0.0
    return value - round_off(value, float(mu[carries] @ np.abs(problem.log_base[carries])))


def _mixture(mu: Array, hull: Hull, share: float) -> Array:
    """(1 − share) μ + share · (the hull's weights)."""
    mixed = (1.0 - share) * mu
    mixed[hull.index] += share * hull.weights
    return mixed
