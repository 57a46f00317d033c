"""Answers to many problems that share the feature matrix."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import shown
from ..entropy import Array, Index, exp
from ..errors import DataError
from ..problem import RatioProblem
from ..solution import Certificate, Solution, Status
from ..tables import as_frame
from .batch import Batch

__all__ = ["Family", "Solutions"]


@dataclass(frozen=True, eq=False)
class Family:
    """Problems that share F, as they were given: targets (W, k), radii (W,), and base weights in a batch."""

    template: RatioProblem  # has F, its names and the norm
    targets: Array
    radius: Array
    batch: Batch

    def problem(self, w: int) -> RatioProblem:
        """One of them, by itself."""
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
    """Answers to W problems that share the feature matrix, each with its proof.

    Attributes
    ----------
    delta : ndarray of shape (W, k)
    status : list of Status
    gap, primal_value, dual_value : ndarrays of shape (W,)
        As in :class:`Certificate`.
    iterations : ndarray of int of shape (W,)
        Newton steps on all rows.
    passes : int
        Passes over all rows that were made together.
    ess, ess_base : ndarrays of shape (W,)
        Effective sample sizes of the weights μ and of the base weights.
    alone : dict of int to Solution
        Problems that were solved by themselves, by their numbers.
    family : Family
        The problems.
    facts : dict of str to ndarray of shape (W,)
        What else is in the certificates.
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
    alone: dict[int, Solution]
    family: Family
    facts: dict[str, Array]

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which answers are proven."""
        return np.array([status.ok for status in self.status])

    def __len__(self) -> int:
        return len(self.delta)

    def __iter__(self) -> Iterator[Solution]:
        return (self[w] for w in range(len(self)))

    def __getitem__(self, w: int) -> Solution:
        """The answer to one problem; its weights μ are computed when asked for."""
        w = self._number(w)
        if w in self.alone:
            return self.alone[w]
        proof = Certificate(
            primal_value=float(self.primal_value[w]),
            dual_value=float(self.dual_value[w]),
            gap=float(self.gap[w]),
            simplex_residual=0.0,
            e_qn=0.0,
            **{name: float(values[w]) for name, values in self.facts.items()},
        )
        return Solution(
            delta=self.delta[w],
            weights=lambda: exp(self.problem(w).log_mu(self.delta[w])),
            status=self.status[w],
            certificate=proof,
            solver="newton",
            formulation="primal",
            iterations=int(self.iterations[w]),
        )

    def problem(self, w: int) -> RatioProblem:
        """One of the problems, by itself."""
        return self.family.problem(self._number(w))

    def _number(self, w: Any) -> int:
        """The number of a problem, from the end if it is negative."""
        try:
            return range(len(self))[operator.index(w)]
        except (TypeError, ValueError):
            raise DataError(f"index: {shown(w)} is not a whole number; list(solutions)[i:j] has several") from None
        except IndexError:  # which is what ends a loop over a sequence
            raise IndexError(f"index: {shown(w)} is out of range; there are {len(self)} problems") from None

    def to_frame(self, backend: str = "pandas") -> Any:
        """A data frame of pandas or polars, one row for each problem."""
        names = self.family.template.feature_names
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
        said = ", ".join(f"{count} {name}" for name, count in counts.items())
        return f"Solutions({len(self)} problems, k={self.delta.shape[1]}: {said})"
