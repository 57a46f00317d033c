"""Methods that score pairs of windows: the paper's posterior ratio, plugin estimates, and classical distances.

A method is a function of the priors and its options that returns a scorer of many pairs; :data:`METHODS` lists all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._internal.entropy import effective_sample_size, log_normalise, log_sum_exp, scalar_log
from ..._internal.threads import map_threads
from ..._internal.typing import Array, Index
from ...data.features import Autocorrelation
from ...errors import DataError
from ...problem import RatioProblem
from ...solution import Solution, Status
from ...solvers import Settings, solve, solve_many
from .autoregression import ar_coefficients
from .kernel_density import fit_kernel_density
from .priors import Priors
from .results import PairScores, scores_without_program
from .windows import WindowShape

__all__ = ["METHODS", "MethodOptions", "Scorer"]


@dataclass(frozen=True)
class MethodOptions:
    """Options of the methods; as in :class:`~.detector.Detector`."""

    radius: float = 0.0
    norm: float = 2
    penalty: Any = None
    settings: Settings | None = None
    order: int = 20


#: (Y_p, Y_q, left_out) → scores of pairs of flat windows; row ``left_out[w]`` of prior p is ignored for pair w
Scorer = Callable[[Array, Array, "Index | None"], PairScores]


def posterior_ratio(priors: Priors, options: MethodOptions) -> Scorer:
    """−ℓ(δ̂) between the posteriors of both windows; infinite if the target lies outside the hull."""

    def target(Y_p: Array, left_out: Index | None) -> tuple[Array, Array]:
        posterior = priors.p.posterior(priors.p.log_likelihoods(Y_p, left_out))
        return posterior.mean, posterior.ess

    return _ratio_scorer(priors, options, target)


def prior_ratio(priors: Priors, options: MethodOptions) -> Scorer:
    """−ℓ(δ̂) between prior p and the posterior of y_q: the posterior ratio without a reference window."""
    F = priors.p.features
    total = F.sum(axis=0)

    def target(Y_p: Array, left_out: Index | None) -> tuple[Array, Array]:
        none = np.zeros((len(Y_p), 0), dtype=int)
        out = none if left_out is None else left_out
        rows = len(F) - out.shape[1]
        return (total - F[out].sum(axis=1)) / rows, np.full(len(Y_p), float(rows))

    return _ratio_scorer(priors, options, target)


def _ratio_scorer(
    priors: Priors, options: MethodOptions, target: Callable[[Array, Index | None], tuple[Array, Array]]
) -> Scorer:
    """−ℓ(δ̂) for targets, with effective sample sizes of the p side, that a function computes for each pair."""

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> PairScores:
        targets, ess_p = target(Y_p, left_out)
        log_lik_q = priors.q.log_likelihoods(Y_q, left_out if priors.shared else None)
        if options.penalty is not None:
            return _solve_each(priors, options, targets, ess_p, log_lik_q)
        solved = solve_many(
            priors.q.features,
            targets,
            log_lik_q,
            radius=options.radius,
            norm=options.norm,
            settings=options.settings,
        )
        scores, distance = -np.array(solved.primal_value), np.full(len(Y_p), np.nan)
        for w, solution in solved.solved_singly.items():
            scores[w], distance[w] = _value(solution), _hull_distance(solution)
        status = tuple(solved.status)
        return PairScores(scores, solved.delta, status, solved.gap, ess_p, solved.ess_base, distance)

    return score


def _solve_each(priors: Priors, options: MethodOptions, targets: Array, ess_p: Array, log_lik_q: Array) -> PairScores:
    """Solve each pair on its own, with the user's penalty; the score is the divergence of μ from the base."""
    solutions, scores = [], []
    for target, log_base in zip(targets, log_lik_q, strict=True):
        problem = RatioProblem(
            target, priors.q.features, log_base, radius=options.radius, norm=options.norm, feature_names=priors.names
        )
        solution = solve(problem, penalty=options.penalty, settings=options.settings, check=False)
        solutions.append(solution)
        scores.append(-problem.dual_value(solution.mu) if solution.status.ok else _value(solution))
    return PairScores(
        np.array(scores),
        np.array([s.delta for s in solutions]),
        tuple(s.status for s in solutions),
        np.array([s.gap for s in solutions]),
        ess_p,
        np.array([effective_sample_size(log_base) for log_base in log_lik_q]),
        np.array([_hull_distance(s) for s in solutions]),
    )


