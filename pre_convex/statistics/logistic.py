"""Uncertainty of a logistic regression between priors: the ratio at the fit, and the influence of every row [LOGIT]."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from .._internal.entropy import log_normalise, log_sum_exp
from .._internal.linear_algebra import solve_psd
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import MAX_ENTRY, as_fraction, as_matrix, as_vector, read_only
from ..errors import DataError
from ..logistic import LogisticProblem
from ..solution import Solution
from .inference import Inference, Interval, WaldTest, normal_interval
from .influence import Influence
from .null import ScoreTest

__all__ = ["FittedLogistic", "LogisticInference", "two_sample_covariance"]


def two_sample_covariance(influences: Array, n_p: int, paired: bool, other: Array | None = None) -> Array:
    """Covariance of a sum of influences, of n_p p rows and then the q rows, centred on each side.

    Parameters
    ----------
    influences : ndarray of shape (n_p + n_q, m)
        One row for each row of the samples.
    n_p : int
        Rows of the p sample.
    paired : bool
        Whether row i of both samples is the same observation; its two influences are added first.
    other : ndarray of shape (n_p + n_q, l), optional
        Influences on something else; then the result is the covariance with it.
    """
    other = influences if other is None else other
    total = np.zeros((influences.shape[1], other.shape[1]))
    sides = [(x[:n_p], x[n_p:]) for x in (influences, other)]
    parts = [(one, two) for one, two in zip(*sides, strict=True)]
    if paired:
        parts = [(sides[0][0] + sides[0][1], sides[1][0] + sides[1][1])]
    for one, two in parts:
        n = len(one)
        if n > 1:
            total += (one - one.mean(axis=0)).T @ (two - two.mean(axis=0)) * (n / (n - 1.0))
    return total


class FittedLogistic:
    """A logistic problem at its solution: the ratio, and the influence of every row.

    Parameters
    ----------
    problem : LogisticProblem
    solution : Solution

    Attributes
    ----------
    delta : ndarray of shape (k,)
        δ̂.
    u : ndarray of shape (n,)
        Probability of every pooled row to be of the p sample.
    """

    recession = ()

    def __init__(self, problem: LogisticProblem, solution: Solution) -> None:
        self.problem, self.solution, self.delta = problem, solution, solution.delta

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "solution": self.solution, "delta": self.delta}  # the rest is computed again

    @cached_property
    def scores(self) -> Array:
        """η of the pooled rows."""
        return self.problem.scores(self.solution.intercept, self.delta)

    @cached_property
    def u(self) -> Array:
        """1/(1 + e^{−η})."""
        return np.asarray(expit(self.scores))

    @cached_property
    def posterior_weights(self) -> tuple[Array, Array]:
        """(log Ẑ_p, log Ẑ_q) aside: weights p̂ l_p/Ẑ_p and q̂ l_q/Ẑ_q of the pooled rows, which sum to one."""
        logs_p, logs_q = self._posterior_logs
        return np.exp(log_normalise(logs_p)), np.exp(log_normalise(logs_q))

    @property
    def _posterior_logs(self) -> tuple[Array, Array]:
        """Logs of p̂ l_p and q̂ l_q."""
        eta, likelihoods = self.scores, self.problem.log_lik
        logs = [-np.logaddexp(0.0, -eta) - np.log(self.problem.n_p), -np.logaddexp(0.0, eta) - np.log(self.problem.n_q)]
        if likelihoods is not None:
            logs = [one + likelihood for one, likelihood in zip(logs, likelihoods, strict=True)]
        return logs[0], logs[1]

    @cached_property
    def relative_constant(self) -> float:
        """log r at a point whose features are the target."""
        logs_p, logs_q = self._posterior_logs
        theta = self.problem.theta(self.solution.intercept, self.delta)
        return float(theta[0] + self.problem.shift + log_sum_exp(logs_q) - log_sum_exp(logs_p))

    def inner(self, features: Array) -> Array:
        """⟨δ, f − b⟩ for every row of features, b the mean of the p sample."""
        return np.asarray((features - self.problem.target) @ self.delta)

    def log_ratio(self, features: Array) -> Array:
        """Log r for every row of features."""
        return self.inner(features) + self.relative_constant

    @property
    def divergence(self) -> float:
        """KL divergence between the posteriors: the mean of log r under the estimated p posterior."""
        return float(self.posterior_weights[0] @ self.log_ratio(self.problem.features))

    @property
    def value(self) -> float:
        """Minus the divergence, as for other estimators."""
        return -self.divergence

    @cached_property
    def mu(self) -> Array:
        """Weights of the q sample, l_q e^{⟨δ, f⟩}, which sum to one; zero for rows that were left out."""
        n_p, problem = self.problem.sizes[0], self.problem
        logs = self.inner(problem.features[n_p:])
        if problem.log_lik is not None:
            logs = logs + problem.log_lik[1, n_p:]
        weights = np.zeros(problem.n_q)
        weights[problem.supported[problem.n_p :]] = np.exp(log_normalise(logs))
        return weights

    @cached_property
    @single_threaded_blas()
    def information(self) -> Array:
        """A = Σ u (1 − u) [1, f − b][1, f − b]', shape (k + 1, k + 1)."""
        G = self._design
        return np.asarray((G * (self.u * expit(-self.scores))[:, None]).T @ G)

    @property
    def _design(self) -> Array:
        """[1, f − b] of the pooled rows."""
        return np.column_stack([np.ones(self.problem.n), self.problem.features - self.problem.target])

    @cached_property
    @single_threaded_blas()
    def influences(self) -> Array:
        """Influence of every row on (log r at the target, δ̂), and on the divergence, shape (n_p + n_q, k + 2).

        Rows that were left out have none.
        """
        G, eta = self._design, self.scores
        slope = np.where(self.problem.link.positive, expit(-eta), -expit(eta))  # t − u
        on_theta = solve_psd(self.information, (slope[:, None] * G).T).T
        weight_p, weight_q = self.posterior_weights
        change_p, change_q = (weight_p * expit(-eta)) @ G, -(weight_q * expit(eta)) @ G
        if self.problem.log_lik is None:  # Ẑ_p = Ẑ_q = 1, whatever the samples
            on_constant = on_theta[:, 0]
        else:
            on_constant = on_theta[:, 0] + weight_q - weight_p + on_theta @ (change_q - change_p)
        log_r = self.log_ratio(self.problem.features)
        centred = log_r - float(weight_p @ log_r)
        on_divergence = weight_p * centred + on_theta @ ((weight_p * expit(-eta) * centred) @ G)
        on_divergence += on_constant + on_theta[:, 1:] @ (weight_p @ G[:, 1:])
        full = np.zeros((self.problem.n_p + self.problem.n_q, self.problem.k + 2))
        full[self.problem.supported] = np.column_stack([on_constant, on_theta[:, 1:], on_divergence])
        return full

    @cached_property
    def joint_covariance(self) -> Array:
        """Covariance of (log r at the target, δ̂, divergence)."""
        return two_sample_covariance(self.influences, self.problem.n_p, self.problem.paired)


