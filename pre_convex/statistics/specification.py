"""[SPEC]: whether posterior ratio estimation and logistic regression agree.

Both estimate the same δ if the log-linear model is right, and different ones if it is not: one fits under the
posteriors, the other under the priors. The covariance of their difference comes from the influences of the same rows on
both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from .._internal.entropy import log_normalise
from .._internal.linear_algebra import solve_psd
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import read_only
from ..errors import DataError
from ..logistic import LogisticProblem, as_logistic_problem
from ..problem import RatioProblem
from ..solution import Solution
from ..solvers import solve
from .logistic import FittedLogistic, two_sample_covariance
from .tilted import TiltedProblem
from .weighted_chi2 import p_value_text

__all__ = ["SpecificationTest", "posterior_problem", "specification_test"]

#: share of the variance of an estimate below which that of a difference is taken to be of second order
SECOND_ORDER = 1e-3


@dataclass(frozen=True, eq=False)
class SpecificationTest:
    """Result of :func:`specification_test`.

    Attributes
    ----------
    statistic : float
        Squared length of the difference of the two estimates in units of its standard errors.
    df : int
        Number of independent directions in which the estimates can differ.
    p_value : float
        Probability of a statistic at least this large if the model is right.
    difference : ndarray of shape (k,)
        δ̂ of posterior ratio estimation minus δ̂ of logistic regression.
    std_error : ndarray of shape (k,)
        Standard errors of the difference.
    feature_names : tuple of str
        Names of the k features.
    """

    statistic: float
    df: int
    p_value: float
    difference: Array
    std_error: Array
    feature_names: tuple[str, ...]

    def __str__(self) -> str:
        return f"Hausman chi2({self.df}) = {self.statistic:.4g}, {p_value_text(self.p_value)}"


def posterior_problem(problem: LogisticProblem) -> RatioProblem:
    """The posterior ratio problem [P] of the same samples and likelihoods.

    Parameters
    ----------
    problem : LogisticProblem
        Samples, likelihoods and features; its radius is not used.

    Returns
    -------
    RatioProblem
    """
    n_p, F = problem.sizes[0], problem.features
    log_w, log_base = np.zeros(n_p), None
    if problem.log_lik is not None:
        log_w, log_base = problem.log_lik[0, :n_p], problem.log_lik[1, n_p:]
    w = np.exp(log_normalise(log_w))
    b = w @ F[:n_p]
    b = b + w @ (F[:n_p] - b)  # that of a constant column is exact
    names = problem.feature_names
    return RatioProblem(b, F[n_p:], log_base, feature_names=names, features_p=F[:n_p], log_weights_p=log_w)


@single_threaded_blas()
def specification_test(problem: LogisticProblem, solution: Solution | None = None) -> SpecificationTest:
    """Hausman test of the log-linear model: the difference between posterior ratio estimation and logistic regression.

    A small p-value says that no δ makes ⟨δ, f(x)⟩ − log Z the log ratio everywhere. Then :class:`PosteriorRatio` has
    the best δ where the posteriors are, and :class:`LogisticRatio` the best one where the priors are. A large one does
    not prove the model: both estimates may be wrong by the same amount. If both likelihoods are constant and δ is
    small, the estimates are equal to first order; the test then rejects too rarely and has little power.

    Parameters
    ----------
    problem : LogisticProblem
        Samples, likelihoods and features; both estimates are without a radius.
    solution : Solution, optional
        Solution of the problem, if it is known.

    Returns
    -------
    SpecificationTest

    Raises
    ------
    InfeasibleError, SeparationError
        One of the estimates does not exist.
    DataError
        The problem has a radius.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_q = rng.normal(size=(500, 1)), rng.normal(size=(500, 1))
    >>> def log_lik_p(x):
    ...     return -0.5 * (x[:, 0] - 1.0) ** 2
    >>> problem = LogisticProblem.from_samples(x_p, x_q, log_lik_p)
    >>> specification_test(problem).p_value > 0.05  # log r = x − x²/2: a linear model is wrong, a quadratic one right
    False
    >>> specification_test(LogisticProblem.from_samples(x_p, x_q, log_lik_p, features="polynomial")).p_value > 0.05
    True
    """
    problem = as_logistic_problem(problem)
    if not problem.exact or problem.radius_per_feature:
        raise DataError("problem", "has a radius, which biases both estimates", "use a radius of 0")
    solution = solve(problem) if solution is None else solution
    if not isinstance(solution, Solution) or solution.delta.size != problem.k:
        raise DataError("solution", "is not a solution of this problem", "pass what solve() returns, or leave it out")
    logistic = FittedLogistic(problem, solution)
    posterior = posterior_problem(problem)
    found = solve(posterior)
    if found.recession:
        raise DataError(
            "problem", "has coefficients of PosteriorRatio that run to infinity", "leave those features out"
        )
    influences = _influences(posterior, found.delta, problem)
    own = two_sample_covariance(influences, problem.n_p, problem.paired)
    V = two_sample_covariance(influences - logistic.influences[:, 1:-1], problem.n_p, problem.paired)
    difference = found.delta - solution.delta
    statistic, df = _quadratic_form(difference, V, own)
    p_value = float(chdtrc(df, statistic)) if df else 1.0
    std_error = np.sqrt(np.maximum(V.diagonal(), 0.0))
    return SpecificationTest(statistic, df, p_value, read_only(difference), read_only(std_error), problem.feature_names)


def _influences(posterior: RatioProblem, delta: Array, problem: LogisticProblem) -> Array:
    """Influence of every row of the samples on the δ̂ of posterior ratio estimation [INFL]."""
    tilted, b = TiltedProblem(posterior, delta), posterior.target
    assert posterior.features_p is not None
    assert posterior.log_weights_p is not None
    p = np.exp(posterior.log_weights_p)[:, None] * (posterior.features_p - b)
    q = tilted.mu[:, None] * (posterior.features_q - b)
    full = np.zeros((problem.n_p + problem.n_q, problem.k))
    full[problem.supported] = solve_psd(tilted.hessian, np.concatenate([p, -q]).T).T
    return full


def _quadratic_form(d: Array, V: Array, scale: Array) -> tuple[float, int]:
    """(d'V⁺d, rank) over the directions in which V is not of second order, compared with ``scale``."""
    s = np.sqrt(np.maximum(scale.diagonal(), 0.0))
    s[s == 0.0] = 1.0
    values, vectors = np.linalg.eigh(scale / s / s[:, None])
    keep = values > 1e-10 * values[-1]
    whiten = vectors[:, keep] / np.sqrt(values[keep]) / s[:, None]
    values, vectors = np.linalg.eigh(whiten.T @ V @ whiten)
    keep = values > SECOND_ORDER
    z = (vectors[:, keep].T @ (whiten.T @ d)) / np.sqrt(values[keep])
    return float(z @ z), int(keep.sum())