def _value(solution: Solution) -> float:
    """−ℓ at the optimum: infinite outside the hull, nan if the solver failed."""
    if solution.status is Status.INFEASIBLE:
        return np.inf
    if solution.status is Status.FAILED:
        return np.nan
    return -solution.primal_value


def _hull_distance(solution: Solution) -> float:
    """Distance of the target from the hull; nan if it lies inside or was not computed."""
    if solution.hull is None or not solution.hull.radius > 0.0:
        return np.nan
    return float(solution.hull.radius)


def plugin(priors: Priors, options: MethodOptions) -> Scorer:
    """Prior ratio by KLIEP on the two priors, times the likelihood ratio."""
    problem = RatioProblem(
        priors.p.features.mean(axis=0),
        priors.q.features,
        radius=options.radius,
        norm=options.norm,
        feature_names=priors.names,
    )
    delta = solve(problem, penalty=options.penalty, settings=options.settings).delta
    return _plugin_scorer(priors, priors.p.features @ delta, priors.q.features @ delta)


def density_plugin(priors: Priors, options: MethodOptions) -> Scorer:
    """Prior ratio from kernel density estimates of both priors in feature space, times the likelihood ratio."""
    F_p, F_q = priors.p.features, priors.q.features
    p, q = fit_kernel_density(F_p), fit_kernel_density(F_q)
    return _plugin_scorer(
        priors, p.log(F_p, leave_one_out=True) - q.log(F_p), p.log(F_q) - q.log(F_q, leave_one_out=True)
    )


def _plugin_scorer(priors: Priors, log_ratio_p: Array, log_ratio_q: Array) -> Scorer:
    """−ℓ of g(x) = log r(x) + log l_p(x) − log l_q(x), for a prior log-ratio known on the rows of both priors.

    The score is the functional that PRE maximises, Σ_i w_i g(x_i) − log Σ_j e^{a_j + g(x_j)}. In the second sum l_q
    cancels, which leaves log Σ_j r(x_j) l_p(x_j) − log Σ_j l_q(x_j); constants of the likelihoods cancel too.
    """

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> PairScores:
        left_out_q = left_out if priors.shared else None
        lp_on_p, lq_on_p = (priors.p.log_likelihoods(Y, left_out) for Y in (Y_p, Y_q))
        lp_on_q, lq_on_q = (priors.q.log_likelihoods(Y, left_out_q) for Y in (Y_p, Y_q))

        def score_pair(w: int) -> tuple[float, float, float]:
            weights = np.exp(log_normalise(lp_on_p[w]))
            positive = weights > 0.0
            g = log_ratio_p[positive] + lp_on_p[w, positive] - lq_on_p[w, positive]
            log_mean = log_sum_exp(log_ratio_q + lp_on_q[w]) - log_sum_exp(lq_on_q[w])
            return (
                float(weights[positive] @ g) - log_mean,
                1.0 / float(weights @ weights),
                effective_sample_size(lq_on_q[w]),
            )

        scores, ess_p, ess_q = np.array(map_threads(score_pair, range(len(Y_p)))).T
        return scores_without_program(scores, ess_p=ess_p, ess_q=ess_q)

    return score


