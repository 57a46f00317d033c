"""Numbers that a problem can be made of: sizes of features, radii, and the origin that rows are taken relative to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .arrays import as_scalar, as_vector, frozen
from .entropy import Array
from .errors import DataError

__all__ = ["LARGEST", "LONGEST", "as_radii", "check_radius", "check_size", "check_tol", "looked_at", "origin_of"]

#: features, radii and weights are no larger, so that their squares are numbers; for δ and targets sums of them must be
LARGEST, LONGEST = 1e100, 1e150


def check_radius(radius: Any, name: str = "radius") -> float:
    """A radius that is a number and not negative."""
    R = as_scalar(radius, name)
    if R < 0.0:
        raise DataError(f"{name}: {R:g} is negative; 0 asks for exact moments, larger values relax them")
    if R > LARGEST:
        raise DataError(f"{name}: {R:g} is beyond {LARGEST:g}; rescale the features")
    return R


def as_radii(radii: Any, name: str = "radii") -> list[float]:
    """Radii in the order given."""
    numbers = as_vector(list(radii) if isinstance(radii, Iterator) else radii, name)
    return [check_radius(radius, name) for radius in numbers.tolist()]


def check_tol(tol: Any, name: str = "tol") -> float:
    """A tolerance between 0 and 1."""
    value = as_scalar(tol, name)
    if not 0.0 < value < 1.0:
        raise DataError(f"{name}: {value!r} is not between 0 and 1")
    return value


def check_size(F: Array, name: str = "features_q") -> None:
    """Squares of the features must be numbers: no column is below 1e-100 throughout."""
    sample = np.abs(F[:: max(1, len(F) // 1000)]).max(axis=0)
    tiny = np.flatnonzero((sample > 0.0) & (sample < 1.0 / LARGEST))
    if tiny.size:
        raise DataError(f"{name}: column {tiny[0]} has no number above {1.0 / LARGEST:g}; rescale it")


def looked_at(F: Array, name: str = "features_q") -> Array | None:
    """The origin of rows of which this is a sample, after a look at their size."""
    check_size(F, name)
    return origin_of(F)


def origin_of(F: Array) -> Array | None:
    """Column means, where they dwarf the spread so that logits would lose digits; otherwise nothing."""
    sample = F[:: max(1, len(F) // 1000)]
    mean, spread = sample.mean(axis=0), np.ptp(sample, axis=0)
    return frozen(mean) if np.any((np.abs(mean) > 100.0 * spread) & (spread > 0.0)) else None
