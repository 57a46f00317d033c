"""Feature maps f(x): samples in, one named column for each feature out.

A feature map is anything with ``__call__(x) -> (n, k)`` and ``names(columns)``. Adding one is a class here
and, if it should have a name of its own, a line in ``FEATURES``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .entropy import Array
from .errors import DataError

__all__ = ["FEATURES", "FeatureMap", "FromCallable", "Linear", "Polynomial", "make_features"]


@runtime_checkable
class FeatureMap(Protocol):
    """f(x) for a block of samples, and a name for every column of the result."""

    def __call__(self, x: Array) -> Array:
        """Features of the rows of x, shape (n, k)."""

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Names of the k features, given the names of the columns of x."""


@dataclass(frozen=True)
class Linear:
    """f(x) = x."""

    def __call__(self, x: Array) -> Array:
        """The samples themselves."""
        return x

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The column names themselves."""
        return tuple(columns)


@dataclass(frozen=True)
class Polynomial:
    """f(x) = [x, x², …, x^degree], powers taken element by element.

    Examples
    --------
    >>> Polynomial()(np.array([[2.0, 3.0]]))
    array([[2., 3., 4., 9.]])
    >>> Polynomial().names(["u", "v"])
    ('u', 'v', 'u^2', 'v^2')
    """

    degree: int = 2

    def __post_init__(self) -> None:
        if not isinstance(self.degree, int) or self.degree < 1:
            raise DataError(f"degree: {self.degree!r} is not a whole number of at least 1")

    def __call__(self, x: Array) -> Array:
        """Powers side by side."""
        return np.concatenate([x**power for power in range(1, self.degree + 1)], axis=1)

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """``u``, then ``u^2`` and so on."""
        powers = range(1, self.degree + 1)
        return tuple(c if power == 1 else f"{c}^{power}" for power in powers for c in columns)


@dataclass(frozen=True)
class FromCallable:
    """Any function of a block of samples; a one-dimensional result is one feature."""

    function: Callable[[Array], Any]

    def __call__(self, x: Array) -> Array:
        """The function's result as a matrix with one row for each sample."""
        result = np.asarray(self.function(x))
        if result.ndim == 1:
            result = result[:, None]
        if result.ndim != 2 or result.shape[0] != x.shape[0]:
            raise DataError(f"features: returned shape {result.shape} for {x.shape[0]} samples; return shape (n, k)")
        return result

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Not known before the function has run."""
        return ()


FEATURES: dict[str, Callable[[], FeatureMap]] = {"linear": Linear, "polynomial": Polynomial}


def make_features(features: Any) -> FeatureMap:
    """Feature map from a name, a map, or a function."""
    if isinstance(features, str):
        if features not in FEATURES:
            raise DataError(f"features: {features!r} is not known; use one of {', '.join(FEATURES)}, or a function")
        return FEATURES[features]()
    if isinstance(features, FeatureMap):
        return features
    if callable(features):
        return FromCallable(features)
    raise DataError(f"features: {features!r} is neither a name, a feature map nor a function")
