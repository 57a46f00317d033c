"""Penalty: the interface of g(δ) that solvers and certificates use."""

from __future__ import annotations

from typing import Protocol

from .._internal.typing import Array

__all__ = ["Penalty"]


class Penalty(Protocol):
    """A convex penalty g(δ), with constraints included as its indicator.

    ``relaxed`` is true if g* is zero around a residual, so that it need not be hit exactly.
    """

    relaxed: bool

    def value(self, delta: Array) -> float:
        """g(δ)."""

    def violation(self, delta: Array) -> float:
        """Largest violation of a constraint at δ."""

    def trial(self, delta: Array, r: Array, H: Array, margin: Array) -> tuple[Array, float] | None:
        """The residual r' to lift to, and its slack: an upper bound of g(δ) + g*(r') − ⟨r', δ⟩, at least zero.

        ``None`` if there is no such residual. ``r`` is the residual of μ(δ), and moving it by u costs about ½ u'H⁻¹u. A
        lift hits r' up to ``margin`` in each coordinate; if g* is an indicator, it has to be zero there too.
        """

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Minimiser of ⟨gradient, x − δ⟩ + ½(x − δ)'H(x − δ) + g(x), [STEP]."""

    def start(self, k: int) -> Array:
        """A point where g is finite, zero if possible."""
