"""Log-likelihoods log l(x) of prior samples: an array, a function, one of the classes here, or none."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._internal.entropy import safe_log
from .._internal.typing import Array
from .._internal.validation import (
    as_block,
    as_floats,
    as_matrix,
    as_numbers,
    as_scalar,
    as_vector,
    call_user_function,
    column_names,
    preview,
)
from ..errors import DataError

__all__ = ["ClassProbability", "Gaussian", "log_likelihood"]

#: how far probabilities may leave [0, 1]: round-off of single precision, with a margin
ROUND_OFF = 1e-4
#: rows a likelihood is evaluated on at a time
BLOCK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class Gaussian:
    """log N(y; x, Σ) up to a constant: x is observed as y with Gaussian noise of covariance Σ.

    Parameters
    ----------
    observation : array of shape (d,) or (m, d)
        y; several rows are several observations of the same x.
    precision : float or array of shape (d,), optional
        Inverse variance, positive: the same for every coordinate or one for each. It is 1 if neither precision nor
        covariance is given.
    covariance : array of shape (d, d), optional
        Full covariance Σ, symmetric positive definite, instead of a precision.

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
        _ = self._root  # validates all arguments
        for name in ("observation", "precision", "covariance"):  # the caller may edit a list or an array later
            object.__setattr__(self, name, deepcopy(getattr(self, name)))

    @cached_property
    def _observations(self) -> Array:
        """Observations as rows."""
        y = np.array(as_numbers(self.observation, "observation"), ndmin=2)
        if y.ndim != 2 or y.size == 0 or not np.all(np.isfinite(y)):
            raise DataError("observation", "is not finite, or has no entries", "pass one number for each column of x")
        return y

    @cached_property
    def _root(self) -> Array:
        """Square root A of the precision matrix: Σ⁻¹ = A A'."""
        d = self._observations.shape[1]
        if self.covariance is None:
            tau = as_numbers(1.0 if self.precision is None else self.precision, "precision")
            if tau.ndim > 1 or (tau.ndim == 1 and tau.size != d):
                raise DataError("precision", f"has shape {tau.shape}", f"pass one number or {d}")
            if not np.all(np.isfinite(tau)) or np.any(tau <= 0.0):
                raise DataError(
                    "precision", f"{preview(self.precision)} is not positive", "pass positive inverse variances"
                )
            return np.diag(np.broadcast_to(np.sqrt(tau), (d,)))
        if self.precision is not None:
            raise DataError("precision", "is given together with a covariance", "pass one of them")
        S = as_matrix(self.covariance, "covariance")
        if S.shape != (d, d) or not np.allclose(S, S.T):
            reason = f"is not a symmetric matrix of shape ({d}, {d})"
            raise DataError("covariance", reason, "pass one row and column for each entry of an observation")
        try:
            return np.asarray(np.linalg.inv(np.linalg.cholesky(S)).T)
        except np.linalg.LinAlgError:
            raise DataError("covariance", "is not positive definite", "pass a covariance of full rank") from None

    def __call__(self, x: Array) -> Array:
        """Log-likelihood of every row of x.

        Parameters
        ----------
        x : array of shape (n, d)
            A block of samples, one per row.

        Returns
        -------
        ndarray of shape (n,)
        """
        y, root, x = self._observations, self._root, as_block(x)
        if x.shape[1] != y.shape[1]:
            reason = f"has {y.shape[1]} entries, the samples have {x.shape[1]} columns"
            raise DataError("observation", reason, "pass one number for each column of x")
        # Σ_r |y_r − x|² = m |x − ȳ|² + Σ_r |y_r − ȳ|²; the second term makes values comparable between observations
        with np.errstate(over="ignore", invalid="ignore"):  # a row may be so far away that −inf is right
            centre = y.mean(axis=0)
            spread = float(np.square((y - centre) @ root).sum())
            return np.asarray(-0.5 * (len(y) * np.square((x - centre) @ root).sum(axis=1) + spread))


@dataclass(frozen=True, eq=False)
class ClassProbability:
    """log P(class | x) of a classifier, so that the posterior is the distribution of x within a class.

    Parameters
    ----------
    predict_proba : callable
        Maps samples of shape (n, d) to probabilities of shape (n, classes), like scikit-learn's classifiers.
    index : int
        Column of the class.
    floor : float, default 1e-12
        Smallest probability, at least 0 and below 1; it keeps an overconfident classifier from excluding a sample.

    Examples
    --------
    >>> ClassProbability(lambda x: np.column_stack([x, 1.0 - x]), 0)(np.array([[1.0]]))
    array([0.])
    """

    predict_proba: Callable[[Array], Any]
    index: int
    floor: float = 1e-12

    def __post_init__(self) -> None:
        if not callable(self.predict_proba) or isinstance(self.predict_proba, type):
            reason = f"{preview(self.predict_proba)} is not a function of samples"
            raise DataError("predict_proba", reason, "pass model.predict_proba")
        if not isinstance(self.index, int | np.integer) or isinstance(self.index, bool):
            raise DataError("index", f"{preview(self.index)} is not an int", "pass the column of the class")
        if not 0.0 <= as_scalar(self.floor, "floor") < 1.0:
            reason = f"{preview(self.floor)} is not a probability below 1"
            raise DataError("floor", reason, "pass a small number such as 1e-12")

    def __call__(self, x: Array) -> Array:
        """Log-probability of the class for every row of x.

        Parameters
        ----------
        x : array of shape (n, d)
            A block of samples, one per row.

        Returns
        -------
        ndarray of shape (n,)
        """
        x = as_block(x) if column_names(x) is None else x  # the model may need the data frame
        p, n = as_matrix(call_user_function(self.predict_proba, "predict_proba", x), "predict_proba"), len(x)
        if len(p) != n or not -p.shape[1] <= self.index < p.shape[1]:
            reason = f"returned shape {p.shape} for {n} samples and class {self.index}"
            raise DataError("predict_proba", reason, "return one row per sample and one column per class")
        if p.min() < -ROUND_OFF or p.max() > 1.0 + ROUND_OFF:
            reason = "returned values outside [0, 1]"
            raise DataError("predict_proba", reason, "turn scores into probabilities first")
        return safe_log(np.clip(p[:, self.index], float(self.floor), 1.0))


def log_likelihood(log_lik: Any, x: Array, name: str, *, whole: bool = True) -> Array:
    """Log-likelihood of every row of x, evaluated in blocks; zeros if there is none, which makes it KLIEP.

    All rows may be −inf only if they are not a ``whole`` sample.
    """
    if log_lik is None:
        return np.zeros(x.shape[0])
    if callable(log_lik):
        values = []
        for start in range(0, len(x), BLOCK_ROWS):
            block = as_floats(x[start : start + BLOCK_ROWS])
            result = call_user_function(log_lik, name, block)
            values.append(as_vector(result, name, len(block), log_weights="any", start=start))
        log_lik = np.concatenate(values)
    return as_vector(log_lik, name, x.shape[0], log_weights=True if whole else "any")
