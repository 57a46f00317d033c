"""Choosing the radius: from the noise of the moments, or by cross-validation along a path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np

from .arrays import as_count, as_flag, as_matrix, frozen
from .checks import LARGEST
from .entropy import Array, exp, log_normalise, log_of, log_sum_exp
from .errors import DataError
from .feasibility import minimal_radius
from .inference import share
from .kernels import Kernel, median_length_scale
from .likelihoods import log_likelihood
from .linear import square_root
from .problem import RatioProblem, as_problem
from .rng import Rng, as_generator, as_seed
from .solvers import radius_path, solve
from .threads import one_thread_each

__all__ = ["RadiusChoice", "automatic_radius", "cross_validated_kernel", "cross_validated_radius"]

#: length scales that are tried, in multiples of the median distance
LENGTH_SCALES = (0.125, 0.25, 0.5, 1.0, 2.0)


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


@one_thread_each()
def automatic_radius(problem: RatioProblem, *, alpha: float = 0.05, rng: Rng = 0, draws: int = 20_000) -> RadiusChoice:
    """The 1 − alpha quantile of ‖∇ℓ(δ*)‖ under its limiting normal law, whose covariance is estimated.

    The covariance is first taken at δ = 0 and then at the solution with the radius that this gives. It falls with 1/n,
    so the radius falls with the root of n. Weights at a shrunk δ are more even than at δ*, so for posteriors far apart
    the quantile is too small. A radius below the distance to the hull is raised to just above it.
    """
    alpha, draws = share(alpha, "alpha"), as_count(draws, "draws", 100)
    as_problem(problem)
    if problem.features_p is None or problem.log_weights_p is None:
        raise DataError("radius: 'auto' needs the p samples in memory; pass arrays, or a number as radius")
    reach = minimal_radius(problem).radius
    noise = as_generator(rng).normal(size=(draws, problem.k))
    delta, radius = np.zeros(problem.k), 0.0
    for _ in range(2):
        lengths = np.linalg.norm(noise @ square_root(_score_variance(problem, delta)), problem.norm, axis=1)
        radius = float(np.quantile(lengths, 1.0 - alpha))
        if radius <= 1.01 * reach:
            return RadiusChoice(1.05 * reach, "auto", raised=True)
        delta = solve(problem.with_radius(radius), check=False).delta
    return RadiusChoice(radius, "auto")


def _score_variance(problem: RatioProblem, delta: Array) -> Array:
    """Covariance of the moment residual b − F'μ(δ), each side centred at its own mean."""
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    w, mu = exp(problem.log_weights_p), exp(problem.log_mu(delta))
    p = w[:, None] * (problem.features_p - problem.target)
    q = mu[:, None] * (problem.features_q - mu @ problem.features_q)
    return np.asarray((p - q).T @ (p - q) if problem.paired else p.T @ p + q.T @ q)


@one_thread_each()
def cross_validated_radius(
    problem: RatioProblem, *, folds: int = 5, one_se: bool = True, rng: Rng = 0, steps: int = 30, span: float = 1e-3
) -> RadiusChoice:
    """The radius with the best held-out −ℓ along a path, or the largest within one standard error of it.

    The path goes from the radius at which δ is zero down to ``span`` times it.
    """
    as_problem(problem)
    if problem.features_p is None or problem.log_weights_p is None:
        raise DataError("radius: 'cv' needs the p samples in memory; pass arrays, or a number as radius")
    n_p, n_q = len(problem.features_p), problem.n_q
    if as_count(folds, "folds", 2) > min(n_p, n_q):
        raise DataError(f"folds, or cv: {folds} are not possible with {n_p} and {n_q} rows; take fewer")
    as_flag(one_se, "one_se")
    steps, span = as_count(steps, "steps", 2), share(span, "span")
    top = problem.ball(problem.gradient(np.zeros(problem.k)))
    radii = top * exp(np.linspace(0.0, log_of(span), steps))
    generator = as_generator(rng)
    fold_q = generator.permutation(n_q) % folds
    fold_p = fold_q if problem.paired else generator.permutation(n_p) % folds
    scores = np.array([_held_out(problem, fold_p == i, fold_q == i, radii) for i in range(folds)])
    solved = np.isfinite(scores).all(axis=0)  # a radius without a solution in some fold is out of the running
    mean, error = np.full(steps, -np.inf), np.zeros(steps)
    mean[solved] = scores[:, solved].mean(axis=0)
    error[solved] = scores[:, solved].std(axis=0, ddof=1) / np.sqrt(folds)
    best = int(np.argmax(mean))
    if not np.isfinite(mean[best]):
        raise DataError("radius: no radius of the path has a solution in every fold; give a larger one yourself")
    chosen = best
    if one_se:
        chosen = int(np.flatnonzero(mean >= mean[best] - error[best])[0])
    return RadiusChoice(float(radii[chosen]), "cv", radii, mean, error, float(radii[best]))


@one_thread_each()
def cross_validated_kernel(
    kernel: Kernel,
    x_p: Any,
    x_q: Any,
    log_lik_p: Any,
    log_lik_q: Any,
    *,
    folds: int = 5,
    paired: bool = False,
    rng: Rng = 0,
) -> Kernel:
    """The kernel with the length scale, among multiples of the median distance, whose best radius scores best."""
    if not isinstance(kernel, Kernel):
        raise DataError(f"kernel: must be a Kernel, not {type(kernel).__name__}")
    x_p, x_q = as_matrix(x_p, "x_p", limit=LARGEST), as_matrix(x_q, "x_q", limit=LARGEST)
    if x_p.shape[1] != x_q.shape[1]:
        raise DataError(f"x_q: has {x_q.shape[1]} columns, x_p has {x_p.shape[1]}")
    as_count(folds, "folds", 2)
    as_flag(paired, "paired")
    l_p, l_q = log_likelihood(log_lik_p, x_p, "log_lik_p"), log_likelihood(log_lik_q, x_q, "log_lik_q")
    points = np.concatenate([x_p, x_q])
    median, seed = median_length_scale(points), as_seed(rng)  # the same landmarks and folds for all length scales
    best, chosen = -np.inf, None
    for multiple in LENGTH_SCALES:
        candidate = replace(kernel, length_scale=multiple * median).fitted(points, seed)
        problem = RatioProblem.from_samples(x_p, x_q, l_p, l_q, features=candidate, paired=paired)
        score = float(cross_validated_radius(problem, folds=folds, rng=seed, steps=12).mean.max())
        if score > best:
            best, chosen = score, candidate
    assert chosen is not None  # a path always has a finite score at its top
    return chosen


def _held_out(problem: RatioProblem, test_p: Any, test_q: Any, radii: Array) -> Array:
    """−ℓ on the test rows, of fits to the others, for each radius; −inf where there is no fit."""
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    F_p, w = problem.features_p, problem.log_weights_p
    F_q, a = problem.features_q, problem.log_base
    train_w = log_normalise(w[~test_p])
    train = RatioProblem(
        exp(train_w) @ F_p[~test_p], F_q[~test_q], a[~test_q], norm=problem.norm, feature_names=problem.feature_names
    )
    test_w, test_a = exp(log_normalise(w[test_p])), log_normalise(a[test_q])
    scores = np.full(len(radii), -np.inf)
    for i, solution in enumerate(radius_path(train, radii, stop=True)):
        if solution.status.ok:
            inner = F_q[test_q] @ solution.delta
            scores[i] = float(test_w @ (F_p[test_p] @ solution.delta) - log_sum_exp(test_a + inner))
    return scores
