"""Both samples of a problem at a fitted δ: one pass over each side, shared by summary, inference and diagnostics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._internal.entropy import log_sum_exp
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import as_vector
from ..data.passes import (
    Reduction,
    Summary,
    highest_logit_reduction,
    reduce_together,
    tilt_reduction,
    tilt_with_logits,
)
from ..data.rows import Rows
from ..errors import DataError
from ..problem import RatioProblem, as_problem

__all__ = ["TiltedProblem"]

#: number of feature entries above which variances come from sums over rows instead of one influence per row
MAX_ENTRIES_BY_ROW = 1_000_000


@dataclass(frozen=True, eq=False)
class _QSums:
    """Results of the pass over the q rows; those that the case does not need are ``None``.

    ``tilted`` is under the weights μ(δ), ``squared`` under μ², ``mixed`` under μ·base, ``base`` and ``base_squared``
    under the base weights and their squares. ``highest`` is the largest logit.
    """

    tilted: Summary
    logits: Array | None = None
    squared: Summary | None = None
    mixed: Summary | None = None
    base: Summary | None = None
    base_squared: Summary | None = None
    highest: float | None = None


@dataclass(frozen=True, eq=False)
class _PSums:
    """Results of the pass over the p rows, under their weights and the squares of those."""

    squared: Summary
    plain: Summary | None = None
    highest: float | None = None


class TiltedProblem:
    """A problem at one δ, with the moments of its features under μ(δ).

    The rows are read when a result is first used, once on each side, and the results are kept. A fit keeps one of these
    for everything that is asked about it later.

    Parameters
    ----------
    problem : RatioProblem
    delta : array of shape (k,)

    Attributes
    ----------
    in_memory : bool
        Whether both samples are in memory.
    by_row : bool
        Whether there are few enough rows, all in memory, to compute the influence of each of them.
    """

    def __init__(self, problem: RatioProblem, delta: Any) -> None:
        self.problem = problem = as_problem(problem)
        self.delta = as_vector(delta, "delta", problem.k)
        rows_p, rows_q = problem.rows_p, problem.rows
        self.in_memory = rows_q.in_memory and (rows_p is None or rows_p.in_memory)
        entries = rows_q.shape[0] * problem.k + (0 if rows_p is None else rows_p.shape[0] * problem.k)
        self.by_row = self.in_memory and (problem.paired or entries <= MAX_ENTRIES_BY_ROW)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("problem", "delta", "in_memory", "by_row")
        return {name: self.__dict__[name] for name in kept}  # the sums can be computed again

    @property
    def rows_p(self) -> Rows:
        """The p rows.

        Raises
        ------
        DataError
            If the problem has only a target.
        """
        rows = self.problem.rows_p
        if rows is None:
            raise DataError(
                "problem",
                "has no p sample, so the noise of its target is unknown",
                "build it with RatioProblem.from_samples",
            )
        return rows

    @cached_property
    @single_threaded_blas()
    def q(self) -> _QSums:
        """Sums over the q rows, in one pass."""
        delta, zero = self.delta, np.zeros_like(self.delta)
        wanted: dict[str, Reduction] = {"tilted": tilt_with_logits(delta) if self.in_memory else tilt_reduction(delta)}
        if not self.by_row:
            wanted["squared"] = tilt_reduction(2.0 * delta, power=2.0)
            wanted["mixed"] = tilt_reduction(delta, covariance=False, power=2.0)
            wanted["base_squared"] = tilt_reduction(zero, covariance=False, power=2.0)
        if not self.in_memory:
            wanted["base"] = tilt_reduction(zero)
            wanted["highest"] = highest_logit_reduction(delta)
        sums = reduce_together(self.problem.rows, wanted)
        if self.in_memory:
            sums["tilted"], sums["logits"] = sums["tilted"]
        return _QSums(**sums)

    @cached_property
    @single_threaded_blas()
    def p(self) -> _PSums:
        """Sums over the p rows, in one pass."""
        zero = np.zeros_like(self.delta)
        wanted = {"squared": tilt_reduction(zero, power=2.0)}
        if not self.in_memory:
            wanted |= {"plain": tilt_reduction(zero, covariance=False), "highest": highest_logit_reduction(zero)}
        return _PSums(**reduce_together(self.rows_p, wanted))

    @property
    def log_z(self) -> float:
        """Log Σ_j exp(a_j + ⟨δ, F_j⟩), relative to the origin of the rows."""
        return self.q.tilted.log_z

    @property
    def residual(self) -> Array:
        """b − F'μ(δ), the residual of the moment constraint."""
        return -self.q.tilted.mean

    @property
    def hessian(self) -> Array:
        """∇²ℓ(δ), the covariance of F under μ(δ)."""
        covariance = self.q.tilted.covariance
        assert covariance is not None  # the pass always takes it
        return covariance

    @property
    def value(self) -> float:
        """ℓ(δ), without the penalty."""
        return float(self.log_z)

    @cached_property
    def mu(self) -> Array:
        """Weights μ(δ) of the q rows; for rows in memory only."""
        z = self.q.logits
        assert z is not None  # the rows are in memory
        return np.exp(z - log_sum_exp(z))

    def log_ratio(self, features: Array) -> Array:
        """⟨δ, f⟩ − log Z for every row of features."""
        origin = self.problem.rows.origin
        return np.asarray((features if origin is None else features - origin) @ self.delta - self.log_z)