def evidence(priors: Priors, options: MethodOptions) -> Scorer:
    """Log Bayes factor of y_q alone: log mean likelihood under prior q minus that under prior p."""

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> PairScores:
        on_p = priors.p.log_likelihoods(Y_q, left_out)
        on_q = priors.q.log_likelihoods(Y_q, left_out if priors.shared else None)
        ignored = 0 if left_out is None else left_out.shape[1]
        log_row_ratio = scalar_log((on_q.shape[1] - ignored * priors.shared) / (on_p.shape[1] - ignored))
        base_p, base_q = priors.p.summarise_base(on_p), priors.q.summarise_base(on_q)
        return scores_without_program(base_q.level - base_p.level - log_row_ratio, ess_q=base_q.ess)

    return score


def energy(priors: Priors, options: MethodOptions) -> Scorer:
    """Distance between the mean squares of both windows."""
    return _distance_scorer(priors.shape, lambda y: np.square(y).mean(axis=1, keepdims=True))


def autocorrelation(priors: Priors, options: MethodOptions) -> Scorer:
    """Distance between the autocorrelations of both windows at lags 1 to ``order``."""
    _check_length(priors.shape, options.order, options.order + 1, "autocorrelations")
    return _distance_scorer(priors.shape, Autocorrelation(options.order))


def autoregression(priors: Priors, options: MethodOptions) -> Scorer:
    """Distance between the coefficients of AR(order) models fitted to both windows."""
    _check_length(priors.shape, options.order, 2 * options.order + 1, "coefficients")
    return _distance_scorer(priors.shape, lambda y: ar_coefficients(y, options.order))


def subspace(priors: Priors, options: MethodOptions) -> Scorer:
    """Singular spectrum: mean squared distance of y_q's segments from the leading eigenvectors of y_p's.

    The segments of a window, all of half its length, are the columns of its trajectory matrix. The score is Moskvina
    and Zhigljavsky's D: the mean squared distance, per entry, of y_q's columns from the span of the first ``order``
    eigenvectors of y_p's lag covariance.
    """
    length = priors.shape.window // 2
    _check_length(priors.shape, options.order, 2 * (options.order + 1), "eigenvectors")

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> PairScores:
        total = np.zeros(len(Y_p))
        for y_p, y_q in zip(priors.shape.split_channels(Y_p), priors.shape.split_channels(Y_q), strict=True):
            columns_p, columns_q = (np.lib.stride_tricks.sliding_window_view(y, length, axis=1) for y in (y_p, y_q))
            vectors = np.linalg.eigh(np.swapaxes(columns_p, 1, 2) @ columns_p)[1][:, :, -options.order :]
            outside = columns_q - columns_q @ vectors @ np.swapaxes(vectors, 1, 2)
            total += np.square(outside).mean(axis=(1, 2))
        return scores_without_program(total)

    return score


def _check_length(shape: WindowShape, order: int, points: int, what: str) -> None:
    """Raise if windows are too short for the order of a method."""
    if shape.window < points:
        raise DataError(
            "order", f"{order} {what} need windows of {points} time points, not {shape.window}", "pass a lower order"
        )


def _distance_scorer(shape: WindowShape, describe: Callable[[Array], Array]) -> Scorer:
    """Euclidean distance between statistics of both windows, over all channels."""

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> PairScores:
        square = np.zeros(len(Y_p))
        for y in shape.split_channels(np.concatenate([Y_p, Y_q])):
            statistics = describe(y)
            square += np.square(statistics[: len(Y_p)] - statistics[len(Y_p) :]).sum(axis=1)
        return scores_without_program(np.sqrt(square))

    return score


#: methods by name; to add one, write a function and add its line here
METHODS: dict[str, Callable[[Priors, MethodOptions], Scorer]] = {
    "pre": posterior_ratio,
    "pre-prior": prior_ratio,
    "plugin": plugin,
    "kde": density_plugin,
    "evidence": evidence,
    "autocorrelation": autocorrelation,
    "ar": autoregression,
    "sst": subspace,
    "energy": energy,
}
