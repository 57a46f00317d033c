"""Moments that weights can have, as mixtures of a few of them: rows, or corners of the weights that bounds allow.

All moments are relative to the target. With few rows all of them are here from the start, each with the bounds of its
weight. With many, every pass over the data adds those that are highest in a direction.
"""

from __future__ import annotations

import numpy as np

from .._internal.linear_algebra import EPS
from .._internal.typing import Array
from ..data.affine_span import TARGET_NOISE
from ..data.linked import capped_support, capped_weights, linked_scores
from ..data.passes import column_ranges, support, weighted_sum
from ..penalties.radius import radius_value
from ..problem import RatioProblem
from .capped import ROUND_OFF

__all__ = ["Reachable"]

#: problems of at most this many rows are solved with all of them
FEW_ROWS = 2000
#: rows that a pass adds
ROWS_PER_PASS = 64


class Reachable:
    """Moments F'μ − b that the weights of a problem can have, found so far.

    Parameters
    ----------
    problem : RatioProblem
        Its bounds limit the weights; its radius counts in :meth:`separates`.
    few : int, optional
        Problems of at most this many rows have all of them as points from the start.

    Attributes
    ----------
    points : ndarray of shape (m, k)
        Moments relative to the target; mixtures of them are reachable.
    lower, upper : ndarray of shape (m,)
        Bounds on their weights in a mixture.
    lowest, highest : ndarray of shape (k,)
        Ranges of the rows relative to the target.
    spread : ndarray of shape (k,)
        Ranges of the columns.
    unit : ndarray of shape (k,)
        The same; the size of a column that is constant up to round-off.
    size : ndarray of shape (k,)
        Largest entry of each column and of the target before the target was subtracted.
    reach : ndarray of shape (k,)
        Largest numbers that sums over a column are made of, the unit of their round-off.
    directions : ndarray of shape (m, k)
        With bounds and many rows: the directions in which the points are highest.
    passes : int
        Passes over the data.
    """

    def __init__(self, problem: RatioProblem, few: int | None = None) -> None:
        self.problem, self.passes = problem, 1
        rows = problem.rows
        self.lowest, self.highest = column_ranges(rows)
        reach = np.maximum(np.abs(self.lowest), np.abs(self.highest))
        self.reach = reach + 2.0 * rows.shift_size
        size = reach + (0.0 if rows.origin is None else np.abs(rows.origin))
        self.size = np.where(size > 0.0, size, 1.0)
        self.spread = self.highest - self.lowest
        self.unit = np.where(self.spread > TARGET_NOISE * self.size, self.spread, self.size)
        self.complete = problem.n_q <= (FEW_ROWS if few is None else few)
        self._seen = np.zeros(0, dtype=np.intp)
        if self.complete:
            part = rows.take(slice(None))
            pi = np.exp(part.log_base)
            link, used = problem.link, np.flatnonzero(pi > 0.0)
            pi = pi[used] / pi.sum()
            self.points = part.features[used]
            bounds = (np.broadcast_to(x, len(part.features))[used] for x in (link.lower, link.upper))
            self._base, self._link = pi, link.take(used)
            self.lower, self.upper = (np.minimum(pi * x, 1.0) for x in bounds)
        else:
            self.points = self.directions = np.zeros((0, problem.k))
            self.add(np.vstack([np.eye(problem.k), -np.eye(problem.k)]) / self.unit)

    def add(self, directions: Array) -> tuple[Array, int]:
        """Heights h(v) of some directions, one in each row, and how many moments near them were added."""
        if self.complete:
            if not self.problem.link.bounded:
                return np.asarray((self.points @ directions.T).max(axis=0)), 0
            return np.array([capped_support(self.points @ v, self._base, self._link) for v in directions]), 0
        self.passes += len(directions) if self.problem.link.bounded else 1
        if self.problem.link.bounded:
            heights, new = self._corners(directions)
        else:
            heights, index = support(self.problem.rows, directions.T, max(1, ROWS_PER_PASS // len(directions)))
            fresh = np.setdiff1d(index, self._seen)
            self._seen = np.append(self._seen, fresh)
            new = self.problem.rows.take(fresh).features
        self.points = np.concatenate([self.points, new])
        self.lower, self.upper = np.zeros(len(self.points)), np.ones(len(self.points))
        return heights, len(new)

    def _corners(self, directions: Array) -> tuple[Array, Array]:
        """Heights and moments of the weights that are highest in each direction."""
        corners = [self.corner(v) for v in directions]
        new: list[Array] = []
        for v, (_, mu) in zip(directions, corners, strict=True):
            moment = weighted_sum(self.problem.rows, mu)
            if not np.any(np.all(np.vstack([self.points, *new]) == moment, axis=1)):
                new.append(moment)
                self.directions = np.vstack([self.directions, v])
        return np.array([height for height, _ in corners]), np.reshape(new, (-1, self.problem.k))

    def corner(self, v: Array) -> tuple[float, Array]:
        """h(v) = max ⟨v, F'μ − b⟩ within the bounds, and the weights of all rows that attain it."""
        z, pi = linked_scores(self.problem.rows, np.append(0.0, v))
        return capped_weights(z, pi / pi.sum(), self.problem.link)

    def round_off(self, v: Array) -> float:
        """Bound on the round-off of a height."""
        unit = ROUND_OFF if self.problem.link.bounded else EPS
        return (self.problem.k + 8) * unit * float(np.abs(v) @ self.reach)

    def separates(self, v: Array, height: float) -> bool:
        """Whether v proves that no weights match the target: h(v) + g(v) < 0 by more than round-off."""
        relaxation = radius_value(self.problem.radius, self.problem.moment_norm, v)
        error = self.round_off(v) + (self.problem.k + 8) * EPS * relaxation
        return bool(-height - relaxation > error + TARGET_NOISE * float(np.abs(v) @ self.size))
