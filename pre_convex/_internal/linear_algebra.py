"""Linear systems with covariance matrices of any scaling, possibly singular."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from .typing import Array, Index

__all__ = [
    "EPS",
    "PsdSolver",
    "eigen_directions",
    "null_directions",
    "schur_complement",
    "shrink_correlations",
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
#: squared pivots of a Cholesky factor, relative to the diagonal, above which a matrix is certainly regular, and above
#: which it is well conditioned
REGULAR_PIVOT, WELL_CONDITIONED_PIVOT = 1e-8, 1e-6

#: minimum without the wrapper of NumPy's method, which takes longer than a reduction of a few numbers
_min = np.minimum.reduce


def _unit_diagonal(H: Array) -> tuple[Array, Array]:
    """(C, s) with H = diag(s) C diag(s) and unit diagonal of C, so that scaling loses no digits."""
    s = _spreads(H)
    C = H / s
    C /= s[:, None]
    return C, s


def _spreads(H: Array) -> Array:
    """Square roots of the diagonal; one where it is not positive."""
    variances = H.diagonal()
    if not _min(variances, initial=np.inf) > 0.0:
        variances = np.where(variances > 0.0, variances, 1.0)
    return np.asarray(np.sqrt(variances))


def zero_noise_variances(H: Array, mean: Array) -> Array:
    """H with zero rows and columns where the variance is only round-off of the mean, as in a constant column."""
    noise = H.diagonal() <= (1e-14 * mean) ** 2
    if np.logical_or.reduce(noise):
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
    """Maps rhs to H⁺ rhs; factors H once.

    Cholesky factors need no scaling: their round-off is relative to each column. Null directions do.
    """

    def __init__(self, H: Array) -> None:
        self._H = H
        # LAPACK itself: for small k SciPy's checks cost more than the work
        self._factor, info = dpotrf(H, lower=1)
        self._pivot = _smallest_pivot(self._factor, H) if info == 0 else 0.0

    def __call__(self, rhs: Array) -> Array:
        """H⁺ rhs."""
        if self._pivot > 100 * RANK_TOLERANCE * len(self._H):
            x: Array = dpotrs(self._factor, rhs, lower=1)[0]
            if self._pivot > REGULAR_PIVOT or self._solves(x, rhs):
                return x
        basis, values, s = self._eigen
        scaled = (rhs.T / s).T
        with np.errstate(over="ignore", invalid="ignore"):  # columns of tiny variance
            return np.asarray(((basis @ ((basis.T @ scaled).T / values).T).T / s).T)

    def _solves(self, x: Array, rhs: Array) -> bool:
        """Whether the residual is small: the pivots of a singular matrix can look regular, the residual then not."""
        s = _spreads(self._H)
        left = np.abs((self._H @ x - rhs).T / s).max(initial=0.0)
        return not left > RESIDUAL_TOLERANCE * np.abs(rhs.T / s).max(initial=0.0)

    @cached_property
    def _eigen(self) -> tuple[Array, Array, Array]:
        """Eigenvectors and positive eigenvalues of H scaled to a unit diagonal, and the scales."""
        C, s = _unit_diagonal(self._H)
        values, vectors = eigh(C)
        keep = values > RANK_TOLERANCE * len(C) * max(values[-1], 1.0)
        return vectors[:, keep], values[keep], s


def _smallest_pivot(factor: Array, H: Array) -> float:
    """Smallest squared pivot of a Cholesky factor of H, relative to the diagonal of H."""
    pivots = factor.diagonal()
    return float(_min(pivots * pivots / H.diagonal(), initial=np.inf))


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
    if well_conditioned(H):  # costs a hundredth of the eigenvectors
        return np.zeros((len(H), 0))
    C, s = _unit_diagonal(H)
    values, vectors = eigh(C)
    null = vectors[:, values <= RANK_TOLERANCE * len(C) * max(float(values[-1]), 1.0)]
    return np.asarray(np.linalg.qr(null / s[:, None])[0])


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
    factor, info = dpotrf(H, lower=1)
    return info == 0 and _smallest_pivot(factor, H) > WELL_CONDITIONED_PIVOT
