"""The stages of a Newton solve: a sample, a subset, all rows, and the proof.

Few rows: full Newton, with the covariance in every pass far from the solution. Many rows: first a small sample of them
is solved, then a subset S, then full passes compute value and gradient only. The curvature starts as that of S, and
every pass improves it by a secant update, so that a pass multiplies the squared error by about k over the effective
size of S. The certificate [LIFT] uses S too, and the size of S minimises the cost of S and the full passes together.
If S turns out to be unrepresentative, the solve continues with covariances of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .._internal.linear_algebra import shrink_correlations, well_conditioned
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index
from ..certificate.certificate import (
    NO_PROOF,
    Certificate,
    Proof,
    arithmetic_of,
    certificate_of,
    make_certificate,
    prove,
)
from ..certificate.family import certificate_at
from ..certificate.lift import Arithmetic
from ..data.affine_span import AffineSpan, affine_span_of
from ..data.linked import intercept_at, linked_tilt
from ..data.passes import tilt
from ..data.requests import ALL, Alone, Draw, Level, Requests, Tilt
from ..penalties import BallPenalty, NoPenalty, Penalty
from ..problem import RatioProblem
from ..solution import Stage, Status
from .newton import Descent, Point
from .settings import Clock, Settings

__all__ = ["LIMITS", "NewtonResult", "Outcome", "Staged", "in_coordinates", "newton", "span_of"]

#: status of a solve that ended for one of these reasons before anything was proven
LIMITS = {"iteration limit": Status.ITERATION_LIMIT, "time limit": Status.TIME_LIMIT}

#: minimum and maximum number of rows of the first sample
FIRST_ROWS_MIN, FIRST_ROWS_MAX = 2_000, 20_000
#: steps on a sample; more of them mean that the sample does not decide
SAMPLE_STEPS = 40
#: share of the tolerance that a lift on the subset is planned to need; the rest is for the sampling error of its rows
LIFT_SHARE = 0.8
#: minimum number of rows of a lift, and of rows per feature
LIFT_ROWS, LIFT_ROWS_PER_FEATURE = 200, 5
#: rows times features up to which a lift on all rows, if their covariance is known, costs less than drawing some
LIFT_ALL = 50_000
#: with covariances of all rows, aim for a squared decrement of this share of the tolerance, or of its square: steps are
#: then so short that δ is known to many more digits at little cost
EXACT_SHARE = 1e-7
#: the smallest squared decrement to aim for
SMALLEST_AIM = 1e-20
#: passes over all rows that a plan considers
PLANNED_PASSES = range(2, 9)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where the stages ended.

    Attributes
    ----------
    point : Point
        δ and the pass at it.
    proof : Proof
        What the certificate proves.
    iterations, passes : int
        Steps and passes on all rows.
    reason : str
        Why the last stage ended.
    collinear : bool
        Whether the stages ended at once because the columns are too close to collinear.
    """

    point: Point
    proof: Proof
    iterations: int
    passes: int
    reason: str
    collinear: bool = False


