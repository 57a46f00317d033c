"""Both samples of a problem at a fitted δ: one pass over each side, shared by summary, inference and diagnostics."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._internal.entropy import log_sum_exp
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import as_vector
from ..data.moments import PMoments, QMoments, p_moments, q_moments
from ..data.rows import Rows
from ..errors import DataError
from ..feasibility.exposed import Recession
from ..problem import RatioProblem, as_problem

__all__ = ["TiltedProblem"]

#: number of feature entries above which variances come from sums over rows instead of one influence per row
MAX_ENTRIES_BY_ROW = 1_000_000


class TiltedProblem:
    """A problem at one δ, with the moments of its features under μ(δ).

    The rows are read when a result is first used, and the results are kept. A fit keeps one of these
    for everything that is asked about it later.

    Parameters
    ----------
    problem : RatioProblem
    delta : array of shape (k,)
        δ, or its finite part.
    recession : tuple of Recession, default ()
        Coefficients that run to infinity; μ is then the limit, zero on the rows off a face.

    Attributes
    ----------
    in_memory : bool
        Whether both samples are in memory.
    by_row : bool
        Whether there are few enough rows, all in memory, to compute the influence of each of them.
    """

    def __init__(self, problem: RatioProblem, delta: Any, recession: tuple[Recession, ...] = ()) -> None:
        self.problem = problem = as_problem(problem)
        problem.require_exponential("inference")
        problem.require_one_radius("inference")
        self.delta, self.recession = as_vector(delta, "delta", problem.k), recession
        rows_p, rows_q = problem.rows_p, problem.rows
        self.in_memory = rows_q.in_memory and (rows_p is None or rows_p.in_memory)
        entries = rows_q.shape[0] * problem.k + (0 if rows_p is None else rows_p.shape[0] * problem.k)
        self.by_row = self.in_memory and (problem.paired or entries <= MAX_ENTRIES_BY_ROW)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("problem", "delta", "recession", "in_memory", "by_row")
        return {name: self.__dict__[name] for name in kept}  # the sums can be computed again

    def at(self, delta: Any) -> TiltedProblem:
        """The problem at another δ; sums over the p side, which do not depend on it, are shared."""
        other = TiltedProblem(self.problem, delta)
        other.p = self.p
        return other

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
    def q(self) -> QMoments:
        """Sums over the q rows, in one pass."""
        self.problem._check_unchanged()
        columns = np.array([one.feature for one in self.recession], dtype=np.intp)
        return q_moments(self.problem.rows, self.delta, columns)

    @cached_property
    @single_threaded_blas()
    def p(self) -> PMoments:
        """Sums over the p rows, in one pass."""
        self.problem._check_unchanged()
        return p_moments(self.rows_p)

    @property
    def log_z(self) -> float:
        """Log Σ_j exp(a_j + ⟨δ, F_j⟩), relative to the origin of the rows."""
        return self.q.log_z

    @property
    def residual(self) -> Array:
        """b − F'μ(δ), the residual of the moment constraint."""
        return -self.q.mean

    @property
    def hessian(self) -> Array:
        """∇²ℓ(δ), the covariance of F under μ(δ)."""
        return self.q.covariance

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
        return self.inner(features) - self.log_z

    def inner(self, features: Array) -> Array:
        """⟨δ, f − b⟩ for every row of features; infinite where the first unbounded coefficient that matters is."""
        relative = features - self.problem.target
        inner = np.asarray(relative @ self.delta)
        for feature, sign in reversed(self.recession):
            away = sign * relative[:, feature]
            inner[away != 0.0] = np.copysign(np.inf, away[away != 0.0])
        return inner
