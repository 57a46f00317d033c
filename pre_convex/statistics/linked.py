"""A problem of the convex family at a fitted (c, δ): the counterpart of TiltedProblem for divergences and bounds."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._internal.entropy import safe_log
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from ..divergences import Link
from ..errors import DataError
from ..feasibility.exposed import Recession
from ..problem import RatioProblem, as_problem
from ..solution import Solution

__all__ = ["LinkedProblem"]


class LinkedProblem:
    """A problem at the solution (c, δ), with the weights of [LINK] and the ratio [RATIO] of the convex family.

    Parameters
    ----------
    problem : RatioProblem
    solution : Solution

    Attributes
    ----------
    link : Link
        [RATIO] at new points. Bounds that differ between the q rows cannot say which of them holds for a new point,
        so that it gets the loosest of them.
    """

    def __init__(self, problem: RatioProblem, solution: Solution) -> None:
        self.problem, self.solution = as_problem(problem), solution
        self.delta, self.recession = solution.delta, ()
        rows_p = problem.rows_p
        self.in_memory = problem.rows.in_memory and (rows_p is None or rows_p.in_memory)
        lower, upper = problem.bounds
        self.link = Link(problem.link.divergence, float(np.min(lower)), float(np.max(upper)))

    recession: tuple[Recession, ...]

    @property
    def by_row(self) -> bool:
        """Whether all rows are in memory; sums over blocks are computed for KL without bounds only."""
        if not self.in_memory:
            self.problem.require_exponential("diagnostics of rows that are not in memory")
            raise DataError("radius", "with one radius for each feature, diagnostics need rows in memory", "load them")
        return True

    @cached_property
    @single_threaded_blas()
    def hessian(self) -> Array:
        """∇²ℓ(δ), the covariance of F under the curvature κ."""
        return self.problem.hessian(self.delta)

    @cached_property
    def residual(self) -> Array:
        """b − F'μ, the residual of the moment constraint."""
        return self.problem.residual(self.mu)

    @property
    def mu(self) -> Array:
        """Weights of the q rows."""
        return self.solution.mu

    def inner(self, features: Array) -> Array:
        """⟨δ, f − b⟩ for every row of features."""
        return np.asarray((features - self.problem.target) @ self.delta)

    @cached_property
    def intercept(self) -> float:
        """c for features relative to the target."""
        return self.solution.intercept + float(self.problem.target @ self.delta)

    def ratio(self, features: Array) -> Array:
        """t(c + ⟨δ, f⟩) for every row of features."""
        return self.link.ratio(self.intercept + self.inner(features))

    def log_ratio(self, features: Array) -> Array:
        """Logarithm of the ratio; −inf where that is zero."""
        if self.problem.exponential:  # does not overflow
            return self.intercept + self.inner(features)
        return safe_log(self.ratio(features))

    def score(self, features_p: Array, w: Array, features_q: Array, a: Array) -> float:
        """−min over c of P(c, δ) on other rows with weights w and log base weights a, without the penalty."""
        z_p, z_q, pi = self.inner(features_p), self.inner(features_q), np.exp(a)
        c = self.link.intercept(z_q, pi, self.intercept)
        return float(c + w @ z_p - pi @ self.link.conjugate(c + z_q))
