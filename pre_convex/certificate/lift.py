"""[LIFT]: weights near the tilted ones with a prescribed moment, and the cost of moving there."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from operator import add
from typing import NamedTuple

import numpy as np

from .._internal.entropy import tilting_cost
from .._internal.linear_algebra import EPS, least_squares, psd_solver, solve_psd, zero_noise_variances
from .._internal.typing import Array
from ..data.passes import COVARIANCE_DOMINATES, Summary, support, tilt
from ..data.rows import Rows

__all__ = ["Lift", "LiftByPasses", "lift_at", "rebalance"]

#: error in the total weight of a lift that is left uncorrected
MASS_ERROR = 1e-15
#: round-off of a sum, relative to the size of its terms
ROUND_OFF = 4.0 * EPS
#: tolerance of the moment of a lift, relative to its size
MOMENT_TOLERANCE = 1e-13
#: weights below this share of the largest one are not changed by :func:`rebalance`
HEAVY = 1e-8


class Correction(NamedTuple):
    """Relative changes c_j = ⟨F_j − m, d⟩ of the weights, and their round-off.

    ``remainder`` is the part of the required change of the moment that is missing, ``mass_error`` the deviation from
    Σ μ_j c_j = 0, both as absolute values.
    """

    c: Array
    remainder: Array
    d: Array
    mass_error: float


class Lift:
    """[LIFT] on some rows: corrections c that keep the total weight and move the moment by given amounts.

    Attributes
    ----------
    centred_size : ndarray of shape (k,)
        Size of the features relative to the origin; the round-off of the logits is proportional to it.
    size : ndarray of shape (k,)
        Size of the features as they were given, whose own round-off a lift cannot remove.
    target_round_off : ndarray of shape (k,)
        Round-off of the target, which with a radius may be far from every row.
    """

    def __init__(
        self,
        rows: Rows,
        mu: Array,
        origin: Array | None = None,
        target: Array | float = 0.0,
        shift_size: Array | float = 0.0,
    ) -> None:
        self.features, self.mu = rows.features, mu
        self.total = float(mu.sum()) or 1.0
        self.mean = (mu @ rows.features) / self.total
        work = partial(_scatter, mu=mu, mean=self.mean, start=rows.start)
        scatter = rows.reduce(work, add, max(1.0, self.mean.size / COVARIANCE_DOMINATES))
        self.scatter = zero_noise_variances(scatter / self.total, np.abs(self.mean) + shift_size) * self.total
        spread = np.sqrt(np.maximum(self.scatter.diagonal(), 0.0) / self.total)
        self.centred_size = np.abs(self.mean) + spread + shift_size
        self.size = self.centred_size + (0.0 if origin is None else np.abs(origin))
        self.target_round_off = ROUND_OFF * np.abs(target)

    def correction(self, u: Array) -> Correction | None:
        """The c with Σ μ_j c_j = 0 and Σ μ_j c_j F_j = u; ``None`` if there is none up to round-off."""
        with np.errstate(over="ignore", invalid="ignore"):
            # the scatter squares the condition number of F; its factor, which comes next, does not
            for solve in (self._solve_scatter, self._solve_factor, self._solve_weighted):
                correction = self._refine(solve, u)
                if correction is not None:
                    return correction
        return None

    def _refine(self, solve: Callable[[Array], Array], u: Array) -> Correction | None:
        """The correction by one linear solver and one step of iterative refinement."""
        tolerance = MOMENT_TOLERANCE * (np.abs(u) + self.size) + self.target_round_off
        c, d, remainder = np.zeros(len(self.mu)), np.zeros(u.size), u
        for _ in range(2):
            step = solve(remainder)
            change = self._heights(step)
            c += change - (self.mu @ change) / self.total
            d += step
            moved = self.mu * c
            mass_error = float(moved.sum())
            if abs(mass_error) > MASS_ERROR:  # the mean of huge corrections on rows of tiny weight is round-off
                c -= mass_error / self.total
                moved = self.mu * c
                mass_error = float(moved.sum())
            # check every column: rows of tiny weight may move one whose variance is only round-off
            remainder = u - (moved @ self.features - mass_error * self.mean)
            if np.all(np.abs(remainder) <= tolerance) and abs(mass_error) <= 100.0 * MASS_ERROR:
                return Correction(c, np.abs(remainder), d, abs(mass_error))
        return None

    def cost(self, u: Array) -> tuple[float, Array] | None:
        """(KL(μ' ‖ μ) with its round-off, remainder) of the correction that moves the moment by u."""
        lifted = self.correction(u)
        if lifted is None:
            return None
        # the closer a weight is to zero, the more a further change costs
        slope = max(1.0, -math.log(max(1.0 + float(lifted.c.min(initial=0.0)), 1e-300)))
        round_off = lifted.mass_error + slope * round_off_cost(lifted.remainder, lifted.d, self.centred_size)
        return tilting_cost(self.mu, lifted.c) + round_off, lifted.remainder

    def multiplier(self, slope: Array) -> Array:
        """λ such that moving the moment by u changes a function of μ with this gradient by ⟨λ, u⟩, to first order."""
        return self._solve_scatter((self.mu * slope) @ self.features - (self.mu @ slope) * self.mean)

    def reach(self, v: Array) -> float:
        """Largest |⟨F_j − m, v⟩|."""
        return float(np.abs(self._heights(v)).max(initial=0.0))

    def _heights(self, v: Array) -> Array:
        """⟨F_j − m, v⟩."""
        return np.asarray(self.features @ v - self.mean @ v)

    @cached_property
    def _solve_scatter(self) -> Callable[[Array], Array]:
        """Solver with the scatter matrix, factored once for all trial residuals."""
        return psd_solver(self.scatter)

    @cached_property
    def _factor(self) -> Array:
        """Matrix A with A'A = scatter: the centred rows times the roots of their weights."""
        return np.where(self.scatter.diagonal() > 0.0, self.features - self.mean, 0.0) * np.sqrt(self.mu)[:, None]

    def _solve_factor(self, u: Array) -> Array:
        return least_squares(self._factor, u[:, None])[:, 0]

    def _solve_weighted(self, u: Array) -> Array:
        """If the rows do not span all columns, the remainder goes to columns of large round-off."""
        return least_squares(self._factor, u[:, None], self.size)[:, 0]


def round_off_cost(remainder: Array, d: Array, centred_size: Array) -> float:
    """Bound on ⟨d, remainder⟩, the cost of also lifting by the remainder.

    The remainder itself is known only up to the round-off of a moment of features of this size.
    """
    return 2.0 * float((remainder + ROUND_OFF * centred_size) @ np.abs(d))


def _scatter(rows: Rows, mu: Array, mean: Array, start: int) -> Array:
    """Σ_j μ_j (F_j − m)(F_j − m)' over a block of rows; ``start`` is the row that mu[0] belongs to."""
    total, weights = np.zeros((mean.size, mean.size)), mu[rows.start - start :]
    for chunk, f in rows.chunks(rows.long_chunk_rows):
        g = f - mean
        g *= np.sqrt(weights[chunk, None])
        total += g.T @ g
    return total


class LiftByPasses:
    """[LIFT] on rows that are not in memory; its cost is bounded, not computed.

    A correction that changes no weight by more than a fraction c ≤ 1 costs at most ½(1 + c) d'Hd.
    """

    def __init__(self, rows: Rows, delta: Array, target: Array | float = 0.0) -> None:
        self.rows, self.total = rows, 1.0
        summary = tilt(rows, delta)
        assert summary.covariance is not None  # it was asked for
        self.mean, self.scatter = summary.mean, summary.covariance
        spread = np.sqrt(np.maximum(self.scatter.diagonal(), 0.0))
        self.centred_size = np.abs(self.mean) + spread + rows.shift_size
        self.size = self.centred_size + (0.0 if rows.origin is None else np.abs(rows.origin))
        self.target_round_off = ROUND_OFF * np.abs(target)

    def cost(self, u: Array) -> tuple[float, Array] | None:
        """(bound of KL(μ' ‖ μ) with its round-off, remainder) of the correction that moves the moment by u."""
        d = solve_psd(self.scatter, u)
        remainder = np.abs(u - self.scatter @ d)
        if np.any(remainder > MOMENT_TOLERANCE * (np.abs(u) + self.size) + self.target_round_off):
            return None
        change = self.reach(d)
        cost = 0.5 * (1.0 + change) * float(d @ self.scatter @ d) + round_off_cost(remainder, d, self.centred_size)
        return (cost, remainder) if change <= 1.0 else None

    def reach(self, v: Array) -> float:
        """Largest |⟨F_j − m, v⟩|, from one pass."""
        both = np.column_stack([v, -v])
        return float((support(self.rows, both, 1)[0] - self.mean @ both).max())


def rebalance(features: Array, mu: Array, size: Array) -> Array:
    """Weights near μ whose moment Σ μ_j F_j is as close to zero as possible, by [LIFT] on the rows of notable weight.

    If zero is out of reach, the remainder goes to columns where ``size``, and so round-off, is large.
    """
    heavy = mu > HEAVY * mu.max()
    rest = mu[~heavy] @ features[~heavy]
    features = features[heavy]
    for _ in range(2):
        weights = mu[heavy]
        centred = features - weights @ features / weights.sum()
        step = least_squares(centred * np.sqrt(weights)[:, None], -(weights @ features + rest)[:, None], size)[:, 0]
        moved = weights * (1.0 + centred @ step)
        if not np.all(moved > 0.0):
            break
        mu = mu.copy()
        mu[heavy] = moved
        mu /= mu.sum()
    return mu


def lift_at(rows: Rows, delta: Array, summary: Summary, subset: Rows | None, target: Array) -> Lift | LiftByPasses:
    """Lift of μ(δ) on a subset of the rows; by default on all of them, by passes if they are not in memory."""
    if subset is None:
        if not rows.in_memory:
            return LiftByPasses(rows, delta, target)
        subset = rows.take(slice(None))
    mu = np.exp(subset.features @ delta + subset.log_base - summary.log_z)
    return Lift(subset, mu, rows.origin, target, rows.shift_size)
