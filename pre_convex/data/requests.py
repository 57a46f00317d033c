"""Requests that solvers make to the rows, and their answers for one problem.

Newton and the certificate are generators: they yield a request and are sent its answer. :class:`Alone` answers the
requests of one problem by passes over its rows, in memory or not; :class:`~pre_convex.data.batch.Together` collects
those of many problems that share F and answers them by matrix products. The mathematics is thus written once.

All answers are relative to the problem's target: the mean of a summary is F'μ − b, the gradient of ℓ.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._internal.typing import Array
from .passes import COVARIANCE_DOMINATES, column_ranges, support, tilt
from .rows import Rows

__all__ = [
    "ALL",
    "Alone",
    "Draw",
    "Height",
    "Level",
    "Lowest",
    "Outermost",
    "Ranges",
    "Requests",
    "Sizes",
    "Tilt",
    "Whiten",
    "Whitened",
]

Result = TypeVar("Result")
#: a generator that yields requests and returns a result
Requests: TypeAlias = Generator[Any, Any, Result]


class Level(NamedTuple):
    """Some of the rows: number 0 is all of them, the others were drawn by :class:`Draw`."""

    number: int
    size: int


#: number of the level that holds all rows
ALL = 0
#: log of the smallest weight that counts as positive
UNDERFLOW = -745.0


@dataclass(frozen=True, eq=False, slots=True)
class Tilt:
    """Log Z, mean and, if asked for, covariance of F − b under μ(δ), on the rows of one level; answer: Summary.

    ``weighted`` makes the rows of a sample count for all rows; otherwise they keep the weights that they have among all
    rows. ``guess`` is an approximate log Z, which only affects speed. ``rough`` allows float32 arithmetic, where that
    is faster: six digits are enough far from the solution.
    """

    delta: Array
    covariance: bool = False
    level: int = ALL
    weighted: bool = True
    guess: float = 0.0
    rough: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Lowest:
    """Smallest ⟨d, F_j − b⟩ over the rows of one level whose weight μ_j(δ) does not underflow; answer: float."""

    delta: Array
    log_z: float
    d: Array
    level: int = ALL


@dataclass(frozen=True, eq=False, slots=True)
class Sizes:
    """How large the numbers are that passes over all rows add up; answer: Reach."""


@dataclass(frozen=True, eq=False, slots=True)
class Ranges:
    """Smallest and largest entry of each column of F − b, over the rows of one level.

    Answer: two arrays, or ``None`` from a batch for all rows.
    """

    level: int = ALL


@dataclass(frozen=True, eq=False, slots=True)
class Whiten:
    """Moments of Y_j = V (F_j − b + r) under μ(δ), over all rows; answer: Whitened, or ``None`` from a batch.

    Rows are centred before they are multiplied, so that coordinates in which nearly equal columns cancel are as
    accurate as the columns themselves.
    """

    delta: Array
    log_z: float
    V: Array
    r: Array


class Whitened(NamedTuple):
    """Answer to :class:`Whiten`.

    Attributes
    ----------
    mean, second : ndarrays of shape (r,) and (r, r)
        Σ μ_j Y_j and Σ μ_j Y_j Y_j'.
    low, high : ndarrays of shape (r,)
        Smallest and largest Y_ji over the rows with positive base weight.
    squares : ndarray of shape (k,)
        Σ μ_j (F_j − b + r)², column by column.
    """

    mean: Array
    second: Array
    low: Array
    high: Array
    squares: Array

    @property
    def peak(self) -> Array:
        """Largest |Y_ji|."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def some(self, index: NDArray[np.bool_]) -> Whitened:
        """Some of the coordinates."""
        return Whitened(
            self.mean[index], self.second[np.ix_(index, index)], self.low[index], self.high[index], self.squares
        )

    def __add__(self, other: Whitened) -> Whitened:  # type: ignore[override]
        return Whitened(
            self.mean + other.mean,
            self.second + other.second,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.squares + other.squares,
        )


@dataclass(frozen=True, eq=False, slots=True)
class Outermost:
    """Rows that lie far out in all directions; answer: F_j − b and a_j + ⟨δ, F_j − b⟩, or ``None`` from a batch."""

    delta: Array


