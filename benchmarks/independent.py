"""Check of certificates that shares no formula with the package: extended precision, exact fractions, 50 digits.

A certificate states that no δ has a value below ``primal_value − gap``, so one counterexample refutes it. The check
therefore minimises further from the returned δ, in higher precision than the package uses, and compares. If columns
are linearly dependent, the target in double precision misses the affine span of the rows by its last digit, and the
value is unbounded below along the normal; the check allows for that digit. For an infeasible problem, the inequality
of the separating direction is verified in fractions, without round-off.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import pre_convex as pre
from pre_convex.feasibility.exposed import limit_problem

LONG = np.longdouble
#: largest excess of the true gap over the reported one
ALLOWED = 1e-12


@dataclass(frozen=True)
class Judgement:
    """Whether an answer is certified, whether its certificate is false, and the excess of the true gap over it."""

    certified: bool
    false: bool
    excess: float = -np.inf
    gap: float = np.nan


def _arrays(problem: pre.RatioProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(a, F − b, b) of the rows with positive weight, in extended precision."""
    positive = problem.log_base > -np.inf
    b = problem.target.astype(LONG)
    return problem.log_base[positive].astype(LONG), problem.features_q[positive].astype(LONG) - b, b


def _dual_norm(delta: np.ndarray, norm: float) -> np.floating:
    """Norm of δ in the penalty, dual to the norm of the moment constraint."""
    if norm == 2.0:
        return np.sqrt((delta * delta).sum())
    return np.abs(delta).sum() if norm == np.inf else np.abs(delta).max()


def value(problem: pre.RatioProblem, delta: np.ndarray) -> np.floating:
    """The objective of [P] in extended precision."""
    a, G, _ = _arrays(problem)
    z = a + G @ delta.astype(LONG)
    top = z.max()
    return top + np.log(np.exp(z - top).sum()) + LONG(problem.radius) * _dual_norm(delta.astype(LONG), problem.norm)


def improved(problem: pre.RatioProblem, delta: np.ndarray, steps: int = 12) -> tuple[np.ndarray, np.floating]:
    """A better δ and its value, by Newton steps on the active set of the penalty at δ."""
    a, G, _ = _arrays(problem)
    R, norm = LONG(problem.radius), problem.norm
    point = delta.astype(LONG)
    B, c = _active_set(point, norm if R > 0 else 2.0)
    spread = np.sqrt(np.square(G @ B).mean(axis=0))
    B = B / np.where(spread > 0, spread, LONG(1))  # scales all coordinates alike
    c = c / np.where(spread > 0, spread, LONG(1))
    GB, base, best = G @ B, G @ point, value(problem, delta)
    x, x0 = np.zeros(B.shape[1], dtype=LONG), point
    for _ in range(steps):
        z = a + base + GB @ x
        w = np.exp(z - z.max())
        w /= w.sum()
        mean = w @ GB
        gradient, H = mean + R * c, ((GB - mean) * w[:, None]).T @ (GB - mean)
        if R > 0 and norm == 2.0:
            here = x0 + B @ x
            length = np.sqrt((here * here).sum())
            if length == 0:
                break
            unit = B.T @ (here / length)
            gradient = mean + R * unit
            H = H + R * (B.T @ B - np.outer(unit, unit)) / length
        d = np.linalg.lstsq(H.astype(float), -gradient.astype(float), rcond=1e-15)[0].astype(LONG)
        for t in 0.5 ** np.arange(0, 24, 2):
            trial = value(problem, x0 + B @ (x + t * d))
            if trial < best:
                x, best = x + t * d, trial
                break
        else:
            break
    return x0 + B @ x, best


def _active_set(delta: np.ndarray, norm: float) -> tuple[np.ndarray, np.ndarray]:
    """(B, c) such that the dual norm of δ + Bx grows by ⟨c, x⟩ near x = 0; B is the identity where it is smooth."""
    k = delta.size
    eye = np.eye(k, dtype=LONG)
    if norm == np.inf:
        on = delta != 0
        return eye[:, on], np.sign(delta[on])
    if norm == 1.0 and np.any(delta):
        tied = np.abs(delta) >= np.abs(delta).max() * (1 - 1e-12)
        together = np.where(tied, np.sign(delta), LONG(0))[:, None]
        rest = eye[:, ~tied]
        return np.concatenate([together, rest], axis=1), np.append(LONG(1), np.zeros(rest.shape[1], dtype=LONG))
    return eye, np.zeros(k, dtype=LONG)


