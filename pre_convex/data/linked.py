"""Passes for a divergence with bounds: value, gradient and curvature of [P] at θ = (c, δ), and lifts of its weights.

All are relative to the target: with s_j = c + ⟨δ, F_j − b⟩ and weights μ_j = π_j t(s_j) of [LINK], the loss is
−c + Σ_j π_j ψ(s_j), its gradient (Σμ − 1, (F − b)'μ), and its Hessian Σ_j κ_j [1, F_j − b][1, F_j − b]'. So the
intercept is one more coordinate, with a column of ones, and a :class:`~pre_convex.data.passes.Summary` holds the
answers, with ``log_z`` as the loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from operator import add, itemgetter
from typing import Any, NamedTuple

import numpy as np

from .._internal.typing import Array
from ..divergences import Link
from .passes import COVARIANCE_DOMINATES, Summary
from .requests import ALL, Alone, Draw, Height, Level, Tilt
from .rows import Rows

__all__ = [
    "LinkedRows",
    "Magnitude",
    "Move",
    "Moved",
    "Reach",
    "Room",
    "capped_support",
    "intercept_at",
    "linked_scores",
    "linked_tilt",
    "linked_weights",
]


@dataclass(frozen=True, eq=False, slots=True)
class Room:
    """Σ_j ω_j [1, F_j − b][1, F_j − b]' with ω_j = π_j room(t_j), the curvature of a lift; answer: ndarray."""

    theta: Array
    level: int = ALL


@dataclass(frozen=True, eq=False, slots=True)
class Move:
    """Effect of changing the weights μ_j by ω_j x_j, x_j = ⟨[1, F_j − b], d⟩; answer: Moved."""

    theta: Array
    d: Array
    level: int = ALL


class Moved(NamedTuple):
    """What a lift does.

    Attributes
    ----------
    moment : ndarray of shape (k + 1,)
        Σ_j ω_j x_j [1, F_j − b].
    cost : float
        Σ of the rows' Fenchel–Young gaps, [FY].
    furthest : float
        Largest |x_j| of a row with room; below one, all ratios stay strictly within their bounds.
    size : ndarray of shape (k + 1,)
        Σ_j |ω_j x_j| |[1, F_j − b]|, which the round-off of the moment is proportional to.
    """

    moment: Array
    cost: float
    furthest: float
    size: Array


@dataclass(frozen=True, eq=False, slots=True)
class Magnitude:
    """Sums of absolute values at θ, which round-off is proportional to; answer: (of the value, of each moment)."""

    theta: Array


@dataclass(frozen=True, eq=False, slots=True)
class Reach:
    """Largest t at which all s_j along θ + t d are below the limit of the divergence; answer: float."""

    theta: Array
    d: Array
    level: int = ALL


def linked_tilt(rows: Rows, link: Link, theta: Array, *, covariance: bool = True) -> Summary:
    """One pass at θ = (c, δ): loss, gradient and, optionally, Hessian.

    Parameters
    ----------
    rows : Rows
        The q side, n rows and k columns.
    link : Link
        Divergence and bounds of these rows.
    theta : ndarray of shape (k + 1,)
        (c, δ) for rows relative to their origin.
    covariance : bool, default True
        Whether to compute the Hessian as well.

    Returns
    -------
    Summary
        Loss as ``log_z``, gradient as ``mean``, Hessian as ``covariance``, and effective sample size of the weights.
    """
    cost = max(1.0, rows.shape[1] / COVARIANCE_DOMINATES) if covariance else 1.0
    parts = rows.reduce(partial(_tilt, link=link, theta=theta, covariance=covariance), _add_each, cost)
    loss, squares, moment, gram = parts
    gradient = _shifted_moment(moment, rows)
    ess = moment[0] ** 2 / squares if squares > 0.0 else math.nan
    gradient[0] -= 1.0
    H = _shifted_gram(gram, rows) if covariance else None
    return Summary(float(loss - theta[0]), gradient, H, ess)


def _offset(rows: Rows, theta: Array) -> float:
    """What to add to ⟨δ, f⟩ of features f that the shift is not subtracted from."""
    return float(theta[0]) - (0.0 if rows.shift is None else float(rows.shift @ theta[1:]))


def _link_of(rows: Rows, link: Link) -> Link:
    """The link of a block of rows."""
    return link.take(slice(rows.start, rows.start + rows.shape[0]))


def _base(rows: Rows, chunk: slice) -> Array:
    """Base weights π of a chunk."""
    return np.asarray(np.exp(rows.log_base[chunk]))


