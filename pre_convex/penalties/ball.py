"""Base class of the penalties R‖δ‖_*, and R = 0; the conjugate is the indicator of the ball ‖r‖ ≤ R."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from copy import copy

import numpy as np

from .._internal.linear_algebra import EPS, solve_psd
from .._internal.typing import Array, Index
from ..errors import SolveError
from .norms import Norm
from .penalty import Trial

__all__ = ["BallPenalty", "NoPenalty"]

#: steps in smaller and smaller balls, until what they leave is in the ball
ROUNDS = 3


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

    def trial(self, delta: Array, r: Array, H: Array, margin: Array) -> Trial | None:
        """The residual that a Newton step in the ball would leave."""
        none = np.zeros_like(r)
        if not self.relaxed:  # zero is the only residual allowed
            return Trial(none, 0.0, none)
        allowed = self.radius * (1.0 - EPS * (r.size + 8)) - self.norm(margin)
        residual, inner = r, copy(self)
        inner.radius = allowed
        for _ in range(ROUNDS):
            if not inner.radius > 0.0:
                return None
            with suppress(SolveError):
                residual = r - H @ (inner.step(delta, -r, H) - delta)
            outside = self.norm(residual) - allowed
            if outside <= 0.0:
                break
            # a step leaves the ball by its round-off; projecting on the ball instead would leave the span of the rows
            inner.radius -= 2.0 * outside
        else:
            residual = self.norm.project(residual, allowed)
            residual = residual * min(1.0, allowed / (self.norm(residual) or 1.0))
        value = self.value(delta)
        round_off = EPS * (r.size + 4) * (value + float(np.abs(residual) @ np.abs(delta)))
        return Trial(residual, max(value - float(residual @ delta), 0.0) + round_off, none)

    def slack(self, delta: Array, r: Array, error: Array) -> Trial | None:
        """The residual itself, known to this accuracy, if it is inside the ball; otherwise ``None``."""
        if not self.norm(np.abs(r) + error) <= self.radius * (1.0 - EPS * (r.size + 8)):
            return None
        value = self.value(delta)
        terms = value + float(np.abs(r) @ np.abs(delta))
        slack = max(value - float(r @ delta), 0.0) + float(error @ np.abs(delta)) + EPS * (r.size + 4) * terms
        return Trial(r, slack, error)

    def unpenalised(self, k: int) -> Index:
        """None, unless the radius is zero."""
        return np.arange(0 if self.radius else k)

    def exact(self, k: int) -> Index:
        """None, unless the radius is zero."""
        return self.unpenalised(k)

    @abstractmethod
    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """The step [STEP]."""


class NoPenalty(BallPenalty):
    """R = 0: g is zero, and its conjugate is finite only at r = 0."""

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """δ − H⁺ gradient."""
        return delta - solve_psd(H, gradient)
