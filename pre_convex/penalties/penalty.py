"""Penalty: the interface of g(δ) that solvers and certificates use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .._internal.typing import Array

if TYPE_CHECKING:
    from ..certificate.lift import Lift, LiftByPasses

__all__ = ["Penalty"]


class Penalty(Protocol):
    """A convex penalty g(δ), with constraints included as its indicator."""

    def value(self, delta: Array) -> float:
        """g(δ)."""

    def violation(self, delta: Array) -> float:
        """Largest violation of a constraint at δ."""

    def gap(self, delta: Array, r: Array, lift: Lift | LiftByPasses) -> float:
        """Proven duality gap of δ, whose tilted weights have the residual r; inf if nothing is proven."""

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Minimiser of ⟨gradient, x − δ⟩ + ½(x − δ)'H(x − δ) + g(x), [STEP]."""

    def start(self, k: int) -> Array:
        """A point where g is finite, zero if possible."""

    def shorten(self, delta: Array, null: Array) -> Array:
        """Shortest point of δ + span(null) where g is no larger than at δ; the columns of null are orthonormal."""
