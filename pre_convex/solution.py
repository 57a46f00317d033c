"""Status, Certificate, Solution: an answer together with its proof.

Optimality is never taken from a solver's word. For weights μ(δ) tilted by any δ, [LINK] gives the identity

    ℓ(δ) + g(δ) − (D(μ') − g*(r')) = g(δ) + g*(r') − ⟨r', δ⟩ + KL(μ' ‖ μ(δ)),      r' = b − F'μ',

for every μ' on the simplex, where g is the penalty (R‖δ‖_*, whose conjugate g* is the indicator of the ball
of radius R). Both parts on the right are non-negative, so the gap is a sum of small terms, not a difference of
large ones. The point μ' comes from the linear correction [LIFT]

    μ'_j = μ_j (1 + ⟨F_j − m, d⟩),  j in S,     d = H_S⁻¹ u,

which keeps Σμ' = 1 and moves F'μ by exactly u as long as μ' ≥ 0. S may be all rows or any subset of them, m
and H_S the mean and scatter of F over S under μ; a subset of a million rows proves as rigorously, just less
tightly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .arrays import as_vector, frozen
from .checks import LARGEST, check_tol
from .entropy import Array, log, negative_kl
from .lift import Lift, LiftByPasses, lift_at
from .linear import null_directions
from .norms import Norm
from .passes import Rows, Summary, tilt
from .problem import RatioProblem

if TYPE_CHECKING:
    from .feasibility import Hull

__all__ = ["BallPenalty", "Certificate", "Penalty", "Solution", "Status", "certificate", "round_off"]

EPS = float(np.finfo(float).eps)
#: a gap so small that no other way to prove it is tried
ENOUGH = 1e-12


class Status(StrEnum):
    """What is known about an answer, as a sentence to act on."""

    OPTIMAL = "Optimal: the duality gap proves the answer to the requested tolerance."
    INACCURATE = "Inaccurate: the gap is larger than the tolerance; try another solver, or a larger tol."
    BOUNDARY = "On the boundary: optimal weights exist, but delta runs to infinity; any larger radius has a solution."
    INFEASIBLE = "Infeasible: the target is further from the hull than the radius; see the minimal radius."
    FAILED = "Failed: the solver returned no usable numbers; try another solver."

    @property
    def ok(self) -> bool:
        """Whether the answer is proven."""
        return self is Status.OPTIMAL


class Penalty(Protocol):
    """A convex penalty g(δ), constraints included as its indicator, as a certificate needs it."""

    def value(self, delta: Array) -> float:
        """g(δ)."""

    def violation(self, delta: Array) -> float:
        """By how much δ violates a constraint."""

    def gap(self, delta: Array, r: Array, lift: Lift | LiftByPasses) -> float:
        """Proven gap of δ, whose tilted weights have the residual r; inf if nothing is proven."""


@dataclass(frozen=True)
class BallPenalty:
    """g(δ) = R‖δ‖_*; its conjugate is zero on the ball ‖r‖ ≤ R and infinite elsewhere."""

    norm: Norm
    radius: float

    def value(self, delta: Array) -> float:
        """R‖δ‖_*."""
        return self.radius * self.norm.dual(delta) if self.radius else 0.0

    def violation(self, delta: Array) -> float:
        """Nothing is constrained."""
        return 0.0

    def gap(self, delta: Array, r: Array, lift: Lift | LiftByPasses) -> float:
        """Smallest of g(δ) − ⟨r', δ⟩ + KL(μ' ‖ μ) over residuals r' that a lift reaches."""
        g, best = self.value(delta), np.inf
        for point in self.points(delta, r, lift.scatter):
            lifted = lift.cost(r - point)
            if lifted is not None:
                cost, left = lifted
                slack = max(g - float(point @ delta), 0.0) + float(left @ np.abs(delta))
                best = min(best, slack + cost)
            if best <= ENOUGH:  # the others would be no better by more than that
                break
        return best

    def bound(self, r: Array, delta: Array, lift: Lift, log_base: Array) -> float:
        """Largest D(μ') over lifts of weights that need not belong to δ; −inf if none is feasible."""
        best = -np.inf
        if np.any(log_base[lift.mu > 0.0] == -np.inf):  # no lift takes weight from a row altogether
            return best
        for point in self.points(delta, r, lift.scatter):
            lifted = lift.correction(r - point)
            if lifted is not None:  # a negative weight has the value −inf
                weights = lift.mu * (1.0 + lifted.c)
                weights = weights / weights.sum()
                there = weights > 0.0
                slope = np.where(there, log_base - log(np.where(there, weights, 1.0)), 0.0)
                pull = np.abs(delta) + 2.0 * np.abs(lift.multiplier(slope))
                best = max(
                    best, negative_kl(weights, log_base) - float((lifted.left + 4.0 * EPS * lift.reached) @ pull)
                )
        return best

    def points(self, delta: Array, r: Array, H: Array) -> list[Array]:
        """Residuals r' to try: projections of r + tδ on the ball; t = 0 moves r least, a large t aligns it with δ."""
        if not self.radius:
            return [np.zeros_like(r)]
        length = float(np.linalg.norm(delta)) or 1.0
        aligned = 1e8 * self.radius / length
        pulls = (0.0, np.trace(H) / len(H), H.diagonal(), aligned)
        points = [self.inside(r + t * delta) for t in pulls]
        fixed = null_directions(H)  # no lift moves the moment there
        if fixed.shape[1]:
            points = [p for p in (self._reachable(p, r, fixed) for p in points) if p is not None]
        return points

    def inside(self, point: Array, unit: Array | None = None) -> Array:
        """Projection on the ball, also in given units, scaled down by what round-off may leave outside."""
        if unit is None:
            point = self.norm.project(point, self.radius)
        else:
            point = self.norm.project_in(point, self.radius, unit)
        size = self.norm(point)
        return point * (self.radius / size) if size > self.radius else point

    def _reachable(self, point: Array, r: Array, fixed: Array) -> Array | None:
        """A point of the ball near ``point`` that agrees with r along fixed directions, by turns of projection."""
        for _ in range(30):
            point = point + fixed @ (fixed.T @ (r - point))
            excess = self.norm(point) - self.radius
            if excess <= 0.0:
                return point
            point = self.norm.project(point, max(self.radius - 2.0 * excess, 0.0))
        return None


