"""Choosing the radius: from the noise of the moments, or by cross-validation along a path."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._internal.entropy import log_normalise, log_sum_exp
from .._internal.linear_algebra import symmetric_root
from .._internal.rng import Rng, as_generator, as_seed
from .._internal.snapshots import freeze
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import MAX_ENTRY, as_count, as_flag, as_fraction, as_matrix, read_only
from ..data.kernels import Kernel, near, typical_length_scale
from ..data.likelihoods import log_likelihood
from ..errors import DataError, PreConvexError
from ..feasibility.hull import minimal_radius
from ..problem import RatioProblem, as_problem
from ..solvers import radius_path, solve
from .debias import newton_step
from .null import at_null, noise, score_rows
from .small_samples import joint_degrees_of_freedom, whitening
from .tilted import TiltedProblem

__all__ = ["RadiusChoice", "automatic_radius", "cross_validated_kernel", "cross_validated_radius", "radius_noise_df"]

#: length scales that are tried, in multiples of the median distance
LENGTH_SCALES = (0.125, 0.25, 0.5, 1.0, 2.0)
#: number of radii on the path of each length scale
KERNEL_PATH_STEPS = 12
#: largest noise of a Newton step, as a sum over features of squares relative to their spread, for the step to be taken
MAX_STEP_NOISE = 1.0
#: a radius within this factor of the hull distance is raised to the second factor times that distance
TOO_CLOSE, RAISED_TO = 1.01, 1.05


@dataclass(frozen=True, eq=False)
class RadiusChoice:
    """A radius and how it was chosen.

    Attributes
    ----------
    radius : float
        The chosen radius.
    method : {"auto", "cv"}
        How it was chosen.
    radii : ndarray of shape (m,)
        For ``"cv"``: the radii of the path, from the largest down; empty for ``"auto"``. In a fold, the path has the
        same shares of the radius at which the fold's own δ is zero.
    mean, std_error : ndarray of shape (m,)
        For ``"cv"``: held-out −ℓ at each radius, averaged over the folds, and its standard error. The mean is −inf
        where some fold has no solution.
    best : float
        For ``"cv"``: the radius with the best score, before the one-standard-error rule; nan for ``"auto"``.
    raised : bool
        Whether the radius was raised so that the target can be reached.
    """

    radius: float
    method: str
    radii: Array = field(default_factory=lambda: np.zeros(0))
    mean: Array = field(default_factory=lambda: np.zeros(0))
    std_error: Array = field(default_factory=lambda: np.zeros(0))
    best: float = np.nan
    raised: bool = False


def _p_side(problem: Any, method: str) -> tuple[RatioProblem, Array, Array]:
    """The problem with features and log weights of its p sample, which must be in memory."""
    problem = as_problem(problem)
    problem.require_exponential(method)
    problem.require_one_radius(method)
    if problem.features_p is None or problem.log_weights_p is None:
        raise DataError(
            "radius", f"{method!r} needs the p samples in memory", "pass arrays of samples, or a number as radius"
        )
    return problem, problem.features_p, problem.log_weights_p


@single_threaded_blas()
def automatic_radius(problem: RatioProblem, *, alpha: float = 0.05, rng: Rng = 0, draws: int = 20_000) -> RadiusChoice:
    """Radius from the noise of the moments: the 1 − alpha quantile of ‖∇ℓ(δ*)‖ under its limiting normal law.

    The covariance of the noise is first taken at δ = 0, and then at the solution with the radius this gives, after one
    Newton step that removes the bias of the radius [DEBIAS]: at the shrunk δ itself the weights are more even than at
    δ*, and the noise is smaller. With so many features that the step would be mostly noise, as with a kernel, it is
    not taken. The covariance decreases as 1/n, so the radius decreases as 1/√n. A radius below the distance to the
    hull is raised to just above it.

    Parameters
    ----------
    problem : RatioProblem
        A problem built from samples in memory; its radius is not used, its norm is.
    alpha : float, default 0.05
        Probability that the noise exceeds the radius, between 0 and 1.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of the simulated noise.
    draws : int, default 20000
        Simulated noise vectors, at least 100.

    Returns
    -------
    RadiusChoice

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(400, 2))
    >>> problem = RatioProblem.from_samples(x[:200] + 0.3, x[200:])
    >>> round(automatic_radius(problem).radius, 2)
    0.25
    """
    alpha, draws = as_fraction(alpha, "alpha"), as_count(draws, "draws", 100)
    problem, _, _ = _p_side(problem, "auto")
    distance = minimal_radius(problem).radius
    draws_of_noise = as_generator(rng).normal(size=(draws, problem.k))
    delta, radius = np.zeros(problem.k), 0.0
    for _ in range(2):
        # a symmetric root, because the signs of eigenvectors depend on the LAPACK in use
        lengths = np.linalg.norm(draws_of_noise @ symmetric_root(_score_variance(problem, delta)), problem.norm, axis=1)
        radius = float(np.quantile(lengths, 1.0 - alpha))
        if radius <= TOO_CLOSE * distance:
            return RadiusChoice(RAISED_TO * distance, "auto", raised=True)
        delta = _near_truth(problem, solve(problem.with_radius(radius), check=False).delta)
    return RadiusChoice(radius, "auto")


def _score_variance(problem: RatioProblem, delta: Array) -> Array:
    """Covariance of the moment residual b − F'μ(δ), from its changes when a row is left out [SCORE]."""
    rows = _score_rows(problem, delta)
    return np.asarray(rows.T @ rows)


