"""Why not? Features that no weights can match together, and the cheapest relaxation that makes a problem feasible.

Both are linear programs in the weights, solved by HiGHS over moments that are reachable (:class:`Reachable`). With many
rows they begin with a few moments, and the direction v of each program adds the moments that are highest in it:

    [CLASH]   min e  s.t. |b − F'μ|_i ≤ R_i + e u_i for i in S        has the dual direction v, zero outside S

with u the features' ranges. The features in S conflict if a direction separates, whatever the program was; a vertex
of the dual is sparse, so that S shrinks quickly, and a deletion filter removes what is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index
from ..errors import SolveError
from ..penalties.units import feature_scale
from ..problem import RatioProblem
from .reachable import Reachable

__all__ = ["cheapest_relaxation", "find_conflict"]

#: bound on programs of one search, each followed by a pass over the data
MAX_PROGRAMS = 200
#: tolerance of HiGHS, the smallest that it takes; also the violation, in ranges, that counts as none
TOLERANCE = 1e-10
#: relative accuracy of the cheapest relaxation
RELAXATION_RTOL = 1e-4
#: relaxations are this much larger than the residuals of the weights that need them
ROOM = 1e-9


@dataclass(frozen=True, eq=False)
class _Answer:
    """Objective of a program, direction, and residual b − F'μ of all columns."""

    value: float
    direction: Array
    residual: Array


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
    moments = Reachable(problem)
    alone = _out_of_range(moments)
    if alone is not None:
        return (alone,)
    v = None
    if hint is not None and np.any(hint) and moments.separates(hint, float(moments.add(hint[None])[0][0])):
        v = hint
    found = _separate(moments, _active(problem))
    v = v if found is None else found
    if v is None:
        return ()
    size = np.abs(v) * moments.unit
    order, count = np.argsort(-size), 2
    while count < np.count_nonzero(v):  # the largest coefficients often suffice
        found = _separate(moments, np.sort(order[:count]))
        if found is not None:
            v = found
            break
        count *= 2
    conflict = np.flatnonzero(v)
    for i in conflict[np.argsort((np.abs(v) * moments.unit)[conflict])]:
        if i in conflict and conflict.size > 1:
            found = _separate(moments, conflict[conflict != i])
            conflict = conflict if found is None else np.flatnonzero(found)
    return tuple(conflict.tolist())


def _active(problem: RatioProblem) -> Index:
    """Features that are not left out."""
    return np.flatnonzero(np.broadcast_to(problem.radius, problem.k) < np.inf)


def _out_of_range(moments: Reachable) -> int | None:
    """The feature whose target is furthest outside the range of the rows and the radius, in units of the range."""
    R = np.broadcast_to(moments.problem.radius, moments.problem.k)
    beyond = (np.maximum(moments.lowest, -moments.highest) - R) / moments.unit
    for i in np.argsort(-beyond)[: np.count_nonzero(beyond > 0.0)]:
        v = np.zeros(R.size)
        v[i] = -np.sign(moments.lowest[i])
        if moments.separates(v, -float(max(moments.lowest[i], -moments.highest[i]))):
            return int(i)
    return None


def _separate(moments: Reachable, columns: Index) -> Array | None:
    """A direction of these features that proves that no weights match them; ``None`` if none is found."""
    problem = moments.problem
    ball = None if problem.radius_per_feature or problem.norm == np.inf or not problem.radius else _Ball(problem)
    for _ in range(MAX_PROGRAMS):
        answer = _least_violation(moments, columns, ball)
        v = answer.direction
        if answer.value <= TOLERANCE:
            if ball is None or not ball.cut(answer.residual, columns):
                return None
            continue
        heights, added = moments.add(v[None])
        if moments.separates(v, float(heights[0])):
            return v
        if not added and (ball is None or not ball.cut(answer.residual, columns)):
            return None
    return None


class _Ball:
    """The constraint ‖r‖ ≤ R of norms 1 and 2 by its tangent planes ⟨u,r⟩ ≤ R, where they are needed."""

    def __init__(self, problem: RatioProblem) -> None:
        self.order, self.radius = problem.norm, float(problem.radius)
        self.planes = np.zeros((0, problem.k))

    def cut(self, residual: Array, columns: Index) -> bool:
        """Add the plane at a residual, if that is outside the ball."""
        r = np.zeros_like(residual)
        r[columns] = residual[columns]
        length = float(np.linalg.norm(r, self.order))
        if length <= (1.0 + TOLERANCE) * self.radius:
            return False
        self.planes = np.vstack([self.planes, r / length if self.order == 2.0 else np.sign(r)])
        return True


def _least_violation(moments: Reachable, columns: Index, ball: _Ball | None) -> _Answer:
    """The program [CLASH] over the moments found so far."""
    problem, unit = moments.problem, moments.unit[columns]
    R = np.broadcast_to(problem.radius, problem.k)[columns] / unit
    P = (moments.points[:, columns] / unit).T
    A, limit = np.vstack([P, -P]), np.append(R, R)
    if ball is not None:
        planes = ball.planes[:, columns] / ball.radius
        A, limit = np.vstack([A, -planes @ moments.points[:, columns].T]), np.append(limit, np.ones(len(planes)))
    m = A.shape[1]
    cost = np.eye(1, m + 1, m)[0]
    x, y, value = _program(moments, cost, np.column_stack([A, -np.ones(len(A))]), limit, 1)
    v = np.zeros(problem.k)
    v[columns] = (y[columns.size : 2 * columns.size] - y[: columns.size]) / unit
    if ball is not None:
        v[columns] += y[2 * columns.size :] @ planes
    size = np.abs(v) * moments.unit
    v[size <= TOLERANCE * size.max(initial=0.0)] = 0.0
    return _Answer(value, v, -x[:m] @ moments.points)


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
