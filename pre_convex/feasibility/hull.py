"""Position of the target: inside the hull of the q features, on its boundary, or outside, with proof.

With R = 0, [P] is bounded and [D] feasible exactly when b is in the convex hull of the rows of F. The distance

    [HULL]   min over μ on the simplex ‖b − F'μ‖  =  max over ‖v‖_* ≤ 1 of ⟨v,b⟩ − max_j ⟨v,F_j⟩

is found by column generation: a small problem over a few dozen rows, then one pass that finds rows beyond its
supporting plane. Both sides of [HULL] are computed, so the distance comes with its own gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from .._internal.linear_algebra import EPS
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index
from .._internal.validation import MAX_PARAMETER, as_vector, check_tol
from ..data.affine_span import affine_span_of
from ..data.passes import support
from ..data.rows import Rows
from ..errors import SolveError
from ..penalties.norms import Norm, get_norm
from ..problem import RatioProblem, as_problem

__all__ = ["Hull", "Position", "is_too_far", "minimal_radius"]

#: distances below this share of the features' spread count as zero
ZERO_DISTANCE = 1e-10
#: smallest mean depth of the rows below a supporting plane, as a share of their spread
MIN_DEPTH = 1e-4
#: rows that a pass adds for each direction
ROWS_PER_PASS = 48
#: limit on passes over the data
MAX_PASSES = 200
#: tolerances of the linear programs
LP_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Position(Enum):
    """Position of the target relative to the hull of the q features."""

    INSIDE = "inside the hull"
    BOUNDARY = "on the boundary of the hull"
    OUTSIDE = "outside the hull"


@dataclass(frozen=True, eq=False)
class Hull:
    """Distance from the target to the hull of the q features, and its proof; :func:`minimal_radius` makes it.

    Attributes
    ----------
    position : Position
        Inside, on the boundary, or outside.
    radius : float
        The minimal radius: ‖b − F'μ‖ at the nearest weights; zero inside and on the boundary.
    lower : float
        Proven lower bound on the minimal radius: ⟨v,b⟩ − max_j ⟨v,F_j⟩ less round-off.
    direction : ndarray of shape (k,)
        v of unit dual norm: separating outside, supporting on the boundary, zero inside.
    index : ndarray of int
        Rows that span the nearest point of the hull.
    weights : ndarray
        Their weights, which sum to one.
    passes : int
        Passes over the data.
    """

    position: Position
    radius: float
    lower: float
    direction: Array
    index: Index
    weights: Array
    passes: int

    def __post_init__(self) -> None:
        for array in (self.direction, self.index, self.weights):
            array.flags.writeable = False


def _nearest_euclidean(G: Array) -> tuple[Array, Array]:
    """Weights μ and direction v, of any length, of min ‖G'μ‖₂ over the simplex.

    This is the least-distance problem of Lawson and Hanson: a non-negative least-squares fit of (0, …, 0, 1) by the
    rows (G_j, 1).
    """
    from scipy.optimize import nnls  # slow to import and seldom needed

    scale = np.abs(G).max() or 1.0
    E = np.vstack([G.T / scale, np.ones(len(G))])
    try:
        x, _ = nnls(E, np.append(np.zeros(G.shape[1]), 1.0), maxiter=100 * len(G))
    except RuntimeError as error:
        raise SolveError(f"distance to the hull: {error}") from error
    mu = x / x.sum()
    return mu, mu @ G


def _nearest_polyhedral(G: Array, order: float) -> tuple[Array, Array]:
    """Weights and direction of min ‖G'μ‖ for the norms inf and 1: solution and multipliers of a linear program."""
    from scipy.optimize import linprog

    n, k = G.shape
    scale = np.abs(G).max() or 1.0
    A = G.T / scale
    slack = 1 if order == np.inf else k
    bound = np.ones((k, 1)) if order == np.inf else np.eye(k)
    result = linprog(
        np.append(np.zeros(n), np.ones(slack)),
        A_ub=np.block([[A, -bound], [-A, -bound]]),
        b_ub=np.zeros(2 * k),
        A_eq=np.append(np.ones(n), np.zeros(slack))[None, :],
        b_eq=[1.0],
        options=LP_OPTIONS,
    )
    if result.status != 0:
        raise SolveError(f"distance to the hull: {result.message}")
    multipliers = -result.ineqlin.marginals
    mu = np.maximum(result.x[:n], 0.0)
    return mu / mu.sum(), multipliers[:k] - multipliers[k:]


def _nearest(norm: Norm) -> Callable[[Array], tuple[Array, Array]]:
    """Solver of [HULL] for a few rows G_j = b − F_j."""
    if norm.order == 2.0:
        return _nearest_euclidean
    return lambda G: _nearest_polyhedral(G, norm.order)


