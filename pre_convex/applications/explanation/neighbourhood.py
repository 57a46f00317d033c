"""Neighbourhoods of x: named features, random points, and the inputs of the black box.

A perturbation is a recipe with ``around(x)``, which returns a :class:`Neighbourhood`. Its features z are numbers in
which x itself is ``origin``. Perturbations are bounded by default: the ratio of the two classes is then bounded too,
and intervals keep their coverage as long as every feature varies often enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._internal.typing import Array
from ..._internal.validation import as_matrix, as_vector
from ...errors import DataError

__all__ = ["CoinFlips", "Neighbourhood", "Perturbation", "dimensions", "on_off_rows", "rms_distance"]


class Neighbourhood(Protocol):
    """Random points around x."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""

    @property
    def origin(self) -> Array:
        """Features of x itself, shape (k,)."""

    @property
    def unit(self) -> Array:
        """A typical step of each feature, shape (k,)."""

    @property
    def block_size(self) -> int:
        """Number of inputs to make and predict at a time."""

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Features z of n random points, shape (n, k)."""

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """Inputs of the black box for features z."""

    def encode(self, rows: Any) -> Array:
        """Features z of points that the user passes."""


class Perturbation(Protocol):
    """A recipe for random points around any x."""

    def around(self, x: Any) -> Neighbourhood:
        """The neighbourhood of x."""


@dataclass(frozen=True)
class CoinFlips:
    """Draws on/off features: ones with probability ``keep``, otherwise zeros, in ``count`` columns."""

    count: int
    keep: float

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """A sample of n rows."""
        return (rng.random((n, self.count)) < self.keep).astype(float)


def rms_distance(z: Array, near: Neighbourhood) -> Array:
    """Distance of points from x in typical steps: root mean square over the features, shape (n,)."""
    return np.asarray(np.sqrt(np.square((z - near.origin) / near.unit).mean(axis=1)))


def dimensions(x: Any) -> int:
    """Number of dimensions; −1 if x is not an array, such as rows of different lengths."""
    try:
        return np.ndim(x)
    except Exception:
        return -1


def on_off_rows(rows: Any, count: int, kind: str) -> Array:
    """Rows of ones and zeros, one column for each of ``count`` on/off features; a vector is one row."""
    z = as_vector(rows, "z")[None, :] if dimensions(rows) == 1 else as_matrix(rows, "z")
    if z.shape[1] != count:
        raise DataError("z", f"has {z.shape[1]} columns for {count} {kind}", f"pass {count} columns of ones and zeros")
    if not np.isin(z, (0.0, 1.0)).all():
        raise DataError("z", f"holds other values than 1 ({kind} on) and 0 (off)", "pass rows of ones and zeros")
    return z
