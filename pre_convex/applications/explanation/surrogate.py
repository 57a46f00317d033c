"""The local linear classifier: PRE between the two classes on the same points.

With p₊ the probability of the class to explain and p₋ = 1 − p₊, both sides have the same distribution of points, so the
log-odds of − are ⟨δ,u⟩ + δ₀ with

    δ from PRE, p side weighted by p₋, q side by p₊          δ₀ = log Σ p₋ − log Σ p₊ exp⟨δ,u⟩

which solves Σ (p₋ − p₊ e^η)(1, u) = 0 for η = ⟨δ,u⟩ + δ₀: no labelled data is needed. Points with large e^η count for
much and those with small e^η for little; swapping the roles of the classes reverses this.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._internal.entropy import effective_sample_size, log_sum_exp, safe_log
from ..._internal.linear_algebra import solve_psd
from ..._internal.rng import Rng
from ..._internal.typing import Array
from ..._internal.validation import read_only
from ...data.likelihoods import ClassProbability
from ...data.tables import Table
from ...errors import DataError
from ...problem import RatioProblem
from ...solution import Solution
from ...solvers import Settings, solve
from ...statistics.inference import Inference
from ...statistics.influence import MIN_REMAINDER, influence
from ...statistics.selection import automatic_radius, cross_validated_radius
from ...statistics.tilted import TiltedProblem

__all__ = ["LinearSurrogate", "fit_surrogate", "sigmoid"]

#: range of log-odds below which the black box is constant up to round-off
CONSTANT_RANGE = 1e-9
#: log of a weight that is negligible relative to the largest
LOG_NEGLIGIBLE = -30.0


@dataclass(frozen=True, eq=False)
class LinearSurrogate:
    """Log-odds ⟨coef,u⟩ + offset of the explained class, with their sampling noise.

    Attributes
    ----------
    coef, std_error : ndarray of shape (k,)
        Coefficients and standard errors; the latter nan if they are refused.
    offset : float
        Log-odds at u = 0, which is x itself.
    centre : ndarray of shape (k,)
        Weighted mean of the points on the p side.
    covariance : ndarray of shape (k + 1, k + 1) or None
        Covariance of the log-odds at ``centre`` and of ``coef``; ``None`` if intervals are refused.
    constant : bool
        Whether the black box is constant on the points.
    refusal : str
        Why there are no intervals; empty if there are.
    problem : RatioProblem
        The problem that was solved.
    solution : Solution
        Its solution.
    ess : (float, float)
        Effective sample sizes of the p side and of the tilted q side.
    """

    coef: Array
    std_error: Array
    offset: float
    centre: Array
    covariance: Array | None
    constant: bool
    refusal: str
    problem: RatioProblem
    solution: Solution
    ess: tuple[float, float]

    def log_odds(self, u: Array) -> Array:
        """Log-odds of the explained class, shape (n,)."""
        return np.asarray(u @ self.coef + self.offset)

    def log_odds_error(self, u: Array) -> Array:
        """Standard errors of the log-odds, shape (n,); nan if intervals are refused."""
        if self.covariance is None:
            return np.full(len(u), np.nan)
        g = np.concatenate([np.ones((len(u), 1)), u - self.centre], axis=1)
        return np.asarray(np.sqrt(np.maximum(np.einsum("nk,kl,nl->n", g, self.covariance, g), 0.0)))

    def embedded(self, selected: Any) -> LinearSurrogate:
        """The same classifier as a function of all features: those not selected get coefficient 0."""
        k = len(selected)
        coef, std_error, centre = np.zeros(k), np.full(k, np.nan), np.zeros(k)
        coef[selected], std_error[selected], centre[selected] = self.coef, self.std_error, self.centre
        covariance = None
        if self.covariance is not None:
            covariance = np.zeros((k + 1, k + 1))
            covariance[np.ix_(*[np.append(True, selected)] * 2)] = self.covariance
        return replace(
            self,
            coef=read_only(coef),
            std_error=read_only(std_error),
            centre=read_only(centre),
            covariance=covariance,
        )


def sigmoid(log_odds: Array) -> Array:
    """Probabilities 1 / (1 + exp(−log-odds))."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0))))