@np.errstate(over="ignore", invalid="ignore")
def _tilt(rows: Rows, link: Link, theta: Array, covariance: bool) -> tuple[Any, ...]:
    k, offset, link = rows.shape[1], _offset(rows, theta), _link_of(rows, link)
    loss, squares, moment = 0.0, 0.0, np.zeros(k + 1)
    gram = np.zeros((k + 1, k + 1)) if covariance else np.zeros((0, 0))
    for chunk, f in rows.shifted_chunks(rows.long_chunk_rows if covariance else 0):
        here, pi = link.take(chunk), _base(rows, chunk)
        s = f @ theta[1:]
        s += offset
        mu = _weighted(pi, here.ratio(s))
        loss += float(_weighted(pi, here.conjugate(s)).sum())
        squares += float(mu @ mu)
        moment[0] += mu.sum()
        moment[1:] += mu @ f
        if covariance:
            _add_gram(gram, _weighted(pi, here.curvature(s)), f)
    return loss, squares, moment, gram


def _weighted(pi: Array, x: Array) -> Array:
    """π x, and zero where π is zero, even if x is infinite."""
    product: Array = pi * x
    return product if pi.all() else np.where(pi > 0.0, product, 0.0)


def _add_gram(gram: Array, weights: Array, f: Array) -> None:
    """Add Σ w [1, f][1, f]' to a matrix."""
    gram[0, 0] += weights.sum()
    cross = weights @ f
    gram[0, 1:] += cross
    gram[1:, 0] += cross
    g = f * np.sqrt(weights)[:, None]
    gram[1:, 1:] += g.T @ g


