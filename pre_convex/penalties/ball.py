"""What the penalties R‖δ‖_* of all norms share, and R = 0; the conjugate is the indicator of the ball ‖r‖ ≤ R."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy

import numpy as np

from .._internal.linear_algebra import null_directions, solve_psd
from .._internal.typing import Array
from ..errors import SolveError
from .norms import Norm

__all__ = ["BallPenalty", "NoPenalty"]

#: multiples of the margin by which coordinates give way, until a trial residual is in the ball; the residual may be in a
#: column whose unit, and so its margin, is smaller by many orders of magnitude than that of the largest column
GIVES = [2.0**i for i in range(50)]


#: depth of a smaller ball, relative to the radius, and shares of the way to it
DEPTH, DEEPER = 1e-5, [2.0**-i for i in range(30, -1, -1)]


def _agreeing(trial: Array, r: Array, fixed: Array, constant: Array) -> Array:
    """The trial with the components of r along fixed directions, and its entries in constant columns."""
    trial = trial + fixed @ (fixed.T @ (r - trial))
    return np.where(constant, r, trial)


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
        """The residual that a Newton step would leave, moved into the ball, with g(δ) − ⟨r', δ⟩.

        Everything within the margin of it is in the ball. Every coordinate gives way by multiples of its own margin,
        because units may differ by many orders of magnitude.
        """
        expected = self._expected_residual(delta, r, H)
        if expected is None:
            expected = self.norm.project(r, self.radius)
        # a lift cannot move columns without variance, nor other directions without curvature
        constant, fixed = H.diagonal() == 0.0, null_directions(H)
        for give in GIVES:
            trial = np.sign(expected) * np.maximum(np.abs(expected) - give * margin, 0.0)
            if fixed.shape[1]:
                trial = _agreeing(trial, r, fixed, constant)
            if self.norm(np.abs(trial) + margin) <= self.radius:
                return trial, max(self.value(delta) - float(trial @ delta), 0.0)
        return self._deeper_trial(delta, r, H, margin) if fixed.shape[1] else None

    def _deeper_trial(self, delta: Array, r: Array, H: Array, margin: Array) -> tuple[Array, float] | None:
        """The trial moved towards that of a smaller ball, which keeps fixed directions; ``None`` if that ball has none.

        With more columns than rows, coordinates cannot give way one by one.
        """
        smaller = copy(self)
        smaller.radius = (1.0 - DEPTH) * self.radius
        outer, inner = self._expected_residual(delta, r, H), smaller._expected_residual(delta, r, H)
        if outer is None or inner is None:
            return None
        constant, fixed = H.diagonal() == 0.0, null_directions(H)
        for share in DEEPER:
            trial = _agreeing(outer + share * (inner - outer), r, fixed, constant)
            if self.norm(np.abs(trial) + margin) <= self.radius:
                return trial, max(self.value(delta) - float(trial @ delta), 0.0)
        return None

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
