"""The smallest face of the hull that contains the target, and a normal for which every other row lies below it.

The rows S that span the target lie on it. A row off the face is below some plane through S, and one normal works for
all such rows. With rows projected on the complement of the face found so far and scaled to unit length, solve

    maximise over v, m     m      s.t. ⟨v, F_j − b⟩ + m ≤ 0 for all other rows,  −1 ≤ v ≤ 1.

If m > 0 the face is complete. If m = 0, the rows with a positive multiplier balance each other, so that they are on the
face, and the search continues with them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._internal.typing import Array, Index
from .._internal.validation import MAX_ENTRY
from ..data.affine_span import affine_span_of
from ..problem import RatioProblem
from .hull import Hull

__all__ = ["restrict", "row_sizes", "smallest_face", "spanning_rows"]

#: round-off of a mean of rows, relative to its size
ROUND_OFF = 2e-15
#: numbers below this count as zero
SMALLEST = 1.0 / MAX_ENTRY
#: distance from a plane, in units of the rows' spread, up to which a row counts as on it
ON_PLANE = 1e-11
#: rows of the first linear program, for each dimension, and rows that are added at a time
FIRST_ROWS, ADDED_ROWS = 50, 100
#: tolerances of the linear programs
LP_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
#: limit on linear programs for one face
MAX_ROUNDS = 50


def restrict(problem: RatioProblem, index: Index, target: Array) -> RatioProblem:
    """The problem on some of the rows, with another target; numbers too small for a problem become zero."""
    features = problem.features_q[index]
    features, target = (np.where(np.abs(x) < SMALLEST, 0.0, x) for x in (features, target))
    return RatioProblem(target, features, problem.log_base[index]).centred_at_target()


def row_sizes(problem: RatioProblem, index: Index) -> Array:
    """Largest size in every column of some rows and of the target, the unit of round-off; one for zero columns."""
    size = np.abs(problem.features_q[index]).max(axis=0, initial=0.0) + np.abs(problem.target)
    return np.where(size > 0.0, size, 1.0)


def spanning_rows(problem: RatioProblem, hull: Hull) -> tuple[Index, Array]:
    """The fewest rows of the nearest point that have b itself in their hull, and their weights.

    Rows close to a face, as on a moment curve, may have a weight in the nearest point that is only round-off.
    """
    b, size = problem.target, row_sizes(problem, hull.index)
    for least in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        index = hull.index[hull.weights > least]
        centred = (problem.features_q[index] - b) / size
        weights = np.linalg.lstsq(np.vstack([centred.T, np.ones(index.size)]), np.append(0.0 * b, 1.0))[0]
        miss = np.abs(weights @ problem.features_q[index] - b)
        if index.size and np.all(weights > 0.0) and np.all(miss <= ROUND_OFF * size):
            return index, weights
    positive = hull.weights > 0.0
    return hull.index[positive], hull.weights[positive] / hull.weights[positive].sum()


def smallest_face(problem: RatioProblem, index: Index, min_sine: float) -> tuple[Index, Array] | None:
    """(rows, normal) of the smallest face that contains the target; ``None`` if the target is in the interior.

    Parameters
    ----------
    problem : RatioProblem
        With its target as the origin.
    index : ndarray of int
        Rows that span the target.
    min_sine : float
        Sine of the smallest angle by which every other row must lie below the face.
    """
    positive = problem.positive_rows
    space = affine_span_of(problem.rows)
    Z = problem.rows.take(positive).features @ space.basis
    on_face = np.isin(positive, index)
    while True:
        complement = _complement(Z[on_face])
        A = Z @ complement
        size = np.sqrt(np.square(A).sum(axis=1))
        on_face |= size <= ON_PLANE
        if complement.shape[1] == 0 or on_face.all():
            return None
        rest = np.flatnonzero(~on_face)
        y, margin, tight = _largest_margin(A[rest] / size[rest, None])
        if margin > min_sine:
            return positive[on_face], space.basis @ (complement @ y)
        if not tight.any():
            return None
        on_face[rest[tight]] = True


def _complement(Z: Array) -> Array:
    """Orthonormal basis of the directions orthogonal to all rows."""
    if len(Z) > Z.shape[1]:  # the triangular factor has the same singular values and is smaller
        Z = np.asarray(np.linalg.qr(Z, mode="r"))
    _, singular, rotation = np.linalg.svd(Z, full_matrices=True)
    return np.asarray(rotation[np.count_nonzero(singular > ON_PLANE) :].T)


def _largest_margin(A: Array) -> tuple[Array, float, NDArray[np.bool_]]:
    """(y, m, rows with a positive multiplier) of the linear program, by adding violated rows to a working set."""
    from scipy.optimize import linprog

    n, k = A.shape
    working = np.arange(n)
    if n > FIRST_ROWS * k + ADDED_ROWS:
        working = np.argsort(A @ A.mean(axis=0))[: FIRST_ROWS * k]
    for _ in range(MAX_ROUNDS):
        result = linprog(
            np.append(np.zeros(k), -1.0),
            A_ub=np.column_stack([A[working], np.ones(working.size)]),
            b_ub=np.zeros(working.size),
            bounds=[(-1.0, 1.0)] * k + [(0.0, 1.0)],
            options=LP_OPTIONS,
        )
        if result.status != 0:
            break
        y, margin = result.x[:-1], float(result.x[-1])
        heights = A @ y
        above = np.flatnonzero(heights > -margin + 1e-9)
        new = np.setdiff1d(above, working)
        if new.size == 0:
            tight = np.zeros(n, dtype=bool)
            tight[working] = result.ineqlin.marginals < -1e-9
            return y, -float(heights.max()), tight
        working = np.union1d(working, new[np.argsort(-heights[new])[:ADDED_ROWS]])
    return np.zeros(k), 0.0, np.zeros(n, dtype=bool)
