"""A run as a folder: ``run.json`` tells what it was made with, ``rows.csv`` has a line for every solve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .metrics import Verdict

__all__ = ["Key", "Row"]

#: set, case, solver, formulation, tolerance
Key = tuple[str, str, str, str, float]


@dataclass(frozen=True)
class Row:
    """One solve.

    Attributes
    ----------
    group, case : str
        Name of the set and of the case in it.
    n, k : int
        Size of the problem.
    truth : str
        As in :class:`Truth`.
    solver, formulation : str
    tol : float
    verdict : Verdict
    claim : str
        The solver's own word.
    note : str
        What ended it, where that was no answer: a signal, an exception, a limit.
    numbers : mapping
        Metrics by name; nan or absent where there is none.
    """

    group: str
    case: str
    n: int
    k: int
    truth: str
    solver: str
    formulation: str
    tol: float
    verdict: Verdict
    claim: str = ""
    note: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What a run has one row of."""
        return self.group, self.case, self.solver, self.formulation, self.tol
