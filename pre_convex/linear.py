"""Linear systems with a covariance matrix, of any scaling and possibly singular."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from .entropy import Array

__all__ = [
    "inverse_psd",
    "least_squares",
    "null_directions",
    "shrinkage",
    "shrunk",
    "solve_psd",
    "square_root",
    "variances",
    "well_conditioned",
    "without_noise",
]

#: below this share of the largest eigenvalue (columns scaled to unit variance) a direction counts as null
RANK_TOLERANCE = 1e-14
#: share of the right-hand side that a solution may leave before its factor counts as that of a singular matrix
UNSOLVED = 1e-6
#: correlations of which a larger share than this is no noise are left as they are
MOSTLY_NOISE = 0.5


def _unit_diagonal(H: Array) -> tuple[Array, Array]:
    """(C, s) with H = diag(s) C diag(s) and ones on the diagonal of C, so that scaling costs no digits."""
    s = np.sqrt(np.maximum(H.diagonal(), 0.0))
    s[s == 0.0] = 1.0
    return H / s / s[:, None], s


def without_noise(H: Array, mean: Array) -> Array:
    """H with zeros where a variance is only round-off of the column's mean, as in a constant column."""
    noise = H.diagonal() <= (1e-14 * mean) ** 2
    if noise.any():
        H = H.copy()
        H[noise, :] = H[:, noise] = 0.0
    return H


def solve_psd(H: Array, rhs: Array) -> Array:
    """H⁺ rhs for a positive semidefinite H; null directions of H are left at zero.

    Examples
    --------
    >>> solve_psd(np.diag([4e-12, 0.0, 1e12]), np.array([4e-12, 0.0, 2e12]))
    array([1., 0., 2.])
    """
    return inverse_psd(H)(rhs)


def inverse_psd(H: Array) -> Callable[[Array], Array]:
    """The map of rhs to H⁺ rhs, for several right-hand sides that come one after the other."""
    C, s = _unit_diagonal(H)
    factor, info = dpotrf(C, lower=1)  # LAPACK itself: the checks around it cost more than the work at small k
    regular = info == 0 and factor.diagonal().min() ** 2 > 100 * RANK_TOLERANCE * len(C)
    parts: list[Array] = []

    def apply(rhs: Array) -> Array:
        scaled = (rhs.T / s).T
        if regular:
            x = dpotrs(factor, scaled, lower=1)[0]
            # pivots need not show that a direction is null; a solution that does not solve does
            if not np.abs(C @ x - scaled).max(initial=0.0) > UNSOLVED * np.abs(scaled).max(initial=0.0):
                return np.asarray((x.T / s).T)
        if not parts:
            values, vectors = eigh(C)
            keep = values > RANK_TOLERANCE * len(C) * max(values[-1], 1.0)
            parts.extend([vectors[:, keep], values[keep]])
        basis, values = parts
        with np.errstate(over="ignore", invalid="ignore"):  # columns of next to no variance
            return np.asarray(((basis @ ((basis.T @ scaled).T / values).T).T / s).T)

    return apply


def null_directions(H: Array) -> Array:
    """Orthonormal basis Q of the directions that no column of H has a part in: Q'H = 0.

    Examples
    --------
    >>> abs(null_directions(np.diag([1e-12, 0.0, 1e12])).ravel())
    array([0., 1., 0.])
    """
    if well_conditioned(H):  # a hundredth of the cost of its eigenvectors
        return np.zeros((len(H), 0))
    C, s = _unit_diagonal(H)
    values, vectors = eigh(C)
    null = vectors[:, values <= RANK_TOLERANCE * len(C) * max(float(values[-1]), 1.0)]
    return np.asarray(np.linalg.qr(null / s[:, None])[0])


def least_squares(B: Array, U: Array, unit: Array | None = None) -> Array:
    """(B'B)⁺ U from B itself, which keeps twice the digits that forming B'B would.

    Columns are measured in their own size, or in the units that are given: what no combination of the rows of B reaches
    is left over where the units are large.
    """
    if unit is None:
        unit = np.sqrt(np.square(B).sum(axis=0))
    unit = np.where(unit > 0.0, unit, 1.0)
    factor = B / unit
    if len(factor) > factor.shape[1]:
        factor = np.asarray(np.linalg.qr(factor, mode="r"))
    _, singular, rotation = np.linalg.svd(factor, full_matrices=False)
    keep = singular > 100 * RANK_TOLERANCE * max(float(singular[0]), 1e-300)
    V = rotation[keep].T
    return np.asarray((V @ ((V.T @ (U.T / unit).T).T / singular[keep] ** 2).T).T / unit).T


def shrunk(H: Array, size: float) -> Array:
    """A covariance from ``size`` rows, its correlations shrunk where they are mostly noise, after Ledoit and Wolf.

    Where they are not, all stays as it is: next to the small eigenvalues of correlated columns a little of the diagonal
    is a lot.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(1000, 30))
    >>> noise = np.abs(np.cov(x.T) - np.eye(30)).max()
    >>> bool(np.abs(shrunk(np.cov(x.T), 1000.0) - np.diag(np.cov(x.T).diagonal())).max() < 0.2 * noise)
    True
    """
    C, s = _unit_diagonal(H)
    squares = np.square(C)
    own = float(squares.sum() - np.square(C.diagonal()).sum())
    k = len(C)
    if own <= 0.0:
        return H
    noise = (k * (k - 1) + own) / size  # a correlation c has a variance of about (1 + c²) / size
    kept = max(0.0, 1.0 - noise / own)
    if kept > MOSTLY_NOISE:
        return H
    shrunken = kept * C
    np.fill_diagonal(shrunken, C.diagonal())
    return np.asarray(shrunken * s * s[:, None])


def square_root(H: Array) -> Array:
    """Matrix A with A'A = H, exact to round-off for a positive semidefinite H of any scaling."""
    C, s = _unit_diagonal(H)
    values, vectors = eigh(C)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * s)


def variances(H: Array) -> Array:
    """The diagonal of H, with next to nothing instead of nothing: units in which residuals are moved."""
    found = H.diagonal()
    return np.maximum(found, max(1e-30 * float(found.max()), 1e-300))


def well_conditioned(H: Array) -> bool:
    """Whether H, its columns scaled alike, is so far from singular that every direction counts."""
    if np.any(H.diagonal() <= 0.0):
        return False
    factor, info = dpotrf(_unit_diagonal(H)[0], lower=1)
    return bool(info == 0 and factor.diagonal().min() > 1e-3)


def shrinkage(H: Array, base: Array) -> float:
    """Smallest ratio of the pivots of H to those of ``base``; tiny where H has lost a direction that base has."""
    factor, info = dpotrf(H, lower=1)
    reference, base_info = dpotrf(base, lower=1)
    if info != 0 or base_info != 0:
        return 0.0
    return float(((factor.diagonal() / reference.diagonal()) ** 2).min())
