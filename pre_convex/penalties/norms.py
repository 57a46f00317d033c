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

#: a norm below this may have lost squares to underflow
SMALL = 1e-140


def p_norm(x: Array, order: float) -> float:
    """‖x‖ of the given order; survives overflow and underflow of squares."""
    with np.errstate(over="ignore"):
        size = float(np.linalg.norm(x, order))
    if SMALL < size < np.inf:
        return size
    top = float(np.abs(x).max(initial=0.0))
    return top * float(np.linalg.norm(x / top, order)) if 0.0 < top < np.inf else size


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


class Euclidean(Norm):
    """‖r‖₂, its own dual."""

    order = dual_order = 2.0

    def project(self, r: Array, radius: float) -> Array:
        """Shrink towards zero."""
        size = self(r)
        return r if size <= radius else r * (radius / size)


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
        size = np.abs(r)
        if size.sum() <= radius:
            return r
        if radius <= 0.0:
            return np.zeros_like(r)
        ordered = np.sort(size)[::-1]
        excess = (np.cumsum(ordered) - radius) / np.arange(1, r.size + 1)
        above = np.flatnonzero(ordered > excess)  # empty if the radius is below the round-off of r
        level = excess[above[-1]] if above.size else ordered[0]
        return np.asarray(np.sign(r) * np.maximum(size - level, 0.0))


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
