"""Numbers that a problem can be made of: sizes of features, radii, and the origin that rows are taken relative to."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import as_scalar, frozen, square_sum
from .entropy import Array
from .errors import DataError

__all__ = ["check_radius", "check_size", "looked_at", "origin_of"]


def check_radius(radius: Any) -> float:
    """A radius that is a number and not negative."""
    R = as_scalar(radius, "radius")
    if R < 0.0:
        raise DataError(f"radius: {R:g} is negative; 0 asks for exact moments, larger values relax them")
    return R


def check_size(F: Array) -> None:
    """Squares of the features must be numbers: no size beyond 1e100, none below 1e-100 throughout."""
    sample = np.abs(F[:: max(1, len(F) // 1000)]).max(axis=0)
    tiny = np.flatnonzero((sample > 0.0) & (sample < 1e-100))
    large = not square_sum(F) <= 1e200 and max(float(F.max()), -float(F.min())) > 1e100
    if large or tiny.size:
        raise DataError("features_q: has numbers beyond 1e100 or a column below 1e-100; rescale the columns")


def looked_at(F: Array) -> Array | None:
    """The origin of rows of which this is a sample, after a look at their size."""
    check_size(F)
    return origin_of(F)


def origin_of(F: Array) -> Array | None:
    """Column means, where they dwarf the spread so that logits would lose digits; otherwise nothing."""
    sample = F[:: max(1, len(F) // 1000)]
    mean, spread = sample.mean(axis=0), np.ptp(sample, axis=0)
    return frozen(mean) if np.any((np.abs(mean) > 100.0 * spread) & (spread > 0.0)) else None
