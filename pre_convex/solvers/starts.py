"""Starting points for Newton when the base weights span many orders of magnitude.

With base weights from e^-700 to e^700 the loss is nearly piecewise linear: from a poor start a few rows take all the
weight, and the curvature tells nothing about the others. With equal base weights the same target is easy. So the
solution is followed for base weights exp(t·a) from t = 0 to t = 1 (continuation); each solution is close to the one
before, where the rows that matter already have weight.
"""

from __future__ import annotations

import numpy as np

from .._internal.entropy import exponentiate, safe_log
from .._internal.linear_algebra import least_squares
from .._internal.typing import Array
from ..data.affine_span import affine_span_of
from ..errors import SolveError
from ..penalties import NoPenalty, Penalty
from ..problem import RatioProblem

__all__ = ["continuation_start", "vertex_start"]

#: limits: total passes, total matrix entries read, and passes of one stage
MAX_PASSES, MAX_ENTRIES, STAGE_PASSES = 3_000, 1e9, 30
#: a stage ends when a step changes no log-weight by more than this; the same for the last stage
STAGE_CHANGE, FINAL_CHANGE = 0.1, 1e-8
#: shortest step in t, as a share of the first one
SHORTEST_STEP = 1e-12
#: largest share of the gradient that a step may leave
GRADIENT_LEFT = 1e-3
#: weight given to a row that has none at the vertex
SMALLEST_WEIGHT = 1e-20


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # a step that overflows is rejected
def continuation_start(problem: RatioProblem, penalty: Penalty) -> Array | None:
    """δ close to the solution of [P], by continuation in the base weights; None if the path is lost."""
    positive = problem.positive_rows
    # relative to the target, so that moments close to a vertex keep their digits
    G, basis = problem.rows.take(positive).features - problem.centred_target, np.eye(problem.k)
    if isinstance(penalty, NoPenalty):
        span = affine_span_of(problem.rows)
        if span.basis.shape[1] == 0 or np.any(span.normal_components(problem.centred_target)):
            return None
        G, basis = G @ span.basis, span.basis
    a = problem.log_base[positive] - problem.log_base[positive].max()
    max_passes = min(MAX_PASSES, MAX_ENTRIES / G.size)
    z, passes = _solve_near(G, 0.0 * a, penalty, np.zeros(G.shape[1]), STAGE_CHANGE, 10 * STAGE_PASSES)
    if z is None:
        return None
    t, step, velocity = 0.0, min(1.0, 1.0 / max(float(np.ptp(a)), 1e-300)), np.zeros_like(z)
    shortest = SHORTEST_STEP * step
    while t < 1.0 and passes < max_passes and step > shortest:
        step = min(step, 1.0 - t)
        next_z, used = _solve_near(G, (t + step) * a, penalty, z + step * velocity, STAGE_CHANGE, STAGE_PASSES)
        passes += used
        if next_z is None:
            step *= 0.25
        else:
            z, t, velocity, step = next_z, t + step, (next_z - z) / step, 2.0 * step
    if t < 1.0:
        return None
    last, _ = _solve_near(G, a, penalty, z, FINAL_CHANGE, STAGE_PASSES)
    return np.asarray(basis @ (z if last is None else last))


def vertex_start(problem: RatioProblem) -> Array | None:
    """δ from a vertex of [D] without its entropy term; None if there is none.

    Without entropy [D] is a linear program, and its vertex has weight on at most k + 1 rows. Their weights give δ; with
    base weights that differ by hundreds of orders of magnitude no other row matters.
    """
    from scipy.optimize import linprog

    span, positive = affine_span_of(problem.rows), problem.positive_rows
    if span.basis.shape[1] == 0 or np.any(span.normal_components(problem.centred_target)):
        return None
    G = np.column_stack(
        [(problem.rows.take(positive).features - problem.centred_target) @ span.basis, np.ones(positive.size)]
    )
    a, b = problem.log_base[positive] - problem.log_base[positive].max(), np.append(np.zeros(span.basis.shape[1]), 1.0)
    found = linprog(-a, A_eq=G.T, b_eq=b, method="highs-ds")
    if found.status != 0:
        return None
    vertex = np.flatnonzero(found.x > 0.0)
    weights = np.maximum(np.linalg.lstsq(G[vertex].T, b)[0], SMALLEST_WEIGHT)  # more accurate than the solver's
    z = np.linalg.lstsq(G[vertex], safe_log(weights) - a[vertex])[0]
    return np.asarray(span.basis @ z[:-1])


def _solve_near(G: Array, base: Array, penalty: Penalty, z: Array, aim: float, limit: int) -> tuple[Array | None, int]:
    """(minimiser of log Σ exp(base + Gz) + g(z), passes), from a start close to it; None if the start is not close."""
    w, mean = _weights(G, base, z)
    if not np.all(np.isfinite(mean)):  # the start overflows
        return None, 1
    for used in range(1, limit):
        root = (G - mean) * np.sqrt(w)[:, None]
        d = _step(root, mean, penalty, z)
        if d is None or not np.all(np.isfinite(d)):
            return None, used
        rise = penalty.value(z + d) - penalty.value(z)
        fall = -float(mean @ d) - rise
        if isinstance(penalty, NoPenalty):
            left = mean + root.T @ (root @ d)  # part of the gradient that no row with weight can remove
            if float(np.abs(left).max()) > GRADIENT_LEFT * float(np.abs(mean).max()):
                return None, used
        if np.abs((G - mean) @ d).max() <= aim:  # over all rows: one without weight so far may be needed next
            return z + d, used
        decrement = float(np.square(root @ d).sum())
        t = 1.0 / (1.0 + np.sqrt(decrement)) if decrement > 0.1 else 1.0
        for _ in range(20):  # slopes are more accurate than values
            next_w, next_mean = _weights(G, base, z + t * d)
            if float(next_mean @ d) + rise <= 0.5 * abs(fall):
                break
            t *= 0.5
        else:
            return None, used
        z, w, mean = z + t * d, next_w, next_mean
    return None, limit


def _weights(G: Array, base: Array, z: Array) -> tuple[Array, Array]:
    """Tilted weights and the mean of G under them."""
    w = base + G @ z
    _, total = exponentiate(w)
    w /= total
    return w, w @ G


def _step(root: Array, mean: Array, penalty: Penalty, z: Array) -> Array | None:
    """Newton step; without a penalty from a factor of the curvature, which is more accurate."""
    if isinstance(penalty, NoPenalty):
        return np.asarray(-least_squares(root, mean[:, None])[:, 0])
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a step may overflow
            return penalty.step(z, mean, root.T @ root) - z
    except SolveError:
        return None
