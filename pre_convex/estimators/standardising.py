"""Standardising: the radius in standard deviations of the features instead of in their units."""

from __future__ import annotations

from functools import partial
from operator import add
from typing import Any

import numpy as np

from .._internal.typing import Array, Mask
from .._internal.validation import read_only
from ..data.features import Concatenation, FeatureMap
from ..data.kernels import Kernel
from ..data.passes import tilt
from ..data.rows import Rows
from ..data.scaled import Scaled
from ..problem import RatioProblem

__all__ = ["feature_units", "in_units", "kernel_features", "kernels_of", "own_scale", "parts_of"]

#: share of a mean below which a standard deviation is round-off
ROUND_OFF = 1e-13


def parts_of(features: FeatureMap) -> tuple[FeatureMap, ...]:
    """The maps of a concatenation, or the map itself."""
    return features.parts if isinstance(features, Concatenation) else (features,)


def kernels_of(features: FeatureMap) -> list[Kernel]:
    """The kernels among the maps."""
    return [part for part in parts_of(features) if isinstance(part, Kernel)]


def feature_units(problem: RatioProblem, features: FeatureMap) -> Array:
    """Standard deviation of every q feature under the base weights, the unit of the radius.

    A feature that is constant on the q side has that of the p side, or one. Kernel features have one: their Euclidean
    norm is that of the RKHS, which no column may change; nor are those of :class:`Scaled` maps changed.

    Parameters
    ----------
    problem : RatioProblem
    features : FeatureMap
        The map that made the features of the problem.

    Returns
    -------
    ndarray of shape (k,)
    """
    unit = _spread(problem.rows)
    if problem.rows_p is not None and not unit.all():
        unit = np.where(unit > 0.0, unit, _spread(problem.rows_p))
    return read_only(np.where((unit > 0.0) & ~own_scale(features, problem.k), unit, 1.0))


def kernel_features(features: FeatureMap, k: int) -> Mask:
    """Which of the k features are those of kernels."""
    parts = parts_of(features.part if isinstance(features, Scaled) else features)
    kernels = [part for part in parts if isinstance(part, Kernel)]
    if not kernels or len(kernels) == len(parts):
        return np.full(k, bool(kernels))
    first: Any = kernels[0]
    widths = [np.shape(part(first.points[:1]))[1] for part in parts]
    return np.repeat([isinstance(part, Kernel) for part in parts], widths)


def in_units(function: Any, unit: Array) -> Any:
    """A user's function of δ as a function of the δ of features that are divided by their units."""
    if not callable(function) or np.all(unit == 1.0):
        return function
    return partial(_of_units, function=function, unit=unit)


def _of_units(delta: Any, function: Any, unit: Array) -> Any:
    """The function at δ in the units of the features, as a cvxpy expression."""
    return function(delta / unit)


def _spread(rows: Rows) -> Array:
    """Standard deviation of every column under the base weights, from two passes; zero where it is only round-off."""
    mean = tilt(rows, np.zeros(rows.shape[1]), covariance=False).mean
    variance = rows.reduce(partial(_squares, mean=mean), add)
    spread = np.sqrt(variance)
    at = np.abs(mean + (0.0 if rows.origin is None else rows.origin))
    return np.asarray(np.where(spread > ROUND_OFF * at, spread, 0.0))


def _squares(rows: Rows, mean: Array) -> Array:
    """Σ_j exp(a_j) (F_j − mean)² of a block; the mean is relative to the origin of the rows."""
    total = np.zeros(rows.shape[1])
    for chunk, f in rows.chunks():
        total += np.exp(rows.log_base[chunk]) @ np.square(f - mean)
    return total


def own_scale(features: FeatureMap, k: int) -> Mask:
    """Which of the k features have a scale of their own: those of kernels and of ``features="auto"``."""
    parts = parts_of(features)
    own = [part for part in parts if isinstance(part, Kernel | Scaled)]
    if not own or len(own) == len(parts):
        return np.full(k, bool(own))
    first: Any = own[0]
    point = first.centre[None] if type(first) is Scaled else first.points[:1]  # every map works there
    widths = [np.shape(part(point))[1] for part in parts]
    return np.repeat([isinstance(part, Kernel | Scaled) for part in parts], widths)
