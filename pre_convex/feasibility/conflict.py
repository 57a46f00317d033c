"""Why a problem is infeasible: features that no weights match together, and the cheapest relaxation that helps.

Both are linear programs in the weights, solved by HiGHS over moments that are reachable (:class:`Reachable`). With many
rows they begin with a few moments, and the direction v of each program adds the moments that are highest in it:

    [CLASH]   min e  s.t. |b − F'μ|_i ≤ R_i + e u_i for i in S        has the dual direction v, zero outside S

with u the features' ranges. The features in S conflict if a direction separates, whatever the program was; a vertex
of the dual is sparse, so that S shrinks quickly, and a deletion filter removes what is left.
"""

from __future__ import annotations

import numpy as np

from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index
from ..errors import SolveError
from ..penalties.units import feature_scale
from ..problem import RatioProblem
from .nearest import nearest_euclidean, nearest_polyhedral
from .reachable import Reachable

__all__ = ["cheapest_relaxation", "conflict_direction", "find_conflict", "is_ball"]

#: bound on programs of one search, each followed by a pass over the data
MAX_PROGRAMS = 200
#: tolerance of HiGHS, the smallest that it takes; also the violation, in ranges, that counts as none
TOLERANCE = 1e-10
#: relative accuracy of the cheapest relaxation
RELAXATION_RTOL = 1e-4
#: relaxations are this much larger than the residuals of the weights that need them
ROOM = 1e-9


@single_threaded_blas()
def find_conflict(problem: RatioProblem, hint: Array | None = None) -> tuple[int, ...]:
    """Numbers of features that no weights match together to within the radius, none of which can be left out.

    Parameters
    ----------
    problem : RatioProblem
        Its bounds and its radius count.
    hint : ndarray of shape (k,), optional
        A direction that may separate.

    Returns
    -------
    tuple of int
        In order; empty if no direction was found that separates. The features of a conflict are proven to conflict.
        That one of them cannot be left out means that no direction was found that separates without it: misses of less
        than about 1e-10 of a feature's range count as matches.

    Examples
    --------
    >>> F = [[0.0, 0.0, 3.0], [1.0, 0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]
    >>> find_conflict(RatioProblem([0.8, 0.7, 1.5], F))
    (0, 1)
    """
    return tuple(np.flatnonzero(conflict_direction(problem, hint)).tolist())


@single_threaded_blas()
def conflict_direction(problem: RatioProblem, hint: Array | None = None) -> Array:
    """The direction that proves a conflict: zero except for its features; all zero if there is no conflict."""
    moments = Reachable(problem, few=0 if problem.link.bounded and is_ball(problem) else None)
    v = _out_of_range(moments)
    if v is not None:
        return v
    v = np.zeros(problem.k)
    if hint is not None and np.any(hint) and moments.separates(hint, float(moments.add(hint[None])[0][0])):
        v = hint
    found = _separate(moments, _active(problem))
    v = v if found is None else found
    order, count = np.argsort(-np.abs(v) * moments.unit), 2
    while count < np.count_nonzero(v):  # the largest coefficients often suffice
        found = _separate(moments, np.sort(order[:count]))
        if found is not None:
            v = found
            break
        count *= 2
    for i in np.argsort(np.abs(v) * moments.unit):
        rest = np.setdiff1d(np.flatnonzero(v), i)
        if v[i] and rest.size:
            found = _separate(moments, rest)
            v = v if found is None else found
    return v


def _active(problem: RatioProblem) -> Index:
    """Features that are not left out."""
    return np.flatnonzero(np.broadcast_to(problem.radius, problem.k) < np.inf)


def _out_of_range(moments: Reachable) -> Array | None:
    """Direction of the feature whose target is furthest outside the range of the rows and the radius, in its units."""
    R = np.broadcast_to(moments.problem.radius, moments.problem.k)
    beyond = (np.maximum(moments.lowest, -moments.highest) - R) / moments.unit
    for i in np.argsort(-beyond)[: np.count_nonzero(beyond > 0.0)]:
        v = np.zeros(R.size)
        v[i] = -np.sign(moments.lowest[i])
        if moments.separates(v, -float(max(moments.lowest[i], -moments.highest[i]))):
            return v
    return None


