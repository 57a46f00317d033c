"""A start for Newton where the base weights span so many orders of magnitude that it finds no way by itself.

With base weights from e^-700 to e^700 the loss is nearly piecewise linear: from a poor start, a few rows have all the
weight, and the curvature says nothing about the others. With flat base weights the same target is easy. So the base
weights exp(t·a) are followed from t = 0 to t = 1, and at every t the solution is close to the last one: there the rows
that carry the target all have weight.
"""

from __future__ import annotations

import numpy as np

from ..coordinates import coordinates
from ..entropy import Array, exponentiate, log
from ..errors import SolveError
from ..linear import least_squares
from ..problem import RatioProblem
from .steps import NoPenalty, StepPenalty

__all__ = ["cooled", "frozen_out"]

#: passes at most, numbers that all of them may read, and passes of one stage
PASSES, NUMBERS, STAGE = 3_000, 1e9, 30
#: change of any logarithm of a weight by the step with which a stage is done, and the last one
AIM, LAST = 0.1, 1e-8
#: share of the first stage below which a stage is no progress
SHORTEST = 1e-12
#: share of the gradient that a step may leave
BLIND = 1e-3
#: weight of a row that a corner of [D] has at none
NEXT_TO_NONE = 1e-20


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # on a way that leads nowhere
def cooled(problem: RatioProblem, penalty: StepPenalty) -> Array | None:
    """A δ close to the solution of [P], or None where the way to it is not found."""
    alive = np.flatnonzero(problem.log_base > -np.inf)
    # relative to the target, so that the moments of weights next to a corner keep their digits
    G, basis = problem.rows.take(alive).features - problem.residual_origin, np.eye(problem.k)
    if isinstance(penalty, NoPenalty):
        space = coordinates(problem.rows)
        if space.basis.shape[1] == 0 or np.any(space.off_plane(problem.residual_origin)):
            return None
        G, basis = G @ space.basis, space.basis
    a = problem.log_base[alive] - problem.log_base[alive].max()
    most = min(PASSES, NUMBERS / G.size)
    z, passes = _solved(G, 0.0 * a, penalty, np.zeros(G.shape[1]), AIM, 10 * STAGE)
    if z is None:
        return None
    t, step, pace = 0.0, min(1.0, 1.0 / max(float(np.ptp(a)), 1e-300)), np.zeros_like(z)
    shortest = SHORTEST * step
    while t < 1.0 and passes < most and step > shortest:
        step = min(step, 1.0 - t)
        ahead, used = _solved(G, (t + step) * a, penalty, z + step * pace, AIM, STAGE)
        passes += used
        if ahead is None:
            step *= 0.25
        else:
            z, t, pace, step = ahead, t + step, (ahead - z) / step, 2.0 * step
    if t < 1.0:
        return None
    last, _ = _solved(G, a, penalty, z, LAST, STAGE)
    return np.asarray(basis @ (z if last is None else last))


def frozen_out(problem: RatioProblem) -> Array | None:
    """A δ from the other end, where base weights are all that counts and entropy is nothing; None without one.

    There [D] is a linear program, and a corner of it has weight on k + 1 rows. Their weights give δ, and with base
    weights that differ by hundreds of orders of magnitude no other row has a part in it.
    """
    from scipy.optimize import linprog

    space, alive = coordinates(problem.rows), np.flatnonzero(problem.log_base > -np.inf)
    if space.basis.shape[1] == 0 or np.any(space.off_plane(problem.residual_origin)):
        return None
    G = np.column_stack(
        [(problem.rows.take(alive).features - problem.residual_origin) @ space.basis, np.ones(alive.size)]
    )
    a, b = problem.log_base[alive] - problem.log_base[alive].max(), np.append(np.zeros(space.basis.shape[1]), 1.0)
    found = linprog(-a, A_eq=G.T, b_eq=b, method="highs-ds")
    if found.status != 0:
        return None
    corner = np.flatnonzero(found.x > 0.0)
    weights = np.maximum(np.linalg.lstsq(G[corner].T, b)[0], NEXT_TO_NONE)  # to the last digit, as a solver's are not
    z = np.linalg.lstsq(G[corner], log(weights) - a[corner])[0]
    return np.asarray(space.basis @ z[:-1])


def _solved(G: Array, base: Array, penalty: StepPenalty, z: Array, aim: float, limit: int) -> tuple[Array | None, int]:
    """The minimiser of log Σ exp(base + Gz) + g(z) from a start that is close to it, and passes; None if it is not."""
    w, mean = _weights(G, base, z)
    if not np.all(np.isfinite(mean)):  # the start was beyond all numbers
        return None, 1
    for used in range(1, limit):
        root = (G - mean) * np.sqrt(w)[:, None]
        d = _step(root, mean, penalty, z)
        if d is None or not np.all(np.isfinite(d)):
            return None, used
        rise = penalty.value(z + d) - penalty.value(z)
        fall = -float(mean @ d) - rise
        if isinstance(penalty, NoPenalty):
            left = mean + root.T @ (root @ d)  # a part of the gradient for which no row has the weight
            if float(np.abs(left).max()) > BLIND * float(np.abs(mean).max()):
                return None, used
        if np.abs((G - mean) @ d).max() <= aim:  # of every row: one without weight yet may be the next that is needed
            return z + d, used
        decrement = float(np.square(root @ d).sum())
        t = 1.0 / (1.0 + np.sqrt(decrement)) if decrement > 0.1 else 1.0
        for _ in range(20):  # slopes have more digits than values
            ahead, moment = _weights(G, base, z + t * d)
            if float(moment @ d) + rise <= 0.5 * abs(fall):
                break
            t *= 0.5
        else:
            return None, used
        z, w, mean = z + t * d, ahead, moment
    return None, limit


def _weights(G: Array, base: Array, z: Array) -> tuple[Array, Array]:
    """Tilted weights, and the mean of G under them."""
    w = base + G @ z
    _, total = exponentiate(w)
    w /= total
    return w, w @ G


def _step(root: Array, mean: Array, penalty: StepPenalty, z: Array) -> Array | None:
    """The Newton step, from a factor of the curvature where nothing else has a part in it."""
    if isinstance(penalty, NoPenalty):
        return np.asarray(-least_squares(root, mean[:, None])[:, 0])
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a step may be as long as numbers are
            return penalty.step(z, mean, root.T @ root) - z
    except SolveError:
        return None
