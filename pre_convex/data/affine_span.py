"""Affine span of the q rows: coordinates inside it, and directions in which no row differs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from .._internal.linear_algebra import EPS
from .._internal.typing import Array, Index
from .passes import support
from .rows import Rows

__all__ = ["LAST_PLACES", "TARGET_NOISE", "AffineSpan", "affine_span", "affine_span_of"]

#: rows of a sample that the search for a span starts from
FIRST_ROWS = 5000
#: units in the last place of its terms up to which a linear combination of columns counts as constant:
#: features that are computed, such as those of a kernel, are off by a few of them
LAST_PLACES = 16.0
#: a target may miss the rows by this share of its size without being off them: means of collinear columns do
TARGET_NOISE = 1e-13
#: a coordinate is computed again if what earlier ones leave of it is less than this share
SMALL_PIVOT = 1e-6
#: rounds of computing coordinates again
ROUNDS = 5


@dataclass(frozen=True, eq=False)
class AffineSpan:
    """Affine coordinates z_j of the rows, F_j = centre + z_j T⁺, and the null directions.

    Attributes
    ----------
    centre : ndarray of shape (k,)
        Mean of the rows.
    basis : ndarray of shape (k, r)
        T: the columns of (F − centre) T are uncorrelated and of equal spread.
    null : ndarray of shape (k, f)
        Directions v for which ⟨v, F_j⟩ is the same for every row, to the last digits of the columns. Each belongs to
        one column, the other columns of which it is a combination are in the basis.
    known, target_known : ndarray of shape (k,)
        How closely the entries of each column are known, and a target of it.
    """

    centre: Array
    basis: Array
    null: Array
    known: Array
    target_known: Array

    def normal_components(self, b: Array) -> Array:
        """Components of b − centre along the null directions; zero where b is no further off than it is known."""
        along = (b - self.centre) @ self.null
        return np.where(np.abs(along) > self.target_known @ np.abs(self.null), along, 0.0)

    def free_directions(self, b: Array) -> Array:
        """Orthonormal directions in which δ changes neither the loss nor the ratio on any row, shape (k, f)."""
        off = self.normal_components(b)
        null = self.null if not np.any(off) else self.null @ np.linalg.svd(off[None, :])[2][1:].T
        Q, R = np.linalg.qr(null)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # the same Q, but as accurate component by component as the null directions are: small entries of Q are
            # multiplied by large features
            exact = np.linalg.solve(R.T, null.T).T if np.all(R.diagonal()) else Q
        return exact if np.all(np.abs(exact.T @ exact - np.eye(len(R))) < 1e-8) else np.asarray(Q)


def affine_span(features: Array, origin: Array | None = None, accuracy: float = EPS) -> AffineSpan:
    """Affine span of an array of rows, in coordinates that are well conditioned for any scaling and collinearity.

    Parameters
    ----------
    features : ndarray of shape (n, k)
        Rows relative to the origin.
    origin : ndarray of shape (k,), optional
        What was subtracted from them.
    accuracy : float, default EPS
        Relative accuracy of the rows and of the origin, one unit in their last place.

    Examples
    --------
    >>> affine_span(np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 5.0], [3.0, 6.0, 5.0]])).null.shape
    (3, 2)
    """
    n, k = features.shape
    centre = features.mean(axis=0)
    centre = centre + (features - centre).mean(axis=0)
    centred = features - centre
    size = np.abs(features).max(axis=0) + (0.0 if origin is None else np.abs(origin))
    known = LAST_PLACES * accuracy * size
    rest, basis, null = np.eye(k), [np.zeros((0, k))], [np.zeros((0, k))]
    zero = features.max(axis=0) == features.min(axis=0)
    for _ in range(ROUNDS):
        z = centred @ rest.T
        if len(basis) > 1:  # a combination; a column by itself is as it was given
            found = np.vstack(basis)
            rest = rest - (z.T @ (centred @ found.T) / n) @ found  # again, since the first time leaves round-off
            z = centred @ rest.T
            zero = np.abs(z).max(axis=0) <= np.abs(rest) @ known
        peak = np.abs(z).max(axis=0)
        null.append(_without_round_off(rest[zero], np.abs(centred).max(axis=0), known))
        if zero.all():
            break
        z, rest = z[:, ~zero] / peak[~zero], rest[~zero] / peak[~zero, None]
        R, order = qr(z, mode="r", pivoting=True)
        pivots = np.abs(R.diagonal())
        rank = int(np.count_nonzero(pivots > SMALL_PIVOT * pivots[0]))
        rest, R = rest[order], R[:rank]
        basis.append(np.sqrt(n) * solve_triangular(R[:, :rank], rest[:rank], trans="T"))
        rest = rest[rank:] - solve_triangular(R[:, :rank], R[:, rank:]).T @ rest[:rank]
        if not len(rest):
            break
    return AffineSpan(
        centre, np.vstack(basis).T, np.vstack(null).T, known, np.maximum(2.0 * known, TARGET_NOISE * size)
    )


def _without_round_off(null: Array, spread: Array, known: Array) -> Array:
    """Null directions without the entries that change a combination by less than it is known.

    Such entries are left over from orthogonalisation. They are large numbers for columns of small ones, whose part of δ
    would be lost in the round-off of the others.
    """
    terms = np.abs(null) * known
    left_over = null.shape[1] * np.abs(null) * spread <= terms.sum(axis=1, keepdims=True)
    return np.where(left_over & (terms < terms.max(axis=1, keepdims=True)), 0.0, null)


def affine_span_of(rows: Rows, subset: Rows | None = None, columns: Index | None = None) -> AffineSpan:
    """Affine span of the rows with positive base weight, in some of their columns or in all.

    It starts from ``subset``, by default a sample if there are many rows, and adds the rows furthest off its null
    directions, until all rows lie in the span.
    """
    if subset is None:
        subset = rows.sample(FIRST_ROWS) if rows.shape[0] > 2 * FIRST_ROWS else rows.take(slice(None))
    used = np.arange(rows.shape[1]) if columns is None else columns
    features = subset.features[subset.log_base > -np.inf][:, used]
    if len(features) == 0:  # few rows have any weight
        features = rows.take(support(rows, np.eye(rows.shape[1])[:, used], 1)[1]).features[:, used]
    for _ in range(used.size + 1):
        span = affine_span(features, None if rows.origin is None else rows.origin[used], rows.accuracy)
        if span.null.shape[1] == 0 or len(features) == rows.shape[0]:
            break
        both_signs = np.concatenate([span.null, -span.null], axis=1)
        directions = np.zeros((rows.shape[1], both_signs.shape[1]))
        directions[used] = both_signs
        maxima, index = support(rows, directions, 1)
        if np.all(maxima - span.centre @ both_signs <= 2.0 * span.known @ np.abs(both_signs)):
            break
        features = np.concatenate([features, rows.take(index).features[:, used]])
    return span
