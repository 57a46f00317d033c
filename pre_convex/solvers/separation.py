"""Separable samples: a direction in features without a radius that separates the p rows from the q rows.

Along it the loss of [LOGIT] never increases, so that there is no minimiser. The direction solves a linear program over
a working set of rows: maximise the mean margin of all rows while no margin of the set is negative, in a box. Rows that
the answer puts on the wrong side join the set.

The program is solved to a tolerance, so its answer is only a candidate. It separates if all margins are positive by
more than round-off once the threshold is in the middle. If rows lie on the threshold, the candidate is moved so that
those that are on the wrong side are exactly on it, and the margins of all rows close to it are computed in fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .._internal.linear_algebra import EPS
from .._internal.typing import Array, Index
from ..errors import SeparationError, round_up
from ..logistic import LogisticProblem
from ..penalties.units import feature_scale
from ..solution import Solution

__all__ = ["separating_direction", "separation_error"]

#: margins, in standard deviations of the features, that count as negative, and mean margins that count as positive
WRONG_SIDE, APART = 1e-9, 1e-7
#: margins, relative to the sizes of their terms, that are computed in fractions
CLOSE = 1e-6
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
        proven = _proven(problem, hint)
        if proven is not None:
            return proven
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
            return _proven(problem, theta)
        chosen[wrong[np.argsort(margins[wrong])[:JOIN]]] = True
    return None


def _proven(problem: LogisticProblem, theta: Array) -> Array | None:
    """A direction close to θ that separates in real arithmetic, rounded; ``None`` if none is found."""
    G, sign = problem.features - problem.target, np.where(problem.link.positive, 1.0, -1.0)
    largest = np.abs(G).max(axis=0)
    size = float(np.abs(theta[1:] * largest).max())
    if not 0.0 < size < math.inf:
        return None
    theta = theta / size
    z = G @ theta[1:]
    sizes = np.abs(G) @ np.abs(theta[1:])
    lowest, highest = float(z[sign > 0.0].min()), float(z[sign < 0.0].max())
    middle = -0.5 * (lowest + highest)
    room = 4.0 * EPS * (problem.k + 8) * (sizes + abs(middle))
    if np.all(sign * (z + middle) > room):
        return np.append(middle, theta[1:])
    sizes = sizes + abs(theta[0])
    margins = sign * (z + theta[0])
    close = margins <= CLOSE * sizes
    exact = _exact(problem, theta, np.flatnonzero(close), largest)
    if exact is None:
        return None
    moved = np.array([float(abs(x - Fraction(y))) for x, y in zip(exact, theta.tolist(), strict=True)]) * (1.0 + EPS)
    lost = moved[0] + np.abs(G) @ moved[1:] + 4.0 * EPS * (problem.k + 8) * sizes
    return np.array([float(x) for x in exact]) if np.all((margins > 2.0 * lost)[~close]) else None


def _exact(problem: LogisticProblem, theta: Array, close: Index, scale: Array) -> list[Fraction] | None:
    """θ moved so that no margin of these rows is negative in exact arithmetic, and one of all rows is positive."""
    used = np.flatnonzero(theta[1:])
    table = np.column_stack([problem.link.positive[close], problem.features[close][:, used]])
    table, b = np.unique(table, axis=0), [Fraction(x) for x in problem.target[used].tolist()]
    rows = [[Fraction(1), *(Fraction(x) - y for x, y in zip(row, b, strict=True))] for row in table[:, 1:].tolist()]
    signs = [1 if positive else -1 for positive in table[:, 0].tolist()]
    units = [1.0, *scale[used].tolist()]
    start = [Fraction(x) for x in [theta[0], *theta[1 + used].tolist()]]
    point = start
    # pairs of a pivot and a row that is one there and zero at the pivots of the others
    echelon: list[tuple[int, list[Fraction]]] = []
    while True:
        margins = [t * sum(map(Fraction.__mul__, row, point)) for t, row in zip(signs, rows, strict=True)]
        worst = min(range(len(rows)), key=margins.__getitem__, default=None)
        if worst is None or margins[worst] >= 0:
            break
        row = rows[worst]
        for pivot, other in echelon:
            row = [x - row[pivot] * y for x, y in zip(row, other, strict=True)]
        pivot = max(range(len(row)), key=lambda i: abs(row[i]) / Fraction(units[i] or 1.0))
        row = [x / row[pivot] for x in row]
        echelon = [(i, [x - other[pivot] * y for x, y in zip(other, row, strict=True)]) for i, other in echelon]
        echelon.append((pivot, row))
        if len(echelon) == len(start):
            return None
        point = list(start)
        for i, _ in echelon:
            point[i] = Fraction(0)
        free = list(point)
        for i, other in echelon:
            point[i] = -sum(map(Fraction.__mul__, other, free), Fraction(0))
    if close.size == problem.n and not any(margin > 0 for margin in margins):
        return None
    full = [Fraction(0)] * theta.size
    full[0] = point[0]
    for i, x in zip(used.tolist(), point[1:], strict=True):
        full[1 + i] = x
    return full


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
