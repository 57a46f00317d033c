"""Position of the target: inside the hull of the q features, on its boundary, or outside, with proof.

With R = 0, [P] is bounded and [D] feasible exactly when b is in the convex hull of the rows of F. The distance

    [HULL]   min over μ on the simplex ‖b − F'μ‖  =  max over ‖v‖_* ≤ 1 of ⟨v,b⟩ − max_j ⟨v,F_j⟩

is found by column generation: the nearest point of the hull of a few rows, then one pass that finds rows beyond its
supporting plane. Any weights bound the distance from above and any direction bounds it from below. With bounds on the
weights, corners of the weights that they allow take the place of the rows.

The position does not depend on the norm. It is decided in norm 2 with every column in units of its range; only if the
target is outside, the distance in the problem's own norm follows, from the rows found so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from .._internal.linear_algebra import EPS
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index
from .._internal.validation import MAX_PARAMETER, as_vector, check_tol
from ..data.affine_span import TARGET_NOISE
from ..data.passes import support, weighted_sum
from ..data.rows import Rows
from ..errors import SolveError
from ..penalties.norms import Norm, get_norm
from ..problem import RatioProblem, as_problem
from .capped import ROUND_OFF as CORNER_ROUND_OFF
from .nearest import nearest_euclidean, nearest_polyhedral
from .reachable import Reachable

__all__ = ["ZERO_DISTANCE", "Hull", "Position", "minimal_radius"]

#: distances below this share of the features' spread count as zero
ZERO_DISTANCE = 1e-10
#: a target is on the boundary if moving it away from the middle of the hull by the last of these shares takes it
#: outside; the larger ones tell most interior targets at once, and find the face where round-off matters less
BEYOND = (1e-3, 1e-5, 1e-7, 10.0 * ZERO_DISTANCE)
#: relative accuracy of the search for the position
POSITION_RTOL = 0.1
#: minimum number of rows that a pass adds
ROWS_PER_PASS = 48
#: the search begins with the rows where a column is lowest or highest, if they are at most this many per column
EXTREMES = 1.25
#: limit on passes over the data; the bounds found so far are then returned
MAX_PASSES = 100
#: passes after which the bounds on a distance must be twice as close
PATIENCE = 15
#: limit on corners of bounded weights that a search adds, one in each pass, and the patience that goes with it
MAX_CORNERS, CORNER_PATIENCE = 500, 50
#: round-off of a weighted mean of rows, relative to their size
ROUND_OFF = 4.0 * EPS
#: accuracy of the first program over a few rows; the next ones are ten times as accurate as the bounds so far, the last
#: ones as accurate as float64 allows
FIRST_ACCURACY, LAST_ACCURACY = 1e-2, 1e-14
#: weights up to the first of these are removed, or up to the next if the distance needs them
NEGLIGIBLE_WEIGHTS = (1e-9, 1e-13, 0.0)
#: rows taken at a time to compute their mean
ROWS_AT_ONCE = 256


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
        The minimal radius, as a proven upper bound: ‖b − F'μ‖ at the nearest weights plus round-off; zero inside and on
        the boundary.
    lower : float
        Proven lower bound of the minimal radius: ⟨v,b⟩ − max_j ⟨v,F_j⟩ less round-off.
    direction : ndarray of shape (k,)
        v of unit dual norm: separating outside, supporting on the boundary, zero inside.
    index : ndarray of int
        Rows that span the nearest point of the hull; with bounds, all rows that have weight there.
    weights : ndarray
        Their weights, which sum to one.
    passes : int
        Passes over the data.
    problem : RatioProblem or None
        The problem it belongs to.
    """

    position: Position
    radius: float
    lower: float
    direction: Array
    index: Index
    weights: Array
    passes: int
    problem: RatioProblem | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for array in (self.direction, self.index, self.weights):
            array.flags.writeable = False

    def __str__(self) -> str:
        distance = f", at a distance in [{self.lower:.6g}, {self.radius:.6g}]" * (self.position is Position.OUTSIDE)
        return f"{self.position.value}{distance}"

    def __getstate__(self) -> dict[str, Any]:
        """State without the problem, if that has explained all it can."""
        explained = {"conflict", "proof", "separating", "relaxation"} <= self.__dict__.keys()
        return {**self.__dict__, "problem": None} if explained else self.__dict__

    @cached_property
    def conflict(self) -> tuple[str, ...]:
        """Names of features that no weights can match together; if one is left out, the rest can be matched.

        The bounds of the problem and its radius count. The features are proven to conflict; a miss of less than about
        1e-10 of a feature's range counts as a match when one is left out. Computed on first use, by linear programs
        [CLASH]; empty if the problem is feasible.
        """
        if self.problem is None:
            return ()
        return tuple(self.problem.feature_names[i] for i in np.flatnonzero(self.proof))

    @cached_property
    def proof(self) -> Array:
        """Direction that proves the conflict: it separates, and is zero except for the features of the conflict."""
        if self.problem is None or self.position is not Position.OUTSIDE:
            return np.zeros_like(self.direction)
        from .conflict import conflict_direction

        v = np.array(conflict_direction(self.problem, self.direction))
        v.flags.writeable = False
        return v

    @cached_property
    def separating(self) -> Array:
        """Direction that proves a problem infeasible; with one radius for each feature, that of the conflict."""
        per_feature = self.problem is not None and self.problem.radius_per_feature
        return self.proof if per_feature else self.direction

    @cached_property
    def relaxation(self) -> dict[str, float]:
        """The cheapest radius of each feature that makes the problem feasible, in units of the features' spread.

        Σ R_i / spread_i is minimal, over radii that are at least those that the problem has for its features; one
        radius for all is replaced. Features without an entry are matched exactly. Computed on first use, by one linear
        program; empty if the problem is feasible. With exactly these radii weights are just possible, and all on few
        rows: use somewhat more.
        """
        if self.problem is None or not self.conflict:
            return {}
        from .conflict import cheapest_relaxation

        R = cheapest_relaxation(self.problem).tolist()
        return {name: x for name, x in zip(self.problem.feature_names, R, strict=True) if x > 0.0}


