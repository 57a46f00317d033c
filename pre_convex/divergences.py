"""Divergences φ of the convex family: φ, its derivatives and its conjugate under bounds on the ratio, one class each.

[D] minimises Σ_j π_j φ(μ_j/π_j) over weights with lo ≤ μ_j/π_j ≤ hi. Everything here is in terms of the ratio t = μ/π
of one row, so that the weights of [LINK] are π t(s), and the conjugate of one row is π ψ(s), ψ(s) = sup over lo ≤ t ≤
hi of s t − φ(t). To add a divergence, write one class and add one line to ``DIVERGENCES``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlog1py

from ._internal.linear_algebra import EPS
from ._internal.root import increasing_root
from ._internal.typing import Array
from ._internal.validation import preview
from .errors import DataError

__all__ = ["DIVERGENCES", "Divergence", "Link", "get_divergence"]

#: relative changes below this are evaluated by a series, where closed forms lose their digits
SMALL_CHANGE = 1e-3


class Divergence(ABC):
    """A convex function φ of a ratio t ≥ 0 with φ(1) = φ'(1) = 0 and φ''(1) = 1.

    All methods are elementwise. :meth:`increase` and :meth:`conjugate` have general forms here that lose digits near
    t = 1 and s = 0; a class may replace them by closed forms that do not.
    """

    #: name, as in ``RatioProblem(divergence=...)``
    name: str
    #: names of methods with this divergence in other fields
    known_as: tuple[str, ...]
    #: slope from which on the ratio is infinite
    limit: float = np.inf

    @abstractmethod
    def phi(self, t: Array) -> Array:
        """φ(t) for t ≥ 0; may be infinite at 0."""

    @abstractmethod
    def slope(self, t: Array) -> Array:
        """φ'(t); may be −inf at 0."""

    @abstractmethod
    def ratio(self, s: Array) -> Array:
        """(φ')⁻¹(s), increasing: negative or −inf below the range of φ', and inf above it."""

    @abstractmethod
    def second(self, t: Array) -> Array:
        """φ''(t)."""

    def conjugate(self, s: Array) -> Array:
        """φ*(s) = s t − φ(t) at t = (φ')⁻¹(s), where that is positive."""
        t = self.ratio(s)
        return np.asarray(s * t - self.phi(t))

    def increase(self, t: Array, change: Array) -> Array:
        """φ(t + change) − φ(t) − φ'(t) · change, never negative."""
        return np.maximum(self.phi(t + change) - self.phi(t) - self.slope(t) * change, 0.0)

    def growth(self, x: float) -> float:
        """Bound on φ''(u)/φ''(t) for ``|u − t| ≤ x min(t, 1/φ''(t))``, x < 1; that of powers of t from −2 to 0."""
        return 1.0 / (1.0 - x) ** 2

    @abstractmethod
    def dual_atom(self, mu: Any, pi: Any) -> Any:
        """Σ_j π_j φ(μ_j/π_j) in cvxpy."""

    @abstractmethod
    def primal_atom(self, s: Any) -> Any:
        """φ*(s), elementwise, in cvxpy; of t ≥ 0, without other bounds."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class KullbackLeibler(Divergence):
    """φ(t) = t log t − t + 1: the ratio is exp s."""

    name = "kl"
    known_as = ("posterior ratio estimation", "KLIEP", "entropy balancing", "raking", "exponential tilting")

    def phi(self, t: Array) -> Array:
        """Computed as an increase from t = 1, which keeps its digits there."""
        return self.increase(np.ones_like(t), np.asarray(t) - 1.0)

    def slope(self, t: Array) -> Array:
        """log t."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(t))

    def ratio(self, s: Array) -> Array:
        """exp s."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(s))

    def second(self, t: Array) -> Array:
        """1/t."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / t)

    def conjugate(self, s: Array) -> Array:
        """exp s − 1."""
        with np.errstate(over="ignore"):
            return np.asarray(np.expm1(s))

    def increase(self, t: Array, change: Array) -> Array:
        """t ((1 + u) log(1 + u) − u), u = change/t; from t = 0 it is infinite."""
        t, change = np.broadcast_arrays(np.asarray(t, dtype=float), np.asarray(change, dtype=float))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            u = np.where(change == 0.0, 0.0, change / t)
            series = u * u * (0.5 + u * (-1 / 6 + u * (1 / 12 - u / 20)))
            closed = xlog1py(1.0 + u, u) - u
            # t u is the change itself, also if t is tiny and u overflows
            value = np.where(np.isfinite(u), t * np.where(np.abs(u) < SMALL_CHANGE, series, closed), np.inf)
        return np.where(change == 0.0, 0.0, value)

    def growth(self, x: float) -> float:
        """1/(1 − x)."""
        return 1.0 / (1.0 - x)

    def dual_atom(self, mu: Any, pi: Any) -> Any:
        """Σ kl_div(μ, π)."""
        import cvxpy as cp

        return cp.sum(cp.kl_div(mu, pi))

    def primal_atom(self, s: Any) -> Any:
        """exp s − 1."""
        import cvxpy as cp

        return cp.exp(s) - 1.0


