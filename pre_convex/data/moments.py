"""Sums over both sides at a fitted δ: everything that intervals and diagnostics need, from one pass over each side.

All sums are relative to the origin of the rows, the target b. At a solution with radius 0 it is the mean of F under μ,
so second moments about b lose no digits however sharp the posterior is. Elsewhere the covariance is second moment minus
product of means, and where that would lose digits, a pass of its own computes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._internal.entropy import exponentiate
from .._internal.linear_algebra import solve_psd, zero_noise_variances
from .._internal.typing import Array, Index
from .passes import COVARIANCE_DOMINATES, tilt
from .rows import Rows

__all__ = ["PMoments", "QMoments", "p_moments", "q_moments"]

#: work per entry of twenty features, in plain passes; for more features it grows in proportion
COST = 4.0
#: share of a second moment that a mean may explain: the covariance then keeps twelve digits
MAX_EXPLAINED = 1.0 - 1e-4


@dataclass(frozen=True, eq=False)
class QMoments:
    """Sums over the q rows at δ, with F relative to b.

    Attributes
    ----------
    log_z : float
        Log Σ_j exp(a_j + ⟨δ, F_j⟩).
    mean, covariance : ndarray of shape (k,) and (k, k)
        Moments of F under μ.
    largest, squares : float
        Largest μ_j and Σ μ_j².
    squares_sum, squares_second : ndarray of shape (k,) and (k, k)
        Σ μ_j² F_j and Σ μ_j² F_j F_j'.
    mixed, base_squares : float
        Σ μ_j exp a_j and Σ exp 2a_j.
    mixed_sum : ndarray of shape (k,)
        Σ μ_j exp(a_j) F_j.
    base_mean, base_variance : ndarray of shape (k,)
        Moments of F under the base weights.
    logits : ndarray of shape (n,), or None if the rows are not in memory
        a_j + ⟨δ, F_j⟩.
    """

    log_z: float
    mean: Array
    covariance: Array
    largest: float
    squares: float
    squares_sum: Array
    squares_second: Array
    mixed: float
    mixed_sum: Array
    base_squares: float
    base_mean: Array
    base_variance: Array
    logits: Array | None


@dataclass(frozen=True, eq=False)
class PMoments:
    """Sums over the p rows with normalised weights w and features relative to b.

    Attributes
    ----------
    largest, squares : float
        Largest w_i and Σ w_i².
    squares_second : ndarray of shape (k, k)
        Σ w_i² f_i f_i'.
    """

    largest: float
    squares: float
    squares_second: Array


def q_moments(rows: Rows, delta: Array, columns: Index | None = None) -> QMoments:
    """Sums over the q rows at δ, by one pass; by a second one if μ is far from b compared with its spread.

    Parameters
    ----------
    rows : Rows
        The q side.
    delta : ndarray of shape (k,)
        Ratio parameter δ.
    columns : ndarray of int, optional
        Columns in which a row must equal the origin to have a weight μ_j.
    """
    logits = np.empty(rows.shape[0]) if rows.in_memory else None
    work = partial(_q_sums, delta=delta, columns=columns, logits=logits, first=rows.start)
    sums: _QSums = rows.reduce(work, _QSums.merge, _cost(delta.size))
    mass = float(sums.tilted[0, 0])
    tilted, squared, mixed = sums.tilted / mass, sums.squared / mass**2, sums.mixed / mass
    mean, origin = tilted[0, 1:], np.zeros(delta.size) if rows.origin is None else rows.origin
    second = zero_noise_variances(tilted[1:, 1:], origin)
    covariance: Array | None = zero_noise_variances(second - np.outer(mean, mean), mean + origin)
    on_all_rows = columns is None or columns.size == 0
    if on_all_rows and not mean @ solve_psd(second, mean) < MAX_EXPLAINED:
        covariance = tilt(rows, delta).covariance
    assert covariance is not None  # tilt was asked for it
    base_mean = sums.base[0, 1:] / sums.base[0, 0]
    return QMoments(
        log_z=sums.top + math.log(mass),
        mean=mean,
        covariance=covariance,
        largest=1.0 / mass,
        squares=float(squared[0, 0]),
        squares_sum=squared[0, 1:],
        squares_second=squared[1:, 1:],
        mixed=float(mixed[0]),
        mixed_sum=mixed[1:],
        base_squares=float(sums.base[1, 0]),
        base_mean=base_mean,
        base_variance=sums.base[1, 1:] / sums.base[0, 0] - np.square(base_mean),
        logits=logits,
    )


def p_moments(rows: Rows) -> PMoments:
    """Sums over the p rows, by one pass."""
    return rows.reduce(_p_sums, _merge_p, _cost(rows.shape[1]))


def _cost(k: int) -> float:
    return max(1.0, COST * k / COVARIANCE_DOMINATES)


@dataclass(eq=False)
class _QSums:
    """Sums over a block, with weights μ in units of exp(top), the largest of them.

    ``tilted`` and ``squared`` hold the sums of 1 and F' in their first row and of FF' in the others, ``mixed`` those
    of 1 and F'. ``base`` has Σ e^a (1, F') in its first row, Σ e^2a and Σ e^a F² in the second.
    """

    top: float
    tilted: Array
    squared: Array
    mixed: Array
    base: Array

    def raise_top(self, top: float) -> None:
        """Change to larger units."""
        if top > self.top:
            shrink = math.exp(self.top - top)
            self.tilted *= shrink
            self.mixed *= shrink
            self.squared *= shrink**2
            self.top = top

    def merge(self, other: _QSums) -> _QSums:
        """Add the sums over other rows."""
        self.raise_top(other.top)
        other.raise_top(self.top)
        self.tilted += other.tilted
        self.squared += other.squared
        self.mixed += other.mixed
        self.base += other.base
        return self


def _q_sums(rows: Rows, delta: Array, columns: Index | None, logits: Array | None, first: int) -> _QSums:
    """Sums over a block, whose logits go to their place among those of all rows, which begin with row ``first``."""
    (n, k), uniform = rows.shape, rows.uniform
    square, size = (k + 1, k + 1), rows.long_chunk_rows
    sums = _QSums(-np.inf, np.zeros(square), np.zeros(square), np.zeros(k + 1), np.zeros((2, k + 1)))
    buffer = np.empty((size, k), order="F" if rows.features.flags.fnc else "C")
    kept = None if logits is None else logits[rows.start - first : rows.start - first + n]
    equal = np.full(size if uniform else 0, math.exp(rows.log_base[0]) if uniform and n else 0.0)
    for chunk, f in rows.chunks(size):
        a, g = rows.log_base[chunk], buffer[: len(f)]
        z = f @ delta
        z += a
        if columns is not None and columns.size:
            z[np.any(f[:, columns] != 0.0, axis=1)] = -np.inf
        if kept is not None:
            kept[chunk] = z
        base = equal[: len(f)] if uniform else np.exp(a)
        _add_first(sums.base[0], base, f)
        sums.base[1, 0] += base @ base
        sums.base[1, 1:] += base @ np.multiply(f, f, out=g)
        peak, _ = exponentiate(z)
        if peak == -np.inf:  # no row of the chunk has any weight
            continue
        sums.raise_top(peak)
        z *= math.exp(peak - sums.top)
        root = np.sqrt(z)[:, None]
        if not uniform:
            base *= z
            _add_first(sums.mixed, base, f)
        _add_first(sums.tilted[0], z, f)
        np.multiply(f, root, out=g)
        sums.tilted[1:, 1:] += g.T @ g
        z *= z
        _add_first(sums.squared[0], z, f)
        g *= root
        sums.squared[1:, 1:] += g.T @ g
    if uniform and n:
        sums.mixed = math.exp(rows.log_base[0]) * sums.tilted[0]
    return sums


def _add_first(sums: Array, weights: Array, f: Array) -> None:
    """Add the sums of 1 and of F'."""
    sums[0] += weights.sum()
    sums[1:] += weights @ f


def _p_sums(rows: Rows) -> PMoments:
    k, size = rows.shape[1], rows.long_chunk_rows
    largest, squares, second = 0.0, 0.0, np.zeros((k, k))
    buffer = np.empty((size, k), order="F" if rows.features.flags.fnc else "C")
    for chunk, f in rows.chunks(size):
        w = np.exp(rows.log_base[chunk])
        low, high = float(w.min()), float(w.max())
        largest, squares = max(largest, high), squares + float(w @ w)
        if low == high:  # equal weights need not multiply every row
            second += high**2 * (f.T @ f)
        else:
            g = np.multiply(f, w[:, None], out=buffer[: len(f)])
            second += g.T @ g
    return PMoments(largest, squares, second)


def _merge_p(one: PMoments, other: PMoments) -> PMoments:
    return PMoments(
        max(one.largest, other.largest), one.squares + other.squares, one.squares_second + other.squares_second
    )
