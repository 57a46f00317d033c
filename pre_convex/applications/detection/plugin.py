"""Plugin scores: a prior ratio estimated without the observations, times the likelihood ratio."""

from __future__ import annotations

import numpy as np

from ...entropy import Array, Index, effective_sample_size, exp, log_normalise, log_of, log_sum_exp
from ...problem import RatioProblem
from ...solvers import solve
from ...threads import in_threads
from .posteriors import Priors
from .ratio import Found, Options, Scorer

__all__ = ["evidence", "plugin"]


def plugin(priors: Priors, options: Options) -> Scorer:
    """Prior ratio by KLIEP on the two priors, with the radius and norm of the caller."""
    problem = RatioProblem(
        priors.p.features.mean(axis=0),
        priors.q.features,
        radius=options.radius,
        norm=options.norm,
        feature_names=priors.names,
    )
    delta = solve(problem, penalty=options.penalty, tol=options.tol).delta
    return plugged_in(priors, priors.p.features @ delta, priors.q.features @ delta)


def plugged_in(priors: Priors, log_ratio_p: Array, log_ratio_q: Array) -> Scorer:
    """−ℓ of g(x) = log r(x) + log l_p(x) − log l_q(x), for a prior log-ratio known on the rows of both priors.

    The score is the functional that PRE maximises, Σ_i w_i g(x_i) − log Σ_j e^{a_j + g(x_j)}. In the second sum l_q
    cancels, so that it is log Σ_j r(x_j) l_p(x_j) − log Σ_j l_q(x_j); constants of the likelihoods cancel as well.
    """

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> Found:
        out_q = left_out if priors.shared else None
        on_p = [priors.p.log_likelihoods(Y, left_out) for Y in (Y_p, Y_q)]
        on_q = [priors.q.log_likelihoods(Y, out_q) for Y in (Y_p, Y_q)]

        def one(w: int) -> tuple[float, float, float]:
            weights = exp(log_normalise(on_p[0][w]))
            carries = weights > 0.0
            g = log_ratio_p[carries] + on_p[0][w, carries] - on_p[1][w, carries]
            total = log_sum_exp(log_ratio_q + on_q[0][w]) - log_sum_exp(on_q[1][w])
            return (
                float(weights[carries] @ g) - total,
                1.0 / float(weights @ weights),
                effective_sample_size(on_q[1][w]),
            )

        scores, ess_p, ess_q = np.array(in_threads(one, range(len(Y_p)))).T
        return Found.plain(scores, ess_p=ess_p, ess_q=ess_q)

    return score


def evidence(priors: Priors, options: Options) -> Scorer:
    """Bayes factor of y_q alone: log of its average likelihood under the q prior less that under the p prior."""

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> Found:
        on_p = priors.p.log_likelihoods(Y_q, left_out)
        on_q = priors.q.log_likelihoods(Y_q, left_out if priors.shared else None)

        rest = 0 if left_out is None else left_out.shape[1]
        less = log_of((on_q.shape[1] - rest * priors.shared) / (on_p.shape[1] - rest))

        behind, ahead = priors.p.survey(on_p), priors.q.survey(on_q)
        return Found.plain(ahead.level - behind.level - less, ess_q=ahead.ess)

    return score