class ChiSquare(Divergence):
    """φ(t) = ½(t − 1)²: the ratio is 1 + s, clipped at zero."""

    name = "chi2"
    known_as = (
        "least-squares importance fitting (LSIF)",
        "quadratic or stable balancing weights",
        "GREG and linear calibration",
    )

    def phi(self, t: Array) -> Array:
        """½(t − 1)²."""
        return np.asarray(0.5 * np.square(np.asarray(t) - 1.0))

    def slope(self, t: Array) -> Array:
        """t − 1."""
        return np.asarray(t) - 1.0

    def ratio(self, s: Array) -> Array:
        """1 + s."""
        return 1.0 + np.asarray(s)

    def second(self, t: Array) -> Array:
        """One."""
        return np.ones_like(t, dtype=float)

    def conjugate(self, s: Array) -> Array:
        """s + ½ s²."""
        s = np.asarray(s)
        return s * (1.0 + 0.5 * s)

    def increase(self, t: Array, change: Array) -> Array:
        """½ change²."""
        return 0.5 * np.square(np.asarray(change) + np.zeros_like(t))

    def growth(self, x: float) -> float:
        """One."""
        return 1.0

    def dual_atom(self, mu: Any, pi: Any) -> Any:
        """½ Σ (μ − π)²/π."""
        import cvxpy as cp

        root = cp.Constant(np.sqrt(pi.value), name="sqrt(pi)")
        return 0.5 * cp.sum_squares((mu - pi) / root)

    def primal_atom(self, s: Any) -> Any:
        """½ (1 + s)₊² − ½."""
        import cvxpy as cp

        return 0.5 * cp.square(cp.pos(1.0 + s)) - 0.5


