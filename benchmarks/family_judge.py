"""Judge of certificates of the convex family that shares no formula with the package.

A certificate states that no (c, δ) has a value of [P] below ``primal_value − gap``, so one counterexample refutes it.
The judge minimises further from the answer in extended precision, and evaluates what it finds in ball arithmetic of
200 bits, so that its own round-off cannot refute anything. That a problem is infeasible is checked by the inequality of
the separating direction, in balls as well.
"""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
from independent import Judgement, _active_set, _last_digit

import pre_convex as pre

LONG = np.longdouble
BITS = 200
#: largest excess of the true gap over the reported one, relative to 1 + |value|
ALLOWED = 1e-15
STEPS = 60


def _ratio(name: str, s: Any, one: Any) -> Any:
    """(φ')⁻¹ of each s below its limit."""
    if name == "kl":
        return np.exp(s)
    return one + s if name == "chi2" else one / (one - s)


def _phi(name: str, t: Any, one: Any) -> Any:
    """φ of ratios that are finite; zero ratios only for KL and χ²."""
    if name == "chi2":
        return (t - one) * (t - one) / 2
    positive = np.array([bool(x > 0) for x in t])
    safe = np.where(positive, t, one)
    log = np.log(safe)
    return np.where(positive, t * log, 0 * one) - t + one if name == "kl" else t - one - log


class _Program:
    """[P] of one problem in the numbers of one arithmetic: extended precision or balls."""

    def __init__(self, problem: pre.RatioProblem, number: Any) -> None:
        rows = problem.log_base > -np.inf
        self.name, self.number, self.norm = problem.divergence, number, problem.norm
        convert = np.vectorize(number, otypes=[object if number is flint.arb else LONG])
        self.one = number(1.0)
        b = convert(problem.target)
        self.G = convert(np.asarray(problem.features_q[rows], dtype=float)) - b
        self.pi = np.exp(convert(problem.log_base[rows]))
        self.lower, self.upper = (np.broadcast_to(x, problem.n_q)[rows] for x in problem.bounds)
        self.capped = np.isfinite(self.upper)
        self.lo, self.hi = convert(self.lower), convert(np.where(self.capped, self.upper, 1.0))
        self.R = problem.radius
        self.convert = convert

    def ratio(self, s: Any) -> tuple[Any, Any, Any]:
        """Ratios within the bounds, and rows on the lower and on the upper one; ``None`` if one is infinite."""
        one, beyond = self.one, np.zeros(len(s), dtype=bool)
        if self.name == "reverse-kl":
            beyond = ~np.array([bool(x < 1) for x in s])
            if np.any(beyond & ~self.capped):
                return None, None, None
        t = _ratio(self.name, np.where(beyond, 0 * one, s), one)
        high = beyond | (self.capped & np.array([bool(x >= y) for x, y in zip(t, self.hi, strict=True)]))
        low = ~high & np.array([bool(x <= y) for x, y in zip(t, self.lo, strict=True)])
        return np.where(high, self.hi, np.where(low, self.lo, t)), low, high

    def penalty(self, delta: Any) -> Any:
        """R‖δ‖_* or Σ R_i|δ_i|."""
        size = np.array([abs(x) for x in delta])
        if np.ndim(self.R):
            used = np.isfinite(self.R)
            return (self.convert(self.R[used]) * size[used]).sum() if used.any() else 0 * self.one
        if self.R == 0.0:
            return 0 * self.one
        if self.norm == 2.0:
            total = (size * size).sum()
            length = total.sqrt() if self.number is flint.arb else np.sqrt(total)
        else:
            length = size.sum() if self.norm == np.inf else max(size)
        return self.number(self.R) * length

    def value(self, theta: Any) -> Any:
        """P(c, δ) at θ = (c, δ) relative to the target; ``None`` if it is infinite."""
        s = self.G @ theta[1:] + theta[0]
        t, _, _ = self.ratio(s)
        if t is None:
            return None
        return (self.pi * (s * t - _phi(self.name, t, self.one))).sum() - theta[0] + self.penalty(theta[1:])


