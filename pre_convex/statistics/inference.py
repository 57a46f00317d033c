"""Uncertainty of δ̂, of log r(x) and of the divergence, from the influence of every sample.

Both sides are normalised by their own sums, so influences are centred, [INFL]: with H the covariance of F under μ,

    of x_p,i on b         w_i (f(x_p,i) − b)              of x_q,j on F'μ       μ_j (F_j − b)
    of x_q,j on log Z     μ_j − exp a_j                   of either on δ̂        H⁻¹ (p side − q side)

Variances are sums of squared influences over independent samples; when x_p and x_q are the same rows, the two
influences of a row are added before they are squared. The paper's formula leaves out the centring and therefore changes
when the features are shifted; it is available as ``kind="paper"``.

With few or uneven weights these variances are too small, and their own noise matters. The default therefore takes the
change of the estimate when a row is left out [LOO] in place of its influence, counts degrees of freedom [DF], and finds
limits of coefficients by tests of their values where few degrees of freedom are left [RISE]. With paired rows, whose
noise is that of the misfit in a few rows, it allows for skewness instead [SKEW].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtr, stdtrit

from .._internal.linear_algebra import null_directions, solve_psd
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index
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
from .influence import Influence, influence
from .null import ScoreTest, noise, rise_test, score_test
from .profile import CoefficientTest
from .small_samples import (
    degrees_of_freedom,
    joint_degrees_of_freedom,
    quadratic_p_value,
    skewed_quantile,
    skewed_statistic,
    skewness,
    whitening,
)
from .tilted import MAX_ENTRIES_BY_ROW, TiltedProblem
from .weighted_chi2 import p_value_text, weighted_chi2_sf

__all__ = ["KINDS", "Inference", "Interval", "WaldTest", "infer", "normal_interval"]

#: how uncertainty is computed
KINDS = ("auto", "profile", "score", "hc3", "centred", "paper")
#: maximum number of rows when an interval is printed
MAX_PRINTED_ROWS = 40
#: singular value above which a free direction changes a hypothesis
MOVES = 1e-8
#: degrees of freedom below which ``"auto"`` profiles a coefficient, and the largest n_q k² for which it does
FEW_DF, MAX_PROFILE_WORK = 200.0, 500_000
#: share of its noise by which δ may be off the optimum; a profile needs the optimum
OPTIMAL = 1e-4
#: share of the weight of a side above which one row matters in a sample of any size
HEAVY = 1e-3


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
    df : ndarray of shape (m,) or float, default inf
        Degrees of freedom of Student's t for z; infinite for the normal distribution.
    z : ndarray of shape (m,), optional
        Statistics of the hypotheses that the estimated numbers are zero; estimate / std_error when left out.
    """

    estimate: Array
    std_error: Array
    lower: Array
    upper: Array
    level: float
    df: Any = np.inf
    z: Array | None = None

    #: columns of :meth:`table`
    COLUMNS: ClassVar[tuple[str, ...]] = ("coef", "std_error", "z", "p_value", "lower", "upper")

    def __str__(self) -> str:
        percent = f"{100.0 * self.level:g} %"
        lines = [f"{'estimate':>10}  {'std error':>10}  {percent + ' from':>10}  {'to':>10}"]
        rows = zip(*(np.ravel(x) for x in (self.estimate, self.std_error, self.lower, self.upper)), strict=True)
        lines += ["  ".join(f"{x:>10.4g}" for x in row) for row in islice(rows, MAX_PRINTED_ROWS)]
        left = self.estimate.size - MAX_PRINTED_ROWS
        return "\n".join(lines + [f"and {left} more"] * (left > 0))

    def table(self) -> Array:
        """Estimate, standard error, z, two-sided p-value of zero, lower and upper limit, shape (m, 6).

        z and the p-value are nan where the standard error is zero or nan. The p-value of a profile or score interval is
        that of the test that its limits come from.
        """
        z = self.z
        if z is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                z = np.where(self.std_error > 0.0, self.estimate / self.std_error, np.nan)
        p_value = 2.0 * stdtr(self.df, -np.abs(z))
        return np.column_stack([self.estimate, self.std_error, z, p_value, self.lower, self.upper])


