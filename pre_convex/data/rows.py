"""Rows in memory: features, log base weights and an origin.

Two sizes of slices occur. A **block** is the work of one thread or worker, in memory as on disk; :meth:`Rows.reduce`
maps a function over the blocks and merges the results. Inside a block the passes go through **chunks** that fit into a
core's cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from .._internal.entropy import effective_sample_size
from .._internal.threads import map_threads, single_threaded_blas
from .._internal.typing import Array, Index
from .._internal.validation import MAX_ENTRY, read_only
from ..errors import DataError

__all__ = [
    "Rows",
    "Subset",
    "check_column_scale",
    "choose_origin",
    "inclusion_probability",
    "make_rows",
    "uniform_log_weights",
]

Out = TypeVar("Out")

#: entries of one chunk of features: small enough to stay in a core's cache between the products
CHUNK_NUMBERS = 80_000
#: entries of one block; fixed, so that results do not depend on the number of threads
BLOCK_NUMBERS = 2_000_000
#: minimum rows per feature of a block that is summed to a k by k matrix
ROWS_PER_FEATURE = 30
#: a subset takes runs of this many neighbouring rows, because they share cache lines and pages
RUN = 8
#: arrays of at most this many entries and columns are copied to column-major order, which makes every pass faster
SMALL, NARROW = 60_000, 16
#: rows from which means, spreads and sizes of columns are estimated
PROBE_ROWS = 1000


class Rows:
    """Rows in memory, as the passes see them.

    Parameters
    ----------
    features : ndarray of shape (n, k)
        Feature vectors F_j.
    log_base : ndarray of shape (n,) or float
        Log base weights a_j; one number if all are equal, which makes the passes faster.
    origin : ndarray of shape (k,), optional
        Point that is subtracted from the features, chunk by chunk. It is set when a column's mean is so much larger
        than its spread that logits would lose digits.
    start : int, default 0
        Number of the first row.
    """

    #: whether all rows are in memory
    in_memory = True
    #: cost of one row of a subset (its copy, covariance and certificate) in rows of a full pass
    subset_cost = 20.0

    def __init__(self, features: Array, log_base: Array | float, origin: Array | None = None, start: int = 0) -> None:
        self.features = features
        self.log_base = np.broadcast_to(log_base, (len(features),)) if np.ndim(log_base) == 0 else np.asarray(log_base)
        self.origin = origin
        self.start = start

    def __reduce__(self) -> Any:
        # uniform weights are pickled as one number, so that the copy is known to be uniform too
        log_base = self.log_base[0] if self.uniform and self.log_base.size else self.log_base
        return type(self), (self.features, log_base, self.origin, self.start)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, features)."""
        n, k = self.features.shape
        return n, k

    @property
    def uniform(self) -> bool:
        """Whether all base weights are known to be equal, because they are one number repeated."""
        return self.log_base.strides == (0,)

    def reduce(self, work: Callable[[Rows], Out], merge: Callable[[Out, Out], Out], cost: float = 1.0) -> Out:
        """Apply ``work`` to every block of rows, in threads if there are several, and merge the results in order.

        ``cost`` is the work per entry in units of a plain pass. If it is more than one, blocks are so long that
        merging k by k matrices costs little in comparison.
        """
        n, k = self.shape
        count = int(min(cost * n * k / BLOCK_NUMBERS, n / (ROWS_PER_FEATURE * k) if cost > 1.0 else np.inf))
        count -= count % 2  # even, so that two threads have equal work
        if count < 2:
            with single_threaded_blas():  # as in the blocks: the number of BLAS threads must not change any bit
                return work(self)
        edges = np.linspace(0, n, count + 1).astype(np.intp)
        return reduce(merge, map_threads(lambda i: work(self._block(edges[i], edges[i + 1])), range(count)))

    def _block(self, first: int, last: int) -> Rows:
        return Rows(self.features[first:last], self.log_base[first:last], self.origin, self.start + int(first))

    def with_origin(self, origin: Array | None) -> Rows:
        """The same rows relative to another origin."""
        return Rows(self.features, self.log_base, origin, self.start)

    def with_log_base(self, log_base: Array | float) -> Rows:
        """The same features with other base weights."""
        return Rows(self.features, log_base, self.origin, self.start)

    @property
    def chunk_rows(self) -> int:
        """Rows of one chunk."""
        return min(max(256, CHUNK_NUMBERS // max(self.shape[1], 1)), max(self.shape[0], 1))

    @property
    def long_chunk_rows(self) -> int:
        """Rows of one chunk in passes that add a k by k matrix per chunk."""
        return min(max(self.chunk_rows, 4 * self.shape[1]), max(self.shape[0], 1))

    def chunks(self, size: int = 0) -> Iterator[tuple[slice, Array]]:
        """Slices of at most ``size`` rows and their features, relative to the origin."""
        n, size = self.shape[0], size or self.chunk_rows
        for start in range(0, n, size):
            chunk = slice(start, min(start + size, n))
            f = self.features[chunk]
            yield chunk, (f if self.origin is None else f - self.origin)

    def take(self, index: Index | slice) -> Rows:
        """Some of the rows, in memory and relative to the origin."""
        features = np.ascontiguousarray(self.features[index], dtype=float)
        if self.origin is not None:
            features = features - self.origin
        return Rows(features, self.log_base[0] if self.uniform else np.ascontiguousarray(self.log_base[index]))

    def subset(self, size: int) -> Subset:
        """About ``size`` distinct rows, drawn with a fixed seed.

        If the base weights are nearly uniform: runs of neighbouring rows, one run from each of equally long intervals.
        Otherwise each row independently, with :func:`inclusion_probability`.
        """
        n = self.shape[0]
        rng = np.random.default_rng(0)
        if self.uniform or effective_sample_size(self.log_base[:: max(1, n // 20_000)]) > 0.25 * min(n, 20_000):
            runs = max(1, min(size, n) // RUN)
            edges = np.linspace(0, n, runs + 1).astype(np.intp)
            # a run stays inside its interval: a row drawn twice would count twice in a certificate
            first = edges[:-1] + (rng.random(runs) * (np.diff(edges) - RUN + 1)).astype(np.intp)
            index = (first[:, None] + np.arange(RUN)).ravel()
            return Subset(self.take(index), math.log(n / index.size))
        probability = inclusion_probability(np.exp(self.log_base), size, n)
        index = np.flatnonzero(rng.random(n) < probability)
        return Subset(self.take(index), -np.log(probability[index]))

    def sample(self, count: int) -> Rows:
        """About ``count`` rows, evenly spaced; all of them if there are no more."""
        return self.take(slice(None, None, max(1, self.shape[0] // count)))


class Subset:
    """A sample of rows, and the log factors that make weighted sums over it unbiased for sums over all rows.

    Parameters
    ----------
    rows : Rows
        The sampled rows with their own base weights.
    log_factor : ndarray of shape (n,) or float
        Minus the log of each row's probability of being drawn.
    """

    def __init__(self, rows: Rows, log_factor: Array | float) -> None:
        self.rows = rows
        self.log_factor = log_factor

    @property
    def weighted(self) -> Rows:
        """The rows with weights that represent all rows."""
        rows = self.rows
        if rows.uniform and isinstance(self.log_factor, float):
            return rows.with_log_base(rows.log_base[0] + self.log_factor)
        return rows.with_log_base(rows.log_base + self.log_factor)


def uniform_log_weights(n: int) -> Array:
    """Log of n equal weights that sum to one: one number repeated, so that :attr:`Rows.uniform` is true."""
    return np.broadcast_to(-np.log(np.array(float(n))), (n,))


def inclusion_probability(weights: Array, size: float, n: int) -> Array:
    """Probability of each row being drawn among about ``size`` of n: half uniform, half proportional to weight."""
    return np.minimum(1.0, size * (0.5 / n + 0.5 * weights))


def make_rows(F: Array, log_base: Array) -> Rows:
    """Rows of checked arrays, with an origin if they need one, and column by column if they are small and narrow."""
    by_columns = np.asfortranarray(F) if F.size <= SMALL and F.shape[1] <= NARROW else F
    return Rows(read_only(by_columns), read_only(log_base), choose_origin(F))


def check_column_scale(F: Array, name: str = "features_q") -> None:
    """Raise if all entries of a column are below 1e-100, where squares underflow."""
    size = np.abs(F[:: max(1, len(F) // PROBE_ROWS)]).max(axis=0)
    tiny = np.flatnonzero((size > 0.0) & (size < 1.0 / MAX_ENTRY))
    if tiny.size:
        raise DataError(name, f"all entries of column {tiny[0]} are below {1.0 / MAX_ENTRY:g}", "rescale the column")


def choose_origin(F: Array) -> Array | None:
    """Column means, if one of them is so much larger than its column's spread that logits would lose digits."""
    sample = F[:: max(1, len(F) // PROBE_ROWS)]
    mean, spread = sample.mean(axis=0), np.ptp(sample, axis=0)
    return read_only(mean) if np.any((np.abs(mean) > 100.0 * spread) & (spread > 0.0)) else None
