"""Uncertainty of δ̂, of log r(x) and of the divergence, from the influence of every sample.

Both sides are normalised by their own sums, so influences are centred, [INFL]: with H the covariance of F under μ,

    of x_p,i on b         w_i (f(x_p,i) − b)              of x_q,j on F'μ       μ_j (F_j − b)
    of x_q,j on log Z     μ_j − exp a_j                   of either on δ̂        H⁻¹ (p side − q side)

Variances are sums of squared influences over independent samples; when x_p and x_q are the same rows, the two
influences of a row are added before they are squared. The paper's formula leaves out the centring and therefore changes
when the features are shifted; it is available as ``kind="paper"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc, chdtri, ndtr, ndtri

from .._internal.linear_algebra import null_directions, solve_psd
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import (
    MAX_ENTRY,
    as_choice,
    as_fraction,
    as_matrix,
    as_numbers,
    as_scalar,
    as_vector,
    read_only,
)
from ..errors import DataError
from ..problem import RatioProblem
from .influence import KINDS, influence
from .tilted import TiltedProblem
from .weighted_chi2 import weighted_chi2_sf

__all__ = ["Inference", "Interval", "WaldTest", "infer", "normal_interval"]

#: singular value above which a free direction changes a hypothesis, and eigenvalue below which a variance is round-off
MOVES, ROUND_OFF = 1e-8, 1e-10


@dataclass(frozen=True, eq=False)
class Interval:
    """Estimates with standard errors and confidence limits.

    Attributes
    ----------
    estimate : ndarray of shape (m,)
        The estimates.
    std_error : ndarray of shape (m,)
        Standard errors; zero where the data leave no uncertainty.
    lower, upper : ndarray of shape (m,)
        Limits of the interval of each estimate.
    level : float
        Confidence level, between 0 and 1.
    """

    estimate: Array
    std_error: Array
    lower: Array
    upper: Array
    level: float

    #: columns of :meth:`table`
    COLUMNS: ClassVar[tuple[str, ...]] = ("coef", "std_error", "z", "p_value", "lower", "upper")

    def table(self) -> Array:
        """Estimate, standard error, z, two-sided p-value of zero, lower and upper limit, shape (m, 6).

        z and the p-value are nan where the standard error is zero or nan.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(self.std_error > 0.0, self.estimate / self.std_error, np.nan)
        return np.column_stack([self.estimate, self.std_error, z, 2.0 * ndtr(-np.abs(z)), self.lower, self.upper])


@dataclass(frozen=True)
class WaldTest:
    """Result of the Wald test of a linear hypothesis.

    Attributes
    ----------
    statistic : float
        Wald statistic, χ² distributed with ``df`` degrees of freedom if the hypothesis is true.
    df : int
        Degrees of freedom: the number of independent equations that can be tested.
    p_value : float
        Probability of a statistic at least this large if the hypothesis is true.
    """

    statistic: float
    df: int
    p_value: float

    def __str__(self) -> str:
        return f"Wald chi2({self.df}) = {self.statistic:.4g}, p = {self.p_value:.3g}"