@dataclass(frozen=True)
class WaldTest:
    """Result of the Wald test of a linear hypothesis.

    Attributes
    ----------
    statistic : float
        Wald statistic; if the hypothesis is true, χ² distributed with ``df`` degrees of freedom, or T² if ``noise_df``
        is finite.
    df : int
        Degrees of freedom: the number of independent equations that can be tested.
    p_value : float
        Probability of a statistic at least this large if the hypothesis is true.
    noise_df : float, default inf
        Degrees of freedom of the covariance [DF].
    """

    statistic: float
    df: int
    p_value: float
    noise_df: float = np.inf

    def __str__(self) -> str:
        law = f"chi2({self.df})" if np.isinf(self.noise_df) else f"T2({self.df}, {self.noise_df:.0f})"
        return f"Wald {law} = {self.statistic:.4g}, {p_value_text(self.p_value)}"


class Inference:
    """Uncertainty of a solution without penalty: variances, intervals and tests.

    Parameters
    ----------
    problem : RatioProblem
        A problem with its p sample (``features_p``, ``log_weights_p``) and radius 0: a radius shrinks δ, and intervals
        around a shrunk δ do not have the coverage they claim. For divergences other than KL, and for bounds, the
        formulas are those of [FAMINF], and the rows have to be in memory; with bounds so tight that noise could put the
        target out of reach they are rough, and the diagnostics warn.
    delta : array of shape (k,)
        The solution δ̂.
    kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
        ``"hc3"`` replaces the influence of a row by the change when it is left out [LOO], the jackknife, with Student's
        t or Hotelling's T². ``"profile"`` adds limits of coefficients and regions from the rise of ℓ [RISE],
        ``"score"`` from the score [SCORE]. ``"centred"`` is the sandwich formula [INFL] with normal quantiles, and
        ``"paper"`` the paper's formula, which changes when the features are shifted. All but ``"centred"`` need all
        rows in memory. ``"auto"`` is ``"hc3"``, with profiles for coefficients with fewer than 200 degrees of freedom
        and for regions; it is ``"centred"`` for large samples without heavy weights, and for rows that are not in
        memory. With paired rows it has the wider limit of Student's t and of [SKEW] in place of profiles.

    Attributes
    ----------
    problem : RatioProblem
        The problem.
    delta : ndarray of shape (k,)
        The solution δ̂.
    kind : str
        How uncertainty is computed.

    Examples
    --------
    >>> import pre_convex as pre
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> problem = pre.RatioProblem.from_samples(x[:200] + 0.3, x[200:])
    >>> Inference(problem, pre.solve(problem).delta).conf_int().std_error.round(2)
    array([0.1])
    """

    def __init__(self, problem: RatioProblem, delta: Any, *, kind: str = "auto") -> None:
        if isinstance(problem, RatioProblem) and problem.has_intercept:
            from .linked_inference import LinkedInference  # its subclass for the other members of the family

            self.__class__ = LinkedInference
            LinkedInference.__init__(self, problem, delta, kind=kind)  # type: ignore[arg-type]
        else:
            self._set_up(TiltedProblem(problem, delta), kind)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={len(self.delta)}, kind={self.kind!r})"

    def _set_up(self, tilted: TiltedProblem, kind: str) -> None:
        as_choice(kind, "kind", KINDS)
        if tilted.problem.radius > 0.0:
            reason = "shrinks δ, so intervals would not have their nominal coverage"
            raise DataError(
                "radius", f"a radius of {tilted.problem.radius:.3g} {reason}", "use a radius of 0, or fit.debiased()"
            )
        if kind == "auto" and not _by_row(tilted):
            kind = "centred"
        self.problem, self.delta, self.kind = tilted.problem, tilted.delta, kind
        self._tilted = tilted
        self._sums: Influence = influence(tilted, "hc3" if kind in ("auto", "profile", "score") else kind)

    @property
    def _noise_rows(self) -> Array | None:
        """Influences to count degrees of freedom of; ``None`` for kinds with normal quantiles."""
        return None if self.kind in ("centred", "paper") else self._sums.rows

    def _shape(self, influences: Array) -> tuple[Any, Any]:
        """Degrees of freedom of sums of influences, by column, and for pairs with ``"auto"`` their skewness."""
        skewed = self.kind == "auto" and self.problem.paired
        return degrees_of_freedom(influences), skewness(influences) if skewed else None

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

    @single_threaded_blas()
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
        estimate, std_error, rows = np.array(self.delta), self.std_error, self._noise_rows
        df, skew = (np.inf, None) if rows is None else self._shape(solve_psd(self._sums.H, rows.T).T)
        for feature, sign in self._tilted.recession:
            estimate[feature], std_error[feature] = sign * np.inf, np.nan
        wald = normal_interval(estimate, std_error, level, df, skew)
        profiled = self._profiled(df)
        if not profiled.size:
            return wald
        lower, upper, z, df = np.array(wald.lower), np.array(wald.upper), wald.table()[:, 2], np.array(df)
        for i in profiled:
            tests = CoefficientTest(self._tilted, self._sums, int(i), self.kind == "score")
            lower[i], upper[i], z[i], df[i] = tests.limits(level, float(0.5 * (wald.upper[i] - wald.lower[i])))
        return Interval(wald.estimate, wald.std_error, read_only(lower), read_only(upper), level, df, read_only(z))

    def _profiled(self, df: Any) -> Index:
        """Coefficients whose limits come from tests of their values."""
        none = np.zeros(0, dtype=np.intp)
        if not self._tests_values:
            return none
        few = np.full(self.problem.k, True)
        if self.kind == "auto":
            if self.problem.paired or self.problem.n_q * self.problem.k**2 > MAX_PROFILE_WORK:
                return none
            few = df < FEW_DF
        free = np.abs(null_directions(self._sums.H)).max(axis=1, initial=0.0) > MOVES
        return np.flatnonzero(few & ~free & (self.std_error > 0.0))

    @cached_property
    def _tests_values(self) -> bool:
        """Whether limits come from tests of values; they need a finite δ̂ at which ℓ has its minimum."""
        if self.kind not in ("auto", "profile", "score") or self._tilted.recession:
            return False
        residual = self._tilted.residual
        return bool(np.square(whitening(self.score_variance).T @ residual).sum() <= OPTIMAL)

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
        std_error = np.sqrt(np.maximum(variance, 0.0))
        return normal_interval(self._tilted.log_ratio(f), std_error, level, *self._point_shape(z))

    def _point_shape(self, z: Array) -> tuple[Any, Any]:
        """:meth:`_shape` of log r at every point, from all rows and as many points at a time as fit in memory."""
        rows, log_z = self._noise_rows, self._sums.rows_log_z
        if rows is None or log_z is None:
            return np.inf, None
        step = max(1, MAX_ENTRIES_BY_ROW // len(rows))
        parts = [self._shape(rows @ z[:, i : i + step] - log_z[:, None]) for i in range(0, z.shape[1], step)]
        df, skew = zip(*parts, strict=True)
        return np.concatenate(df), None if skew[0] is None else np.concatenate(skew)

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
        share, df = 0.5 + 0.5 * as_fraction(level, "level"), np.inf
        if self._noise_rows is not None and self._sums.rows_divergence is not None:
            df = float(degrees_of_freedom(self._sums.rows_divergence[:, None])[0])
        z = float(stdtrit(df, share))
        value, variance = -self._tilted.value, self._sums.divergence
        along = variance / (2.0 * value) if value > 0.0 else 0.0
        corrected = max(value - 0.5 * (float(self._noise.sum()) - along), 0.0)
        root, width = np.sqrt(2.0 * corrected), z * np.sqrt(along)
        across = z * np.sqrt(max(0.5 * (float(np.square(self._noise).sum()) - along**2), 0.0))
        lower = corrected - np.hypot(corrected - 0.5 * max(root - width, 0.0) ** 2, across)
        upper = corrected + np.hypot(0.5 * (root + width) ** 2 - corrected, across)
        estimate, std_error = np.array([value]), np.sqrt(np.array([variance]))
        ends = read_only(np.array([max(lower, 0.0)])), read_only(np.array([upper]))
        return Interval(read_only(estimate), read_only(std_error), *ends, level, df)

    @cached_property
    @single_threaded_blas()
    def _noise(self) -> Array:
        """Variances of the independent parts of the noise of −2ℓ(δ̂)."""
        return noise(self._sums.H, self.score_variance)

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
        T = whitening(L @ self.covariance @ L.T)
        with np.errstate(over="ignore"):  # a hypothesis infinitely many standard errors away
            statistic, df = float(np.square(T.T @ off).sum()), T.shape[1]
        noise_df, rows = np.inf, self._noise_rows
        if rows is not None and df:
            noise_df = joint_degrees_of_freedom(rows @ solve_psd(self._sums.H, L.T), T)
        return WaldTest(statistic, df, quadratic_p_value(statistic, df, noise_df), noise_df)

    @single_threaded_blas()
    def p_values(self, delta: Any = 0.0) -> Array:
        """p-values of values of the coefficients, each tested alone.

        A value lies outside the interval of its coefficient if its p-value is below 1 − level.

        Parameters
        ----------
        delta : float or array of shape (k,), default 0.0
            The value of each coefficient, or one number for all of them.

        Returns
        -------
        ndarray of shape (k,)
            nan for coefficients without a standard error.
        """
        values, rows = self._point(delta), self._noise_rows
        df, skew = (np.inf, None) if rows is None else self._shape(solve_psd(self._sums.H, rows.T).T)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(self.std_error > 0.0, (self.delta - values) / self.std_error, np.nan)
        if skew is not None:
            z = _less_extreme(z, skew)
        z[[one.feature for one in self._tilted.recession]] = np.nan
        p = 2.0 * stdtr(df, -np.abs(z))
        for i in self._profiled(df):
            z, tested = CoefficientTest(self._tilted, self._sums, int(i), self.kind == "score").tests(values[[i]])
            p[i] = 2.0 * stdtr(tested[0], -np.abs(z[0]))
        return np.asarray(p)

    def score_test(self, delta: Any = 0.0) -> ScoreTest:
        """Score test of a value of δ, the same for every kind [SCORE].

        Its variance is taken at the tested value, so it does not depend on the estimate. Hotelling's T² distribution
        keeps its size close to nominal also with few rows and many features.

        Parameters
        ----------
        delta : float or array of shape (k,), default 0.0
            The tested δ, or one number for all coefficients.

        Returns
        -------
        ScoreTest
        """
        return score_test(self._tilted, self._point(delta))

    def test_of_zero(self) -> ScoreTest | WaldTest:
        """Test of δ = 0 for a summary: the score test, or Wald's for large samples, where it is as good and quicker.

        Returns
        -------
        ScoreTest or WaldTest
        """
        return self.score_test() if self._tilted.by_row else self.wald_test()

    def _point(self, delta: Any) -> Array:
        """A value of δ, validated."""
        values = as_numbers(delta, "delta")
        if values.ndim == 0:
            return np.full(self.problem.k, as_scalar(values, "delta"))
        return as_vector(values, "delta", self.problem.k)

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
        """Whether δ lies in the joint confidence region.

        That is the Wald ellipsoid (δ − δ̂)' V⁻¹ (δ − δ̂) ≤ quantile for ``"hc3"``, ``"centred"`` and ``"paper"``, the
        values of δ that the score test accepts for ``"score"``, and those to which ℓ does not rise too much for
        ``"profile"`` and ``"auto"`` [RISE].

        Parameters
        ----------
        delta : array of shape (k,)
            The point to test.
        level : float, default 0.95
            Confidence level of the region, between 0 and 1.

        Returns
        -------
        bool
        """
        delta, level = as_vector(delta, "delta", self.problem.k), as_fraction(level, "level")
        if self._tests_values and np.abs(delta).max(initial=0.0) < MAX_ENTRY:
            if self.kind == "score":
                return score_test(self._tilted, delta, leave_out=True).p_value >= 1.0 - level
            return rise_test(self._tilted, self._sums, delta) >= 1.0 - level
        return self.wald_test(None, delta).p_value >= 1.0 - level


def _by_row(tilted: TiltedProblem) -> bool:
    """Whether to compute changes row by row: if there are few rows, or if single rows have much of the weight."""
    if not tilted.in_memory or tilted.by_row:
        return tilted.in_memory
    return max(tilted.p.largest, tilted.q.largest) > HEAVY


def infer(tilted: TiltedProblem, kind: str = "auto") -> Inference:
    """The :class:`Inference` of a problem at a δ whose moments may have been computed already."""
    inference = Inference.__new__(Inference)
    inference._set_up(tilted, kind)
    return inference


def normal_interval(
    estimate: Array, std_error: Array, level: float, df: Any = np.inf, skew: Array | None = None
) -> Interval:
    """Intervals of estimates whose errors are normal, or Student's t; nan where the standard error is.

    With the skewness of the errors, each limit is the wider one of Student's t and of [SKEW].
    """
    level = as_fraction(level, "level")
    above = below = stdtrit(df, 0.5 + 0.5 * level)
    z = None
    if skew is not None:
        ends = skewed_quantile(below, skew), -skewed_quantile(-above, skew)
        below, above = np.maximum(below, ends[0]), np.maximum(above, ends[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            z = read_only(_less_extreme(np.where(std_error > 0.0, estimate / std_error, np.nan), skew))
    lower, upper = read_only(estimate - below * std_error), read_only(estimate + above * std_error)
    return Interval(read_only(estimate), read_only(std_error), lower, upper, level, df, z)


def _less_extreme(z: Array, skew: Array) -> Array:
    """The smaller of a studentised estimate and its [SKEW] transformation, which decides about the wider interval."""
    other = skewed_statistic(z, skew)
    return np.where(np.abs(other) < np.abs(z), other, z)
