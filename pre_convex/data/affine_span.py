"""Affine span of the q rows: coordinates inside it, and directions in which no row differs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.typing import Array
from .passes import support
from .rows import Rows

__all__ = ["AffineSpan", "affine_span", "affine_span_of"]

#: rows of a sample that the search for a span starts from
FIRST_ROWS = 5000
#: singular values below this share of the largest are computed again
NEARLY_NULL = 1e-8


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
        Directions v for which ⟨v, F_j⟩ is the same for every row, orthonormal once each column is scaled by its spread.
        In this form they are accurate component by component, whatever the scales.
    condition : float
        Largest over smallest spread, with columns scaled alike and without null directions.
    origin_size : ndarray of shape (k,)
        Absolute values of the origin that was subtracted from the features; their round-off scales with it.
    """

    centre: Array
    basis: Array
    null: Array
    condition: float
    origin_size: Array

    def normal_components(self, b: Array) -> Array:
        """Components of b − centre along the null directions; zero where they are round-off."""
        along = (b - self.centre) @ self.null
        size = (np.abs(b) + np.abs(self.centre) + self.origin_size) @ np.abs(self.null)
        return np.where(np.abs(along) > 1e-13 * size, along, 0.0)

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


def affine_span(features: Array, origin: Array | None = None) -> AffineSpan:
    """Affine span of an array of rows, in coordinates that are well conditioned for any scaling and collinearity.

    Examples
    --------
    >>> affine_span(np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 5.0], [3.0, 6.0, 5.0]])).null.shape
    (3, 2)
    """
    n, k = features.shape
    centre = features.mean(axis=0)
    centre = centre + (features - centre).mean(axis=0)  # the round-off of a mean of many rows grows with their number
    centred = features - centre
    spread = np.abs(centred).max(axis=0)
    origin_size = np.zeros(k) if origin is None else np.abs(origin)
    reach = np.abs(features).max(axis=0) + origin_size
    constant = spread <= 1e-13 * reach  # the column varies by no more than its round-off
    moving = np.flatnonzero(~constant)  # each constant column is a null direction of its own
    centred = centred[:, moving] / spread[moving]
    singular, rotation = _singular(centred)
    small = singular < NEARLY_NULL * singular.max(initial=0.0)
    if small.any():  # their round-off is that of the largest one; in a space of their own it is that of the entries
        singular[small], again = _singular(centred @ rotation[small].T)
        rotation[small] = again @ rotation[small]
    # a direction is null if the rows differ along it by no more than the round-off of their entries
    size = (reach[moving] / spread[moving]).max(initial=0.0)
    spanned = singular > (1e-14 + 2e-15 * float(size)) * singular.max(initial=1e-300)
    # remove round-off from null directions: it would be large in the units of a column that is not involved
    rotation[~spanned] = np.where(np.abs(rotation[~spanned]) > 1e-14, rotation[~spanned], 0.0)
    directions = np.zeros((k, moving.size))
    directions[moving] = rotation.T / spread[moving, None]
    basis = directions[:, spanned] / singular[spanned] * np.sqrt(n)
    null = np.concatenate([directions[:, ~spanned], np.eye(k)[:, constant]], axis=1)
    condition = float(singular[spanned][0] / singular[spanned][-1]) if spanned.any() else 1.0
    return AffineSpan(centre, basis, null, condition, origin_size)


def _singular(X: Array) -> tuple[Array, Array]:
    """All singular values, zeros included, and right singular vectors, one in each row."""
    n, k = X.shape
    if n > k:  # the triangular factor has the same singular values and is small
        X = np.asarray(np.linalg.qr(X, mode="r"))
    _, singular, rotation = np.linalg.svd(X, full_matrices=True)
    return np.concatenate([singular, np.zeros(k - len(singular))]), rotation


def affine_span_of(rows: Rows, subset: Rows | None = None) -> AffineSpan:
    """Affine span of the rows with positive base weight.

    It starts from ``subset``, by default a sample if there are many rows, and adds the rows furthest off its null
    directions, until all rows lie in the span.
    """
    if subset is None:
        subset = rows.sample(FIRST_ROWS) if rows.shape[0] > 2 * FIRST_ROWS else rows.take(slice(None))
    features = subset.features[subset.log_base > -np.inf]
    if len(features) == 0:  # few rows have any weight
        features = rows.take(support(rows, np.eye(rows.shape[1]), 1)[1]).features
    for _ in range(rows.shape[1] + 1):
        span = affine_span(features, rows.origin)
        if span.null.shape[1] == 0 or len(features) == rows.shape[0]:
            break
        both_signs = np.concatenate([span.null, -span.null], axis=1)
        maxima, index = support(rows, both_signs, 1)
        size = (np.abs(features).max(axis=0) + span.origin_size) @ np.abs(both_signs)
        if np.all(maxima - span.centre @ both_signs <= 1e-13 * size):
            break
        features = np.concatenate([features, rows.take(index).features])
    return span
