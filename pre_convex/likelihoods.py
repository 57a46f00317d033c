"""Log-likelihoods log l(x) of prior samples: an array, a function, one of the classes here, or none at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import as_vector, called
from .entropy import Array, log
from .errors import DataError

__all__ = ["ClassProbability", "Gaussian", "log_likelihood"]

#: rows a likelihood is evaluated on at a time
BLOCK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class Gaussian:
    """log N(y; x, Σ) up to a constant: the latent x observed as y with Gaussian noise.

    Parameters
    ----------
    observation : array of shape (d,) or (m, d)
        y; several observations of the same x are several rows.
    precision : float or array of shape (d,), optional
        Inverse variance, the same for every coordinate or one for each; 1 when neither it nor a covariance is given.
    covariance : array of shape (d, d), optional
        Full covariance of the noise, instead of a precision.

    Examples
    --------
    >>> Gaussian([1.0, 0.0], precision=2.0)(np.zeros((1, 2)))
    array([-1.])
    >>> Gaussian([1.0, 0.0], covariance=[[0.5, 0.0], [0.0, 1.0]])(np.zeros((1, 2)))
    array([-1.])
    """

    observation: Any
    precision: Any = None
    covariance: Any = None

    def __post_init__(self) -> None:
        try:
            y = np.atleast_2d(np.asarray(self.observation, dtype=float))
        except (TypeError, ValueError):
            y = np.zeros((1, 0))
        if y.ndim != 2 or y.size == 0 or not np.all(np.isfinite(y)):
            raise DataError("observation: must be finite numbers, one for each column of the samples")
        d = y.shape[1]
        if self.covariance is not None:
            if self.precision is not None:
                raise DataError("precision: give either a precision or a covariance")
            S = np.asarray(self.covariance, dtype=float)
            if S.shape != (d, d) or not np.allclose(S, S.T):
                raise DataError(f"covariance: must be a symmetric matrix of shape ({d}, {d})")
            try:
                root = np.linalg.inv(np.linalg.cholesky(S)).T
            except np.linalg.LinAlgError:
                raise DataError("covariance: is not positive definite") from None
        else:
            try:
                tau = np.asarray(1.0 if self.precision is None else self.precision, dtype=float)
            except (TypeError, ValueError):
                raise DataError(f"precision: {self.precision!r} is not a number") from None
            if tau.ndim > 1 or (tau.ndim == 1 and tau.size != d):
                raise DataError(f"precision: must be one number or {d} of them")
            if not np.all(np.isfinite(tau)) or np.any(tau <= 0.0):
                raise DataError(f"precision: {self.precision} is not positive")
            root = np.diag(np.broadcast_to(np.sqrt(tau), (d,)))
        object.__setattr__(self, "_y", y)
        object.__setattr__(self, "_root", root)

    def __call__(self, x: Array) -> Array:
        """Log-likelihood of every row of x."""
        y: Array = self._y  # type: ignore[attr-defined]
        root: Array = self._root  # type: ignore[attr-defined]
        if x.shape[1] != y.shape[1]:
            raise DataError(f"observation: has {y.shape[1]} entries, the samples have {x.shape[1]} columns")
        # Σ_r |y_r − x|² = m |x − ȳ|² plus what does not depend on x, which is kept so that values are comparable
        centre = y.mean(axis=0)
        spread = float(np.square((y - centre) @ root).sum())
        return np.asarray(-0.5 * (len(y) * np.square((x - centre) @ root).sum(axis=1) + spread))


@dataclass(frozen=True, eq=False)
class ClassProbability:
    """log P(class | x) of a classifier, so that the posterior is the distribution of x within a class.

    Parameters
    ----------
    predict_proba : callable
        Maps (n, d) samples to (n, classes) probabilities, as scikit-learn's classifiers do.
    index : int
        Column of the class.
    floor : float
        Smallest probability; a classifier that is sure should not rule a sample out altogether.
    """

    predict_proba: Callable[[Array], Any]
    index: int
    floor: float = 1e-12

    def __call__(self, x: Array) -> Array:
        """Log-probability of the class for every row of x."""
        p = np.asarray(self.predict_proba(x), dtype=float)
        if p.ndim != 2 or p.shape[0] != x.shape[0] or not -p.shape[1] <= self.index < p.shape[1]:
            raise DataError(f"predict_proba: returned shape {p.shape} for {x.shape[0]} samples and class {self.index}")
        return log(np.clip(p[:, self.index], self.floor, 1.0))


def log_likelihood(log_lik: Any, x: Array, name: str) -> Array:
    """Log l(x_i) for every row, evaluated in blocks; zeros when no likelihood is given, which makes it KLIEP."""
    if log_lik is None:
        return np.zeros(x.shape[0])
    if callable(log_lik):
        starts = range(0, len(x), BLOCK_ROWS)
        parts = [
            as_vector(called(log_lik, name, x[i : i + BLOCK_ROWS]), name, len(x[i : i + BLOCK_ROWS]), log_weights="any")
            for i in starts
        ]
        log_lik = np.concatenate(parts)
    return as_vector(log_lik, name, x.shape[0], log_weights=True)
