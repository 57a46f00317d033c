"""Means of an outcome under balancing weights, with standard errors that count the noise of the weights: [EFFECT]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._internal.typing import Array
from ..problem import RatioProblem
from ..solution import Solution
from .inference import normal_interval

__all__ = ["Effect", "WeightedMean", "weighted_mean"]

#: singular values below this share of the largest count as zero
RANK_TOL = 1e-9
#: leverage from which on a row counts as fitted exactly
MAX_LEVERAGE = 1.0 - 1e-6


@dataclass(frozen=True, eq=False)
class Effect:
    """An estimate with its standard error.

    Attributes
    ----------
    name : str
        What is estimated: ``"ATT"``, ``"ATE"``, ``"ATC"``, or ``"mean"`` or ``"total"`` of a population.
    estimate : float
        The estimate.
    std_error : float
        Its standard error [EFFECT]; nan if the bounds leave too few rows between them to compute it.
    influence : ndarray of shape (n,)
        How much each row contributes to the error of the estimate, to first order: the derivative with respect to its
        base weight, times that weight.
    """

    name: str
    estimate: float
    std_error: float
    influence: Array

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the estimate, by the normal approximation.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level, between 0 and 1.

        Returns
        -------
        tuple of float
            Lower and upper limit.
        """
        limits = normal_interval(np.array([self.estimate]), np.array([self.std_error]), level)
        return float(limits.lower[0]), float(limits.upper[0])

    def __str__(self) -> str:
        lower, upper = self.interval()
        places = _decimals(self.estimate, self.std_error)
        estimate, error, low, high = (f"{x:.{places}f}" for x in (self.estimate, self.std_error, lower, upper))
        return f"{self.name} {estimate}, std err {error}, 95 % [{low}, {high}]"

    __repr__ = __str__


def _decimals(estimate: float, std_error: float) -> int:
    """Decimals that show four digits of the standard error, but at most nine of the estimate."""
    places = [
        digits - 1 - math.floor(math.log10(abs(x)))
        for x, digits in ((estimate, 9), (std_error, 4))
        if math.isfinite(x) and x != 0.0
    ]
    return max(0, min(places, default=3))


class WeightedMean(NamedTuple):
    """Mean of an outcome under the weights of a solution, and its first-order expansion.

    Attributes
    ----------
    mean : float
        Σ μ_j y_j.
    influence : ndarray of shape (n_q,)
        Contribution of each q row to the error of the mean, to first order.
    without : ndarray of shape (n_q,)
        The same with residuals divided by one minus their leverage (HC3): by how much the mean changes without the row.
    slope : ndarray of shape (k,)
        Derivative of the mean with respect to the target, for targets that are estimated themselves.
    regular : bool
        Whether the expansion exists: the rows between the bounds determine δ.
    """

    mean: float
    influence: Array
    without: Array
    slope: Array
    regular: bool


def weighted_mean(problem: RatioProblem, solution: Solution, y: Array) -> WeightedMean:
    """Mean of y under the weights of a solution, with the influence of every row [EFFECT].

    Parameters
    ----------
    problem : RatioProblem
        A problem in memory.
    solution : Solution
        Its solution.
    y : array of shape (n_q,)
        Outcome of the q rows.

    Returns
    -------
    WeightedMean
    """
    F, mu, pi = problem.features_q, solution.mu, np.exp(problem.log_base)
    radius = np.broadcast_to(problem.radius, problem.k)
    active = (radius == 0.0) | (solution.delta != 0.0)  # moments that are held: at the target, or at the radius
    Z = np.column_stack([np.ones(len(mu)), (F - mu @ F)[:, active]])
    kappa = _curvature(problem, solution, pi)
    mean = float(mu @ y)
    root = np.sqrt(kappa)[:, None]
    beta, _, rank, _ = np.linalg.lstsq(root * Z, root[:, 0] * (y - mean), rcond=RANK_TOL)
    slope = np.zeros(problem.k)
    slope[active] = beta[1:]
    regular = problem.exponential or rank == np.linalg.matrix_rank(np.sqrt(pi)[:, None] * Z, rtol=RANK_TOL)
    residual, leverage = y - mean - Z @ beta, _leverage(root * Z)
    larger = residual / np.where(leverage < MAX_LEVERAGE, 1.0 - leverage, 1.0)  # with leverage one it is zero
    influence, without = (mu * x + beta[0] * pi for x in (residual, larger))
    return WeightedMean(mean, influence, without, slope, bool(regular))


def _leverage(X: Array) -> Array:
    """Diagonal of the projection onto the columns of X."""
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    return np.asarray(np.square(U[:, s > RANK_TOL * s[0]]).sum(axis=1))


def _curvature(problem: RatioProblem, solution: Solution, pi: Array) -> Array:
    """κ of [LINK]: the derivative of the weights with respect to s, zero on the bounds."""
    if problem.exponential:
        return solution.mu  # also where δ runs to infinity
    c = solution.intercept
    c = problem.intercept(solution.delta) if math.isnan(c) else c
    return pi * problem.link.curvature(c + problem.features_q @ solution.delta)
