"""Penalties g(δ) in ball arithmetic: value, the ball of g*, and the manifolds on which g is smooth.

Value and ball are rigorous. The manifolds only guide :func:`refine`: on each of them δ = Bx, and g(Bx) is ⟨c, x⟩, or
smooth for the Euclidean norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from flint import arb, arb_mat

from .._internal.typing import Array
from ..problem import RatioProblem
from .balls import Balls, column, dot, precision

__all__ = ["BallPenalty", "make_ball_penalty"]


def _sign(x: Any) -> int:
    return 1 if x > 0 else -1 if x < 0 else 0


def _tiny(share: float) -> Any:
    """2 to the power of a share of the precision."""
    return arb(2) ** -int(share * precision())


class BallPenalty(Protocol):
    """R‖δ‖_* or Σ_i R_i|δ_i|, and the ball of residuals where its conjugate is zero."""

    #: whether the ball is the single point zero
    exact: bool

    def value(self, delta: Balls) -> Any:
        """g(δ)."""

    def contains(self, residual: Balls) -> bool:
        """Whether g*(r) = 0 for every r in these balls."""

    def inside(self, residual: Balls, delta: Balls, centre: Balls | None) -> Balls:
        """A residual in the ball, close to the given one; if columns are dependent, shrunk towards the centre.

        Their residual then follows from that of the others, and has to be in the ball with a margin.
        """

    def enter(self, delta: Balls, residual: Balls) -> Balls | None:
        """Choose the manifold that δ is on, and return δ on it; ``None`` if δ = 0 is optimal."""

    def basis(self, k: int) -> Any:
        """B."""

    def model(self, delta: Balls, basis: Any) -> tuple[Balls, Any]:
        """Gradient and Hessian of g(Bx)."""

    def longest(self, delta: Balls, step: Balls) -> tuple[Any, int | None]:
        """Largest t for which δ + t·step stays on the manifold, and the coordinate that ends it."""

    def leave(self, delta: Balls, i: int) -> Balls:
        """Go to the smaller manifold that coordinate i leads to."""

    def release(self, delta: Balls, residual: Balls) -> bool:
        """Go to a larger manifold if the optimum of this one is not optimal."""


class Box:
    """Σ_i R_i|δ_i|, whose ball is |r_i| ≤ R_i; a coordinate with R_i = 0 is free."""

    def __init__(self, radii: Sequence[Any]) -> None:
        self.radii = list(radii)
        self.exact = all(x == 0 for x in self.radii)
        self.signs: dict[int, int] = {}

    def value(self, delta: Balls) -> Any:
        return dot(self.radii, [abs(x) for x in delta])

    def contains(self, residual: Balls) -> bool:
        return all(abs(r) <= R for r, R in zip(residual, self.radii, strict=True))

    def inside(self, residual: Balls, delta: Balls, centre: Balls | None) -> Balls:
        signs = map(_sign, delta)
        clipped = [
            s * R if s else max(min(r.mid(), R), -R) for r, R, s in zip(residual, self.radii, signs, strict=True)
        ]
        if centre is None or self.exact:
            return clipped
        return [(x + (r - x) * (1 - _tiny(0.4))).mid() for r, x in zip(clipped, centre, strict=True)]

    def enter(self, delta: Balls, residual: Balls) -> Balls | None:
        self.signs = {i: _sign(x) for i, x in enumerate(delta) if self.radii[i] == 0 or x != 0}
        return delta

    def basis(self, k: int) -> Any:
        B = arb_mat(k, len(self.signs))
        for h, i in enumerate(self.signs):
            B[i, h] = 1
        return B

    def model(self, delta: Balls, basis: Any) -> tuple[Balls, Any]:
        return [s * self.radii[i] for i, s in self.signs.items()], None

    def longest(self, delta: Balls, step: Balls) -> tuple[Any, int | None]:
        best, which = arb(1), None
        for i, s in self.signs.items():
            if self.radii[i] != 0 and s * step[i] < 0 and -delta[i] / step[i] < best:
                best, which = (-delta[i] / step[i]).mid(), i
        return best, which

    def leave(self, delta: Balls, i: int) -> Balls:
        del self.signs[i]
        return [arb(0) if h == i else x for h, x in enumerate(delta)]

    def release(self, delta: Balls, residual: Balls) -> bool:
        excess = {
            i: (abs(r) / self.radii[i]).mid() for i, r in enumerate(residual) if i not in self.signs and r.mid() != 0
        }
        worst = max(excess, key=lambda i: excess[i], default=None)
        if worst is None or not excess[worst] > 1 + _tiny(0.5):
            return False
        self.signs[worst] = _sign(residual[worst].mid())
        return True


class Euclidean:
    """R‖δ‖₂."""

    exact = False

    def __init__(self, radius: Any) -> None:
        self.radius = radius

    @staticmethod
    def _length(x: Balls) -> Any:
        return dot(x, x).sqrt()

    def value(self, delta: Balls) -> Any:
        return self.radius * self._length(delta)

    def contains(self, residual: Balls) -> bool:
        return bool(dot(residual, residual) <= self.radius**2)

    def inside(self, residual: Balls, delta: Balls, centre: Balls | None) -> Balls:
        return _shrunk(residual, self._length(residual), self.radius, centre)

    def enter(self, delta: Balls, residual: Balls) -> Balls | None:
        if any(x != 0 for x in delta):
            return delta
        if not self._length(residual) > self.radius * (1 + _tiny(0.5)):
            return None
        # a first step against the gradient, short enough for the line search to double it
        return [(r * _tiny(0.2) / (1 + self._length(residual))).mid() for r in residual]

    def basis(self, k: int) -> Any:
        B = arb_mat(k, k)
        for i in range(k):
            B[i, i] = 1
        return B

    def model(self, delta: Balls, basis: Any) -> tuple[Balls, Any]:
        length = self._length(delta)
        if not length > 0:
            return [arb(0)] * len(delta), None
        unit = [x / length for x in delta]
        H = (basis - column(unit) * column(unit).transpose()) * (self.radius / length)
        return [self.radius * x for x in unit], H

    def longest(self, delta: Balls, step: Balls) -> tuple[Any, int | None]:
        return arb(1), None

    def leave(self, delta: Balls, i: int) -> Balls:
        return delta

    def release(self, delta: Balls, residual: Balls) -> bool:
        return False


class Largest:
    """R max_i |δ_i|, whose ball is Σ_i |r_i| ≤ R; on a manifold some coordinates share the largest size."""

    exact = False

    def __init__(self, radius: Any) -> None:
        self.radius = radius
        self.tied: dict[int, int] = {}

    def value(self, delta: Balls) -> Any:
        largest = arb(0)
        for x in delta:
            largest = largest.max(abs(x))
        return self.radius * largest

    def contains(self, residual: Balls) -> bool:
        return bool(sum((abs(r) for r in residual), arb(0)) <= self.radius)

    def inside(self, residual: Balls, delta: Balls, centre: Balls | None) -> Balls:
        return _shrunk(residual, sum((abs(r) for r in residual), arb(0)), self.radius, centre)

    def enter(self, delta: Balls, residual: Balls) -> Balls | None:
        top = max(abs(x).mid() for x in delta)
        if top == 0:
            if not sum((abs(r) for r in residual), arb(0)) > self.radius * (1 + _tiny(0.5)):
                return None
            self.tied = {i: _sign(r.mid()) or 1 for i, r in enumerate(residual)}
            return delta
        self.tied = {i: _sign(x) for i, x in enumerate(delta) if abs(x) >= top * (1 - arb(2) ** -30)}
        return [self.tied[i] * top if i in self.tied else x for i, x in enumerate(delta)]

    def basis(self, k: int) -> Any:
        others = [i for i in range(k) if i not in self.tied]
        B = arb_mat(k, 1 + len(others))
        for i, s in self.tied.items():
            B[i, 0] = s
        for h, i in enumerate(others):
            B[i, h + 1] = 1
        return B

    def model(self, delta: Balls, basis: Any) -> tuple[Balls, Any]:
        return [self.radius] + [arb(0)] * (basis.ncols() - 1), None

    def longest(self, delta: Balls, step: Balls) -> tuple[Any, int | None]:
        first, s = next(iter(self.tied.items()))
        top, rise = s * delta[first], s * step[first]
        best, which = arb(1), None
        if rise < 0 and -top / rise < best:
            best, which = (-top / rise).mid(), first
        for i in range(len(delta)):
            for sign in (1, -1) if i not in self.tied else ():
                left, slope = top - sign * delta[i], rise - sign * step[i]
                if slope < 0 and -left / slope < best:
                    best, which = (-left / slope).mid(), i
        return best, which

    def leave(self, delta: Balls, i: int) -> Balls:
        if i in self.tied:  # the largest size has become zero
            return [arb(0)] * len(delta)
        first, s = next(iter(self.tied.items()))
        self.tied[i] = _sign(delta[i]) or 1
        return [self.tied[i] * s * delta[first] if h == i else x for h, x in enumerate(delta)]

    def release(self, delta: Balls, residual: Balls) -> bool:
        if len(self.tied) == 1:
            return False
        pull = {i: (s * residual[i]).mid() for i, s in self.tied.items()}
        worst = min(pull, key=lambda i: pull[i])
        if not pull[worst] < -self.radius * _tiny(0.5):
            return False
        del self.tied[worst]
        return True


def _shrunk(residual: Balls, size: Any, radius: Any, centre: Balls | None) -> Balls:
    """The residual, moved towards the centre until its norm is below the radius."""
    scale = (1 - _tiny(0.7 if centre is None else 0.4)) * (radius / size if size > radius else 1)
    return [(x + (r - x) * scale).mid() for r, x in zip(residual, centre or [arb(0)] * len(residual), strict=True)]


def make_ball_penalty(problem: RatioProblem, target_error: Array) -> BallPenalty:
    """Penalty of a problem whose target is known up to this error, which counts only without a radius."""
    if problem.radius == 0.0:
        return Box([arb(x) for x in target_error.tolist()])
    radius = arb(problem.radius)
    if problem.norm == 2.0:
        return Euclidean(radius)
    return Largest(radius) if problem.norm == 1.0 else Box([radius] * int(np.size(problem.target)))