def fit_surrogate(
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
    tol: float | None = None,
    settings: Settings | None = None,
    rng: Rng = 0,
) -> LinearSurrogate:
    """Fit the local classifier.

    Parameters
    ----------
    u : ndarray of shape (n, k)
        Features of the points, relative to x.
    plus, minus : ndarray of shape (n,)
        Probabilities of the class to explain, and of all others.
    names : tuple of str
        Names of the features.
    log_weights : ndarray of shape (n,), optional
        Logs of the proximity weights.
    swap, radius, norm, floor, kind, tol, settings, rng
        As in :func:`~.explainer.explain`.

    Examples
    --------
    >>> u = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 2))
    >>> plus = sigmoid(2.0 * u[:, 0] - u[:, 1] + 0.5)
    >>> fit = fit_surrogate(u, plus, 1.0 - plus, ("a", "b"))
    >>> fit.coef.round(6), round(fit.offset, 6)
    (array([ 2., -1.]), 0.5)
    """
    log_plus, log_minus = (safe_log(np.clip(p, floor, 1.0)) for p in (plus, minus))
    if log_weights is not None:  # both sides have the same distribution of points
        log_plus, log_minus = log_plus + log_weights, log_minus + log_weights
    log_p, log_q, sign = (log_plus, log_minus, 1.0) if swap else (log_minus, log_plus, -1.0)
    table = Table(names, u)
    problem = RatioProblem.from_samples(table, table, log_p, log_q, norm=norm, paired=True)
    problem = problem.with_radius(_choose_radius(problem, radius, rng))
    solution = solve(problem, tol=tol, settings=settings)
    delta = solution.delta
    offset = log_sum_exp(log_p) - log_sum_exp(log_q + u @ delta)
    log_odds = log_plus - log_minus
    constant = bool(np.ptp(log_odds if log_weights is None else log_odds[log_weights > -np.inf]) < CONSTANT_RANGE)
    refusal = _interval_refusal(u, log_weights, problem.radius, constant)
    std_error, covariance = np.full(problem.k, np.nan), None
    if not refusal:
        inverse = solve_psd(problem.hessian(delta), np.eye(problem.k))
        solver_error = 2.0 * max(solution.gap, 0.0) * inverse  # ½ d'Hd ≤ gap bounds the error d of δ
        covariance = _covariance(problem, delta, kind == "hc3")
        covariance[1:, 1:] += solver_error
        std_error = np.hypot(Inference(problem, delta, kind=kind).std_error, np.sqrt(np.diag(solver_error)))
        std_error[np.ptp(u, axis=0) == 0.0] = np.nan
    assert problem.log_weights_p is not None  # the problem was built from samples
    return LinearSurrogate(
        read_only(sign * delta + 0.0),
        read_only(std_error),
        sign * offset,
        read_only(np.array(problem.target)),
        covariance,
        constant,
        refusal,
        problem,
        solution,
        (effective_sample_size(problem.log_weights_p), effective_sample_size(problem.log_mu(delta))),
    )


def _interval_refusal(u: Array, log_weights: Array | None, radius: float, constant: bool) -> str:
    """Why intervals are refused; empty if they are not."""
    if constant:
        return "the classifier is constant at these points, so there is nothing to estimate noise from"
    if radius > 0.0:
        return f"the radius {radius:.3g} shrinks the coefficients by as much as their noise; try refit=True"
    return _too_few_points(u, log_weights)


def _too_few_points(u: Array, log_weights: Array | None) -> str:
    """Why a fit to these points leaves no residual to estimate noise from; empty if it does.

    A classifier with k coefficients and an offset passes through k + 1 distinct points. An exception is a single on/off
    feature: it has two points and no others, and the fit to them is exact.
    """
    weighted = np.full(len(u), True) if log_weights is None else log_weights > log_weights.max() + LOG_NEGLIGIBLE
    points = len(u) if log_weights is None else effective_sample_size(log_weights)
    distinct = np.unique(u[weighted], axis=0)
    varying = int(np.sum(np.ptp(u, axis=0) > 0.0))
    single_switch = varying == 1 and len(distinct) == 2
    if min(points, np.inf if single_switch else len(distinct)) > varying + 1.001:
        return ""
    return (
        f"{min(points, len(distinct)):.0f} distinct points with weight are too few to estimate the noise of {varying} "
        "coefficients; use more points, or a wider kernel"
    )


def _choose_radius(problem: RatioProblem, radius: float | str, rng: Rng) -> Any:
    """The radius as a number."""
    if radius == "auto":
        return automatic_radius(problem, rng=rng).radius
    if radius == "cv":
        return cross_validated_radius(problem, rng=rng).radius
    if isinstance(radius, str):
        raise DataError("radius", f"{radius!r} is not known", "use a number, 'auto' or 'cv'")
    return radius


def _covariance(problem: RatioProblem, delta: Array, corrected: bool) -> Array:
    """Covariance of the log-odds at the centre b and of the coefficients, from the influence of each point.

    A point changes them by (w_i − μ_i)(1, H⁻¹(u_i − b)), since the sums in δ₀ are those in b and F'μ. The correction
    takes the changes when it is left out instead [LOO]; the log of a sum then changes by that of one minus its share.
    """
    assert problem.log_weights_p is not None
    found = influence(TiltedProblem(problem, delta), "hc3" if corrected else "centred")
    assert found.rows is not None  # points are paired
    w, base = np.exp(problem.log_weights_p), np.exp(problem.log_base)
    if corrected:
        share = np.log1p(-np.minimum(base, 1.0 - MIN_REMAINDER)) - np.log1p(-np.minimum(w, 1.0 - MIN_REMAINDER))
    else:
        share = w - base
    changes = np.column_stack([share - found.rows_log_z, solve_psd(found.H, found.rows.T).T])
    return np.asarray(changes.T @ changes)