def judge(problem: pre.RatioProblem, solution: pre.Solution, tol: float = 1e-8, *, digits: bool = False) -> Judgement:
    """Judge a solution with status OPTIMAL or BOUNDARY; with ``digits``, in 50 digits too."""
    gap = float(solution.gap)
    scale = 1.0 + abs(solution.primal_value)
    if solution.status is pre.Status.BOUNDARY:
        return _judge_boundary(limit_problem(problem, solution.recession), solution, tol)
    if solution.status is not pre.Status.OPTIMAL:
        return Judgement(False, False, gap=gap)
    better, digit, excess = _excess(problem, solution)
    if digits:
        from fifty_digits import lowest, value_of

        better, best = lowest(problem, better)
        more = float(value_of(problem, solution.delta) - best - gap)
        excess = max(excess, more - float(digit @ np.abs(better - solution.delta)))
    return Judgement(gap <= tol * scale, excess > ALLOWED, excess, gap)


def _excess(problem: pre.RatioProblem, solution: pre.Solution) -> tuple[np.ndarray, np.ndarray, float]:
    """(better δ, last digits of the target, excess of the true gap over the reported one that this δ shows)."""
    better, best = improved(problem, solution.delta)
    digit = _last_digit(problem)
    excess = float(max(value(problem, solution.delta), LONG(solution.primal_value)) - best - LONG(solution.gap))
    return better, digit, excess - float(digit @ np.abs(better - solution.delta))


def _last_digit(problem: pre.RatioProblem) -> np.ndarray:
    """Round-off of the target that linearly dependent columns reveal; zero if the columns are independent."""
    F = problem.features_q[problem.log_base > -np.inf]
    centred = F - F.mean(axis=0)
    centred /= np.where(np.abs(centred).max(axis=0) > 0.0, np.abs(centred).max(axis=0), 1.0)
    if np.linalg.matrix_rank(centred, tol=1e-11) == problem.k:
        return np.zeros(problem.k)
    return 2.0 * np.finfo(float).eps * (np.abs(problem.target) + np.abs(F).max(axis=0))


def _judge_boundary(problem: pre.RatioProblem, solution: pre.Solution, tol: float) -> Judgement:
    """On the boundary the weights are the answer: they must reach the target, and the value at δ approaches theirs.

    A target exactly on the boundary may be slightly inside or outside in floating point, so the weights are required
    to reach it only up to round-off. ``problem`` has the rows of the exposed face, if there is one.
    """
    mu = solution.mu.astype(LONG)
    positive = mu > 0
    F, b = problem.features_q.astype(LONG), problem.target.astype(LONG)
    spread = np.ptp(problem.features_q[problem.log_base > -np.inf], axis=0)
    residual = np.abs(b - mu @ F)
    tolerance = 1e-9 * spread + 1e-13 * np.abs(problem.target)
    if problem.radius > 0.0:
        reached = np.linalg.norm(residual.astype(float), problem.norm) <= problem.radius * (1.0 + 1e-6)
    else:
        reached = bool(np.all(residual <= tolerance))
    simplex = bool(mu.min() >= 0) and abs(float(mu.sum()) - 1.0) <= 1e-9
    dual = (mu[positive] * (problem.log_base[positive] - np.log(mu[positive]))).sum()
    gap = float(value(problem, solution.delta) - dual)
    claimed = float(solution.dual_value - dual)
    scale = 1.0 + abs(float(dual))
    certified = bool(gap <= tol * scale or problem.radius > 0.0)
    false = not (reached and simplex and claimed <= tol * scale)
    return Judgement(certified, false, _excess(problem, solution)[2], gap)


def separates(problem: pre.RatioProblem, v: np.ndarray) -> bool:
    """Whether ⟨v,b⟩ − max_j ⟨v,F_j⟩ > R‖v‖_*, in fractions; it proves that no weights reach the target."""
    exact = [Fraction(float(x)) for x in v]
    top = max(
        sum((x * Fraction(float(f)) for x, f in zip(exact, row, strict=True)), Fraction(0))
        for row in problem.features_q[problem.log_base > -np.inf]
    )
    margin = sum((x * Fraction(float(b)) for x, b in zip(exact, problem.target, strict=True)), Fraction(0)) - top
    R = Fraction(problem.radius)
    if problem.norm == 2.0:
        return margin > 0 and margin**2 > R**2 * sum(x * x for x in exact)
    size = [abs(x) for x in exact]
    return margin > R * (sum(size) if problem.norm == np.inf else max(size))
