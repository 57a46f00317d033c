"""The score of the paper: −ℓ(δ̂) between the posteriors of two windows, for many pairs together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...entropy import Array, Index, effective_sample_size
from ...problem import RatioProblem
from ...solution import Solution, Status
from ...solvers import solve, solve_many
from .posteriors import Priors

__all__ = ["Found", "Options", "Scorer", "joined", "posterior_ratio"]


@dataclass(frozen=True)
class Options:
    """What a user may choose about a method: radius and norm, penalty, tolerance, order of a classical method."""

    radius: float = 0.0
    norm: float = 2
    penalty: Any = None
    tol: float = 1e-8
    order: int = 20


@dataclass(frozen=True, eq=False)
class Found:
    """What a method found for W pairs; a classical method has scores only, so that the rest is empty or nan.

    ``minimal_radius`` is the distance of a target from the hull where that had to be found out, nan elsewhere.
    """

    scores: Array
    delta: Array
    status: tuple[Status | None, ...]
    gap: Array
    ess_p: Array
    ess_q: Array
    minimal_radius: Array

    @classmethod
    def plain(cls, scores: Array, *, ess_p: Array | None = None, ess_q: Array | None = None) -> Found:
        """Scores without a program behind them."""
        W = len(scores)
        nothing = np.full(W, np.nan)
        ess_p, ess_q = nothing if ess_p is None else ess_p, nothing if ess_q is None else ess_q
        return cls(scores, np.empty((W, 0)), (None,) * W, nothing, ess_p, ess_q, nothing)


#: scores pairs of windows (flat rows); the rows of the p prior in ``left_out[w]`` have no part in pair w
Scorer = Callable[[Array, Array, "Index | None"], Found]


def joined(parts: list[Found]) -> Found:
    """Several groups of pairs as one."""
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("scores", "delta", "gap", "ess_p", "ess_q", "minimal_radius")
    }
    return Found(status=tuple(s for part in parts for s in part.status), **arrays)


def posterior_ratio(priors: Priors, options: Options) -> Scorer:
    """The PRE score of pairs of windows, infinite where the target lies outside the hull."""

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> Found:
        side_p, side_q = priors.p, priors.q
        before = side_p.posterior(side_p.log_likelihoods(Y_p, left_out))
        log_lik_q = side_q.log_likelihoods(Y_q, left_out if priors.shared else None)
        if options.penalty is not None:
            return _one_by_one(priors, options, before.mean, before.ess, log_lik_q)
        found = solve_many(
            side_q.features, before.mean, log_lik_q, radius=options.radius, norm=options.norm, tol=options.tol
        )
        scores, minimal = -np.array(found.primal_value), np.full(len(Y_p), np.nan)
        for w, alone in found.alone.items():
            scores[w], minimal[w] = _value(alone), _distance(alone)
        return Found(scores, found.delta, tuple(found.status), found.gap, before.ess, found.ess_base, minimal)

    return score


def _one_by_one(priors: Priors, options: Options, targets: Array, ess_p: Array, log_lik_q: Array) -> Found:
    """Pairs with a user's penalty, each a program of its own; the score is the divergence of μ from the base."""
    solutions, scores = [], []
    for b, a in zip(targets, log_lik_q, strict=True):
        problem = RatioProblem(
            b, priors.q.features, a, radius=options.radius, norm=options.norm, feature_names=priors.names
        )
        found = solve(problem, penalty=options.penalty, tol=options.tol, check=False)
        solutions.append(found)
        scores.append(-problem.dual_value(found.mu) if found.status.ok else _value(found))
    return Found(
        np.array(scores),
        np.array([s.delta for s in solutions]),
        tuple(s.status for s in solutions),
        np.array([s.gap for s in solutions]),
        ess_p,
        np.array([effective_sample_size(a) for a in log_lik_q]),
        np.array([_distance(s) for s in solutions]),
    )


def _value(solution: Solution) -> float:
    """−ℓ at the optimum: infinite outside the hull, nan where nothing is known."""
    if solution.status is Status.INFEASIBLE:
        return np.inf
    if solution.status is Status.FAILED:
        return np.nan
    return -solution.primal_value


def _distance(solution: Solution) -> float:
    """Distance of the target from the hull; nan where it was not asked for, or where the target is inside."""
    if solution.hull is None or not solution.hull.radius > 0.0:
        return np.nan
    return float(solution.hull.radius)
