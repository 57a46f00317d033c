"""Passes over the q rows: every computation on the data is a reduction over blocks of rows.

A pass tilts the base weights by δ and returns a :class:`Summary`: the log-partition function, mean and covariance of F
under the weights μ(δ) of [LINK]. Summaries of disjoint rows merge associatively and in any order, so the same solver
runs on an array in several threads, on files, or on other machines; :meth:`Rows.reduce` decides how blocks are visited.
Each chunk is centred at its own mean, which keeps the covariance of a sharply peaked posterior accurate. Blocks are
summed without :attr:`Rows.shift`; the last step of every pass subtracts it, so that all results are relative to the
origin of the rows.
"""

from __future__ import annotations

import math
from functools import partial
from operator import add, itemgetter
from typing import Any, NamedTuple

import numpy as np

from .._internal.entropy import exponentiate, log_sum_exp
from .._internal.linear_algebra import zero_noise_variances
from .._internal.typing import Array, Index
from .rows import ROWS_TOGETHER, Rows

__all__ = [
    "Summary",
    "column_ranges",
    "in_order",
    "log_weights",
    "logits",
    "support",
    "tilt",
    "weighted_sum",
]

#: number of features above which a covariance costs more per entry than a plain pass spends on reading and writing
COVARIANCE_DOMINATES = 20
#: sums of unscaled weights within these bounds had neither overflow nor loss by underflow, in float64 and float32
SMALL, LARGE = 1e-200, 1e200
SMALL_SINGLE, LARGE_SINGLE = 1e-20, 1e30


class Summary(NamedTuple):
    """Log Z, mean and covariance of F under the tilted weights of some rows.

    Examples
    --------
    >>> F, a, delta = np.arange(6.0)[:, None], np.zeros(6), np.array([0.3])
    >>> first, second = [tilt(Rows(F[i], a[i]), delta) for i in (slice(0, 2), slice(2, 6))]
    >>> np.allclose(first.merge(second).covariance, tilt(Rows(F, a), delta).covariance)
    True
    """

    log_z: float
    mean: Array
    covariance: Array | None
    ess: float = math.nan  # effective sample size of the weights; nan after overflow of their squares

    def merge(self, other: Summary) -> Summary:
        """Summary of the union of two disjoint sets of rows."""
        if other.log_z == -np.inf:
            return self
        if self.log_z == -np.inf:
            return other
        log_z = log_sum_exp(np.array([self.log_z, other.log_z]))
        share = math.exp(other.log_z - log_z)
        move = other.mean - self.mean
        covariance = None
        if self.covariance is not None and other.covariance is not None:
            covariance = (1 - share) * self.covariance + share * other.covariance
            covariance += share * (1 - share) * np.outer(move, move)
        ess = 1.0 / ((1 - share) ** 2 / self.ess + share**2 / other.ess) if self.ess and other.ess else math.nan
        return Summary(log_z, self.mean + share * move, covariance, ess)


def tilt(rows: Rows, delta: Array, *, covariance: bool = True, rough: bool = False) -> Summary:
    """One pass at δ: log Z, mean and, optionally, covariance of F under μ(δ) of [LINK].

    Parameters
    ----------
    rows : Rows
        The q side, n rows and k columns.
    delta : ndarray of shape (k,)
        Ratio parameter.
    covariance : bool, default True
        Whether to accumulate the covariance, the Hessian of ℓ; it costs two to three plain passes.
    rough : bool, default False
        Whether six digits are enough, so that float32 rows need not be converted; not with a covariance.

    Returns
    -------
    Summary
        Relative to the origin of the rows.
    """
    kernel = _scaled_moments if covariance else _single_moments if rough else _unscaled_moments
    work = partial(kernel, delta=delta)
    cost = max(1.0, delta.size / COVARIANCE_DOMINATES) if covariance else 1.0
    return _finish_tilt(rows.reduce(work, Summary.merge, cost), rows, delta)


def _minus_shift(heights: Any, rows: Rows, direction: Array) -> Any:
    """Inner products with a direction, or with several of them, less that of the shift; arrays change in place."""
    if rows.shift is not None:
        heights -= rows.shift @ direction
    return heights


def _finish_tilt(summary: Summary, rows: Rows, delta: Array) -> Summary:
    """The summary relative to the origin, with zero variances where they are round-off."""
    log_z, mean, H, ess = summary
    if H is not None:
        H = zero_noise_variances(H, mean)
    if rows.shift is not None:
        log_z, mean = _minus_shift(log_z, rows, delta), mean - rows.shift
    return Summary(log_z, mean, H, ess)


