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

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .arrays import as_vector, frozen
from .entropy import Array, exp, negative_kl, tilting_cost
from .linear import least_squares, null_directions, solve_psd, without_noise
from .norms import Norm
from .passes import Rows, Summary, tilt
from .problem import RatioProblem

if TYPE_CHECKING:
    from .feasibility import Hull

__all__ = ["BallPenalty", "Certificate", "Penalty", "Solution", "Status", "certificate"]


class Status(StrEnum):
    """What is known about an answer, as a sentence to act on."""

    OPTIMAL = "Optimal: the duality gap proves the answer to the requested tolerance."
    INACCURATE = "Inaccurate: a solution exists, but the gap is larger than the tolerance; try solver='newton'."
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

    def dual_points(self, delta: Array, r: Array, H: Array) -> list[tuple[Array, float]]:
        """Residuals r' that may prove δ, each with g*(r'); r is the residual at δ and H the curvature."""


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

    def dual_points(self, delta: Array, r: Array, H: Array) -> list[tuple[Array, float]]:
        """Projections of r + tδ on the ball: t = 0 moves r least, a large t aligns it with δ."""
        if not self.radius:
            return [(np.zeros_like(r), 0.0)]
        length = float(np.linalg.norm(delta)) or 1.0
        aligned = 1e8 * self.radius / length
        pulls = (0.0, np.trace(H) / len(H), np.diag(H), aligned)
        points = [self.inside(r + t * delta) for t in pulls]
        fixed = null_directions(H)  # no lift moves the moment there
        if fixed.shape[1]:
            points = [p for p in (self._reachable(p, r, fixed) for p in points) if p is not None]
        return [(p, 0.0) for p in points]

    def inside(self, point: Array) -> Array:
        """Projection on the ball, scaled down by what round-off may leave outside."""
        point = self.norm.project(point, self.radius)
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
        Their difference: no answer is better than this one by more than ``gap``.
    moment_residual : float
        How far ‖b − F'μ‖ exceeds the radius.
    simplex_residual : float
        max(|Σμ − 1|, −min μ).
    slackness : float
        g(δ) − ⟨b − F'μ, δ⟩, which is R‖δ‖_* − ⟨b − F'μ, δ⟩ without a user's penalty; zero at the optimum.
    e_qn : float
        ‖F'μ(δ) − F'μ‖₂, the paper's E_qn: do δ and μ belong together?
    violation : float
        By how much δ violates the user's constraints.
    """

    primal_value: float
    dual_value: float
    gap: float
    moment_residual: float
    simplex_residual: float
    slackness: float
    e_qn: float
    violation: float = 0.0

    def proves(self, tol: float) -> bool:
        """Whether gap ≤ tol · (1 + |value|), with constraints and simplex respected to the same tolerance."""
        scale = 1.0 + abs(self.primal_value)
        small = max(tol, 1e-8)
        return self.gap <= tol * scale and self.violation <= small and self.simplex_residual <= small

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
    mu : ndarray of shape (n_q,)
        Weights μ(δ) of [LINK].
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
    mu: Array
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
        object.__setattr__(self, "mu", frozen(np.asarray(self.mu, dtype=float)))

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


class _Lift:
    """[LIFT] on some rows: corrections c that keep the total weight and move the moment by given amounts."""

    def __init__(self, features: Array, mu: Array) -> None:
        self.mu = mu
        total = float(mu.sum()) or 1.0
        mean = (mu @ features) / total
        self.centred = features - mean
        self.scatter = without_noise((self.centred * mu[:, None]).T @ self.centred / total, mean) * total
        self.centred[:, np.diag(self.scatter) == 0.0] = 0.0
        self.size = np.abs(mean) + np.sqrt(np.maximum(np.diag(self.scatter), 0.0) / total)

    def corrections(self, shifts: list[Array]) -> list[tuple[Array, Array] | None]:
        """For each u the c with Σ μ_j c_j (F_j − m) = u and what is left of u, or ``None`` if that is not little."""
        if not shifts:
            return []
        U = np.column_stack(shifts)
        unit = np.sqrt(np.maximum(np.diag(self.scatter), 0.0))[:, None]
        size = np.divide(np.abs(U), unit, out=np.zeros_like(U), where=unit > 0.0).max(axis=0)
        allowed = 1e-8 * unit * size + 1e-13 * self.size[:, None]

        def lifted(D: Array) -> tuple[Array, Array]:
            C = self.centred @ D
            return C, U - self.centred.T @ (self.mu[:, None] * C)

        D = solve_psd(self.scatter, U)
        C, left = lifted(D)
        if not np.all(np.abs(left) <= allowed):  # the scatter squares the condition of F; its factor does not
            D = least_squares(self.centred * np.sqrt(self.mu)[:, None], U)
            C, left = lifted(D)
        fits = np.all(np.abs(left) <= allowed, axis=0)
        return [(C[:, i], left[:, i]) if fits[i] else None for i in range(len(shifts))]


def _tilted_gap(rows: Rows, log_z: float, r: Array, delta: Array, penalty: Penalty) -> float:
    """Gap of δ proven by lifting μ(δ) on ``rows``; log Z and the residual r are those of all rows."""
    lift = _Lift(rows.features, exp(rows.features @ delta + rows.log_base - log_z))
    points = penalty.dual_points(delta, r, lift.scatter)
    lifts = lift.corrections([r - point for point, _ in points])
    g = penalty.value(delta)
    best = np.inf
    for (point, conjugate), lifted in zip(points, lifts, strict=True):
        if lifted is not None:
            c, left = lifted
            slack = max(g + conjugate - float(point @ delta), 0.0) + abs(float(left @ delta))
            best = min(best, slack + tilting_cost(lift.mu, c))
    return best


def _lower_bound(rows: Rows, mu: Array, r: Array, delta: Array, penalty: Penalty) -> float:
    """Largest value of D(μ') − g*(r') over lifts of the given weights; −inf if none is feasible."""
    mu = np.maximum(mu, 0.0)
    if not mu.sum() > 0.0:
        return -np.inf
    mu = mu / mu.sum()
    lift = _Lift(rows.features, mu)
    points = penalty.dual_points(delta, r, lift.scatter)
    lifts = lift.corrections([r - point for point, _ in points])
    best = -np.inf
    for (_, conjugate), lifted in zip(points, lifts, strict=True):
        if lifted is not None and lifted[0][mu > 0.0].min(initial=0.0) >= -1.0:
            c, left = lifted
            value = negative_kl(mu * (1.0 + c), rows.log_base)
            best = max(best, value - conjugate - abs(float(left @ delta)))
    return best


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
    rows = rows or problem.rows.take(slice(None))
    b = problem.residual_origin
    r_tilted = b - summary.mean
    g = penalty.value(delta)
    value = float(summary.log_z - b @ delta + g)
    gap = _tilted_gap(rows, summary.log_z, r_tilted, delta, penalty)
    r, simplex, e_qn = r_tilted, 0.0, 0.0
    if mu is not None:
        mu = as_vector(mu, "mu", problem.n_q)
        simplex = max(abs(float(mu.sum()) - 1.0), -float(mu.min()), 0.0)
        clean = np.maximum(mu, 0.0)
        r = problem.moment(clean / (clean.sum() or 1.0))
        e_qn = float(np.linalg.norm(r - r_tilted))
        if gap > 1e-13 * (1.0 + abs(value)):  # below that, a difference of values is only round-off
            everything = problem.rows.take(slice(None))
            gap = min(gap, value - _lower_bound(everything, mu, r, delta, penalty))
    return Certificate(
        primal_value=value,
        dual_value=value - gap,
        gap=gap,
        moment_residual=max(problem.ball(r) - problem.radius, 0.0),
        simplex_residual=simplex,
        slackness=g - float(r @ delta),
        e_qn=e_qn,
        violation=penalty.violation(delta),
    )
