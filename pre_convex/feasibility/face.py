"""The smallest face of the hull that contains the target, and a normal for which every other row lies below it.

The rows S that span the target lie on it. A row off the face is below some plane through S, and one normal works for
all such rows. With rows projected on the complement of the face found so far and scaled to unit length, solve

    maximise over v, m     m      s.t. ⟨v, F_j − b⟩ + m ≤ 0 for all other rows,  −1 ≤ v ≤ 1.

If m > 0 the face is complete. If m = 0, the rows with a positive multiplier balance each other, so that they are on the
face, and the search continues with them.
"""

from __future__ import annotations

from functools import partial
from operator import add

import numpy as np

from .._internal.typing import Array, Index
from ..data.affine_span import affine_span_of
from ..data.rows import Rows
from ..problem import RatioProblem
from .exposed import on_some_rows
from .hull import Hull

__all__ = ["restrict", "smallest_face", "spanning_rows"]

#: round-off of a mean of rows, relative to its size
ROUND_OFF = 2e-15
#: distance from a plane, in units of the rows' spread, up to which a row counts as on it
ON_PLANE = 1e-11
#: rows of the first linear program, for each dimension, and rows that are added at a time
FIRST_ROWS, ADDED_ROWS = 50, 100
#: tolerances of the linear programs
LP_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
#: cosines and multipliers of a linear program that count as positive
POSITIVE = 1e-9
#: limit on linear programs for one face
MAX_ROUNDS = 50


def restrict(problem: RatioProblem, index: Index) -> RatioProblem:
    """The problem on some of the rows; columns too small for a problem become zero."""
    F = problem.features_q[index]
    size = np.maximum(F.max(axis=0), -F.min(axis=0))
    return on_some_rows(problem.target.copy(), F, problem.log_base[index], size).centred_at_target()


def spanning_rows(problem: RatioProblem, hull: Hull) -> Index:
    """The fewest rows of the nearest point that have b itself in their hull.

    Rows close to a face, as on a moment curve, may have a weight in the nearest point that is only round-off.
    """
    relative = problem.rows.take(hull.index).features
    size = np.abs(relative).max(axis=0) + np.abs(problem.target)
    centred = relative / np.where(size > 0.0, size, 1.0)
    for least in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        some = hull.weights > least
        system = np.vstack([centred[some].T, np.ones(np.count_nonzero(some))])
        weights = np.linalg.lstsq(system, np.eye(1, len(system), problem.k)[0])[0]
        if weights.size and np.all(weights > 0.0) and np.all(np.abs(weights @ centred[some]) <= ROUND_OFF):
            return hull.index[some]
    return hull.index[hull.weights > 0.0]


def smallest_face(problem: RatioProblem, index: Index, min_sine: float) -> tuple[Index, Array] | None:
    """(rows, normal) of the smallest face that contains the target; ``None`` if the target is in the interior.

    Parameters
    ----------
    problem : RatioProblem
        Its rows are in memory.
    index : ndarray of int
        Rows that span the target.
    min_sine : float
        Sine of the smallest angle by which every other row must lie below the face.
    """
    rows, space = problem.rows, affine_span_of(problem.rows)
    while True:
        basis = space.basis @ _complement(rows.take(index).features @ space.basis)
        if basis.shape[1] == 0:
            return None
        y, cosines, tight = _largest_margin(rows, basis, -space.centre @ basis, index)
        if -cosines.max() > min_sine:
            face = np.flatnonzero((cosines == -np.inf) & (problem.log_base > -np.inf))
            return None if face.size == problem.positive_rows.size else (face, basis @ y)
        if tight.size == 0:
            return None
        index = np.append(index, tight)


def _complement(Z: Array) -> Array:
    """Orthonormal basis of the directions orthogonal to all rows."""
    _, singular, rotation = np.linalg.svd(Z, full_matrices=True)
    return np.asarray(rotation[np.count_nonzero(singular > ON_PLANE) :].T)


def _largest_margin(rows: Rows, basis: Array, y: Array, index: Index) -> tuple[Array, Array, Index]:
    """(y, cosines of all rows, rows with a positive multiplier) of the linear program, which starts with few rows.

    Every pass adds rows that violate its constraints, at first those that are highest in the direction of the given y.
    """
    from scipy.optimize import linprog

    k = y.size
    working = tight = np.zeros(0, dtype=np.intp)
    margin = np.inf
    for count in (FIRST_ROWS * k, *[ADDED_ROWS] * MAX_ROUNDS):
        cosines = np.concatenate(rows.reduce(partial(_cosines, basis=basis, y=y), add))
        cosines[index] = -np.inf
        others = cosines.copy()
        others[working] = -np.inf
        new = np.argpartition(-others, min(count, others.size) - 1)[:count]
        new = new[others[new] > POSITIVE - margin]
        if new.size == 0:
            return y, cosines, tight
        working = np.append(working, new)
        F = rows.take(working).features @ basis
        size = np.linalg.norm(F, axis=1)
        off = size > ON_PLANE  # round-off of products may differ from that of the pass
        working, F, size = working[off], F[off], size[off]
        if not working.size:
            break
        result = linprog(
            np.append(np.zeros(k), -1.0),
            A_ub=np.column_stack([F / size[:, None], np.ones(working.size)]),
            b_ub=np.zeros(working.size),
            bounds=[(-1.0, 1.0)] * k + [(0.0, 1.0)],
            options=LP_OPTIONS,
        )
        if result.status != 0:
            break
        y, margin, tight = result.x[:-1], float(result.x[-1]), working[result.ineqlin.marginals < -POSITIVE]
    return y, np.zeros(rows.shape[0]), working[:0]


def _cosines(rows: Rows, basis: Array, y: Array) -> list[Array]:
    """Heights ⟨F_j − b, basis · y⟩ in units of ‖(F_j − b) · basis‖; −inf on the plane or without weight."""
    cosines = np.full(rows.shape[0], -np.inf)
    for chunk, f in rows.chunks():
        A = f @ basis
        size = np.linalg.norm(A, axis=1)
        off = (size > ON_PLANE) & (rows.log_base[chunk] > -np.inf)
        cosines[chunk] = np.divide(A @ y, size, out=cosines[chunk], where=off)
    return [cosines]
