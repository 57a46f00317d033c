"""The local linear classifier: PRE between the two classes on the same points.

With p₊ the probability of the class that is explained and p₋ = 1 − p₊, both sides share the law of the points, so that
the log-odds of − are ⟨δ,u⟩ + δ₀ with

    δ from PRE, p side weighted by p₋, q side by p₊          δ₀ = log Σ p₋ − log Σ p₊ exp⟨δ,u⟩

which solves Σ (p₋ − p₊ e^η)(1, u) = 0 for η = ⟨δ,u⟩ + δ₀: no labelled data is needed. Points where e^η is large count
for much and those where it is small for little; with the roles swapped it is the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import frozen
from ...entropy import Array, effective_sample_size, exp, log, log_sum_exp
from ...errors import DataError
from ...inference import Inference
from ...likelihoods import ClassProbability
from ...linear import solve_psd
from ...problem import RatioProblem
from ...rng import Rng
from ...selection import automatic_radius, cross_validated_radius
from ...solution import Solution
from ...solvers import solve
from ...tables import Table

__all__ = ["LocalFit", "fit_local", "probability_of"]

#: log-odds that vary by less are the same: what is left is round-off
SAME = 1e-9
#: logarithm of a weight that is nothing beside the largest
LOG_NOTHING = -30.0


@dataclass(frozen=True, eq=False)
class LocalFit:
    """Log-odds ⟨coef,u⟩ + offset of the explained class, with their noise.

    Attributes
    ----------
    coef, std_error : ndarray of shape (k,)
        Standard errors are nan where there are none.
    offset : float
        Log-odds at u = 0, which is x itself.
    centre : ndarray of shape (k,)
    spread : ndarray of shape (k + 1, k + 1) or None
        Covariance of the log-odds at ``centre`` and of ``coef``.
    constant : bool
        Whether the black box says the same at every point.
    refusal : str
        Why there are no intervals; empty where there are.
    problem, solution : RatioProblem, Solution
    ess : (float, float)
        Effective sample sizes of the p side and of the tilted q side.
    """

    coef: Array
    std_error: Array
    offset: float
    centre: Array
    spread: Array | None
    constant: bool
    refusal: str
    problem: RatioProblem
    solution: Solution
    ess: tuple[float, float]

    def __post_init__(self) -> None:
        for name in ("coef", "std_error", "centre"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def log_odds(self, u: Array) -> Array:
        """Log-odds of the explained class, shape (n,)."""
        return np.asarray(u @ self.coef + self.offset)

    def log_odds_error(self, u: Array) -> Array:
        """Standard errors of the log-odds; nan where intervals are refused."""
        if self.spread is None:
            return np.full(len(u), np.nan)
        g = np.concatenate([np.ones((len(u), 1)), u - self.centre], axis=1)
        return np.asarray(np.sqrt(np.maximum(np.einsum("nk,kl,nl->n", g, self.spread, g), 0.0)))

    def among(self, chosen: Any) -> LocalFit:
        """The same classifier as one of all features, of which it uses the chosen; the others have coefficient 0."""
        k = len(chosen)
        coef, std_error, centre = np.zeros(k), np.full(k, np.nan), np.zeros(k)
        coef[chosen], std_error[chosen], centre[chosen] = self.coef, self.std_error, self.centre
        spread = None
        if self.spread is not None:
            spread = np.zeros((k + 1, k + 1))
            spread[np.ix_(*[np.append(True, chosen)] * 2)] = self.spread
        return replace(self, coef=coef, std_error=std_error, centre=centre, spread=spread)


def probability_of(log_odds: Array) -> Array:
    """1 / (1 + exp(−log-odds))."""
    return np.asarray(1.0 / (1.0 + exp(-np.clip(log_odds, -700.0, 700.0))))


def fit_local(
    u: Array,
    plus: Array,
    minus: Array,
    names: tuple[str, ...],
    *,
    log_weights: Array | None = None,
    swap: bool = False,
    radius: float | str = 0.0,
    norm: float = 2,
    floor: float = ClassProbability.floor,
    kind: str = "hc3",
    tol: float = 1e-8,
    rng: Rng = 0,
) -> LocalFit:
    """Fit the local classifier to features u with probabilities of the class and of all others.

    Examples
    --------
    >>> u = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 2))
    >>> plus = probability_of(2.0 * u[:, 0] - u[:, 1] + 0.5)
    >>> fit = fit_local(u, plus, 1.0 - plus, ("a", "b"))
    >>> fit.coef.round(6), round(fit.offset, 6)
    (array([ 2., -1.]), 0.5)
    """
    log_plus, log_minus = (log(np.clip(p, floor, 1.0)) for p in (plus, minus))
    if log_weights is not None:  # both sides share the law of the points
        log_plus, log_minus = log_plus + log_weights, log_minus + log_weights
    log_p, log_q, sign = (log_plus, log_minus, 1.0) if swap else (log_minus, log_plus, -1.0)
    table = Table(names, u)
    problem = RatioProblem.from_samples(table, table, log_p, log_q, norm=norm, paired=True)
    problem = problem.with_radius(_radius(problem, radius, rng))
    solution = solve(problem, tol=tol)
    delta = solution.delta
    offset = log_sum_exp(log_p) - log_sum_exp(log_q + u @ delta)
    std_error, spread, refusal = np.full(problem.k, np.nan), None, ""
    odds = log_plus - log_minus
    weighty = odds if log_weights is None else odds[log_weights > -np.inf]
    constant = bool(np.ptp(weighty) < SAME)
    if constant:
        refusal = "the classifier is constant at these points, which have nothing to estimate noise from"
    elif problem.radius > 0.0:
        refusal = f"the radius {problem.radius:.3g} shrinks the coefficients by as much as their noise; try refit=True"
    elif too_few := _too_few(u, log_weights):
        refusal = too_few
    else:
        inverse = solve_psd(problem.hessian(delta), np.eye(problem.k))
        arithmetic = 2.0 * max(solution.gap, 0.0) * inverse  # ½ d'Hd ≤ gap: how far the solver may be off
        spread = _spread(problem, delta, kind == "hc3")
        spread[1:, 1:] += arithmetic
        std_error = np.hypot(Inference(problem, delta, kind=kind).std_error, np.sqrt(np.diag(arithmetic)))
        std_error[np.ptp(u, axis=0) == 0.0] = np.nan
    assert problem.log_weights_p is not None  # it was built from samples
    ess = effective_sample_size(problem.log_weights_p), effective_sample_size(problem.log_mu(delta))
    known = (problem, solution, ess)
    centre = np.array(problem.target)
    return LocalFit(sign * delta + 0.0, std_error, sign * offset, centre, spread, constant, refusal, *known)


def _too_few(u: Array, log_weights: Array | None) -> str:
    """Why a fit to these points leaves nothing to estimate noise from; empty where it does.

    A classifier with one coefficient for every feature and an offset passes through as many different points. The two
    points of a single feature that is on or off are all that there are, and the fit to them is exact.
    """
    carries = np.full(len(u), True) if log_weights is None else log_weights > log_weights.max() + LOG_NOTHING
    points = len(u) if log_weights is None else effective_sample_size(log_weights)
    different = np.unique(u[carries], axis=0)
    moving = int(np.sum(np.ptp(u, axis=0) > 0.0))
    whole = moving == 1 and len(different) == 2
    if min(points, np.inf if whole else len(different)) > moving + 1.001:
        return ""
    return (
        f"{min(points, len(different)):.0f} different points with weight cannot show the noise of {moving} "
        "coefficients; take more, or a wider kernel"
    )


def _radius(problem: RatioProblem, radius: float | str, rng: Rng) -> Any:
    """The radius as a number."""
    if radius == "auto":
        return automatic_radius(problem, rng=rng).radius
    if radius == "cv":
        return cross_validated_radius(problem, rng=rng).radius
    if isinstance(radius, str):
        raise DataError(f"radius: {radius!r} is not known; use a number, 'auto' or 'cv'")
    return radius


def _spread(problem: RatioProblem, delta: Array, corrected: bool) -> Array:
    """Covariance of the log-odds at the centre b and of the coefficients, from the influence of every point.

    A point moves them by (w_i − μ_i)(1, H⁻¹(u_i − b)), since the sums behind δ₀ are those behind b and F'μ; the
    correction divides by one minus its leverage μ_i(1 + (u_i − b)'H⁻¹(u_i − b)), which is its change when left out.
    """
    assert problem.log_weights_p is not None
    w, mu = exp(problem.log_weights_p), exp(problem.log_mu(delta))
    f = problem.features_q - problem.target
    pull = solve_psd((f * mu[:, None]).T @ f, f.T).T
    off = w - mu
    if corrected:
        off = off / np.maximum(1.0 - mu * (1.0 + np.einsum("nk,nk->n", f, pull)), 1e-3)
    moves = off[:, None] * np.concatenate([np.ones((len(f), 1)), pull], axis=1)
    return np.asarray(moves.T @ moves)
