"""The paper's conditions, as numbers: smallest eigenvalue over a ball, Weyl's bound, and the constants R₁, R₂, C_r.

Theorem 1 asks for ‖∇ℓ(δ*)‖ ≤ R₁/√n and for λ_min of the Hessian above R₂ on the ball of radius C_r R₁ / (R₂ √n) around
δ*, with C_r > 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import as_count, as_matrix, as_scalar, as_vector
from .checks import LARGEST, check_radius
from .entropy import Array, exp
from .errors import DataError
from .problem import RatioProblem, as_problem
from .rng import Rng, as_generator, as_seed
from .threads import one_thread_each

__all__ = ["Conditions", "conditions", "min_eigenvalue", "min_eigenvalue_in_ball", "weyl_bound"]

#: starts that are followed, those where the value is smallest
DESCENTS = 4


@dataclass(frozen=True)
class Conditions:
    """Conditions of consistency, evaluated at a point and on a ball around it.

    Attributes
    ----------
    n : int
        The smaller of the two sample sizes.
    radius : float
        Of the ball.
    score : float
        √n ‖∇ℓ(δ*)‖, to be bounded by R₁.
    eigenvalue : float
        λ_min of the Hessian at δ*.
    eigenvalue_in_ball : float
        Its minimum over the ball, to be bounded below by R₂.
    weyl : float
        Weyl's lower bound of that minimum.
    ratio : float
        √n ‖∇ℓ(δ*)‖ / eigenvalue_in_ball, to be below √n · radius / C_r.
    """

    n: int
    radius: float
    score: float
    eigenvalue: float
    eigenvalue_in_ball: float
    weyl: float
    ratio: float

    @property
    def R_1(self) -> float:  # noqa: N802
        """The smallest R₁ that bounds this sample's score."""
        return self.score

    @property
    def R_2(self) -> float:  # noqa: N802
        """The largest R₂ that bounds the eigenvalues on the ball from below."""
        return self.eigenvalue_in_ball

    def holds(self, C_r: float) -> bool:
        """Whether R₁/R₂ = √n · radius / C_r bounds the ratio."""
        constant = as_scalar(C_r, "C_r")
        if constant <= 0.0:
            raise DataError(f"C_r: {constant:g} is not positive; the theorem asks for a number above 1")
        return bool(self.ratio * constant <= np.sqrt(self.n) * self.radius)


@one_thread_each()
def min_eigenvalue(problem: RatioProblem, delta: Any) -> float:
    """λ_min of the Hessian at δ."""
    return float(np.linalg.eigvalsh(as_problem(problem).hessian(delta))[0])


def _ball(problem: Any, centre: Any, radius: Any, starts: Any, name: str = "centre") -> tuple[Array, float, int]:
    """Centre, radius and number of starts, looked at."""
    delta = as_vector(centre, name, as_problem(problem).k, limit=LARGEST)
    if not problem.rows.in_memory:
        raise DataError("problem: is read block by block; use problem.in_memory()")
    size = check_radius(radius)
    if size == 0.0:
        raise DataError("radius: must be positive")
    return delta, size, as_count(starts, "starts", 0)


def _descend(function: Any, centre: Array, radius: float, starts: int, rng: Rng) -> tuple[float, Array]:
    """Smallest value of a function with gradient over a ball, by projected gradient from the best of several starts."""
    directions = as_generator(rng).normal(size=(starts, centre.size))
    directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
    begun = [(x, *function(centre + x)) for x in (np.zeros_like(centre), *directions)]
    begun.sort(key=lambda start: start[1])
    best, where = np.inf, centre
    for x, value, gradient in begun[:DESCENTS]:
        step = radius
        for _ in range(100):
            length = float(np.linalg.norm(gradient))
            if step < 1e-6 * radius or length == 0.0:
                break
            trial = x - step * gradient / length
            trial *= min(1.0, radius / max(float(np.linalg.norm(trial)), 1e-300))
            new, new_gradient = function(centre + trial)
            if new < value - 1e-15:
                x, value, gradient = trial, new, new_gradient
            else:
                step *= 0.5
        if value < best:
            best, where = value, centre + x
    return float(best), where