class Inference:
    """Large-sample uncertainty of a solution without penalty.

    Parameters
    ----------
    problem : RatioProblem
        A problem with its p sample (``features_p``, ``log_weights_p``) and radius 0: a radius shrinks δ, and intervals
        around a shrunk δ do not have the coverage they claim. For divergences other than KL, and for bounds, the
        formulas are those of [FAMINF], and the rows have to be in memory; bounds that the noise of the target reaches
        are refused.
    delta : array of shape (k,)
        The solution δ̂.
    kind : {"centred", "hc3", "paper"}, default "centred"
        ``"centred"`` is the sandwich formula [INFL]. ``"hc3"`` divides every influence by one minus its leverage, which
        makes it the change of δ̂ when that sample is left out (the jackknife); use it for small samples. ``"paper"`` is
        the paper's formula, which changes when the features are shifted. The last two need all rows in memory.

    Attributes
    ----------
    problem : RatioProblem
        The problem.
    delta : ndarray of shape (k,)
        The solution δ̂.
    kind : str
        Formula of the variances.

    Examples
    --------
    >>> import pre_convex as pre
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> problem = pre.RatioProblem.from_samples(x[:200] + 0.3, x[200:])
    >>> Inference(problem, pre.solve(problem).delta).conf_int().std_error.round(2)
    array([0.1])
    """

    def __init__(self, problem: RatioProblem, delta: Any, *, kind: str = "centred") -> None:
        if isinstance(problem, RatioProblem) and problem.has_intercept:
            from .linked_inference import LinkedInference  # its subclass for the other members of the family

            self.__class__ = LinkedInference
            LinkedInference.__init__(self, problem, delta, kind=kind)  # type: ignore[arg-type]
        else:
            self._set_up(TiltedProblem(problem, delta), kind)

    def _set_up(self, tilted: TiltedProblem, kind: str) -> None:
        as_choice(kind, "kind", KINDS)
        if tilted.problem.radius > 0.0:
            reason = "shrinks δ, so intervals would not have their nominal coverage"
            raise DataError("radius", f"a radius of {tilted.problem.radius:.3g} {reason}", "use a radius of 0")
        self.problem, self.delta, self.kind = tilted.problem, tilted.delta, kind
        self._tilted, self._sums = tilted, influence(tilted, kind)

    @property
    def score_variance(self) -> Array:
        """Covariance of ∇ℓ at the true δ, that is of b̂ − F'μ̂, shape (k, k)."""
        return self._sums.score

    @cached_property
    @single_threaded_blas()
    def covariance(self) -> Array:
        """Covariance of δ̂, shape (k, k); zero along free directions."""
        half = solve_psd(self._sums.H, self.score_variance)
        return read_only(np.asarray(solve_psd(self._sums.H, half.T)))

    @property
    def std_error(self) -> Array:
        """Standard errors of δ̂, shape (k,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    def conf_int(self, level: float = 0.95) -> Interval:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of each interval, between 0 and 1.

        Returns
        -------
        Interval
            One interval for each coefficient; infinite, without a standard error, for one that runs to infinity.
        """
        estimate, std_error = np.array(self.delta), self.std_error
        for feature, sign in self._tilted.recession:
            estimate[feature], std_error[feature] = sign * np.inf, np.nan
        return normal_interval(estimate, std_error, level)

    @single_threaded_blas()
    def log_ratio(self, features: Any, level: float = 0.95) -> Interval:
        """Confidence intervals of log r at some points.

        They include the noise of log Z, which remains where f(x) equals the mean of F.

        Parameters
        ----------
        features : array of shape (m, k)
            Features f(x) of the points, not the points themselves.
        level : float, default 0.95
            Confidence level of each interval, between 0 and 1.

        Returns
        -------
        Interval
            One interval for each point.
        """
        f = as_matrix(features, "features", limit=MAX_ENTRY)
        if f.shape[1] != self.problem.k:
            raise DataError(
                "features",
                f"has {f.shape[1]} columns, the problem has {self.problem.k}",
                "pass the features of the points, one column for each coefficient",
            )
        z = solve_psd(self._sums.H, (f - self.problem.target).T)
        # the influence of a row on log r is ⟨z, its influence on the score⟩ − its influence on log Z; squares summed
        # over rows are a quadratic form in z, which avoids an array of rows by points
        cross, log_z = self._sums.cross, self._sums.log_z
        variance = np.einsum("ki,kl,li->i", z, self.score_variance, z) - 2.0 * cross @ z + log_z
        return normal_interval(self._tilted.log_ratio(f), np.sqrt(np.maximum(variance, 0.0)), level)

    def divergence(self, level: float = 0.95) -> Interval:
        """Confidence interval of the divergence −ℓ(δ̂) between the posteriors [DIVCI].

        It also holds where δ is zero or close to it. −ℓ(δ̂) is too large on average, which the limits correct: with many
        features and few samples the estimate can lie above the interval.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level, between 0 and 1.

        Returns
        -------
        Interval
            One interval; its lower limit is not negative. The standard error is that of first order, which vanishes at
            δ = 0.
        """
        z = float(ndtri(0.5 + 0.5 * as_fraction(level, "level")))
        value, variance = -self._tilted.value, self._sums.divergence
        along = variance / (2.0 * value) if value > 0.0 else 0.0
        corrected = max(value - 0.5 * (float(self._noise.sum()) - along), 0.0)
        root, width = np.sqrt(2.0 * corrected), z * np.sqrt(along)
        across = z * np.sqrt(max(0.5 * (float(np.square(self._noise).sum()) - along**2), 0.0))
        lower = corrected - np.hypot(corrected - 0.5 * max(root - width, 0.0) ** 2, across)
        upper = corrected + np.hypot(0.5 * (root + width) ** 2 - corrected, across)
        estimate, std_error = np.array([value]), np.sqrt(np.array([variance]))
        ends = read_only(np.array([max(lower, 0.0)])), read_only(np.array([upper]))
        return Interval(read_only(estimate), read_only(std_error), *ends, level)

    @cached_property
    @single_threaded_blas()
    def _noise(self) -> Array:
        """Variances of the independent parts of the noise of −2ℓ(δ̂): the eigenvalues of H⁻¹ V."""
        A = solve_psd(self._sums.H, self.score_variance)
        return np.asarray(np.maximum(np.linalg.eigvals(A).real, 0.0))

    def divergence_p_value(self) -> float:
        """p-value of the hypothesis δ = 0, from the divergence.

        Under δ = 0, −ℓ(δ̂) is ½ g'H⁻¹g for a normal g, so its distribution is a weighted χ².

        Returns
        -------
        float
        """
        return weighted_chi2_sf(-2.0 * self._tilted.value, self._noise)

    @single_threaded_blas()
    def wald_test(self, hypothesis: Any = None, value: Any = 0.0) -> WaldTest:
        """Wald test of the hypothesis L δ = value.

        Free directions of δ do not change the ratio and are not tested: only combinations of the rows of L that no free
        direction changes count, and ``df`` is their number.

        Parameters
        ----------
        hypothesis : array of shape (m, k) or (k,), optional
            L, one row for each equation; the identity when left out, which tests δ = value.
        value : float or array of shape (m,), default 0.0
            Right-hand side of each equation, or one number for all of them.

        Returns
        -------
        WaldTest
        """
        L, goal = self._hypothesis(hypothesis, value)
        size = np.abs(L).max(axis=1)  # scaling an equation must not change the test
        size[size == 0.0] = 1.0
        L, goal = L / size[:, None], goal / size
        off = L @ self.delta - goal
        C = self._testable(L)
        L, off = C @ L, C @ off
        V = L @ self.covariance @ L.T
        unit = np.sqrt(np.maximum(np.diag(V), 0.0))
        unit[unit == 0.0] = 1.0
        values, vectors = np.linalg.eigh(V / np.outer(unit, unit))
        keep = values > ROUND_OFF
        df = int(keep.sum())
        with np.errstate(over="ignore"):  # a hypothesis infinitely many standard errors away
            statistic = float((np.square(vectors[:, keep].T @ (off / unit)) / values[keep]).sum())
        return WaldTest(statistic, df, float(chdtrc(df, statistic)) if df else 1.0)

    def _hypothesis(self, hypothesis: Any, value: Any) -> tuple[Array, Array]:
        """L and the right-hand side of L δ = value, validated."""
        k = self.problem.k
        L = np.eye(k)
        if hypothesis is not None:
            L = as_matrix(np.atleast_2d(as_numbers(hypothesis, "hypothesis")), "hypothesis")
        if L.shape[1] != k:
            raise DataError("hypothesis", f"has {L.shape[1]} columns for {k} coefficients", f"pass {k} columns")
        goal = as_numbers(value, "value")
        goal = as_vector(goal, "value") if goal.ndim else np.asarray(as_scalar(value, "value"))
        if goal.ndim and goal.shape != (len(L),):
            raise DataError(
                "value", f"has shape {goal.shape} for {len(L)} equations", f"pass a number or shape ({len(L)},)"
            )
        return L, goal

    def _testable(self, L: Array) -> Array:
        """Matrix C such that C L δ does not change along free directions, in units of the features' spread."""
        s = np.sqrt(self._sums.H.diagonal())
        s[s == 0.0] = 1.0
        size = np.sqrt(np.square(L / s).sum(axis=1))
        size[size == 0.0] = 1.0
        free = np.linalg.qr(null_directions(self._sums.H) * s[:, None])[0]
        left, singular, _ = np.linalg.svd((L / s / size[:, None]) @ free)
        moved = int((singular > MOVES).sum())
        return np.asarray(left[:, moved:].T / size)

    @single_threaded_blas()
    def contains(self, delta: Any, level: float = 0.95) -> bool:
        """Whether δ lies in the joint confidence ellipsoid (δ − δ̂)' V⁻¹ (δ − δ̂) ≤ χ².

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
        return test.df == 0 or test.statistic <= float(chdtri(test.df, 1.0 - as_fraction(level, "level")))


def infer(tilted: TiltedProblem, kind: str = "centred") -> Inference:
    """The :class:`Inference` of a problem at a δ whose moments may have been computed already."""
    inference = Inference.__new__(Inference)
    inference._set_up(tilted, kind)
    return inference


def normal_interval(estimate: Array, std_error: Array, level: float) -> Interval:
    """Intervals of estimates whose errors are normal; nan where the standard error is."""
    level = as_fraction(level, "level")
    width = float(ndtri(0.5 + 0.5 * level)) * std_error
    lower, upper = read_only(estimate - width), read_only(estimate + width)
    return Interval(read_only(estimate), read_only(std_error), lower, upper, level)
