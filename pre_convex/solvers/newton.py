"""The Newton engine: data is read only in passes over the rows, and a step is a k-dimensional problem.

Few rows: full Newton, with the covariance in every pass. Many rows: first a small sample of them is solved, then a
subset S, then full passes compute value and gradient only. The curvature starts as that of S, and every pass improves
it by a secant update (BFGS), so that a pass multiplies the squared error by about k over the effective size of S. The
certificate [LIFT] uses S too, and the size of S minimises the cost of S and the full passes together. If S turns out to
be unrepresentative, the engine continues with covariances of all rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._internal.entropy import effective_sample_size
from .._internal.linear_algebra import shrink_correlations, smallest_pivot_ratio, well_conditioned
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from ..certificate.certificate import Certificate, make_certificate
from ..data.affine_span import AffineSpan, affine_span_of
from ..data.passes import Summary, logits, support, tilt
from ..data.rows import Rows
from ..errors import SolveError
from ..feasibility.hull import ZERO_DISTANCE
from ..penalties import NoPenalty, Penalty
from ..penalties.ball import BallPenalty
from ..problem import RatioProblem

__all__ = ["NewtonResult", "newton"]

#: rows in the first sample: per feature, minimum and maximum
FIRST_ROWS_PER_FEATURE, FIRST_ROWS_MIN, FIRST_ROWS_MAX = 100, 2_000, 20_000
#: problems with at most this number of entries of F are solved on all rows at once
SMALL_SIZE = 400_000
#: longest step, as the standard deviation under μ of the change of the log-weights
MAX_STEP = 4.0
MAX_ITERATIONS = 200
#: δ is checked for divergence when the value falls below minus this, and at every doubling of that
LOW_VALUE = 30.0
#: minimum number of rows of a lift
LIFT_ROWS = 1_000
#: squared decrement below which passes compute gradients only and secants update the curvature, for less than WIDE
#: features and for more, where a covariance costs as much as a dozen gradients
SECANT_BELOW, SECANT_BELOW_WIDE, WIDE = 0.5, 4.0, 50
#: a step that leaves more than this share of the squared decrement is slow: recompute the covariance of all rows
SLOW, SLOW_WIDE = 0.25, 0.6


@dataclass(frozen=True, eq=False)
class NewtonResult:
    """Where Newton stopped: δ, its certificate, and the work done.

    ``may_diverge``: in the direction that lost most of its curvature since δ = 0, the curvature at δ is no larger than
    the decrement, or than that of a target that counts as on the hull's boundary. On a diverging sequence, which R = 0
    and a target on the boundary produce, both curvature and decrement tend to zero.
    """

    delta: Array
    certificate: Certificate
    iterations: int
    passes: int
    free_directions: int = 0
    may_diverge: bool = False


@dataclass(frozen=True, eq=False)
class _Point:
    """δ with the result of its pass, and the round-off of the value."""

    delta: Array
    summary: Summary
    loss: float
    penalty: float
    noise: float

    @property
    def value(self) -> float:
        return self.loss + self.penalty


class _DampedNewton:
    """Damped Newton on some rows.

    Far from the solution every pass computes the covariance of the rows. Close to it, and always if a curvature is
    given, passes compute gradients only, which update the curvature.
    """

    def __init__(self, rows: Rows, target: Array, penalty: Penalty, curvature: Array | None = None) -> None:
        self.rows, self.target, self.penalty = rows, target, penalty
        self.curvature = curvature
        self.exact = curvature is None  # passes may compute covariances
        self.secant_below, self.slow = (SECANT_BELOW, SLOW) if target.size < WIDE else (SECANT_BELOW_WIDE, SLOW_WIDE)
        self.iterations = self.passes = 0
        self.decrement, self.largest_decrement, self.low_value = np.inf, 0.0, -LOW_VALUE
        self.verbose = False

    def at(self, delta: Array) -> _Point:
        """A pass at δ, with the covariance if the last one may be outdated."""
        self.passes += 1
        covariance = self.exact and self.decrement > self.secant_below
        summary = tilt(self.rows, delta, covariance=covariance)
        inner = float(self.target @ delta)
        noise = 1e-14 * (1.0 + abs(inner) + abs(summary.log_z))
        return _Point(delta, summary, summary.log_z - inner, self.penalty.value(delta), noise)

    def run(self, point: _Point, aim: float, limit: int = MAX_ITERATIONS) -> _Point:
        """Step until the squared Newton decrement is at most ``aim``, or no step makes progress."""
        last, at_round_off, damping = np.inf, False, 0.0
        while True:
            has_covariance = point.summary.covariance is not None
            H = self.curvature = point.summary.covariance if has_covariance else self.curvature
            assert H is not None  # computed by the first pass, or given
            gradient = point.summary.mean - self.target
            d = self._step(point, gradient, H, damping)
            self.decrement = np.inf if d is None else self._decrement(point, d, gradient, H)
            if self.verbose:
                print(f"pass {self.passes:3d}  value {point.value:+.12f}  decrement {self.decrement:.1e}")
            if damping == 0.0 and self.decrement < self.secant_below and self._misses_gradient(gradient, H, d):
                damping = 1e-6
                continue
            if self.decrement <= aim or self.iterations >= limit or self._diverges(point):
                return point
            if self.decrement > self.slow * last and (at_round_off or not has_covariance):
                if has_covariance or not self.exact:
                    return point
                self.decrement = np.inf  # compute the covariance at this point, once
                point, last = self.at(point.delta), np.inf
                continue
            moved = None if d is None else self._search(point, d, gradient)
            if moved is None:  # the quadratic model is poor where few rows take all the weight: damp it
                damping = max(100.0 * damping, 1e-8)
                if damping > 1e4 or at_round_off:
                    return point
                continue
            self.iterations += 1
            self.largest_decrement = max(self.largest_decrement, self.decrement)
            damping = 0.0 if damping < 1e-7 else damping / 100.0
            last = self.decrement
            # if values differ by round-off only, the decrement has to decrease
            at_round_off = point.value - moved.value <= point.noise
            if moved.summary.covariance is None:
                self.curvature = _secant(H, moved.delta - point.delta, moved.summary.mean - point.summary.mean)
            point = moved

    def _diverges(self, point: _Point) -> bool:
        """Whether δ itself separates the target from every row, so that the value is unbounded below.

        Checked only at some steps, while steps are long or the value is low, because it costs half a pass.
        """
        if self.decrement < 0.1 or not isinstance(self.penalty, BallPenalty):
            return False
        if point.value < self.low_value:
            self.low_value = 2.0 * point.value
        elif self.iterations % 5 != 4:
            return False
        top, _ = support(self.rows, point.delta[:, None], 1)
        margin = float(self.target @ point.delta) - self.penalty.value(point.delta) - float(top[0])
        return margin > 1e-9 * (abs(float(self.target @ point.delta)) + abs(float(top[0])))

    def _decrement(self, point: _Point, d: Array, gradient: Array, H: Array) -> float:
        """Decrease of the model along d: d'Hd without a penalty, and at least that with one."""
        curved = float(d @ H @ d)
        fall = point.penalty - self.penalty.value(point.delta + d) - float(gradient @ d)
        return max(curved, fall) if fall > point.noise else curved

    def _step(self, point: _Point, gradient: Array, H: Array, damping: float) -> Array | None:
        """Newton step; damping adds a multiple of the column variances to the curvature."""
        if damping > 0.0:
            H = H + damping * np.diag(self._variances)
        try:
            d = self.penalty.step(point.delta, gradient, H) - point.delta
        except SolveError:
            return None
        return d if d @ d < 1e200 and d @ H @ d > -1e-8 else None  # anything else is round-off

    @cached_property
    def _variances(self) -> Array:
        """Unweighted variances of the columns over a sample of rows, 1 for constant columns."""
        sample = self.rows.sample(1000)
        variances: Array = sample.features[sample.log_base > -np.inf].var(axis=0)
        variances[variances == 0.0] = 1.0
        return variances

    def _misses_gradient(self, gradient: Array, H: Array, d: Array | None) -> bool:
        """Whether the step ignores part of the gradient because the curvature there is lost in round-off."""
        if d is None or not isinstance(self.penalty, NoPenalty):
            return False
        left = np.abs(gradient + H @ d)
        if np.all(left <= 1e-8 * np.abs(gradient) + 1e-7 * np.sqrt(np.maximum(H.diagonal(), 0.0))):
            return False
        return bool(np.any(left > 1e-6 * np.sqrt(self._variances)))

    def _curvature_vanishes(self, point: _Point, trial: _Point, d: Array) -> bool:
        """Whether the curvature along d has nearly vanished, as it does where few rows take all the weight."""
        before, after = point.summary.covariance, trial.summary.covariance
        if before is None or after is None:
            return False
        return float(d @ after @ d) < 0.01 * float(d @ before @ d)

    def _search(self, point: _Point, d: Array, gradient: Array) -> _Point | None:
        """Backtrack from the full step, or from the longest one allowed, until the value decreases enough."""
        t = MAX_STEP / max(MAX_STEP, float(np.sqrt(self.decrement)))
        rise = self.penalty.value(point.delta + d) - point.penalty
        fall = -float(gradient @ d) - rise
        for _ in range(40):
            trial = self.at(point.delta + t * d)
            slope = float((trial.summary.mean - self.target) @ d) + rise
            enough = trial.value <= point.value - 1e-4 * t * max(fall, 0.0) + point.noise
            # a step far past the minimum along d may end where one row takes all the weight
            if enough and slope <= 0.5 * abs(fall) + point.noise and not self._curvature_vanishes(point, trial, d):
                return trial
            t *= min(0.5, max(0.05, fall / (fall + slope))) if slope > 0.0 and fall > 0.0 else 0.5
        return None