@single_threaded_blas()
def minimal_radius(problem: RatioProblem, *, hint: Array | None = None, rtol: float = 1e-7) -> Hull:
    """Distance from the target to the hull of the q features, with separating direction and nearest weights.

    Parameters
    ----------
    problem : RatioProblem
        Distances are measured in its norm, among weights within its bounds; its radius is not used.
    hint : array of shape (k,), optional
        A direction that nearly separates, such as a diverging δ; tried first.
    rtol : float, default 1e-7
        Relative accuracy of the distance, between 0 and 1; ``lower`` shows what was reached in spite of round-off.

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
    b, norm = np.zeros(problem.k), problem.moment_norm  # rows are relative to the target
    search = _CornerSearch(problem, b) if problem.link.bounded else _Search(problem.rows, b)
    unit = np.where(search.ranges > TARGET_NOISE * search.size, search.ranges, search.size)
    away = b - search.middle
    search.add_highest([away / unit / unit] + ([] if hint is None else [hint]))
    near = search.nearest(b, get_norm(2), _euclidean, POSITION_RTOL, unit)
    if near.lower > TARGET_NOISE * float(np.abs(near.direction) @ search.size):
        search.keep(near)
        near = search.nearest(b, norm, _solver(norm), rtol, start=near)
        near = search.on_rows(problem, near)
        return _hull(problem, Position.OUTSIDE, near, near.direction, search.passes)
    for share in BEYOND:
        beyond = search.nearest(b + share * away, get_norm(2), _euclidean, POSITION_RTOL, unit)
        v, outwards = beyond.direction, float(beyond.direction @ away)
        if not beyond.lower > 0.0:
            near = search.on_rows(problem, near)
            return _hull(problem, Position.INSIDE, near, np.zeros(problem.k), search.passes)
        depth = share * outwards - beyond.lower  # of the target itself below the plane, with round-off
        if depth <= BEYOND[-1] * outwards + 2.0 * search.round_off(v):
            break
    near = search.on_rows(problem, near)
    return _hull(problem, Position.BOUNDARY, near, v / norm.dual(v), search.passes)


@dataclass(frozen=True, eq=False)
class _Nearest:
    """Known weights, the best direction, and the bounds on the distance that they prove."""

    distance: float
    lower: float
    direction: Array
    index: Index
    weights: Array


def _hull(problem: RatioProblem, position: Position, near: _Nearest, direction: Array, passes: int) -> Hull:
    """The public result; only outside there is a distance."""
    distance, lower = (near.distance, near.lower) if position is Position.OUTSIDE else (0.0, 0.0)
    return Hull(position, distance, lower, direction, near.index, near.weights, passes, problem)


#: solver of [HULL] for a few rows: (b − F_j, weights to start from, accuracy) ↦ (weights, direction of any length)
_Solver = Callable[[Array, Array, float], tuple[Array, Array]]


def _euclidean(G: Array, start: Array, rtol: float) -> tuple[Array, Array]:
    return nearest_euclidean(G)


def _solver(norm: Norm) -> _Solver:
    """Solver of [HULL] in a norm."""
    if norm.order == 2.0:
        return _euclidean
    return lambda G, start, rtol: nearest_polyhedral(G, start, norm.order == np.inf, rtol)


class _Search:
    """Column generation: a working set of rows, to which every pass adds those beyond a supporting plane.

    Attributes
    ----------
    ranges : ndarray of shape (k,)
        Largest less smallest entry of each column.
    middle : ndarray of shape (k,)
        A point inside the hull: halfway between the mean of all rows and that of the rows where a column is lowest or
        highest, so that even a value that few rows have is at some depth.
    size : ndarray of shape (k,)
        Largest entry of each column and of the target before the origin was subtracted.
    reach : ndarray of shape (k,)
        Largest numbers that sums over a column are made of, the unit of their round-off.
    index, features : ndarray of shape (m,) and (m, k)
        The working set.
    passes : int
        Passes over the data.
    """

    #: limit on passes, and passes after which the bounds on a distance must be twice as close
    max_passes, patience = MAX_PASSES, PATIENCE

    def __init__(self, rows: Rows, b: Array) -> None:
        self.rows, self.k = rows, b.size
        extent = rows.reduce(_extent, _Extent.merge)
        self.ranges = extent.highest - extent.lowest
        index = np.unique(extent.extreme)
        parts = np.array_split(index, 1 + index.size // ROWS_AT_ONCE if rows.in_memory else 1)
        extremes = np.sum([rows.take(part).features.sum(axis=0) for part in parts], axis=0) / index.size
        self.middle = 0.5 * (extent.total / extent.count + extremes)
        reach = np.maximum(np.abs(extent.lowest), np.abs(extent.highest)) + np.abs(b)
        self.reach = reach + 2.0 * rows.shift_size
        size = reach + (0.0 if rows.origin is None else np.abs(rows.origin))
        self.size = np.where(size > 0.0, size, 1.0)
        # extremes are corners of the hull; indicators have one for each category, and no other corners
        self.index = index if index.size <= EXTREMES * self.k + 2 * ROWS_PER_PASS else index[:0]
        self.features = rows.take(self.index).features
        self.passes = 1

    def add_highest(self, directions: list[Array]) -> tuple[Array, int]:
        """A pass that adds the highest rows of each direction: (largest heights, number of rows added)."""
        self.passes += 1
        tops, highest = support(self.rows, np.column_stack(directions), max(ROWS_PER_PASS, self.k // 8))
        new = np.setdiff1d(highest, self.index)
        if new.size:
            self.index = np.append(self.index, new)
            self.features = np.concatenate([self.features, self.rows.take(new).features])
        return tops, new.size

    def keep(self, near: _Nearest) -> None:
        """Keep the rows with weight in a result and as many others, the highest in its direction; rows cost time."""
        kept = np.isin(self.index, near.index)
        kept[np.argsort(-(self.features @ near.direction))[: 2 * near.index.size]] = True
        self.index, self.features = self.index[kept], self.features[kept]

    def nearest(
        self,
        b: Array,
        norm: Norm,
        solve: _Solver,
        rtol: float,
        unit: Array | float = 1.0,
        start: _Nearest | None = None,
    ) -> _Nearest:
        """Nearest point to b in coordinates F / unit, to relative accuracy ``rtol`` unless round-off prevents it.

        ``start`` is the result of a search in other units, whose weights and direction are bounds in these as well.
        """
        weights = np.zeros(self.index.size)
        distance, lower, direction = np.inf, -np.inf, np.zeros(self.k)
        if start is not None:
            order = np.argsort(self.index)
            weights[order[np.searchsorted(self.index, start.index, sorter=order)]] = start.weights
            distance, dual = norm(self._residual(b, weights) / unit), norm.dual(start.direction * unit)
            lower, direction = start.lower / dual, start.direction / dual
            # if columns differ in size by more than float64 has digits, one row may be nearer than any known mixture
            single = np.linalg.norm((b - self.features) / unit, norm.order, axis=1)
            if single.min() < distance:
                weights, distance = np.eye(1, single.size, int(single.argmin()))[0], float(single.min())
        accuracy, last_gap, last_pass = max(FIRST_ACCURACY, rtol), np.inf, self.passes
        while lower < (1.0 - rtol) * distance:
            if self.passes >= self.max_passes:
                if start is None:
                    raise SolveError(f"position relative to the hull: not found in {self.passes} passes")
                break  # with the bounds found so far
            G = b - self.features
            G /= unit
            found, v = solve(G, weights, accuracy)
            del G  # the next one may be larger
            trial = norm(self._residual(b, found) / unit)
            improved = trial < (1.0 - rtol) * distance
            if trial < distance:
                weights, distance = found, trial
            if np.all(np.abs(self._residual(b, weights)) <= ROUND_OFF * self.size) or not np.any(v):
                break
            v = v / unit / norm.dual(v)
            tops, added = self.add_highest([v])
            height = float(v @ b - tops[0]) - self.round_off(v)
            if height > lower:
                lower, direction = height, v
            stuck = added == 0 and not improved
            if stuck and accuracy == LAST_ACCURACY:
                break
            weights = np.append(weights, np.zeros(added))
            gap = 1.0 - lower / distance
            if gap < 0.5 * last_gap:
                last_gap, last_pass = gap, self.passes
            elif start is not None and self.passes >= last_pass + self.patience:
                break  # round-off prevents closer bounds
            accuracy = 0.1 * gap if gap > 100.0 * rtol and not stuck else LAST_ACCURACY
        return self._pruned(b, norm, unit, _Nearest(distance, lower, direction, self.index, weights))

    def round_off(self, v: Array) -> float:
        """Bound on the round-off of ⟨v, b − F_j⟩, which has that of b − F_j to begin with."""
        return (self.k + 8) * EPS * float(np.abs(v) @ self.reach)

    def on_rows(self, problem: RatioProblem, near: _Nearest) -> _Nearest:
        """The same with a bound on the distance of these weights in real arithmetic."""
        F = problem.rows_as_given.take(near.index).features
        return replace(near, distance=_distance_bound(problem.moment_norm, problem.target, F, near.weights))

    def _residual(self, b: Array, weights: Array) -> Array:
        """b − F'μ, as a sum of b − F_j over the rows with weight: near a row it has digits that b − F'μ has lost."""
        used = weights > 0.0
        return np.asarray(weights[used] @ (b - self.features[used]))

    def _pruned(self, b: Array, norm: Norm, unit: Array | float, near: _Nearest) -> _Nearest:
        """Without the smallest weights, if the distance does not need them."""
        for least in NEGLIGIBLE_WEIGHTS:
            weights = np.where(near.weights > least, near.weights, 0.0)
            weights /= weights.sum()
            distance = norm(self._residual(b, weights) / unit)
            if distance <= near.distance * (1.0 + ROUND_OFF):
                break
        used = weights > 0.0
        order = np.argsort(self.index[used])
        return replace(near, distance=distance, index=self.index[used][order], weights=weights[used][order])


class _CornerSearch(_Search):
    """The same among weights within bounds: the working set holds moments of corners, in the order they were found."""

    max_passes, patience = MAX_CORNERS, CORNER_PATIENCE

    def __init__(self, problem: RatioProblem, b: Array) -> None:
        self.moments, self.k, self.passes = Reachable(problem, few=0), b.size, 1
        self.ranges, self.size, self.reach = self.moments.spread, self.moments.size, self.moments.reach
        self.middle = self.moments.points.mean(axis=0)
        self._renew()

    def _renew(self) -> None:
        self.features = self.moments.points
        self.index = np.arange(len(self.features))

    def add_highest(self, directions: list[Array]) -> tuple[Array, int]:
        """A pass that adds the highest corner of each direction: (heights, number of corners added)."""
        self.passes += 1
        heights, added = self.moments.add(np.array(directions))
        self._renew()
        return heights, added

    def keep(self, near: _Nearest) -> None:
        """Drop none: each one has cost a pass, and they are few."""

    def round_off(self, v: Array) -> float:
        """Bound on the round-off of a height."""
        return self.moments.round_off(v)

    def on_rows(self, problem: RatioProblem, near: _Nearest) -> _Nearest:
        """Weights of rows instead of corners, with a bound on their distance that includes round-off."""
        mu = np.zeros(problem.n_q)
        for weight, v in zip(near.weights.tolist(), self.moments.directions[near.index], strict=True):
            mu += weight * self.moments.corner(v)[1]
        mu /= mu.sum()
        r = np.abs(weighted_sum(problem.rows, mu)) + CORNER_ROUND_OFF * (self.k + 8) * self.reach
        index = np.flatnonzero(mu)
        distance = problem.moment_norm(r) * (1.0 + (self.k + 8) * EPS)
        return replace(near, distance=distance, index=index, weights=mu[index])


def _distance_bound(norm: Norm, b: Array, F: Array, weights: Array) -> float:
    """Upper bound of ‖b − F'μ‖ in real arithmetic, for weights that are scaled to sum to one.

    Differences, products and sums are split into their rounded values and what rounding left out, so that the bound
    exceeds the norm by the round-off of the norm alone, whatever the columns' units and offsets are.
    """
    total, rest, size = np.zeros(b.size), np.zeros(b.size), np.zeros(b.size)
    for weight, row in zip(weights.tolist(), F, strict=True):
        difference, left_1 = _two_sum(b, -row)
        product, left_2 = _two_product(weight, difference)
        total, left_3 = _two_sum(total, product)
        for left in (weight * left_1, left_2, left_3):
            rest += left
            size += np.abs(left)
    r = np.abs(total + rest) * (1.0 + EPS) + (4 * len(F) + 4) * EPS * size
    return norm(r) * (1.0 + (b.size + 8) * EPS) / math.fsum(weights)


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y, rounded, and the rest."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _two_product(x: float, y: Array) -> tuple[Array, Array]:
    """x · y, rounded, and the rest."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(np.asarray(x)), _halves(y)
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _halves(x: Array) -> tuple[Array, Array]:
    """Two numbers of half the digits each that sum to x."""
    shifted = 134217729.0 * x  # 2^27 + 1
    high = shifted - (shifted - x)
    return high, x - high


