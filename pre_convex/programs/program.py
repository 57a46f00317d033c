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
        Returns (δ, μ) after ``cvxpy.solve()``, or ``None`` if the solver left no finite numbers. The intercept is then
        ``problem.intercept(delta)``.
    delta, intercept : cvxpy.Expression or None
        δ and c of a primal program; c only if the divergence is not KL or there are bounds.
    mu, r : cvxpy.Expression or None
        μ and the residual b − F'μ of a dual program, over the rows of positive base weight.

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
    delta: Any = None
    intercept: Any = None
    mu: Any = None
    r: Any = None

    def __str__(self) -> str:
        """The program as an equation: what cvxpy prints, without the differences between its versions."""
        text = str(self.cvxpy).replace(", None, False)", ")").replace("Sum(", "sum(").replace("norm_inf(", "norminf(")
        text = re.sub(r"\bPromote\(([^(),]+), \(\d+,\)\)", r"\1", text)
        text = re.sub(r"\bPnorm(?:Approx)?\((.*?), 2\)", r"norm2(\1)", text)
        text = re.sub(r"\b(?:power|PowerApprox)\(", "square(", text).replace(", 2.0)", ")")
        text = text.replace("quad_over_lin(", "sum_squares(").replace(", 1.0)", ")")
        text = text.replace("maximum(", "pos(").replace(", 0.0)", ")")
        text = _negations(text)
        return text.replace("+ -", "- ").replace("R @ norm", "R * norm")


def _negations(text: str) -> str:
    """Text with −(x) written as −x, unless x is a sum."""
    start = text.find("-(")
    while start >= 0:
        end, depth = start + 2, 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inside = text[start + 2 : end - 1]
        outside = re.sub(r"\([^()]*\)", "", inside)
        while outside != (shorter := re.sub(r"\([^()]*\)", "", outside)):
            outside = shorter
        if not re.search(r" [+-]", outside):
            text = f"{text[: start + 1]}{inside}{text[end:]}"
        start = text.find("-(", start + 1)
    return text


def column_scale(features: Array, scaled: bool) -> Array:
    """Standard deviation of every column if ``scaled``, otherwise ones; one for constant columns."""
    if not scaled:
        return np.ones(features.shape[1])
    spread = features.std(axis=0)
    return np.where(spread > 1e-13 * np.abs(features).max(axis=0), spread, 1.0)
