"""Penalties g(δ) as the Newton engine uses them: value, step, and the residuals that prove an answer.

A step minimises the quadratic model plus the penalty, [STEP]. Without a penalty it is a linear solve, for
the Euclidean norm a secular equation in one variable; for the other norms it is a few linear solves on faces
of the penalty, the last one checked for optimality; when no face passes, signs or ties are changed one by one, or
a small cvxpy program is solved; for a user's penalty or constraints it is always the cvxpy program, compiled once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ..entropy import Array, exp_of, log_of
from ..errors import DataError, SolveError
from ..feasibility import minimal_radius
from ..lift import Lift, LiftByPasses
from ..linear import solve_psd, variances
from ..passes import tilt
from ..problem import RatioProblem
from ..solution import BallPenalty, Penalty
from .signs import by_signs
from .ties import by_ties, on_ties

__all__ = ["StepPenalty", "make_penalty"]


class StepPenalty(Penalty, Protocol):
    """A penalty that knows its Newton step."""

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Minimiser of ⟨gradient, x − δ⟩ + ½(x − δ)'H(x − δ) + g(x)."""

    def start(self, k: int) -> Array:
        """A point where g is finite, zero if possible."""

    def shorten(self, delta: Array, null: Array) -> Array:
        """Shortest point of δ + span(null) where g is no larger than at δ; null is orthonormal."""


class _FromZero(BallPenalty):
    """What the built-in penalties share: they start at zero, where they vanish."""

    def start(self, k: int) -> Array:
        """Zero."""
        return np.zeros(k)

    def shorten(self, delta: Array, null: Array) -> Array:
        """δ without its part along the null directions."""
        return delta - null @ (null.T @ delta)


class NoPenalty(_FromZero):
    """R = 0 and nothing else."""

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """δ − H⁺ gradient."""
        return delta - solve_psd(H, gradient)


class Ridge(_FromZero):
    """R‖δ‖₂: (H + λI) x = −q with λ‖x‖ = R, one equation in log λ with a derivative between 0 and 1."""

    def points(self, delta: Array, r: Array, H: Array) -> list[Array]:
        """The residual after the next step too."""
        return [*_after_step(self, delta, r, H), *super().points(delta, r, H)]

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Safeguarded Newton iteration on log(λ‖x(λ)‖) = log R."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._secular(delta, gradient, H)

    def _secular(self, delta: Array, gradient: Array, H: Array) -> Array:
        R = self.radius
        q = gradient - H @ delta
        if np.linalg.norm(q) <= R:
            return np.zeros_like(delta)
        length = float(np.linalg.norm(delta))
        t = log_of(R / length if length > 0.0 else R * np.trace(H) / np.linalg.norm(q))
        t = t if np.isfinite(t) else 0.0
        low, high, eye = -np.inf, np.inf, np.eye(len(q))
        x = delta
        for _ in range(100):
            lam = exp_of(min(t, 600.0))
            factor, failed = dpotrf(H + lam * eye, lower=1)
            x = -dpotrs(factor, q, lower=1)[0]
            length = float(np.linalg.norm(x))
            if failed or not 1e-150 < length < 1e150:  # λ too small for a singular H
                low, t = t, t + 2.0 if high == np.inf else 0.5 * (t + high)
                continue
            error = t + log_of(length / R)
            slope = 1.0 - lam * float(x @ dpotrs(factor, x, lower=1)[0]) / length**2
            if abs(error) <= 1e-13 * max(1.0, abs(t)) or high - low <= 1e-14 * max(1.0, abs(t)):
                break
            low, high = (t, high) if error < 0.0 else (low, t)
            t_new = t - error / max(slope, 1e-12)
            t_new = min(max(t_new, t - 40.0), t + 40.0)
            if not low < t_new < high:
                t_new = 0.5 * (low + high) if np.isfinite(low + high) else t - 2.0 * np.sign(error)
            if t_new == t:
                break
            t = t_new
        return x


