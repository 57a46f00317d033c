"""Passes over the q rows: every question about the data is a reduction over blocks.

A pass tilts the base weights by δ and returns a :class:`Summary`, the log-partition function, mean and
covariance of F under the weights μ(δ) of [LINK]. Summaries of disjoint rows merge, associatively and in any
order, so that the same solver runs on an array, on a memory map, or on blocks in other processes. Each block
is centred at its own mean, which keeps the covariance of a sharply peaked posterior accurate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .entropy import Array, Index, exp, exponentiate, log, log_sum_exp
from .linear import without_noise

__all__ = ["Rows", "Summary", "support", "tilt"]

#: numbers in one block of features: small enough to stay in a core's cache between the products
BLOCK_NUMBERS = 80_000


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
        share = float(exp(np.array(other.log_z - log_z)))
        move = other.mean - self.mean
        covariance = None
        if self.covariance is not None and other.covariance is not None:
            covariance = (1 - share) * self.covariance + share * other.covariance
            covariance += share * (1 - share) * np.outer(move, move)
        return Summary(log_z, self.mean + share * move, covariance)


@dataclass(frozen=True, eq=False)
class Rows:
    """The q side as the passes see it: features, logarithms of base weights, and an origin.

    ``origin`` is subtracted from the features block by block. It is set when a column's mean is so much
    larger than its spread that logits would lose digits.
    """

    features: Array
    log_base: Array
    origin: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        n, k = self.features.shape
        return n, k

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their features, relative to the origin."""
        n, k = self.shape
        size = max(256, BLOCK_NUMBERS // max(k, 1))
        for start in range(0, n, size):
            block = slice(start, min(start + size, n))
            f = self.features[block]
            yield block, (f if self.origin is None else f - self.origin)

    def take(self, index: Index | slice, log_share: Array | float = 0.0) -> Rows:
        """Some of the rows, in memory and relative to the origin; ``log_share`` is added to their weights."""
        features = np.ascontiguousarray(self.features[index], dtype=float)
        if self.origin is not None:
            features = features - self.origin
        return Rows(features, np.asarray(self.log_base[index] + log_share))


def tilt(rows: Rows, delta: Array, *, covariance: bool = True, logits: Array | None = None) -> Summary:
    """One pass at δ: log Z, mean and, when asked for, covariance of F under μ(δ) of [LINK].

    Parameters
    ----------
    rows : Rows
        The q side, n rows and k columns.
    delta : ndarray of shape (k,)
        Ratio parameter.
    covariance : bool
        Whether to accumulate the covariance, the Hessian of ℓ; it costs two to three plain passes.
    logits : ndarray of shape (n,), optional
        Filled with a_j + ⟨δ, F_j⟩, so that the weights need no further pass.
    """
    k = rows.shape[1]
    total, top = 0.0, -np.inf
    mean, scatter = np.zeros(k), np.zeros((k, k)) if covariance else None
    for block, f in rows.blocks():
        z = f @ delta
        z += rows.log_base[block]
        if logits is not None:
            logits[block] = z
        peak, mass = exponentiate(z)
        if mass == 0.0:
            continue
        if peak > top:  # rescale what was summed so far to the new maximum
            shrink = float(exp(np.array(top - peak)))
            total, top = total * shrink, peak
            if scatter is not None:
                scatter *= shrink
            grow = 1.0
        else:
            grow = float(exp(np.array(peak - top)))
            if grow == 0.0:  # nothing that could be seen beside the rows so far
                continue
        centre = z @ f
        centre /= mass
        mass *= grow
        share = mass / (total + mass)
        move = centre - mean
        if scatter is not None:
            g = f - centre
            np.sqrt(z, out=z)
            g *= z[:, None]
            scatter += grow * (g.T @ g)
            scatter += (mass * (1.0 - share)) * np.outer(move, move)
        mean += share * move
        total += mass
    if total == 0.0:
        return Summary(-np.inf, mean, scatter)
    log_z = top + float(log(np.array(total)))
    return Summary(log_z, mean, None if scatter is None else without_noise(scatter / total, mean))


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
        best = np.concatenate([best, np.take_along_axis(height, keep, axis=0)])
        index = np.concatenate([index, keep + block.start])
        order = np.argpartition(-best, min(count, best.shape[0]) - 1, axis=0)[:count]
        best = np.take_along_axis(best, order, axis=0)
        index = np.take_along_axis(index, order, axis=0)
    return best.max(axis=0), np.unique(index[best > -np.inf])
