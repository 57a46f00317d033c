"""Answers of problems that were not made around one: Newton's method in extended precision.

It starts near the answer and knows which coefficients are zero, so that every step is a linear solve; gradients are
summed in extended precision, where the machine has it, and the curvature in double, which only costs a step or two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..entropy import Array, exp, log
from ..errors import DataError, SolveError
from ..linear import solve_psd
from ..problem import RatioProblem
from ..solvers import solve
from .case import Case, Truth

__all__ = ["solved"]

#: arrays in extended precision
Long = Any
#: steps of Newton's method, of which a handful is needed
STEPS = 30


def solved(name: str, problem: RatioProblem, **facts: float) -> Case:
    """The case of a feasible problem, with an answer accurate to the last digits of a double."""
    if problem.radius and problem.norm == 1:
        raise DataError("problem: the norm 1 ties coefficients to each other, which is not followed here; plant one")
    start = solve(problem, tol=1e-10).delta
    if problem.radius and not np.any(start):
        raise DataError("problem: its answer is zero, which needs no reference")
    face = np.flatnonzero(start) if problem.norm == np.inf and problem.radius else np.arange(problem.k)
    F = problem.features_q[:, face].astype(np.longdouble)
    centre = F.mean(axis=0)
    F, b = F - centre, problem.target[face].astype(np.longdouble) - centre
    a = problem.log_base.astype(np.longdouble)
    unit = np.abs(F).max(axis=0)
    unit[unit == 0.0] = 1.0
    z, last = start[face] * unit, np.longdouble(np.inf)
    F, b = F / unit, b / unit
    signs = np.sign(start[face])
    for _ in range(STEPS):
        value, gradient, H = _model(F, b, a, z, problem.radius, problem.norm, unit, signs)
        step = solve_psd(H.astype(float), gradient.astype(float))
        if not np.any(step) or (value >= last and float(np.abs(step).max()) < 1e-12):
            break
        z, last = z - step, value
    delta = np.zeros(problem.k)
    delta[face] = (z / unit).astype(float)
    if np.any(np.sign(delta) * np.sign(start) < 0.0):
        raise SolveError(f"{name}: a coefficient changed its sign, so that the answer lies on another face")
    return Case(name, problem, Truth.OPTIMAL, float(value), delta, facts)


def _model(
    F: Long, b: Long, a: Long, z: Any, radius: float, norm: float, unit: Any, signs: Array
) -> tuple[Any, Long, Long]:
    """Value, gradient and curvature of ℓ_R at δ = z / unit."""
    logits = a + F @ z
    top = logits.max()
    w = exp(logits - top)
    total = w.sum()
    mu = w / total
    mean = mu @ F
    centred = F - mean
    value = top + log(total) - b @ z
    gradient, H = mean - b, (centred * mu[:, None]).T @ centred
    if radius and norm == 2:
        delta = z / unit
        length = np.sqrt(delta @ delta)
        across = delta / length
        value = value + radius * length
        gradient = gradient + radius * across / unit
        H = H + radius / length * (np.diag(1.0 / unit**2) - np.outer(across / unit, across / unit))
    elif radius:
        value = value + radius * (signs @ (z / unit))
        gradient = gradient + radius * signs / unit
    return value, gradient, H
