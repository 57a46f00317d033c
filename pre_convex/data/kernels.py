"""Kernel features: coordinates in which the norm of an RKHS is the Euclidean norm.

The kernel problem is [D] with the ball ‖b − Σ_j μ_j φ(x_j)‖_H ≤ R. A factor K ≈ C C' of the Gram matrix turns it into a
problem with features C and ``norm=2``, exact up to the error of the factorisation. For few points the factor is a
pivoted Cholesky factor of all of them, to 1e-10 of the trace; for many it is that of some landmarks (Nyström).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._internal.rng import Rng, as_generator
from .._internal.snapshots import Snapshot, freeze
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index
from .._internal.validation import as_choice, as_count, as_matrix, preview
from ..errors import DataError
from .features import BaseFeatureMap

__all__ = ["KERNELS", "Kernel", "median_length_scale", "near", "pivoted_cholesky", "shortened", "typical_length_scale"]

KERNELS = ("rbf", "laplacian", "polynomial", "additive")
#: smallest length scale, and inverse of the largest: their squares stay finite
MIN_SCALE = 1e-100
#: smaller features are set to zero: their squares would underflow
MIN_FEATURE = 1e-100
#: a landmark whose kernel is below this share of its largest value at all rows is far from them
FAR = 1e-6
#: share of k(x,x) below which a feature is negligible
NEGLIGIBLE = 1e-6
#: with more points than this, landmarks replace the exact factor
EXACT_POINTS = 4_000


def pivoted_cholesky(diagonal: Array, column: Callable[[int], Array], tol: float, max_rank: int) -> tuple[Index, Array]:
    """Greedy partial Cholesky factor of a positive semidefinite matrix K given by its diagonal and its columns.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
        Diagonal of K.
    column : callable
        Maps i to the column K[:, i].
    tol : float
        Stop when trace(K − L L') ≤ tol · trace(K).
    max_rank : int
        Maximum number of columns of L.

    Returns
    -------
    pivots : ndarray of int
        Chosen columns, in order.
    L : ndarray of shape (n, rank)
        Factor with K ≈ L L'.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0, 2.0], [1.0, 2.0, 1.0], [2.0, 1.0, 2.0]])
    >>> pivots, L = pivoted_cholesky(K.diagonal(), lambda i: K[i], 1e-12, 3)
    >>> L.shape, bool(np.allclose(L @ L.T, K))
    ((3, 2), True)
    """
    remaining = np.array(diagonal, dtype=float)
    limit = tol * float(remaining.sum())
    pivots: list[int] = []
    L = np.zeros((len(remaining), min(max_rank, len(remaining))))
    while len(pivots) < L.shape[1] and remaining.sum() > limit:
        i, m = int(np.argmax(remaining)), len(pivots)
        if remaining[i] <= 0.0:
            break
        root = float(np.sqrt(remaining[i]))
        L[:, m] = (column(i) - L[:, :m] @ L[i, :m]) / root
        L[i, m] = root
        remaining = np.maximum(remaining - L[:, m] ** 2, 0.0)
        remaining[i] = 0.0
        pivots.append(i)
    return np.array(pivots, dtype=np.intp), L[:, : len(pivots)]


@single_threaded_blas()
def median_length_scale(x: Array, max_points: int = 1000) -> float:
    """Median of the positive distances among at most ``max_points`` rows of x; one if all rows are equal."""
    sample = x[:: max(1, len(x) // max_points)][:max_points]
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite or nan scale is refused later
        squares = np.square(sample).sum(axis=1)
        distances = np.maximum(squares[:, None] + squares - 2.0 * sample @ sample.T, 0.0)
    values = np.sqrt(distances[np.triu_indices(len(sample), 1)])
    positive = values[values > 0.0]
    return float(np.median(positive)) if positive.size else 1.0


def typical_length_scale(x: Array, kind: str) -> float:
    """The median distance; divided by √d for the additive kernel, whose distances are those of one column."""
    return median_length_scale(x) / (float(np.sqrt(x.shape[1])) if kind == "additive" else 1.0)


@dataclass(frozen=True, eq=False)
class Kernel(BaseFeatureMap):
    """Kernel features: coordinates of an RKHS, with scikit-learn's pairwise kernels.

    Parameters
    ----------
    kind : {"rbf", "laplacian", "polynomial", "additive"}, default "rbf"
        exp(−|x−y|²/2s²), exp(−|x−y|₁/s), (⟨x,y⟩/s² + 1)^degree, or the mean over the d columns of exp(−(x_c−y_c)²/2s²),
        for a length scale s. The additive kernel gives sums of functions of one column each.
    length_scale : float, "median" or "cv", default "median"
        s, between 1e-100 and 1e100; ``"median"`` is the median distance between the points that the map is fitted to,
        divided by √d for the additive kernel, and ``"cv"``, in an estimator only, the multiple of the median distance
        with the best cross-validated score.
    degree : int, default 3
        Degree of the polynomial kernel, at least 1; the other kernels ignore it.
    landmarks : int, optional
        Number of landmark points; by default as many as an exact factor needs for up to 4,000 points, and 500 for
        more.
    points : ndarray of shape (m, d), optional
        Landmarks; set by :meth:`fitted`.
    factor : ndarray of shape (m, m), optional
        Triangular factor of the Gram matrix of the landmarks; set by :meth:`fitted`.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> kernel = Kernel(length_scale=1.0).fitted(x)
    >>> np.allclose(kernel(x) @ kernel(x).T, kernel.gram(x, x))
    True
    """

    kind: str = "rbf"
    length_scale: float | str = "median"
    degree: int = 3
    landmarks: int | None = None
    points: Array | None = field(default=None, repr=False)
    factor: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        as_choice(self.kind, "kind", KERNELS)
        as_count(self.degree, "degree")
        if self.landmarks is not None:
            as_count(self.landmarks, "landmarks")
        scale: Any = self.length_scale
        numeric = isinstance(scale, Real) and scale is not True and MIN_SCALE < float(scale) < 1.0 / MIN_SCALE
        if not numeric and not (isinstance(scale, str) and scale in ("median", "cv")):
            reason = f"{preview(scale)} is not a length scale"
            raise DataError("length_scale", reason, "pass a number between 1e-100 and 1e100, 'median' or 'cv'")
        for name in ("points", "factor"):
            if isinstance(value := getattr(self, name), np.ndarray):
                object.__setattr__(self, name, Snapshot.of(value, name).array)

    def gram(self, x: Array, y: Array) -> Array:
        """Gram matrix k(x_i, y_j).

        Parameters
        ----------
        x : array of shape (n, d)
            Points of the rows.
        y : array of shape (m, d)
            Points of the columns.

        Returns
        -------
        ndarray of shape (n, m)
        """
        from sklearn.metrics.pairwise import pairwise_kernels

        if isinstance(self.length_scale, str):
            raise DataError(
                "length_scale", "is unknown until the kernel is fitted", "use kernel.fitted(x), or pass a number"
            )
        x, y = as_matrix(x, "x"), as_matrix(y, "y")
        if x.shape[1] != y.shape[1]:
            raise DataError("y", f"has {y.shape[1]} columns, x has {x.shape[1]}", "pass the same columns for both")
        s = float(self.length_scale)
        terms: dict[str, Any] = {"rbf": {"gamma": 0.5 / s**2}, "laplacian": {"gamma": 1.0 / s}}
        polynomial = {"gamma": 1.0 / s**2, "degree": self.degree, "coef0": 1.0}
        with np.errstate(over="ignore", invalid="ignore"):
            if self.kind == "additive":
                K = np.zeros((len(x), len(y)))
                for u, v in zip(x.T, y.T, strict=True):
                    K += np.exp(-0.5 * np.square((u[:, None] - v) / s)) / x.shape[1]
            else:
                K = np.asarray(pairwise_kernels(x, y, metric=self.kind, **terms.get(self.kind, polynomial)))
        if not np.isfinite(K).all():
            raise DataError("x", "has entries so large that the kernel overflows", "rescale the columns")
        return K

    @single_threaded_blas()
    def fitted(self, x: Array, rng: Rng = 0) -> Kernel:
        """The map with landmarks chosen among the rows of x; among 4,000 random ones if there are more.

        Parameters
        ----------
        x : array of shape (n, d)
            Points to choose from.
        rng : int, sequence of int, Generator or None, default 0
            Seed of the random choice.

        Returns
        -------
        Kernel
            With ``points`` and ``factor``.
        """
        if self.length_scale == "cv":
            raise DataError("length_scale", "'cv' works in an estimator only", "pass a number or 'median'")
        x = as_matrix(x, "x")
        scale = typical_length_scale(x, self.kind) if self.length_scale == "median" else self.length_scale
        if not MIN_SCALE < float(scale) < 1.0 / MIN_SCALE:
            raise DataError("x", "has distances beyond 1e100 or below 1e-100", "rescale the columns")
        kernel = replace(self, length_scale=float(scale))
        exact = self.landmarks is None and len(x) <= EXACT_POINTS
        max_rank = len(x) if exact else min(self.landmarks or 500, len(x))
        if not exact and len(x) > EXACT_POINTS:
            x = x[np.sort(as_generator(rng).choice(len(x), EXACT_POINTS, replace=False))]
        diagonal = kernel._diagonal(x)
        pivots, L = pivoted_cholesky(diagonal, lambda i: kernel.gram(x[i : i + 1], x)[0], 1e-10, max_rank)
        return replace(kernel, points=freeze(x[pivots]), factor=freeze(L[pivots]))

    def _diagonal(self, x: Array) -> Array:
        """k(x_i, x_i) for every row."""
        if self.kind != "polynomial":  # the same for all points
            return np.asarray(self.gram(x[:1], x[:1])[0].repeat(len(x)))
        with np.errstate(over="ignore"):
            diagonal = (np.square(x).sum(axis=1) / float(self.length_scale) ** 2 + 1.0) ** self.degree
        if not np.isfinite(diagonal).all():
            reason = "has entries so large that the kernel overflows"
            raise DataError("x", reason, "rescale the columns, or lower the degree")
        return np.asarray(diagonal)

    @single_threaded_blas()
    def _features(self, x: Array) -> Array:
        """Coordinates of φ(x), whose inner products are the kernel's."""
        if self.points is None or self.factor is None:
            raise DataError("features", "the kernel has no landmarks yet", "use kernel.fitted(x), or an estimator")
        if x.shape[1] != self.points.shape[1]:
            reason = f"has {x.shape[1]} columns, the kernel was fitted to {self.points.shape[1]}"
            raise DataError("x", reason, "pass the same columns as in the fit")
        columns = solve_triangular(self.factor, self.gram(x, self.points).T, lower=True).T
        return np.where(np.abs(columns) < MIN_FEATURE, 0.0, columns)

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return () if self.factor is None else tuple(f"k{i}" for i in range(len(self.factor)))


def near(kernel: Kernel, x: Array) -> Kernel:
    """The fitted kernel without the landmarks c whose k(x,c) is below 1e-6 √(k(x,x) k(c,c)) at all rows of x."""
    assert kernel.points is not None
    size = np.sqrt(kernel._diagonal(x))[:, None] * np.sqrt(kernel._diagonal(kernel.points))
    alive = (np.abs(kernel.gram(x, kernel.points)) > FAR * size).any(axis=0)
    if alive.all() or not alive.any():
        return kernel
    return replace(kernel, points=None, factor=None, landmarks=None).fitted(kernel.points[alive])


def shortened(kernel: Kernel) -> Kernel:
    """The fitted kernel without its last features, whose part of k(x,x) is below 1e-6 at all landmarks.

    Their effect on the ratio is negligible. Their moments are known to few digits, so that next to other features with
    a large penalty no certificate could be given.
    """
    assert kernel.points is not None
    assert kernel.factor is not None
    pivots = np.square(np.diag(kernel.factor)) / kernel._diagonal(kernel.points).max()
    rank = max(int((np.minimum.accumulate(pivots) > NEGLIGIBLE).sum()), 1)
    if rank == len(kernel.points):
        return kernel
    return replace(kernel, points=freeze(kernel.points[:rank]), factor=freeze(kernel.factor[:rank, :rank]))