class ReverseKL(Divergence):
    """φ(t) = −log t + t − 1: the ratio is 1/(1 − s), for s < 1."""

    name = "reverse-kl"
    known_as = ("empirical likelihood", "Burg entropy")
    limit = 1.0

    def phi(self, t: Array) -> Array:
        """Computed as an increase from t = 1, which keeps its digits there."""
        return self.increase(np.ones_like(t), np.asarray(t) - 1.0)

    def slope(self, t: Array) -> Array:
        """1 − 1/t."""
        with np.errstate(divide="ignore"):
            return 1.0 - 1.0 / np.asarray(t)

    def ratio(self, s: Array) -> Array:
        """1/(1 − s), infinite from s = 1 on."""
        s = np.asarray(s, dtype=float)
        return np.asarray(np.divide(1.0, 1.0 - s, out=np.full(s.shape, np.inf), where=s < 1.0))

    def second(self, t: Array) -> Array:
        """1/t²."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.square(1.0 / np.asarray(t)))

    def conjugate(self, s: Array) -> Array:
        """−log(1 − s), infinite from s = 1 on."""
        s = np.asarray(s, dtype=float)
        return np.asarray(-np.log1p(-s, out=np.full(s.shape, -np.inf), where=s < 1.0))

    def increase(self, t: Array, change: Array) -> Array:
        """u − log(1 + u), u = change/t; infinite at t + change = 0."""
        t, change = np.broadcast_arrays(np.asarray(t, dtype=float), np.asarray(change, dtype=float))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            u = np.where(change == 0.0, 0.0, change / t)
            series = u * u * (0.5 + u * (-1 / 3 + u * (1 / 4 - u / 5)))
            value = np.where(np.abs(u) < SMALL_CHANGE, series, u - np.log1p(np.maximum(u, -1.0)))
        return np.where(np.isfinite(u), value, np.inf)

    def dual_atom(self, mu: Any, pi: Any) -> Any:
        """Σ kl_div(π, μ)."""
        import cvxpy as cp

        return cp.sum(cp.kl_div(pi, mu))

    def primal_atom(self, s: Any) -> Any:
        """−log(1 − s)."""
        import cvxpy as cp

        return -cp.log(1.0 - s)


DIVERGENCES: dict[str, Divergence] = {
    divergence.name: divergence
    for divergence in (
        KullbackLeibler(),
        ChiSquare(),
        ReverseKL(),
    )
}


def get_divergence(name: Any) -> Divergence:
    """Divergence by its name.

    Examples
    --------
    >>> get_divergence("chi2").ratio(np.array([-0.5, 0.0, 1.0]))
    array([0.5, 1. , 2. ])
    """
    if isinstance(name, str) and name in DIVERGENCES:
        return DIVERGENCES[name]
    known = ", ".join(repr(name) for name in DIVERGENCES)
    raise DataError("divergence", f"{preview(name)} is not a known divergence", f"use one of {known}")


@dataclass(frozen=True, eq=False)
class Link:
    """[LINK] of one divergence with bounds on the ratio: ratios, curvature and conjugate of rows, from s = c + ⟨δ, F⟩.

    Parameters
    ----------
    divergence : Divergence
        φ.
    lower, upper : ndarray of shape (n,) or float
        Bounds on the ratio μ/π, 0 ≤ lower ≤ upper; the same for all rows, or one for each.

    Examples
    --------
    >>> link = Link(get_divergence("kl"), 0.5, 2.0)
    >>> s = np.array([-1.0, 0.0, 1.0])
    >>> link.ratio(s), link.curvature(s)
    (array([0.5, 1. , 2. ]), array([0., 1., 0.]))
    """

    divergence: Divergence
    lower: Array | float = 0.0
    upper: Array | float = np.inf
    #: what the weights sum to, and known parts of s
    mass: ClassVar[float] = 1.0
    offset: ClassVar[float] = 0.0

    @property
    def per_row(self) -> bool:
        """Whether the bounds differ between rows."""
        return bool(np.ndim(self.lower) or np.ndim(self.upper))

    @property
    def bounded(self) -> bool:
        """Whether there are bounds other than (0, ∞)."""
        if not self.per_row:
            return bool(self.lower > 0.0 or self.upper < np.inf)
        return bool(np.any(np.asarray(self.lower) > 0.0) or np.any(np.asarray(self.upper) < np.inf))

    def take(self, index: Any) -> Link:
        """The link of some rows."""
        if not self.per_row:
            return self
        lower, upper = (x if np.ndim(x) == 0 else np.asarray(x)[index] for x in (self.lower, self.upper))
        return Link(self.divergence, lower, upper)

    def ratio(self, s: Array) -> Array:
        """t(s) = clip((φ')⁻¹(s), lo, hi)."""
        return np.clip(self.divergence.ratio(s), self.lower, self.upper)

    def curvature(self, s: Array) -> Array:
        """t'(s) = 1/φ''(t) strictly between the bounds, zero on them."""
        t = self.divergence.ratio(s)
        with np.errstate(divide="ignore"):
            slope = 1.0 / self.divergence.second(np.maximum(t, 0.0))
        return np.where((t > self.lower) & (t < self.upper), slope, 0.0)

    def conjugate(self, s: Array) -> Array:
        """ψ(s) = sup over lo ≤ t ≤ hi of s t − φ(t); infinite where the supremum is."""
        t = self.divergence.ratio(s)
        clipped = np.clip(t, self.lower, self.upper)
        beyond = (clipped != t) & np.isfinite(clipped)
        if not beyond.any():
            return self.divergence.conjugate(s)
        inside = self.divergence.conjugate(np.where(beyond, 0.0, s))
        with np.errstate(invalid="ignore"):
            linear = s * clipped - self.divergence.phi(np.where(beyond, clipped, 1.0))
        return np.where(beyond, linear, inside)

    def gap(self, s: Array, t: Array, change: Array) -> Array:
        """Fenchel–Young gap ψ(s) + φ(t') − s t' of t' = t + change, where t = t(s): a sum of two non-negative terms.

        The first is the increase of φ beyond its tangent at t; the second is zero between the bounds.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            price = np.where(change == 0.0, 0.0, (self.divergence.slope(t) - s) * change)
            clipped = (t <= self.lower) | (t >= self.upper)
        return self.divergence.increase(t, change) + np.where(clipped, np.maximum(price, 0.0), 0.0)

    def width(self, t: Array) -> Array:
        """1/φ''(t), the derivative of the ratio with respect to s, also on the bounds."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / self.divergence.second(t))

    def room(self, t: Array, accuracy: float = 0.0) -> Array:
        """How far a lift may move a ratio: min(1/φ''(t), t − lo, hi − t); anything less stays strictly within.

        ``accuracy`` is that of s; then the room is less than that of every ratio that t may stand for.
        """
        width = self.width(t)
        room = np.minimum(np.minimum(width, t - self.lower), self.upper - t)
        if accuracy:
            room = 0.99 * room - 4.0 * accuracy * width - 16.0 * EPS * t
        return np.maximum(room, 0.0)

    def intercept(self, z: Array, pi: Array, guess: float = 0.0) -> float:
        """The c at which the weights π t(c + z) sum to one, by Newton within a bracket; all rows are in memory.

        Where the bounds allow no such c, the best that was found.
        """
        positive = pi > 0.0
        if not positive.all():  # a row without base weight has none, even where its ratio is infinite
            return self.take(positive).intercept(z[positive], pi[positive], guess)

        def excess(c: float) -> tuple[float, float]:
            with np.errstate(over="ignore", invalid="ignore"):
                return float(pi @ self.ratio(c + z)) - 1.0, float(pi @ self.curvature(c + z))

        return increasing_root(excess, guess, 2.0 * EPS)
