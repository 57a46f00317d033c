"""The paper's consistency conditions on a sample: smallest eigenvalue over a ball, Weyl's bound, R₁, R₂ and C_r.

Theorem 1 requires ‖∇ℓ(δ*)‖ ≤ R₁/√n, and λ_min of the Hessian above R₂ on the ball of radius C_r R₁ / (R₂ √n) around
δ*, with C_r > 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._internal.rng import Rng, as_generator, as_seed
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import MAX_ENTRY, as_count, as_matrix, as_scalar, as_vector, check_radius
from ..errors import DataError
from ..problem import RatioProblem, as_problem

__all__ = ["Conditions", "conditions", "min_eigenvalue", "min_eigenvalue_in_ball", "weyl_bound"]

#: number of starting points from which to descend: those with the smallest values
DESCENTS = 4
#: maximum steps of one descent, and step length relative to the radius below which it stops
MAX_STEPS, MIN_STEP = 100, 1e-6


@dataclass(frozen=True)
class Conditions:
    """The paper's consistency conditions at a point δ* and on a ball around it.

    Attributes
    ----------
    n : int
        Size of the smaller sample.
    radius : float
        Radius of the ball.
    score : float
        √n ‖∇ℓ(δ*)‖, which R₁ must bound.
    eigenvalue : float
        λ_min of the Hessian at δ*.
    eigenvalue_in_ball : float
        Its minimum over the ball, which R₂ must bound from below.
    weyl : float
        Weyl's lower bound of that minimum.
    ratio : float
        √n ‖∇ℓ(δ*)‖ / eigenvalue_in_ball, which must be at most √n · radius / C_r.
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
        """Whether R₁/R₂ = √n · radius / C_r bounds the ratio.

        Parameters
        ----------
        C_r : float
            The theorem's constant, above 1.

        Returns
        -------
        bool
        """
        constant = as_scalar(C_r, "C_r")
        if constant <= 0.0:
            raise DataError("C_r", f"{constant:g} is not positive", "pass a number above 1, as the theorem requires")
        return bool(self.ratio * constant <= np.sqrt(self.n) * self.radius)


@single_threaded_blas()
def min_eigenvalue(problem: RatioProblem, delta: Any) -> float:
    """Smallest eigenvalue of the Hessian at δ.

    Parameters
    ----------
    problem : RatioProblem
    delta : array of shape (k,)
        Where the Hessian is taken.

    Returns
    -------
    float
    """
    return float(np.linalg.eigvalsh(as_problem(problem).hessian(delta))[0])


def _check_ball(problem: Any, centre: Any, radius: Any, starts: Any, name: str = "centre") -> tuple[Array, float, int]:
    """Centre, radius and number of starts, validated."""
    delta = as_vector(centre, name, as_problem(problem).k, limit=MAX_ENTRY)
    problem.require_exponential("this bound")
    if not problem.rows.in_memory:
        raise DataError("problem", "is read block by block", "read it with problem.in_memory()")
    size = check_radius(radius)
    if size == 0.0:
        raise DataError("radius", "is 0", "pass a positive number")
    return delta, size, as_count(starts, "starts", 0)


def _descend(function: Any, centre: Array, radius: float, starts: int, rng: Rng) -> tuple[float, Array]:
    """Smallest value over a ball of a function that returns value and gradient, and where it is taken.

    Projected gradient descent from the best of several starting points.
    """
    directions = as_generator(rng).normal(size=(starts, centre.size))
    directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
    candidates = [(x, *function(centre + x)) for x in (np.zeros_like(centre), *directions)]
    candidates.sort(key=lambda start: start[1])
    best, minimiser = np.inf, centre
    for x, value, gradient in candidates[:DESCENTS]:
        step = radius
        for _ in range(MAX_STEPS):
            length = float(np.linalg.norm(gradient))
            if step < MIN_STEP * radius or length == 0.0:
                break
            trial = x - step * gradient / length
            trial *= min(1.0, radius / max(float(np.linalg.norm(trial)), 1e-300))
            new, new_gradient = function(centre + trial)
            if new < value - 1e-15:
                x, value, gradient = trial, new, new_gradient
            else:
                step *= 0.5
        if value < best:
            best, minimiser = value, centre + x
    return float(best), minimiser


class _Cumulants:
    """Hessian at δ and derivatives of its quadratic forms."""

    def __init__(self, problem: RatioProblem, delta: Array) -> None:
        self.mu = np.exp(problem.log_mu(delta))
        self.centred = problem.features_q - self.mu @ problem.features_q
        self.H: Array = (self.mu[:, None] * self.centred).T @ self.centred

    def slope(self, v: Array) -> Array:
        """Derivative of v'H(δ)v: the third cumulant E[⟨F − m, v⟩² (F − m)] under μ(δ)."""
        return np.asarray((self.mu * np.square(self.centred @ v)) @ self.centred)


