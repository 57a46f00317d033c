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
from .entropy import Array, exp, negative_kl, tilting_cost
from .linear import least_squares, null_directions, solve_psd, without_noise
from .norms import Norm
from .passes import Rows, Summary, support, tilt
from .problem import RatioProblem

if TYPE_CHECKING:
    from .feasibility import Hull

__all__ = ["BallPenalty", "Certificate", "Lift", "Penalty", "Solution", "Status", "certificate"]

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


class Lift:
    """[LIFT] on some rows: corrections c that keep the total weight and move the moment by given amounts."""

    def __init__(self, rows: Rows, mu: Array, origin: Array | None = None) -> None:
        self.features, self.mu = rows.features, mu
        self.total = float(mu.sum()) or 1.0
        self.mean = (mu @ rows.features) / self.total
        scatter = np.zeros((self.mean.size, self.mean.size))
        for block, f in rows.blocks():
            g = f - self.mean
            scatter += (g * mu[block, None]).T @ g
        self.scatter = without_noise(scatter / self.total, self.mean) * self.total
        spread = np.sqrt(np.maximum(self.scatter.diagonal(), 0.0) / self.total)
        self.varies = spread > 0.0
        self.size = np.abs(self.mean) + spread + (0.0 if origin is None else np.abs(origin))

    def correction(self, u: Array) -> tuple[Array, Array] | None:
        """The c with Σ μ_j c_j = 0 and Σ μ_j c_j F_j = u, and the round-off that is left of u.

        ``None`` where there is no such c.
        """
        allowed = 1e-13 * (np.abs(u) + self.size)
        with np.errstate(over="ignore", invalid="ignore"):
            # the scatter squares the condition of F; its factor, which comes next, does not
            for solve in (self._by_scatter, self._by_factor):
                c, left = np.zeros(len(self.mu)), u
                for _ in range(2):  # the second round refines the first
                    more = self._heights(solve(left))
                    c += more - (self.mu @ more) / self.total
                    moved = self.mu * c
                    left = u - np.where(self.varies, moved @ self.features - moved.sum() * self.mean, 0.0)
                    if np.all(np.abs(left) <= allowed):
                        return c, np.abs(left)
        return None

    def cost(self, u: Array) -> tuple[float, Array] | None:
        """KL(μ' ‖ μ) of the correction that moves the moment by u, and the round-off that is left of u."""
        lifted = self.correction(u)
        return None if lifted is None else (tilting_cost(self.mu, lifted[0]), lifted[1])

    def reach(self, v: Array) -> float:
        """Largest |⟨F_j − m, v⟩|."""
        return float(np.abs(self._heights(v)).max(initial=0.0))

    def _heights(self, v: Array) -> Array:
        """⟨F_j − m, v⟩."""
        return np.asarray(self.features @ v - self.mean @ v)

    def _by_scatter(self, u: Array) -> Array:
        return solve_psd(self.scatter, u)

    def _by_factor(self, u: Array) -> Array:
        root = np.where(self.varies, self.features - self.mean, 0.0) * np.sqrt(self.mu)[:, None]
        return least_squares(root, u[:, None])[:, 0]


class LiftByPasses:
    """[LIFT] on all rows, without ever having them at hand; the cost is bounded, not computed.

    A correction that changes no weight by more than the share c ≤ 1 costs at most ½(1 + c) d'Hd.
    """

    def __init__(self, rows: Rows, delta: Array) -> None:
        self.rows, self.total = rows, 1.0
        summary = tilt(rows, delta)
        assert summary.covariance is not None  # it was asked for
        self.mean, self.scatter = summary.mean, summary.covariance
        spread = np.sqrt(np.maximum(self.scatter.diagonal(), 0.0))
        self.size = np.abs(self.mean) + spread + (0.0 if rows.origin is None else np.abs(rows.origin))

    def cost(self, u: Array) -> tuple[float, Array] | None:
        """Bound of KL(μ' ‖ μ) for the correction that moves the moment by u, and the round-off that is left of u."""
        d = solve_psd(self.scatter, u)
        left = np.abs(u - self.scatter @ d)
        if np.any(left > 1e-13 * (np.abs(u) + self.size)):
            return None
        change = self.reach(d)
        return (0.5 * (1.0 + change) * float(d @ self.scatter @ d), left) if change <= 1.0 else None

    def reach(self, v: Array) -> float:
        """Largest |⟨F_j − m, v⟩|, from a pass."""
        both = np.column_stack([v, -v])
        return float((support(self.rows, both, 1)[0] - self.mean @ both).max())


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
        carries, best = lift.mu > 0.0, -np.inf
        for point in self.points(delta, r, lift.scatter):
            lifted = lift.correction(r - point)
            if lifted is not None and lifted[0][carries].min(initial=0.0) >= -1.0:
                c, left = lifted
                best = max(best, negative_kl(lift.mu * (1.0 + c), log_base) - float(left @ np.abs(delta)))
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
        """Whether gap ≤ tol · (1 + |value|), with constraints and simplex respected to the same tolerance.

        Weights that were given must belong to δ as closely as such a gap allows: moments differ by no more than a
        multiple of its root.
        """
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
        if callable(self.weights):
            object.__setattr__(self, "weights", frozen(np.asarray(self.weights(), dtype=float)))
        assert not callable(self.weights)  # they have been computed by now
        return self.weights

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
    lift = _lift(problem.rows, delta, summary, rows)
    noise = 4.0 * EPS * (1.0 + abs(summary.log_z) + float((np.abs(b) + lift.size) @ np.abs(delta)) + abs(g))
    gap = penalty.gap(delta, r_tilted, lift) + noise
    r, simplex, e_qn = r_tilted, 0.0, 0.0
    if mu is not None:
        mu = as_vector(mu, "mu", problem.n_q)
        simplex = max(abs(float(mu.sum()) - 1.0), -float(mu.min()), 0.0)
        clean = np.maximum(mu, 0.0)
        clean = clean / (clean.sum() or 1.0)
        r = problem.moment(clean)
        e_qn = float(np.linalg.norm(r - r_tilted))
        small = gap <= 1e-13 * (1.0 + abs(value))
        if isinstance(penalty, BallPenalty) and not small and clean.any() and problem.rows.in_memory:
            everything = problem.rows.take(slice(None))
            lower = penalty.bound(r, delta, Lift(everything, clean, problem.rows.origin), problem.log_base)
            gap = min(gap, value - lower + noise)
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


def _lift(rows: Rows, delta: Array, summary: Summary, some: Rows | None) -> Lift | LiftByPasses:
    """The lift on some rows, or on all: with one weight for each if they are in memory, otherwise by passes."""
    if some is None:
        if not rows.in_memory:
            return LiftByPasses(rows, delta)
        some = rows.take(slice(None))
    return Lift(some, exp(some.features @ delta + some.log_base - summary.log_z), rows.origin)
