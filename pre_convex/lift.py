"""[LIFT]: weights next to the tilted ones that have exactly the moment asked for, and what moving there costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from operator import add
from typing import NamedTuple

import numpy as np

from .entropy import Array, exp, log_of, tilting_cost
from .linear import inverse_psd, least_squares, solve_psd, without_noise
from .passes import WIDE, Rows, Summary, support, tilt

__all__ = ["Lift", "LiftByPasses", "lift_at", "nudged"]

#: total weight that a lift may gain or lose to round-off before that is taken out of it
STRAY = 1e-15
#: error of a sum, as a share of the size of what is added
ROUND_OFF = 4.0 * float(np.finfo(float).eps)


#: share of the largest weight below which a weight is left alone when others are nudged
HEAVY = 1e-8


class Correction(NamedTuple):
    """The c_j = ⟨F_j − m, d⟩ of a lift, and the round-off that is left of what it should move and of Σ μ_j c_j = 0."""

    c: Array
    left: Array
    d: Array
    stray: float


class Lift:
    """[LIFT] on some rows: corrections c that keep the total weight and move the moment by given amounts.

    ``reached`` is the size of the features relative to the origin, of which the round-off of logits is a share, and
    ``size`` that of the features as they were given, whose own last digits need not agree; ``digit`` is the last one of
    the target, which may be far from all rows where there is a radius.
    """

    def __init__(self, rows: Rows, mu: Array, origin: Array | None = None, target: Array | float = 0.0) -> None:
        self.features, self.mu = rows.features, mu
        self.total = float(mu.sum()) or 1.0
        self.mean = (mu @ rows.features) / self.total
        work = partial(_scatter, mu=mu, mean=self.mean, start=rows.start)
        scatter = rows.reduce(work, add, max(1.0, self.mean.size / WIDE))
        self.scatter = without_noise(scatter / self.total, self.mean) * self.total
        spread = np.sqrt(np.maximum(self.scatter.diagonal(), 0.0) / self.total)
        self.reached = np.abs(self.mean) + spread
        self.size = self.reached + (0.0 if origin is None else np.abs(origin))
        self.digit = ROUND_OFF * np.abs(target)

    def correction(self, u: Array) -> Correction | None:
        """The c with Σ μ_j c_j = 0 and Σ μ_j c_j F_j = u; ``None`` where there is none."""
        allowed = 1e-13 * (np.abs(u) + self.size) + self.digit
        with np.errstate(over="ignore", invalid="ignore"):
            # the scatter squares the condition of F; its factor, which comes next, does not
            for solve in (self._by_scatter, self._by_factor, self._by_size):
                c, d, left = np.zeros(len(self.mu)), np.zeros(u.size), u
                for _ in range(2):  # the second round refines the first
                    step = solve(left)
                    more = self._heights(step)
                    c += more - (self.mu @ more) / self.total
                    d += step
                    moved = self.mu * c
                    stray = float(moved.sum())
                    if abs(stray) > STRAY:  # the mean of huge corrections of rows of tiny weight was round-off
                        c -= stray / self.total
                        moved = self.mu * c
                        stray = float(moved.sum())
                    # in every column: one whose variance is nothing but round-off may be moved by rows of tiny weight
                    left = u - (moved @ self.features - stray * self.mean)
                    if np.all(np.abs(left) <= allowed) and abs(stray) <= 100.0 * STRAY:
                        return Correction(c, np.abs(left), d, abs(stray))
        return None

    def cost(self, u: Array) -> tuple[float, Array] | None:
        """KL(μ' ‖ μ) of the correction that moves the moment by u, and the round-off that is left of u."""
        lifted = self.correction(u)
        if lifted is None:
            return None
        # the closer a weight comes to zero, the more it costs to go on
        steep = max(1.0, -log_of(max(1.0 + float(lifted.c.min(initial=0.0)), 1e-300)))
        round_off = lifted.stray + steep * price(lifted.left, lifted.d, self.reached)
        return tilting_cost(self.mu, lifted.c) + round_off, lifted.left

    def multiplier(self, slope: Array) -> Array:
        """λ such that to move the moment by u changes the sum of what has this slope in μ by ⟨λ, u⟩, to first order."""
        return self._inverse((self.mu * slope) @ self.features - (self.mu @ slope) * self.mean)

    def reach(self, v: Array) -> float:
        """Largest |⟨F_j − m, v⟩|."""
        return float(np.abs(self._heights(v)).max(initial=0.0))

    def _heights(self, v: Array) -> Array:
        """⟨F_j − m, v⟩."""
        return np.asarray(self.features @ v - self.mean @ v)

    def _by_scatter(self, u: Array) -> Array:
        return self._inverse(u)

    @cached_property
    def _inverse(self) -> Callable[[Array], Array]:
        """Of the scatter, factored once for all points that are tried."""
        return inverse_psd(self.scatter)

    @cached_property
    def _root(self) -> Array:
        """Rows whose products are the scatter."""
        return np.where(self.scatter.diagonal() > 0.0, self.features - self.mean, 0.0) * np.sqrt(self.mu)[:, None]

    def _by_factor(self, u: Array) -> Array:
        return least_squares(self._root, u[:, None])[:, 0]

    def _by_size(self, u: Array) -> Array:
        """Where the rows do not span all columns, what is left of u goes where last digits are the largest."""
        return least_squares(self._root, u[:, None], self.size)[:, 0]


def price(left: Array, d: Array, reached: Array) -> float:
    """What round-off that is left of a lift along d may cost beside ⟨δ, left⟩: to go on lifting costs ⟨d, left⟩.

    What is left is known up to the round-off of a moment of features of this size.
    """
    return 2.0 * float((left + ROUND_OFF * reached) @ np.abs(d))


def _scatter(rows: Rows, mu: Array, mean: Array, start: int) -> Array:
    """Σ_j μ_j (F_j − m)(F_j − m)' of a part of the rows."""
    total, own = np.zeros((mean.size, mean.size)), mu[rows.start - start :]
    for block, f in rows.blocks(rows.long_block_rows):
        g = f - mean
        g *= np.sqrt(own[block, None])
        total += g.T @ g
    return total


class LiftByPasses:
    """[LIFT] on all rows, without ever having them at hand; the cost is bounded, not computed.

    A correction that changes no weight by more than the share c ≤ 1 costs at most ½(1 + c) d'Hd.
    """

    def __init__(self, rows: Rows, delta: Array, target: Array | float = 0.0) -> None:
        self.rows, self.total = rows, 1.0
        summary = tilt(rows, delta)
        assert summary.covariance is not None  # it was asked for
        self.mean, self.scatter = summary.mean, summary.covariance
        spread = np.sqrt(np.maximum(self.scatter.diagonal(), 0.0))
        self.reached = np.abs(self.mean) + spread
        self.size = self.reached + (0.0 if rows.origin is None else np.abs(rows.origin))
        self.digit = ROUND_OFF * np.abs(target)

    def cost(self, u: Array) -> tuple[float, Array] | None:
        """Bound of KL(μ' ‖ μ) for the correction that moves the moment by u, and the round-off that is left of u."""
        d = solve_psd(self.scatter, u)
        left = np.abs(u - self.scatter @ d)
        if np.any(left > 1e-13 * (np.abs(u) + self.size) + self.digit):
            return None
        change = self.reach(d)
        cost = 0.5 * (1.0 + change) * float(d @ self.scatter @ d) + price(left, d, self.reached)
        return (cost, left) if change <= 1.0 else None

    def reach(self, v: Array) -> float:
        """Largest |⟨F_j − m, v⟩|, from a pass."""
        both = np.column_stack([v, -v])
        return float((support(self.rows, both, 1)[0] - self.mean @ both).max())


def nudged(features: Array, mu: Array, size: Array) -> Array:
    """Weights moved such that their moment is as close to zero as rows with some weight bring it, as in [LIFT].

    What cannot be reached is left where ``size``, of which last digits are a share, is large.
    """
    heavy = mu > HEAVY * mu.max()
    rest = mu[~heavy] @ features[~heavy]
    features = features[heavy]
    for _ in range(2):
        own = mu[heavy]
        away = features - own @ features / own.sum()
        step = least_squares(away * np.sqrt(own)[:, None], -(own @ features + rest)[:, None], size)[:, 0]
        moved = own * (1.0 + away @ step)
        if not np.all(moved > 0.0):
            break
        mu = mu.copy()
        mu[heavy] = moved
        mu /= mu.sum()
    return mu


def lift_at(rows: Rows, delta: Array, summary: Summary, some: Rows | None, target: Array) -> Lift | LiftByPasses:
    """The lift on some rows, or on all: with one weight for each if they are in memory, otherwise by passes."""
    if some is None:
        if not rows.in_memory:
            return LiftByPasses(rows, delta, target)
        some = rows.take(slice(None))
    return Lift(some, exp(some.features @ delta + some.log_base - summary.log_z), rows.origin, target)