@single_threaded_blas()
def min_eigenvalue_in_ball(
    problem: RatioProblem, centre: Any, radius: float, *, starts: int = 12, rng: Rng = 0
) -> tuple[float, Array]:
    """Minimum over a ball of the Hessian's smallest eigenvalue, by projected gradient descent.

    Parameters
    ----------
    problem : RatioProblem
        With its rows in memory.
    centre : array of shape (k,)
        Centre of the ball.
    radius : float
        Radius of the ball, positive.
    starts : int, default 12
        Random starting points on the sphere, besides the centre; at least 0.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of the starting points.

    Returns
    -------
    value : float
        The smallest eigenvalue found.
    delta : ndarray of shape (k,)
        Where it is taken.
    """
    centre, radius, starts = _check_ball(problem, centre, radius, starts)

    def function(delta: Array) -> tuple[float, Array]:
        at = _Cumulants(problem, delta)
        values, vectors = np.linalg.eigh(at.H)
        return float(values[0]), at.slope(vectors[:, 0])

    return _descend(function, centre, radius, starts, rng)


@single_threaded_blas()
def weyl_bound(
    problem: RatioProblem, centre: Any, radius: float, *, reference: Any = None, starts: int = 12, rng: Rng = 0
) -> float:
    """Weyl's lower bound of the smallest eigenvalue over a ball: λ_min(Σ) − max ‖Σ − H(δ)‖.

    Parameters
    ----------
    problem : RatioProblem
        With its rows in memory.
    centre : array of shape (k,)
        Centre of the ball.
    radius : float
        Radius of the ball, positive.
    reference : array of shape (k, k), optional
        Symmetric matrix Σ; the Hessian at the centre when left out.
    starts : int, default 12
        Random starting points on the sphere, besides the centre; at least 0.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of the starting points.

    Returns
    -------
    float
    """
    delta, radius, starts = _check_ball(problem, centre, radius, starts)
    # the same formula as inside the ball, so that the difference at the centre is zero and not round-off
    S = _Cumulants(problem, delta).H if reference is None else as_matrix(reference, "reference", limit=MAX_ENTRY)
    if S.shape != (problem.k, problem.k) or not np.allclose(S, S.T):
        k = problem.k
        raise DataError("reference", "is not symmetric or has another shape", f"pass a symmetric ({k}, {k}) matrix")

    def function(delta: Array) -> tuple[float, Array]:
        at = _Cumulants(problem, delta)
        values, vectors = np.linalg.eigh(at.H - S)
        i = int(np.argmax(np.abs(values)))
        sign = 1.0 if values[i] >= 0.0 else -1.0
        return -abs(float(values[i])), -sign * at.slope(vectors[:, i])

    worst, _ = _descend(function, delta, radius, starts, rng)
    return float(np.linalg.eigvalsh(S)[0] + worst)


@single_threaded_blas()
def conditions(problem: RatioProblem, delta: Any, radius: float, *, starts: int = 12, rng: Rng = 0) -> Conditions:
    """The paper's consistency conditions at δ* and on a ball around it.

    Parameters
    ----------
    problem : RatioProblem
        With its rows in memory.
    delta : array of shape (k,)
        δ*, the true parameter or an estimate of it; the centre of the ball.
    radius : float
        Radius of the ball, positive.
    starts : int, default 12
        Random starting points of the search for the smallest eigenvalue, besides the centre; at least 0.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of the starting points.

    Returns
    -------
    Conditions

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> problem = RatioProblem.from_samples(rng.normal(size=(400, 2)), rng.normal(size=(400, 2)))
    >>> c = conditions(problem, [0.0, 0.0], 0.2)
    >>> c.weyl <= c.eigenvalue_in_ball <= c.eigenvalue
    True
    """
    delta, radius, starts = _check_ball(problem, delta, radius, starts, "delta")
    n_p = problem.n_q if problem.features_p is None else len(problem.features_p)
    n = min(n_p, problem.n_q)
    score = float(np.sqrt(n) * np.linalg.norm(problem.gradient(delta)))
    seed = as_seed(rng)  # the same starting points for both searches
    inside, _ = min_eigenvalue_in_ball(problem, delta, radius, starts=starts, rng=seed)
    weyl = weyl_bound(problem, delta, radius, starts=starts, rng=seed)
    ratio = score / inside if inside > 0.0 else np.inf
    return Conditions(n, radius, score, min_eigenvalue(problem, delta), inside, weyl, ratio)
