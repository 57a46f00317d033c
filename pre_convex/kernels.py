"""Kernel features: coordinates in which the norm of an RKHS is the Euclidean norm.

The kernel problem is [D] with the ball ‖b − Σ_j μ_j φ(x_j)‖_H ≤ R. A Gram matrix factored as K ≈ C C' turns it into
the problem of this package with features C and ``norm=2``, exactly as far as the factorisation is exact. Few points:
pivoted Cholesky of all of them, to 1e-10 of the trace. Many: the factor of a few landmarks (Nyström).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .arrays import as_block, as_choice, as_count, as_matrix, frozen, shown
from .entropy import Array
from .errors import DataError
from .features import FEATURES, _Joinable
from .rng import Rng, as_generator
from .threads import one_thread_each

__all__ = ["KERNELS", "Kernel", "median_length_scale", "pivoted_cholesky"]

KERNELS = ("rbf", "laplacian", "polynomial")
#: length scales have squares that are numbers, and so have their inverses
SMALL = 1e-100
#: more points than this are represented by landmarks
EXACT_POINTS = 4_000


def pivoted_cholesky(diagonal: Array, column: Any, tol: float, most: int) -> tuple[Array, Array]:
    """Greedy partial Cholesky of a positive semidefinite matrix given by its diagonal and its columns.

    Returns the pivots and the factor L with K ≈ L L' and trace(K − L L') ≤ tol · trace(K), or ``most`` columns.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0, 2.0], [1.0, 2.0, 1.0], [2.0, 1.0, 2.0]])
    >>> pivots, L = pivoted_cholesky(K.diagonal(), lambda i: K[i], 1e-12, 3)
    >>> L.shape, bool(np.allclose(L @ L.T, K))
    ((3, 2), True)
    """
    left = np.array(diagonal, dtype=float)
    limit = tol * float(left.sum())
    pivots: list[int] = []
    L = np.zeros((len(left), min(most, len(left))))
    while len(pivots) < L.shape[1] and left.sum() > limit:
        i, m = int(np.argmax(left)), len(pivots)
        if left[i] <= 0.0:
            break
        root = float(np.sqrt(left[i]))
        L[:, m] = (column(i) - L[:, :m] @ L[i, :m]) / root
        L[i, m] = root
        left = np.maximum(left - L[:, m] ** 2, 0.0)
        left[i] = 0.0
        pivots.append(i)
    return np.array(pivots, dtype=np.intp), L[:, : len(pivots)]


@one_thread_each()
def median_length_scale(x: Array, most: int = 1000) -> float:
    """Median distance between points, of a sample of at most ``most``; the usual guess of a length scale."""
    sample = x[:: max(1, len(x) // most)][:most]
    with np.errstate(over="ignore", invalid="ignore"):  # a scale that is infinite or nan is refused later
        squares = np.square(sample).sum(axis=1)
        distances = np.maximum(squares[:, None] + squares - 2.0 * sample @ sample.T, 0.0)
    values = np.sqrt(distances[np.triu_indices(len(sample), 1)])
    positive = values[values > 0.0]
    return float(np.median(positive)) if positive.size else 1.0


@dataclass(frozen=True, eq=False)
class Kernel(_Joinable):
    """Features of an RKHS, through scikit-learn's pairwise kernels.

    Parameters
    ----------
    kind : {"rbf", "laplacian", "polynomial"}
        exp(−|x−y|²/2s²), exp(−|x−y|₁/s), or (⟨x,y⟩/s² + 1)^degree for a length scale s.
    length_scale : float, "median" or "cv"
        s, or the median distance between the points that the map is fitted to, or, in an estimator, the multiple of it
        with the best held-out score.
    degree : int
        Of the polynomial kernel.
    landmarks : int, optional
        Number of landmark points; by default as many as an exact factor needs up to a few thousand points, and 500
        beyond.
    points, factor : arrays
        Set by :meth:`fitted`.
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
        numeric = isinstance(scale, Real) and scale is not True and SMALL < float(scale) < 1.0 / SMALL
        if not numeric and not (isinstance(scale, str) and scale in ("median", "cv")):
            raise DataError(
                f"length_scale: {shown(scale)} is neither a positive number, 1e-100 to 1e100, 'median' nor 'cv'"
            )

    def gram(self, x: Array, y: Array) -> Array:
        """k(x_i, y_j)."""
        from sklearn.metrics.pairwise import pairwise_kernels

        if isinstance(self.length_scale, str):
            raise DataError("length_scale: is not known before the kernel is fitted; use kernel.fitted(x), or a number")
        x, y = as_matrix(x, "x"), as_matrix(y, "y")
        if x.shape[1] != y.shape[1]:
            raise DataError(f"y: has {y.shape[1]} columns, x has {x.shape[1]}")
        s = float(self.length_scale)
        terms: dict[str, Any] = {"rbf": {"gamma": 0.5 / s**2}, "laplacian": {"gamma": 1.0 / s}}
        polynomial = {"gamma": 1.0 / s**2, "degree": self.degree, "coef0": 1.0}
        with np.errstate(over="ignore", invalid="ignore"):
            K = np.asarray(pairwise_kernels(x, y, metric=self.kind, **terms.get(self.kind, polynomial)))
        if not np.isfinite(K).all():
            raise DataError("x: is so large that its kernel overflows; rescale the columns")
        return K

    @one_thread_each()
    def fitted(self, x: Array, rng: Rng = 0) -> Kernel:
        """The map with its landmarks chosen among the rows of x; among a random few of them if there are many."""
        if self.length_scale == "cv":
            raise DataError("length_scale: 'cv' needs an estimator, which has two samples to hold out from")
        x = as_matrix(x, "x")
        scale = median_length_scale(x) if self.length_scale == "median" else self.length_scale
        if not SMALL < float(scale) < 1.0 / SMALL:
            raise DataError("x: has distances beyond 1e100 or below 1e-100; rescale the columns")
        kernel = replace(self, length_scale=float(scale))
        exact = self.landmarks is None and len(x) <= EXACT_POINTS
        most = len(x) if exact else min(self.landmarks or 500, len(x))
        pool = x
        if not exact and len(x) > EXACT_POINTS:
            pool = x[np.sort(as_generator(rng).choice(len(x), EXACT_POINTS, replace=False))]
        diagonal = np.array([kernel.gram(row[None], row[None])[0, 0] for row in pool[:1]]).repeat(len(pool))
        if self.kind == "polynomial":
            with np.errstate(over="ignore"):
                diagonal = (np.square(pool).sum(axis=1) / kernel.length_scale**2 + 1.0) ** self.degree  # type: ignore[operator]
            if not np.isfinite(diagonal).all():
                raise DataError("x: is so large that its kernel overflows; rescale the columns, or lower the degree")
        pivots, L = pivoted_cholesky(diagonal, lambda i: kernel.gram(pool[i : i + 1], pool)[0], 1e-10, most)
        return replace(kernel, points=frozen(pool[pivots]), factor=frozen(L[pivots]))

    @one_thread_each()
    def __call__(self, x: Array) -> Array:
        """Coordinates of φ(x): their inner products are the kernel's, their norm that of the RKHS."""
        if self.points is None or self.factor is None:
            raise DataError(
                "features: this kernel has no landmarks yet; use kernel.fitted(x), or give it to an estimator"
            )
        x = as_block(x)
        if x.shape[1] != self.points.shape[1]:
            raise DataError(f"x: has {x.shape[1]} columns, the kernel was fitted to {self.points.shape[1]}")
        return np.asarray(solve_triangular(self.factor, self.gram(x, self.points).T, lower=True).T)

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """``k0``, ``k1``, …; one for each landmark."""
        return () if self.factor is None else tuple(f"k{i}" for i in range(len(self.factor)))


FEATURES["kernel"] = Kernel
