"""Passes over the q rows for many problems at once.

W problems share F and differ in target and base weights. A block of rows then meets all problems in two
matrix products and one exponential,

    P = exp(A + Δ F'),     [Σ_j P_wj F_j, Σ_j P_wj] = P [F, 1],

with P of shape (problems, rows) and never larger than a core's cache. The covariances of all problems are one more
product, of P with the pairwise products of centred features. As in :mod:`pre_convex.passes` the rows are visited in
parts that do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from ..arrays import as_numbers, called, frozen
from ..entropy import Array, Index, effective_sample_size, exp, exp_in_place, log, log_normalise, log_sum_exp
from ..errors import DataError
from ..threads import in_threads

__all__ = ["Batch", "Moments", "Survey", "outer"]

#: numbers in one block of P, problems in it at most, and rows in it
BLOCK_NUMBERS, GROUP, FEWEST_ROWS, MOST_ROWS = 100_000, 256, 256, 4096
#: parts of the rows at most, numbers of P in each, and numbers in the sums of all parts
PARTS, PART_NUMBERS, SUMS = 8, 500_000, 4_000_000
#: sums of weights within these bounds were formed without overflow, and without loss by underflow
SMALL, LARGE = 1e-200, 1e100
#: logarithms of base weights further than this from normalised are shifted before anything is added to them
FAR = 100.0

#: base weights of the problems: an array (W, n), or a function of a slice that returns an array (rows, W)
Own: TypeAlias = "Array | Callable[[slice], Any] | None"


@dataclass(frozen=True, eq=False)
class Moments:
    """One pass for V problems: log Z (V,), mean (V, k), covariance (V, k, k) if asked for, effective sample size."""

    log_z: Array
    mean: Array
    covariance: Array | None
    ess: Array

    def replace(self, index: Index, others: Moments) -> None:
        """Put the moments of some problems in place of the old ones."""
        self.log_z[index], self.mean[index], self.ess[index] = others.log_z, others.mean, others.ess
        if self.covariance is not None and others.covariance is not None:
            self.covariance[index] = others.covariance


@dataclass(frozen=True, eq=False)
class Survey:
    """The base weights alone: log Z at δ = 0 (W,), effective sample size (W,), average share of each row (n,)."""

    level: Array
    ess: Array
    share: Array


def width(k: int) -> int:
    """Columns of a block of features: k, one of ones, and zeros up to what the kernels of BLAS like."""
    return 4 * (k // 4 + 1)


def _beside(x: Array, y: Array) -> Array:
    """Coefficients x of the features and y of the ones, shape (V, width)."""
    out = np.zeros((len(x), width(x.shape[1])))
    out[:, : x.shape[1]] = x
    out[:, x.shape[1]] = y
    return out


def _groups(problems: int) -> Iterator[slice]:
    """Slices of problems."""
    for first in range(0, problems, GROUP):
        yield slice(first, min(first + GROUP, problems))


def outer(x: Array) -> Array:
    """x x' of every row of x."""
    return np.asarray(x[:, :, None] * x[:, None, :])


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of F with the base weights of W problems.

    Attributes
    ----------
    features : ndarray of shape (n, k)
    centre : ndarray of shape (k,)
        Subtracted from the features block by block.
    count : int
        W, the number of problems.
    common : ndarray of shape (n,) or None
        Part of the logarithms of the base weights that all problems share.
    own : ndarray of shape (W, n), function of a slice, or None
        The part that differs.
    level : ndarray of shape (W,)
        Logarithms of the sums of base weights, subtracted from the logits.
    """

    features: Array
    centre: Array
    count: int
    common: Array | None
    own: Own
    level: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        n, k = self.features.shape
        return n, k

    def own_block(self, rows: slice) -> Array | None:
        """The bases of all problems for some rows, shape (W, rows); ``None`` where they share them."""
        if not callable(self.own):
            return None if self.own is None else self.own[:, rows]
        values = as_numbers(called(self.own, "log_bases", rows), "log_bases")
        if values.shape != (rows.stop - rows.start, self.count):
            raise DataError(
                f"log_bases: returned shape {values.shape} for {rows.stop - rows.start} rows and {self.count} problems"
            )
        return values.T

    def take(self, index: Index) -> Batch:
        """Some of the rows, in memory; ``index`` rises."""
        own = self.own
        if callable(own):
            own = np.empty((self.count, index.size))
            for rows in self._blocks(slice(0, self.shape[0]), self.count):
                first, last = np.searchsorted(index, [rows.start, rows.stop])
                if last > first:
                    block = self.own_block(rows)
                    assert block is not None  # it comes from a function
                    own[:, first:last] = block[:, index[first:last] - rows.start]
        elif own is not None:
            own = own[:, index]
        common = None if self.common is None else self.common[index]
        features = np.ascontiguousarray(self.features[index], dtype=float)
        return replace(self, features=features, common=common, own=own)

    def thinned(self, step: int) -> Batch:
        """Every so many rows."""
        return self.take(np.arange(0, self.shape[0], step))

    def weighted(self, log_share: Array) -> Batch:
        """The same rows with ``log_share`` added to the logarithms of their base weights."""
        return replace(self, common=log_share if self.common is None else self.common + log_share)

    def log_base(self, w: int) -> Array | None:
        """Logarithms of the base weights of one problem, as they were given; ``None`` where they are flat."""
        if not callable(self.own):
            return self.common if self.own is None else self.own[w]
        blocks = [self.own_block(rows) for rows in self._blocks(slice(0, self.shape[0]), self.count)]
        return np.concatenate([block[w] for block in blocks if block is not None])

    def _blocks(self, part: slice, problems: int) -> Iterator[slice]:
        """Slices of rows, as long as the block of P stays in a core's cache."""
        length = min(max(BLOCK_NUMBERS // min(problems, GROUP), FEWEST_ROWS), MOST_ROWS)
        for start in range(part.start, part.stop, length):
            yield slice(start, min(start + length, part.stop))

    def _run(self, visit: Callable[[slice], Any], problems: int, sums: int = 1) -> list[Any]:
        """``visit`` of stretches of rows, at least two so that products run in one thread whatever BLAS is allowed."""
        n = self.shape[0]
        count = min(max(2, min(PARTS, n * problems // PART_NUMBERS, SUMS // (problems * sums))), n)
        edges = np.linspace(0, n, count + 1).astype(int).tolist()

        def quietly(part: slice) -> Any:
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is done again
                return visit(part)

        return in_threads(quietly, [slice(*ends) for ends in pairwise(edges)])

    def survey(self, guess: Array | None = None) -> Survey:
        """Log Z and effective sample size of the base weights, and the average share of every row in them.

        Shares are relative to ``guess``, logarithms of sums that need not be right.
        """
        n, W = self.shape[0], self.count
        if self.own is None:
            a = np.zeros(n) if self.common is None else self.common
            return Survey(np.full(W, log_sum_exp(a)), np.full(W, effective_sample_size(a)), exp(log_normalise(a)))
        share = np.empty(n)

        def visit(part: slice) -> tuple[Array, Array, Array]:
            level = np.full(W, -1e300) if guess is None else guess.copy()
            total, squares, store = np.zeros(W), np.zeros(W), np.empty(0)
            for rows in self._blocks(part, W):
                block = self.own_block(rows)
                assert block is not None  # the problems differ
                if not store.size:  # the first block is the longest
                    store = np.empty(block[:GROUP].size)
                share[rows] = 0.0
                for group in _groups(W):
                    a = block[group]
                    top = a.max(axis=1)
                    if not np.all(top < np.inf):  # nan fails too
                        _complain(a, rows.start, group.start)
                    up = np.maximum(top, level[group])
                    shrink = exp(level[group] - up)
                    level[group] = up
                    total[group] *= shrink
                    squares[group] *= shrink**2
                    z = np.subtract(a, up[:, None], out=store[: a.size].reshape(a.shape))
                    exp_in_place(z)
                    total[group] += z @ np.ones(z.shape[1])
                    squares[group] += np.einsum("wj,wj->w", z, z)
                    share[rows] += np.ones(len(z)) @ z
            return level, total, squares

        level, sums = _merge([(level, [total, squares]) for level, total, squares in self._run(visit, W)])
        total, squares = sums
        empty = np.flatnonzero(total <= 0.0)
        if empty.size:
            raise DataError(f"log_bases: every row of problem {empty[0]} is -inf, so no row can occur")
        return Survey(level + log(total), total**2 / squares, share / W)

    def normalised(self, level: Array) -> Batch:
        """The same base weights, of sum one for every problem; ``level`` has the logarithms of their sums."""
        own, zero = self.own, np.zeros(self.count)
        if own is None and self.common is not None:
            return replace(self, common=log_normalise(self.common), level=zero)
        if own is None or np.abs(level).max() <= FAR:
            return replace(self, level=level)
        shifted = (lambda rows: own(rows) - level) if callable(own) else lambda rows: (own[:, rows] - level[:, None]).T
        near = replace(self, own=shifted, level=zero)
        return replace(near, level=near.survey().level)  # a large level has few digits left for the sum of the weights

    def moments(self, delta: Array, who: Index, guess: Array, *, covariance: bool = False) -> Moments:
        """One pass at δ for the problems ``who``: log Z, mean and covariance of F − centre under the tilted weights.

        Parameters
        ----------
        delta : ndarray of shape (V, k)
        who : ndarray of int of shape (V,)
            Numbers of the problems.
        guess : ndarray of shape (V,)
            What log Z may be; only speed depends on it.
        covariance : bool
            Whether to form the covariances.
        """
        k, V = self.shape[1], who.size
        # products of columns are formed once for all problems, unless these are too few for so wide a matrix
        each = 15 + k // 4 >= V
        pairs = 0 if not covariance else k * k if each else k * (k + 1) // 2

        def visit(part: slice) -> tuple[Array, list[Array]]:
            level, coefficients = guess.copy(), _beside(delta, -guess - self.level[who])
            sums, squares, products = np.zeros((V, width(k))), np.zeros(V), np.zeros((V, pairs))
            for rows, f, own, store in self._visit(part, V):
                fold = None if not covariance else f[:, :k].T.copy() if each else _pairs(f[:, :k])
                for group in _groups(V):
                    z = self._logits(rows, f, own, coefficients[group], who[group], store)
                    with np.errstate(over="ignore"):
                        exp_in_place(z)
                    total = z @ f
                    if not np.all(total[:, k] < LARGE):  # the guess was far too low: raise the level
                        z = self._logits(rows, f, own, coefficients[group], who[group], store)
                        up = np.maximum(z.max(axis=1), 0.0)
                        level[group] += up
                        coefficients[group, k] -= up
                        shrink = exp(-up)
                        sums[group] *= shrink[:, None]
                        squares[group] *= shrink**2
                        products[group] *= shrink[:, None]
                        z -= up[:, None]
                        exp_in_place(z)
                        total = z @ f
                    sums[group] += total
                    squares[group] += np.einsum("wj,wj->w", z, z)
                    if fold is not None and each:
                        for w, weights in enumerate(z, group.start):
                            products[w] += ((fold * weights) @ f[:, :k]).ravel()
                    elif fold is not None:
                        products[group] += z @ fold
            return level, [sums, squares, products]

        level, (sums, squares, products) = _merge(self._run(visit, V, pairs + k))
        total = sums[:, k]
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = sums[:, :k] / total[:, None]
            products /= total[:, None]
            H = (products.reshape(V, k, k) if each else _square(products, k)) - outer(mean) if covariance else None
            found = Moments(level + log(total), mean, H, total**2 / squares)
        lost = np.flatnonzero(~(total > SMALL))
        if lost.size:  # the guess was far too high, or there is nan in δ
            tops = self.tops(delta[lost], who[lost])
            lost, tops = lost[np.isfinite(tops)], tops[np.isfinite(tops)]
            if lost.size:
                found.replace(lost, self.moments(delta[lost], who[lost], tops, covariance=covariance))
        return found

    def lift(self, delta: Array, who: Index, log_z: Array, mean: Array, d: Array) -> tuple[Array, Array, Array, Array]:
        """What the correction c_j = ⟨F_j − mean, d⟩ of [LIFT] does, problem by problem.

        Returns
        -------
        moved, drift, squares, largest : ndarrays of shapes (V, k), (V,), (V,), (V,)
            Σ μ_j c_j (F_j − mean), Σ μ_j c_j, Σ μ_j c_j², and max |c_j|.
        """
        k, V = self.shape[1], who.size
        tilts = _beside(delta, -log_z - self.level[who])
        corrections = _beside(d, -np.einsum("wi,wi->w", mean, d))

        def visit(part: slice) -> tuple[Array, Array, Array]:
            sums, squares, largest = np.zeros((V, width(k))), np.zeros(V), np.zeros(V)
            for rows, f, own, store in self._visit(part, V):
                for group in _groups(V):
                    mu = self._logits(rows, f, own, tilts[group], who[group], store)
                    exp_in_place(mu)
                    c = corrections[group] @ f.T
                    largest[group] = np.maximum(largest[group], np.maximum(c.max(axis=1), -c.min(axis=1)))
                    mu *= c
                    sums[group] += mu @ f
                    squares[group] += np.einsum("wj,wj->w", mu, c)
            return sums, squares, largest

        found = self._run(visit, V, k)
        sums = np.sum([part[0] for part in found], axis=0)
        squares = np.sum([part[1] for part in found], axis=0)
        drift = sums[:, k]
        moved = sums[:, :k] - mean * drift[:, None]
        return moved, drift, squares, np.max([part[2] for part in found], axis=0)

    def tops(self, delta: Array, who: Index, *, heights: bool = False) -> Array:
        """Largest logit of each problem; with ``heights`` the largest ⟨δ, F_j − centre⟩ of a row that has weight."""
        coefficients = _beside(delta, -self.level[who])
        slopes = _beside(delta, np.zeros(who.size))

        def visit(part: slice) -> Array:
            top = np.full(who.size, -np.inf)
            for rows, f, own, store in self._visit(part, who.size):
                for group in _groups(who.size):
                    z = self._logits(rows, f, own, coefficients[group], who[group], store)
                    if heights:
                        z = np.where(z == -np.inf, z, slopes[group] @ f.T)
                    top[group] = np.maximum(top[group], z.max(axis=1))
            return top

        return np.asarray(np.max(self._run(visit, who.size), axis=0))

    def _visit(self, part: slice, problems: int) -> Iterator[tuple[slice, Array, Array | None, Array]]:
        """Block by block: rows, centred features with a column of ones, bases of all problems, room for logits."""
        k, store = self.shape[1], np.empty(0)
        for rows in self._blocks(part, problems):
            m = rows.stop - rows.start
            f = np.zeros((m, width(k)))
            np.subtract(self.features[rows], self.centre, out=f[:, :k])
            f[:, k] = 1.0
            if not store.size:  # the first block is the longest
                store = np.empty(min(problems, GROUP) * m)
            yield rows, f, self.own_block(rows), store

    def _logits(self, rows: slice, f: Array, own: Array | None, coefficients: Array, who: Index, store: Array) -> Array:
        """Base weights' logarithms plus coefficients times features, shape (problems, rows)."""
        g, m = len(coefficients), len(f)
        z = np.matmul(coefficients, f.T, out=store[: g * m].reshape(g, m))
        if own is not None:
            z += own[who[0] : who[-1] + 1] if who[-1] - who[0] == g - 1 else own[who]
        if self.common is not None:
            z += self.common[rows]
        return z


def make_batch(features: Array, count: int, common: Array | None, own: Own) -> Batch:
    """The rows, with features centred at the mean of a sample of them."""
    centre = features[:: max(1, len(features) // 1000)].mean(axis=0)
    return Batch(features, frozen(centre), count, common, own, np.zeros(count))


def _complain(block: Array, row: int, problem: int) -> None:
    """Say which logarithm of a base weight is not below +inf."""
    w, j = np.argwhere(~(block < np.inf))[0]
    raise DataError(
        f"log_bases: row {row + j} of problem {problem + w} is {block[w, j]}; "
        "a log-likelihood is a finite number, or -inf for a row that cannot occur"
    )


def _pairs(f: Array) -> Array:
    """Products f_i f_l for i ≤ l, column by column."""
    m, k = f.shape
    out = np.empty((m, k * (k + 1) // 2))
    end = 0
    for i in range(k):
        start, end = end, end + k - i
        np.multiply(f[:, i, None], f[:, i:], out=out[:, start:end])
    return out


def _square(products: Array, k: int) -> Array:
    """Symmetric matrices from their upper triangles, row by row."""
    i, j = np.triu_indices(k)
    H = np.empty((len(products), k, k))
    H[:, i, j] = H[:, j, i] = products
    return H


def _merge(parts: list[tuple[Array, list[Array]]]) -> tuple[Array, list[Array]]:
    """Sums of weights relative to different levels, brought to the highest; second in a list are sums of squares."""
    if all(np.array_equal(level, parts[0][0], equal_nan=True) for level, _ in parts):
        return parts[0][0], [np.sum(arrays, axis=0) for arrays in zip(*(sums for _, sums in parts), strict=True)]
    top = np.max([level for level, _ in parts], axis=0)
    totals = [np.zeros_like(x) for x in parts[0][1]]
    for level, sums in parts:
        shrink = exp(level - top)
        for i, (total, x) in enumerate(zip(totals, sums, strict=True)):
            total += x * (shrink**2 if i == 1 else shrink if x.ndim == 1 else shrink[:, None])
    return top, totals
