"""Passes over the q rows: every question about the data is a reduction over parts of the rows.

A pass tilts the base weights by δ and returns a :class:`Summary`, the log-partition function, mean and
covariance of F under the weights μ(δ) of [LINK]. Summaries of disjoint rows merge, associatively and in any
order, so that the same solver runs on an array in several threads, on files, or on other machines: whatever holds
the rows says in :meth:`Rows.reduce` how the parts are visited. Each block is centred at its own mean, which keeps
the covariance of a sharply peaked posterior accurate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add, itemgetter
from typing import Any, ClassVar, TypeVar

import numpy as np

from .entropy import (
    Array,
    Index,
    effective_sample_size,
    exp,
    exp_in_place,
    exp_of,
    exponentiate,
    log,
    log_of,
    log_sum_exp,
)
from .linear import without_noise
from .threads import in_threads, one_thread_each

__all__ = [
    "Rows",
    "Subset",
    "Summary",
    "even_base",
    "highest_logit",
    "logits",
    "mixed_chance",
    "support",
    "tilt",
    "weighted_sum",
]

Out = TypeVar("Out")

#: numbers in one block of features: small enough to stay in a core's cache between the products
BLOCK_NUMBERS = 80_000
#: numbers in one part, the work of one thread at a time; fixed, so that results do not depend on the number of threads
PART_NUMBERS = 2_000_000
#: rows for each feature of a part that is summed to a k by k matrix
LONG = 30
#: features from which on a covariance costs more for each number than a plain pass has to read and write
WIDE = 20
#: neighbouring rows that a subset takes together, because they share lines and pages of memory
RUN = 8
#: sums of weights within these bounds were formed without overflow, and without loss by underflow
SMALL, LARGE = 1e-200, 1e200


@dataclass(frozen=True, eq=False)
class Summary:
    """(log Z, mean, covariance) of F under the tilted weights of some rows; merges with others.

    Examples
    --------
    >>> F, a, delta = np.arange(6.0)[:, None], np.zeros(6), np.array([0.3])
    >>> parts = [tilt(Rows(F[i], a[i]), delta) for i in (slice(0, 2), slice(2, 6))]
    >>> whole = tilt(Rows(F, a), delta)
    >>> np.allclose(parts[0].merge(parts[1]).covariance, whole.covariance)
    True
    """

    log_z: float
    mean: Array
    covariance: Array | None

    def merge(self, other: Summary) -> Summary:
        """Summary of the union of two disjoint sets of rows."""
        if other.log_z == -np.inf:
            return self
        if self.log_z == -np.inf:
            return other
        log_z = log_sum_exp(np.array([self.log_z, other.log_z]))
        share = exp_of(other.log_z - log_z)
        move = other.mean - self.mean
        covariance = None
        if self.covariance is not None and other.covariance is not None:
            covariance = (1 - share) * self.covariance + share * other.covariance
            covariance += share * (1 - share) * np.outer(move, move)
        return Summary(log_z, self.mean + share * move, covariance)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in memory, as the passes see them: features, logarithms of base weights, and an origin.

    ``origin`` is subtracted from the features block by block. It is set when a column's mean is so much
    larger than its spread that logits would lose digits. ``start`` is the number of the first row.
    """

    features: Array
    log_base: Array
    origin: Array | None = None
    start: int = 0

    #: whether all rows are at hand; and what a row of a subset costs, for its copy, its covariance and the
    #: certificate, in rows of a pass over all
    in_memory: ClassVar[bool] = True
    subset_cost: ClassVar[float] = 20.0

    def __getstate__(self) -> dict[str, Any]:
        """Base weights that are one number as that number, so that a copy is flat too."""
        flat = "log_base" in self.__dict__ and self.flat and self.log_base.size > 0
        return {**self.__dict__, "log_base": self.log_base[0]} if flat else dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "log_base" in state and np.ndim(state["log_base"]) == 0:
            state = {**state, "log_base": np.broadcast_to(state["log_base"], (len(state["features"]),))}
        self.__dict__.update(state)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        n, k = self.features.shape
        return n, k

    @property
    def flat(self) -> bool:
        """Whether all base weights are known to be equal, since they are one number that is repeated."""
        return self.log_base.strides == (0,)

    def reduce(self, work: Callable[[Rows], Out], merge: Callable[[Out, Out], Out], cost: float = 1.0) -> Out:
        """``work`` of every part of the rows, merged; the parts of many rows are visited in threads.

        ``cost`` says how much there is to do for each number, in units of a plain pass. Where it is more than one,
        the parts are so long that merging k by k matrices costs little beside it.
        """
        n, k = self.shape
        count = int(min(cost * n * k / PART_NUMBERS, n / (LONG * k) if cost > 1.0 else np.inf))
        count -= count % 2  # even, so that two threads have the same to do
        if count < 2:
            with one_thread_each():  # as the parts are, so that threads of BLAS change no bit
                return work(self)
        edges = np.linspace(0, n, count + 1).astype(np.intp)
        return reduce(merge, in_threads(lambda i: work(self._part(edges[i], edges[i + 1])), range(count)))

    def _part(self, first: int, last: int) -> Rows:
        return replace(
            self,
            features=self.features[first:last],
            log_base=self.log_base[first:last],
            start=self.start + int(first),
        )

    @property
    def block_rows(self) -> int:
        """Rows of one block."""
        return min(max(256, BLOCK_NUMBERS // max(self.shape[1], 1)), max(self.shape[0], 1))

    @property
    def long_block_rows(self) -> int:
        """Rows of one block where each adds a k by k matrix to a sum, so that there are few of them."""
        return min(max(self.block_rows, 4 * self.shape[1]), max(self.shape[0], 1))

    def blocks(self, size: int = 0) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their features, relative to the origin."""
        n, size = self.shape[0], size or self.block_rows
        for start in range(0, n, size):
            block = slice(start, min(start + size, n))
            f = self.features[block]
            yield block, (f if self.origin is None else f - self.origin)

    def take(self, index: Index | slice, log_share: Array | float = 0.0) -> Rows:
        """Some of the rows, in memory and relative to the origin; ``log_share`` is added to their weights."""
        features = np.ascontiguousarray(self.features[index], dtype=float)
        if self.origin is not None:
            features = features - self.origin
        base = self.log_base[index]
        if self.flat:
            return Rows(features, np.broadcast_to(self.log_base[0] + log_share, base.shape))
        return Rows(features, np.asarray(base + log_share))

    def subset(self, size: int) -> Subset:
        """About ``size`` distinct rows, drawn with a fixed seed.

        In runs of a few rows, one from each of equally long stretches, if the base weights are even; otherwise each
        row by itself, with a probability that mixes even sampling with its share of the base weight.
        """
        n = self.shape[0]
        rng = np.random.default_rng(0)
        if self.flat or effective_sample_size(self.log_base[:: max(1, n // 20_000)]) > 0.25 * min(n, 20_000):
            runs = max(1, min(size, n) // RUN)
            edges = np.linspace(0, n, runs + 1).astype(np.intp)
            # no run leaves its stretch: a row that came twice would count twice in a certificate
            first = edges[:-1] + (rng.random(runs) * (np.diff(edges) - RUN + 1)).astype(np.intp)
            index = (first[:, None] + np.arange(RUN)).ravel()
            return Subset(self.take(index), log_of(n / index.size))
        chance = mixed_chance(exp(self.log_base), size, n)
        index = np.flatnonzero(rng.random(n) < chance)
        return Subset(self.take(index), -log(chance[index]))

    def sample(self, count: int) -> Rows:
        """About ``count`` rows, evenly spaced; all of them when there are no more."""
        return self.take(slice(None, None, max(1, self.shape[0] // count)))


def even_base(rows: int) -> Array:
    """Logarithms of equal base weights: one number, repeated, by which the passes know that they are flat."""
    return np.broadcast_to(-log(np.array(float(rows))), (rows,))


def mixed_chance(share: Array, size: float, rows: int) -> Array:
    """Probability of being drawn among about ``size`` of all rows, half of it even and half by share of the weight."""
    return np.minimum(1.0, size * (0.5 / rows + 0.5 * share))


@dataclass(frozen=True, eq=False)
class Subset:
    """Some rows as they are, and the logarithms of the shares that make their sums unbiased for all rows."""

    plain: Rows
    log_share: Array | float

    @property
    def weighted(self) -> Rows:
        """The rows with weights that stand for all rows."""
        if self.plain.flat and isinstance(self.log_share, float):
            n = self.plain.shape[0]
            return replace(self.plain, log_base=np.broadcast_to(self.plain.log_base[0] + self.log_share, (n,)))
        return replace(self.plain, log_base=self.plain.log_base + self.log_share)


def tilt(rows: Rows, delta: Array, *, covariance: bool = True, power: float = 1.0) -> Summary:
    """One pass at δ: log Z, mean and, when asked for, covariance of F under μ(δ) of [LINK].

    Parameters
    ----------
    rows : Rows
        The q side, n rows and k columns.
    delta : ndarray of shape (k,)
        Ratio parameter.
    covariance : bool
        Whether to accumulate the covariance, the Hessian of ℓ; it costs two to three plain passes.
    power : float
        Of the base weights; 2 gives sums of squared weights.
    """
    work = partial(_without_covariance, delta=delta)
    if covariance or power != 1.0:
        work = partial(_with_covariance, delta=delta, covariance=covariance, power=power)
    summary = rows.reduce(work, Summary.merge, max(1.0, delta.size / WIDE) if covariance else 1.0)
    if summary.covariance is None:
        return summary
    return replace(summary, covariance=without_noise(summary.covariance, summary.mean))


def _without_covariance(rows: Rows, delta: Array) -> Summary:
    """Log Z and mean, in as few operations for each block as there can be.

    Every operation that lets other threads run has to wait for them afterwards, so the weights are not scaled
    by their maximum first. If their sum then leaves the range of numbers, all is done again with care.
    """
    total, mean, flat = 0.0, np.zeros(delta.size), rows.flat
    room, ones = np.empty(rows.block_rows), np.ones(rows.block_rows)
    with np.errstate(over="ignore", invalid="ignore"):
        for block, f in rows.blocks():
            z = np.dot(f, delta, out=room[: len(f)])
            if not flat:
                z += rows.log_base[block]
            exp_in_place(z)
            total += float(z.dot(ones[: len(f)]))
            mean += z.dot(f)
    if not SMALL < total < LARGE:
        return _with_covariance(rows, delta, covariance=False)
    log_z = log_of(total)
    return Summary(log_z + float(rows.log_base[0]) if flat else log_z, mean / total, None)


def _with_covariance(rows: Rows, delta: Array, covariance: bool, power: float = 1.0) -> Summary:
    """Log Z, mean and covariance, for weights of any size."""
    k = delta.size
    total, top = 0.0, -np.inf
    mean, scatter = np.zeros(k), np.zeros((k, k)) if covariance else None
    size = rows.long_block_rows if covariance else rows.block_rows
    room = np.empty((size if covariance else 0, k), order="F" if rows.features.flags.fnc else "C")
    for block, f in rows.blocks(size):
        z = f @ delta
        z += power * rows.log_base[block]
        peak, mass = exponentiate(z)
        if mass == 0.0:
            continue
        if peak > top:  # rescale what was summed so far to the new maximum
            shrink = exp_of(top - peak)
            total, top = total * shrink, peak
            if scatter is not None:
                scatter *= shrink
            grow = 1.0
        else:
            grow = exp_of(peak - top)
            if grow == 0.0:  # nothing that could be seen beside the rows so far
                continue
        centre = z @ f
        centre /= mass
        mass *= grow
        share = mass / (total + mass)
        move = centre - mean
        if scatter is not None:
            g = np.subtract(f, centre, out=room[: len(f)])
            np.sqrt(z, out=z)
            g *= z[:, None]
            scatter += grow * (g.T @ g)
            scatter += (mass * (1.0 - share)) * np.outer(move, move)
        mean += share * move
        total += mass
    if total == 0.0:
        return Summary(-np.inf, mean, scatter)
    log_z = top + log_of(total)
    return Summary(log_z, mean, None if scatter is None else without_noise(scatter / total, mean))


def logits(rows: Rows, delta: Array) -> Array:
    """a_j + ⟨δ, F_j⟩ of every row, in their order."""
    parts = rows.reduce(partial(_logits, delta=delta), add)
    return np.concatenate([z for _, z in sorted(parts, key=itemgetter(0))])


def _logits(rows: Rows, delta: Array) -> list[tuple[int, Array]]:
    z = np.empty(rows.shape[0])
    for block, f in rows.blocks():
        z[block] = f @ delta
    z += rows.log_base
    return [(rows.start, z)]


def highest_logit(rows: Rows, delta: Array) -> float:
    """Largest a_j + ⟨δ, F_j⟩."""
    return rows.reduce(partial(_highest_logit, delta=delta), max)


def _highest_logit(rows: Rows, delta: Array) -> float:
    return max(float((f @ delta + rows.log_base[block]).max()) for block, f in rows.blocks())


def weighted_sum(rows: Rows, mu: Array) -> Array:
    """Σ_j μ_j F_j relative to the origin, for one weight for each row."""
    return rows.reduce(partial(_weighted_sum, mu=mu), add)


def _weighted_sum(rows: Rows, mu: Array) -> Array:
    total, own = np.zeros(rows.shape[1]), mu[rows.start : rows.start + rows.shape[0]]
    for block, f in rows.blocks():
        total += own[block] @ f
    return total


def support(rows: Rows, directions: Array, count: int) -> tuple[Array, Index]:
    """Support function of the hull: max_j ⟨v, F_j⟩ for each column v, and the rows that come closest to it.

    Parameters
    ----------
    rows : Rows
        The q side; rows of zero base weight are not part of the hull.
    directions : ndarray of shape (k, d)
    count : int
        How many rows to return for each direction.

    Returns
    -------
    values : ndarray of shape (d,)
    index : ndarray of int
        Distinct row numbers, at most d · count.
    """
    best, index = rows.reduce(partial(_highest, directions=directions, count=count), partial(_higher, count=count))
    return best.max(axis=0), np.unique(index[best > -np.inf])


def _highest(rows: Rows, directions: Array, count: int) -> tuple[Array, Index]:
    """Heights and numbers of the highest rows in each direction, shape (at most count, d)."""
    d = directions.shape[1]
    best = np.full((0, d), -np.inf)
    index = np.zeros((0, d), dtype=np.intp)
    for block, f in rows.blocks():
        height = f @ directions
        height[rows.log_base[block] == -np.inf] = -np.inf
        # most blocks have nothing above the running threshold; a full partition is for the few that do
        if best.shape[0] >= count and not np.any(height.max(axis=0) > best.min(axis=0)):
            continue
        keep = np.argpartition(-height, min(count, height.shape[0]) - 1, axis=0)[:count]
        here = np.take_along_axis(height, keep, axis=0), keep + (block.start + rows.start)
        best, index = _higher((best, index), here, count)
    return best, index


def _higher(one: tuple[Array, Index], other: tuple[Array, Index], count: int) -> tuple[Array, Index]:
    """The highest rows of two sets."""
    best = np.concatenate([one[0], other[0]])
    index = np.concatenate([one[1], other[1]])
    order = np.argpartition(-best, min(count, best.shape[0]) - 1, axis=0)[:count]
    return np.take_along_axis(best, order, axis=0), np.take_along_axis(index, order, axis=0)
