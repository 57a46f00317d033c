"""Exposed columns: a target at an extreme of a column leaves weight only to the rows that have this extreme.

Where b_i is the smallest (largest) q value of column i, every feasible μ is zero on all rows with a larger (smaller)
value, and δ_i runs to −∞ (+∞). The usual cause is an indicator of a category that the p side lacks. On the rows that
are left other columns may be exposed in turn, so the search is repeated until nothing changes. It compares numbers for
equality; only a constant column counts as matched to the last digits of its mean. With one radius for each feature,
columns of radius zero can be exposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import NamedTuple

import numpy as np

from .._internal.snapshots import freeze
from .._internal.typing import Array, Index
from .._internal.validation import MAX_ENTRY
from ..data.affine_span import TARGET_NOISE
from ..data.rows import Rows
from ..problem import RatioProblem

__all__ = ["ExposedFace", "Recession", "exposed_face", "limit_problem", "on_some_rows"]

#: numbers below this count as zero
SMALLEST = 1.0 / MAX_ENTRY

#: rows that tell most columns to be not exposed, without a pass over all rows; at first so many
SAMPLE_ROWS, FIRST_ROWS = 1000, 50
#: entries of a face up to which it is read into memory
MAX_ENTRIES = 20_000_000


class Recession(NamedTuple):
    """A coefficient of δ that runs to infinity.

    Attributes
    ----------
    feature : int
        Number of the feature.
    sign : int
        1 if the coefficient runs to +∞, because the target is the largest q value of the feature; −1 if it runs to −∞.
    """

    feature: int
    sign: int


@dataclass(frozen=True, eq=False)
class ExposedFace:
    """The rows that can have weight, and the problem on them.

    Attributes
    ----------
    whole : RatioProblem
        The problem, without base weight for the other rows.
    reduced : RatioProblem
        The same problem on the rows of the face and in the features that vary there, in memory; ``whole`` itself if
        these are too many rows for memory.
    columns : ndarray of int
        Numbers of the features of ``reduced``.
    recession : tuple of Recession
        The coefficients that run to infinity; each one faster than those after it.
    log_share : float
        Log of the share of the base weights that the face has.
    """

    whole: RatioProblem
    reduced: RatioProblem
    columns: Index
    recession: tuple[Recession, ...]
    log_share: float

    def extended(self, delta: Array) -> Array:
        """δ of all features, from that of the features that vary on the face."""
        full = np.zeros(self.whole.k)
        full[self.columns] = delta
        return full


def exposed_face(problem: RatioProblem) -> ExposedFace | None:
    """The face of the hull that exposed columns leave; ``None`` if there is none, or if no row is left on it.

    Constant columns that match the target are left out on the way, even if no column is exposed.

    Parameters
    ----------
    problem : RatioProblem
        KL without bounds; a radius for each feature counts, and a single radius is taken for zero.

    Examples
    --------
    >>> face = exposed_face(RatioProblem([0.0, 0.5], [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> face.recession, face.columns, face.reduced
    ((Recession(feature=0, sign=-1),), array([1]), RatioProblem(n_q=2, k=1, radius=0, norm=2))
    """
    R = np.broadcast_to(problem.radius if problem.radius_per_feature else 0.0, problem.k)
    if not _may_be_exposed(problem, np.flatnonzero(R == 0.0)):
        return None
    b, found, log_share, whole = problem.target, list[Recession](), 0.0, problem
    while True:
        lowest, highest = whole.ranges
        varying, matched = lowest < highest, b == lowest
        noise = np.where(varying, 0.0, TARGET_NOISE * (np.abs(b) + np.abs(lowest)))  # mean of equal numbers
        if np.any((b + R < lowest - noise) | (b - R > highest + noise)):  # outside the hull
            return None
        new = np.flatnonzero(varying & (R == 0.0) & ((b == lowest) | (b == highest)))
        if new.size == 0:
            break
        found += [Recession(int(i), 1 if b[i] == highest[i] else -1) for i in new]
        smaller = problem.on_face(np.array([one.feature for one in found]))
        if smaller is None:
            return None
        whole, log_share = smaller
    needed = varying | ~matched  # a constant column stays if it is matched to the last digits only: the proof names it
    if not found and (needed.all() or not problem.rows.in_memory):
        return None
    if not problem.rows.in_memory and whole.rows.reduce(_count, add) * problem.k > MAX_ENTRIES:
        return ExposedFace(whole, whole, np.arange(problem.k), tuple(found), log_share)
    needed &= np.inf > R
    columns = np.flatnonzero(needed) if needed.any() else np.zeros(1, dtype=np.intp)
    F, log_base = whole.with_weight(columns)
    target, radius = problem.target[columns], R[columns] if problem.radius_per_feature else 0.0
    if not needed.any():  # all rows are equal, and the target is too
        F, target, radius = np.zeros_like(F), np.zeros(1), 0.0
    size = np.maximum(highest, -lowest)[columns]
    reduced = on_some_rows(target, F, None if problem.rows.uniform else log_base, size, radius)
    return ExposedFace(whole, reduced, columns, tuple(found), log_share)


def limit_problem(problem: RatioProblem, recession: tuple[Recession, ...]) -> RatioProblem:
    """The problem whose value at δ is the limit of ℓ as the coefficients of ``recession`` run to infinity from δ.

    Its base weights are those of the rows that are left, and sum to less than one.

    Examples
    --------
    >>> problem = RatioProblem([0.0], [[0.0], [1.0]])
    >>> bool(limit_problem(problem, (Recession(0, -1),)).value([0.0]) == np.log(0.5))
    True
    """
    if not recession:
        return problem
    smaller = problem.on_face(np.array([one.feature for one in recession]))
    assert smaller is not None  # the face of a solution has rows
    return problem.with_log_weights(np.where(smaller[0].log_base > -np.inf, problem.log_base, -np.inf))


def _may_be_exposed(problem: RatioProblem, columns: Index) -> bool:
    """Whether no sample of the rows shows that the target is strictly between the extremes of these columns."""
    if not problem.rows.in_memory:
        some = problem.rows.sample(SAMPLE_ROWS)
        return not _is_inside(some.features[some.log_base > -np.inf], np.zeros(problem.k), columns)
    for count in (FIRST_ROWS, SAMPLE_ROWS):
        step = max(1, problem.n_q // count)
        sample = problem.features_q[::step]
        if not problem.rows.uniform:
            sample = sample[problem.log_base[::step] > -np.inf]
        if _is_inside(sample, problem.target, columns):
            return False
    return True


def _is_inside(sample: Array, target: Array, columns: Index) -> bool:
    """Whether the target is strictly between the extremes of these columns of some rows."""
    if not len(sample):
        return False
    return bool(np.all(((sample.min(axis=0) < target) & (target < sample.max(axis=0)))[columns]))


def on_some_rows(
    target: Array, features: Array, log_base: Array | None, size: Array, radius: Array | float = 0.0
) -> RatioProblem:
    """A problem on some rows of another; columns of a size that is too small for a problem there become zero."""
    tiny = size < SMALLEST
    if tiny.any():
        features[:, tiny] = target[tiny] = 0.0
    return RatioProblem(target, freeze(features), log_base, radius=radius)


def _count(rows: Rows) -> int:
    """Number of rows with positive base weight."""
    return int(np.count_nonzero(rows.log_base > -np.inf))