def _unit(norm: Norm, v: Array) -> Array:
    """v scaled to unit dual norm; zero stays zero."""
    size = norm.dual(v)
    return v / size if size > 0.0 else np.zeros_like(v)


@single_threaded_blas()
def minimal_radius(problem: RatioProblem, *, hint: Array | None = None, rtol: float = 1e-7) -> Hull:
    """Distance from the target to the hull of the q features, with separating direction and nearest weights.

    Parameters
    ----------
    problem : RatioProblem
        Distances are measured in its norm; its radius is not used.
    hint : array of shape (k,), optional
        A direction that nearly separates, such as a diverging δ; tried first.
    rtol : float, default 1e-7
        Relative accuracy of the distance, between 0 and 1.

    Returns
    -------
    Hull

    Examples
    --------
    >>> square = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> hull = minimal_radius(RatioProblem(target=[0.5, 3.0], features_q=square))
    >>> hull.position.value, round(hull.radius, 12), [round(abs(v), 12) for v in hull.direction.tolist()]
    ('outside the hull', 2.0, [0.0, 1.0])
    """
    problem, rtol = as_problem(problem), check_tol(rtol, "rtol")
    hint = None if hint is None else as_vector(hint, "hint", problem.k, limit=MAX_PARAMETER)
    rows, b, norm = problem.rows, problem.centred_target, problem.moment_norm
    eye = np.eye(problem.k)
    directions = [eye, -eye] if hint is None or not np.any(hint) else [eye, -eye, hint[:, None]]
    tops, index = support(rows, np.concatenate(directions, axis=1), 2 if hint is None else 8)
    ranges = tops[: problem.k] + tops[problem.k : 2 * problem.k]
    reach = np.maximum(np.abs(tops[: problem.k]), np.abs(tops[problem.k : 2 * problem.k])) + rows.shift_size
    hull = _distance(rows, b, norm, norm(ranges), index, rtol, eye)
    if hull.position is Position.OUTSIDE and hull.radius - hull.lower <= 10 * rtol * hull.radius:
        return replace(hull, lower=_less_round_off(hull.lower, hull.direction, reach, ranges))
    # columns of very different size, or nearly collinear ones, can hide a distance: search again in coordinates of
    # equal spread, and along directions in which the target differs from all rows
    space = affine_span_of(rows, rows.sample(5000) if rows.shape[0] > 10_000 else None)
    off = space.normal_components(b)
    scaled = _distance(rows, b, get_norm(2), 1.0, index, rtol, space.basis) if space.basis.size else hull
    passes = hull.passes + scaled.passes + 1
    candidates = [hull.direction, scaled.direction, space.null @ off]
    if hint is not None:
        candidates.append(hint)
    v, lower = _most_separating(rows, b, norm, candidates)
    size = np.abs(b) + np.abs(ranges) + space.origin_size
    nearest = min((hull, scaled), key=lambda h: norm(_residual(rows, b, h)))
    distance = norm(_residual(rows, b, nearest))
    if lower > 1e-14 * float(np.abs(v) @ size) and distance > 0.0:
        lower = _less_round_off(lower, v, reach, ranges)
        return Hull(Position.OUTSIDE, distance, lower, v, nearest.index, nearest.weights, passes)
    v, more = _supporting_direction(rows, b, np.union1d(index, scaled.index), space.basis)
    passes += more
    if np.any(v) and distance > 0.0:  # the direction to a point this near is mostly round-off; the face's normal is not
        normal, lower = _most_separating(rows, b, norm, _face_normals(rows, v))
        passes += 2
        if lower > 1e-13 * float(np.abs(normal) @ size):
            lower = _less_round_off(lower, normal, reach, ranges)
            return Hull(Position.OUTSIDE, distance, lower, normal, nearest.index, nearest.weights, passes)
    position = Position.BOUNDARY if np.any(v) else Position.INSIDE
    return Hull(position, 0.0, 0.0, _unit(norm, v), scaled.index, scaled.weights, passes)


def _most_separating(rows: Rows, b: Array, norm: Norm, candidates: list[Array]) -> tuple[Array, float]:
    """The direction, scaled to unit dual norm, with the largest distance ⟨v,b⟩ − max_j ⟨v,F_j⟩, and that distance."""
    directions = np.column_stack([_unit(norm, v) for v in candidates])
    values = directions.T @ b - support(rows, directions, 1)[0]
    best = int(np.argmax(values))
    return directions[:, best], float(values[best])


def _less_round_off(lower: float, v: Array, reach: Array, ranges: Array) -> float:
    """The distance proven by the direction v, less a bound on its round-off."""
    return lower - 4.0 * EPS * float(np.abs(v) @ (reach + np.abs(ranges)))


