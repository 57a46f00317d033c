"""Log-likelihoods log l(x) of prior samples: an array, a function, one of the classes here, or none at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import as_block, as_matrix, as_numbers, as_scalar, as_vector, called, column_names, shown
from .entropy import Array, log
from .errors import DataError

__all__ = ["ClassProbability", "Gaussian", "log_likelihood"]

#: by how much probabilities may leave [0, 1]: single precision, and a little more
ROUND_OFF = 1e-4
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
        y = np.atleast_2d(as_numbers(self.observation, "observation"))
        if y.ndim != 2 or y.size == 0 or not np.all(np.isfinite(y)):
            raise DataError("observation: must be finite numbers, one for each column of the samples")
        d = y.shape[1]
        if self.covariance is not None:
            if self.precision is not None:
                raise DataError("precision: give either a precision or a covariance")
            S = as_matrix(self.covariance, "covariance")
            if S.shape != (d, d) or not np.allclose(S, S.T):
                raise DataError(f"covariance: must be a symmetric matrix of shape ({d}, {d})")
            try:
                root = np.linalg.inv(np.linalg.cholesky(S)).T
            except np.linalg.LinAlgError:
                raise DataError("covariance: is not positive definite") from None
        else:
            tau = as_numbers(1.0 if self.precision is None else self.precision, "precision")
            if tau.ndim > 1 or (tau.ndim == 1 and tau.size != d):
                raise DataError(f"precision: must be one number or {d} of them")
            if not np.all(np.isfinite(tau)) or np.any(tau <= 0.0):
                raise DataError(f"precision: {shown(self.precision)} is not positive; give inverse variances")
            root = np.diag(np.broadcast_to(np.sqrt(tau), (d,)))
        object.__setattr__(self, "_y", y)
        object.__setattr__(self, "_root", root)

    def __call__(self, x: Array) -> Array:
        """Log-likelihood of every row of x."""
        y: Array = self._y  # type: ignore[attr-defined]
        root: Array = self._root  # type: ignore[attr-defined]
        x = as_block(x)
        if x.shape[1] != y.shape[1]:
            raise DataError(f"observation: has {y.shape[1]} entries, the samples have {x.shape[1]} columns")
        # Σ_r |y_r − x|² = m |x − ȳ|² plus what does not depend on x, which is kept so that values are comparable
        with np.errstate(over="ignore", invalid="ignore"):  # −inf is right for a row that is so far away
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

    def __post_init__(self) -> None:
        if not callable(self.predict_proba) or isinstance(self.predict_proba, type):
            raise DataError(
                f"predict_proba: {shown(self.predict_proba)} is not a function of samples; pass model.predict_proba"
            )
        if not isinstance(self.index, int | np.integer) or isinstance(self.index, bool):
            raise DataError(f"index: {shown(self.index)} is not a whole number; give the column of the class")
        if not 0.0 <= as_scalar(self.floor, "floor") < 1.0:
            raise DataError(f"floor: {shown(self.floor)} is not a probability below 1")

    def __call__(self, x: Array) -> Array:
        """Log-probability of the class for every row of x."""
        x = as_block(x) if column_names(x) is None else x  # a model may want its frame
        p, n = as_matrix(called(self.predict_proba, "predict_proba", x), "predict_proba"), len(x)
        if len(p) != n or not -p.shape[1] <= self.index < p.shape[1]:
            raise DataError(f"predict_proba: returned shape {p.shape} for {n} samples and class {self.index}")
        if p.min() < -ROUND_OFF or p.max() > 1.0 + ROUND_OFF:
            raise DataError(
                "predict_proba: returned values that are not between 0 and 1; turn scores into probabilities first"
            )
        return log(np.clip(p[:, self.index], float(self.floor), 1.0))


def log_likelihood(log_lik: Any, x: Array, name: str, *, whole: bool = True) -> Array:
    """Log l(x_i) for every row, evaluated in blocks; zeros when no likelihood is given, which makes it KLIEP.

    Not all rows of a ``whole`` sample may be −inf; those of a few new points may.
    """
    if log_lik is None:
        return np.zeros(x.shape[0])
    if callable(log_lik):
        starts = range(0, len(x), BLOCK_ROWS)
        parts = [
            as_vector(called(log_lik, name, x[i : i + BLOCK_ROWS]), name, len(x[i : i + BLOCK_ROWS]), log_weights="any")
            for i in starts
        ]
        log_lik = np.concatenate(parts)
    return as_vector(log_lik, name, x.shape[0], log_weights=True if whole else "any")
