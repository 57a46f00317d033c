"""Penalty: the interface of g(δ) that solvers and certificates use."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from .._internal.typing import Array, Index

__all__ = ["Penalty", "UnrelaxedPenalty"]


class Penalty(Protocol):
    """A convex penalty g(δ), with constraints included as its indicator.

    If ``relaxed``, g* is the indicator of a set with interior, and a certificate may end anywhere in it: it tries
    :meth:`directions` and asks for the :meth:`slack` of what they give. Otherwise it has to hit :meth:`trial`.
    """

    #: whether a certificate may end anywhere in a set with interior, see above
    relaxed: bool
    #: whether g(tδ) = t g(δ) for t > 0, so that δ itself may prove a problem infeasible
    homogeneous: bool

    def value(self, delta: Array) -> float:
        """g(δ)."""

    def violation(self, delta: Array) -> float:
        """Largest violation of a constraint at δ."""

    def trial(self, delta: Array, r: Array, H: Array) -> tuple[Array, float] | None:
        """The residual r' to lift to, and its slack: an upper bound of g(δ) + g*(r') − ⟨r', δ⟩, at least zero.

        ``None`` if there is no such residual. ``r`` is the residual of μ(δ), and moving it by u costs about ½ u'H⁻¹u.
        """

    def directions(self, delta: Array, r: Array, H: Array) -> Iterable[Array]:
        """Directions d of a lift, which moves the residual to about r − Hd; the most promising first."""

    def slack(self, delta: Array, r: Array, margin: Array) -> float:
        """g(δ) + g*(r) − ⟨r, δ⟩ if g* is zero everywhere within the margin of r, otherwise infinity."""

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Minimiser of ⟨gradient, x − δ⟩ + ½(x − δ)'H(x − δ) + g(x), [STEP]."""

    def start(self, k: int) -> Array:
        """A point where g is finite, zero if possible."""

    def unpenalised(self, k: int) -> Index:
        """Coordinates that g does not depend on."""


class UnrelaxedPenalty:
    """What penalties share that are not relaxed: there are no directions to try."""

    relaxed = homogeneous = False

    def directions(self, delta: Array, r: Array, H: Array) -> Iterable[Array]:
        """None."""
        return ()

    def slack(self, delta: Array, r: Array, margin: Array) -> float:
        """Infinity."""
        return math.inf

    def unpenalised(self, k: int) -> Index:
        """None."""
        return np.zeros(0, dtype=np.intp)
