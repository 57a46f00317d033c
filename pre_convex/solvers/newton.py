"""The Newton engine: the data is touched only by passes, the step is k-dimensional.

Few rows: full Newton, every pass with its covariance. Many rows: a subset S of the rows is solved first; then
full passes bring value and gradient only. The curvature starts as that of S and learns from every pass by a
secant update (BFGS), so each pass shrinks the error by more than the sampling accuracy of S. S also carries the
certificate [LIFT]. If S turns out to be a poor picture of all rows, the engine goes on with full covariances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..entropy import Array, effective_sample_size, exp, log
from ..errors import SolveError
from ..linear import ColumnSpace, column_space, well_conditioned
from ..passes import Rows, Summary, support, tilt
from ..problem import RatioProblem
from ..solution import BallPenalty, Certificate, certificate
from .steps import NoPenalty, StepPenalty

__all__ = ["Outcome", "newton"]

#: rows of the subset S: at least, at least for each feature, at most, and otherwise one row in so many
FEWEST, FEWEST_PER_FEATURE, MOST, ONE_IN = 10_000, 500, 200_000, 20
#: largest change of the log-weights (standard deviation under μ) in one step
LONGEST_STEP = 4.0
ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where Newton stopped: δ, the weights and the certificate there, and what it took."""

    delta: Array
    log_mu: Array
    certificate: Certificate
    iterations: int
    passes: int
    free_directions: int = 0


@dataclass(frozen=True, eq=False)
class _Point:
    """δ with the pass made there."""

    delta: Array
    summary: Summary
    loss: float
    penalty: float

    @property
    def value(self) -> float:
        return self.loss + self.penalty


class _Descent:
    """Damped Newton on some rows, with their own curvature or with one that is given and learns."""

    def __init__(self, rows: Rows, target: Array, penalty: StepPenalty, curvature: Array | None = None) -> None:
        self.rows, self.target, self.penalty = rows, target, penalty
        self.curvature = curvature
        self.exact = curvature is None
        self.logits = np.empty(rows.shape[0])
        self.iterations = self.passes = 0
        self.decrement = np.inf
        self.latest: Array | None = None
        self.verbose = False
        self._spread: Array | None = None

    def at(self, delta: Array) -> _Point:
        """A pass at δ."""
        self.passes += 1
        self.latest = delta
        summary = tilt(self.rows, delta, covariance=self.exact, logits=self.logits)
        return _Point(delta, summary, float(summary.log_z - self.target @ delta), self.penalty.value(delta))

    def run(self, point: _Point, aim: float, limit: int = ITERATIONS) -> _Point:
        """Step until the squared Newton decrement is at most ``aim``, or no step helps."""
        last, noisy, damping = np.inf, False, 0.0
        while True:
            H = self.curvature = point.summary.covariance if self.exact else self.curvature
            assert H is not None  # exact passes bring it, and otherwise it was given
            gradient = point.summary.mean - self.target
            d = self._step(point, gradient, H, damping)
            self.decrement = np.inf if d is None else self._decrement(point, d, gradient, H)
            if self.verbose:
                print(f"pass {self.passes:3d}  value {point.value:+.12f}  decrement {self.decrement:.1e}")
            stalled = self.decrement > 0.25 * last and (noisy or not self.exact)
            if self.decrement <= aim or stalled or self.iterations >= limit or self._runs_away(point):
                return point
            moved = None if d is None else self._search(point, d, gradient)
            if moved is None:  # the quadratic model is no help where the weights have collapsed: damp it
                damping = max(100.0 * damping, 1e-8)
                if damping > 1e4 or noisy:
                    return point
                continue
            self.iterations += 1
            damping = 0.0 if damping < 1e-7 else damping / 100.0
            last = self.decrement
            # where values only differ by round-off, a step has to shrink the decrement to count
            noisy = point.value - moved.value <= self._noise(point)
            if not self.exact:
                self.curvature = _secant(H, moved.delta - point.delta, moved.summary.mean - point.summary.mean)
            point = moved

    def _runs_away(self, point: _Point) -> bool:
        """Whether δ itself separates the target from every row, so that the value falls without end.

        Looked at now and then when the steps stay long, because it costs half a pass.
        """
        if self.iterations % 5 != 4 or self.decrement < 0.1 or not isinstance(self.penalty, BallPenalty):
            return False
        top, _ = support(self.rows, point.delta[:, None], 1)
        margin = float(self.target @ point.delta) - self.penalty.value(point.delta) - float(top[0])
        return margin > 1e-9 * (abs(float(self.target @ point.delta)) + abs(float(top[0])))

    def _decrement(self, point: _Point, d: Array, gradient: Array, H: Array) -> float:
        """By how much the model falls along d, which is d'Hd without a penalty and at least that with one."""
        curved = float(d @ H @ d)
        fall = point.penalty - self.penalty.value(point.delta + d) - float(gradient @ d)
        return max(curved, fall) if fall > self._noise(point) else curved

    def _step(self, point: _Point, gradient: Array, H: Array, damping: float) -> Array | None:
        """The Newton step, with a share of the base weights' variances added to the curvature if damped."""
        if damping > 0.0:
            if self._spread is None:
                base = tilt(self.rows, np.zeros_like(point.delta)).covariance
                assert base is not None  # tilt computes it by default
                self._spread = np.diag(np.maximum(np.diag(base), np.diag(H)))
            H = H + damping * self._spread
        try:
            d = self.penalty.step(point.delta, gradient, H) - point.delta
        except SolveError:
            return None
        return d if np.all(np.isfinite(d)) else None

    def _noise(self, point: _Point) -> float:
        """Round-off of the value."""
        return 1e-14 * (1.0 + abs(float(self.target @ point.delta)) + abs(point.summary.log_z))

    def _flat(self, point: _Point, trial: _Point, d: Array) -> bool:
        """Whether the curvature along d has all but gone, as it does where few rows have all the weight."""
        before, after = point.summary.covariance, trial.summary.covariance
        if before is None or after is None:
            return False
        return float(d @ after @ d) < 0.01 * float(d @ before @ d)

    def _search(self, point: _Point, d: Array, gradient: Array) -> _Point | None:
        """Backtrack from the full step, or from the longest one allowed, until the value falls enough."""
        t = min(1.0, LONGEST_STEP / float(np.sqrt(self.decrement)))
        rise = self.penalty.value(point.delta + d) - point.penalty
        fall = -float(gradient @ d) - rise
        for _ in range(40):
            trial = self.at(point.delta + t * d)
            slope = float((trial.summary.mean - self.target) @ d) + rise
            enough = trial.value <= point.value - 1e-4 * t * max(fall, 0.0) + self._noise(point)
            # a step far beyond the lowest point of its line may end where one row has all the weight
            if enough and slope <= 0.5 * abs(fall) + self._noise(point) and not self._flat(point, trial, d):
                return trial
            t *= min(0.5, max(0.05, fall / (fall + slope))) if slope > 0.0 and fall > 0.0 else 0.5
        return None


