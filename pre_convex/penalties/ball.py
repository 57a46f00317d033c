"""What the penalties R‖δ‖_* of all norms share, and R = 0; the conjugate is the indicator of the ball ‖r‖ ≤ R."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from copy import copy

import numpy as np

from .._internal.linear_algebra import solve_psd
from .._internal.typing import Array, Index
from ..errors import SolveError
from .norms import Norm

__all__ = ["BallPenalty", "NoPenalty"]

#: shares by which the ball of a lift is smaller, until the residual and its round-off are in the ball itself
SMALLER = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


class BallPenalty(ABC):
    """g(δ) = R‖δ‖_*; its conjugate is zero on the ball ‖r‖ ≤ R and infinite elsewhere."""

    homogeneous = True

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

    def trial(self, delta: Array, r: Array, H: Array) -> tuple[Array, float] | None:
        """Zero is the only residual allowed if the radius is zero."""
        return np.zeros_like(r), 0.0

    def directions(self, delta: Array, r: Array, H: Array) -> Iterator[Array]:
        """Newton steps x − δ in slightly smaller balls, so that the residual they leave is inside this one."""
        smaller = copy(self)
        for share in SMALLER:
            smaller.radius = (1.0 - share) * self.radius
            with suppress(SolveError):
                yield smaller.step(delta, -r, H) - delta

    def slack(self, delta: Array, r: Array, margin: Array) -> float:
        """g(δ) − ⟨r, δ⟩ if everything within the margin of r is in the ball, otherwise infinity."""
        inside = self.norm(np.abs(r) + margin) <= self.radius
        return max(self.value(delta) - float(r @ delta), 0.0) if inside else np.inf

    def unpenalised(self, k: int) -> Index:
        """None, unless the radius is zero."""
        return np.arange(0 if self.radius else k)

    @abstractmethod
    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """The step [STEP]."""


class NoPenalty(BallPenalty):
    """R = 0: g is zero, and its conjugate is finite only at r = 0."""

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """δ − H⁺ gradient."""
        return delta - solve_psd(H, gradient)
