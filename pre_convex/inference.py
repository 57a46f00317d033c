"""Uncertainty of δ̂, of log r(x) and of the divergence, from the influence of every sample.

Both sides are normalised by their own sums, so influences are centred, [INFL]: with H the covariance of F under μ,

    of x_p,i on b         w_i (f(x_p,i) − b)              of x_q,j on F'μ       μ_j (F_j − b)
    of x_q,j on log Z     μ_j − exp a_j                   of either on δ̂        H⁻¹ (p side − q side)

Squares of influences, summed over independent samples, are variances; when x_p and x_q are the same rows, the two
influences of a row are added before they are squared. The paper's formula leaves the centring out and is therefore not
invariant to a shift of the features; it stays available as ``kind="paper"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, chdtri, ndtri

from .arrays import as_choice, as_matrix, as_numbers, as_scalar, as_vector, frozen
from .checks import LARGEST
from .entropy import Array, exp, log
from .errors import DataError
from .influence import KINDS, influence
from .linear import null_directions, solve_psd
from .problem import RatioProblem, as_problem
from .threads import one_thread_each

__all__ = ["Inference", "Interval", "WaldTest", "confidence", "share", "weighted_chi2_sf"]

#: step of the trapezoid rule and final slope of the path in :func:`weighted_chi2_sf`
STEP, SLOPE = 0.04, 0.8


@dataclass(frozen=True, eq=False)
class Interval:
    """Estimates with standard errors and confidence limits."""

    estimate: Array
    std_error: Array
    lower: Array
    upper: Array
    level: float

    def __post_init__(self) -> None:
        for name in ("estimate", "std_error", "lower", "upper"):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), dtype=float)))


@dataclass(frozen=True)
class WaldTest:
    """Test of a linear hypothesis: statistic, degrees of freedom, p-value."""

    statistic: float
    df: int
    p_value: float

    def __str__(self) -> str:
        return f"Wald chi2({self.df}) = {self.statistic:.4g}, p = {self.p_value:.3g}"


class Inference:
    """First-order uncertainty of an unpenalised solution.

    Parameters
    ----------
    problem : RatioProblem
        With its p side (``features_p``, ``log_weights_p``) and radius 0.
    delta : array of shape (k,)
        The solution.
    kind : {"centred", "hc3", "paper"}
        ``hc3`` divides every influence by one minus its leverage, which makes it the change of δ̂ when that sample is
        left out; for small samples.

    Examples
    --------
    >>> import pre_convex as pre
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> problem = pre.RatioProblem.from_samples(x[:200] + 0.3, x[200:])
    >>> Inference(problem, pre.solve(problem).delta).conf_int().std_error.round(2)
    array([0.1])
    """

    def __init__(self, problem: RatioProblem, delta: Any, *, kind: str = "centred") -> None:
        as_choice(kind, "kind", KINDS)
        as_problem(problem)
        if problem.radius > 0.0:
            raise DataError(
                f"radius: a radius of {problem.radius:g} biases the estimate towards zero by as much as its noise, so "
                "that no interval around it has the coverage it claims; solve with radius=0"
            )
        self.problem, self.kind = problem, kind
        self.delta = as_vector(delta, "delta", problem.k)
        self._sums = influence(problem, self.delta, kind)

    @property
    def score_variance(self) -> Array:
        """Covariance of ∇ℓ at the truth, that is of b̂ − F'μ̂."""
        return self._sums.score

    @property
    @one_thread_each()
    def covariance(self) -> Array:
        """Covariance of δ̂, shape (k, k); zero along free directions."""
        half = solve_psd(self._sums.H, self.score_variance)
        return np.asarray(solve_psd(self._sums.H, half.T))

    @property
    def std_error(self) -> Array:
        """Standard errors of δ̂."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    def conf_int(self, level: float = 0.95) -> Interval:
        """Confidence interval of every coefficient."""
        return _interval(self.delta, self.std_error, level)

    @one_thread_each()
    def log_ratio(self, features: Any, level: float = 0.95) -> Interval:
        """Interval for log r at points given by their features, shape (m, k).

        The noise of the empirical log Z counts too, and does not vanish where f(x) equals the mean of F.
        """
        f = as_matrix(features, "features", limit=LARGEST)
        if f.shape[1] != self.problem.k:
            raise DataError(f"features: have {f.shape[1]} columns where the problem has {self.problem.k}")
        z = solve_psd(self._sums.H, (f - self.problem.target).T)
        # the influence of a row on log r is ⟨z, its influence on the score⟩ − its influence on log Z; squares summed
        # over rows are a quadratic form in z, which spares an array of rows by points
        cross, log_z = self._sums.cross, self._sums.log_z
        variance = np.einsum("ki,kl,li->i", z, self.score_variance, z) - 2.0 * cross @ z + log_z
        variance = np.maximum(variance, 0.0)
        summary = self.problem.tilt(self.delta)
        origin = self.problem.rows.origin
        estimate = (f if origin is None else f - origin) @ self.delta - summary.log_z
        return _interval(estimate, np.sqrt(variance), level)

    def divergence(self, level: float = 0.95) -> Interval:
        """Interval for the divergence −ℓ(δ̂) between the posteriors, first order by the envelope theorem.

        At δ = 0 the first-order term vanishes; :meth:`divergence_p_value` has the law that holds there.
        """
        value = np.array([-self.problem.value(self.delta)])
        interval = _interval(value, np.sqrt(np.array([self._sums.divergence])), level)
        return Interval(value, interval.std_error, np.maximum(interval.lower, 0.0), interval.upper, level)

    @one_thread_each()
    def divergence_p_value(self) -> float:
        """p-value of δ = 0 from the divergence: under δ = 0, −ℓ(δ̂) is ½ g'H⁻¹g for a normal g, a weighted χ²."""
        M = solve_psd(self._sums.H, self.score_variance)
        weights = np.maximum(np.linalg.eigvals(M).real, 0.0)
        return weighted_chi2_sf(-2.0 * self.problem.value(self.delta), weights)

    @one_thread_each()
    def wald_test(self, hypothesis: Any = None, value: Any = 0.0) -> WaldTest:
        """Wald test of L δ = value; of δ = 0 when L is left out.

        Free directions of δ change no ratio and are not tested: of the hypothesis only those combinations of rows
        count that no free direction moves, and ``df`` is their number.

        Parameters
        ----------
        hypothesis : array of shape (m, k), optional
        value : float or array of shape (m,)
        """
        L = np.eye(self.problem.k)
        if hypothesis is not None:
            L = as_matrix(np.atleast_2d(as_numbers(hypothesis, "hypothesis")), "hypothesis")
        if L.shape[1] != self.problem.k:
            raise DataError(f"hypothesis: has {L.shape[1]} columns for {self.problem.k} coefficients")
        goal = as_numbers(value, "value")
        goal = as_vector(goal, "value") if goal.ndim else np.asarray(as_scalar(value, "value"))
        if goal.ndim and goal.shape != (len(L),):
            raise DataError(
                f"value: has shape {goal.shape} for {len(L)} rows of the hypothesis; give a number or ({len(L)},)"
            )
        size = np.abs(L).max(axis=1)  # a row of the hypothesis says the same in any unit
        size[size == 0.0] = 1.0
        L, goal = L / size[:, None], goal / size
        off = L @ self.delta - goal
        C = self._testable(L)
        L, off = C @ L, C @ off
        V = L @ self.covariance @ L.T
        unit = np.sqrt(np.maximum(np.diag(V), 0.0))
        unit[unit == 0.0] = 1.0
        values, vectors = np.linalg.eigh(V / np.outer(unit, unit))
        keep = values > 1e-10
        df = int(keep.sum())
        with np.errstate(over="ignore"):  # infinitely far from the hypothesis
            statistic = float((np.square(vectors[:, keep].T @ (off / unit)) / values[keep]).sum())
        return WaldTest(statistic, df, float(chdtrc(df, statistic)) if df else 1.0)

    def _testable(self, L: Array) -> Array:
        """Matrix C for which C L δ does not change along free directions, in units of the features' spread."""
        s = np.sqrt(self._sums.H.diagonal())
        s[s == 0.0] = 1.0
        size = np.sqrt(np.square(L / s).sum(axis=1))
        size[size == 0.0] = 1.0
        free = np.linalg.qr(null_directions(self._sums.H) * s[:, None])[0]
        left, singular, _ = np.linalg.svd((L / s / size[:, None]) @ free)
        moved = int((singular > 1e-8).sum())
        return np.asarray(left[:, moved:].T / size)

    @one_thread_each()
    def contains(self, delta: Any, level: float = 0.95) -> bool:
        """Whether δ lies in the joint confidence ellipsoid (δ − δ̂)' V⁻¹ (δ − δ̂) ≤ χ²."""
        test = self.wald_test(None, as_vector(delta, "delta", self.problem.k))
        return test.df == 0 or test.statistic <= float(chdtri(test.df, 1.0 - confidence(level)))


