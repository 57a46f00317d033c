"""What can go wrong, one class for each kind of answer the caller can give to it."""

from __future__ import annotations

from typing import Any

__all__ = [
    "BoundaryError",
    "DataError",
    "InfeasibleError",
    "MissingExtraError",
    "PreConvexError",
    "SolveError",
    "UnknownSolverError",
]


class PreConvexError(Exception):
    """Base class of every error this package raises on purpose."""


class DataError(PreConvexError, ValueError):
    """The caller's data or arguments cannot be used; the message names the argument and what to do."""


class UnknownSolverError(DataError):
    """The named solver does not exist, is not installed, or cannot take exponential cones."""


class MissingExtraError(PreConvexError, ImportError):
    """An optional dependency is not installed.

    Examples
    --------
    >>> print(MissingExtraError("matplotlib", "plot"))
    matplotlib is not installed; run: pip install 'pre_convex[plot]'
    """

    def __init__(self, package: str, extra: str = "") -> None:
        what = f"'pre_convex[{extra}]'" if extra else package
        super().__init__(f"{package} is not installed; run: pip install {what}")
        self.package = package
        self.extra = extra

    def __reduce__(self) -> Any:
        return type(self), (self.package, self.extra)


class SolveError(PreConvexError):
    """No answer could be proven; ``solution`` holds the best numbers found and their certificate."""

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution = solution

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.solution)


class BoundaryError(SolveError):
    """The target lies on the boundary of the hull: optimal weights exist, an optimal finite δ does not.

    ``solution.mu`` are feasible weights, optimal up to ``solution.gap``; ``solution.delta`` is a point of a sequence
    that runs away along ``solution.hull.direction``.
    """


class InfeasibleError(SolveError):
    """The target lies further from the hull than the radius: no solution exists, and here is the proof.

    Attributes
    ----------
    direction : ndarray of shape (k,)
        Separating direction v of unit dual norm: max_j ⟨v, F_j⟩ + radius < ⟨v, b⟩.
    minimal_radius : float
        Distance from the target to the hull; the problem has a solution for every larger radius.
    """

    def __init__(self, message: str, solution: Any = None, hull: Any = None) -> None:
        super().__init__(message, solution)
        self.hull = hull

    @property
    def direction(self) -> Any:
        """The separating direction."""
        return self.hull.direction

    @property
    def minimal_radius(self) -> float:
        """The distance from the target to the hull of the q features."""
        return float(self.hull.radius)

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.solution, self.hull)
