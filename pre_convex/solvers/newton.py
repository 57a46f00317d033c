"""The Newton engine: the data is touched only by passes, the step is k-dimensional.

Few rows: full Newton, every pass with its covariance. Many rows: a few of them are solved, then a subset S of the
rows, from there on; then full passes bring value and gradient only. The curvature starts as that of S and learns
from every pass by a secant update (BFGS), so each pass shrinks the squared error by about k over the effective size of
S. S also carries the certificate [LIFT], and its size is chosen such that S and the full passes cost least together.
If S turns out to be a poor picture of all rows, the engine goes on with full covariances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..coordinates import ColumnSpace, coordinates
from ..entropy import Array, effective_sample_size, exp_of, log_of
from ..errors import SolveError
from ..feasibility import ON_HULL
from ..linear import shrinkage, shrunk, well_conditioned
from ..passes import Rows, Summary, logits, support, tilt
from ..problem import RatioProblem
from ..solution import BallPenalty, Certificate, certificate
from ..threads import one_thread_each
from .steps import NoPenalty, StepPenalty

__all__ = ["Outcome", "newton"]

#: rows for each feature to start with, and the fewest and most of them
FIRST_PER_FEATURE, FIRST_FEWEST, FIRST_MOST = 100, 2_000, 20_000
#: numbers below which the rows are solved all at once
FEW_NUMBERS = 400_000
#: largest change of the log-weights (standard deviation under μ) in one step
LONGEST_STEP = 4.0
ITERATIONS = 200
#: a value this far below zero, and every doubling of it, is a reason to ask whether δ runs away
LOW = 30.0
#: rows that a lift is tried on at least
LIFTED = 1_000
#: squared decrement below which gradients are enough and the curvature is kept up to date by secants, for few and for
#: many features, where a covariance costs as much as a dozen gradients
NEAR, NEAR_WIDE, WIDE = 0.5, 4.0, 50
#: share of the squared decrement that a step by gradients may leave before the covariance of all rows is asked for
PATIENCE, PATIENCE_WIDE = 0.25, 0.6


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where Newton stopped: δ, the certificate there, and what it took.

    ``collapsed`` says that the curvature left at δ, in the direction that lost most of it since δ = 0, is no larger
    than the decrement, or than a depth in the hull that counts as none: both curvature and decrement go to zero on a
    sequence that runs away, as it does with R = 0 when the target is on the hull's boundary.
    """

    delta: Array
    certificate: Certificate
    iterations: int
    passes: int
    free_directions: int = 0
    collapsed: bool = False


@dataclass(frozen=True, eq=False)
class _Point:
    """δ with the pass made there, and the round-off of the value."""

    delta: Array
    summary: Summary
    loss: float
    penalty: float
    noise: float

    @property
    def value(self) -> float:
        return self.loss + self.penalty


