"""Cases of the benchmark: problems whose answers are known.

Most are built around their answer: δ is chosen first, and the target computed from it (:func:`planted`). The answers of
other problems are computed by Newton's method in extended precision (:func:`solved`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from pre_convex._internal.linear_algebra import solve_psd
from pre_convex._internal.typing import Array
from pre_convex.errors import DataError, SolveError
from pre_convex.problem import RatioProblem
from pre_convex.solvers import solve

__all__ = ["Case", "Truth", "planted", "solved", "subgradient"]

#: limit on Newton steps in extended precision; a handful is enough
MAX_STEPS = 30


class Truth(StrEnum):
    """What is true of a problem, independent of any solver."""

    OPTIMAL = "optimal"  #: a finite δ is optimal
    BOUNDARY = "boundary"  #: optimal weights exist, but δ diverges
    INFEASIBLE = "infeasible"  #: the target is farther from the hull than the radius


@dataclass(frozen=True, eq=False)
class Case:
    """A problem with its known answer.

    Attributes
    ----------
    name : str
        Unique in its set.
    problem : RatioProblem
        The problem to solve.
    truth : Truth
        Whether an answer exists.
    value : float
        Optimal value of [P] and [D]; −inf if infeasible.
    delta : ndarray of shape (k,), or None
        An optimal δ; ``None`` if there is none.
    facts : mapping
        Parameters that were varied, such as the effective sample size or the distance to the hull.
    """

    name: str
    problem: RatioProblem
    truth: Truth
    value: float
    delta: Array | None = None
    facts: Mapping[str, float] = field(default_factory=dict)


def subgradient(delta: Array, norm: float) -> Array:
    """A residual r of unit norm with ⟨r, δ⟩ = ‖δ‖_*; zero if δ = 0."""
    if not np.any(delta):
        return np.zeros_like(delta)
    if norm == 2:
        return np.asarray(delta / np.linalg.norm(delta))
    if norm == np.inf:
        return np.asarray(np.sign(delta))
    largest = np.abs(delta) == np.abs(delta).max()
    return np.asarray(np.where(largest, np.sign(delta), 0.0) / largest.sum())


def planted(
    name: str,
    features: Array,
    delta: Array,
    log_base: Array | None = None,
    radius: float = 0.0,
    norm: float = 2,
    inner: Array | None = None,
    **facts: float,
) -> Case:
    """The case whose answer is ``delta``, for any radius and norm.

    Parameters
    ----------
    name : str
        Name of the case.
    features : array of shape (n, k)
        F, one row per q sample.
    delta : array of shape (k,)
        The answer.
    log_base : array of shape (n,), optional
        Logarithms of the base weights; constant by default.
    radius : float, default 0
        R ≥ 0.
    norm : {2, inf, 1}, default 2
        Norm of the moment constraint; ``inf`` is the sparse one (ℓ1 penalty on δ).
    inner : array of shape (k,), optional
        With norm inf, the residual may take any value in [−R, R] where δ is zero; ``inner`` sets it there, as a
        fraction of R. Zero by default.
    **facts : float
        Stored in ``Case.facts``.
    """
    log_base = np.zeros(len(features)) if log_base is None else log_base
    untargeted = RatioProblem(np.zeros(features.shape[1]), features, log_base)
    r = subgradient(delta, norm)
    if inner is not None:
        r = np.where(delta == 0.0, inner, r)
    mean = untargeted.gradient(delta)
    # the mean of a constant column carries round-off, and a target off by one bit there would be infeasible
    mean = np.where(np.ptp(features, axis=0) == 0.0, features[0], mean)
    target = mean + radius * r
    problem = RatioProblem(target, features, log_base, radius=radius, norm=norm)
    return Case(name, problem, Truth.OPTIMAL, problem.value(delta), delta, facts)


def solved(name: str, problem: RatioProblem, **facts: float) -> Case:
    """The case of a feasible problem, with an answer accurate to the last digits of a double.

    Newton's method starts near the answer with the zero coefficients known, so every step is a linear solve. Gradients
    are summed in extended precision if the machine has it; the curvature in double costs a step or two at most.
    """
    if problem.radius and problem.norm == 1:
        raise DataError("problem", "norm 1 ties coefficients together, which is not supported", "use planted()")
    start = solve(problem, tol=1e-10).delta
    if problem.radius and not np.any(start):
        raise DataError("problem", "its answer is zero", "build the Case directly; no reference is needed")
    free = np.flatnonzero(start) if problem.norm == np.inf and problem.radius else np.arange(problem.k)
    F = problem.features_q[:, free].astype(np.longdouble)
    centre = F.mean(axis=0)
    F, b = F - centre, problem.target[free].astype(np.longdouble) - centre
    a = problem.log_base.astype(np.longdouble)
    scale = np.abs(F).max(axis=0)
    scale[scale == 0.0] = 1.0
    z, previous = start[free] * scale, np.longdouble(np.inf)
    F, b = F / scale, b / scale
    signs = np.sign(start[free])
    for _ in range(MAX_STEPS):
        value, gradient, H = _derivatives(F, b, a, z, problem.radius, problem.norm, scale, signs)
        step = solve_psd(H.astype(float), gradient.astype(float))
        if not np.any(step) or (value >= previous and float(np.abs(step).max()) < 1e-12):
            break
        z, previous = z - step, value
    delta = np.zeros(problem.k)
    delta[free] = (z / scale).astype(float)
    if np.any(np.sign(delta) * np.sign(start) < 0.0):
        raise SolveError(f"{name}: a coefficient changed its sign, so the active set of the start was wrong")
    return Case(name, problem, Truth.OPTIMAL, float(value), delta, facts)


def _derivatives(
    F: Any, b: Any, a: Any, z: Any, radius: float, norm: float, scale: Any, signs: Array
) -> tuple[Any, Any, Any]:
    """Value, gradient and Hessian of ℓ_R at δ = z / scale, in extended precision."""
    logits = a + F @ z
    top = logits.max()
    w = np.exp(logits - top)
    total = w.sum()
    mu = w / total
    mean = mu @ F
    centred = F - mean
    value = top + np.log(total) - b @ z
    gradient, H = mean - b, (centred * mu[:, None]).T @ centred
    if radius and norm == 2:
        delta = z / scale
        length = np.sqrt(delta @ delta)
        direction = delta / length
        value = value + radius * length
        gradient = gradient + radius * direction / scale
        H = H + radius / length * (np.diag(1.0 / scale**2) - np.outer(direction / scale, direction / scale))
    elif radius:
        value = value + radius * (signs @ (z / scale))
        gradient = gradient + radius * signs / scale
    return value, gradient, H
