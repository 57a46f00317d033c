"""[LIFT]: weights near the tilted ones with a prescribed moment, and the cost of moving there."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._internal.linear_algebra import EPS, PsdSolver, null_part
from .._internal.typing import Array
from ..data.passes import Summary
from ..data.requests import Push, Pushed, Requests
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

    def feasible(self, penalty: Penalty, delta: Array, r: Array) -> Requests[Lifted | None]:
        """The lift of weights with residual r to weights that are feasible for [D]; ``None`` if none is found."""
        margin = ROUND_OFF * (np.abs(r) + self.size)  # round-off of a moment
        if penalty.relaxed:
            for d in penalty.directions(delta, r, self.scatter):
                pushed = yield Push(self.delta, self.log_z, self.mean, d, self.level)
                residual = r - pushed.moved
                slack = penalty.slack(delta, residual, margin)
                if slack < math.inf:
                    return self._lifted(residual, slack, d, pushed, margin)
            return None
        trial = penalty.trial(delta, r, self.scatter)
        if trial is None:
            return None
        residual, slack = trial
        # a target has to be hit as closely as it is known; a miss adds to the gap what it is worth
        allowed = margin + TARGET_NOISE * self._target
        solve, d, left = PsdSolver(self.scatter), np.zeros(r.size), r - residual
        off_span = null_part(self.scatter, allowed)
        if off_span is not None:  # by round-off; columns of large numbers, which are known least, take it
            left = left - off_span(left)
        for _ in range(ROUNDS):
            d = d + solve(left)
            if not np.all(np.isfinite(d)):
                return None
            pushed = yield Push(self.delta, self.log_z, self.mean, d, self.level)
            left = r - residual - pushed.moved
            if np.all(np.abs(left) <= allowed):
                return self._lifted(residual, slack, d, pushed, np.abs(left) + margin)
        return None

    def _lifted(self, residual: Array, slack: float, d: Array, pushed: Pushed, remainder: Array) -> Lifted | None:
        """The lift along d, unless a weight becomes negative; the drift Σ μ_j c_j is subtracted evenly from all c_j."""
        drift = pushed.drift / self.total
        deepest = max(0.0, abs(drift) - pushed.lowest)
        if not deepest <= 1.0:
            return None
        # a further lift by the remainder would cost at most ⟨d, remainder⟩, and more for weights close to zero
        slope = 2.0 * max(1.0, -math.log(max(1.0 - deepest, 1e-300)))
        price = slope * float(remainder @ np.abs(d)) + abs(pushed.drift)
        return Lifted(residual, slack, d, drift, 0.5 * (1.0 + deepest) * pushed.squares + price, remainder)
