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
from numpy.typing import NDArray

from .._internal.typing import Array, Index
from ..divergences import Link
from .passes import COVARIANCE_DOMINATES, Summary, support
from .requests import ALL, Alone, Draw, Height, Level, Tilt
from .rows import Rows

__all__ = [
    "Extremes",
    "LiftMoments",
    "LiftRequest",
    "LinkedRows",
    "Magnitude",
    "Magnitudes",
    "Room",
    "StepLimit",
    "capped_support",
    "capped_weights",
    "intercept_at",
    "linked_scores",
    "linked_tilt",
    "linked_weights",
]


@dataclass(frozen=True, eq=False, slots=True)
class Magnitude:
    """Sums of absolute values at θ, which round-off is proportional to; answer: Magnitudes."""

    theta: Array


class Magnitudes(NamedTuple):
    """Answer to :class:`Magnitude`; h_j = Σ_l |θ_l| |G_jl| bounds s_j, with G_j = [1, F_j − b].

    Attributes
    ----------
    value : float
        Σ_j π_j (|ψ(s_j)| + t_j h_j).
    moment : ndarray of shape (k + 1,)
        Σ_j μ_j |G_j|.
    change : ndarray of shape (k + 1,)
        Σ_j π_j t'_j h_j |G_j|, the effect of relative errors of s on the moments.
    largest : ndarray of shape (k + 1,)
        Largest |G_j| of a row with positive base weight.
    """

    value: float
    moment: Array
    change: Array
    largest: Array


@dataclass(frozen=True, eq=False, slots=True)
class Room:
    """Σ_j ω_j G_j G_j' with G_j = [1, F_j − b] and ω_j = π_j room(t_j), the curvature of a lift; answer: ndarray.

    ``accuracy`` is that of the s_j.
    """

    theta: Array
    accuracy: float
    level: int = ALL


@dataclass(frozen=True, eq=False, slots=True)
class LiftRequest:
    """Moments in the coordinates Y_j = V [1, F_j − b + r] of a lift, r_0 = 0; answer: LiftMoments.

    Rows are centred before they are multiplied, so that coordinates in which nearly equal columns cancel are as
    accurate as the columns themselves.
    """

    theta: Array
    accuracy: float
    V: Array
    r: Array
    level: int = ALL


class LiftMoments(NamedTuple):
    """Answer to :class:`LiftRequest`.

    Attributes
    ----------
    mean : ndarray of shape (r,)
        Σ_j μ_j Y_j over the rows of the level.
    second : ndarray of shape (r, r)
        Σ_j ω_j Y_j Y_j'.
    peak : ndarray of shape (r,)
        Largest |Y_ji| over the rows with positive base weight.
    low, high : ndarrays of shape (r,)
        Smallest and largest Y_ji over the rows with room; infinite without such rows.
    squares : ndarray of shape (k + 1,)
        Σ_j ω_j [1, F_j − b + r]².
    """

    mean: Array
    second: Array
    peak: Array
    low: Array
    high: Array
    squares: Array

    @property
    def moving(self) -> Array:
        """Largest |Y_ji| over the rows with room."""
        return np.maximum(np.maximum(-self.low, self.high), 0.0)

    def some(self, index: NDArray[np.bool_]) -> LiftMoments:
        """Some of the coordinates."""
        return LiftMoments(
            self.mean[index],
            self.second[np.ix_(index, index)],
            self.peak[index],
            self.low[index],
            self.high[index],
            self.squares,
        )


@dataclass(frozen=True, eq=False, slots=True)
class StepLimit:
    """Largest t at which all s_j along θ + t d are below the limit of the divergence; answer: float."""

    theta: Array
    d: Array
    level: int = ALL


@dataclass(frozen=True, eq=False, slots=True)
class Extremes:
    """A level together with the rows where s_j at θ is highest; answer: (Level, highest s_j over all rows).

    These are drawn with certainty, because a divergence with a limit may give a few of them a large weight.
    """

    theta: Array
    level: int
    count: int


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
    gradient[0] -= link.mass
    H = _shifted_gram(gram, rows) if covariance else None
    return Summary(float(loss - link.mass * theta[0]), gradient, H, ess)


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
    if pi.all():
        return np.asarray(pi * x)
    return np.multiply(pi, x, out=np.zeros_like(pi), where=pi > 0.0)


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
def _room(rows: Rows, link: Link, theta: Array, accuracy: float) -> Array:
    k, offset, link = rows.shape[1], _offset(rows, theta), _link_of(rows, link)
    gram = np.zeros((k + 1, k + 1))
    for chunk, f in rows.shifted_chunks(rows.long_chunk_rows):
        here = link.take(chunk)
        room = here.room(here.ratio(f @ theta[1:] + offset), accuracy)
        _add_gram(gram, _weighted(_base(rows, chunk), room), f)
    return gram