def _secant(H: Array, s: Array, y: Array) -> Array:
    """BFGS update: the curvature closest to H that maps the step s to the gradient change y."""
    Hs = H @ s
    if not (s @ y > 0.0 and s @ Hs > 0.0):
        return H
    return np.asarray(H - np.outer(Hs, Hs) / (s @ Hs) + np.outer(y, y) / (s @ y))


def _subset_size(rows: Rows, share: float, tol: float) -> int:
    """Size of S that minimises the cost of S and of the full passes after it; n if all rows cost no more.

    ``share`` is the effective sample size of the weights over the number of rows. S leaves a squared decrement of
    s = k / (share · |S|), each full pass multiplies it by s again, and the lift on S turns it into a gap that is larger
    by n / (2 · share · |S|).
    """
    n, k = rows.shape
    best, cost = n, np.inf
    for passes in range(3, 9):
        size = math.exp((passes * math.log(k / share) + math.log(n / (share * tol))) / (passes + 1))
        if passes + rows.subset_cost * size / n < cost and 4.0 * size <= n:
            best, cost = int(size), passes + rows.subset_cost * size / n
    return best


def newton(
    problem: RatioProblem, penalty: Penalty, *, tol: float, start: Array | None = None, verbose: bool = False
) -> NewtonResult:
    """Solve [P] and certify the answer; the certificate of an unbounded problem proves nothing.

    Parameters
    ----------
    problem : RatioProblem
        The problem.
    penalty : Penalty
        Penalty of the problem, from :func:`~pre_convex.penalties.make_penalty`.
    tol : float
        Certified gap to reach, relative to 1 + |value|. On few rows, where one more step is cheap, the Newton decrement
        is reduced to tol, which makes δ itself accurate.
    start : array of shape (k,), default None
        Initial δ, such as the answer of a cone solver.
    verbose : bool, default False
        Whether to print a line for each pass.

    Returns
    -------
    NewtonResult
    """
    # a large δ may overflow; the certificate judges the result
    with single_threaded_blas(), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return _newton(problem, penalty, tol, start, verbose)


