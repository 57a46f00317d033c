"""Separable samples: a direction in features without a radius that separates the p rows from the q rows.

Along it the loss of [LOGIT] never increases, so that there is no minimiser. The direction solves a linear program over
a working set of rows: maximise the mean margin of all rows while no margin of the set is negative, in a box. Rows that
the answer puts on the wrong side join the set.
"""

from __future__ import annotations

import math

import numpy as np

from .._internal.typing import Array, Index
from ..data.linked import linked_scores
from ..data.logistic import signed_margins
from ..errors import SeparationError, round_up
from ..logistic import LogisticProblem
from ..penalties.units import feature_scale
from ..solution import Solution

__all__ = ["separating_direction", "separation_error"]

#: margins, in standard deviations of the features, that count as negative, and mean margins that count as positive
WRONG_SIDE, APART = 1e-9, 1e-7
#: entries of the working set of rows at first, rows that join it at a time, and rounds
FIRST_NUMBERS, JOIN, ROUNDS = 100_000, 1_000, 50
#: share of the largest coefficient of a direction below which a feature is not named
NAMED = 1e-6


def separating_direction(problem: LogisticProblem, free: Index, hint: Array | None = None) -> Array | None:
    """θ = (c, δ) whose margins are nowhere negative and somewhere positive; ``None`` if there is none.

    Parameters
    ----------
    problem : LogisticProblem
        The problem.
    free : ndarray of int
        Features that the direction may use: those without a radius.
    hint : ndarray of shape (k + 1,), optional
        A point far out along the direction, as Newton leaves it.
    """
    from scipy.optimize import linprog

    if not free.size:
        return None
    if hint is not None and not np.any(np.delete(hint[1:], free)) and np.any(hint):
        z = linked_scores(problem.rows, hint)[0]
        if signed_margins(problem.rows, problem.link, hint).min() > WRONG_SIDE * float(np.abs(z).max()):
            return hint
    scale = feature_scale(problem.moments)[free]
    sign = np.where(problem.link.positive, 1.0, -1.0)
    G = (problem.features[:, free] - problem.target[free]) / scale
    mean = np.append(sign.mean(), sign @ G / len(G))
    rng, chosen = np.random.default_rng(0), np.zeros(len(G), dtype=bool)
    chosen[rng.permutation(len(G))[: max(FIRST_NUMBERS // (free.size + 1), 10 * (free.size + 1))]] = True
    for _ in range(ROUNDS):
        index = np.flatnonzero(chosen)
        rows = sign[index, None] * np.column_stack([np.ones(index.size), G[index]])
        found = linprog(-mean, A_ub=-rows, b_ub=np.zeros(index.size), bounds=[(-1.0, 1.0)] * mean.size, method="highs")
        if found.x is None or float(mean @ found.x) <= APART:
            return None
        margins = sign * (G @ found.x[1:] + found.x[0])
        wrong = np.flatnonzero((margins < -WRONG_SIDE) & ~chosen)
        if not wrong.size:
            theta = np.zeros(problem.k + 1)
            theta[0], theta[1 + free] = found.x[0], found.x[1:] / scale
            return theta
        chosen[wrong[np.argsort(margins[wrong])[:JOIN]]] = True
    return None


def separation_error(problem: LogisticProblem, solution: Solution) -> SeparationError:
    """The error that belongs to a solution of status SEPARATED, whose δ is the direction."""
    v = solution.delta
    size = np.abs(v) * feature_scale(problem.moments)
    names = tuple(problem.feature_names[i] for i in np.flatnonzero(size > NAMED * size.max(initial=0.0)))
    spread = feature_scale(problem.moments)
    radius = round_up(float(problem.moment_norm(spread)) / math.sqrt(problem.m), 2)
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} others" if len(names) > 6 else "")
    what = f"{shown} separates" if len(names) == 1 else f"A combination of {shown} separates"
    threshold = -float(solution.intercept)
    message = (
        f"{what} the samples: the p rows are all on one side of a threshold and the q rows on the other, up to ties, "
        f"so coefficients run to infinity. Remedies: use a positive radius, such as {radius:g}, about the noise of the "
        "means; drop these features; or collect samples that overlap."
    )
    return SeparationError(message, solution, v, threshold, names, radius)
