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
from ..problem import RatioProblem

__all__ = ["mixed_bound"]


def mixed_bound(problem: RatioProblem, mu: Array, hull: Hull) -> float:
    """Dual value of a mixture of μ with few other rows that is feasible; −inf if none was found."""
    mu = np.maximum(mu, 0.0) / np.maximum(mu, 0.0).sum()
    r = problem.moment(mu)
    size = problem.ball(r)
    if problem.radius > 0.0:
        room = problem.radius - hull.radius
        if room <= 0.0 or size - problem.radius > 0.01 * room:
            return -np.inf
        share = min(1.0, 1.001 * max(size - problem.radius, 0.0) / (room + size - problem.radius))
        return problem.dual_value(_mixture(mu, hull, share))
    spread = problem.ball(np.ptp(problem.features_q[:: max(1, problem.n_q // 1000)], axis=0))
    if size == 0.0 or size > 1e-6 * spread:
        return problem.dual_value(mu) if size == 0.0 else -np.inf
    for reach in (0.3, 0.1, 0.03, 0.01, 0.001):
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
            return problem.dual_value(_mixture(mu, other, share))
    return -np.inf


def _mixture(mu: Array, hull: Hull, share: float) -> Array:
    """(1 − share) μ + share · (the hull's weights)."""
    mixed = (1.0 - share) * mu
    mixed[hull.index] += share * hull.weights
    return mixed
