"""Affine coordinates of the q rows: what the features span, and directions along which no row differs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .entropy import Array
from .passes import Rows, support

__all__ = ["ColumnSpace", "column_space", "coordinates"]


@dataclass(frozen=True, eq=False)
class ColumnSpace:
    """Affine coordinates of the rows of F: F_j = centre + z_j T⁺, and directions that no row notices.

    Attributes
    ----------
    centre : ndarray of shape (k,)
    basis : ndarray of shape (k, r)
        T: the columns of (F − centre) T are uncorrelated and of equal spread.
    null : ndarray of shape (k, f)
        Directions v in which ⟨v, F_j⟩ is the same for every row, orthonormal once each column is scaled by its spread:
        in this form they are accurate component by component, whatever the scales.
    condition : float
        Largest over smallest spread, columns scaled alike and null directions left out.
    offset : ndarray of shape (k,)
        Size of what was subtracted from the features before, whose round-off they carry.
    """

    centre: Array
    basis: Array
    null: Array
    condition: float
    offset: Array

    def off_plane(self, b: Array) -> Array:
        """Coordinates of b along the null directions, relative to the rows; zero where they are round-off."""
        along = (b - self.centre) @ self.null
        size = (np.abs(b) + np.abs(self.centre) + self.offset) @ np.abs(self.null)
        return np.where(np.abs(along) > 1e-13 * size, along, 0.0)

    def free(self, b: Array) -> Array:
        """Orthonormal directions in which δ changes neither the loss nor the ratio on any row, shape (k, f)."""
        off = self.off_plane(b)
        null = self.null if not np.any(off) else self.null @ np.linalg.svd(off[None, :])[2][1:].T
        Q, R = np.linalg.qr(null)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # the same Q, but as accurate component by component as the null directions are: what is small in Q meets
            # features that are large
            exact = np.linalg.solve(R.T, null.T).T if np.all(R.diagonal()) else Q
        return exact if np.all(np.abs(exact.T @ exact - np.eye(len(R))) < 1e-8) else np.asarray(Q)


def column_space(features: Array, origin: Array | None = None) -> ColumnSpace:
    """Coordinates in which any F, however scaled and collinear, is well conditioned.

    Examples
    --------
    >>> column_space(np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 5.0], [3.0, 6.0, 5.0]])).null.shape
    (3, 2)
    """
    n, k = features.shape
    centre = features.mean(axis=0)
    centred = features - centre
    spread = np.abs(centred).max(axis=0)
    offset = np.zeros(k) if origin is None else np.abs(origin)
    reach = np.abs(features).max(axis=0) + offset
    constant = spread <= 1e-13 * reach  # round-off of the column's size
    moving = np.flatnonzero(~constant)  # a constant column is a null direction by itself, with no share of any other
    centred = centred[:, moving] / spread[moving]
    if n > moving.size:  # the triangular factor has the same singular values and is small
        centred = np.linalg.qr(centred, mode="r")
    _, singular, rotation = np.linalg.svd(centred, full_matrices=True)
    singular = np.concatenate([singular, np.zeros(moving.size - len(singular))])
    # a direction is null when the rows differ along it by no more than round-off of their entries
    size = (reach[moving] / spread[moving]).max(initial=0.0)
    alive = singular > (1e-14 + 2e-15 * float(size)) * singular.max(initial=1e-300)
    # round-off in a null direction would be large in the units of a column that has no share in it
    rotation[~alive] = np.where(np.abs(rotation[~alive]) > 1e-14, rotation[~alive], 0.0)
    turned = np.zeros((k, moving.size))
    turned[moving] = rotation.T / spread[moving, None]
    basis = turned[:, alive] / singular[alive] * np.sqrt(n)
    null = np.concatenate([turned[:, ~alive], np.eye(k)[:, constant]], axis=1)
    condition = float(singular[alive][0] / singular[alive][-1]) if alive.any() else 1.0
    return ColumnSpace(centre, basis, null, condition, offset)


def coordinates(rows: Rows, subset: Rows | None = None) -> ColumnSpace:
    """Coordinates of the rows that carry weight.

    From the subset, and from the rows that are furthest off its null directions, until all rows agree with these.
    """
    if subset is None:
        subset = rows.take(slice(None))
    features = subset.features[subset.log_base > -np.inf]
    for _ in range(rows.shape[1] + 1):
        space = column_space(features, rows.origin)
        if space.null.shape[1] == 0 or len(features) == rows.shape[0]:
            break
        both = np.concatenate([space.null, -space.null], axis=1)
        tops, index = support(rows, both, 1)
        size = (np.abs(features).max(axis=0) + space.offset) @ np.abs(both)
        if np.all(tops - space.centre @ both <= 1e-13 * size):
            break
        features = np.concatenate([features, rows.take(index).features])
    return space