def _unscaled_moments(rows: Rows, delta: Array) -> Summary:
    """Log Z and mean in as few NumPy calls per chunk as possible.

    Each call releases the interpreter's lock and then waits for it, so the weights are not scaled by their maximum
    first. If their sum overflows or underflows, the block is done again by :func:`_scaled_moments`.
    """
    total, squares, mean, uniform = 0.0, 0.0, np.zeros(delta.size), rows.uniform
    buffer = np.empty(rows.chunk_rows)
    with np.errstate(over="ignore", invalid="ignore"):
        for chunk, f in rows.shifted_chunks():
            z = np.dot(f, delta, out=buffer[: len(f)])
            if not uniform:
                z += rows.log_base[chunk]
            np.exp(z, out=z)
            total += float(z.sum())  # pairwise, so that it is accurate
            squares += float(z.dot(z))
            mean += z.dot(f)
    if not SMALL < total < LARGE:
        return _scaled_moments(rows, delta, covariance=False)
    log_z = math.log(total)
    ess = total / (squares / total) if 0.0 < squares < math.inf else math.nan
    return Summary(log_z + float(rows.log_base[0]) if uniform else log_z, mean / total, None, ess)


def _single_moments(rows: Rows, delta: Array) -> Summary:
    """The same with float32 arithmetic inside a chunk, for rows that are float32; six digits of log Z and mean."""
    if rows.features.dtype != np.float32 or rows.centre is not None:
        return _unscaled_moments(rows, delta)
    (n, k), uniform, size = rows.shape, rows.uniform, rows.chunk_rows
    total, squares, mean, direction = 0.0, 0.0, np.zeros(k), delta.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, n, size):
            f = rows.features[start : start + size]
            z = f @ direction
            if not uniform:
                z += rows.log_base[start : start + size]
            np.exp(z, out=z)
            total += float(z.sum())
            squares += float(z.dot(z))
            mean += z.dot(f)
    if not (SMALL_SINGLE < total < LARGE_SINGLE and squares > 0.0 and np.all(np.isfinite(mean))):
        return _unscaled_moments(rows, delta)
    log_z = math.log(total) + (float(rows.log_base[0]) if uniform else 0.0)
    return Summary(log_z, mean / total, None, total**2 / squares)


def _scaled_moments(rows: Rows, delta: Array, covariance: bool = True) -> Summary:
    """Log Z, mean and, optionally, covariance, with weights scaled by their running maximum."""
    k, uniform = delta.size, rows.uniform
    total, squares, top = 0.0, 0.0, -np.inf
    mean, scatter = np.zeros(k), np.zeros((k, k)) if covariance else None
    size = rows.long_chunk_rows if covariance else rows.chunk_rows
    own = not covariance or rows.centre is not None or rows.features.dtype != float  # chunks may be written to
    buffer = np.empty((0 if own else size, k), order="F" if rows.features.flags.fnc else "C")
    equal = uniform and not delta.any()  # all weights are equal, as in the first pass of most solves
    ones = np.ones(size if equal else 0)
    for chunk, f in rows.shifted_chunks(size):
        if equal:
            z, peak, mass = ones[: len(f)], 0.0, float(len(f))
        else:
            z = f @ delta
            if not uniform:
                z += rows.log_base[chunk]
            peak, mass = exponentiate(z)
        if mass == 0.0:
            continue
        if peak > top:  # rescale the sums so far to the new maximum
            shrink, grow = math.exp(top - peak), 1.0
            total, squares, top = total * shrink, squares * shrink**2, peak
        else:
            shrink, grow = 1.0, math.exp(peak - top)
            if grow == 0.0:  # negligible compared with the rows so far
                continue
        squares += grow**2 * float(z @ z)
        centre = z @ f
        centre /= mass
        mass *= grow
        if scatter is not None:
            g = np.subtract(f, centre, out=f if own else buffer[: len(f)])
            if not equal:
                np.sqrt(z, out=z)
                g *= z[:, None]
            product = g.T @ g
            if total > 0.0:
                move = centre - mean
                scatter *= shrink
                product *= grow
                scatter += product
                scatter += (mass * total / (total + mass)) * np.outer(move, move)
            else:
                scatter = product
        total += mass
        mean += (mass / total) * (centre - mean)
    if total == 0.0:
        return Summary(-np.inf, mean, scatter)
    if uniform:
        top += float(rows.log_base[0])
    if scatter is not None:
        scatter /= total
    return Summary(top + math.log(total), mean, scatter, total**2 / squares)


def logits(rows: Rows, delta: Array) -> Array:
    """a_j + ⟨δ, F_j⟩ of every row, in their order."""
    z: Array = _minus_shift(_shifted_logits(rows, delta), rows, delta)
    return z


def log_weights(rows: Rows, delta: Array) -> Array:
    """Log μ_j(δ) of [LINK] of every row; the shift cancels."""
    z = _shifted_logits(rows, delta)
    z -= log_sum_exp(z)
    return z


