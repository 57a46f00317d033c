"""Solutions: answers to many problems that share the feature matrix."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._internal.typing import Array, Index
from .._internal.validation import preview, read_only
from ..data.batch import Batch
from ..data.tables import as_frame
from ..errors import DataError
from ..problem import RatioProblem
from ..solution import Solution, Status

__all__ = ["SharedProblems", "Solutions"]


@dataclass(frozen=True, eq=False)
class SharedProblems:
    """Problems that share F: targets (W, k), radii (W,) or (W, k), and base weights in a batch."""

    template: RatioProblem  # holds F, the feature names and the norm
    targets: Array
    radius: Array
    batch: Batch
    #: divergence, bounds and largest weight, as arguments of a problem
    terms: dict[str, Any] = field(default_factory=dict)

    def problem(self, w: int) -> RatioProblem:
        """Problem number w as a RatioProblem."""
        log_base: Any = self.batch.log_base(w)
        radius: Any = self.radius[w]
        try:
            return RatioProblem(
                self.targets[w],
                self.template.features_q,
                log_base,
                radius=radius if np.ndim(radius) else float(radius),
                norm=self.template.norm,
                feature_names=self.template.feature_names,
                **self.terms,
            )
        except DataError as error:  # bounds that the base weights of this problem do not allow
            raise DataError(error.argument, f"problem {w}: {error.reason}", error.remedy) from error


@dataclass(frozen=True, eq=False, repr=False)
class Solutions:
    """Answers to W problems that share the feature matrix, each with its certificate.

    ``solutions[w]`` is the :class:`Solution` of problem w; iterating yields all of them.

    Attributes
    ----------
    problems : SharedProblems
        The problems; :meth:`problem` makes one of them.
    answers : tuple of Solution
        One solution for each problem.
    passes : int
        Passes over all rows that the problems shared.
    ess, ess_base : ndarray of shape (W,)
        Effective sample sizes of the weights μ and of the base weights, between 1 and n_q.
    solved_singly : dict of int to Solution
        Solutions of the problems that were not proven together with the others and so were solved one by one.

    Examples
    --------
    >>> from pre_convex import solve_many
    >>> solutions = solve_many([[0.0], [1.0]], targets=[[0.25], [0.5]])
    >>> solutions[0].status.name, solutions.delta[0].round(6)
    ('OPTIMAL', array([-1.098612]))
    """

    problems: SharedProblems
    answers: tuple[Solution, ...]
    passes: int
    ess: Array
    ess_base: Array
    solved_singly: dict[int, Solution]

    @cached_property
    def delta(self) -> Array:
        """Ratio parameters δ, one row for each problem, shape (W, k); their finite parts where there is a recession."""
        return read_only(np.array([one.delta for one in self.answers]))

    @property
    def status(self) -> list[Status]:
        """What the certificate of each answer proves."""
        return [one.status for one in self.answers]

    @cached_property
    def gap(self) -> Array:
        """Certified duality gaps, shape (W,)."""
        return read_only(np.array([one.gap for one in self.answers]))

    @cached_property
    def primal_value(self) -> Array:
        """Values ℓ_R(δ), shape (W,)."""
        return read_only(np.array([one.primal_value for one in self.answers]))

    @cached_property
    def dual_value(self) -> Array:
        """Lower bounds of the optima, shape (W,)."""
        return read_only(np.array([one.dual_value for one in self.answers]))

    @cached_property
    def iterations(self) -> Index:
        """Newton steps on all rows, shape (W,)."""
        return np.array([one.iterations for one in self.answers])

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which answers are proven optimal, as :attr:`Solution.ok`, a boolean array of shape (W,)."""
        return np.array([one.ok for one in self.answers])

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.answers)

    def __getitem__(self, w: int) -> Solution:
        """Solution of one problem; its weights μ are computed on first use.

        Parameters
        ----------
        w : int
            Number of the problem; negative numbers count from the end.

        Returns
        -------
        Solution
        """
        return self.answers[self._number(w)]

    def problem(self, w: int) -> RatioProblem:
        """Problem w by itself.

        Parameters
        ----------
        w : int
            Number of the problem; negative numbers count from the end.

        Returns
        -------
        RatioProblem
        """
        return self.problems.problem(self._number(w))

    def _number(self, w: Any) -> int:
        """Validated number of a problem; negative numbers count from the end."""
        try:
            return range(len(self))[operator.index(w)]
        except (TypeError, ValueError):
            raise DataError(
                "index", f"{preview(w)} is not an integer", "pass an integer, or use list(solutions)[i:j] for several"
            ) from None
        except IndexError:  # ends iteration over a sequence
            raise IndexError(f"index: {preview(w)} is out of range; there are {len(self)} problems") from None

    def to_frame(self, backend: str = "pandas") -> Any:
        """The answers as a data frame, one row for each problem.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default "pandas"
            Library of the data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Columns ``status``, ``value``, ``gap``, ``ess``, ``ess_base``, and one column of δ for each feature.
        """
        names = self.problems.template.feature_names
        data = {
            "status": [status.name for status in self.status],
            "value": self.primal_value,
            "gap": self.gap,
            "ess": self.ess,
            "ess_base": self.ess_base,
            **{name: self.delta[:, i] for i, name in enumerate(names)},
        }
        return as_frame(data, backend)

    def __repr__(self) -> str:
        counts = Counter(status.name for status in self.status)
        summary = ", ".join(f"{count} {name}" for name, count in counts.items())
        return f"Solutions({len(self)} problems, k={self.delta.shape[1]}: {summary})"