@dataclass(eq=False)
class Staged:
    """The stages of one problem; :meth:`run` is a generator of requests to the rows.

    Parameters
    ----------
    n, k : int
        Number of rows and features.
    penalty : Penalty
        g(δ).
    settings : Settings
        Tolerance, limits and numbers of rows.
    arithmetic : Arithmetic
        How the passes compute.
    start : ndarray of shape (k,), optional
        Initial δ, such as the answer of a cone solver; zero by default.
    row_cost : float, default 20.0
        Cost of one row of a subset (its copy, covariance and certificate) in rows of a full pass.
    collinear_ends : bool, default True
        Whether to stop at once if the columns are too close to collinear for this basis.
    verbose : bool, default False
        Whether to print each stage.
    rough : bool, default False
        Whether passes over all rows are faster in float32, so that all but the last ones should use it.
    """

    n: int
    k: int
    penalty: Penalty
    settings: Settings
    arithmetic: Arithmetic
    start: Array | None = None
    row_cost: float = 20.0
    collinear_ends: bool = True
    verbose: bool = False
    rough: bool = False
    trace: list[Stage] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.clock = Clock(self.settings.time_limit)
        self.everything = Level(ALL, self.n)
        self.loss_at_zero = 0.0
        self._stage_started = 0.0

    def run(self) -> Requests[Outcome]:
        """All stages, in order."""
        zero = self.penalty.start(self.k)
        sample = None
        if self.n * self.k > self.settings.small:
            size = min(max(FIRST_ROWS_MIN, self.settings.first_rows * self.k), FIRST_ROWS_MAX, self.n // 4)
            if size >= max(1_000, 5 * self.k):
                sample = yield Draw(size)
        first = self._descent(sample or self.everything)
        point = yield from first.at(zero if self.start is None else self.start)
        H0 = point.summary.covariance
        assert H0 is not None  # the first pass of a descent without a curvature computes it
        if self.collinear_ends and not self._well_conditioned(H0):
            return Outcome(point, NO_PROOF, 0, 1, "collinear columns", collinear=True)
        if self.start is not None and np.any(self.start):
            H0 = (yield Tilt(np.zeros(self.k), True, first.level.number)).covariance
        self.variances = np.where(H0.diagonal() > 0.0, H0.diagonal(), 1.0)
        subset, descent = None, first
        if sample is not None:
            subset, descent, point = yield from self._from_sample(first, point)
        if np.any(point.delta) and not np.any(zero) and not point.value <= self.loss_at_zero + self.penalty.value(zero):
            point = yield from descent.at(zero)  # the start is worse than δ = 0
        descent, point, proof = yield from self._all_rows(descent, point, subset)
        return Outcome(point, proof, descent.iterations, descent.passes, descent.reason)

    def _well_conditioned(self, H: Array) -> bool:
        """Whether no columns are nearly collinear."""
        return well_conditioned(H)

    def _descent(self, level: Level, curvature: Array | None = None, variances: Array | None = None) -> Descent:
        descent = Descent(level, self.penalty, self.settings, self.clock, self.arithmetic.shift, curvature, variances)
        descent.rough = self.rough and level.number == ALL
        return descent

    def _from_sample(self, first: Descent, point: Point) -> Requests[tuple[Level | None, Descent, Point]]:
        """Solve the sample, then the subset S, both to their sampling error; (S, descent on all rows, its first point).

        S is ``None`` if it would be most of the rows, or if the target is outside its hull, which does not mean that it
        is outside the hull of all rows.
        """
        origin = point.delta
        found = yield from first.run(point, aim=0.5 * self.k / first.level.size, limit=SAMPLE_STEPS)
        self._end_stage("sample", first)
        start, curvature, share = origin, None, 1.0
        if first.decrement <= 1.0:
            start, curvature, share = found.delta, first.curvature, (yield from self._share(found, first.level))
        size = max(self._subset_size(share), first.level.size)
        if size >= self.n:
            shrunk = None if curvature is None else shrink_correlations(curvature, share * first.level.size)
            descent = self._descent(self.everything, shrunk, self.variances)
            return None, descent, (yield from descent.at(start))
        subset: Level = yield Draw(size)
        inner = self._descent(subset, curvature, self.variances)
        found = yield from inner.run((yield from inner.at(start)), aim=0.5 * self.k / subset.size, limit=SAMPLE_STEPS)
        subset, inner, found = yield from self._with_extremes(subset, inner, found)
        if inner.decrement > 1.0:
            self._end_stage("subset", inner)
            descent = self._descent(self.everything, None, self.variances)
            return None, descent, (yield from descent.at(origin))
        H = (yield Tilt(found.delta, True, subset.number, guess=found.loss)).covariance
        inner.passes += 1
        self._end_stage("subset", inner)
        descent = self._descent(self.everything, shrink_correlations(H, share * subset.size), self.variances)
        return subset, descent, (yield from descent.at(found.delta, found.loss))

    def _with_extremes(self, subset: Level, inner: Descent, found: Point) -> Requests[tuple[Level, Descent, Point]]:
        """Add rows that a subset should have, if weights may be unbounded."""
        yield from ()
        return subset, inner, found

    def _share(self, point: Point, level: Level) -> Requests[float]:
        """Effective sample size of the weights at a point as a share of the rows: Z(δ)² / Z(2δ) for even weights."""
        twice = yield Tilt(2.0 * point.delta, level=level.number)
        return min(1.0, max(math.exp(min(2.0 * point.loss - twice.log_z, 0.0)), 1.0 / level.size))

    def _subset_size(self, share: float) -> int:
        """Size of S that minimises the cost of S and of the full passes after it; n if all rows cost no more.

        ``share`` is the effective sample size of the weights over the number of rows. S leaves a squared decrement of
        s = k / (share · |S|), each full pass multiplies it by s again, and the lift on S turns it into a gap that is
        larger by n / (2 |S|), for which the plan allows n / (share · |S|).
        """
        if self.settings.subset_rows is not None:
            return self.settings.subset_rows
        n, tol = self.n, self.settings.tol
        best, cost = n, math.inf
        for passes in PLANNED_PASSES:
            size = math.exp((passes * math.log(self.k / share) + math.log(n / (share * tol))) / (passes + 1))
            total = passes + self.row_cost * size / n
            if total < cost and 4.0 * size <= n:
                best, cost = int(size), total
        return best

    def _all_rows(self, descent: Descent, point: Point, subset: Level | None) -> Requests[tuple[Descent, Point, Proof]]:
        """Passes over all rows until the gap is proven, or nothing more can be gained."""
        tol = self.settings.tol
        exact_aim = tol * max(tol, EXACT_SHARE)
        # a smaller decrement needs fewer rows for the lift, whose covariance costs more the more features there are
        without_subset = tol / max(10.0, 0.15 * self.k)
        if descent.exact:
            aim = exact_aim
        elif subset is None:
            aim = without_subset
        else:  # a lift on S turns a squared decrement into a gap of half of it times n / |S|
            aim = 2.0 * LIFT_SHARE * tol * (1.0 + abs(point.value)) * subset.size / self.n
        while True:
            point = yield from descent.run(point, aim)
            proof = yield from self._certify(descent, point, subset)
            self._end_stage("all rows", descent, proof.gap)
            enough = proof.gap <= tol * (1.0 + abs(point.value))
            if enough or descent.reason in ("iteration limit", "time limit", "diverges"):
                break
            if descent.reason == "converged" and aim > SMALLEST_AIM:
                aim *= 1e-4 if descent.exact else 1e-2  # near the hull's boundary a lift works only near the solution
            elif descent.exact:
                break
            else:  # the subset is unrepresentative: continue with the covariance of all rows
                subset, descent.exact, descent.decrement = None, True, math.inf
                point, aim = (yield from descent.at(point.delta, point.loss)), exact_aim
        return descent, point, proof

    def _certify(self, descent: Descent, point: Point, subset: Level | None) -> Requests[Proof]:
        """Proof by a lift on as many rows as the decrement requires; if that fails, on the whole subset."""
        if descent.reason == "diverges":
            return NO_PROOF
        tol, decrement = self.settings.tol, descent.decrement
        hopeless = decrement > max(0.1, 10.0 * tol)  # it diverged, and no lift will prove it
        needed = 0 if hopeless else int(min(decrement * self.n / (tol * (1.0 + abs(point.value))), self.n))
        needed = max(LIFT_ROWS, LIFT_ROWS_PER_FEATURE * self.k, needed)
        source = subset or self.everything
        covered = subset is None and point.summary.covariance is not None and self.n * self.k <= LIFT_ALL
        if 2 * needed <= source.size and not covered:
            some = yield Draw(needed, source.number, at_random=False)
            proof = yield from prove(
                point.delta, point.summary, self.penalty, self.arithmetic, some.number, thorough=False
            )
            if hopeless or proof.gap <= tol * (1.0 + abs(point.value)):
                return proof
        thorough = subset is None and decrement <= tol
        return (yield from prove(point.delta, point.summary, self.penalty, self.arithmetic, source.number, thorough))

    def _end_stage(self, name: str, descent: Descent, gap: float = math.nan) -> None:
        """Record a stage."""
        now = self.clock.seconds
        done = sum(stage.passes for stage in self.trace if stage.name == name)
        stage = Stage(name, descent.level.size, descent.passes - done, now - self._stage_started, gap, descent.reason)
        self.trace.append(stage)
        self._stage_started = now
        if self.verbose:
            print(stage)


@dataclass(frozen=True, eq=False)
class NewtonResult:
    """Where Newton stopped on one problem: δ, its certificate, and the work done; fields as in :class:`Outcome`.

    ``intercept`` is c for rows relative to the target; ``None`` if it is still to be computed from δ.
    """

    delta: Array
    certificate: Certificate
    iterations: int
    passes: int
    reason: str
    trace: tuple[Stage, ...]
    free_directions: int = 0
    intercept: float | None = None


def newton(
    problem: RatioProblem,
    penalty: Penalty,
    settings: Settings,
    *,
    start: Array | None = None,
    verbose: bool = False,
) -> NewtonResult:
    """Solve [P] and certify the answer; the certificate of an unbounded problem proves nothing.

    Parameters
    ----------
    problem : RatioProblem
        The problem.
    penalty : Penalty
        Penalty of the problem, from :func:`~pre_convex.penalties.make_penalty`.
    settings : Settings
        Tolerance, limits and sizes.
    start : array of shape (k,), optional
        Initial δ, such as the answer of a cone solver.
    verbose : bool, default False
        Whether to print each stage.
    """
    # a large δ may overflow; the certificate judges the result
    with single_threaded_blas(), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found, outcome = _stages(problem, penalty, settings, start, verbose)
        if not outcome.collinear:
            return found
        if isinstance(penalty, NoPenalty):

            def run(inner: RatioProblem, z: Array | None, _: Index) -> NewtonResult:
                return _stages(inner, penalty, settings, z, verbose, collinear_ends=False)[0]

            return in_coordinates(problem, penalty, np.arange(problem.k), start, run)
        span = span_of(problem)
        away = span.null @ span.normal_components(np.zeros(problem.k))
        if isinstance(penalty, BallPenalty) and -float(away @ span.centre) > 1.001 * penalty.value(away):
            # the target is off the span of the rows, and the value is unbounded below
            return replace(found, delta=away, certificate=_unproven(problem, away, penalty), reason="diverges")
        free = span.free_directions(np.zeros(problem.k)).shape[1]
        found, _ = _stages(problem, penalty, settings, start, verbose, collinear_ends=False)
        return replace(found, free_directions=free)


def span_of(problem: RatioProblem, columns: Index | None = None) -> AffineSpan:
    """Affine span of the rows in some columns or in all."""
    return affine_span_of(problem.rows, problem.rows.sample(20_000) if problem.n_q > 40_000 else None, columns)


def _unproven(problem: RatioProblem, delta: Array, penalty: Penalty) -> Certificate:
    """Certificate of a δ on a diverging sequence."""
    if problem.has_intercept:
        theta = np.append(intercept_at(problem.rows, problem.link, delta), delta)
        summary = linked_tilt(problem.rows, problem.link, theta, covariance=False)
        return certificate_at(problem, theta, summary, penalty, NO_PROOF)
    return certificate_of(problem, delta, tilt(problem.rows, delta, covariance=False), penalty, NO_PROOF)


def _stages(
    problem: RatioProblem,
    penalty: Penalty,
    settings: Settings,
    start: Array | None,
    verbose: bool,
    *,
    collinear_ends: bool = True,
) -> tuple[NewtonResult, Outcome]:
    """Result of the stages in the coordinates of the problem."""
    n, k = problem.rows.shape
    staged = Staged(
        n, k, penalty, settings, arithmetic_of(problem), start,
        row_cost=problem.rows.subset_cost, collinear_ends=collinear_ends, verbose=verbose,
        rough=problem.rows.in_memory and problem.rows.single,
    )  # fmt: skip
    outcome = Alone(problem.rows).run(staged.run())
    point = outcome.point
    certificate = certificate_of(problem, point.delta, point.summary, penalty, outcome.proof)
    result = NewtonResult(
        point.delta,
        certificate,
        outcome.iterations,
        outcome.passes,
        outcome.reason,
        tuple(staged.trace),
        intercept=-point.loss,
    )
    return result, outcome


def in_coordinates(
    problem: RatioProblem,
    penalty: Penalty,
    columns: Index,
    start: Array | None,
    run: Callable[[RatioProblem, Array | None, Index], NewtonResult],
) -> NewtonResult:
    """Solve in coordinates of unit spread for unpenalised columns; δ is the shortest that gives the same ratio.

    Parameters
    ----------
    problem, penalty : RatioProblem, Penalty
        The problem and its penalty.
    columns : ndarray of int
        The unpenalised columns, which are collinear; each of the others is a coordinate by itself.
    start : ndarray of shape (k,), optional
        Initial δ.
    run : callable
        Solves the problem in the new coordinates, given the start in them and the columns that are coordinates by
        themselves; these come last.
    """
    k, zero, span = problem.k, np.zeros(columns.size), span_of(problem, columns)
    others = np.setdiff1d(np.arange(k), columns)
    off, free = span.normal_components(zero), span.free_directions(zero)
    if np.any(off):  # the target is off the span of the rows, and no δ is optimal
        delta = np.zeros(k)
        delta[columns] = span.null @ off
        return NewtonResult(delta, _unproven(problem, delta, penalty), 0, 1, "diverges", (), free.shape[1])
    # remove free directions from the basis and not from δ afterwards: for columns of small numbers they are large, and
    # their round-off would affect the columns of large numbers
    rank = span.basis.shape[1]
    T = np.zeros((k, rank + others.size))
    T[columns, :rank] = span.basis - free @ (free.T @ span.basis)
    T[others, np.arange(rank, T.shape[1])] = 1.0
    if T.shape[1] == 0:  # all rows are equal
        certificate = make_certificate(problem, np.zeros(k), penalty=penalty)
        return NewtonResult(np.zeros(k), certificate, 0, 1, "converged", (), free.shape[1])
    z = None
    if start is not None:  # it may differ from T z along free directions
        z = np.append(np.linalg.lstsq(np.hstack([T[columns, :rank], free]), start[columns])[0][:rank], start[others])
    found = run(problem.change_coordinates(T), z, others)
    delta = T @ found.delta
    # certify in the original variables, so that round-off of the coordinates is included
    certificate = make_certificate(problem, delta, penalty=penalty)
    return replace(found, delta=delta, certificate=certificate, free_directions=free.shape[1])
