"""Choosing the radius: from the noise of the moments, or by cross-validation along a path."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np

from .arrays import frozen
from .entropy import Array, exp, log, log_sum_exp
from .errors import DataError
from .feasibility import minimal_radius
from .inference import Inference
from .linear import square_root
from .problem import RatioProblem
from .solvers import radius_path, solve

__all__ = ["RadiusChoice", "automatic_radius", "cross_validated_radius"]


@dataclass(frozen=True, eq=False)
class RadiusChoice:
    """A radius and how it was found.

    Attributes
    ----------
    radius : float
    method : {"auto", "cv"}
    radii, mean, std_error : ndarray
        For ``"cv"``: the path, the held-out −ℓ along it and its standard error over folds.
    best : float
        For ``"cv"``: the radius with the best score, before the one-standard-error rule.
    raised : bool
        Whether the radius had to be raised to reach the hull.
    """

    radius: float
    method: str
    radii: Array = dataclass_field(default_factory=lambda: np.zeros(0))
    mean: Array = dataclass_field(default_factory=lambda: np.zeros(0))
    std_error: Array = dataclass_field(default_factory=lambda: np.zeros(0))
    best: float = np.nan
    raised: bool = False

    def __post_init__(self) -> None:
        for name in ("radii", "mean", "std_error"):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), dtype=float)))


def automatic_radius(problem: RatioProblem, *, alpha: float = 0.05, seed: int = 0, draws: int = 20_000) -> RadiusChoice:
    """The 1 − alpha quantile of ‖∇ℓ(δ*)‖ under its limiting normal law, whose covariance is estimated.

    The covariance is that of the moment residual at the unpenalised solution, or at δ = 0 where there is none. It falls
    with 1/n, so the radius falls with the root of n. A radius below the distance to the hull is raised to just above.
    """
    if not 0.0 < alpha < 1.0:
        raise DataError(f"alpha: {alpha!r} is not between 0 and 1")
    bare = problem.with_radius(0.0)
    pilot = solve(bare, check=False)
    delta = pilot.delta if pilot.status.ok else np.zeros(problem.k)
    V = Inference(bare, delta).score_variance
    noise = np.random.default_rng(seed).normal(size=(draws, problem.k)) @ square_root(V)
    radius = float(np.quantile(np.linalg.norm(noise, problem.norm, axis=1), 1.0 - alpha))
    if not pilot.status.ok:
        reach = minimal_radius(bare).radius
        if radius <= 1.01 * reach:
            return RadiusChoice(1.05 * reach, "auto", raised=True)
    return RadiusChoice(radius, "auto")


def cross_validated_radius(
    problem: RatioProblem, *, folds: int = 5, one_se: bool = True, seed: int = 0, steps: int = 30, span: float = 1e-3
) -> RadiusChoice:
    """The radius with the best held-out −ℓ along a path, or the largest within one standard error of it.

    The path goes from the radius at which δ is zero down to ``span`` times it.
    """
    if problem.features_p is None or problem.log_weights_p is None:
        raise DataError("radius: 'cv' needs the p samples; build the problem from samples")
    n_p, n_q = len(problem.features_p), problem.n_q
    if not 2 <= folds <= min(n_p, n_q):
        raise DataError(f"cv: {folds!r} folds are not possible with {n_p} and {n_q} rows")
    top = problem.ball(problem.gradient(np.zeros(problem.k)))
    radii = top * exp(np.linspace(0.0, float(log(np.array(span))), steps))
    rng = np.random.default_rng(seed)
    fold_q = rng.permutation(n_q) % folds
    fold_p = fold_q if problem.paired else rng.permutation(n_p) % folds
    scores = np.array([_held_out(problem, fold_p == i, fold_q == i, radii) for i in range(folds)])
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(folds)
    best = int(np.argmax(mean))
    if not np.isfinite(mean[best]):
        raise DataError("radius: no radius of the path has a solution in every fold; give a larger one yourself")
    chosen = best
    if one_se:
        chosen = int(np.flatnonzero(mean >= mean[best] - error[best])[0])
    return RadiusChoice(float(radii[chosen]), "cv", radii, mean, error, float(radii[best]))


def _held_out(problem: RatioProblem, test_p: Any, test_q: Any, radii: Array) -> Array:
    """−ℓ on the test rows, of fits to the others, for each radius; −inf where there is no fit."""
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    F_p, w = problem.features_p, problem.log_weights_p
    F_q, a = problem.features_q, problem.log_base
    train_w = w[~test_p] - log_sum_exp(w[~test_p])
    train = RatioProblem(
        exp(train_w) @ F_p[~test_p], F_q[~test_q], a[~test_q], norm=problem.norm, feature_names=problem.feature_names
    )
    test_w = exp(w[test_p] - log_sum_exp(w[test_p]))
    test_a = a[test_q] - log_sum_exp(a[test_q])
    scores = np.full(len(radii), -np.inf)
    for i, solution in enumerate(radius_path(train, radii)):
        if solution.status.ok:
            inner = F_q[test_q] @ solution.delta
            scores[i] = float(test_w @ (F_p[test_p] @ solution.delta) - log_sum_exp(test_a + inner))
    return scores