def _score_rows(problem: RatioProblem, delta: Array) -> Array:
    """Changes of the moment residual b − F'μ(δ) when a row is left out."""
    tilted = TiltedProblem(problem.with_radius(0.0), delta)
    return score_rows(tilted, at_null(tilted, delta), 1.0)


def _near_truth(problem: RatioProblem, delta: Array) -> Array:
    """δ after a Newton step towards radius 0, unless tr H⁻¹V says that the step would be mostly noise."""
    tilted = TiltedProblem(problem.with_radius(0.0), delta)
    if noise(tilted.hessian, _score_variance(problem, delta)).sum() > MAX_STEP_NOISE:
        return delta
    return newton_step(problem, delta)


def radius_noise_df(problem: RatioProblem, delta: Array) -> float:
    """Degrees of freedom [DF] of the noise that an automatic radius rests on.

    Parameters
    ----------
    problem : RatioProblem
        The problem of a fit with an automatic radius.
    delta : array of shape (k,)
        The δ that solves it with that radius.
    """
    rows = _score_rows(problem, _near_truth(problem, delta))
    return joint_degrees_of_freedom(rows, whitening(rows.T @ rows))


@single_threaded_blas()
def cross_validated_radius(
    problem: RatioProblem, *, folds: int = 5, one_se: bool = True, rng: Rng = 0, steps: int = 30, span: float = 1e-3
) -> RadiusChoice:
    """Radius by cross-validation: the best held-out −ℓ along a path, or the largest within one standard error of it.

    Parameters
    ----------
    problem : RatioProblem
        A problem built from samples in memory; its radius is not used, its norm is.
    folds : int, default 5
        Number of folds, at least 2 and at most the rows of the smaller sample.
    one_se : bool, default True
        Whether to take the largest radius whose score is within one standard error of the best, which gives a simpler
        fit; otherwise the best.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator that assigns rows to folds.
    steps : int, default 30
        Radii on the path, at least 2. The first is the smallest radius at which δ is zero.
    span : float, default 1e-3
        Last radius of the path as a fraction of the first, between 0 and 1.

    Returns
    -------
    RadiusChoice

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(400, 2))
    >>> problem = RatioProblem.from_samples(x[:200] + 0.3, x[200:])
    >>> choice = cross_validated_radius(problem)
    >>> choice.radius >= choice.best, len(choice.radii)
    (True, 30)
    """
    problem, features_p, _ = _p_side(problem, "cv")
    n_p, n_q = len(features_p), problem.n_q
    _check_folds(folds, n_p, n_q)
    as_flag(one_se, "one_se")
    steps, span = as_count(steps, "steps", 2), as_fraction(span, "span")
    shares = np.exp(np.linspace(0.0, math.log(span), steps))
    generator = as_generator(rng)
    fold_q = generator.permutation(n_q) % folds
    fold_p = fold_q if problem.paired else generator.permutation(n_p) % folds
    scores = np.array([_held_out(problem, fold_p == i, fold_q == i, shares) for i in range(folds)])
    solved = np.isfinite(scores).all(axis=0)  # a radius without a solution in some fold is not chosen
    mean, error = np.full(steps, -np.inf), np.zeros(steps)
    mean[solved] = scores[:, solved].mean(axis=0)
    error[solved] = scores[:, solved].std(axis=0, ddof=1) / np.sqrt(folds)
    best = int(np.argmax(mean))
    chosen = int(np.flatnonzero(mean >= mean[best] - error[best])[0]) if one_se else best
    radii = _top(problem) * shares
    choice = RadiusChoice(
        float(radii[chosen]), "cv", read_only(radii), read_only(mean), read_only(error), float(radii[best])
    )
    distance = minimal_radius(problem).radius
    if choice.radius > TOO_CLOSE * distance:
        return choice
    return replace(choice, radius=min(RAISED_TO * distance, float(radii[0])), raised=True)