def _secant(H: Array, s: Array, y: Array) -> Array:
    """BFGS update: the curvature closest to H that turns the step s into the change y of the gradient."""
    Hs = H @ s
    if not (s @ y > 0.0 and s @ Hs > 0.0):
        return H
    return np.asarray(H - np.outer(Hs, Hs) / (s @ Hs) + np.outer(y, y) / (s @ y))


def _subset(rows: Rows, size: int) -> tuple[Rows, Rows]:
    """About ``size`` distinct rows, and the same with weights that make their sums unbiased for all rows.

    One row from each of equally long stretches if the base weights are even; otherwise each row by itself,
    with a probability that mixes even sampling with its share of the base weight.
    """
    n = rows.shape[0]
    rng = np.random.default_rng(0)
    even = rows.log_base.min() == rows.log_base.max() or effective_sample_size(rows.log_base) > 0.25 * n
    if even:
        edges = np.linspace(0, n, size + 1).astype(np.intp)
        index = edges[:-1] + (rng.random(size) * np.diff(edges)).astype(np.intp)
        log_share = np.full(size, float(log(np.array(n / size))))
    else:
        chance = np.minimum(1.0, size * (0.5 / n + 0.5 * exp(rows.log_base)))
        index = np.flatnonzero(rng.random(n) < chance)
        log_share = -log(chance[index])
    plain = rows.take(index)
    return plain, Rows(plain.features, plain.log_base + log_share)