@np.errstate(over="ignore", invalid="ignore")
def _lift(rows: Rows, link: Link, request: LiftRequest) -> LiftMoments:
    link, theta, V, size = _link_of(rows, link), request.theta, request.V, len(request.V)
    mean, second, squares = np.zeros(size), np.zeros((size, size)), np.zeros(theta.size)
    peak, low, high = np.zeros(size), np.full(size, np.inf), np.full(size, -np.inf)
    for chunk, f in rows.chunks(rows.long_chunk_rows):
        here, pi = link.take(chunk), _base(rows, chunk)
        t = here.ratio(f @ theta[1:] + theta[0])
        f = f + request.r[1:]
        Y = f @ V[:, 1:].T + V[:, 0]
        omega = _weighted(pi, here.room(t, request.accuracy))
        mean += _weighted(pi, t) @ Y
        second += (Y * omega[:, None]).T @ Y
        moves = (omega > 0.0)[:, None]
        low = np.minimum(low, Y.min(axis=0, initial=np.inf, where=moves))
        high = np.maximum(high, Y.max(axis=0, initial=-np.inf, where=moves))
        peak = np.maximum(peak, np.abs(Y, out=Y).max(axis=0, initial=0.0, where=(pi > 0.0)[:, None]))
        squares[0] += omega.sum()
        squares[1:] += omega @ np.square(f)
    return LiftMoments(mean, second, peak, low, high, squares)


def _missing_mass(found: LiftMoments, link: Link, request: LiftRequest) -> LiftMoments:
    """The moments of weights that sum to one, if those of the link are differences from other such weights.

    In coordinates that vanish on all rows, moments may then be off by twice the largest entry and by V r.
    """
    if link.mass:
        return found
    V, relaxed = request.V, request.V[:, 1:] @ request.r[1:]
    return found._replace(mean=found.mean + (V[:, 0] + relaxed), peak=2.0 * found.peak + np.abs(relaxed))


def _merge_lifts(one: LiftMoments, other: LiftMoments) -> LiftMoments:
    return LiftMoments(
        one.mean + other.mean,
        one.second + other.second,
        np.maximum(one.peak, other.peak),
        np.minimum(one.low, other.low),
        np.maximum(one.high, other.high),
        one.squares + other.squares,
    )


@np.errstate(over="ignore", invalid="ignore")
def _magnitude(rows: Rows, link: Link, theta: Array) -> Magnitudes:
    k, offset, link = rows.shape[1], _offset(rows, theta), _link_of(rows, link)
    shift = np.zeros(k) if rows.shift is None else np.abs(rows.shift)
    value, moment, change, largest = 0.0, np.zeros(k + 1), np.zeros(k + 1), np.zeros(k + 1)
    size, largest[0] = np.abs(theta), 1.0
    for chunk, f in rows.shifted_chunks():
        here, pi = link.take(chunk), _base(rows, chunk)
        s = f @ theta[1:] + offset
        t, g = here.ratio(s), np.abs(f)
        g += shift
        h = g @ size[1:] + size[0] + np.abs(here.offset)
        value += float(_weighted(pi, np.abs(here.conjugate(s)) + np.abs(t) * h).sum())
        for total, weights in ((moment, _weighted(pi, np.abs(t))), (change, _weighted(pi, here.width(t) * h))):
            total[0] += weights.sum()
            total[1:] += weights @ g
        largest[1:] = np.maximum(largest[1:], g.max(axis=0, initial=0.0, where=(pi > 0.0)[:, None]))
    return Magnitudes(value, moment, change, largest)


def _merge_magnitudes(one: Magnitudes, other: Magnitudes) -> Magnitudes:
    sums = (one.value + other.value, one.moment + other.moment, one.change + other.change)
    return Magnitudes(*sums, np.maximum(one.largest, other.largest))


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
    """Weights μ of every row at θ = (c, δ), [LINK], for the best c; within the bounds.

    Near a divergence's limit ratios have the round-off of c many times over, and weights are scaled to sum to one.
    """
    s, pi = linked_scores(rows, theta)
    mu = _weighted(pi, link.ratio(s))
    if math.isfinite(link.divergence.limit) and np.all(np.isinf(link.upper)):
        least = pi * link.lower
        above = mu - least
        total = float(above.sum())
        mu = least + above * ((1.0 - float(least.sum())) / total) if 0.0 < total < math.inf else mu
    return mu


def intercept_at(rows: Rows, link: Link, delta: Array, guess: float = 0.0) -> float:
    """The c that is optimal for δ, for rows relative to their origin: weights sum to one."""
    z, pi = linked_scores(rows, np.append(0.0, delta))
    return link.intercept(z, pi, guess)


