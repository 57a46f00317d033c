"""Penalty: the interface of g(δ) that solvers and certificates use."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from .._internal.typing import Array, Index

__all__ = ["Penalty", "Trial", "UserTerms"]


class Trial(NamedTuple):
    """A residual r' to lift to.

    Attributes
    ----------
    residual : ndarray of shape (k,)
        r'.
    slack : float
        Upper bound of g(δ) + g*(r') − ⟨r', δ⟩, at least zero.
    error : ndarray of shape (k,)
        The slack is that of a residual that differs from r' by no more than this.
    """

    residual: Array
    slack: float
    error: Array


class Penalty(Protocol):
    """A convex penalty g(δ), with constraints included as its indicator."""

    #: whether g(tδ) = t g(δ) for t > 0, so that δ itself may prove a problem infeasible
    homogeneous: bool

    def value(self, delta: Array) -> float:
        """g(δ)."""

    def violation(self, delta: Array) -> float:
        """Largest violation of a constraint at δ."""

    def trial(self, delta: Array, r: Array, H: Array, margin: Array) -> Trial | None:
        """The residual to lift to; ``None`` if there is none.

        The slack has to hold for all residuals within the margin of r', except in coordinates that are :meth:`exact`.
        ``r`` is the residual of μ(δ), and moving it by u costs about ½ u'H⁻¹u.
        """

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Minimiser of ⟨gradient, x − δ⟩ + ½(x − δ)'H(x − δ) + g(x), [STEP]."""

    def start(self, k: int) -> Array:
        """A point where g is finite, zero if possible."""

    def unpenalised(self, k: int) -> Index:
        """Coordinates that g does not depend on."""

    def exact(self, k: int) -> Index:
        """Coordinates whose moments are matched, to the last digits of the data if columns depend on others."""


class UserTerms:
    """What the user's terms share: they need not be homogeneous, and may depend on all coordinates."""

    homogeneous = False

    def unpenalised(self, k: int) -> Index:
        """None."""
        return np.zeros(0, dtype=np.intp)