@dataclass(frozen=True)
class Certificate:
    """Numbers that prove, or fail to prove, an answer; all recomputed from (δ, μ) in original variables.

    Attributes
    ----------
    primal_value : float
        ℓ_R(δ), an upper bound of the optimum.
    dual_value : float
        Value of [D] at a feasible μ' close to μ, a lower bound; −inf if none was found near μ.
    gap : float
        Their difference, and what round-off may hide in it: no answer is better than this one by more than ``gap``.
    moment_residual : float
        How far ‖b − F'μ‖ exceeds the radius, for μ without its negative parts and scaled to sum to one.
    simplex_residual : float
        ``max(|Σμ − 1|, −min μ)``.
    slackness : float
        g(δ) − ⟨b − F'μ, δ⟩, which is R‖δ‖_* − ⟨b − F'μ, δ⟩ without a user's penalty; zero at the optimum.
    e_qn : float
        ‖F'μ(δ) − F'μ‖₂, the paper's E_qn: do δ and μ belong together?
    violation : float
        By how much δ violates the user's constraints.
    noise : float
        What round-off of the logits may hide in the value; it is part of the gap.
    spread : float
        Standard deviation of the features under μ(δ), all columns together; the unit of ``e_qn``.
    """

    primal_value: float
    dual_value: float
    gap: float
    moment_residual: float
    simplex_residual: float
    slackness: float
    e_qn: float
    violation: float = 0.0
    noise: float = 0.0
    spread: float = np.inf

    def proves(self, tol: float) -> bool:
        """Whether ``gap ≤ tol · (1 + |value|)``, with constraints and simplex respected to the same tolerance.

        Weights that were given must belong to δ as closely as such a gap allows: moments differ by no more than a
        multiple of its root.
        """
        tol = check_tol(tol)
        scale = 1.0 + abs(self.primal_value)
        small = max(tol, 1e-8)
        if self.e_qn > 10.0 * float(np.sqrt(tol * scale)) * self.spread:
            return False
        return abs(self.gap) <= tol * scale and self.violation <= small and self.simplex_residual <= small

    def __str__(self) -> str:
        return (
            f"value in [{self.dual_value:.12g}, {self.primal_value:.12g}], gap {self.gap:.1e}, "
            f"moment residual {self.moment_residual:.1e}, slackness {self.slackness:.1e}, E_qn {self.e_qn:.1e}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """An answer (δ, μ), what is known about it, and how it was found.

    Attributes
    ----------
    delta : ndarray of shape (k,)
    weights : ndarray of shape (n_q,), or a function that computes it
        Weights μ(δ) of [LINK]; read them as :attr:`mu`, which computes them when they are first asked for.
    status : Status
    certificate : Certificate
    raw : Certificate or None
        Certificate of the cone solver's own answer, before it was polished.
    hull : Hull or None
        Where the target lies, when that had to be found out: separating direction, minimal radius.
    free_directions : int
        Dimension of the set of δ that give the same ratio on every q row; δ is the shortest of them.
    solver, formulation : str
    iterations : int
        Of the solver; polishing steps are not counted.
    compile_time, setup_time, solve_time : float
        Seconds to translate the program for the solver, to prepare the data, and to solve and certify.
    claim : str
        What the solver itself said, kept so that it can be compared with the certificate.
    """

    delta: Array
    weights: Array | Callable[[], Array]
    status: Status
    certificate: Certificate
    solver: str
    formulation: str
    iterations: int
    raw: Certificate | None = None
    hull: Hull | None = None
    free_directions: int = 0
    compile_time: float = 0.0
    setup_time: float = 0.0
    solve_time: float = 0.0
    claim: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", frozen(np.asarray(self.delta, dtype=float)))
        if not callable(self.weights):
            object.__setattr__(self, "weights", frozen(np.asarray(self.weights, dtype=float)))

    @property
    def mu(self) -> Array:
        """The weights, of shape (n_q,); a pass over the rows where they have not been needed before."""
        weights = self.weights  # read once: another thread may put them in its place
        if callable(weights):
            weights = frozen(np.asarray(weights(), dtype=float))
            object.__setattr__(self, "weights", weights)
        return weights

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "weights": self.mu}  # what computes them holds all rows

    @property
    def primal_value(self) -> float:
        """ℓ_R(δ)."""
        return self.certificate.primal_value

    @property
    def dual_value(self) -> float:
        """Proven lower bound of the optimum."""
        return self.certificate.dual_value

    @property
    def gap(self) -> float:
        """Primal minus dual value."""
        return self.certificate.gap

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name}, value={self.primal_value:.10g}, gap={self.gap:.1e}, "
            f"solver={self.solver}, formulation={self.formulation}, iterations={self.iterations})"
        )


def round_off(*sizes: float) -> float:
    """What round-off may hide in a value that is a sum of terms of these sizes.

    The origin is none of them: features and target are relative to it, and a difference of two numbers is as exact as
    it is small.
    """
    return 4.0 * EPS * (1.0 + sum(abs(float(size)) for size in sizes))


def certificate(
    problem: RatioProblem,
    delta: Array,
    mu: Array | None = None,
    *,
    penalty: Penalty | None = None,
    summary: Summary | None = None,
    rows: Rows | None = None,
) -> Certificate:
    """Certificate of any (δ, μ), whoever computed them.

    Parameters
    ----------
    problem : RatioProblem
    delta : array of shape (k,)
    mu : array of shape (n_q,), optional
        Weights that were found with δ; the tilted weights μ(δ) of [LINK] when left out.
    penalty : Penalty, optional
        R‖δ‖_* of the problem when left out.
    summary : Summary, optional
        A pass at δ that has been made already.
    rows : Rows, optional
        The subset S of [LIFT]; all rows when left out.
    """
    delta = as_vector(delta, "delta", problem.k)
    penalty = penalty or BallPenalty(problem.ball, problem.radius)
    summary = summary or tilt(problem.rows, delta, covariance=False)
    b = problem.residual_origin
    r_tilted = b - summary.mean
    g = penalty.value(delta)
    value = float(summary.log_z - b @ delta + g)
    lift = lift_at(problem.rows, delta, summary, rows, b)
    noise = round_off(summary.log_z, (np.abs(b) + lift.reached) @ np.abs(delta), g)
    fine = np.isfinite(noise) and np.all(np.isfinite(lift.scatter))  # otherwise numbers are too large for a proof
    gap = penalty.gap(delta, r_tilted, lift) + noise if fine else np.inf
    r, simplex, e_qn = r_tilted, 0.0, 0.0
    if mu is not None:
        mu = as_vector(mu, "mu", problem.n_q, limit=LARGEST)
        simplex = max(abs(float(mu.sum()) - 1.0), -float(mu.min()), 0.0)
        clean = np.maximum(mu, 0.0)
        clean = clean / (clean.sum() or 1.0)
        r = problem.moment(clean)
        e_qn = float(np.linalg.norm(r - r_tilted))
        if e_qn <= 1e-14 * float(np.linalg.norm(np.abs(b) + lift.size)):  # round-off, where one row has all weight
            e_qn = 0.0
        small = gap <= 1e-13 * (1.0 + abs(value))
        if isinstance(penalty, BallPenalty) and not small and clean.any() and problem.rows.in_memory:
            everything = problem.rows.take(slice(None))
            lower = penalty.bound(r, delta, Lift(everything, clean, problem.rows.origin, b), problem.log_base)
            gap = min(gap, value - lower + noise)
    gap = gap if gap == gap else np.inf
    return Certificate(
        primal_value=value,
        dual_value=value - gap if np.isfinite(gap) else -np.inf,
        gap=gap,
        moment_residual=max(problem.ball(r) - problem.radius, 0.0),
        simplex_residual=simplex,
        slackness=g - float(r @ delta),
        e_qn=e_qn,
        violation=penalty.violation(delta),
        noise=noise,
        spread=float(np.sqrt(np.trace(lift.scatter) / lift.total)),
    )
