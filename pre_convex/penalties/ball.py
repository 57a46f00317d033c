"""What the penalties R‖δ‖_* of all norms share, and R = 0; the conjugate is the indicator of the ball ‖r‖ ≤ R."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .._internal.linear_algebra import positive_variances, solve_psd
from .._internal.typing import Array
from ..errors import SolveError
from .norms import Norm

__all__ = ["BallPenalty", "NoPenalty"]


class BallPenalty(ABC):
    """g(δ) = R‖δ‖_*; its conjugate is zero on the ball ‖r‖ ≤ R and infinite elsewhere."""

    def __init__(self, norm: Norm, radius: float) -> None:
        self.norm, self.radius = norm, radius

    def start(self, k: int) -> Array:
        """Zero."""
        return np.zeros(k)

    def value(self, delta: Array) -> float:
        """R‖δ‖_*."""
        return self.radius * self.norm.dual(delta) if self.radius else 0.0

    def violation(self, delta: Array) -> float:
        """Zero: there are no constraints."""
        return 0.0

    def trial(self, delta: Array, r: Array, H: Array, margin: Array) -> tuple[Array, float]:
        """The residual that a Newton step would leave, moved into the ball, with g(δ) − ⟨r', δ⟩."""
        expected = self._expected_residual(delta, r, H)
        # to get back into the ball, change columns that a lift moves easily
        trial = self.norm.project_weighted(r if expected is None else expected, self.radius, positive_variances(H))
        trial = self._inside(trial, margin)
        return trial, max(self.value(delta) - float(trial @ delta), 0.0)

    def _inside(self, point: Array, margin: Array) -> Array:
        """A point near the given one such that everything within the margin of it is in the ball, if that is possible.

        Every coordinate gives way by its own margin, because units may differ by many orders of magnitude.
        """
        point = np.sign(point) * np.maximum(np.abs(point) - margin, 0.0)
        furthest = self.norm(np.abs(point) + margin)
        # with margins of at most half the radius, this factor brings all of them inside
        return point * max(1.0 - 2.0 * max(furthest - self.radius, 0.0) / furthest, 0.0) if furthest > 0.0 else point

    def _expected_residual(self, delta: Array, r: Array, H: Array) -> Array | None:
        """r − H(x − δ) after the step x; ``None`` if there is no step."""
        try:
            x = self.step(delta, -r, H)
        except SolveError:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # a step may be too long for its product with H
            residual = r - H @ (x - delta)
        return residual if np.all(np.isfinite(residual)) else None

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