def _newton(  # noqa: C901  # the stages of a solve, in order
    problem: RatioProblem, penalty: Penalty, tol: float, start: Array | None, verbose: bool
) -> NewtonResult:
    """Body of :func:`newton`, in one BLAS thread and without floating-point warnings."""
    rows, b, k = problem.rows, problem.centred_target, problem.k
    n = rows.shape[0]
    zero = penalty.start(k)
    delta = zero if start is None else start
    size, sample = min(max(FIRST_ROWS_MIN, FIRST_ROWS_PER_FEATURE * k), FIRST_ROWS_MAX, n // 4), None
    if n * k > SMALL_SIZE and size >= max(1_000, 5 * k):
        sample = rows.subset(size)
    descent = _DampedNewton(sample.weighted if sample else rows, b, penalty)
    descent.verbose = verbose and sample is None
    point = descent.at(delta)
    null = np.zeros((k, 0))
    covariance_at_zero = _covariance(point)
    if not well_conditioned(covariance_at_zero):
        span = affine_span_of(rows, sample.rows if sample else None)
        null = span.free_directions(b)
        if isinstance(penalty, NoPenalty) and (span.null.size or span.condition > 1e5):
            return _in_coordinates(problem, span, tol, start, verbose)
        away = span.null @ span.normal_components(b)  # b is off the span of the rows: the value may be unbounded
        if isinstance(penalty, BallPenalty) and float(away @ (b - span.centre)) > 1.001 * penalty.value(away):
            return NewtonResult(away, make_certificate(problem, away), 0, 1, null.shape[1])
    subset = None
    if sample is not None:
        delta, curvature, subset = _solve_subset(rows, b, penalty, point, descent, tol)
        descent = _DampedNewton(rows, b, penalty, curvature)
        descent.verbose = verbose
        point = descent.at(delta)
    if np.any(delta) and not np.any(zero) and not point.value <= penalty.value(zero):
        point = descent.at(zero)  # ℓ(0) = 0: the start is worse than δ = 0
    aim = tol**2 if descent.exact else 0.1 * tol if subset is None else tol * subset.shape[0] / n
    while True:
        point = descent.run(point, aim)
        proof = _certify(problem, point, penalty, subset, tol, descent.decrement)
        if proof.proves(tol) or (descent.exact and not (descent.decrement <= aim and aim > 1e-20)):
            break
        if descent.exact:  # near the hull's boundary a lift works only close to the solution
            aim *= 1e-4
        elif subset is not None and descent.decrement <= aim and aim > 1e-20:
            aim *= 1e-2
        else:  # the subset is unrepresentative: continue with the covariance of all rows
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
    may_diverge, curvature = False, descent.curvature
    if sample is not None and not descent.exact and descent.largest_decrement > SECANT_BELOW:
        # after a long step, secants may not show that the curvature vanished
        curvature = _covariance(_DampedNewton(subset or sample.rows, b, penalty).at(point.delta))
    if isinstance(penalty, NoPenalty) and curvature is not None:
        if start is not None:
            covariance_at_zero = _covariance(
                _DampedNewton(sample.weighted if sample else rows, b, penalty).at(np.zeros(k))
            )
        may_diverge = smallest_pivot_ratio(curvature, covariance_at_zero) <= max(1e4 * descent.decrement, ZERO_DISTANCE)
    return NewtonResult(point.delta, proof, descent.iterations, descent.passes, null.shape[1], may_diverge)


def _with_exact_zeros(
    problem: RatioProblem,
    descent: _DampedNewton,
    point: _Point,
    penalty: Any,
    subset: Rows | None,
    tol: float,
    proof: Certificate,
) -> tuple[_Point, Certificate]:
    """Set coefficients to exactly zero that are provably zero in every optimal δ.

    The gap bounds KL(μ* ‖ μ(δ)), so by Pinsker's inequality no moment is further from the optimal one than
    range · √(gap/2): a residual that is inside the ball by more than that proves its coefficient to be zero.
    """
    r = problem.centred_target - point.summary.mean
    if not np.any(point.delta[penalty.provably_zero(r, 0.0)]):
        return point, proof
    lowest, highest = problem.ranges
    slack = (highest - lowest) * np.sqrt(0.5 * max(proof.gap, 0.0))
    zero = penalty.provably_zero(r, slack)
    exact = descent.at(np.where(zero, 0.0, point.delta))
    again = _certify(problem, exact, penalty, subset, tol, descent.decrement)
    return (exact, again) if again.proves(tol) else (point, proof)


def _covariance(point: _Point) -> Array:
    """Covariance of a pass that computed one."""
    assert point.summary.covariance is not None  # the first pass without a given curvature computes it
    return point.summary.covariance


def _solve_subset(
    rows: Rows, b: Array, penalty: Penalty, point: _Point, first: _DampedNewton, tol: float
) -> tuple[Array, Array | None, Rows | None]:
    """(δ, curvature, rows) of a subset S, warm-started from the first sample; both are solved to their sampling error.

    The rows are ``None`` if S would be most of the rows; then the first sample has to do. The curvature is ``None`` too
    if the target is outside the hull of S, which does not mean that it is outside the hull of all rows.
    """
    n, k = rows.shape
    found = first.run(point, aim=0.1 * k / first.rows.shape[0], limit=40)
    start, curvature, share = point.delta, None, 1.0
    if first.decrement <= 1.0:
        start, curvature = found.delta, first.curvature
        share = effective_sample_size(logits(first.rows, start)) / first.rows.shape[0]
    # a safety margin, since another pass costs more than some rows of S; a larger one for files
    target_gap = (0.3 if rows.in_memory else 0.1) * tol
    size = max(_subset_size(rows, share, target_gap), first.rows.shape[0])
    if size >= n:
        return start, None if curvature is None else shrink_correlations(curvature, share * first.rows.shape[0]), None
    subset = rows.subset(size)
    inner = _DampedNewton(subset.weighted, b, penalty, curvature)
    found = inner.run(inner.at(start), aim=0.1 * k / size, limit=40)
    if inner.decrement > 1.0:
        return point.delta, None, None
    curvature = _covariance(_DampedNewton(subset.weighted, b, penalty).at(found.delta))
    return found.delta, shrink_correlations(curvature, share * subset.rows.shape[0]), subset.rows


def _certify(
    problem: RatioProblem, point: _Point, penalty: Penalty, subset: Rows | None, tol: float, decrement: float
) -> Certificate:
    """Certificate by a lift on as many rows as the decrement requires; if that fails, on the whole subset."""
    n, rows = problem.n_q, subset or problem.rows
    hopeless = decrement > max(0.1, 10.0 * tol)  # it diverged, and no lift will prove it
    needed = max(LIFT_ROWS, 5 * problem.k, 0 if hopeless else int(min(3.0 * decrement * n / tol, n)))
    if 2 * needed <= rows.shape[0]:
        some = rows.sample(needed)
        proof = make_certificate(problem, point.delta, penalty=penalty, summary=point.summary, rows=some)
        if hopeless or proof.proves(tol):
            return proof
    return make_certificate(problem, point.delta, penalty=penalty, summary=point.summary, rows=subset)


def _in_coordinates(
    problem: RatioProblem, span: AffineSpan, tol: float, start: Array | None, verbose: bool
) -> NewtonResult:
    """Solve without penalty in coordinates of unit spread; δ is the shortest that gives the same ratio."""
    b, off = problem.centred_target, span.normal_components(problem.centred_target)
    free = span.free_directions(b)
    if np.any(off) or span.basis.shape[1] == 0:
        # all rows are equal, or the target is off their span and no δ is optimal
        delta = span.null @ off
        return NewtonResult(delta, make_certificate(problem, delta), 0, 1, free.shape[1])
    # remove free directions from the basis and not from δ afterwards: for columns of small numbers they are large, and
    # their round-off would affect the columns of large numbers
    T = span.basis - free @ (free.T @ span.basis)
    inner = problem.change_coordinates(span.centre, T)
    z = None
    if start is not None:  # it may differ from T z along free directions
        z = np.asarray(np.linalg.lstsq(np.hstack([T, free]), start)[0][: T.shape[1]])
    found = _newton(inner, NoPenalty(problem.moment_norm, 0.0), tol, z, verbose)
    delta = T @ found.delta
    # certify in the original variables, so that round-off of the coordinates is included
    proof = make_certificate(problem, delta)
    return replace(found, delta=delta, certificate=proof, free_directions=free.shape[1])
