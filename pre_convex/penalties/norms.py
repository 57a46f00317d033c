"""Norms of the moment constraint: value, dual norm, and projection on the ball.

A norm ‖·‖ with radius R in [D] is the penalty R‖δ‖_* in [P]: ``norm=2`` shrinks δ, ``norm=inf`` gives an
ℓ1 penalty and a sparse δ, ``norm=1`` penalises the largest coefficient. To add a norm, write one class, add one
line to ``NORMS``, and write its penalty in this folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._internal.typing import Array
from .._internal.validation import preview
from ..errors import DataError

__all__ = ["NORMS", "Norm", "get_norm"]


def p_norm(x: Array, order: float) -> float:
    """‖x‖ of the given order; survives overflow of squares."""
    with np.errstate(over="ignore"):
        size = float(np.linalg.norm(x, order))
    if size < np.inf or not np.isfinite(x).all():
        return size
    top = float(np.abs(x).max())
    return top * float(np.linalg.norm(x / top, order))


class Norm(ABC):
    """A norm on moment residuals together with its dual norm on ratio parameters."""

    #: order of the norm and of its dual, as in ``np.linalg.norm`` and ``cp.norm``
    order: float
    dual_order: float

    def __call__(self, r: Array) -> float:
        """‖r‖."""
        return p_norm(r, self.order)

    def dual(self, delta: Array) -> float:
        """‖δ‖_* = max of ⟨r, δ⟩ over ‖r‖ ≤ 1."""
        return p_norm(delta, self.dual_order)

    @abstractmethod
    def project(self, r: Array, radius: float) -> Array:
        """Euclidean projection of r on the ball ‖r‖ ≤ radius."""

    def project_weighted(self, r: Array, radius: float, variances: Array) -> Array:
        """Projection in the metric Σ (r_i − p_i)² / variances_i; by default the Euclidean one."""
        return self.project(r, radius)


class Euclidean(Norm):
    """‖r‖₂, its own dual."""

    order = dual_order = 2.0

    def project(self, r: Array, radius: float) -> Array:
        """Shrink towards zero."""
        size = self(r)
        return r if size <= radius else r * (radius / size)

    def project_weighted(self, r: Array, radius: float, variances: Array) -> Array:
        """Coordinate i divided by 1 + λ · variances_i, with the λ that brings the length down to the radius."""
        unit, level, p = variances / variances.max(), 0.0, r
        for _ in range(100):  # the length is convex and falls with λ, so that Newton steps never overshoot
            size = self(p)
            if size <= radius or not radius > 0.0:
                break
            slope = float((p * p) @ (unit / (1.0 + level * unit))) / size
            next_level = level + (size - radius) / slope if slope > 0.0 else np.inf
            if not level < next_level < np.inf:
                break
            level = next_level
            p = r / (1.0 + level * unit)
        return p if radius > 0.0 else np.zeros_like(r)


class Maximum(Norm):
    """‖r‖∞, dual to the ℓ1 norm of δ."""

    order, dual_order = np.inf, 1.0

    def project(self, r: Array, radius: float) -> Array:
        """Clip every coordinate."""
        return np.clip(r, -radius, radius)


class Taxicab(Norm):
    """‖r‖₁, dual to the largest coefficient of δ."""

    order, dual_order = 1.0, np.inf

    def project(self, r: Array, radius: float) -> Array:
        """Soft threshold at the level that brings the sum of absolute values down to the radius."""
        return self.project_weighted(r, radius, np.ones_like(r))

    def project_weighted(self, r: Array, radius: float, variances: Array) -> Array:
        """Soft threshold at a level proportional to the variance of the coordinate."""
        size, unit = np.abs(r), variances / variances.max()
        if size.sum() <= radius:
            return r
        if radius <= 0.0:
            return np.zeros_like(r)
        order = np.argsort(-size / unit)
        excess = (np.cumsum(size[order]) - radius) / np.cumsum(unit[order])
        above = np.flatnonzero(size[order] > excess * unit[order])  # empty if the radius is below the round-off of r
        level = excess[above[-1]] if above.size else (size / unit).max()
        return np.asarray(np.sign(r) * np.maximum(size - level * unit, 0.0))


NORMS: dict[float, Norm] = {2.0: Euclidean(), np.inf: Maximum(), 1.0: Taxicab()}


def get_norm(order: Any) -> Norm:
    """Norm by its order: 2, inf or 1, as a number or as text.

    Examples
    --------
    >>> import numpy as np
    >>> get_norm("inf").dual(np.array([3.0, -4.0]))
    7.0
    """
    try:
        if isinstance(order, bool | np.bool_) or np.ndim(order) or order is np.ma.masked:
            raise TypeError
        return NORMS[float(order)]
    except Exception:  # float() of an arbitrary object may raise anything
        known = ", ".join(f"{p:g}" for p in NORMS)
        raise DataError("norm", f"{preview(order)} is not a known norm", f"use one of {known}") from None
