"""Newton for the convex family: any divergence, bounds on the ratio, and one radius for each feature.

The stages are those of :mod:`~pre_convex.solvers.stages`, in θ = (c, δ): the intercept is one more coordinate, which
the penalty leaves free, and requests are answered by :class:`~pre_convex.data.linked.LinkedRows`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .._internal.linear_algebra import well_conditioned
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index
from ..certificate.certificate import NO_PROOF, Proof
from ..certificate.family import certificate_at, linked_arithmetic, prove_linked
from ..data.linked import Extremes, LinkedRows, StepLimit, intercept_at
from ..data.passes import Summary
from ..data.requests import Level, Requests, Tilt
from ..divergences import Divergence
from ..penalties import PartialPenalty, Penalty, with_intercept
from ..problem import RatioProblem
from .newton import Descent, Point
from .settings import Settings
from .stages import SAMPLE_STEPS, NewtonResult, Outcome, Staged, in_coordinates

__all__ = ["newton_linked"]

#: share of the way to the first infinite ratio that a step may take, and n times the squared decrement below which
#: none is near and the curvature changes little
TO_LIMIT, CONCORDANT = 0.9, 0.25
#: rows that are added to a subset because their ratio is the largest, and how often
EXTREMES, EXTREMES_PER_FEATURE, ROUNDS = 1_000, 50, 6
#: weights whose sum is further from one than this get a better intercept when it is asked for
NORMALISED = 1e-13


class LinkedDescent(Descent):
    """Newton in θ = (c, δ), which stays where all ratios are finite.

    If the divergence has a limit, n times the loss is self-concordant, so that the curvature may change much as long as
    n times the squared decrement is not small. Until then it is computed again after each step, on the rows of the
    subset, which has those with the largest ratios.
    """

    limited = False
    #: the subset
    near: Level | None = None

    @property
    def far(self) -> bool:
        """Whether the curvature may change much along the next step."""
        return self.limited and self.decrement * self.level.size > CONCORDANT

    def at(self, delta: Array, guess: float = 0.0) -> Requests[Point]:
        """A pass at θ, with the covariance while the curvature changes."""
        if self.exact and self.far and not self.always:
            self.always = True
            point = yield from super().at(delta, guess)
            self.always = False
            return point
        return (yield from super().at(delta, guess))

    def _next_curvature(self, H: Array, point: Point, moved: Point) -> Requests[Array]:
        """Covariance of the subset, or a secant update."""
        self.renewed = self.far and self.near is not None
        if self.near is None or not self.renewed:
            return (yield from super()._next_curvature(H, point, moved))
        on_subset: Summary = yield Tilt(moved.delta, True, self.near.number)
        assert on_subset.covariance is not None  # it was asked for
        return on_subset.covariance

    def run(self, point: Point, aim: float, limit: int | None = None) -> Requests[Point]:
        """Go back towards zero first, if the start has infinite ratios, as that of a sample may."""
        if self.limited and not math.isfinite(point.value):
            reach = yield StepLimit(np.zeros_like(point.delta), point.delta, self.level.number)
            self.exact, self.decrement = True, math.inf
            point = yield from self.at(0.5 * reach * point.delta)
        return (yield from super().run(point, aim, limit))

    def _longest(self, point: Point, d: Array) -> Requests[float]:
        """At most most of the way to the first infinite ratio."""
        t: float = yield from super()._longest(point, d)
        if self.far:
            t = min(t, TO_LIMIT * (yield StepLimit(point.delta, d, (self.near or self.level).number)))
        return t


class LinkedStages(Staged):
    """The stages in θ = (c, δ), with the certificate [FY]."""

    divergence: Divergence
    limited = False

    def _well_conditioned(self, H: Array) -> bool:
        """Whether no unpenalised columns are nearly collinear; the others have a penalty."""
        free = self.penalty.unpenalised(self.k)  # with the intercept, which a constant column is a multiple of
        return free.size == 1 or well_conditioned(H[np.ix_(free, free)])

    def _descent(self, level: Level, curvature: Array | None = None, variances: Array | None = None) -> Descent:
        descent = LinkedDescent(
            level, self.penalty, self.settings, self.clock, self.arithmetic.shift, curvature, variances
        )
        descent.limited = self.limited
        return descent

    def _from_sample(self, first: Descent, point: Point) -> Requests[tuple[Level | None, Descent, Point]]:
        """The same, with the subset as the source of curvatures."""
        subset, descent, point = yield from super()._from_sample(first, point)
        assert isinstance(descent, LinkedDescent)  # made by this class
        descent.near = subset
        return subset, descent, point

    def _with_extremes(self, subset: Level, inner: Descent, found: Point) -> Requests[tuple[Level, Descent, Point]]:
        """Add the highest rows and solve again, until the ratios of all rows are finite at the solution."""
        for done in range(ROUNDS if self.limited else 0):
            level, highest = yield Extremes(found.delta, subset.number, max(EXTREMES, EXTREMES_PER_FEATURE * self.k))
            if done and highest < self.divergence.limit:
                break
            subset, passes = level, inner.passes
            inner = self._descent(subset, None, self.variances)
            inner.passes += passes
            found = yield from inner.at(found.delta)
            found = yield from inner.run(found, aim=0.01 / subset.size, limit=SAMPLE_STEPS)
        return subset, inner, found

    def _share(self, point: Point, level: Level) -> Requests[float]:
        """Effective sample size of the weights as a share of the rows."""
        yield from ()
        return min(1.0, max(point.summary.ess / level.size, 1.0 / level.size))

    def _certify(self, descent: Descent, point: Point, subset: Level | None) -> Requests[Proof]:
        """Proof by a lift on the subset, and if that does not suffice on all rows."""
        if descent.reason == "diverges":
            return NO_PROOF
        assert isinstance(self.penalty, PartialPenalty)  # with a free intercept
        where = (point.delta, point.summary, self.penalty, self.arithmetic, self.divergence)
        if subset is not None:
            proof = yield from prove_linked(*where, subset.number)
            if proof.gap <= self.settings.tol * (1.0 + abs(point.value)):
                return proof
        return (yield from prove_linked(*where))


def newton_linked(
    problem: RatioProblem,
    penalty: Penalty,
    settings: Settings,
    *,
    start: Array | None = None,
    verbose: bool = False,
) -> NewtonResult:
    """Solve [P] in (c, δ) and certify the answer; parameters as in :func:`~pre_convex.solvers.stages.newton`."""
    with single_threaded_blas(), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found, outcome = _stages(problem, penalty, settings, start, verbose)
        if not outcome.collinear:
            return found

        def run(inner: RatioProblem, z: Array | None, others: Index) -> NewtonResult:
            terms = penalty
            if isinstance(penalty, PartialPenalty):
                rank = inner.k - others.size
                on = rank + np.searchsorted(others, penalty.on)
                terms = PartialPenalty(penalty.inner, on, np.arange(rank), penalty.scale)
            return replace(_stages(inner, terms, settings, z, verbose, collinear_ends=False)[0], intercept=None)

        return in_coordinates(problem, penalty, penalty.unpenalised(problem.k), start, run)


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
    if problem.link.per_row:  # samples of rows with bounds of their own are not supported
        settings = replace(settings, small=max(settings.small, n * (k + 1)))
    delta = penalty.start(k) if start is None else start
    at_base = not (np.any(delta) or problem.link.per_row)  # the bounds are then on both sides of one
    theta = np.append(0.0 if at_base else intercept_at(problem.rows, problem.link, delta), delta)
    staged = LinkedStages(
        n, k + 1, with_intercept(penalty, k), settings, linked_arithmetic(problem), theta,
        row_cost=problem.rows.subset_cost, collinear_ends=collinear_ends, verbose=verbose,
    )  # fmt: skip
    staged.divergence = problem.link.divergence
    staged.limited = bool(np.isfinite(problem.link.divergence.limit) and np.any(np.isinf(problem.link.upper)))
    outcome = LinkedRows(problem.rows, problem.link).run(staged.run())
    theta = outcome.point.delta
    certificate = certificate_at(problem, theta, outcome.point.summary, penalty, outcome.proof)
    result = NewtonResult(
        np.array(theta[1:]),
        certificate,
        outcome.iterations,
        outcome.passes,
        outcome.reason,
        tuple(staged.trace),
        intercept=float(theta[0]) if abs(outcome.point.gradient[0]) <= NORMALISED else None,
    )
    return result, outcome
