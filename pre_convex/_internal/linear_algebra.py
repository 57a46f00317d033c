"""Linear systems with covariance matrices of any scaling, possibly singular."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from .typing import Array, Index

__all__ = [
    "EPS",
    "PsdSolver",
    "eigen_directions",
    "least_squares",
    "null_directions",
    "null_part",
    "schur_complement",
    "shrink_correlations",
    "smallest_pivot_ratio",
    "solve_psd",
    "square_root",
    "symmetric_root",
    "well_conditioned",
    "zero_noise_variances",
]

#: machine epsilon of float64
EPS = float(np.finfo(float).eps)
#: eigenvalues below this fraction of the largest (columns scaled to unit variance) count as zero
RANK_TOLERANCE = 1e-14
#: relative residual above which a Cholesky solve is rejected and the matrix treated as singular
RESIDUAL_TOLERANCE = 1e-6
#: correlations are shrunk only if the estimated shrinkage factor is at most this
MAX_SHRINKAGE_FACTOR = 0.5


def _unit_diagonal(H: Array) -> tuple[Array, Array]:
    """(C, s) with H = diag(s) C diag(s) and unit diagonal of C, so that scaling loses no digits."""
    s = np.sqrt(np.maximum(H.diagonal(), 0.0))
    s[s == 0.0] = 1.0
    return H / s / s[:, None], s


def zero_noise_variances(H: Array, mean: Array) -> Array:
    """H with zero rows and columns where the variance is only round-off of the mean, as in a constant column."""
    noise = H.diagonal() <= (1e-14 * mean) ** 2
    if noise.any():
        H = H.copy()
        H[noise, :] = H[:, noise] = 0.0
    return H


def solve_psd(H: Array, rhs: Array) -> Array:
    """H⁺ rhs for a positive semidefinite H; the solution is zero along null directions of H.

    Examples
    --------
    >>> solve_psd(np.diag([4e-12, 0.0, 1e12]), np.array([4e-12, 0.0, 2e12]))
    array([1., 0., 2.])
    """
    return PsdSolver(H)(rhs)


class PsdSolver:
    """Maps rhs to H⁺ rhs; factors H once."""

    def __init__(self, H: Array) -> None:
        self._C, self._s = _unit_diagonal(H)
        self._factor, info = dpotrf(
            self._C, lower=1
        )  # direct LAPACK: SciPy's checks cost more than the work at small k
        self._regular = info == 0 and self._factor.diagonal().min() ** 2 > 100 * RANK_TOLERANCE * len(self._C)

    def __call__(self, rhs: Array) -> Array:
        """H⁺ rhs."""
        C, s = self._C, self._s
        scaled = (rhs.T / s).T
        if self._regular:
            x = dpotrs(self._factor, scaled, lower=1)[0]
            # the pivots of a singular matrix can look regular; the residual then does not
            if not np.abs(C @ x - scaled).max(initial=0.0) > RESIDUAL_TOLERANCE * np.abs(scaled).max(initial=0.0):
                return np.asarray((x.T / s).T)
        basis, values = self._eigen
        with np.errstate(over="ignore", invalid="ignore"):  # columns of tiny variance
            return np.asarray(((basis @ ((basis.T @ scaled).T / values).T).T / s).T)

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Eigenvectors and eigenvalues of C that count as positive."""
        values, vectors = eigh(self._C)
        keep = values > RANK_TOLERANCE * len(self._C) * max(values[-1], 1.0)
        return vectors[:, keep], values[keep]


def eigen_directions(H: Array) -> tuple[Array, Array]:
    """(T, values) with T'HT = diag(values), in units of unit variance; values that count as zero are zero.

    Examples
    --------
    >>> eigen_directions(np.diag([1e-12, 0.0, 1e12]))[1]
    array([0., 1., 1.])
    """
    C, s = _unit_diagonal(H)
    values, vectors = eigh(C)
    keep = values > RANK_TOLERANCE * len(C) * np.max(values, initial=1.0)
    return vectors / s[:, None], np.where(keep, values, 0.0)


def null_directions(H: Array) -> Array:
    """Orthonormal basis Q of the null space of H: Q'H = 0.

    Examples
    --------
    >>> abs(null_directions(np.diag([1e-12, 0.0, 1e12])).ravel())
    array([0., 1., 0.])
    """
    null, s = _scaled_null(H)
    return np.asarray(np.linalg.qr(null / s[:, None])[0])


