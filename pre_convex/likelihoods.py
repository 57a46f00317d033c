"""Log-likelihoods log l(x) of prior samples, given as an array, a function, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import as_scalar, as_vector
from .entropy import Array
from .errors import DataError

__all__ = ["Gaussian", "log_likelihood"]


@dataclass(frozen=True)
class Gaussian:
    """log N(y; x, I / precision) up to a constant: the latent x observed with Gaussian noise.

    Examples
    --------
    >>> Gaussian([1.0, 0.0], precision=2.0)(np.zeros((1, 2)))
    array([-1.])
    """

    observation: Sequence[float]
    precision: float = 1.0

    def __post_init__(self) -> None:
        if as_scalar(self.precision, "precision") <= 0.0:
            raise DataError(f"precision: {self.precision} is not positive")
        as_vector(self.observation, "observation")

    def __call__(self, x: Array) -> Array:
        """Log-likelihood of every row of x."""
        y = as_vector(self.observation, "observation", x.shape[1])
        return np.asarray(-0.5 * self.precision * np.square(x - y).sum(axis=1))


def log_likelihood(log_lik: Any, x: Array, name: str) -> Array:
    """Log l(x_i) for every row; zeros when no likelihood is given, which makes the problem KLIEP."""
    if log_lik is None:
        return np.zeros(x.shape[0])
    values = log_lik(x) if callable(log_lik) else log_lik
    return as_vector(values, name, x.shape[0], log_weights=True)
