"""Damped Newton on [P]: a step is a k-dimensional problem, and the data is read only in passes over the rows.

Far from the solution every pass computes the covariance of the rows. Close to it, and always if a curvature is given,
passes compute gradients only, and secants (BFGS) update the curvature. The generators here yield the requests of
:mod:`pre_convex.data.requests`, so that one problem and many that share F take the same path.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._internal.typing import Array
from ..data.passes import Summary
from ..data.requests import Height, Level, Requests, Tilt
from ..errors import SolveError
from ..penalties import Penalty
from .settings import Clock, Settings

__all__ = ["Descent", "Point", "update_curvature"]

#: δ is checked for divergence when the value falls below minus this, and at every doubling of that
LOW_VALUE = 30.0
#: squared decrement below which secants update the curvature, and share of the squared decrement that a step with such
#: a curvature may leave before the covariance is computed again
SECANT_BELOW, SLOW = 0.5, 0.25
#: the same for this many features and more, where a covariance costs as much as a dozen gradients
WIDE, SECANT_BELOW_WIDE, SLOW_WIDE = 50, 4.0, 0.6
#: rows times features up to which a covariance costs less than the further steps that secants take
TINY = 10_000
#: steps of one descent, unless the settings say otherwise
MAX_ITERATIONS = 200
#: trial points of one step
MAX_TRIALS = 40
#: first damping of a step that failed, its growth, and the damping at which the search ends
FIRST_DAMPING, DAMPING_FACTOR, LAST_DAMPING = 1e-8, 100.0, 1e4
#: part of the gradient that a step may ignore, in standard deviations of the features, and the damping that mends it
GRADIENT_LEFT, GRADIENT_DAMPING = 1e-9, 1e-6
#: curvature along a step, relative to the size of its terms, that is only round-off
SINGULAR = 1e-12
#: round-off of a value, relative to the numbers that it is computed from, in float64 and in a rough pass
ROUND_OFF, ROUGH = 1e-14, 1e-6
#: squared decrement above which the next pass may be rough, and is certainly not the last one
ROUGH_ABOVE = 1e-6


class Point(NamedTuple):
    """δ with the result of its pass: the loss ℓ(δ) = log Z, its gradient, the penalty, and the value's round-off.

    A rough pass may have used float32 arithmetic, and nothing is ever concluded from it.
    """

    delta: Array
    summary: Summary
    penalty: float
    noise: float
    rough: bool = False

    @property
    def loss(self) -> float:
        """ℓ(δ)."""
        return self.summary.log_z

    @property
    def gradient(self) -> Array:
        """∇ℓ(δ) = F'μ(δ) − b."""
        return self.summary.mean

    @property
    def value(self) -> float:
        """ℓ(δ) + g(δ)."""
        return self.summary.log_z + self.penalty