def _shifted_logits(rows: Rows, delta: Array) -> Array:
    return in_order(rows.reduce(partial(_logits, delta=delta), add))


def in_order(blocks: list[tuple[int, Array]]) -> Array:
    """Join arrays, given with the number of their first row, in the order of the rows."""
    parts = [z for _, z in sorted(blocks, key=itemgetter(0))]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _logits(rows: Rows, delta: Array) -> list[tuple[int, Array]]:
    z = np.empty(rows.shape[0])
    for chunk, f in rows.shifted_chunks():
        z[chunk] = f @ delta
    z += rows.log_base
    return [(rows.start, z)]


def weighted_sum(rows: Rows, mu: Array) -> Array:
    """Σ_j μ_j F_j relative to the origin, for one weight per row."""
    total = rows.reduce(partial(_weighted_sum, mu=mu), add)
    return total if rows.shift is None else np.asarray(total - mu.sum() * rows.shift)


def _weighted_sum(rows: Rows, mu: Array) -> Array:
    total, weights = np.zeros(rows.shape[1]), mu[rows.start : rows.start + rows.shape[0]]
    for chunk, f in rows.shifted_chunks():
        total += weights[chunk] @ f
    return total


def column_ranges(rows: Rows) -> tuple[Array, Array]:
    """Smallest and largest entry of each column, relative to the origin, over the rows with positive base weight."""
    lowest, highest = rows.reduce(_column_ranges, _merge_ranges)
    return (lowest, highest) if rows.shift is None else (lowest - rows.shift, highest - rows.shift)


def _column_ranges(rows: Rows) -> tuple[Array, Array]:
    ranges = np.full(rows.shape[1], np.inf), np.full(rows.shape[1], -np.inf)
    for chunk, f in rows.shifted_chunks():
        positive = f if rows.uniform else f[rows.log_base[chunk] > -np.inf]
        whole = len(positive) // ROWS_TOGETHER * ROWS_TOGETHER if positive.flags.c_contiguous else 0
        for part in (positive[:whole].reshape(-1, ROWS_TOGETHER * rows.shape[1]), positive[whole:]):
            lowest, highest = part.min(axis=0, initial=np.inf), part.max(axis=0, initial=-np.inf)
            folded = lowest.reshape(-1, rows.shape[1]), highest.reshape(-1, rows.shape[1])
            ranges = _merge_ranges(ranges, (folded[0].min(axis=0), folded[1].max(axis=0)))
    return ranges


def _merge_ranges(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    """Ranges of the union of two sets of rows."""
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


def support(rows: Rows, directions: Array, count: int) -> tuple[Array, Index]:
    """Support function of the hull: max_j ⟨v, F_j⟩ for each column v of ``directions``, and the rows closest to it.

    Parameters
    ----------
    rows : Rows
        The q side; rows of zero base weight are not part of the hull.
    directions : ndarray of shape (k, d)
        Directions v, one per column.
    count : int
        Number of rows to return for each direction.

    Returns
    -------
    values : ndarray of shape (d,)
        Maxima, relative to the origin.
    index : ndarray of int
        Distinct row numbers, at most d · count.
    """
    work = partial(_highest_rows, directions=directions, count=count)
    best, index = rows.reduce(work, partial(_merge_highest, count=count))
    return _minus_shift(best.max(axis=0), rows, directions), np.unique(index[best > -np.inf])


def _highest_rows(rows: Rows, directions: Array, count: int) -> tuple[Array, Index]:
    """Heights ⟨v, F_j⟩ and row numbers of the highest rows in each direction, shape (at most count, d)."""
    d = directions.shape[1]
    best = np.full((0, d), -np.inf)
    index = np.zeros((0, d), dtype=np.intp)
    for chunk, f in rows.shifted_chunks():
        height = f @ directions
        height[rows.log_base[chunk] == -np.inf] = -np.inf
        # most chunks have no row above the running threshold, and need no partition
        if best.shape[0] >= count and not np.any(height.max(axis=0) > best.min(axis=0)):
            continue
        keep = np.argpartition(-height, min(count, height.shape[0]) - 1, axis=0)[:count]
        here = np.take_along_axis(height, keep, axis=0), keep + (chunk.start + rows.start)
        best, index = _merge_highest((best, index), here, count)
    return best, index


def _merge_highest(one: tuple[Array, Index], other: tuple[Array, Index], count: int) -> tuple[Array, Index]:
    """The highest ``count`` rows of two sets."""
    best = np.concatenate([one[0], other[0]])
    index = np.concatenate([one[1], other[1]])
    order = np.argpartition(-best, min(count, best.shape[0]) - 1, axis=0)[:count]
    return np.take_along_axis(best, order, axis=0), np.take_along_axis(index, order, axis=0)