def _add_each(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _shifted_moment(moment: Array, rows: Rows) -> Array:
    """Σ m [1, F − b] from Σ m [1, f]."""
    moment = moment.copy()
    if rows.shift is not None:
        moment[1:] -= moment[0] * rows.shift
    return moment


def _shifted_gram(gram: Array, rows: Rows) -> Array:
    """Σ w [1, F − b][1, F − b]' from Σ w [1, f][1, f]'."""
    if rows.shift is None:
        return gram
    T = np.eye(len(gram))
    T[1:, 0] = -rows.shift
    return np.asarray(T @ gram @ T.T)


@np.errstate(over="ignore", invalid="ignore")
def _room(rows: Rows, link: Link, theta: Array) -> Array:
    k, offset, link = rows.shape[1], _offset(rows, theta), _link_of(rows, link)
    gram = np.zeros((k + 1, k + 1))
    for chunk, f in rows.shifted_chunks(rows.long_chunk_rows):
        here = link.take(chunk)
        _add_gram(gram, _weighted(_base(rows, chunk), here.room(here.ratio(f @ theta[1:] + offset))), f)
    return gram


@np.errstate(over="ignore", invalid="ignore")
def _move(rows: Rows, link: Link, theta: Array, d: Array) -> tuple[Any, ...]:
    k, offset, link = rows.shape[1], _offset(rows, theta), _link_of(rows, link)
    moment, size, cost, furthest = np.zeros(k + 1), np.zeros(k + 1), 0.0, 0.0
    both, add_d = np.column_stack([theta[1:], d[1:]]), _offset(rows, d)
    shift = 0.0 if rows.shift is None else rows.shift
    for chunk, f in rows.shifted_chunks():
        here, pi = link.take(chunk), _base(rows, chunk)
        z = f @ both
        s, x = z[:, 0] + offset, z[:, 1] + add_d
        t = here.ratio(s)
        room = here.room(t)
        change = room * x
        cost += float(_weighted(pi, here.gap(s, t, change)).sum())
        furthest = max(furthest, float(np.abs(x).max(initial=0.0, where=(room > 0.0) & (pi > 0.0))))
        moved = _weighted(pi, change)
        moment[0] += moved.sum()
        moment[1:] += moved @ f
        moved = np.abs(moved)
        size[0] += moved.sum()
        size[1:] += moved @ np.abs(f - shift)
    return moment, cost, furthest, size


def _merge_moves(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return one[0] + other[0], one[1] + other[1], max(one[2], other[2]), one[3] + other[3]


@np.errstate(over="ignore", invalid="ignore")
def _magnitude(rows: Rows, link: Link, theta: Array) -> tuple[float, Array]:
    k, offset, link = rows.shape[1], _offset(rows, theta), _link_of(rows, link)
    value, size = 0.0, np.zeros(k + 1)
    shift = 0.0 if rows.shift is None else rows.shift
    for chunk, f in rows.shifted_chunks():
        here, pi = link.take(chunk), _base(rows, chunk)
        s = f @ theta[1:] + offset
        mu = _weighted(pi, here.ratio(s))
        value += float(_weighted(pi, np.abs(here.conjugate(s))).sum() + mu @ np.abs(s))
        size[0] += mu.sum()
        size[1:] += mu @ np.abs(f - shift)
    return value, size


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _reach(rows: Rows, link: Link, theta: Array, d: Array) -> float:
    link, both = _link_of(rows, link), np.column_stack([theta[1:], d[1:]])
    offset, reach = np.array([_offset(rows, theta), _offset(rows, d)]), math.inf
    for chunk, f in rows.shifted_chunks():
        z = f @ both + offset
        free = np.isinf(link.take(chunk).upper) & (rows.log_base[chunk] > -np.inf) & (z[:, 1] > 0.0)
        way = (link.divergence.limit - z[:, 0]) / z[:, 1]
        reach = min(reach, float(way.min(initial=math.inf, where=free)))
    return reach


def linked_scores(rows: Rows, theta: Array) -> tuple[Array, Array]:
    """(s, π) of every row in order: s_j = c + ⟨δ, F_j − b⟩ and the base weights."""
    blocks = sorted(rows.reduce(partial(_scores, theta=theta), add), key=itemgetter(0))
    s, pi = (np.concatenate([block[i] for block in blocks]) for i in (1, 2))
    return s, pi


def _scores(rows: Rows, theta: Array) -> list[tuple[int, Array, Array]]:
    s, offset = np.empty(rows.shape[0]), _offset(rows, theta)
    for chunk, f in rows.shifted_chunks():
        s[chunk] = f @ theta[1:]
    s += offset
    return [(rows.start, s, np.exp(rows.log_base))]


def linked_weights(rows: Rows, link: Link, theta: Array) -> Array:
    """Weights μ of every row at θ = (c, δ), [LINK]."""
    s, pi = linked_scores(rows, theta)
    return _weighted(pi, link.ratio(s))


def intercept_at(rows: Rows, link: Link, delta: Array, guess: float = 0.0) -> float:
    """The c that is optimal for δ, for rows relative to their origin: weights sum to one."""
    z, pi = linked_scores(rows, np.append(0.0, delta))
    return link.intercept(z, pi, guess)


def capped_support(z: Array, pi: Array, link: Link) -> float:
    """Support function of the weights that bounds allow: max Σ μ_j z_j over Σμ = 1, lo ≤ μ_j/π_j ≤ hi.

    The lower bounds are given out first, and the rest to the highest rows up to their upper bounds.

    Examples
    --------
    >>> from pre_convex.divergences import get_divergence
    >>> capped_support(np.array([1.0, 2.0, 4.0]), np.full(3, 1 / 3), Link(get_divergence("kl"), 0.0, 1.5))
    3.0
    """
    positive = pi > 0.0
    z, pi = z[positive], pi[positive]
    lower, upper = (np.broadcast_to(x, positive.shape)[positive] for x in (link.lower, link.upper))
    least = pi * lower
    left = 1.0 - float(least.sum())
    order = np.argsort(-z)
    with np.errstate(invalid="ignore"):
        room = np.minimum((pi * (upper - lower))[order], max(left, 0.0))
    before = np.cumsum(room) - room
    given = np.clip(left - before, 0.0, room)
    return float(least @ z + given @ z[order])


class LinkedRows(Alone):
    """Answers the requests of one problem whose divergence is not KL, or that has bounds.

    Parameters
    ----------
    rows : Rows
        The q side.
    link : Link
        Divergence and bounds; samples of the rows need bounds that are the same for all rows.
    """

    def __init__(self, rows: Rows, link: Link) -> None:
        super().__init__(rows)
        self.link = link

    def _answer(self, request: Any) -> Any:
        match request:
            case Tilt():
                rows = (self.weighted if request.weighted else self.rows)[request.level]
                return linked_tilt(rows, self.link, request.delta, covariance=request.covariance)
            case Room():
                rows = self.rows[request.level]
                cost = max(1.0, rows.shape[1] / COVARIANCE_DOMINATES)
                gram = rows.reduce(partial(_room, link=self.link, theta=request.theta), add, cost)
                return _shifted_gram(gram, rows)
            case Move():
                rows = self.rows[request.level]
                work = partial(_move, link=self.link, theta=request.theta, d=request.d)
                moment, cost, furthest, size = rows.reduce(work, _merge_moves)
                return Moved(_shifted_moment(moment, rows), cost, furthest, size)
            case Magnitude():
                return self.rows[ALL].reduce(partial(_magnitude, link=self.link, theta=request.theta), _add_each)
            case Reach():
                reach = partial(_reach, link=self.link, theta=request.theta, d=request.d)
                return self.rows[request.level].reduce(reach, min)
            case Height():
                z, pi = linked_scores(self.rows[request.level], np.append(0.0, request.direction[1:]))
                return capped_support(z, pi / pi.sum(), self.link)
        return super()._answer(request)

    def _draw(self, request: Draw) -> Level:
        if self.link.per_row:  # a sample does not know which rows it has
            return Level(ALL, self.rows[ALL].shape[0])
        return super()._draw(request)
