"""Program: a cvxpy problem that knows its way back to the ratio parameter and the weights."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from ..arrays import called
from ..entropy import Array, Index
from ..errors import DataError
from ..problem import RatioProblem

__all__ = ["Program", "alive", "columns_scale", "user_terms"]


@dataclass(frozen=True, eq=False)
class Program:
    """A cvxpy problem and the map from its variables and multipliers to (δ, μ).

    Attributes
    ----------
    cvxpy : cvxpy.Problem
        To look at, change, and solve with any solver.
    recover : callable
        Returns (δ, μ) after a solve, or ``None`` if the solver left no numbers.
    """

    cvxpy: Any
    recover: Callable[[], tuple[Array, Array] | None]

    def __str__(self) -> str:
        """The program as cvxpy prints it, less what an equation does not have; the same for all its versions."""
        text = str(self.cvxpy).replace(", None, False)", ")").replace("Sum(", "sum(").replace("norm_inf(", "norminf(")
        text = re.sub(r"\bPnorm(?:Approx)?\((.*?), 2\)", r"norm2(\1)", text)
        text = re.sub(r"\+ -\((.*?)\)", r"- \1", text)
        return text.replace("+ -", "- ").replace("R @ norm", "R * norm")


def alive(problem: RatioProblem) -> Index:
    """Numbers of the rows with positive base weight; the others carry no weight in any solution."""
    return np.flatnonzero(problem.log_base > -np.inf)


def columns_scale(features: Array, scaled: bool) -> Array:
    """Spread of every column when a program is scaled for a solver, otherwise ones."""
    if not scaled:
        return np.ones(features.shape[1])
    spread = features.std(axis=0)
    return np.where(spread > 1e-13 * np.abs(features).max(axis=0), spread, 1.0)


def _function(term: Any, name: str) -> Any:
    """A term that can be called."""
    if not callable(term):
        raise DataError(f"{name}: must be a function of a cvxpy expression delta, not {type(term).__name__}")
    return term


def _in_delta_alone(term: Any, delta: Any, name: str, fine: Callable[[Any], Any]) -> None:
    """Raise unless the values of a term are known as soon as δ is."""
    if {v.id for v in term.variables()} - {v.id for v in delta.variables()}:
        raise DataError(f"{name}: has variables of its own; write it in delta alone")
    if any(p.value is None for p in term.parameters()):
        raise DataError(f"{name}: has a parameter without a value; set it")
    for c in [*term.constants(), *term.parameters()]:
        if not np.all(fine(c.value.data if sparse.issparse(c.value) else c.value)):
            raise DataError(f"{name}: holds nan or inf; use finite numbers")


def user_terms(delta: Any, penalty: Any, constraints: Any) -> tuple[Any, list[Any]]:
    """The user's penalty and constraints as cvxpy objects, checked to be convex."""
    g: Any = 0.0
    if penalty is not None:
        g = called(_function(penalty, "penalty"), "penalty", delta)
        if not (isinstance(g, cp.Expression) and g.is_scalar() and g.is_convex()):
            raise DataError("penalty: must return one convex cvxpy expression of delta, such as cp.norm1(delta)")
        _in_delta_alone(g, delta, "penalty", np.isfinite)
        g = g if g.ndim == 0 else cp.sum(g)
    limits: list[Any] = []
    if constraints is not None:
        limits = called(_function(constraints, "constraints"), "constraints", delta)
        limits = list(limits) if isinstance(limits, (list, tuple)) else [limits]
        for i, c in enumerate(limits):
            if not (isinstance(c, cp.constraints.constraint.Constraint) and c.is_dcp()):
                raise DataError(f"constraints: entry {i} is not a convex cvxpy constraint of delta: {c}")
            _in_delta_alone(c, delta, "constraints", lambda values: ~np.isnan(values))
    return g, limits