class _Cumulants:
    """Hessian at δ, and derivatives of its quadratic forms, from one look at the rows."""

    def __init__(self, problem: RatioProblem, delta: Array) -> None:
        self.mu = exp(problem.log_mu(delta))
        self.centred = problem.features_q - self.mu @ problem.features_q
        self.H: Array = (self.mu[:, None] * self.centred).T @ self.centred

    def slope(self, v: Array) -> Array:
        """Derivative of v'H(δ)v: the third cumulant E[⟨F − m, v⟩² (F − m)] under μ(δ)."""
        return np.asarray((self.mu * np.square(self.centred @ v)) @ self.centred)


@one_thread_each()
def min_eigenvalue_in_ball(
    problem: RatioProblem, centre: Any, radius: float, *, starts: int = 12, rng: Rng = 0
) -> tuple[float, Array]:
    """Minimum of λ_min over the ball, and where it is reached, by projected gradient from the best of some starts."""
    centre, radius, starts = _ball(problem, centre, radius, starts)

    def function(delta: Array) -> tuple[float, Array]:
        at = _Cumulants(problem, delta)
        values, vectors = np.linalg.eigh(at.H)
        return float(values[0]), at.slope(vectors[:, 0])

    return _descend(function, centre, radius, starts, rng)


@one_thread_each()
def weyl_bound(
    problem: RatioProblem, centre: Any, radius: float, *, reference: Any = None, starts: int = 12, rng: Rng = 0
) -> float:
    """λ_min(Σ) − max over the ball of ‖Σ − H(δ)‖, Weyl's lower bound; Σ is the Hessian at the centre by default."""
    delta, radius, starts = _ball(problem, centre, radius, starts)
    S = problem.hessian(delta) if reference is None else as_matrix(reference, "reference", limit=LARGEST)
    if S.shape != (problem.k, problem.k) or not np.allclose(S, S.T):
        raise DataError(f"reference: must be a symmetric matrix of shape ({problem.k}, {problem.k})")

    def function(delta: Array) -> tuple[float, Array]:
        at = _Cumulants(problem, delta)
        values, vectors = np.linalg.eigh(at.H - S)
        i = int(np.argmax(np.abs(values)))
        sign = 1.0 if values[i] >= 0.0 else -1.0
        return -abs(float(values[i])), -sign * at.slope(vectors[:, i])

    worst, _ = _descend(function, delta, radius, starts, rng)
    return float(np.linalg.eigvalsh(S)[0] + worst)


@one_thread_each()
def conditions(problem: RatioProblem, delta: Any, radius: float, *, starts: int = 12, rng: Rng = 0) -> Conditions:
    """All conditions at δ* on a ball of the given radius.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> problem = RatioProblem.from_samples(rng.normal(size=(400, 2)), rng.normal(size=(400, 2)))
    >>> c = conditions(problem, [0.0, 0.0], 0.2)
    >>> c.weyl <= c.eigenvalue_in_ball <= c.eigenvalue
    True
    """
    delta, radius, starts = _ball(problem, delta, radius, starts, "delta")
    n_p = problem.n_q if problem.features_p is None else len(problem.features_p)
    n = min(n_p, problem.n_q)
    score = float(np.sqrt(n) * np.linalg.norm(problem.gradient(delta)))
    seed = as_seed(rng)  # the same starts for both
    inside, _ = min_eigenvalue_in_ball(problem, delta, radius, starts=starts, rng=seed)
    weyl = weyl_bound(problem, delta, radius, starts=starts, rng=seed)
    ratio = score / inside if inside > 0.0 else np.inf
    return Conditions(n, radius, score, min_eigenvalue(problem, delta), inside, weyl, ratio)
