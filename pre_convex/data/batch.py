"""Passes over the q rows for many problems at once.

W problems share F and differ in target and base weights. A chunk of rows is reduced for all problems by two matrix
products and one exponential,

    P = exp(A + Δ F'),     [Σ_j P_wj F_j, Σ_j P_wj] = P [F, 1],

with P of shape (problems, rows), small enough for a core's cache. The covariances of all problems are one more
product, of P with the pairwise products of centred features. Threads reduce blocks of rows, each chunk by chunk; the
blocks do not depend on the number of threads, so neither do the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from .._internal.entropy import effective_sample_size, log_normalise, log_sum_exp, safe_log
from .._internal.threads import map_threads
from .._internal.typing import Array, Index
from .._internal.validation import as_numbers, call_user_function, read_only
from ..errors import DataError
from .passes import Summary, column_ranges
from .requests import ALL, UNDERFLOW, Draw, Height, Level, Lowest, Outermost, Ranges, Requests, Sizes, Tilt, Whiten
from .rows import Reach, Rows, fits_single, inclusion_probability

__all__ = ["BaseSummary", "Batch", "Moments", "OwnLogBases", "Together", "make_batch"]

#: entries of P in one chunk, its maximum number of problems, and its minimum and maximum number of rows
CHUNK_NUMBERS, GROUP, CHUNK_ROWS_MIN, CHUNK_ROWS_MAX = 100_000, 256, 256, 4096
#: maximum number of blocks, entries of P in each, and maximum number of entries in the sums of all blocks
MAX_BLOCKS, BLOCK_NUMBERS, MAX_SUMS = 8, 500_000, 4_000_000
#: sums of weights between these bounds suffered neither underflow nor overflow
SUM_MIN, SUM_MAX = 1e-200, 1e100
#: the same in float32
SUM_MIN_SINGLE, SUM_MAX_SINGLE = 1e-20, 1e30
#: log base weights whose log-sum exceeds this are shifted first, so that sums keep their digits
SHIFT_ABOVE = 100.0

#: log base weights of each problem: an array (W, n), or a function of a slice that returns an array (rows, W)
OwnLogBases: TypeAlias = "Array | Callable[[slice], Any] | None"


@dataclass(frozen=True, eq=False)
class Moments:
    """One pass for V problems: log Z (V,), mean (V, k), covariance (V, k, k) or None, effective sample size."""

    log_z: Array
    mean: Array
    covariance: Array | None
    ess: Array

    def overwrite(self, index: Index, others: Moments) -> None:
        """Overwrite the moments of some problems."""
        self.log_z[index], self.mean[index], self.ess[index] = others.log_z, others.mean, others.ess
        if self.covariance is not None and others.covariance is not None:
            self.covariance[index] = others.covariance


@dataclass(frozen=True, eq=False)
class BaseSummary:
    """Base weights: log-sum (W,), effective sample size (W,), and the share of each row averaged over problems (n,)."""

    level: Array
    ess: Array
    share: Array


def _padded_width(k: int) -> int:
    """Columns of a chunk of features: k, a column of ones, and zeros up to a multiple of 4, which BLAS prefers."""
    return 4 * (k // 4 + 1)


def _with_constant(x: Array, y: Array) -> Array:
    """Coefficients x of the features and y of the constant, shape (V, padded width)."""
    out = np.zeros((len(x), _padded_width(x.shape[1])))
    out[:, : x.shape[1]] = x
    out[:, x.shape[1]] = y
    return out


def _groups(problems: int) -> Iterator[slice]:
    """Slices of problems."""
    for first in range(0, problems, GROUP):
        yield slice(first, min(first + GROUP, problems))


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of F with the base weights of W problems.

    Attributes
    ----------
    features : ndarray of shape (n, k)
    centre : ndarray of shape (k,)
        Subtracted from the features chunk by chunk.
    count : int
        W, the number of problems.
    common : ndarray of shape (n,) or None
        Log base weights that all problems share.
    own : ndarray of shape (W, n), function of a slice, or None
        Log base weights of each problem, added to the common ones.
    level : ndarray of shape (W,)
        Log-sums of the base weights, subtracted from the logits.
    """

    features: Array
    centre: Array
    count: int
    common: Array | None
    own: OwnLogBases
    level: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        n, k = self.features.shape
        return n, k

    @property
    def single(self) -> bool:
        """Whether passes in float32 arithmetic keep six digits."""
        return fits_single(self.features[:: max(1, self.shape[0] // 1000)] - self.centre)

    def own_chunk(self, rows: slice) -> Array | None:
        """Own log base weights of all problems for some rows, shape (W, rows); ``None`` if they have none."""
        if not callable(self.own):
            return None if self.own is None else self.own[:, rows]
        values = as_numbers(call_user_function(self.own, "log_bases", rows), "log_bases")
        if values.shape != (rows.stop - rows.start, self.count):
            raise DataError(
                "log_bases",
                f"returned shape {values.shape} for {rows.stop - rows.start} rows and {self.count} problems",
                f"return shape ({rows.stop - rows.start}, {self.count})",
            )
        return values.T

    def take(self, index: Index) -> Batch:
        """Some of the rows, in memory; ``index`` is increasing."""
        own = self.own
        if callable(own):
            own = np.empty((self.count, index.size))
            for rows in self._chunks(slice(0, self.shape[0]), self.count):
                first, last = np.searchsorted(index, [rows.start, rows.stop])
                if last > first:
                    chunk = self.own_chunk(rows)
                    assert chunk is not None  # it comes from a function
                    own[:, first:last] = chunk[:, index[first:last] - rows.start]
        elif own is not None:
            own = own[:, index]
        common = None if self.common is None else self.common[index]
        features = np.ascontiguousarray(self.features[index], dtype=float)
        return replace(self, features=features, common=common, own=own)

    def every(self, step: int) -> Batch:
        """One row in ``step``."""
        return self.take(np.arange(0, self.shape[0], step))

    def log_base(self, w: int) -> Array | None:
        """Log base weights of one problem, as given; ``None`` if they are equal."""
        if not callable(self.own):
            return self.common if self.own is None else self.own[w]
        chunks = [self.own_chunk(rows) for rows in self._chunks(slice(0, self.shape[0]), self.count)]
        return np.concatenate([chunk[w] for chunk in chunks if chunk is not None])

    def _chunks(self, block: slice, problems: int) -> Iterator[slice]:
        """Slices of rows of a block, such that a chunk of P fits a core's cache."""
        length = min(max(CHUNK_NUMBERS // min(problems, GROUP), CHUNK_ROWS_MIN), CHUNK_ROWS_MAX)
        for start in range(block.start, block.stop, length):
            yield slice(start, min(start + length, block.stop))

    def _map_blocks(self, visit: Callable[[slice], Any], problems: int, sums: int = 1) -> list[Any]:
        """``visit`` of each block of rows, in threads; at least two blocks, so that BLAS stays in one thread."""
        n = self.shape[0]
        count = min(max(2, min(MAX_BLOCKS, n * problems // BLOCK_NUMBERS, MAX_SUMS // (problems * sums))), n)
        edges = np.linspace(0, n, count + 1).astype(int).tolist()

        def visit_block(block: slice) -> Any:
            with np.errstate(over="ignore", invalid="ignore"):  # overflow is detected and repeated with a shift
                return visit(block)

        return map_threads(visit_block, [slice(*ends) for ends in pairwise(edges)])

    def summarise_base(self, guess: Array | None = None) -> BaseSummary:
        """Log-sum and effective sample size of the base weights, and the average share of each row.

        Shares are relative to ``guess``, approximate log-sums of the problems.
        """
        n, W = self.shape[0], self.count
        if self.own is None:
            a = np.zeros(n) if self.common is None else self.common
            return BaseSummary(
                np.full(W, log_sum_exp(a)), np.full(W, effective_sample_size(a)), np.exp(log_normalise(a))
            )
        share = np.empty(n)

        def visit(block: slice) -> tuple[Array, Array, Array]:
            level = np.full(W, -1e300) if guess is None else guess.copy()
            total, squares, buffer = np.zeros(W), np.zeros(W), np.empty(0)
            for rows in self._chunks(block, W):
                chunk = self.own_chunk(rows)
                assert chunk is not None  # the problems differ
                if not buffer.size:  # the first chunk is the longest
                    buffer = np.empty(chunk[:GROUP].size)
                share[rows] = 0.0
                for group in _groups(W):
                    a = chunk[group]
                    top = a.max(axis=1)
                    if not np.all(top < np.inf):  # nan fails too
                        _reject(a, rows.start, group.start)
                    up = np.maximum(top, level[group])
                    shrink = np.exp(level[group] - up)
                    level[group] = up
                    total[group] *= shrink
                    squares[group] *= shrink**2
                    z = np.subtract(a, up[:, None], out=buffer[: a.size].reshape(a.shape))
                    np.exp(z, out=z)
                    total[group] += z @ np.ones(z.shape[1])
                    squares[group] += np.vecdot(z, z)
                    share[rows] += np.ones(len(z)) @ z
            return level, total, squares

        level, sums = _merge([(level, [total, squares]) for level, total, squares in self._map_blocks(visit, W)])
        total, squares = sums
        empty = np.flatnonzero(total <= 0.0)
        if empty.size:
            raise DataError(
                "log_bases", f"is -inf in every row of problem {empty[0]}", "give at least one row a finite value"
            )
        return BaseSummary(level + safe_log(total), total**2 / squares, share / W)

    def normalised(self, level: Array) -> Batch:
        """The same base weights, normalised for each problem; ``level`` holds their log-sums."""
        own, zero = self.own, np.zeros(self.count)
        if own is None and self.common is not None:
            return replace(self, common=log_normalise(self.common), level=zero)
        if own is None or np.abs(level).max() <= SHIFT_ABOVE:
            return replace(self, level=level)
        shifted = (lambda rows: own(rows) - level) if callable(own) else lambda rows: (own[:, rows] - level[:, None]).T
        near = replace(self, own=shifted, level=zero)
        return replace(near, level=near.summarise_base().level)  # a large level leaves few digits for the log-sum

    def moments(
        self, delta: Array, ids: Index, guess: Array, *, covariance: bool = False, rough: bool = False
    ) -> Moments:
        """One pass at δ for the problems ``ids``: log Z, mean and covariance of F − centre under the tilted weights.

        Parameters
        ----------
        delta : ndarray of shape (V, k)
        ids : ndarray of int of shape (V,)
            Indices of the problems.
        guess : ndarray of shape (V,)
            Approximate log Z; it affects speed only.
        covariance : bool
            Whether to form the covariances.
        rough : bool
            Whether six digits are enough: chunks are then computed in float32, which takes half the time.
        """
        k, V = self.shape[1], ids.size
        dtype, most = (np.float32, SUM_MAX_SINGLE) if rough else (float, SUM_MAX)
        # pairwise products of columns are shared by all problems, unless there are too few problems to pay for them
        per_problem = 15 + k // 4 >= V
        pairs = 0 if not covariance else k * k if per_problem else k * (k + 1) // 2

        def visit(block: slice) -> tuple[Array, list[Array]]:
            coefficients = _with_constant(delta, -guess - self.level[ids]).astype(dtype)
            level = -coefficients[:, k].astype(float) - self.level[ids]
            sums, squares, products = np.zeros((V, _padded_width(k))), np.zeros(V), np.zeros((V, pairs))
            for rows, f, own, buffer in self._chunks_of(block, V, dtype):
                factors = None
                if covariance:
                    factors = f[:, :k].T.copy() if per_problem else _pairwise_products(f[:, :k])
                for group in _groups(V):
                    z = self._logits(rows, f, own, coefficients[group], ids[group], buffer)
                    with np.errstate(over="ignore"):
                        np.exp(z, out=z)
                    total = z @ f
                    if not np.all(total[:, k] < most):  # the guess was far too low: raise it
                        z = self._logits(rows, f, own, coefficients[group], ids[group], buffer)
                        up = np.maximum(z.max(axis=1), 0.0)
                        level[group] += up
                        coefficients[group, k] -= up
                        shrink = np.exp(-up)
                        sums[group] *= shrink[:, None]
                        squares[group] *= shrink**2
                        products[group] *= shrink[:, None]
                        z -= up[:, None]
                        np.exp(z, out=z)
                        total = z @ f
                    sums[group] += total
                    squares[group] += np.vecdot(z, z)
                    if factors is not None and per_problem:
                        for w, weights in enumerate(z, group.start):
                            products[w] += ((factors * weights) @ f[:, :k]).ravel()
                    elif factors is not None:
                        products[group] += z @ factors
            return level, [sums, squares, products]

        level, (sums, squares, products) = _merge(self._map_blocks(visit, V, pairs + k))
        total = sums[:, k]
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = sums[:, :k] / total[:, None]
            products /= total[:, None]
            H = None
            if covariance:
                H = (products.reshape(V, k, k) if per_problem else _symmetric(products, k)) - mean[:, :, None] * mean[
                    :, None, :
                ]
            found = Moments(level + safe_log(total), mean, H, total**2 / squares)
            kept = total > SUM_MIN
            if rough:
                kept = (total > SUM_MIN_SINGLE) & np.isfinite(mean).all(axis=1)
        lost = np.flatnonzero(~kept)
        if lost.size:  # the guess was far too high, or δ holds nan
            top = self.largest_logits(delta[lost], ids[lost])
            lost, top = lost[np.isfinite(top)], top[np.isfinite(top)]
            if lost.size:
                found.overwrite(lost, self.moments(delta[lost], ids[lost], top, covariance=covariance))
        return found

    def lowest(self, delta: Array, ids: Index, log_z: Array, d: Array) -> Array:
        """Smallest ⟨d, F_j − centre⟩ of each problem, over the rows whose weight does not underflow."""
        tilts, changes = _with_constant(delta, -log_z - self.level[ids]), _with_constant(d, np.zeros(ids.size))

        def visit(block: slice) -> Array:
            low = np.full(ids.size, np.inf)
            for rows, f, own, buffer in self._chunks_of(block, ids.size):
                for group in _groups(ids.size):
                    z = self._logits(rows, f, own, tilts[group], ids[group], buffer)
                    c = changes[group] @ f.T
                    low[group] = np.minimum(low[group], c.min(axis=1, initial=np.inf, where=z > UNDERFLOW))
            return low

        return np.asarray(np.min(self._map_blocks(visit, ids.size), axis=0))

    @property
    def depth(self) -> int:
        """Additions that an entry goes through in a pass, as in :attr:`Rows.depth`."""
        return CHUNK_ROWS_MAX + self.shape[0] // CHUNK_ROWS_MIN + MAX_BLOCKS

    @cached_property
    def reach(self) -> Reach:
        """Sizes of the features relative to the centre."""
        return Rows(self.features, 0.0, self.centre).reach

    def subset(self, size: int, base: BaseSummary) -> tuple[Batch, Batch]:
        """About ``size`` distinct rows for all problems: with their own base weights, and weighted to represent all.

        Stratified sampling, one row from each of ``size`` equal blocks, if the base weights are even; otherwise each
        row independently, with a probability that mixes uniform sampling with its average share of base weight.
        """
        n = self.shape[0]
        rng = np.random.default_rng(0)
        if base.ess.min() > 0.25 * n:
            edges = np.linspace(0, n, size + 1).astype(np.intp)
            index = edges[:-1] + (rng.random(size) * np.diff(edges)).astype(np.intp)
            log_factor = np.full(size, np.log(n / size))
        else:
            chance = inclusion_probability(base.share / base.share.sum(), size, n)
            index = np.flatnonzero(rng.random(n) < chance)
            log_factor = -np.log(chance[index])
        rows = self.take(index)
        return rows, replace(rows, common=log_factor if rows.common is None else rows.common + log_factor)

    def largest_logits(self, delta: Array, ids: Index, *, heights: bool = False) -> Array:
        """Largest logit of each problem; with ``heights``, largest ⟨δ, F_j − centre⟩ over rows with positive weight."""
        coefficients = _with_constant(delta, -self.level[ids])
        slopes = _with_constant(delta, np.zeros(ids.size))

        def visit(block: slice) -> Array:
            top = np.full(ids.size, -np.inf)
            for rows, f, own, buffer in self._chunks_of(block, ids.size):
                for group in _groups(ids.size):
                    z = self._logits(rows, f, own, coefficients[group], ids[group], buffer)
                    if heights:
                        z = np.where(z == -np.inf, z, slopes[group] @ f.T)
                    top[group] = np.maximum(top[group], z.max(axis=1))
            return top

        return np.asarray(np.max(self._map_blocks(visit, ids.size), axis=0))

    def _chunks_of(
        self, block: slice, problems: int, dtype: Any = float
    ) -> Iterator[tuple[slice, Array, Array | None, Array]]:
        """Chunk by chunk: rows, centred features with a column of ones, own log base weights, buffer for logits."""
        k, buffer = self.shape[1], np.empty(0, dtype)
        for rows in self._chunks(block, problems):
            m = rows.stop - rows.start
            f = np.zeros((m, _padded_width(k)), dtype)
            np.subtract(self.features[rows], self.centre, out=f[:, :k], casting="same_kind")
            f[:, k] = 1.0
            if not buffer.size:  # the first chunk is the longest
                buffer = np.empty(min(problems, GROUP) * m, dtype)
            yield rows, f, self.own_chunk(rows), buffer

    def _logits(
        self, rows: slice, f: Array, own: Array | None, coefficients: Array, ids: Index, buffer: Array
    ) -> Array:
        """Log base weights plus coefficients times features, shape (problems, rows)."""
        g, m, width = len(coefficients), len(f), self.shape[1] + 1  # here BLAS is faster without the zeros
        z = np.matmul(coefficients[:, :width], f[:, :width].T, out=buffer[: g * m].reshape(g, m))
        if own is not None:
            z += own[ids[0] : ids[-1] + 1] if ids[-1] - ids[0] == g - 1 else own[ids]
        if self.common is not None:
            z += self.common[rows]
        return z


def make_batch(features: Array, count: int, common: Array | None, own: OwnLogBases) -> Batch:
    """Batch with features centred at the mean of a sample of rows."""
    centre = features[:: max(1, len(features) // 1000)].mean(axis=0)
    return Batch(features, read_only(centre), count, common, own, np.zeros(count))


def _reject(chunk: Array, row: int, problem: int) -> None:
    """Raise for the first log base weight that is nan or +inf."""
    w, j = np.argwhere(~(chunk < np.inf))[0]
    raise DataError(
        "log_bases",
        f"row {row + j} of problem {problem + w} is {chunk[w, j]}",
        "pass finite numbers, or -inf for a row without weight",
    )


def _pairwise_products(f: Array) -> Array:
    """Products f_i f_l for i ≤ l, one column for each pair."""
    m, k = f.shape
    out = np.empty((m, k * (k + 1) // 2))
    end = 0
    for i in range(k):
        start, end = end, end + k - i
        np.multiply(f[:, i, None], f[:, i:], out=out[:, start:end])
    return out


def _symmetric(products: Array, k: int) -> Array:
    """Symmetric matrices from their upper triangles, row by row."""
    i, j = np.triu_indices(k)
    H = np.empty((len(products), k, k))
    H[:, i, j] = H[:, j, i] = products
    return H


def _merge(blocks: list[tuple[Array, list[Array]]]) -> tuple[Array, list[Array]]:
    """Sums over blocks, rescaled from their levels to the highest one; the second sum of each is of squared weights."""
    if all(np.array_equal(level, blocks[0][0], equal_nan=True) for level, _ in blocks):
        return blocks[0][0], [np.sum(arrays, axis=0) for arrays in zip(*(sums for _, sums in blocks), strict=True)]
    top = np.max([level for level, _ in blocks], axis=0)
    totals = [np.zeros_like(x) for x in blocks[0][1]]
    for level, sums in blocks:
        shrink = np.exp(level - top)
        for i, (total, x) in enumerate(zip(totals, sums, strict=True)):
            total += x * (shrink**2 if i == 1 else shrink if x.ndim == 1 else shrink[:, None])
    return top, totals


class Together:
    """Answers the requests of problems that share F, all requests of one kind by one pass.

    Parameters
    ----------
    batch : Batch
        The rows, with normalised base weights.
    targets : ndarray of shape (W, k)
        Targets of the problems, relative to the centre of the batch.
    base : BaseSummary
        Summary of the base weights.
    """

    def __init__(self, batch: Batch, targets: Array, base: BaseSummary) -> None:
        self.targets, self.base, self.passes = targets, base, 0
        self.rows, self.weighted = [batch], [batch]

    def run(self, generators: list[Requests[Any]]) -> list[Any]:
        """Run all generators to their ends; one result for each."""
        results: list[Any] = [None] * len(generators)
        pending: dict[int, Any] = {}

        def advance(w: int, answer: Any) -> None:
            try:
                pending[w] = generators[w].send(answer)
            except StopIteration as stop:
                results[w] = stop.value
                pending.pop(w, None)

        for w in range(len(generators)):
            advance(w, None)
        while pending:
            # a level is drawn for all problems together, so draws wait until nobody asks for anything else
            waiting = {w: r for w, r in pending.items() if not isinstance(r, Draw)} or pending
            groups: dict[Any, list[int]] = {}
            for w, request in waiting.items():
                groups.setdefault(_kind(request), []).append(w)
            for members in groups.values():
                for w, answer in zip(members, self._answer(np.array(members), pending), strict=True):
                    advance(w, answer)
        return results

    def _answer(self, ids: Index, pending: dict[int, Any]) -> list[Any]:
        """Answers to requests of one kind."""
        requests = [pending[int(w)] for w in ids]
        match requests[0]:
            case Tilt():
                return self._tilt(ids, requests)
            case Lowest():
                return self._lowest(ids, requests)
            case Sizes():
                return [self.rows[ALL].reach] * ids.size
            case Ranges() if requests[0].level != ALL:
                rows = self.rows[requests[0].level]
                low, high = column_ranges(Rows(rows.features, 0.0, rows.centre))
                return [(low - shift, high - shift) for shift in self.targets[ids]]
            case Ranges() | Whiten() | Outermost():  # problems that need them are solved one by one
                return [None] * ids.size
            case Height():
                v = np.array([request.direction for request in requests])
                tops = self.rows[requests[0].level].largest_logits(v, ids, heights=True)
                return list(tops - np.vecdot(self.targets[ids], v))
            case _:
                return [self._draw(requests)] * ids.size

    def _tilt(self, ids: Index, requests: list[Tilt]) -> list[Summary]:
        first, shift = requests[0], self.targets[ids]
        batch = (self.weighted if first.weighted else self.rows)[first.level]
        self.passes += first.level == ALL
        delta = np.array([request.delta for request in requests])
        offset = np.vecdot(shift, delta)
        guess = np.array([request.guess for request in requests]) + offset
        guess = np.where(np.isfinite(guess), guess, 0.0)
        found = batch.moments(delta, ids, guess, covariance=first.covariance, rough=first.rough)
        log_z, mean = found.log_z - offset, found.mean - shift
        H = found.covariance
        return [
            Summary(float(log_z[i]), mean[i], None if H is None else H[i], float(found.ess[i])) for i in range(ids.size)
        ]

    def _lowest(self, ids: Index, requests: list[Lowest]) -> list[float]:
        shift = self.targets[ids]
        delta, d = np.array([r.delta for r in requests]), np.array([r.d for r in requests])
        log_z = np.array([r.log_z for r in requests]) + np.vecdot(shift, delta)
        low = self.rows[requests[0].level].lowest(delta, ids, log_z, d)
        return list((low - np.vecdot(shift, d)).tolist())

    def _draw(self, requests: list[Draw]) -> Level:
        size = max(request.size for request in requests)
        if requests[0].at_random:
            rows, weighted = self.rows[ALL].subset(size, self.base)
        else:
            source = self.rows[requests[0].source]
            rows = weighted = source.every(max(1, source.shape[0] // size))
        self.rows.append(rows)
        self.weighted.append(weighted)
        return Level(len(self.rows) - 1, rows.shape[0])


def _kind(request: Any) -> Any:
    """Requests of the same kind are answered together."""
    match request:
        case Tilt():
            return Tilt, request.level, request.weighted, request.covariance, request.rough
        case Lowest() | Height() | Ranges():
            return type(request), request.level
        case Sizes() | Whiten() | Outermost():
            return type(request)
        case _:
            return Draw, request.source, request.at_random