class Descent:
    """Damped Newton on the rows of one level.

    Parameters
    ----------
    level : Level
        The rows.
    penalty : Penalty
        g(δ).
    settings : Settings
        Limits.
    clock : Clock
        Time since the start of the solve.
    shift : ndarray of shape (k,)
        Size of the target relative to the origin of the sums; zero if the origin is the target.
    curvature : ndarray of shape (k, k), optional
        Approximate Hessian, such as that of a sample. By default passes compute covariances.
    variances : ndarray of shape (k,), optional
        Variances of the features under the base weights, the unit of damping; by default those of the first pass.

    Attributes
    ----------
    rough : bool
        Whether passes far from the solution may be rough; False by default.
    decrement : float
        Squared Newton decrement at the last point: the expected decrease of the value, times two.
    reason : str
        Why the last run stopped.
    """

    def __init__(
        self,
        level: Level,
        penalty: Penalty,
        settings: Settings,
        clock: Clock,
        shift: Array,
        curvature: Array | None = None,
        variances: Array | None = None,
    ) -> None:
        self.level, self.penalty, self.settings, self.clock, self.shift = level, penalty, settings, clock, shift
        self.curvature, self.variances = curvature, np.zeros(0) if variances is None else variances
        self.ignored = np.zeros(0)  # parts of the gradient that steps may ignore
        self.exact = curvature is None  # passes may compute covariances
        wide = shift.size >= WIDE
        self.secant_below, self.slow = (SECANT_BELOW_WIDE, SLOW_WIDE) if wide else (SECANT_BELOW, SLOW)
        self.always = level.size * shift.size <= TINY  # every pass computes the covariance
        self.iterations, self.passes, self.rough, self.renewed = 0, 0, False, False
        self.decrement, self.low_value = math.inf, -LOW_VALUE
        self.reason = ""

    def at(self, delta: Array, guess: float = 0.0) -> Requests[Point]:
        """A pass at δ, with the covariance if the last one may be outdated."""
        self.passes += 1
        covariance = self.exact and (self.always or self.decrement > self.secant_below)
        rough = self.rough and not covariance and self.decrement > ROUGH_ABOVE
        summary = yield Tilt(delta, covariance, self.level.number, guess=guess, rough=rough)
        size = 1.0 + abs(summary.log_z) + float(self.shift @ np.abs(delta))
        return Point(delta, summary, self.penalty.value(delta), (ROUGH if rough else ROUND_OFF) * size, rough)

    def run(self, point: Point, aim: float, limit: int | None = None) -> Requests[Point]:
        """Step until the squared decrement is at most ``aim``, no step makes progress, or a limit is reached."""
        point = yield from self._run(point, aim, limit)
        if point.rough:  # whatever ended the steps is judged again in float64
            self.rough = False
            point = yield from self.at(point.delta, point.loss)
            point = yield from self._run(point, aim, limit)
        return point

    def _run(self, point: Point, aim: float, limit: int | None) -> Requests[Point]:
        limit = limit or self.settings.max_iter or MAX_ITERATIONS
        last, at_round_off, damping = math.inf, False, 0.0
        while True:
            fresh = point.summary.covariance is not None
            H = self.curvature = point.summary.covariance if fresh else self.curvature
            assert H is not None  # computed by the first pass, or given
            if not self.variances.size:
                self.variances = np.where(H.diagonal() > 0.0, H.diagonal(), 1.0)
            if not self.ignored.size:
                self.ignored = GRADIENT_LEFT * np.sqrt(self.variances)
            d = self._direction(point, H, damping)
            self.decrement, Hd = math.inf, None
            if d is not None:
                Hd = H @ d
                self.decrement = self._decrement(point, d, Hd)
            if damping == 0.0 and self.decrement < self.secant_below and self._misses_gradient(point, Hd):
                damping = GRADIENT_DAMPING
                continue
            if self.decrement <= aim:
                return self._stop(point, "converged")
            if self.iterations >= limit:
                return self._stop(point, "iteration limit" if limit == self.settings.max_iter else "no progress")
            if self.clock.is_over:
                return self._stop(point, "time limit")
            if self._may_separate(point) and (yield from self._separates(point)):
                return self._stop(point, "diverges")
            slow = self.decrement > self.slow * last
            stale = slow and not (fresh or self.renewed)
            self.always = self.always and not slow  # few rows take all the weight, and secants make longer steps
            if stale and self.exact:  # compute the covariance at this point
                self.decrement = math.inf
                point, last = (yield from self.at(point.delta)), math.inf
                continue
            if stale or (at_round_off and slow):
                return self._stop(point, "no progress")
            moved = None if d is None else (yield from self._search(point, d))
            if moved is None:  # the quadratic model is poor where few rows take all the weight: damp it
                damping = max(DAMPING_FACTOR * damping, FIRST_DAMPING)
                if damping > LAST_DAMPING or at_round_off:
                    return self._stop(point, "no progress")
                continue
            self.iterations += 1
            damping = damping / DAMPING_FACTOR if damping > FIRST_DAMPING else 0.0
            last = self.decrement
            # if values differ by round-off only, the decrement has to decrease
            at_round_off = point.value - moved.value <= point.noise
            if moved.summary.covariance is None:
                self.curvature = yield from self._next_curvature(H, point, moved)
            point = moved

    def _next_curvature(self, H: Array, point: Point, moved: Point) -> Requests[Array]:
        """Curvature after a step whose pass computed a gradient only."""
        yield from ()
        return update_curvature(H, moved.delta - point.delta, moved.gradient - point.gradient)

    def _stop(self, point: Point, reason: str) -> Point:
        self.reason = reason
        return point

    def _direction(self, point: Point, H: Array, damping: float) -> Array | None:
        """Newton step; damping adds a multiple of the variances to the curvature."""
        if damping > 0.0:
            H = H + damping * np.diag(self.variances)
        try:
            d = self.penalty.step(point.delta, point.gradient, H) - point.delta
        except SolveError:
            return None
        return d if d @ d < 1e200 else None

    def _misses_gradient(self, point: Point, Hd: Array | None) -> bool:
        """Whether the step ignores part of the gradient, because a few rows take all the weight and H is singular."""
        if Hd is None:
            return False
        left = np.abs(point.gradient + Hd)
        missed = left > self.ignored
        if not np.logical_or.reduce(missed):
            return False
        free = self.penalty.unpenalised(point.delta.size)
        return bool(missed[free].any() and np.any(left[free] > 1e-8 * np.abs(point.gradient[free])))

    def _decrement(self, point: Point, d: Array, Hd: Array) -> float:
        """Decrease of the model along d: d'Hd without a penalty, and at least that with one."""
        curved = max(float(d @ Hd), 0.0)
        fall = point.penalty - self.penalty.value(point.delta + d) - float(point.gradient @ d)
        return max(curved, fall) if fall > point.noise else curved

    def _may_separate(self, point: Point) -> bool:
        """Whether to look if δ separates: at some steps, while steps are long or the value is low."""
        if self.decrement < 0.1 or not self.penalty.homogeneous:
            return False
        if point.value < self.low_value:
            self.low_value = 2.0 * point.value
            return True
        return self.iterations in (1, 2) or self.iterations % 5 == 4

    def _separates(self, point: Point) -> Requests[bool]:
        """Whether δ separates the target from every row, so that the value is unbounded below; costs half a pass."""
        top = yield Height(point.delta, self.level.number)
        margin = -self.penalty.value(point.delta) - top
        return bool(margin > 1e-9 * abs(top))

    def _longest(self, point: Point, d: Array) -> Requests[float]:
        """Share of a step to begin with."""
        yield from ()
        return min(1.0, self.settings.max_step / math.sqrt(max(self.decrement, 1e-300)))

    def _search(self, point: Point, d: Array) -> Requests[Point | None]:
        """Backtrack from the full step, or from the longest one allowed, until the value decreases enough."""
        t = yield from self._longest(point, d)
        rise = self.penalty.value(point.delta + d) - point.penalty
        slope0 = float(point.gradient @ d)
        fall = -slope0 - rise
        for _ in range(MAX_TRIALS):
            trial = yield from self.at(point.delta + t * d, point.loss + t * slope0)
            slope = float(trial.gradient @ d) + rise
            enough = trial.value <= point.value - 1e-4 * t * max(fall, 0.0) + point.noise
            # a step far past the minimum along d may end where one row takes all the weight
            if enough and slope <= 0.5 * abs(fall) + point.noise:
                return trial
            t *= min(0.5, max(0.05, fall / (fall + slope))) if slope > 0.0 and fall > 0.0 else 0.5
        return None


def update_curvature(H: Array, s: Array, y: Array) -> Array:
    """BFGS update: the curvature closest to H that maps the step s to the gradient change y."""
    Hs = H @ s
    sHs, sy = float(s @ Hs), float(s @ y)
    if not sy > 0.0:
        return H
    size = np.abs(s)
    if sHs > SINGULAR * float(size @ (np.abs(H) @ size)):  # otherwise H has no curvature along s that could be replaced
        H = H - (Hs / sHs)[:, None] * Hs
    return np.asarray(H + (y / sy)[:, None] * y)
