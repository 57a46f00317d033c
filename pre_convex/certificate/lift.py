"""[LIFT]: weights near the tilted ones with a prescribed moment, and the cost of moving there."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._internal.linear_algebra import EPS, null_part, psd_solver
from .._internal.typing import Array
from ..data.passes import Summary
from ..data.requests import Push, Requests
from ..penalties import Penalty

__all__ = ["Lift", "Lifted", "Sizes"]

#: round-off of a sum, relative to the size of its terms
ROUND_OFF = 4.0 * EPS
#: relative accuracy of a target: a mean of collinear columns, computed in float64, may be this far from collinear
TARGET_NOISE = 1e-13
#: rounds of iterative refinement
ROUNDS = 3


class Sizes(NamedTuple):
    """Numbers that round-off is proportional to, apart from the features relative to the target.

    Attributes
    ----------
    target : ndarray of shape (k,)
        Absolute values of the target, which is known to its last digits only.
    shift : ndarray of shape (k,)
        Absolute values of what passes subtract from their sums.
    offset : float
        Constants that cancel in the logits.
    """

    target: Array
    shift: Array
    offset: float = 0.0


class Lifted(NamedTuple):
    """Weights μ' that are feasible for [D].

    Attributes
    ----------
    residual : ndarray of shape (k,)
        r' = b − F'μ', up to the remainder.
    slack : float
        Bound on g(δ) + g*(r') − ⟨r', δ⟩.
    d, drift : ndarray of shape (k,) and float
        The corrections are c_j = ⟨F_j − m, d⟩ − drift.
    cost : float
        Bound on KL(μ' ‖ μ).
    remainder : ndarray of shape (k,)
        Absolute values of what is missing in the moment.
    """

    residual: Array
    slack: float
    d: Array
    drift: float
    cost: float
    remainder: Array


class Lift:
    """[LIFT] on the rows of one level: μ'_j = μ_j (1 + c_j), c_j = ⟨F_j − m, d⟩, moves the moment by a given amount.

    A change with all c_j ≥ −1 costs KL(μ' ‖ μ) ≤ ½ (1 + x) Σ μ_j c_j², x = max(0, −min c_j): (1 + c) log(1 + c) − c is
    at most c²/2 for c ≥ 0, and at most (1 + |c|) c²/2 for −1 ≤ c ≤ 0.

    Parameters
    ----------
    delta : ndarray of shape (k,)
        δ of the tilted weights.
    log_z : float
        Log Z of all rows at δ.
    summary : Summary
        Log Z, mean m and covariance on the rows of the level.
    level : int
        Number of the level.
    sizes : Sizes
        Sizes of numbers whose round-off a lift cannot remove.
    """

    def __init__(self, delta: Array, log_z: float, summary: Summary, level: int, sizes: Sizes) -> None:
        assert summary.covariance is not None  # it was asked for
        self.delta, self.log_z, self.level = delta, log_z, level
        self.mean = summary.mean
        self.total = math.exp(min(summary.log_z - log_z, 0.0)) or 1.0
        self.scatter = summary.covariance * self.total
        self.spread = np.sqrt(np.maximum(summary.covariance.diagonal(), 0.0))
        self.size = np.abs(self.mean) + self.spread + sizes.shift
        self._target = sizes.target
        self._solve = psd_solver(self.scatter)

    def feasible(self, penalty: Penalty, delta: Array, r: Array) -> Requests[Lifted | None]:
        """The lift of weights with residual r to weights that are feasible for [D]; ``None`` if none is found."""
        margin = ROUND_OFF * (np.abs(r) + self.size)  # how closely a lift can hit a residual
        trial = penalty.trial(delta, r, self.scatter, margin)
        if trial is None:
            return None
        residual, slack = trial
        # a target has to be hit as closely as it is known; a miss adds to the gap what it is worth
        allowed = margin if penalty.relaxed else margin + TARGET_NOISE * self._target
        u = r - residual
        # a target may be off the span of the rows by its last digit, in columns of large numbers
        missed = null_part(self.scatter, allowed)
        d, left = np.zeros(u.size), u if missed is None else u - missed(u)
        for _ in range(ROUNDS):
            d = d + self._solve(left)
            if not np.all(np.isfinite(d)):
                return None
            pushed = yield Push(self.delta, self.log_z, self.mean, d, self.level)
            left = u - pushed.moved
            if np.all(np.abs(left) <= allowed):
                # the drift Σ μ_j c_j is subtracted evenly from all c_j
                drift = pushed.drift / self.total
                deepest = max(0.0, abs(drift) - pushed.lowest)
                if deepest > 1.0:
                    return None
                # a further lift by what is left would cost at most ⟨d, left⟩, and more for weights close to zero
                slope = 2.0 * max(1.0, -math.log(max(1.0 - deepest, 1e-300)))
                price = slope * float((np.abs(left) + ROUND_OFF * self.size) @ np.abs(d)) + abs(pushed.drift)
                cost = 0.5 * (1.0 + deepest) * pushed.squares + price
                return Lifted(residual, slack, d, drift, cost, np.abs(left))
        return None
