"""Base class of the penalties R‖δ‖₁ and R‖δ‖∞, which are linear while the active set stays the same.

A step guesses the active set a few times, each guess one linear solve and a check of optimality. If no guess passes,
a search changes the active set, by sets of coordinates, and one at a time where round-off spoils that. The curvature is
made positive definite first, so that every active set has one solution.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .._internal.linear_algebra import EPS
from .._internal.typing import Array
from ..errors import SolveError
from .ball import BallPenalty

if TYPE_CHECKING:
    from ..problem import RatioProblem

__all__ = ["AGREEMENT", "ROUND_OFF", "ActiveSet", "PolyhedralPenalty", "regularised", "solve_regular"]

#: how closely signs and residuals have to agree, relative to R, apart from the round-off of the residuals
AGREEMENT, ROUND_OFF = 1e-11, 16.0 * EPS
#: share of a column's variance that is added to it
REGULARISATION = 1e-12
#: guesses of the active set in one step
GUESSES = 5


class ActiveSet(NamedTuple):
    """δ = B z and ‖δ‖_* = ⟨c, z⟩ while the active set stays the same."""

    B: Array
    c: Array


class PolyhedralPenalty(BallPenalty):
    """R‖δ‖₁ or R‖δ‖∞: a step is a linear solve once the active set is known."""

    def __init__(self, problem: RatioProblem) -> None:
        super().__init__(problem.moment_norm, problem.radius)
        self.problem = problem

    @abstractmethod
    def active_set(self, w: Array, scale: Array) -> ActiveSet:
        """Active set at the minimiser of Σ scale_i x_i²/2 − ⟨w, x⟩ + R‖x‖_*.

        For w = r + scale · x this is the guess of a primal-dual active-set method at x with residual r.
        """

    @abstractmethod
    def is_optimal(self, z: Array, r: Array, active: ActiveSet) -> bool:
        """Whether z, with residual r, is optimal for this active set: the signs agree and ‖r‖ ≤ R."""

    @abstractmethod
    def reduced_curvature(self, H: Array, active: ActiveSet) -> Array:
        """B'HB."""

    @abstractmethod
    def search(self, delta: Array, q: Array, H: Array) -> Array | None:
        """The step, by changing the active set until it is optimal; ``None`` if round-off prevents it."""

    # on an active set without curvature, solves may overflow; they are then rejected
    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Try zero, then guesses of the active set, then a search for it; raise :class:`SolveError` if all fail."""
        H = regularised(H)
        q = gradient - H @ delta
        if self.norm(q) <= self.radius:
            return np.zeros_like(delta)
        x, nearest = self._guess(delta, q, H)
        if x is None:
            x = self.search(nearest, q, H)
        if x is None:
            raise SolveError("Newton step: no active set agrees with the residuals")
        return x

    def _guess(self, x: Array, q: Array, H: Array) -> tuple[Array | None, Array]:
        """Solve for one active set, guess the next from the answer, repeat until optimal.

        Returns the minimiser, ``None`` if that fails, and the guess of least value, from which a search is short.
        """
        scale, nearest = np.diag(H), x
        least = float(q @ x + 0.5 * (x @ H @ x)) + self.value(x)
        for _ in range(GUESSES):
            w = -q - H @ x + scale * x
            if not np.all(np.isfinite(w)):  # overflow along an active set without curvature
                return None, nearest
            active = self.active_set(w, scale)
            B, c = active
            if not 0 < c.size <= self.problem.n_q:  # more columns than rows can tell apart
                return None, nearest
            z = solve_regular(self.reduced_curvature(H, active), -(B.T @ q) - self.radius * c)
            if z is None:
                return None, nearest
            x = B @ z
            Hx = H @ x
            if self.is_optimal(z, -q - Hx, active):
                return x, nearest
            value = float(q @ x + 0.5 * (x @ Hx)) + self.value(x)
            if value < least:
                nearest, least = x, value
        return None, nearest


def regularised(H: Array) -> Array:
    """H plus a tiny multiple of its diagonal; columns without curvature get that of the largest one."""
    diagonal = H.diagonal()
    return H + np.diag(REGULARISATION * np.where(diagonal > 0.0, diagonal, diagonal.max(initial=0.0)))


def solve_regular(H: Array, rhs: Array) -> Array | None:
    """H⁻¹ rhs for a positive definite H of any scaling; ``None`` if H is not positive definite in float64."""
    if not np.all(H.diagonal() > 0.0):
        return None
    s = np.sqrt(H.diagonal())
    factor, failed = dpotrf(H / s / s[:, None], lower=1)
    return None if failed else np.asarray(dpotrs(factor, rhs / s, lower=1)[0] / s)
