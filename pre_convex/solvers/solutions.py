"""Solutions: answers to many problems that share the feature matrix."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._internal.typing import Array, Index
from .._internal.validation import preview
from ..certificate.certificate import Certificate
from ..data.tables import as_frame
from ..errors import DataError
from ..problem import RatioProblem
from ..solution import Solution, Status
from .batch import Batch

__all__ = ["SharedProblems", "Solutions"]


@dataclass(frozen=True, eq=False)
class SharedProblems:
    """Problems that share F: targets (W, k), radii (W,), and base weights in a batch."""

    template: RatioProblem  # holds F, the feature names and the norm
    targets: Array
    radius: Array
    batch: Batch

    def problem(self, w: int) -> RatioProblem:
        """Problem number w as a RatioProblem."""
        log_base: Any = self.batch.log_base(w)
        return RatioProblem(
            self.targets[w],
            self.template.features_q,
            log_base,
            radius=float(self.radius[w]),
            norm=self.template.norm,
            feature_names=self.template.feature_names,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Solutions:
    """Answers to W problems that share the feature matrix, each with its certificate.

    ``solutions[w]`` is the :class:`Solution` of problem w; iterating yields all of them.

    Attributes
    ----------
    delta : ndarray of shape (W, k)
        Ratio parameters δ, one row for each problem.
    status : list of Status
        What the certificate of each answer proves.
    gap, primal_value, dual_value : ndarray of shape (W,)
        Certified duality gap, value ℓ_R(δ) and lower bound of the optimum, as in :class:`Certificate`.
    iterations : ndarray of int of shape (W,)
        Newton steps on all rows.
    passes : int
        Passes over all rows that the problems shared.
    ess, ess_base : ndarray of shape (W,)
        Effective sample sizes of the weights μ and of the base weights, between 1 and n_q.
    solved_singly : dict of int to Solution
        Solutions of the problems that the batch could not prove and that were solved one by one.
    problems : SharedProblems
        The problems; :meth:`problem` makes one of them.
    certificate_fields : dict of str to ndarray of shape (W,)
        Other fields of the certificates.

    Examples
    --------
    >>> from pre_convex import solve_many
    >>> solutions = solve_many([[0.0], [1.0]], targets=[[0.25], [0.5]])
    >>> solutions[0].status.name, solutions.delta[0].round(6)
    ('OPTIMAL', array([-1.098612]))
    """

    delta: Array
    status: list[Status]
    gap: Array
    primal_value: Array
    dual_value: Array
    iterations: Index
    passes: int
    ess: Array
    ess_base: Array
    solved_singly: dict[int, Solution]
    problems: SharedProblems
    certificate_fields: dict[str, Array]

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which answers are proven optimal, a boolean array of shape (W,)."""
        return np.array([status.ok for status in self.status])

    def __len__(self) -> int:
        return len(self.delta)

    def __iter__(self) -> Iterator[Solution]:
        return (self[w] for w in range(len(self)))

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
        w = self._number(w)
        if w in self.solved_singly:
            return self.solved_singly[w]
        proof = Certificate(
            primal_value=float(self.primal_value[w]),
            dual_value=float(self.dual_value[w]),
            gap=float(self.gap[w]),
            simplex_residual=0.0,
            e_qn=0.0,
            **{name: float(values[w]) for name, values in self.certificate_fields.items()},
        )
        return Solution(
            delta=self.delta[w],
            weights=lambda: np.exp(self.problem(w).log_mu(self.delta[w])),
            status=self.status[w],
            certificate=proof,
            solver="newton",
            formulation="primal",
            iterations=int(self.iterations[w]),
        )

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