def _face_normals(rows: Rows, v: Array) -> list[Array]:
    """v without its component along the face that it nearly supports, for three tolerances of being on the face."""
    tops, index = support(rows, np.column_stack([v, -v]), ROWS_PER_PASS)
    top_rows, directions = rows.take(index).features, []
    for share in (1e-9, 1e-7, 1e-5):
        face = top_rows[tops[0] - top_rows @ v <= share * (tops[0] + tops[1])]
        along = face - face[0]
        unit = np.abs(along).max(axis=0)
        unit = np.where(unit > 0.0, unit, 1.0)
        _, singular, rotation = np.linalg.svd(along / unit, full_matrices=False)
        spanned = rotation[singular > 1e-9 * singular.max()]
        directions.append(v - (spanned.T @ (spanned @ (v * unit))) / unit)
    return directions


def _residual(rows: Rows, b: Array, hull: Hull) -> Array:
    """b − F'μ at the weights of a hull."""
    return np.asarray(b - hull.weights @ rows.take(hull.index).features)


def _distance(rows: Rows, b: Array, norm: Norm, scale: float, index: Index, rtol: float, basis: Array) -> Hull:
    """Column generation for [HULL] in the coordinates (F − b) · basis; INSIDE if no distance was found."""
    nearest = _nearest(norm)
    offset = 0.0 if rows.origin is None else np.abs(rows.origin)
    zero = ZERO_DISTANCE * scale + 1e-13 * norm((np.abs(b) + offset) @ np.abs(basis))
    passes, best_lower, best_direction = 1, -np.inf, np.zeros(b.size)
    while True:
        G = (b - rows.take(index).features) @ basis
        mu, v = nearest(G)
        v = _unit(norm, v)
        distance = norm(mu @ G)
        positive = mu > 0.0
        if distance <= zero:
            break
        direction = basis @ v
        tops, highest = support(rows, direction[:, None], ROWS_PER_PASS)
        passes += 1
        lower = float(direction @ b - tops[0])
        if lower > best_lower:
            best_lower, best_direction = lower, direction
        new = np.setdiff1d(highest, index)
        if distance - best_lower <= rtol * distance or new.size == 0:
            break
        if passes >= MAX_PASSES:
            raise SolveError(f"distance to the hull: between {best_lower:.9g} and {distance:.9g} after {passes} passes")
        # rows of zero weight are dropped once there are many of them
        keep = index if index.size < 40 * (b.size + 1) else index[positive]
        index = np.union1d(keep, new)
    outside = distance > zero and best_lower > 1e-14 * scale
    return Hull(
        Position.OUTSIDE if outside else Position.INSIDE,
        distance if outside else 0.0,
        best_lower if outside else 0.0,
        best_direction,
        index[positive],
        mu[positive],
        passes,
    )


def _supporting_direction(rows: Rows, b: Array, index: Index, basis: Array) -> tuple[Array, int]:
    """(v, passes) with ⟨v, F_j − b⟩ ≤ 0 for all rows and < 0 for some; zero if b is in the interior.

    A linear program over a few rows, min ⟨v, mean of F − b⟩ under those inequalities and −1 ≤ v ≤ 1, to which
    passes add the rows that violate it most. Its coordinates have equal spread and leave out directions along which
    all rows agree, so that a flat hull has an interior as well.
    """
    from scipy.optimize import linprog

    k, passes = basis.shape[1], 0
    if k == 0:
        return np.zeros(b.size), passes
    while True:
        A = (rows.take(index).features - b) @ basis
        result = linprog(
            A.mean(axis=0),
            A_ub=A,
            b_ub=np.full(len(A), ZERO_DISTANCE),
            bounds=[(-1.0, 1.0)] * k,
            options=LP_OPTIONS,
        )
        # a supporting plane can be scaled until v meets its bounds; otherwise b lies below it by some depth
        if result.status != 0 or result.fun > -MIN_DEPTH or np.abs(result.x).max() < 0.1:
            return np.zeros(b.size), passes
        v = basis @ result.x
        tops, highest = support(rows, v[:, None], ROWS_PER_PASS)
        passes += 1
        new = np.setdiff1d(highest, index)
        if tops[0] - v @ b <= 10 * ZERO_DISTANCE or new.size == 0:
            return v, passes
        if passes >= MAX_PASSES:
            raise SolveError(f"supporting plane: not found in {passes} passes")
        index = np.union1d(index, new)


def is_too_far(problem: RatioProblem, hint: Array) -> bool:
    """Whether the target is proven to be further from the hull than the radius; ``hint`` is a direction to try."""
    return minimal_radius(problem, hint=hint).lower > problem.radius