def newton(
    problem: RatioProblem,
    penalty: StepPenalty,
    *,
    tol: float,
    start: Array | None = None,
    verbose: bool = False,
) -> Outcome:
    """Solve [P] and certify the answer; for an unbounded problem the certificate proves nothing.

    Parameters
    ----------
    problem : RatioProblem
    penalty : StepPenalty
    tol : float
        Certified gap, relative to 1 + |value|. On few rows, where one more step is cheap, the squared Newton
        decrement is brought down to tol², which makes δ itself accurate.
    start : array of shape (k,), optional
        Where to start, such as the answer of a cone solver.
    verbose : bool
        Whether to print a line for every pass.
    """
    rows, b, k = problem.rows, problem.residual_origin, problem.k
    n = rows.shape[0]
    size = max(FEWEST, FEWEST_PER_FEATURE * k, min(n // ONE_IN, MOST))
    plain, weighted = _subset(rows, size) if n > 4 * size else (None, None)
    null = np.zeros((k, 0))
    probe = tilt(weighted or rows, np.zeros(k)).covariance
    if probe is None or not well_conditioned(probe):
        space = _column_space(problem, plain)
        null = _free(space, b)
        if isinstance(penalty, NoPenalty) and (space.null.size or space.condition > 1e5):
            return _in_coordinates(problem, space, tol, start)
    zero = penalty.start(k)
    delta = zero if start is None else start
    curvature = None
    if weighted is not None:
        # a tenth of the subset, then the subset, each no further than its own sampling error
        for part in (weighted.take(slice(None, None, 10)), weighted):
            first = _Descent(part, b, penalty)
            found = first.run(first.at(delta), aim=0.01 * k / part.shape[0], limit=40)
            reached = first.decrement <= 1.0  # its hull may miss the target where all rows reach it
            delta, curvature = (found.delta, first.curvature) if reached else (zero, None)
    descent = _Descent(rows, b, penalty, curvature)
    descent.verbose = verbose
    point = descent.at(delta)
    if np.any(delta) and not np.any(zero) and not point.value <= penalty.value(zero):
        point = descent.at(zero)  # ℓ(0) = 0: the start was worse than none
    subset = None if descent.exact else plain
    aim = tol**2 if subset is None else tol * size / n
    while True:
        point = descent.run(point, aim)
        proof = certificate(problem, point.delta, penalty=penalty, summary=point.summary, rows=subset)
        if proof.proves(tol) or subset is None:
            break
        if descent.decrement <= aim and aim > 1e-20:
            aim *= 1e-2
        else:  # the subset is a poor picture of all rows: go on with the curvature of every row
            subset, descent.exact = None, True
            point, aim = descent.at(point.delta), tol**2
    if null.shape[1] and proof.proves(tol):
        shorter = descent.at(penalty.shorten(point.delta, null))
        again = certificate(problem, shorter.delta, penalty=penalty, summary=shorter.summary, rows=subset)
        if again.proves(tol) and np.linalg.norm(shorter.delta) < np.linalg.norm(point.delta):
            point, proof = shorter, again
    if descent.latest is not point.delta:
        descent.at(point.delta)
    log_mu = descent.logits
    log_mu -= point.summary.log_z
    return Outcome(point.delta, log_mu, proof, descent.iterations, descent.passes, null.shape[1])


def _column_space(problem: RatioProblem, subset: Rows | None) -> ColumnSpace:
    """Coordinates of the rows that carry weight; from the subset when all rows agree with it."""
    if subset is not None:
        space = column_space(subset.features[subset.log_base > -np.inf])
        reach = np.zeros(space.null.shape[1])
        for block, f in problem.rows.blocks():
            heights = np.abs((f[problem.log_base[block] > -np.inf] - space.centre) @ space.null)
            reach = np.maximum(reach, heights.max(axis=0, initial=0.0))
        size = np.abs(subset.features).max(axis=0) @ np.abs(space.null)
        if np.all(reach <= 1e-10 * size):
            return space
    everything = problem.rows.take(slice(None))
    return column_space(everything.features[everything.log_base > -np.inf])


def _inconsistency(space: ColumnSpace, b: Array) -> Array:
    """What the target has along directions in which no row differs; round-off of its size is nothing."""
    along = (b - space.centre) @ space.null
    size = (np.abs(b) + np.abs(space.centre)) @ np.abs(space.null)
    return np.where(np.abs(along) > 1e-10 * size, along, 0.0)


def _free(space: ColumnSpace, b: Array) -> Array:
    """Orthonormal directions in which δ changes neither the loss nor the ratio on any row."""
    off = _inconsistency(space, b)
    if not np.any(off):
        return space.null
    others = np.linalg.svd(off[None, :])[2][1:].T
    return np.asarray(space.null @ others)


def _in_coordinates(problem: RatioProblem, space: ColumnSpace, tol: float, start: Array | None) -> Outcome:
    """Solve the unpenalised problem in coordinates of equal spread; δ is the shortest that gives the ratio."""
    rows, b = problem.rows, problem.residual_origin
    penalty = NoPenalty(problem.ball, 0.0)
    off = _inconsistency(space, b)
    if np.any(off) or space.basis.shape[1] == 0:
        # every direction of the data is null, or the target leaves their plane and no δ is optimal
        delta = space.null @ off
        proof = certificate(problem, delta if np.any(off) else np.zeros(problem.k), penalty=penalty)
        return Outcome(delta, problem.log_mu(delta), proof, 0, 1, _free(space, b).shape[1])
    T = space.basis
    features = (rows.take(slice(None)).features - space.centre) @ T
    inner = RatioProblem((b - space.centre) @ T, features, problem.log_base)
    z = None if start is None else np.asarray(np.linalg.lstsq(T, start, rcond=None)[0], dtype=float)
    found = newton(inner, penalty, tol=tol, start=z)
    delta = T @ found.delta
    delta -= space.null @ (space.null.T @ delta)
    r = problem.moment(exp(found.log_mu))
    proof = replace(found.certificate, moment_residual=problem.ball(r), slackness=-float(r @ delta))
    return replace(found, delta=delta, certificate=proof, free_directions=space.null.shape[1])
