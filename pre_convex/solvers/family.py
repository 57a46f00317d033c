"""Newton for the convex family: any divergence, bounds on the ratio, and one radius for each feature.

The stages are those of :mod:`~pre_convex.solvers.stages`, in θ = (c, δ): the intercept is one more coordinate, which
the penalty leaves free, and requests are answered by :class:`~pre_convex.data.linked.LinkedRows`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from ..certificate.certificate import NO_PROOF, Proof, sizes_of
from ..certificate.family import certificate_at, prove_linked
from ..certificate.lift import Sizes
from ..data.linked import LinkedRows, intercept_at
from ..data.requests import Level, Requests
from ..penalties import Penalty, with_intercept
from ..problem import RatioProblem
from .newton import Descent, Point
from .settings import Settings
from .stages import NewtonResult, Staged

__all__ = ["newton_linked"]

#: weights whose sum is this far from one get a better intercept
NORMALISED = 1e-12


class LinkedStages(Staged):
    """The stages in θ = (c, δ), with the certificate [FY]."""

    def _share(self, point: Point, level: Level) -> Requests[float]:
        """Effective sample size of the weights as a share of the rows."""
        yield from ()
        return min(1.0, max(point.summary.ess / level.size, 1.0 / level.size))

    def _certify(self, descent: Descent, point: Point, subset: Level | None) -> Requests[Proof]:
        """Proof by a lift on the subset, and if that does not suffice on all rows."""
        if descent.reason == "diverges":
            return NO_PROOF
        sizes = Sizes(self.sizes.target[1:], self.sizes.shift[1:])
        if subset is not None:
            proof = yield from prove_linked(point.delta, point.summary, self.penalty, sizes, subset.number)  # type: ignore[arg-type]
            if proof.gap <= self.settings.tol * (1.0 + abs(point.value)):
                return proof
        return (yield from prove_linked(point.delta, point.summary, self.penalty, sizes))  # type: ignore[arg-type]


def newton_linked(
    problem: RatioProblem,
    penalty: Penalty,
    settings: Settings,
    *,
    start: Array | None = None,
    verbose: bool = False,
) -> NewtonResult:
    """Solve [P] in (c, δ) and certify the answer; parameters as in :func:`~pre_convex.solvers.stages.newton`."""
    n, k = problem.rows.shape
    sizes = sizes_of(problem)
    extended = Sizes(np.append(0.0, sizes.target), np.append(0.0, sizes.shift))
    if problem.link.per_row:  # samples of rows with bounds of their own are not supported
        settings = replace(settings, small=max(settings.small, n * (k + 1)))
    with single_threaded_blas(), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        delta = penalty.start(k) if start is None else start
        theta = np.append(intercept_at(problem.rows, problem.link, delta), delta)
        staged = LinkedStages(
            n, k + 1, with_intercept(penalty, k), settings, extended, theta,
            row_cost=problem.rows.subset_cost, collinear_ends=False, verbose=verbose,
        )  # fmt: skip
        outcome = LinkedRows(problem.rows, problem.link).run(staged.run())
        theta = outcome.point.delta
        certificate = certificate_at(problem, theta, outcome.point.summary, penalty, outcome.proof)
        intercept = float(theta[0])
        if not abs(outcome.point.gradient[0]) <= NORMALISED:
            intercept = intercept_at(problem.rows, problem.link, theta[1:], intercept)
    return NewtonResult(
        np.array(theta[1:]),
        certificate,
        outcome.iterations,
        outcome.passes,
        outcome.reason,
        tuple(staged.trace),
        intercept=intercept,
    )
