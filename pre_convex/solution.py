"""Status and Solution: an answer together with its certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._internal.typing import Array
from ._internal.validation import read_only
from .certificate.certificate import Certificate

if TYPE_CHECKING:
    from .feasibility import Hull, Recession
    from .solvers.settings import Settings

__all__ = ["Solution", "Stage", "Status"]


class Status(StrEnum):
    """Verdict on an answer, as a sentence that says what to do."""

    OPTIMAL = "Optimal: the duality gap proves the answer to the requested tolerance."
    ITERATION_LIMIT = "Stopped at the iteration limit: the gap says how far the answer may be from optimal."
    TIME_LIMIT = "Stopped at the time limit: the gap says how far the answer may be from optimal."
    INACCURATE = "Inaccurate: the gap is larger than the tolerance; try another solver, or a larger tol."
    BOUNDARY = (
        "On the boundary: the weights are optimal, but delta runs to infinity; a positive radius keeps it finite."
    )
    CLAIMED = "Claimed: the solver calls the answer optimal; terms of the weights are not covered by the certificate."
    INFEASIBLE = "Infeasible: the target is further from the hull than the radius; see the minimal radius."
    SEPARATED = "Separated: a direction separates the samples, so no finite delta is optimal; use a positive radius."
    FAILED = "Failed: the solver returned no usable numbers; try another solver."

    @property
    def ok(self) -> bool:
        """Whether the answer is proven optimal and δ is finite."""
        return self is Status.OPTIMAL


class Stage(NamedTuple):
    """One stage of a solve.

    Attributes
    ----------
    name : str
        What the stage did.
    rows : int
        Rows that its passes read.
    passes : int
        Number of passes over these rows.
    seconds : float
        Time that it took.
    gap : float
        Certified gap at its end; nan if none was computed.
    reason : str
        Why it ended.
    """

    name: str
    rows: int
    passes: int
    seconds: float
    gap: float
    reason: str

    def __str__(self) -> str:
        gap = "" if math.isnan(self.gap) else f"  gap {self.gap:.1e}"
        passes = f"{self.passes} pass{'' if self.passes == 1 else 'es'}"
        return f"{self.name:<12} {self.rows:>10,} rows  {passes:<10} {self.seconds:9.4f} s{gap}  {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """An answer (δ, μ), its certificate, and how it was found; :func:`solve` makes it.

    Attributes
    ----------
    delta : ndarray of shape (k,)
        δ, the ratio parameter; read-only.
    weights : ndarray of shape (n_q,), or function without arguments that returns it
        The weights, or how to compute them; :attr:`mu` is the array in both cases.
    status : Status
        Verdict of the certificate, never the solver's own claim.
    certificate : Certificate
        Duality gap and residuals of (δ, μ).
    solver : str
        Name of the solver.
    formulation : str
        ``"primal"`` or ``"dual"``, the program that was solved.
    iterations : int
        Iterations of the solver; polishing steps are not counted.
    raw : Certificate or None
        Certificate of a cone solver's own answer, before it was polished.
    hull : Hull or None
        Position of the target relative to the hull of the q features, if it was needed to decide the status.
    free_directions : int
        Dimension of the set of δ that give the same ratio on every q row. Without a radius and the user's terms
        ``delta`` is the shortest of them; with a radius in norm 2 only one is optimal.
    compile_time, setup_time, solve_time : float
        Seconds to translate the program for the solver, to prepare the data, and to solve and certify.
    claim : str
        The solver's own status, to compare with the certificate.
    polished : bool
        False for a cone solver's own answer that was not refined by Newton steps.
    settings : Settings or None
        Settings of the solve.
    normaliser : float, or function without arguments that returns it
        The intercept, or how to compute it; :attr:`intercept` is the number in both cases.
    trace : tuple of Stage
        Stages of the solve, what each of them cost, and why it ended.
    recession : tuple of Recession
        Coefficients that run to infinity because the target is the smallest or largest q value of their feature.
        ``delta`` then holds the finite part, with zeros in their place: the weights and the value are the limits along
        δ + Σ_l t^(m−l) s_l e_l, l = 1, …, m, for features and signs in this order. Empty in all other cases.
    user_terms : bool
        Whether the answer is to a problem with the user's own penalty or constraints.

    Examples
    --------
    >>> import pre_convex as pre
    >>> solution = pre.solve(pre.RatioProblem(target=[0.25], features_q=[[0.0], [1.0]]))
    >>> solution.status.ok, solution.mu.round(9).tolist()
    (True, [0.75, 0.25])
    """

    delta: Array
    weights: Array | Callable[[], Array]
    status: Status
    certificate: Certificate
    solver: str
    formulation: str
    iterations: int
    raw: Certificate | None = None
    hull: Hull | None = None
    free_directions: int = 0
    compile_time: float = 0.0
    setup_time: float = 0.0
    solve_time: float = 0.0
    claim: str = ""
    polished: bool = True
    settings: Settings | None = None
    trace: tuple[Stage, ...] = ()
    recession: tuple[Recession, ...] = ()
    user_terms: bool = False
    normaliser: float | Callable[[], float] = math.nan

    def __post_init__(self) -> None:
        self.delta.flags.writeable = False

    @cached_property
    def mu(self) -> Array:
        """Weights μ of the q rows, shape (n_q,); they sum to one. Computed on first use by one pass over the rows."""
        weights = self.weights() if callable(self.weights) else self.weights
        return read_only(np.asarray(weights, dtype=float))

    @cached_property
    def intercept(self) -> float:
        """c of [P]: the ratio is exp(c + ⟨δ, f(x)⟩) for KL, and t(c + ⟨δ, f(x)⟩) of [FY] in general; nan if unknown."""
        return float(self.normaliser() if callable(self.normaliser) else self.normaliser)

    def __getstate__(self) -> dict[str, Any]:
        """State with weights and intercept as numbers: the functions that compute them hold all rows."""
        return {**self.__dict__, "weights": self.mu, "normaliser": self.intercept}

    @property
    def ok(self) -> bool:
        """Whether the answer is proven optimal: a finite δ, or its finite part together with :attr:`recession`."""
        return self.status.ok or (self.status is Status.BOUNDARY and bool(self.recession))

    @property
    def primal_value(self) -> float:
        """ℓ_R(δ), or its limit along :attr:`recession`: an upper bound of the optimum."""
        return self.certificate.primal_value

    @property
    def dual_value(self) -> float:
        """Proven lower bound of the optimum."""
        return self.certificate.dual_value

    @property
    def gap(self) -> float:
        """Primal minus dual value: how far δ may be from optimal."""
        return self.certificate.gap

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name}, value={self.primal_value:.10g}, gap={self.gap:.1e}, "
            f"solver={self.solver}, formulation={self.formulation}, iterations={self.iterations})"
        )
