"""What the penalties R‖δ‖_* of all norms share, and R = 0; the conjugate is the indicator of the ball ‖r‖ ≤ R."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy

import numpy as np

from .._internal.linear_algebra import null_part, solve_psd
from .._internal.typing import Array
from ..errors import SolveError
from .norms import Norm

__all__ = ["BallPenalty", "NoPenalty"]

#: multiples of the margin by which coordinates give way, until a trial residual is in the ball; all of the residual may
#: be in a column whose unit, and so its margin, is smaller by many orders of magnitude than that of the largest column
GIVES = [2.0**i for i in range(50)]
#: depth of a smaller ball, relative to the radius, and shares of the way to it
DEPTH, SHARES = 1e-5, [2.0**-i for i in range(30, -1, -1)]


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

        Everything within the margin of it is in the ball.
        """
        expected = self._expected_residual(delta, r, H)
        if expected is None:
            expected = self.norm.project(r, self.radius)
        for trial in self._moved_inside(expected, delta, r, H, margin):
            if self.norm(np.abs(trial) + margin) <= self.radius:
                return trial, max(self.value(delta) - float(trial @ delta), 0.0)
        return None

    def _moved_inside(self, expected: Array, delta: Array, r: Array, H: Array, margin: Array) -> Iterator[Array]:
        """Points from the expected residual on, further and further inside, that a lift can reach from r.

        Every coordinate gives way by multiples of its own margin, because units may differ by many orders of magnitude.
        """
        moving = np.flatnonzero(H.diagonal() > 0.0)  # a lift does not change the others
        fixed = null_part(H[np.ix_(moving, moving)], margin[moving]) if moving.size else None
        trial = np.array(r)
        if fixed is None:
            for give in GIVES:
                trial[moving] = (np.sign(expected) * np.maximum(np.abs(expected) - give * margin, 0.0))[moving]
                yield trial
            return
        # a lift has not enough freedom for coordinates that give way one by one: move towards a smaller ball
        smaller = copy(self)
        smaller.radius = (1.0 - DEPTH) * self.radius
        inner = smaller._expected_residual(delta, r, H)
        inner = smaller.norm.project(r, smaller.radius) if inner is None else inner
        for share in SHARES:
            change = (expected + share * (inner - expected) - r)[moving]
            trial[moving] = r[moving] + change - fixed(change)
            yield trial

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
