"""A case of the benchmark: a problem, and what is known about its answer before anybody solves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ..arrays import frozen
from ..entropy import Array
from ..problem import RatioProblem

__all__ = ["Case", "Truth"]


class Truth(StrEnum):
    """What is true of a problem, whatever a solver says."""

    OPTIMAL = "optimal"  #: a finite δ is optimal
    BOUNDARY = "boundary"  #: weights are optimal, and δ runs to infinity
    INFEASIBLE = "infeasible"  #: the target is further from the hull than the radius


@dataclass(frozen=True, eq=False)
class Case:
    """One problem with its known answer.

    Attributes
    ----------
    name : str
        Unique in its set.
    problem : RatioProblem
    truth : Truth
    value : float
        Optimal value of [P] and [D]; −inf where there is none.
    delta : ndarray of shape (k,), or None
        An optimal δ, where there is one.
    facts : mapping
        What was varied, such as the effective sample size or the distance to the hull.
    """

    name: str
    problem: RatioProblem
    truth: Truth
    value: float
    delta: Array | None = None
    facts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", frozen(self.delta))