@dataclass(frozen=True, eq=False)
class _Extent:
    """Ranges of the columns over rows with positive base weight, and the sum and number of these rows.

    ``extreme`` holds the numbers of the rows where the columns are lowest and highest, shape (2, k).
    """

    lowest: Array
    highest: Array
    extreme: Index
    total: Array
    count: int

    def merge(self, other: _Extent) -> _Extent:
        """Extent of the union of two sets of rows."""
        replaced = np.stack([other.lowest < self.lowest, other.highest > self.highest])
        return _Extent(
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
            np.where(replaced, other.extreme, self.extreme),
            self.total + other.total,
            self.count + other.count,
        )


def _extent(rows: Rows) -> _Extent:
    """Extent of some rows, from one pass."""
    k = rows.shape[1]
    extent = _Extent(np.full(k, np.inf), np.full(k, -np.inf), np.zeros((2, k), dtype=np.intp), np.zeros(k), 0)
    for chunk, f in rows.chunks():
        positive = np.flatnonzero(rows.log_base[chunk] > -np.inf)
        if positive.size:
            f = f if positive.size == len(f) else f[positive]
            extreme = np.stack([f.argmin(axis=0), f.argmax(axis=0)])
            low, high = (f[i, np.arange(k)] for i in extreme)
            numbers = positive[extreme] + (chunk.start + rows.start)
            extent = extent.merge(_Extent(low, high, numbers, f.sum(axis=0), positive.size))
    return extent