class _Descent:
    """Damped Newton on some rows.

    Far from the solution every pass brings the covariance of the rows; close to it, and throughout when a
    curvature is given, passes bring gradients only and the curvature learns from them.
    """

    def __init__(self, rows: Rows, target: Array, penalty: StepPenalty, curvature: Array | None = None) -> None:
        self.rows, self.target, self.penalty = rows, target, penalty
        self.curvature = curvature
        self.exact = curvature is None
        self.near, self.patience = (NEAR, PATIENCE) if target.size < WIDE else (NEAR_WIDE, PATIENCE_WIDE)
        self.iterations = self.passes = 0
        self.decrement, self.longest, self.low = np.inf, 0.0, -LOW
        self.verbose = False
        self._spread: Array | None = None

    def at(self, delta: Array) -> _Point:
        """A pass at δ, with the covariance where the last one may no longer do."""
        self.passes += 1
        covariance = self.exact and self.decrement > self.near
        summary = tilt(self.rows, delta, covariance=covariance)
        pull = float(self.target @ delta)
        noise = 1e-14 * (1.0 + abs(pull) + abs(summary.log_z))
        return _Point(delta, summary, summary.log_z - pull, self.penalty.value(delta), noise)

    def run(self, point: _Point, aim: float, limit: int = ITERATIONS) -> _Point:
        """Step until the squared Newton decrement is at most ``aim``, or no step helps."""
        last, noisy, damping = np.inf, False, 0.0
        while True:
            fresh = point.summary.covariance is not None
            H = self.curvature = point.summary.covariance if fresh else self.curvature
            assert H is not None  # the first pass brings it, and otherwise it was given
            gradient = point.summary.mean - self.target
            d = self._step(point, gradient, H, damping)
            self.decrement = np.inf if d is None else self._decrement(point, d, gradient, H)
            if self.verbose:
                print(f"pass {self.passes:3d}  value {point.value:+.12f}  decrement {self.decrement:.1e}")
            if damping == 0.0 and self.decrement < self.near and self._blind(gradient, H, d):
                damping = 1e-6
                continue
            if self.decrement <= aim or self.iterations >= limit or self._runs_away(point):
                return point
            if self.decrement > self.patience * last and (noisy or not fresh):
                if fresh or not self.exact:
                    return point
                self.decrement = np.inf  # ask for the covariance of this point, once
                point, last = self.at(point.delta), np.inf
                continue
            moved = None if d is None else self._search(point, d, gradient)
            if moved is None:  # the quadratic model is no help where the weights have collapsed: damp it
                damping = max(100.0 * damping, 1e-8)
                if damping > 1e4 or noisy:
                    return point
                continue
            self.iterations += 1
            self.longest = max(self.longest, self.decrement)
            damping = 0.0 if damping < 1e-7 else damping / 100.0
            last = self.decrement
            # where values only differ by round-off, a step has to shrink the decrement to count
            noisy = point.value - moved.value <= point.noise
            if moved.summary.covariance is None:
                self.curvature = _secant(H, moved.delta - point.delta, moved.summary.mean - point.summary.mean)
            point = moved

    def _runs_away(self, point: _Point) -> bool:
        """Whether δ itself separates the target from every row, so that the value falls without end.

        Looked at now and then when the steps stay long or the value is low, because it costs half a pass.
        """
        if self.decrement < 0.1 or not isinstance(self.penalty, BallPenalty):
            return False
        if point.value < self.low:
            self.low = 2.0 * point.value
        elif self.iterations % 5 != 4:
            return False
        top, _ = support(self.rows, point.delta[:, None], 1)
        margin = float(self.target @ point.delta) - self.penalty.value(point.delta) - float(top[0])
        return margin > 1e-9 * (abs(float(self.target @ point.delta)) + abs(float(top[0])))

    def _decrement(self, point: _Point, d: Array, gradient: Array, H: Array) -> float:
        """By how much the model falls along d, which is d'Hd without a penalty and at least that with one."""
        curved = float(d @ H @ d)
        fall = point.penalty - self.penalty.value(point.delta + d) - float(gradient @ d)
        return max(curved, fall) if fall > point.noise else curved

    def _step(self, point: _Point, gradient: Array, H: Array, damping: float) -> Array | None:
        """The Newton step, with a share of the rows' own variances added to the curvature if damped."""
        if damping > 0.0:
            H = H + damping * np.diag(self._variances())
        try:
            d = self.penalty.step(point.delta, gradient, H) - point.delta
        except SolveError:
            return None
        return d if d @ d < 1e200 and d @ H @ d > -1e-8 else None  # beyond that there is only round-off

    def _variances(self) -> Array:
        """Variances of the columns over a sample of the rows, whatever their weights."""
        if self._spread is None:
            sample = self.rows.sample(1000)
            self._spread = sample.features[sample.log_base > -np.inf].var(axis=0)
            self._spread[self._spread == 0.0] = 1.0
        return self._spread

    def _blind(self, gradient: Array, H: Array, d: Array | None) -> bool:
        """Whether the step leaves a part of the gradient alone because the curvature there is lost in round-off."""
        if d is None or not isinstance(self.penalty, NoPenalty):
            return False
        left = np.abs(gradient + H @ d)
        if np.all(left <= 1e-8 * np.abs(gradient) + 1e-7 * np.sqrt(np.maximum(H.diagonal(), 0.0))):
            return False
        return bool(np.any(left > 1e-6 * np.sqrt(self._variances())))

    def _flat(self, point: _Point, trial: _Point, d: Array) -> bool:
        """Whether the curvature along d has all but gone, as it does where few rows have all the weight."""
        before, after = point.summary.covariance, trial.summary.covariance
        if before is None or after is None:
            return False
        return float(d @ after @ d) < 0.01 * float(d @ before @ d)

    def _search(self, point: _Point, d: Array, gradient: Array) -> _Point | None:
        """Backtrack from the full step, or from the longest one allowed, until the value falls enough."""
        t = LONGEST_STEP / max(LONGEST_STEP, float(np.sqrt(self.decrement)))
        rise = self.penalty.value(point.delta + d) - point.penalty
        fall = -float(gradient @ d) - rise
        for _ in range(40):
            trial = self.at(point.delta + t * d)
            slope = float((trial.summary.mean - self.target) @ d) + rise
            enough = trial.value <= point.value - 1e-4 * t * max(fall, 0.0) + point.noise
            # a step far beyond the lowest point of its line may end where one row has all the weight
            if enough and slope <= 0.5 * abs(fall) + point.noise and not self._flat(point, trial, d):
                return trial
            t *= min(0.5, max(0.05, fall / (fall + slope))) if slope > 0.0 and fall > 0.0 else 0.5
        return None


