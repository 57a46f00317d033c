"""Program: a cvxpy problem together with the map from its variables and multipliers to (δ, μ)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._internal.typing import Array

__all__ = ["Program", "column_scale"]


@dataclass(frozen=True, eq=False)
class Program:
    """A cvxpy problem and the map from its variables and multipliers to (δ, μ).

    :func:`primal_program` and :func:`dual_program` make it.

    Attributes
    ----------
    cvxpy : cvxpy.Problem
        The problem, to print, change, and solve with any cvxpy solver.
    recover : function without arguments
        Returns (δ, μ) after ``cvxpy.solve()``, or ``None`` if the solver left no finite numbers.

    Examples
    --------
    >>> from pre_convex import RatioProblem, primal_program
    >>> program = primal_program(RatioProblem(target=[0.25], features_q=[[0.0], [1.0]]))
    >>> _ = program.cvxpy.solve(solver="CLARABEL")
    >>> delta, mu = program.recover()
    >>> mu.round(3).tolist()
    [0.75, 0.25]
    """

    cvxpy: Any
    recover: Callable[[], tuple[Array, Array] | None]

    def __str__(self) -> str:
        """The program as an equation: what cvxpy prints, without the differences between its versions."""
        text = str(self.cvxpy).replace(", None, False)", ")").replace("Sum(", "sum(").replace("norm_inf(", "norminf(")
        text = re.sub(r"\bPnorm(?:Approx)?\((.*?), 2\)", r"norm2(\1)", text)
        text = re.sub(r"\+ -\((.*?)\)", r"- \1", text)
        return text.replace("+ -", "- ").replace("R @ norm", "R * norm")


def column_scale(features: Array, scaled: bool) -> Array:
    """Standard deviation of every column if ``scaled``, otherwise ones; one for constant columns."""
    if not scaled:
        return np.ones(features.shape[1])
    spread = features.std(axis=0)
    return np.where(spread > 1e-13 * np.abs(features).max(axis=0), spread, 1.0)
