"""What the penalties R‖δ‖_* of all norms share, and R = 0; the conjugate is the indicator of the ball ‖r‖ ≤ R."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy

import numpy as np

from .._internal.linear_algebra import solve_psd
from .._internal.typing import Array
from ..errors import SolveError
from .norms import Norm

__all__ = ["BallPenalty", "NoPenalty"]

#: shares by which the ball of a trial residual is smaller, until all that a lift may miss is in the ball itself
SMALLER = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)


class BallPenalty(ABC):
    """g(δ) = R‖δ‖_*; its conjugate is zero on the ball ‖r‖ ≤ R and infinite elsewhere."""

    def __init__(self, norm: Norm, radius: float) -> None:
        self.norm, self.radius, self.relaxed = norm, radius, radius > 0.0

    def start(self, k: int) -> Array:
        """Zero."""
        return np.zeros(k)

    def value(self, delta: Array) -> float:
        """R‖δ‖_*."""
        return self.radius * self.norm.dual(delta) if self.radius else 0.0

    def violation(self, delta: Array) -> float:
        """Zero: there are no constraints."""
        return 0.0

    def trial(self, delta: Array, r: Array, H: Array, margin: Array) -> tuple[Array, float] | None:
        """The residual r − H(x − δ) that a Newton step x leaves, with g(δ) − ⟨r', δ⟩.

        The step is that of a slightly smaller ball, so that everything within the margin is in this one. In directions
        that no lift can move, because H has no curvature there, the residual agrees with r.
        """
        smaller = copy(self)
        for share in SMALLER:
            smaller.radius = (1.0 - share) * self.radius
            try:
                x = smaller.step(delta, -r, H)
            except SolveError:
                continue
            with np.errstate(over="ignore", invalid="ignore"):  # a step may be too long for its product with H
                trial = r - H @ (x - delta)
                if self.norm(np.abs(trial) + margin) <= self.radius:
                    return trial, max(self.value(delta) - float(trial @ delta), 0.0)
        return None

    @abstractmethod
    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """The step [STEP]."""


class NoPenalty(BallPenalty):
    """R = 0: g is zero, and its conjugate is finite only at r = 0."""

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """δ − H⁺ gradient."""
        return delta - solve_psd(H, gradient)

    def trial(self, delta: Array, r: Array, H: Array, margin: Array) -> tuple[Array, float]:
        """Zero is the only residual allowed."""
        return np.zeros_like(r), 0.0