def _secant(H: Array, s: Array, y: Array) -> Array:
    """BFGS update: the curvature closest to H that turns the step s into the change y of the gradient."""
    Hs = H @ s
    if not (s @ y > 0.0 and s @ Hs > 0.0):
        return H
    return np.asarray(H - np.outer(Hs, Hs) / (s @ Hs) + np.outer(y, y) / (s @ y))


def _size_of_subset(rows: Rows, share: float, tol: float) -> int:
    """Rows of S such that S and the full passes after it cost least, or n when all rows cost no more.

    With weights whose effective share is given, S leaves a squared decrement of s = k / (share · |S|), each full pass
    multiplies it by s once more, and the lift on S makes it a gap larger by n / (2 · share · |S|).
    """
    n, k = rows.shape
    best, cost = n, np.inf
    for passes in range(3, 9):
        size = exp_of((passes * log_of(k / share) + log_of(n / (share * tol))) / (passes + 1))
        if passes + rows.subset_cost * size / n < cost and 4.0 * size <= n:
            best, cost = int(size), passes + rows.subset_cost * size / n
    return best


def newton(
    problem: RatioProblem, penalty: StepPenalty, *, tol: float, start: Array | None = None, verbose: bool = False
) -> Outcome:
    """Solve [P] and certify the answer; for an unbounded problem the certificate proves nothing.

    Parameters
    ----------
    problem : RatioProblem
    penalty : StepPenalty
    tol : float
        Certified gap, relative to 1 + |value|. On few rows, where one more step is cheap, the Newton decrement is
        brought down to tol, which makes δ itself accurate.
    start : array of shape (k,), optional
        Where to start, such as the answer of a cone solver.
    verbose : bool
        Whether to print a line for every pass.
    """
    # far out numbers overflow: what they lead to is judged by the certificate
    with one_thread_each(), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return _newton(problem, penalty, tol, start, verbose)