def share(value: Any, name: str) -> float:
    """A number strictly between zero and one."""
    number = as_scalar(value, name)
    if not 0.0 < number < 1.0:
        raise DataError(f"{name}: {number:g} is not between 0 and 1")
    return number


def confidence(level: Any) -> float:
    """A confidence level between zero and one."""
    return share(level, "level")


def _interval(estimate: Array, std_error: Array, level: float) -> Interval:
    """Normal interval."""
    level = confidence(level)
    width = float(ndtri(0.5 + 0.5 * level)) * std_error
    return Interval(estimate, std_error, estimate - width, estimate + width, level)


def weighted_chi2_sf(x: float, weights: Array) -> float:
    """P(Σ_i weights_i χ²_1 > x), to about ten digits of the smaller tail for any number and spread of weights.

    The moment generating function M is inverted, P = ∫ M(t) exp(−x t) / t dt / 2πi, along a hyperbola through the
    saddle point that follows the steepest descent there (after Rice 1980); the trapezoid rule converges fast on it.
    Left of the mean the saddle point is negative and the integral is minus the lower tail.

    Examples
    --------
    >>> [round(weighted_chi2_sf(x, np.ones(k)), 9) for x, k in ((3.841458820694124, 1), (5.991464547107979, 2))]
    [0.05, 0.05]
    """
    x, weights = as_scalar(x, "x"), as_numbers(weights, "weights")
    if weights.ndim != 1 or not np.all((weights >= 0.0) & (weights < np.inf)):
        raise DataError("weights: must be finite and not negative, one for each square of the sum")
    weights = weights[weights > 0.0]
    if weights.size == 0:
        return 1.0
    top = float(weights.max())
    x, weights = min(float(x) / top, 1e15), weights / top
    if not x > 1e-40:  # the lower tail is below its root
        return 1.0
    upper = x > float(weights.sum())
    low, high = (0.0, 0.5) if upper else (-(0.5 * weights.size + 1.0) / x, 0.0)
    for _ in range(200):  # the saddle point of log M(t) − x t − log |t|, whose derivative rises from −∞ to ∞
        middle = 0.5 * (low + high)
        if (weights / (1.0 - 2.0 * weights * middle)).sum() - x < 1.0 / middle:
            low = middle
        else:
            high = middle
    t = low if upper else high
    pull = weights / (1.0 - 2.0 * weights * t)
    width: float = float(2.0 * np.square(pull).sum() + 1.0 / t**2) ** -0.5
    bend = width**3 * float(8.0 * (pull**3).sum() - (0.0 if upper else 2.0 / t**3)) / 6.0
    v = np.arange(0.0, 7.0, STEP)
    s = np.sinh(v)
    turn = 2.0 * bend * s / SLOPE
    root = np.sqrt(1.0 + turn**2)
    re, im = t + 0.5 * width * SLOPE**2 / bend * (root - 1.0), width * s
    factor_re, factor_im = 1.0 - 2.0 * np.outer(re, weights), -2.0 * np.outer(im, weights)
    size = -0.25 * log(factor_re**2 + factor_im**2).sum(axis=1) - x * re - 0.5 * log(re**2 + im**2)
    phase = -0.5 * np.arctan2(factor_im, factor_re).sum(axis=1) - x * im - np.arctan2(im, re)
    values = exp(size) * (np.cos(phase) + SLOPE * turn / root * np.sin(phase)) * np.cosh(v)
    tail = float(abs(values.sum() - 0.5 * values[0])) * STEP * width / np.pi
    return tail if upper else 1.0 - tail
