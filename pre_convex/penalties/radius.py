"""The radius of the moment constraint: one number R with a norm, or one R_i for each feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._internal.typing import Array
from .._internal.validation import MAX_ENTRY, as_numbers, check_length, check_radius, preview, read_only
from ..errors import DataError
from .norms import Norm

__all__ = ["as_radius", "radius_excess", "radius_value"]


def as_radius(radius: Any, names: tuple[str, ...]) -> float | Array:
    """One number R ≥ 0, or an array with one R_i for each feature, from a number, an array or a mapping by name.

    In an array, zero matches a feature exactly and infinity leaves it out. Features that a mapping does not name get
    the value of its key ``...``, or zero.

    Examples
    --------
    >>> as_radius({"age": 0.1, ...: 0.02}, ("age", "dose"))
    array([0.1 , 0.02])
    """
    if isinstance(radius, Mapping):
        unknown = [name for name in radius if name is not ... and name not in names]
        if unknown:
            known = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
            raise DataError("radius", f"{preview(unknown[0])} is not a feature", f"use some of {known}")
        others = radius.get(..., 0.0)
        radius = [_one_radius(radius.get(name, others)) for name in names]
    elif np.ndim(radius) == 0:
        return check_radius(radius)
    values = as_numbers(radius, "radius")
    if values.ndim != 1:
        raise DataError("radius", f"has shape {values.shape}", "pass one number, or one for each feature")
    check_length(values.size, len(names), "radius")
    for i in np.flatnonzero(~((values >= 0.0) & ((values <= MAX_ENTRY) | (values == np.inf))))[:1]:
        reason = f"the entry of {names[i]} is {values[i]:g}"
        raise DataError("radius", reason, "pass 0 for an exact moment, more to relax it, inf to leave it out")
    if np.all(values == np.inf):
        raise DataError("radius", "leaves all features out", "pass a finite number for at least one feature")
    return read_only(values.copy())


def _one_radius(x: Any) -> float:
    """One entry of a mapping."""
    return np.inf if isinstance(x, float) and x == np.inf else check_radius(x)


def radius_value(radius: float | Array, norm: Norm, delta: Array) -> float:
    """R‖δ‖_*, or Σ R_i|δ_i|; infinite if δ uses a feature that is left out."""
    if np.ndim(radius) == 0:
        return float(radius) * norm.dual(delta) if radius else 0.0
    used = delta != 0.0
    return float(np.asarray(radius)[used] @ np.abs(delta[used]))


def radius_excess(radius: float | Array, norm: Norm, r: Array) -> float:
    """(‖r‖ − R)₊, or the largest (|r_i| − R_i)₊."""
    if np.ndim(radius) == 0:
        return max(norm(r) - float(radius), 0.0)
    return float(np.maximum(np.abs(r) - radius, 0.0).max())