def _newton(problem: RatioProblem, penalty: StepPenalty, tol: float, start: Array | None, verbose: bool) -> Outcome:
    """The work of :func:`newton`."""
    rows, b, k = problem.rows, problem.residual_origin, problem.k
    n = rows.shape[0]
    zero = penalty.start(k)
    delta = zero if start is None else start
    first, few = min(max(FIRST_FEWEST, FIRST_PER_FEATURE * k), FIRST_MOST, n // 4), None
    if n * k > FEW_NUMBERS and first >= max(1_000, 5 * k):
        few = rows.subset(first)
    descent = _Descent(few.weighted if few else rows, b, penalty)
    descent.verbose = verbose and few is None
    point = descent.at(delta)
    null = np.zeros((k, 0))
    base = _covariance(point)
    if not well_conditioned(base):
        space = coordinates(rows, few.plain if few else None)
        null = space.free(b)
        if isinstance(penalty, NoPenalty) and (space.null.size or space.condition > 1e5):
            return _in_coordinates(problem, space, tol, start, verbose)
        away = space.null @ space.off_plane(b)  # no row follows b there, and the value may fall for ever along it
        if isinstance(penalty, BallPenalty) and float(away @ (b - space.centre)) > 1.001 * penalty.value(away):
            return Outcome(away, certificate(problem, away), 0, 1, null.shape[1])
    subset = None
    if few is not None:
        delta, curvature, subset = _solve_subset(rows, b, penalty, point, descent, tol)
        descent = _Descent(rows, b, penalty, curvature)
        descent.verbose = verbose
        point = descent.at(delta)
    if np.any(delta) and not np.any(zero) and not point.value <= penalty.value(zero):
        point = descent.at(zero)  # ℓ(0) = 0: the start was worse than none
    aim = tol**2 if descent.exact else 0.1 * tol if subset is None else tol * subset.shape[0] / n
    while True:
        point = descent.run(point, aim)
        proof = _certify(problem, point, penalty, subset, tol, descent.decrement)
        if proof.proves(tol) or (descent.exact and not (descent.decrement <= aim and aim > 1e-20)):
            break
        if descent.exact:  # near the hull's boundary a lift reaches the target from close by only
            aim *= 1e-4
        elif subset is not None and descent.decrement <= aim and aim > 1e-20:
            aim *= 1e-2
        else:  # the subset is a poor picture of all rows: go on with the curvature of every row
            subset, descent.exact, descent.decrement = None, True, np.inf
            point, aim = descent.at(point.delta), tol**2
    if null.shape[1] and proof.proves(tol):
        shortest = penalty.shorten(point.delta, null)
        if np.linalg.norm(shortest) < np.linalg.norm(point.delta):
            shorter = descent.at(shortest)
            again = _certify(problem, shorter, penalty, subset, tol, descent.decrement)
            point, proof = (shorter, again) if again.proves(tol) else (point, proof)
    if isinstance(penalty, BallPenalty) and proof.proves(tol):
        point, proof = _with_exact_zeros(problem, descent, point, penalty, subset, tol, proof)
    collapsed, curvature = False, descent.curvature
    if few is not None and not descent.exact and descent.longest > NEAR:
        # after a long step the curvature that was carried along may not show that the weights collapsed
        curvature = _covariance(_Descent(subset or few.plain, b, penalty).at(point.delta))
    if isinstance(penalty, NoPenalty) and curvature is not None:
        if start is not None:
            base = _covariance(_Descent(few.weighted if few else rows, b, penalty).at(np.zeros(k)))
        collapsed = shrinkage(curvature, base) <= max(1e4 * descent.decrement, ON_HULL)
    return Outcome(point.delta, proof, descent.iterations, descent.passes, null.shape[1], collapsed)


def _with_exact_zeros(
    problem: RatioProblem,
    descent: _Descent,
    point: _Point,
    penalty: Any,
    subset: Rows | None,
    tol: float,
    proof: Certificate,
) -> tuple[_Point, Certificate]:
    """What is zero in every optimal δ is exactly zero in this one, where a small program left its round-off.

    The gap bounds KL(μ* ‖ μ(δ)), so that by Pinsker's inequality no moment is further from the optimal one than
    range · √(gap/2): a residual inside the ball by more than that proves its coefficient to be zero.
    """
    r = problem.residual_origin - point.summary.mean
    if not np.any(point.delta[penalty.norm.vanishing(r, 0.0, penalty.radius)]):
        return point, proof
    lowest, highest = problem.ranges
    slack = (highest - lowest) * np.sqrt(0.5 * max(proof.gap, 0.0))
    zero = penalty.norm.vanishing(r, slack, penalty.radius)
    exact = descent.at(np.where(zero, 0.0, point.delta))
    again = _certify(problem, exact, penalty, subset, tol, descent.decrement)
    return (exact, again) if again.proves(tol) else (point, proof)


def _covariance(point: _Point) -> Array:
    """The covariance of a pass that was asked for it."""
    assert point.summary.covariance is not None  # the first pass of an exact descent brings it
    return point.summary.covariance


def _solve_subset(
    rows: Rows, b: Array, penalty: StepPenalty, point: _Point, few: _Descent, tol: float
) -> tuple[Array, Array | None, Rows | None]:
    """(δ, curvature, rows) of a subset S, started from a few rows, each solved no further than its sampling error.

    The rows are ``None`` where S would be most of the rows; the few then have to do. The curvature is ``None`` too when
    the hull of S misses the target, which all rows may still reach.
    """
    n, k = rows.shape
    found = few.run(point, aim=0.1 * k / few.rows.shape[0], limit=40)
    start, known, share = point.delta, None, 1.0
    if few.decrement <= 1.0:
        start, known = found.delta, few.curvature
        share = effective_sample_size(logits(few.rows, start)) / few.rows.shape[0]
    # some room, since another pass costs more than some rows of S; more of it over files
    safe = (0.3 if rows.in_memory else 0.1) * tol
    size = max(_size_of_subset(rows, share, safe), few.rows.shape[0])
    if size >= n:
        return start, None if known is None else shrunk(known, share * few.rows.shape[0]), None
    subset = rows.subset(size)
    inner = _Descent(subset.weighted, b, penalty, known)
    found = inner.run(inner.at(start), aim=0.1 * k / size, limit=40)
    if inner.decrement > 1.0:
        return point.delta, None, None
    curvature = _covariance(_Descent(subset.weighted, b, penalty).at(found.delta))
    return found.delta, shrunk(curvature, share * subset.plain.shape[0]), subset.plain


def _certify(
    problem: RatioProblem, point: _Point, penalty: StepPenalty, subset: Rows | None, tol: float, decrement: float
) -> Certificate:
    """Certificate by lifting on as many rows as the decrement calls for; if that fails, on all of the subset."""
    n, rows = problem.n_q, subset or problem.rows
    hopeless = decrement > max(0.1, 10.0 * tol)  # it ran away, and no lift will prove it
    needed = max(LIFTED, 5 * problem.k, 0 if hopeless else int(min(3.0 * decrement * n / tol, n)))
    if 2 * needed <= rows.shape[0]:
        some = rows.sample(needed)
        proof = certificate(problem, point.delta, penalty=penalty, summary=point.summary, rows=some)
        if hopeless or proof.proves(tol):
            return proof
    return certificate(problem, point.delta, penalty=penalty, summary=point.summary, rows=subset)


def _in_coordinates(
    problem: RatioProblem, space: ColumnSpace, tol: float, start: Array | None, verbose: bool
) -> Outcome:
    """Solve the unpenalised problem in coordinates of equal spread; δ is the shortest that gives the ratio."""
    b, off = problem.residual_origin, space.off_plane(problem.residual_origin)
    free = space.free(b)
    if np.any(off) or space.basis.shape[1] == 0:
        # every direction of the data is null, or the target leaves their plane and no δ is optimal
        delta = space.null @ off
        return Outcome(delta, certificate(problem, delta), 0, 1, free.shape[1])
    # without their free parts from the start: in columns of small numbers these are large, and taken out of δ
    # afterwards they would leave their round-off to columns of large ones
    T = space.basis - free @ (free.T @ space.basis)
    inner = problem.in_coordinates(space.centre, T)
    z = None
    if start is not None:  # which may differ from T z along free directions
        z = np.asarray(np.linalg.lstsq(np.hstack([T, free]), start)[0][: T.shape[1]])
    found = _newton(inner, NoPenalty(problem.ball, 0.0), tol, z, verbose)
    delta = T @ found.delta
    # whatever the coordinates lost to round-off is in the certificate, which knows the original variables only
    proof = certificate(problem, delta)
    return replace(found, delta=delta, certificate=proof, free_directions=free.shape[1])