def null_part(H: Array, unit: Array) -> Callable[[Array], Array] | None:
    """Function that maps x to the part of it without which x is some H d; ``None`` if H is far from singular.

    The part is as small as possible with each column in its own unit.

    Examples
    --------
    >>> null_part(np.diag([1e-12, 0.0, 1e12]), np.ones(3))(np.array([1.0, 2.0, 3.0]))
    array([0., 2., 0.])
    """
    null, s = _scaled_null(H)
    if not null.shape[1]:
        return None
    Q, triangle = np.linalg.qr((unit / s)[:, None] * null)
    return lambda x: np.asarray(unit * (Q @ np.linalg.lstsq(triangle.T, null.T @ (x / s))[0]))


def _scaled_null(H: Array) -> tuple[Array, Array]:
    """(N, s): orthonormal basis N of the null space of H / (s s'), whose diagonal is one."""
    C, s = _unit_diagonal(H)
    if well_conditioned(H):  # costs a hundredth of the eigenvectors
        return np.zeros((len(H), 0)), s
    values, vectors = eigh(C)
    return vectors[:, values <= RANK_TOLERANCE * len(C) * max(float(values[-1]), 1.0)], s


def least_squares(B: Array, U: Array, unit: Array | None = None) -> Array:
    """(B'B)⁺ U computed from B, with twice the digits that B'B would have.

    Columns are scaled by their norms, or by ``unit``. Parts of U outside the row space of B are dropped, preferably in
    columns with a large unit.
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


def schur_complement(H: Array, keep: Index) -> Array:
    """Curvature in the coordinates ``keep`` after minimising over the others; zero where it is only round-off.

    Examples
    --------
    >>> schur_complement(np.array([[2.0, 2.0], [2.0, 5.0]]), np.array([1]))
    array([[3.]])
    """
    other = np.setdiff1d(np.arange(len(H)), keep)
    inner: Array = H[np.ix_(keep, keep)]
    if not other.size:
        return inner
    cross = H[np.ix_(other, keep)]
    S = inner - cross.T @ solve_psd(H[np.ix_(other, other)], cross)
    noise = S.diagonal() <= 1e-14 * inner.diagonal()
    S[noise, :] = S[:, noise] = 0.0
    return np.asarray(0.5 * (S + S.T))


def shrink_correlations(H: Array, size: float) -> Array:
    """Covariance of ``size`` rows with its correlations shrunk if they are mostly noise, after Ledoit and Wolf.

    Otherwise H is returned unchanged, because shrinkage would swamp the small eigenvalues of correlated columns.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(1000, 30))
    >>> noise = np.abs(np.cov(x.T) - np.eye(30)).max()
    >>> bool(np.abs(shrink_correlations(np.cov(x.T), 1000.0) - np.diag(np.cov(x.T).diagonal())).max() < 0.2 * noise)
    True
    """
    C, s = _unit_diagonal(H)
    squares = np.square(C)
    off_diagonal = float(squares.sum() - np.square(C.diagonal()).sum())
    k = len(C)
    if off_diagonal <= 0.0:
        return H
    noise = (k * (k - 1) + off_diagonal) / size  # the variance of a correlation c is about (1 + c²) / size
    factor = max(0.0, 1.0 - noise / off_diagonal)
    if factor > MAX_SHRINKAGE_FACTOR:
        return H
    shrunken = factor * C
    np.fill_diagonal(shrunken, C.diagonal())
    return np.asarray(shrunken * s * s[:, None])


def square_root(H: Array) -> Array:
    """Matrix A with A'A = H, accurate to round-off for a positive semidefinite H of any scaling."""
    C, s = _unit_diagonal(H)
    values, vectors = eigh(C)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * s)


def symmetric_root(H: Array) -> Array:
    """Matrix A with A'A = H whose correlations have a symmetric root; unlike the eigenvectors, A is unique.

    Examples
    --------
    >>> A = symmetric_root(np.array([[4.0, 2.0], [2.0, 1.0]]))
    >>> bool(np.allclose(A.T @ A, [[4.0, 2.0], [2.0, 1.0]]))
    True
    """
    C, s = _unit_diagonal(H)
    values, vectors = eigh(C)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T * s)


def well_conditioned(H: Array) -> bool:
    """Whether H, with columns scaled alike, is far from singular."""
    if np.any(H.diagonal() <= 0.0):
        return False
    factor, info = dpotrf(_unit_diagonal(H)[0], lower=1)
    return bool(info == 0 and factor.diagonal().min() > 1e-3)


def smallest_pivot_ratio(H: Array, base: Array) -> float:
    """Smallest ratio of the Cholesky pivots of H to those of ``base``; tiny if H lost a direction of base."""
    factor, info = dpotrf(H, lower=1)
    reference, base_info = dpotrf(base, lower=1)
    if info != 0 or base_info != 0:
        return 0.0
    return float(((factor.diagonal() / reference.diagonal()) ** 2).min())
