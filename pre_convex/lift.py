"""[LIFT]: weights next to the tilted ones that have exactly the moment asked for, and what moving there costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from operator import add

import numpy as np

from .entropy import Array, exp, tilting_cost
from .linear import inverse_psd, least_squares, solve_psd, without_noise
from .passes import WIDE, Rows, Summary, support, tilt

__all__ = ["Lift", "LiftByPasses", "lift_at"]


class Lift:
    """[LIFT] on some rows: corrections c that keep the total weight and move the moment by given amounts."""

    def __init__(self, rows: Rows, mu: Array, origin: Array | None = None) -> None:
        self.features, self.mu = rows.features, mu
        self.total = float(mu.sum()) or 1.0
        self.mean = (mu @ rows.features) / self.total
        work = partial(_scatter, mu=mu, mean=self.mean, start=rows.start)
        scatter = rows.reduce(work, add, max(1.0, self.mean.size / WIDE))
        self.scatter = without_noise(scatter / self.total, self.mean) * self.total
        spread = np.sqrt(np.maximum(self.scatter.diagonal(), 0.0) / self.total)
        self.varies = spread > 0.0
        self.size = np.abs(self.mean) + spread + (0.0 if origin is None else np.abs(origin))

    def correction(self, u: Array) -> tuple[Array, Array] | None:
        """The c with Σ μ_j c_j = 0 and Σ μ_j c_j F_j = u, and the round-off that is left of u.

        ``None`` where there is no such c.
        """
        allowed = 1e-13 * (np.abs(u) + self.size)
        with np.errstate(over="ignore", invalid="ignore"):
            # the scatter squares the condition of F; its factor, which comes next, does not
            for solve in (self._by_scatter, self._by_factor):
                c, left = np.zeros(len(self.mu)), u
                for _ in range(2):  # the second round refines the first
                    more = self._heights(solve(left))
                    c += more - (self.mu @ more) / self.total
                    moved = self.mu * c
                    left = u - np.where(self.varies, moved @ self.features - moved.sum() * self.mean, 0.0)
                    if np.all(np.abs(left) <= allowed):
                        return c, np.abs(left)
        return None

    def cost(self, u: Array) -> tuple[float, Array] | None:
        """KL(μ' ‖ μ) of the correction that moves the moment by u, and the round-off that is left of u."""
        lifted = self.correction(u)
        return None if lifted is None else (tilting_cost(self.mu, lifted[0]), lifted[1])

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

    def _by_factor(self, u: Array) -> Array:
        root = np.where(self.varies, self.features - self.mean, 0.0) * np.sqrt(self.mu)[:, None]
        return least_squares(root, u[:, None])[:, 0]


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

    def __init__(self, rows: Rows, delta: Array) -> None:
        self.rows, self.total = rows, 1.0
        summary = tilt(rows, delta)
        assert summary.covariance is not None  # it was asked for
        self.mean, self.scatter = summary.mean, summary.covariance
        spread = np.sqrt(np.maximum(self.scatter.diagonal(), 0.0))
        self.size = np.abs(self.mean) + spread + (0.0 if rows.origin is None else np.abs(rows.origin))

    def cost(self, u: Array) -> tuple[float, Array] | None:
        """Bound of KL(μ' ‖ μ) for the correction that moves the moment by u, and the round-off that is left of u."""
        d = solve_psd(self.scatter, u)
        left = np.abs(u - self.scatter @ d)
        if np.any(left > 1e-13 * (np.abs(u) + self.size)):
            return None
        change = self.reach(d)
        return (0.5 * (1.0 + change) * float(d @ self.scatter @ d), left) if change <= 1.0 else None

    def reach(self, v: Array) -> float:
        """Largest |⟨F_j − m, v⟩|, from a pass."""
        both = np.column_stack([v, -v])
        return float((support(self.rows, both, 1)[0] - self.mean @ both).max())


def lift_at(rows: Rows, delta: Array, summary: Summary, some: Rows | None) -> Lift | LiftByPasses:
    """The lift on some rows, or on all: with one weight for each if they are in memory, otherwise by passes."""
    if some is None:
        if not rows.in_memory:
            return LiftByPasses(rows, delta)
        some = rows.take(slice(None))
    return Lift(some, exp(some.features @ delta + some.log_base - summary.log_z), rows.origin)
