"""What a solver asks of the rows, and the answers for one problem.

Newton and the certificate are generators: they yield a request and are sent its answer. :class:`Alone` answers the
requests of one problem by passes over its rows, in memory or not; :class:`~pre_convex.data.batch.Together` collects
those of many problems that share F and answers them by matrix products. So the mathematics is written once.

All answers are relative to the problem's target: the mean of a summary is F'μ − b, the gradient of ℓ.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from .._internal.typing import Array
from .passes import support, tilt
from .rows import Rows

__all__ = ["ALL", "Alone", "Draw", "Height", "Level", "Push", "Pushed", "Requests", "Tilt"]

Result = TypeVar("Result")
#: a generator that yields requests and returns a result
Requests: TypeAlias = Generator[Any, Any, Result]


class Level(NamedTuple):
    """Some of the rows: number 0 is all of them, the others were drawn by :class:`Draw`."""

    number: int
    size: int


#: number of the level that holds all rows
ALL = 0


@dataclass(frozen=True, eq=False, slots=True)
class Tilt:
    """Log Z, mean and, if asked for, covariance of F − b under μ(δ), on the rows of one level; answer: Summary.

    ``weighted`` makes the rows of a sample count for all rows; otherwise they keep the weights that they have among all
    rows. ``guess`` is an approximate log Z, which only affects speed.
    """

    delta: Array
    covariance: bool = False
    level: int = ALL
    weighted: bool = True
    guess: float = 0.0


@dataclass(frozen=True, eq=False, slots=True)
class Push:
    """Effect of changing the weights μ_j(δ) to μ_j (1 + c_j), c_j = ⟨F_j − centre, d⟩; answer: Pushed."""

    delta: Array
    log_z: float
    centre: Array
    d: Array
    level: int = ALL


class Pushed(NamedTuple):
    """Σ μ_j c_j (F_j − centre), Σ μ_j c_j, Σ μ_j c_j², and the smallest c_j of a row that has weight."""

    moved: Array
    drift: float
    squares: float
    lowest: float


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
                return tilt(rows, request.delta, covariance=request.covariance)
            case Push():
                return push(self.rows[request.level], request)
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


def push(rows: Rows, request: Push) -> Pushed:
    """Answer to :class:`Push` by one pass over the rows."""
    both, centre, log_z = np.array([request.delta, request.d]).T, request.centre, request.log_z
    if rows.shift is not None:
        centre, log_z = centre + rows.shift, log_z + float(rows.shift @ request.delta)
    offsets = (-log_z, -float(centre @ request.d))
    moved, drift, squares, lowest = rows.reduce(partial(_push, both=both, offsets=offsets), _merge_pushed)
    return Pushed(moved - centre * drift, drift, squares, lowest)


def _push(rows: Rows, both: Array, offsets: tuple[float, float]) -> tuple[Array, float, float, float]:
    moved, drift, squares, lowest = np.zeros(len(both)), 0.0, 0.0, math.inf
    for chunk, f in rows.shifted_chunks():
        z = f @ both
        c = z[:, 1] + offsets[1]
        mu = z[:, 0] + rows.log_base[chunk]
        mu += offsets[0]
        np.exp(mu, out=mu)
        lowest = min(lowest, float(c.min(initial=math.inf, where=mu > 0.0)))
        mu *= c
        drift += float(mu.sum())
        squares += float(mu @ c)
        moved += mu @ f
    return moved, drift, squares, lowest


def _merge_pushed(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], min(one[3], other[3])