@dataclass(frozen=True, eq=False, slots=True)
class Height:
    """Largest ⟨v, F_j − b⟩ over the rows of one level that have weight; answer: float."""

    direction: Array
    level: int = ALL


@dataclass(frozen=True, eq=False, slots=True)
class Draw:
    """A new level of about ``size`` rows; answer: Level.

    From all rows they are drawn at random, heavy ones with higher probability; from another level, evenly spaced.
    """

    size: int
    source: int = ALL
    at_random: bool = True


class Alone:
    """Answers the requests of one problem."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.weighted = [rows], [rows]

    def run(self, generator: Requests[Result]) -> Result:
        """Run a generator to its end."""
        answer = None
        while True:
            try:
                request = generator.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            answer = self._answer(request)

    def _answer(self, request: Any) -> Any:
        match request:
            case Tilt():
                rows = (self.weighted if request.weighted else self.rows)[request.level]
                return tilt(rows, request.delta, covariance=request.covariance, rough=request.rough)
            case Lowest():
                return lowest(self.rows[request.level], request)
            case Sizes():
                return self.rows[ALL].reach
            case Ranges():
                return column_ranges(self.rows[request.level])
            case Whiten():
                return self.rows[ALL].reduce(
                    partial(_whiten, request=request), add, cost=max(1.0, request.r.size / COVARIANCE_DOMINATES)
                )
            case Outermost():
                return outermost(self.rows[ALL], request.delta)
            case Height():
                return float(support(self.rows[request.level], request.direction[:, None], 1)[0][0])
            case Draw():
                return self._draw(request)

    def _draw(self, request: Draw) -> Level:
        if request.at_random:
            subset = self.rows[ALL].subset(request.size)
            rows, weighted = subset.rows, subset.weighted
        else:
            rows = weighted = self.rows[request.source].sample(request.size)
        self.rows.append(rows)
        self.weighted.append(weighted)
        return Level(len(self.rows) - 1, rows.shape[0])


def outermost(rows: Rows, delta: Array) -> tuple[Array, Array]:
    """Answer to :class:`Outermost`: rows that are highest in some random directions, and in those of the axes."""
    low, high = column_ranges(rows)
    scale = np.where(high > low, high - low, 1.0)
    directions = np.random.default_rng(0).normal(size=(2 * delta.size + 8, delta.size))
    directions = np.concatenate([np.eye(delta.size), -np.eye(delta.size), directions, -directions]) / scale
    some = rows.take(support(rows, directions.T, 1)[1])
    return some.features, some.features @ delta + some.log_base


def lowest(rows: Rows, request: Lowest) -> float:
    """Answer to :class:`Lowest` by one pass over the rows."""
    both = np.column_stack([request.delta, request.d])
    shift = np.zeros(2) if rows.shift is None else rows.shift @ both
    floor = request.log_z + shift[0] + UNDERFLOW
    return float(rows.reduce(partial(_lowest, both=both, floor=floor), min) - shift[1])


def _lowest(rows: Rows, both: Array, floor: float) -> float:
    low = math.inf
    for chunk, f in rows.shifted_chunks():
        z = f @ both
        low = min(low, float(z[:, 1].min(initial=math.inf, where=z[:, 0] + rows.log_base[chunk] > floor)))
    return low


def _whiten(rows: Rows, request: Whiten) -> Whitened:
    V, delta, r = request.V, request.delta, len(request.V)
    found = Whitened(np.zeros(r), np.zeros((r, r)), np.full(r, np.inf), np.full(r, -np.inf), np.zeros(delta.size))
    for chunk, f in rows.chunks(rows.long_chunk_rows):
        mu = f @ delta
        mu += rows.log_base[chunk]
        mu -= request.log_z
        np.exp(mu, out=mu)
        f = f + request.r
        Y = f @ V.T
        inside = np.ones(len(f), dtype=bool) if rows.uniform else rows.log_base[chunk] > -math.inf
        seen = Y if inside.all() else Y[inside]
        low, high = seen.min(axis=0, initial=np.inf), seen.max(axis=0, initial=-np.inf)
        squares = mu @ np.square(f, out=f)
        mean = mu @ Y
        Y *= np.sqrt(mu)[:, None]
        found += Whitened(mean, Y.T @ Y, low, high, squares)
    return found
