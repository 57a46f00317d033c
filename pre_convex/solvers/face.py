"""The smallest face of the hull that holds the target, and a direction in which every other row lies below it.

The rows S that span the target lie on it. A row that is not on it is below some plane through S, and one direction does
for all such rows: with rows of unit length, square to what the face spans so far,

    maximise over v, m     m      s.t. ⟨v, F_j − b⟩ + m ≤ 0 for all other rows,  −1 ≤ v ≤ 1.

Where m > 0 all is found. Where m = 0, the rows that have a multiplier balance each other, so that they are on the face,
and the search goes on with them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..checks import LARGEST
from ..coordinates import coordinates
from ..entropy import Array, Index
from ..feasibility import Hull
from ..problem import RatioProblem

__all__ = ["around_target", "carriers", "on_rows", "sizes", "smallest_face"]

#: share of its size by which a mean of rows may miss a target that it hits
ROUND_OFF = 2e-15
#: numbers below this are none
SMALLEST = 1.0 / LARGEST
#: distance, in units of the rows' spread, at which a row counts as one of a plane
IN_PLANE = 1e-11
#: rows that a linear program begins with, for each dimension, and that are added to it at a time
FIRST, MORE = 50, 100
ROUNDS = 50


def around_target(problem: RatioProblem) -> RatioProblem:
    """The same problem, in memory, with the target as the origin of all sums over rows."""
    other = problem.with_radius(problem.radius)
    object.__setattr__(other, "rows", replace(problem.rows, origin=problem.target))
    return other


def on_rows(problem: RatioProblem, index: Index, target: Array) -> RatioProblem:
    """The problem on some of the rows, with a target of its own; what is nothing beside the other rows is zero."""
    features = problem.features_q[index]
    features, target = (np.where(np.abs(x) < SMALLEST, 0.0, x) for x in (features, target))
    return around_target(RatioProblem(target, features, problem.log_base[index]))


def sizes(problem: RatioProblem, index: Index) -> Array:
    """Sizes of some rows and of the target, of which the last digits of their moment are a share; one for none."""
    size = np.abs(problem.features_q[index]).max(axis=0, initial=0.0) + np.abs(problem.target)
    return np.where(size > 0.0, size, 1.0)


def carriers(problem: RatioProblem, hull: Hull) -> tuple[Index, Array]:
    """Rows that span the nearest point of the hull, and their weights: as few as have b itself in their hull.

    Rows next to a face, as on a curve of moments, may have got weights that are no more than the round-off of the
    search for the nearest point.
    """
    b, size = problem.target, sizes(problem, hull.index)
    for least in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        index = hull.index[hull.weights > least]
        away = (problem.features_q[index] - b) / size
        weights = np.linalg.lstsq(np.vstack([away.T, np.ones(index.size)]), np.append(0.0 * b, 1.0))[0]
        miss = np.abs(weights @ problem.features_q[index] - b)
        if index.size and np.all(weights > 0.0) and np.all(miss <= ROUND_OFF * size):
            return index, weights
    solid = hull.weights > 0.0
    return hull.index[solid], hull.weights[solid] / hull.weights[solid].sum()


def smallest_face(problem: RatioProblem, index: Index, least: float) -> tuple[Index, Array] | None:
    """Rows of the face on which the rows of ``index`` have the target between them, and its normal.

    ``least`` is about the sine of the angle by which every other row is below the face. The problem has its target as
    its origin.
    """
    alive = np.flatnonzero(problem.log_base > -np.inf)
    space = coordinates(problem.rows)
    Z = problem.rows.take(alive).features @ space.basis
    on = np.isin(alive, index)
    while True:
        square = _complement(Z[on])
        A = Z @ square
        size = np.sqrt(np.square(A).sum(axis=1))
        on |= size <= IN_PLANE
        if square.shape[1] == 0 or on.all():
            return None
        rest = np.flatnonzero(~on)
        y, margin, tight = _steepest(A[rest] / size[rest, None])
        if margin > least:
            return alive[on], space.basis @ (square @ y)
        if not tight.any():
            return None
        on[rest[tight]] = True


def _complement(Z: Array) -> Array:
    """Orthonormal directions square to all rows."""
    if len(Z) > Z.shape[1]:  # the triangular factor has the same singular values and is small
        Z = np.asarray(np.linalg.qr(Z, mode="r"))
    _, singular, rotation = np.linalg.svd(Z, full_matrices=True)
    return np.asarray(rotation[np.count_nonzero(singular > IN_PLANE) :].T)


def _steepest(A: Array) -> tuple[Array, float, NDArray[np.bool_]]:
    """(y, m, rows with a multiplier) of the linear program, posed for some rows until the others agree."""
    from scipy.optimize import linprog

    n, k = A.shape
    some = np.arange(n) if n <= FIRST * k + MORE else np.argsort(A @ A.mean(axis=0))[: FIRST * k]
    for _ in range(ROUNDS):
        result = linprog(
            np.append(np.zeros(k), -1.0),
            A_ub=np.column_stack([A[some], np.ones(some.size)]),
            b_ub=np.zeros(some.size),
            bounds=[(-1.0, 1.0)] * k + [(0.0, 1.0)],
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if result.status != 0:
            break
        y, margin = result.x[:-1], float(result.x[-1])
        heights = A @ y
        above = np.flatnonzero(heights > -margin + 1e-9)
        new = np.setdiff1d(above, some)
        if new.size == 0:
            tight = np.zeros(n, dtype=bool)
            tight[some] = result.ineqlin.marginals < -1e-9
            return y, -float(heights.max()), tight
        some = np.union1d(some, new[np.argsort(-heights[new])[:MORE]])
    return np.zeros(k), 0.0, np.zeros(n, dtype=bool)