def capped_support(z: Array, pi: Array, link: Link) -> float:
    """Support function of the weights that bounds allow: max Σ μ_j z_j over Σμ = 1, lo ≤ μ_j/π_j ≤ hi.

    The lower bounds are given out first, and the rest to the highest rows up to their upper bounds, down to a height τ.
    The maximum is then τ + Σ_j max over these bounds of μ_j (z_j − τ). For any other τ that is more, so that round-off
    in the search for τ cannot make it too small.

    Examples
    --------
    >>> from pre_convex.divergences import get_divergence
    >>> capped_support(np.array([1.0, 2.0, 4.0]), np.full(3, 1 / 3), Link(get_divergence("kl"), 0.0, 1.5))
    3.0
    """
    return _capped(z, pi, link)[0]


def capped_weights(z: Array, pi: Array, link: Link) -> tuple[float, Array]:
    """The maximum of :func:`capped_support`, and weights that attain it; rows without base weight have none."""
    height, positive, order, least, given = _capped(z, pi, link)
    mu = np.zeros_like(pi)
    mu[positive] = least
    mu[positive[order]] += given
    return height, mu / mu.sum()


def _capped(z: Array, pi: Array, link: Link) -> tuple[float, Index, Index, Array, Array]:
    """Height, rows with base weight, their order, their least weights, and what is given beyond, in this order."""
    positive = np.flatnonzero(pi > 0.0)
    z, pi = z[positive], pi[positive]
    lower, upper = (x if np.ndim(x) == 0 else np.asarray(x)[positive] for x in (link.lower, link.upper))
    least = pi * lower
    left = max(1.0 - float(least.sum()), 0.0)
    order = np.argsort(-z, kind="stable")
    room = np.minimum((pi * (upper - lower))[order], left)
    before = np.cumsum(room) - room
    given = np.clip(left - before, 0.0, room)
    last = order[max(int(np.searchsorted(before, left)) - 1, 0)]
    above = z - z[last]
    with np.errstate(invalid="ignore"):
        most = np.where(above > 0.0, pi * upper * above, least * above)
    return float(z[last] + most.sum()), positive, order, least, given


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

    @property
    def _cost(self) -> float:
        """Work of a pass that adds up a matrix, in plain passes."""
        return max(1.0, self.rows[ALL].shape[1] / COVARIANCE_DOMINATES)

    def _answer(self, request: Any) -> Any:
        match request:
            case Tilt():
                rows = (self.weighted if request.weighted else self.rows)[request.level]
                return linked_tilt(rows, self.link, request.delta, covariance=request.covariance)
            case Room():
                rows = self.rows[request.level]
                work = partial(_room, link=self.link, theta=request.theta, accuracy=request.accuracy)
                return _shifted_gram(rows.reduce(work, add, self._cost), rows)
            case LiftRequest():
                lift = partial(_lift, link=self.link, request=request)
                found = self.rows[request.level].reduce(lift, _merge_lifts, self._cost)
                return _missing_mass(found, self.link, request)
            case Magnitude():
                sizes = partial(_magnitude, link=self.link, theta=request.theta)
                return self.rows[ALL].reduce(sizes, _merge_magnitudes)
            case StepLimit():
                reach = partial(_reach, link=self.link, theta=request.theta, d=request.d)
                return self.rows[request.level].reduce(reach, min)
            case Extremes():
                return self._with_extremes(request)
            case Height():
                z, pi = linked_scores(self.rows[request.level], np.append(0.0, request.direction[1:]))
                return capped_support(z, pi / pi.sum(), self.link)
        return super()._answer(request)

    def _with_extremes(self, request: Extremes) -> tuple[Level, float]:
        """Answer to :class:`Extremes`; no row is there twice, so that the level can be lifted."""
        delta, level = request.theta[1:], request.level
        highest, index = support(self.rows[ALL], delta[:, None], request.count)
        extremes = self.rows[ALL].take(index)
        heights = extremes.features @ delta
        below = self.rows[level].features @ delta < heights.min() - 1e-9 * np.abs(heights).max()
        features = np.concatenate([self.rows[level].features[below], extremes.features])
        for levels in (self.rows, self.weighted):
            levels.append(Rows(features, np.append(levels[level].log_base[below], extremes.log_base)))
        return Level(len(self.rows) - 1, len(features)), float(request.theta[0] + highest[0])

    def _draw(self, request: Draw) -> Level:
        if self.link.per_row:  # a sample does not know which rows it has
            return Level(ALL, self.rows[ALL].shape[0])
        return super()._draw(request)