def _check_folds(folds: Any, n_p: int, n_q: int) -> None:
    if as_count(folds, "folds", 2) > min(n_p, n_q):
        reason = f"{folds} folds need {folds} rows in each sample, not {n_p} and {n_q}"
        raise DataError("folds", reason, "use fewer folds or more rows")


def _top(problem: RatioProblem) -> float:
    """The smallest radius at which δ is zero."""
    return problem.moment_norm(problem.gradient(np.zeros(problem.k)))


@single_threaded_blas()
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
    """Kernel with the length scale that cross-validates best, among multiples of the median distance.

    Each length scale is judged by its best radius. Landmarks far from all q samples are left out, and a length scale
    that fails is skipped.

    Parameters
    ----------
    kernel : Kernel
        The kernel; its length scale is not used.
    x_p, x_q : array of shape (n_p, d) and (n_q, d)
        Samples of the two priors.
    log_lik_p, log_lik_q : array of shape (n,), function of samples, or None
        Log-likelihoods of the samples, up to a constant; None for a constant likelihood.
    folds : int, default 5
        Number of folds, at least 2.
    paired : bool, default False
        Whether row i of both samples is the same observation.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of landmarks and folds, which are the same for all length scales.

    Returns
    -------
    Kernel
        With its length scale and landmarks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kernel = cross_validated_kernel(Kernel(), rng.normal(0.5, 1.0, (60, 1)), rng.normal(size=(60, 1)), None, None)
    >>> kernel.length_scale > 0.0
    True
    """
    if not isinstance(kernel, Kernel):
        raise DataError("kernel", f"is a {type(kernel).__name__}, not a Kernel", "pass pre.Kernel()")
    x_p, x_q = as_matrix(x_p, "x_p", limit=MAX_ENTRY), as_matrix(x_q, "x_q", limit=MAX_ENTRY)
    if x_p.shape[1] != x_q.shape[1]:
        raise DataError("x_q", f"has {x_q.shape[1]} columns, x_p has {x_p.shape[1]}", "pass the same columns in both")
    _check_folds(folds, len(x_p), len(x_q))
    as_flag(paired, "paired")
    l_p, l_q = log_likelihood(log_lik_p, x_p, "log_lik_p"), log_likelihood(log_lik_q, x_q, "log_lik_q")
    points = np.concatenate([x_p, x_q])
    median, seed = typical_length_scale(points, kernel.kind), as_seed(rng)
    best, chosen, failure = -np.inf, None, None
    for multiple in LENGTH_SCALES:
        try:
            candidate = near(replace(kernel, length_scale=multiple * median).fitted(points, seed), x_q)
            problem = RatioProblem.from_samples(x_p, x_q, l_p, l_q, features=candidate, paired=paired)
            score = float(cross_validated_radius(problem, folds=folds, rng=seed, steps=KERNEL_PATH_STEPS).mean.max())
        except PreConvexError as error:
            failure = failure or error
            continue
        if score > best:
            best, chosen = score, candidate
    if chosen is None:  # the data are at fault if every candidate fails
        assert failure is not None
        raise failure
    return chosen


def _held_out(problem: RatioProblem, test_p: Any, test_q: Any, shares: Array) -> Array:
    """−ℓ on the test rows of fits to the other rows; −inf where there is no solution.

    The radii are ``shares`` of the smallest radius at which these rows have δ = 0. So the first one, a share of 1,
    always has the solution δ = 0 and the score 0.
    """
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    F_p, w = problem.features_p, problem.log_weights_p
    F_q, a = problem.features_q, problem.log_base
    train_w = log_normalise(w[~test_p])
    train_F = freeze(F_q[~test_q])
    train = RatioProblem(
        np.exp(train_w) @ F_p[~test_p], train_F, a[~test_q], norm=problem.norm, feature_names=problem.feature_names
    )
    test_w, test_a = np.exp(log_normalise(w[test_p])), log_normalise(a[test_q])
    scores = np.full(len(shares), -np.inf)
    scores[0] = 0.0
    for i, solution in enumerate(radius_path(train, _top(train) * shares[1:], stop=True), 1):
        if solution.status.ok:
            inner = F_q[test_q] @ solution.delta
            scores[i] = float(test_w @ (F_p[test_p] @ solution.delta) - log_sum_exp(test_a + inner))
    return scores
