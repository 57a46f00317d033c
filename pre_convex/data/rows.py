"""Rows in memory: features, log base weights and an origin, which is the target of the problem they belong to.

Slices have two sizes. A **block** is the work of one thread or worker, in memory as on disk; :meth:`Rows.reduce` maps
a function over the blocks and merges the results. Inside a block the passes go through **chunks** that fit into a
core's cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._internal.entropy import effective_sample_size
from .._internal.threads import block_size_or, map_threads, single_threaded_blas
from .._internal.typing import Array, Index
from .._internal.validation import MAX_ENTRY, read_only
from ..errors import DataError

__all__ = [
    "Reach",
    "Rows",
    "Split",
    "Subset",
    "check_column_scale",
    "fits_single",
    "inclusion_probability",
    "make_rows",
    "split_origin",
    "uniform_log_weights",
]

Out = TypeVar("Out")
#: parts (centre, shift) of an origin, see :class:`Rows`
Split = tuple["Array | None", "Array | None"]

#: entries of one chunk of features: small enough to stay in a core's cache between the products
CHUNK_NUMBERS = 80_000
#: entries of one block, unless the settings say otherwise; results do not depend on the number of threads
BLOCK_NUMBERS = 2_000_000
#: minimum rows per feature of a block that is summed to a k by k matrix
ROWS_PER_FEATURE = 30
#: a subset takes runs of this many neighbouring rows, because they share cache lines and pages
RUN = 8
#: arrays of at most this many entries and columns are copied to column-major order, which makes every pass faster
SMALL, NARROW = 60_000, 16
#: rows from which the ranges and sizes of columns are estimated
PROBE_ROWS = 1000
#: a column counts as near a point if its distance is at most this many ranges of the column: sums relative to the point
#: then lose less than one digit compared with sums relative to the column's own middle
NEAR = 4.0
#: rows of a few numbers that are joined to one long row
ROWS_TOGETHER = 50
#: largest entry of a column in float32 arithmetic, whose limit is 3e38, and one over the smallest
SINGLE = 1e12
#: numbers subtracted at once from neighbouring short rows: NumPy is slow on rows of a few numbers
SUBTRACTED_TOGETHER = 8000


class Reach(NamedTuple):
    """Bounds on what a pass over all rows adds up, column by column of the features relative to :attr:`Rows.centre`.

    Attributes
    ----------
    largest : ndarray of shape (k,)
        At least the largest absolute value.
    root : ndarray of shape (k,)
        At least the root of the sum of squares; infinite if it is not known.
    """

    largest: Array
    root: Array


class Rows:
    """Rows in memory, as the passes see them.

    Parameters
    ----------
    features : ndarray of shape (n, k)
        Feature vectors F_j, float64 or float32; passes convert float32 to float64 chunk by chunk.
    log_base : ndarray of shape (n,) or float
        Log base weights a_j; one number if all are equal, which makes the passes faster.
    origin : ndarray of shape (k,), optional
        Point that all sums over rows are relative to: the target of a problem.
    start : int, default 0
        Number of the first row.
    split : tuple of two ndarrays, optional
        (centre, shift): the part of the origin that is subtracted from the features chunk by chunk, and the part that
        passes subtract from their sums; ``None`` stands for zero. By default the first is the origin itself. If
        features have been stored relative to a point, both parts are relative to that point.
    """

    #: whether all rows are in memory
    in_memory = True
    #: cost of one row of a subset (its copy, covariance and certificate) in rows of a full pass
    subset_cost = 20.0

    def __init__(
        self,
        features: Array,
        log_base: Array | float,
        origin: Array | None = None,
        start: int = 0,
        split: Split | None = None,
    ) -> None:
        self.features = features
        self.log_base = log_base if isinstance(log_base, np.ndarray) else _repeated(log_base, len(features))
        self.origin = origin
        self.start = start
        self.centre, self.shift = (origin, None) if split is None else split

    def __reduce__(self) -> Any:
        # uniform weights are pickled as one number, so that the copy is known to be uniform too
        log_base = self.log_base[0] if self.uniform and self.log_base.size else self.log_base
        return type(self), (self.features, log_base, self.origin, self.start, (self.centre, self.shift))

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
        count = int(cost * n * k / block_size_or(BLOCK_NUMBERS))
        if cost > 1.0:
            count = min(count, n // (ROWS_PER_FEATURE * k))
        count -= count % 2  # even, so that two threads have equal work
        if count < 2:
            with single_threaded_blas():  # as in the blocks: the number of BLAS threads must not change any bit
                return work(self)
        edges = np.linspace(0, n, count + 1).astype(np.intp)
        return reduce(merge, map_threads(lambda i: work(self._block(edges[i], edges[i + 1])), range(count)))

    def _block(self, first: int, last: int) -> Rows:
        split, start = (self.centre, self.shift), self.start + int(first)
        return Rows(self.features[first:last], self.log_base[first:last], self.origin, start, split)

    def with_log_base(self, log_base: Array | float) -> Rows:
        """The same features with other base weights."""
        rows = Rows(self.features, log_base, self.origin, self.start, (self.centre, self.shift))
        rows.accuracy = self.accuracy
        return rows

    @property
    def single(self) -> bool:
        """Whether passes in float32 arithmetic are faster and keep six digits."""
        return self.features.dtype == np.float32 and self.centre is None and fits_single(self.features)

    @cached_property
    def reach(self) -> Reach:
        """Sizes of the features, from one pass that is cheaper than others; computed on first use."""
        root = np.sqrt(self.reduce(_column_squares, np.add)) * (1.0 + 1e-6)  # whatever the round-off
        return Reach(root, root)

    @cached_property
    def accuracy(self) -> float:
        """Relative accuracy of the features as they were given: one unit in the last place."""
        return float(np.finfo(self.features.dtype).eps)

    @property
    def depth(self) -> int:
        """Additions that an entry goes through in a pass: one chunk, then one chunk after the other."""
        n = self.shape[0]
        return self.long_chunk_rows + 4 * (n // self.chunk_rows) + 64

    @property
    def log_z_depth(self) -> int:
        """The same for a sum of weights, which is pairwise inside a chunk."""
        return 4 * (self.shape[0] // self.chunk_rows) + 64

    @property
    def shift_size(self) -> Array | float:
        """Absolute value of the shift; the round-off of sums is proportional to it and to the relative features."""
        return 0.0 if self.shift is None else np.abs(self.shift)

    @property
    def _relative_to(self) -> Array | None:
        """The origin as it has to be subtracted from the stored features."""
        return self.shift if self.centre is None else self.origin

    @cached_property
    def chunk_rows(self) -> int:
        """Rows of one chunk."""
        n, k = self.shape
        return min(max(256, CHUNK_NUMBERS // max(k, 1)), max(n, 1))

    @cached_property
    def long_chunk_rows(self) -> int:
        """Rows of one chunk in passes that add a k by k matrix per chunk."""
        return min(max(self.chunk_rows, 4 * self.shape[1]), max(self.shape[0], 1))

    def chunks(self, size: int = 0) -> Iterator[tuple[slice, Array]]:
        """Slices of at most ``size`` rows and their features, relative to the origin.

        The features may be a buffer that is filled again for the next chunk.
        """
        return self._chunks(size, self._relative_to)

    def shifted_chunks(self, size: int = 0) -> Iterator[tuple[slice, Array]]:
        """The same, except that :attr:`shift` is still to be subtracted, which costs less after summing."""
        return self._chunks(size, self.centre)

    def _chunks(self, size: int, point: Array | None) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their features, relative to a point."""
        (n, k), size = self.shape, size or self.chunk_rows
        convert = self.features.dtype != float
        if convert or point is not None:
            buffer = np.empty((size, k), order="F" if self.features.flags.fnc else "C")
        if convert:
            narrow = np.empty_like(buffer, dtype=self.features.dtype)
        if point is not None:
            tiled = np.tile(point, max(1, SUBTRACTED_TOGETHER // max(k, 1)))
        for start in range(0, n, size):
            chunk = slice(start, min(start + size, n))
            f = self.features[chunk]
            if convert:  # memory is read faster by a copy than by any other operation
                narrow[: len(f)] = f
                buffer[: len(f)] = narrow[: len(f)]
                f = buffer[: len(f)]
            if point is not None:
                f = _subtract(f, point, tiled, buffer[: len(f)])
            yield chunk, f

    def take(self, index: Index | slice) -> Rows:
        """Some of the rows, in memory and relative to the origin."""
        some = self.features[index] if isinstance(index, slice) else self.features.take(index, axis=0, mode="clip")
        features = np.ascontiguousarray(some, dtype=float)
        if self._relative_to is not None:
            features = np.subtract(features, self._relative_to, out=None if isinstance(index, slice) else features)
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


def _column_squares(rows: Rows) -> Array:
    """Sums of squares of the columns; neighbouring rows are joined, because NumPy is slow on rows of a few numbers."""
    k = rows.shape[1]
    total = np.zeros(k)
    for _, f in rows.shifted_chunks():
        whole = len(f) // ROWS_TOGETHER * ROWS_TOGETHER if f.flags.c_contiguous else 0
        for part in (f[:whole].reshape(-1, ROWS_TOGETHER * k), f[whole:]):
            total += np.einsum("ij,ij->j", part, part).reshape(-1, k).sum(axis=0)
    return total


def uniform_log_weights(n: int) -> Array:
    """Log of n equal weights that sum to one: one number repeated, so that :attr:`Rows.uniform` is true."""
    return _repeated(-math.log(n), n)


def _repeated(x: float, n: int) -> Array:
    """Read-only array of one number n times, all in the same place; ``np.broadcast_to`` takes five times as long."""
    array = np.ndarray((n,), float, np.array(x, dtype=float), 0, (0,))
    array.flags.writeable = False
    return array


def inclusion_probability(weights: Array, size: float, n: int) -> Array:
    """Probability of each row being drawn among about ``size`` of n: half uniform, half proportional to weight."""
    return np.minimum(1.0, size * (0.5 / n + 0.5 * weights))


def make_rows(F: Array, log_base: Array, target: Array) -> Rows:
    """Rows of checked arrays relative to the target; small and narrow arrays are stored so, column by column."""
    if log_base[0] == log_base[-1] and np.all(log_base == log_base[0]):  # such as those of no likelihood
        log_base = _repeated(log_base[0], len(log_base))
    if F.size > SMALL or F.shape[1] > NARROW:
        return Rows(read_only(F), read_only(log_base), target, split=split_origin(F, target))
    centre, shift = _split(F, target)
    by_columns = np.asfortranarray(F - centre)
    rows = Rows(read_only(by_columns), read_only(log_base), target, split=(None, shift))
    rows.accuracy = float(np.finfo(F.dtype).eps)
    return rows


def split_origin(F: Array, origin: Array) -> Split:
    """(centre, shift) of :class:`Rows`.

    Subtracting a centre from every row makes a pass half as slow again, so it is done only if some column is far from
    zero. The centre is the origin, except in columns that are far from it: there it is the middle of the column.
    """
    low, high = _probe_ranges(F)
    if np.all(np.abs(low + high) <= 2.0 * NEAR * (high - low)):
        return None, origin
    return _split(F, origin)


def _split(F: Array, origin: Array) -> tuple[Array, Array | None]:
    low, high = _probe_ranges(F)
    middle = 0.5 * (low + high)
    centre = np.where(np.abs(origin - middle) <= NEAR * (high - low), origin, middle)
    shift = origin - centre
    return centre, shift if np.any(shift) else None


def _probe_ranges(F: Array) -> tuple[Array, Array]:
    """Smallest and largest entry of every column, among a sample of the rows."""
    sample = np.asarray(F[:: max(1, len(F) // PROBE_ROWS)], dtype=float)
    return sample.min(axis=0), sample.max(axis=0)


def _subtract(f: Array, point: Array, tiled: Array, out: Array) -> Array:
    """``out`` = f − point; neighbouring rows are joined, so that the tiled point is subtracted from them."""
    together = tiled.size // max(point.size, 1)
    whole = len(f) // together * together if f.flags.c_contiguous else 0
    shape = whole // together, tiled.size
    np.subtract(f[:whole].reshape(shape), tiled, out=out[:whole].reshape(shape))
    np.subtract(f[whole:], point, out=out[whole:])
    return out


def fits_single(F: Array) -> bool:
    """Whether products and sums of the features are far from the limits of float32, judged by a sample of rows."""
    size = np.abs(F[:: max(1, len(F) // PROBE_ROWS)]).max(axis=0)
    return bool(np.all((size == 0.0) | ((size > 1.0 / SINGLE) & (size < SINGLE))))


def check_column_scale(F: Array, name: str = "features_q") -> None:
    """Raise if all entries of a column are below 1e-100, where squares underflow."""
    size = np.abs(F[:: max(1, len(F) // PROBE_ROWS)]).max(axis=0)
    tiny = np.flatnonzero((size > 0.0) & (size < 1.0 / MAX_ENTRY))
    if tiny.size:
        raise DataError(name, f"all entries of column {tiny[0]} are below {1.0 / MAX_ENTRY:g}", "rescale the column")