class LogisticInference(Inference):
    """Large-sample uncertainty of a logistic regression without a radius, from the sandwich formula of [LOGIT].

    :meth:`LogisticRatio.inference` makes it; methods are those of :class:`Inference`.

    Parameters
    ----------
    fitted : FittedLogistic
        Problem and solution.
    """

    def __init__(self, fitted: FittedLogistic) -> None:
        if not fitted.problem.exact:
            reason = "a radius shrinks δ, so intervals would not have their nominal coverage"
            raise DataError("radius", reason, "use a radius of 0")
        self.fitted, self.delta, self.kind = fitted, fitted.delta, "centred"
        self.problem, self._tilted = fitted.problem, fitted  # type: ignore[assignment]
        weight, G = fitted.posterior_weights[0], fitted.problem.features - fitted.problem.target
        mean = weight @ G
        H = (G * weight[:, None]).T @ G - np.outer(mean, mean)  # of the divergence near δ = 0
        variance = float(fitted.joint_covariance[-1, -1])
        A = fitted.information
        schur = A[1:, 1:] - np.outer(A[1:, 0], A[0, 1:]) / A[0, 0]
        k = fitted.problem.k
        self._curvature = H
        self._sums = Influence(H=schur, score=np.zeros((k, k)), cross=np.zeros(k), log_z=0.0, divergence=variance)

    @property
    def score_variance(self) -> Array:
        """Covariance of the score of δ̂ after minimising over α, shape (k, k)."""
        return np.asarray(self._sums.H @ self.covariance @ self._sums.H)

    @cached_property
    def covariance(self) -> Array:
        """Covariance of δ̂, shape (k, k); zero along free directions."""
        return read_only(self.fitted.joint_covariance[1:-1, 1:-1])

    @cached_property
    def _noise(self) -> Array:
        """Variances of the independent parts of the noise of the divergence: the eigenvalues of H C."""
        return np.asarray(np.maximum(np.linalg.eigvals(self._curvature @ self.covariance).real, 0.0))

    def conf_int(self, level: float = 0.95) -> Interval:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of each interval, between 0 and 1.

        Returns
        -------
        Interval
        """
        return normal_interval(np.array(self.delta), self.std_error, level)

    def log_ratio(self, features: Any, level: float = 0.95) -> Interval:
        """Confidence intervals of log r at some points, with the noise of its normaliser.

        Parameters
        ----------
        features : array of shape (m, k)
            Features f(x) of the points, not the points themselves.
        level : float, default 0.95
            Confidence level of each interval, between 0 and 1.

        Returns
        -------
        Interval
        """
        f = as_matrix(features, "features", limit=MAX_ENTRY)
        if f.shape[1] != self.problem.k:
            reason = f"has {f.shape[1]} columns, the problem has {self.problem.k}"
            raise DataError("features", reason, "pass the features of the points, one column for each coefficient")
        G = np.column_stack([np.ones(len(f)), f - self.problem.target])
        variance = np.einsum("ij,jl,il->i", G, self.fitted.joint_covariance[:-1, :-1], G)
        return normal_interval(self.fitted.log_ratio(f), np.sqrt(np.maximum(variance, 0.0)), level)

    def p_values(self, delta: Any = 0.0) -> Array:
        """p-values of values of the coefficients, each tested alone.

        Parameters
        ----------
        delta : float or array of shape (k,), default 0.0
            The value of each coefficient, or one number for all of them.

        Returns
        -------
        ndarray of shape (k,)
        """
        values = self._point(delta)
        return normal_interval(self.delta - values, self.std_error, 0.95).table()[:, 3]

    def score_test(self, delta: Any = 0.0) -> ScoreTest:
        """Not available: the score test is that of :class:`PosteriorRatio`.

        Parameters
        ----------
        delta : float or array of shape (k,), default 0.0
            Not used.

        Raises
        ------
        DataError
        """
        raise DataError("LogisticRatio", "has no score test", "use wald_test")

    def test_of_zero(self) -> WaldTest:
        """Wald test of δ = 0."""
        return self.wald_test()

    def divergence_p_value(self) -> float:
        """p-value of the hypothesis δ = 0, by the Wald test.

        Returns
        -------
        float
        """
        return self.wald_test().p_value

    def contains(self, delta: Any, level: float = 0.95) -> bool:
        """Whether δ lies in the joint confidence ellipsoid.

        Parameters
        ----------
        delta : array of shape (k,)
            The point to test.
        level : float, default 0.95
            Confidence level of the ellipsoid, between 0 and 1.

        Returns
        -------
        bool
        """
        test = self.wald_test(None, as_vector(delta, "delta", self.problem.k))
        return test.p_value >= 1.0 - as_fraction(level, "level")