def _separate(moments: Reachable, columns: Index) -> Array | None:
    """A direction of these features that proves that no weights match them; ``None`` if none is found."""
    find = _nearest if is_ball(moments.problem) else _least_violation
    for _ in range(MAX_PROGRAMS):
        v = find(moments, columns)
        if v is None:
            return None
        heights, added = moments.add(v[None])
        if moments.separates(v, float(heights[0])):
            return v
        if not added:
            return None
    return None


def is_ball(problem: RatioProblem) -> bool:
    """Whether the residual may be anywhere in a ball that is no box: one positive radius in norm 1 or 2."""
    return not problem.radius_per_feature and problem.norm < np.inf and problem.radius > 0.0


def _nearest(moments: Reachable, columns: Index) -> Array | None:
    """Direction from the nearest of the moments found so far; ``None`` if that is within the radius."""
    problem, G = moments.problem, -moments.points[:, columns]
    mu, v = nearest_euclidean(G)
    if problem.norm == 1.0:
        mu, v = nearest_polyhedral(G, mu, False, TOLERANCE)
    if np.linalg.norm(mu @ G, problem.norm) <= problem.radius:
        return None
    direction = np.zeros(problem.k)
    direction[columns] = v
    return direction


def _least_violation(moments: Reachable, columns: Index) -> Array | None:
    """Direction of the program [CLASH] over the moments found so far; ``None`` if these match the target."""
    problem, unit, size = moments.problem, moments.unit[columns], columns.size
    R = np.broadcast_to(problem.radius, problem.k)[columns] / unit
    P = (moments.points[:, columns] / unit).T
    A = np.column_stack([np.vstack([P, -P]), -np.ones(2 * size)])
    cost = np.eye(1, A.shape[1], A.shape[1] - 1)[0]
    _, y, value = _program(moments, cost, A, np.append(R, R), 1)
    if value <= TOLERANCE:
        return None
    v = np.zeros(problem.k)
    v[columns] = (y[size:] - y[:size]) / unit
    share = np.abs(v) * moments.unit
    v[share <= TOLERANCE * share.max()] = 0.0
    return v


def _program(moments: Reachable, cost: Array, A: Array, limit: Array, elastic: int) -> tuple[Array, Array, float]:
    """(x, y, value) of min ⟨cost, x⟩ s.t. A x ≤ limit, with weights that sum to one and then elastic variables."""
    from scipy.optimize import linprog  # slow to import and seldom needed

    m = len(moments.points)
    total = np.append(np.ones(m), np.zeros(elastic))[None]
    bounds = np.column_stack(
        [np.append(moments.lower, np.zeros(elastic)), np.append(moments.upper, np.full(elastic, np.inf))]
    )
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    found = linprog(cost, A, limit, total, [1.0], bounds, method="highs", options=options)
    if found.x is None:
        raise SolveError(f"conflict of features: {found.message}")
    return found.x, -found.ineqlin.marginals, float(found.fun)


@single_threaded_blas()
def cheapest_relaxation(problem: RatioProblem) -> Array:
    """The radius R_i of each feature that makes the problem feasible at the least Σ R_i / spread_i.

    Radii that the problem has for its features are kept and enlarged; one radius for all is replaced.

    Examples
    --------
    >>> problem = RatioProblem([0.8, 0.7], [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> [round(R, 6) for R in cheapest_relaxation(problem).tolist()]
    [0.0, 0.3]
    """
    moments, columns, k = Reachable(problem), _active(problem), problem.k
    R = np.array(problem.radius) if problem.radius_per_feature else np.zeros(k)
    spread, unit, width = feature_scale(problem), moments.unit[columns], columns.size
    price = unit / spread[columns]
    for _ in range(MAX_PROGRAMS):
        P = (moments.points[:, columns] / unit).T
        A = np.block([[P, -np.eye(width)], [-P, -np.eye(width)]])
        limit = np.tile(R[columns] / unit, 2)
        cost = np.append(np.zeros(len(moments.points)), price)
        x, y, value = _program(moments, cost, A, limit, width)
        v = np.zeros(k)
        v[columns] = (y[width:] - y[:width]) / unit
        height, added = moments.add(v[None])
        with np.errstate(invalid="ignore"):
            bound = -float(height[0]) - float(np.abs(v[columns]) @ R[columns])
        if not added or bound >= (1.0 - RELAXATION_RTOL) * value:
            break
    mu = x[: P.shape[1]]
    r = np.abs(mu @ moments.points[: mu.size] / mu.sum())
    needs = r > R + TOLERANCE * moments.unit
    return np.where(needs, (1.0 + ROOM) * r, R)