@dataclass(frozen=True)
class Faceted(_FromZero):
    """R‖δ‖₁ or R‖δ‖∞: linear on faces, so that a step is a linear solve once the face is known."""

    problem: RatioProblem
    program: list[Any] = field(default_factory=list, repr=False)
    far: list[bool] = field(default_factory=list, repr=False)  # whether the target is too far, once that was asked

    def points(self, delta: Array, r: Array, H: Array) -> list[Array]:
        """The residual after the next step too."""
        return [*_after_step(self, delta, r, H), *super().points(delta, r, H)]

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # on a flat face; what is no point is no step
    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Zero, else a search for the face from δ, else the cvxpy program and a search from its answer."""
        if any(self.far):
            raise SolveError("Newton step: the target is too far from the hull, and delta runs away")
        q = gradient - H @ delta
        if self.norm(q) <= self.radius:
            return np.zeros_like(delta)
        x = self._search(delta, q, H)
        if x is None and self.norm.order == np.inf:
            x = by_signs(delta, q, H, self.radius)
        elif x is None:
            x = by_ties(q, H, self.radius, delta, self.problem.n_q)
            x = by_ties(q, H, self.radius) if x is None else x
        if x is None:
            if not self.far:
                self.far.append(minimal_radius(self.problem, hint=delta).lower > self.radius)
                if self.far[0]:
                    return self.step(delta, gradient, H)
            guess, *_ = _step_program(self, self.problem).solve(q, H)
            x = self._search(guess, q, H)
            x = guess if x is None else x
        return x

    def shorten(self, delta: Array, null: Array) -> Array:
        """δ itself where no other point of δ + span(null) is as good, otherwise a small cvxpy program."""
        if self.norm.order == np.inf and self._alone(delta, null):
            return delta
        return np.asarray(_step_program(self, self.problem).shorten(delta, null))

    def _alone(self, delta: Array, null: Array) -> bool:
        """Whether every null direction has a part in a coordinate that must be zero, so that to follow it costs.

        Those are coordinates with a residual inside the ball; with N split into the rows E of the others and the
        rest, the part of Nz in the rest is at least √(1 − σ²) for unit z, σ being the largest singular value of N_E.
        """
        r = self.problem.residual_origin - tilt(self.problem.rows, delta, covariance=False).mean
        others = null[(delta != 0.0) | (np.abs(r) > 0.99 * self.radius)]
        return bool(np.linalg.norm(others @ others.T, 2) < 1.0 - 1e-8) if len(others) else True

    def _search(self, x: Array, q: Array, H: Array) -> Array | None:
        """Solve on a face, look which face the answer points to, and so on until it is the same one."""
        scale = np.diag(H)
        for _ in range(20):
            pull = -q - H @ x + scale * x
            if not np.all(np.isfinite(pull)):  # along a face without curvature, as far as numbers go
                return None
            face = self.norm.face(pull, scale, self.radius)
            assert face is not None  # both norms have faces
            B, c = face
            if not 0 < c.size <= self.problem.n_q:  # more columns than rows can tell apart
                return None
            chosen = B.argmax(axis=0)  # the only one in each column, but for coordinates that are tied
            sparse = self.norm.order == np.inf
            inner = H[np.ix_(chosen, chosen)] if sparse else on_ties(H, B[:, 0], chosen[1:])
            z = solve_psd(inner, -(B.T @ q) - self.radius * c)
            x = B @ z
            if self.norm.on_face(z, -q - H @ x, face, self.radius):
                return x
        return None


@dataclass(frozen=True)
class UserPenalty:
    """R‖δ‖_* plus the user's penalty, under the user's constraints."""

    problem: RatioProblem
    penalty: Any = None
    constraints: Any = None
    program: list[Any] = field(default_factory=list, repr=False)

    def _steps(self) -> Any:
        return _step_program(self, self.problem, self.penalty, self.constraints)

    def start(self, k: int) -> Array:
        """Zero, or the shortest point that satisfies the constraints."""
        zero = np.zeros(k)
        steps = self._steps()
        if steps.violation(zero) <= 1e-9 and np.isfinite(steps.value(zero)):
            return zero
        x, *_ = steps.solve(zero, np.diag(steps.scale**2))
        return np.asarray(x)

    def value(self, delta: Array) -> float:
        """R‖δ‖_* + g(δ)."""
        return float(self._steps().total(delta))

    def shorten(self, delta: Array, null: Array) -> Array:
        """A small cvxpy program."""
        return np.asarray(self._steps().shorten(delta, null))

    def violation(self, delta: Array) -> float:
        """Largest violation of a constraint."""
        return float(self._steps().violation(delta))

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """The cvxpy program."""
        x, *_ = self._steps().solve(gradient - H @ delta, H)
        return np.asarray(x)

    def gap(self, delta: Array, r: Array, lift: Lift | LiftByPasses) -> float:
        """Gap from the value of one k-dimensional program.

        A lift by d costs KL(μ' ‖ μ) ≤ ½(1 + c) d'Hd as long as it changes no weight by more than the share c ≤ 1. The
        best of these bounds over d is, by Fenchel's duality, the value V of a step with the curvature H/(1 + c):

            gap = g(δ) − ⟨r, δ⟩ − min over x of [ g(x) − ⟨r, x⟩ + ½ (x − δ)' H (x − δ) / (1 + c) ].
        """
        for most in (0.1, 1.0):
            H = lift.scatter / (1.0 + most)
            try:
                x, V, tol = self._steps().solve(-r - H @ delta, H)
            except SolveError:
                return np.inf
            change = lift.reach(x - delta) / (1.0 + most)
            if change <= most:
                V += 0.5 * float(delta @ H @ delta)
                slack = self.value(delta) - float(r @ delta) - V
                return float(max(slack, 0.0) + 3.0 * tol * (1.0 + abs(V)))
        return np.inf


def _after_step(penalty: Any, delta: Array, r: Array, H: Array) -> list[Array]:
    """Residual r − H(x − δ) that the model expects after the step x: on the ball, and within reach of a lift."""
    try:
        x = penalty.step(delta, -r, H)
    except SolveError:
        return []
    with np.errstate(over="ignore", invalid="ignore"):  # a step may be as long as numbers are
        residual = r - H @ (x - delta)
    if not np.all(np.isfinite(residual)):
        return []
    # what round-off left outside is taken from columns that a lift moves easily
    return [penalty.inside(residual, variances(H))]


def _step_program(owner: Any, problem: RatioProblem, penalty: Any = None, constraints: Any = None) -> Any:
    """The compiled step of a penalty, built on first use."""
    if not owner.program:
        from ..programs.step import StepProgram

        sample = problem.rows.sample(1000).features
        spread, size = np.std(sample, axis=0), np.abs(sample[0])
        scale = np.where(spread > 1e-13 * size, spread, 1.0)
        owner.program.append(StepProgram(problem, scale, penalty, constraints))
    return owner.program[0]


def make_penalty(problem: RatioProblem, penalty: Any = None, constraints: Any = None) -> StepPenalty:
    """The penalty of a problem, with the user's terms if there are any."""
    for name, term in (("penalty", penalty), ("constraints", constraints)):
        if term is not None and not callable(term):
            raise DataError(f"{name}: must be a function of a cvxpy expression delta, not {type(term).__name__}")
    if penalty is not None or constraints is not None:
        return UserPenalty(problem, penalty, constraints)
    if problem.radius == 0.0:
        return NoPenalty(problem.ball, 0.0)
    if problem.norm == 2.0:
        return Ridge(problem.ball, problem.radius)
    return Faceted(problem.ball, problem.radius, problem)
