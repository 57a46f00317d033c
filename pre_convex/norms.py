"""Norms of the moment constraint: value, dual norm, projection, and the faces of the dual unit ball.

A norm ‖·‖ with radius R in [D] is the penalty R‖δ‖_* in [P]: ``norm=2`` shrinks δ, ``norm=inf`` gives an
ℓ1 penalty and a sparse δ, ``norm=1`` bounds the largest coefficient. A new norm is one class and one line
in ``NORMS``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import shown
from .entropy import Array
from .errors import DataError

__all__ = ["NORMS", "Norm", "get_norm"]


def length(x: Array, order: float) -> float:
    """‖x‖ of an order, also where squares are no numbers."""
    with np.errstate(over="ignore"):
        size = float(np.linalg.norm(x, order))
    if size < np.inf or not np.isfinite(x).all():
        return size
    top = float(np.abs(x).max())
    return top * float(np.linalg.norm(x / top, order))


class Norm(ABC):
    """A norm on moment residuals together with its dual norm on ratio parameters."""

    #: order as numpy and cvxpy know it, and the order of the dual norm
    order: float
    dual_order: float

    def __call__(self, r: Array) -> float:
        """‖r‖."""
        return length(r, self.order)

    def dual(self, delta: Array) -> float:
        """‖δ‖_* = max of ⟨r, δ⟩ over ‖r‖ ≤ 1."""
        return length(delta, self.dual_order)

    @abstractmethod
    def project(self, r: Array, radius: float) -> Array:
        """Euclidean projection of r on the ball ‖r‖ ≤ radius."""

    def project_in(self, r: Array, radius: float, unit: Array) -> Array:
        """Projection in the metric Σ (r_i − p_i)² / unit_i, where the norm has one; otherwise the Euclidean one."""
        return self.project(r, radius)

    def face(self, w: Array, scale: Array, radius: float) -> tuple[Array, Array] | None:
        """Face of ‖·‖_* that minimises Σ scale_i x_i²/2 − ⟨w, x⟩ + radius‖x‖_*, as (B, c).

        On it δ = B z and ‖δ‖_* = ⟨c, z⟩. For w = r + scale · x it is the guess of a primal-dual active-set
        method at x with residual r. ``None`` where the dual norm has no flat faces.
        """
        return None

    def on_face(self, z: Array, r: Array, face: tuple[Array, Array], radius: float) -> bool:
        """Whether z, with residual r, is optimal on the face (B, c): the signs agree and ‖r‖ ≤ radius."""
        raise NotImplementedError

    def vanishing(self, r: Array, slack: Array | float, radius: float) -> NDArray[np.bool_]:
        """Coordinates of δ that are zero for every residual within ``slack`` of r, coordinate by coordinate."""
        return np.zeros(r.size, dtype=bool)


class Euclidean(Norm):
    """‖r‖₂, its own dual."""

    order = dual_order = 2.0

    def project(self, r: Array, radius: float) -> Array:
        """Shrink towards zero."""
        length = self(r)
        return r if length <= radius else r * (radius / length)

    def project_in(self, r: Array, radius: float, unit: Array) -> Array:
        """Coordinate i divided by 1 + λ · unit_i, with the λ that brings the length down to the radius."""
        unit, level, p = unit / unit.max(), 0.0, r
        for _ in range(100):  # the length falls with λ and is convex, so that these steps never go beyond
            size = self(p)
            if size <= radius or not radius > 0.0:
                break
            slope = float((p * p) @ (unit / (1.0 + level * unit))) / size
            further = level + (size - radius) / slope if slope > 0.0 else np.inf
            if not level < further < np.inf:
                break
            level = further
            p = r / (1.0 + level * unit)
        return p if radius > 0.0 else np.zeros_like(r)


class Maximum(Norm):
    """‖r‖∞, dual to the ℓ1 norm of δ."""

    order, dual_order = np.inf, 1.0

    def project(self, r: Array, radius: float) -> Array:
        """Clip every coordinate."""
        return np.clip(r, -radius, radius)

    def face(self, w: Array, scale: Array, radius: float) -> tuple[Array, Array] | None:
        """Coordinates that are not zero, with their signs."""
        support = np.flatnonzero(np.abs(w) > radius)
        B = np.zeros((w.size, support.size))
        B[support, np.arange(support.size)] = 1.0
        return B, np.sign(w[support])

    def on_face(self, z: Array, r: Array, face: tuple[Array, Array], radius: float) -> bool:
        """Signs kept, and no residual beyond the radius."""
        return bool(np.all(z * face[1] > 0.0) and np.abs(r).max(initial=0.0) <= radius * (1 + 1e-10))

    def vanishing(self, r: Array, slack: Array | float, radius: float) -> NDArray[np.bool_]:
        """Those whose residual stays inside the ball."""
        return np.asarray(np.abs(r) + slack < radius)


class Taxicab(Norm):
    """‖r‖₁, dual to the largest coefficient of δ."""

    order, dual_order = 1.0, np.inf

    def project(self, r: Array, radius: float) -> Array:
        """Soft threshold at the level that brings the sum of absolute values down to the radius."""
        return self.project_in(r, radius, np.ones_like(r))

    def project_in(self, r: Array, radius: float, unit: Array) -> Array:
        """Soft threshold at a level that is a multiple of the coordinate's unit."""
        size, unit = np.abs(r), unit / unit.max()
        if size.sum() <= radius:
            return r
        if radius <= 0.0:
            return np.zeros_like(r)
        order = np.argsort(-size / unit)
        excess = (np.cumsum(size[order]) - radius) / np.cumsum(unit[order])
        above = np.flatnonzero(size[order] > excess * unit[order])  # empty where the radius is round-off of r
        level = excess[above[-1]] if above.size else (size / unit).max()
        return np.asarray(np.sign(r) * np.maximum(size - level * unit, 0.0))

    def face(self, w: Array, scale: Array, radius: float) -> tuple[Array, Array] | None:
        """Coordinates of largest size, which move together; the others are free.

        The common size σ solves Σ_i (|w_i| − scale_i σ)₊ = radius; coordinates with a positive part are tied.
        """
        size = np.abs(w)
        ratio = np.where(size > 1e-12 * radius, np.inf, 0.0)  # without curvature, all or nothing
        with np.errstate(over="ignore"):
            ratio = np.divide(size, scale, out=ratio, where=scale > 0.0)
        order = np.argsort(-ratio)
        with np.errstate(over="ignore"):  # without curvature, all or nothing again
            level = (np.cumsum(size[order]) - radius) / np.maximum(np.cumsum(scale[order]), 1e-300)
        level = np.minimum(level, np.finfo(float).max)  # below a ratio without curvature
        beyond = np.flatnonzero(ratio[order] > level)
        count = int(beyond[-1]) + 1 if beyond.size else w.size
        tied = np.zeros(w.size, dtype=bool)
        tied[order[:count]] = True
        free = np.flatnonzero(~tied)
        B = np.zeros((w.size, 1 + free.size))
        B[tied, 0] = np.sign(w[tied])
        B[free, 1 + np.arange(free.size)] = 1.0
        c = np.zeros(1 + free.size)
        c[0] = 1.0
        return B, c

    def on_face(self, z: Array, r: Array, face: tuple[Array, Array], radius: float) -> bool:
        """No coordinate beyond the tied ones, and the residual of those on the side of their signs."""
        lead = face[0][:, 0]
        inside = np.all(np.abs(z[1:]) <= z[0]) and self(r) <= radius * (1 + 1e-10)
        return bool(z[0] > 0.0 and inside and np.all(r * lead >= -1e-12 * radius))


NORMS: dict[float, Norm] = {2.0: Euclidean(), np.inf: Maximum(), 1.0: Taxicab()}


def get_norm(order: Any) -> Norm:
    """Norm by its order.

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
    except Exception:  # as many types of error as there are types that are not numbers
        known = ", ".join(f"{p:g}" for p in NORMS)
        raise DataError(f"norm: {shown(order)} is not known; use one of {known}") from None