def improved(problem: pre.RatioProblem, theta: np.ndarray) -> np.ndarray:
    """A better θ = (c, δ), by Newton steps in extended precision on the active set of the penalty at δ."""
    program = _Program(problem, LONG)
    delta, R = theta[1:].astype(LONG), problem.radius
    if np.ndim(R):
        on = (delta != 0) | (R == 0.0)
        B, slope = np.eye(delta.size, dtype=LONG)[:, on], (np.where(np.isfinite(R), R, 0.0) * np.sign(delta))[on]
    else:
        B, slope = _active_set(delta, problem.norm if R > 0.0 else 2.0)
        slope = LONG(R) * slope
    spread = np.sqrt(np.square(program.G @ B).mean(axis=0))
    spread = np.where(spread > 0, spread, LONG(1))
    B, slope = B / spread, np.asarray(slope, dtype=LONG) / spread
    X = np.column_stack([np.ones(len(program.G), dtype=LONG), program.G @ B])
    point, best = theta.astype(LONG), program.value(theta.astype(LONG))
    if best is None:
        return point
    for _ in range(STEPS):
        s = program.G @ point[1:] + point[0]
        t, low, high = program.ratio(s)
        width = {"kl": t, "chi2": np.ones_like(t), "reverse-kl": t * t}[problem.divergence]
        kappa = np.where(low | high, LONG(0), program.pi * width)
        gradient = (program.pi * t) @ X + np.append(LONG(-1), slope)
        H = (X * kappa[:, None]).T @ X
        if not np.ndim(R) and R > 0.0 and problem.norm == 2.0 and np.any(point[1:]):
            length = np.sqrt((point[1:] ** 2).sum())
            unit = B.T @ (point[1:] / length)
            gradient[1:] += LONG(R) * unit
            H[1:, 1:] += LONG(R) * (B.T @ B - np.outer(unit, unit)) / length
        d = np.linalg.lstsq(H.astype(float), -gradient.astype(float), rcond=1e-15)[0].astype(LONG)
        move = np.append(d[0], B @ d[1:])
        for step in 0.5 ** np.arange(0, 30, 2):
            trial = program.value(point + step * move)
            if trial is not None and trial < best:
                point, best = point + step * move, trial
                break
        else:
            break
    return point


def judge(problem: pre.RatioProblem, solution: pre.Solution, tol: float = 1e-8) -> Judgement:
    """Judge an answer with a finite gap, whatever its status."""
    gap = float(solution.gap)
    if not np.isfinite(gap):
        return Judgement(False, False, gap=gap)
    c = solution.intercept + float(problem.target @ solution.delta)
    start = np.append(c, solution.delta)
    better = improved(problem, start)
    scale = 1.0 + abs(solution.primal_value)
    with flint.ctx.workprec(BITS):
        program = _Program(problem, flint.arb)
        high = better.astype(float)
        exact = program.convert(high) + program.convert((better - high).astype(float))
        lowest = program.value(exact)
        if lowest is None:
            return Judgement(gap <= tol * scale, False, -np.inf, gap)
        excess = float((flint.arb(solution.primal_value) - flint.arb(gap) - lowest).lower())
    digit = float(_last_digit(problem) @ np.abs((better[1:] - solution.delta).astype(float)))
    return Judgement(gap <= tol * scale, excess - digit > ALLOWED * scale, excess - digit, gap)


def wrong_weights(problem: pre.RatioProblem, mu: np.ndarray, tolerance: float = 1e-4) -> str:
    """What weights violate: the bounds, which have to hold exactly, their sum or the radius."""
    pi = np.exp(problem.log_base)
    with np.errstate(invalid="ignore"):
        if np.any(mu < problem.bounds[0] * pi) or np.any(mu > problem.bounds[1] * pi):
            return "bounds"
    if abs(float(mu.astype(LONG).sum()) - 1.0) > 1e-10:
        return "sum"
    F = problem.features_q.astype(LONG)
    r = np.abs((problem.target.astype(LONG) - mu.astype(LONG) @ F).astype(float))
    size = np.ptp(problem.features_q, axis=0) + np.abs(problem.target) * 1e-6
    size = tolerance * size
    if np.ndim(problem.radius):
        return "" if np.all(r <= problem.radius + size) else "moments"
    off = max(float(np.linalg.norm(r, problem.norm)) - problem.radius, 0.0)
    return "" if off <= float(np.linalg.norm(size, problem.norm)) else "moments"


def separates(problem: pre.RatioProblem, v: np.ndarray) -> bool:
    """Whether ⟨v,b⟩ − max over weights within the bounds of ⟨v,F'μ⟩ > Σ R_i|v_i| or R‖v‖_*, in balls.

    For any height τ the maximum is at most τ Σμ + Σ_j max over the bounds of μ_j (⟨v,F_j⟩ − τ).
    """
    if np.any(np.isinf(np.broadcast_to(problem.radius, problem.k)) & (v != 0.0)):
        return False
    with flint.ctx.workprec(BITS):
        program = _Program(problem, flint.arb)
        z = program.G @ program.convert(v)
        free = [x for x, capped in zip(z, program.capped, strict=True) if not capped]
        floor = max(free) if free else min(z)
        penalty = program.penalty(program.convert(v))
        for height in [floor, *(x for x in z if x > floor)]:
            above = z - height
            most = np.where([bool(x > 0) for x in above], program.hi * above, program.lo * above)
            if -(height + (program.pi * most).sum()) - penalty > 0:
                return True
    return False
