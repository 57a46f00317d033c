"""Uncertainty of δ̂ for the other members of the family: any divergence, bounds on the ratio, features left out.

The weights of [LINK] solve Σμ = 1 and F'μ = b for (c, δ), so the influence of every row follows from the derivative of
these equations, [FAMINF]: with κ of [LINK], K = Σκ and the means F̄ of F under κ,

    of x_q,j on Σμ        μ_j − π_j                       of x_q,j on F'μ       μ_j (F_j − b) − (μ_j − π_j)(F̄ − b)
    of x_p,i on b         w_i (f(x_p,i) − b)              of either on δ̂        H⁻¹ (p side − q side)

with H = Σ κ_j (F_j − F̄)(F_j − F̄)'. Rows on a bound have no curvature: they count in the q side and not in H.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._internal.entropy import safe_log
from .._internal.linear_algebra import null_directions, solve_psd, zero_noise_variances
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import MAX_ENTRY, as_choice, as_matrix, as_vector, read_only
from ..data.linked import linked_scores
from ..divergences import Link
from ..errors import DataError
from ..problem import RatioProblem, as_problem
from ..solvers.many import solve_many
from .inference import Inference, Interval, WaldTest, normal_interval
from .influence import MIN_REMAINDER, Influence
from .null import ScoreTest

__all__ = ["LinkedInference", "reach_warnings"]

#: standard errors of the target within which targets have to be reachable, and the tolerance of that check
WITHIN, REACHED = 2.0, 1e-6
#: keeps a sum that may be zero from being divided by
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class _Point:
    """What inference asks of a problem at (c, δ); stands in for TiltedProblem.

    Attributes
    ----------
    problem : RatioProblem
    delta : ndarray of shape (k,)
    c : float
        Intercept for features relative to the target.
    s, t, pi : ndarrays of shape (n_q,)
        Scores, ratios and base weights of the q rows.
    recession : tuple
        Empty.
    """

    problem: RatioProblem
    delta: Array
    c: float
    s: Array
    t: Array
    pi: Array
    recession: tuple[Any, ...] = ()

    @property
    def mu(self) -> Array:
        """Weights of the q rows."""
        return np.where(self.pi > 0.0, self.pi * np.where(self.pi > 0.0, self.t, 0.0), 0.0)

    @property
    def value(self) -> float:
        """P(c, δ), minus the divergence."""
        used = self.pi > 0.0
        psi = self.problem.link.take(used).conjugate(self.s[used])
        return float(self.pi[used] @ psi) - self.c

    @property
    def link(self) -> Link:
        """[RATIO] at new points: bounds that differ between rows are replaced by the loosest."""
        lower, upper = self.problem.bounds
        return Link(self.problem.link.divergence, float(np.min(lower)), float(np.max(upper)))

    def log_ratio(self, features: Array) -> Array:
        """Logarithm of the ratio at features of new points."""
        return safe_log(self.link.ratio(self.scores(features)))

    def scores(self, features: Array) -> Array:
        """s = c + ⟨δ, f⟩ of new points."""
        return self.c + np.asarray((features - self.problem.target) @ self.delta)


class LinkedInference(Inference):
    """Large-sample uncertainty of a solution with another divergence than KL, with bounds, or with features left out.

    Parameters
    ----------
    problem : RatioProblem
        A problem with its p sample, in memory, whose features are matched exactly or left out.
    delta : array of shape (k,)
        The solution δ̂.
    kind : {"auto", "centred", "hc3"}, default "auto"
        ``"hc3"`` divides every influence by one minus its leverage; ``"auto"`` is ``"centred"``.

    Examples
    --------
    >>> import pre_convex as pre
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> problem = pre.RatioProblem.from_samples(x[:200] + 0.3, x[200:], divergence="chi2")
    >>> LinkedInference(problem, pre.solve(problem).delta).conf_int().std_error.round(2)
    array([0.13])
    """

    def __init__(self, problem: RatioProblem, delta: Any, *, kind: str = "auto") -> None:
        self.problem = problem = as_problem(problem)
        self.delta, kind = as_vector(delta, "delta", problem.k), as_choice(kind, "kind", ("auto", "centred", "hc3"))
        self.kind = kind = "centred" if kind == "auto" else kind
        _check(problem)
        c = problem.intercept(self.delta) + float(problem.target @ self.delta)
        s, pi = linked_scores(problem.rows, np.append(c, self.delta))
        self._tilted: Any = _Point(problem, self.delta, c, s, problem.link.ratio(s), pi)
        self._influence = _influence(self._tilted, kind)
        self._sums = self._influence.sums

    def score_test(self, delta: Any = 0.0) -> ScoreTest:
        """Not available: score tests are for KL without bounds.

        Parameters
        ----------
        delta : float or array of shape (k,), default 0.0
            Not used.

        Raises
        ------
        DataError
        """
        raise DataError("divergence", "score tests are for KL without bounds", "use wald_test")

    def test_of_zero(self) -> WaldTest:
        """Wald test of δ = 0."""
        return self.wald_test()

    @single_threaded_blas()
    def log_ratio(self, features: Any, level: float = 0.95) -> Interval:
        """Confidence intervals of log r at some points: those of s, mapped by [RATIO].

        Parameters
        ----------
        features : array of shape (m, k)
            Features f(x) of the points, not the points themselves.
        level : float, default 0.95
            Confidence level of each interval, between 0 and 1.

        Returns
        -------
        Interval
            One interval for each point, within the bounds; −inf where a ratio is zero. The standard error is that of
            first order, zero on a bound.
        """
        found = self.ratio(features, level)
        with np.errstate(divide="ignore", invalid="ignore"):
            std_error = np.where(found.std_error > 0.0, found.std_error / found.estimate, found.std_error)
        ends = (read_only(safe_log(x)) for x in (found.estimate, std_error, found.lower, found.upper))
        estimate, _, lower, upper = ends
        return Interval(estimate, read_only(std_error), lower, upper, level)

    @single_threaded_blas()
    def ratio(self, features: Any, level: float = 0.95) -> Interval:
        """Confidence intervals of the ratio r at some points: those of s, mapped by [RATIO].

        Parameters
        ----------
        features : array of shape (m, k)
            Features f(x) of the points, not the points themselves.
        level : float, default 0.95
            Confidence level of each interval, between 0 and 1.

        Returns
        -------
        Interval
            One interval for each point, within the bounds. The standard error is that of first order, zero on a bound.
        """
        f = as_matrix(features, "features", limit=MAX_ENTRY)
        if f.shape[1] != self.problem.k:
            raise DataError(
                "features",
                f"has {f.shape[1]} columns, the problem has {self.problem.k}",
                "pass the features of the points, one column for each coefficient",
            )
        sums, link = self._sums, self._tilted.link
        g = (f - self._influence.mean) * self._influence.used
        z = solve_psd(sums.H, g.T)
        variance = np.einsum("ki,kl,li->i", z, sums.score, z) - 2.0 * sums.cross @ z + sums.log_z
        s = self._tilted.scores(f)
        of_s = normal_interval(s, np.sqrt(np.maximum(variance, 0.0)), level)
        estimate, lower, upper = (read_only(link.ratio(x)) for x in (s, of_s.lower, of_s.upper))
        return Interval(estimate, read_only(link.curvature(s) * of_s.std_error), lower, upper, level)


@dataclass(frozen=True, eq=False)
class _Influences:
    """Variances of a member of the family.

    Attributes
    ----------
    sums : Influence
        H, the covariance of H δ̂, its covariance with the noise of c that δ̂ does not explain, the variance of that
        noise (``log_z``), and that of the divergence.
    mean : ndarray of shape (k,)
        F̄, the mean of F under κ.
    used : ndarray of bool of shape (k,)
        Features that are not left out.
    """

    sums: Influence
    mean: Array
    used: NDArray[np.bool_]


def _check(problem: RatioProblem) -> None:
    """Refuse problems whose influence functions do not exist or need what is not there."""
    if not problem.exact:
        reason = "a radius biases δ, so intervals would not have their nominal coverage"
        raise DataError("radius", reason, "use a radius of 0")
    if problem.rows_p is None:
        raise DataError(
            "problem",
            "has no p sample, so the noise of its target is unknown",
            "build it with RatioProblem.from_samples",
        )
    if not (problem.rows.in_memory and problem.rows_p.in_memory):
        reason = "for divergences other than KL and for bounds, inference needs all rows in memory"
        raise DataError("problem", reason, "read them with problem.in_memory()")


@single_threaded_blas()
def _influence(point: _Point, kind: str) -> _Influences:
    """Sums of squared influences of all samples at (c, δ), [FAMINF]."""
    problem, pi, s, mu = point.problem, point.pi, point.s, point.mu
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    b, link, w = problem.target, problem.link, np.exp(problem.log_weights_p)
    used = np.broadcast_to(problem.radius, problem.k) < np.inf
    f_p, f_q = (problem.features_p - b) * used, (problem.features_q - b) * used
    kappa = np.where(pi > 0.0, pi * np.where(pi > 0.0, link.curvature(s), 0.0), 0.0)
    K = float(kappa.sum())
    _check_rows(problem, kappa, f_q)
    centre = kappa @ f_q / K
    g = f_q - centre
    H = zero_noise_variances((g * kappa[:, None]).T @ g, b)
    # weights that a largest weight holds do not change with the sum of the base weights
    free = np.ones(len(mu), dtype=bool) if problem.max_weight is None else mu < problem.max_weight
    total = mu - pi * float(mu[free].sum())
    q = mu[:, None] * f_q - np.outer(pi, mu[free] @ f_q[free]) - np.outer(total, centre)
    p, noise = w[:, None] * f_p, total / K
    on = pi > 0.0
    t, psi = np.where(on, point.t, 1.0), np.zeros(len(pi))
    psi[on] = link.take(on).conjugate(s[on])
    scaled = np.where(free, psi, t * link.divergence.slope(t) - link.divergence.phi(t))
    cost = pi * psi - pi * float(pi @ scaled)
    along = p @ point.delta
    if kind == "hc3":
        length = np.einsum("jk,jk->j", g, solve_psd(H, g.T).T)
        without = np.maximum(1.0 - kappa * (1.0 / K + length), MIN_REMAINDER)
        without_p = np.maximum(1.0 - w, MIN_REMAINDER)
        along = along / without_p
        # a pair leaves both sides at once, so both influences are divided by the same number
        p, q = p / (without if problem.paired else without_p)[:, None], q / without[:, None]
    both = [(p - q, along - cost)] if problem.paired else [(p, along), (-q, -cost)]
    sums = Influence(
        H=H,
        score=np.asarray(sum(x.T @ x for x, _ in both)),
        cross=np.asarray((p - q if problem.paired else -q).T @ noise),
        log_z=float(noise @ noise),
        divergence=float(sum(x @ x for _, x in both)),
    )
    return _Influences(sums, b + centre, used)


def _check_rows(problem: RatioProblem, kappa: Array, f_q: Array) -> None:
    """Refuse bounds that leave no rows between them to tell how δ moves."""
    pi = np.exp(problem.log_base)
    base, inner = (
        (f_q - w @ f_q / max(float(w.sum()), TINY)) * np.sqrt(w / max(float(w.sum()), TINY))[:, None]
        for w in (pi, kappa)
    )
    if null_directions(inner.T @ inner).shape[1] > null_directions(base.T @ base).shape[1]:
        share = float(np.count_nonzero((kappa == 0.0) & (pi > 0.0))) / np.count_nonzero(pi)
        reason = f"are active on {share:.0%} of the rows, and the others do not determine δ"
        raise DataError("bounds", reason, "widen the bounds")


@single_threaded_blas()
def reach_warnings(problem: RatioProblem, delta: Array) -> list[str]:
    """A warning that some target within the noise of this one has no solution within the bounds.

    Not a reason to refuse intervals: that would select samples by their noise, and the intervals of the others, whose
    noise points inwards, would miss more often [FAMINF].
    """
    if not (problem.link.bounded and problem.exact and problem.rows.in_memory):
        return []
    try:
        score = LinkedInference(problem, delta)._sums.score
    except DataError:  # no intervals to warn about
        return []
    values, vectors = np.linalg.eigh(score)
    shifts = WITHIN * (vectors * np.sqrt(np.maximum(values, 0.0))).T
    found = solve_many(problem, problem.target + np.vstack([shifts, -shifts]), tol=REACHED, start=delta)
    if bool(np.all(found.ok)):
        return []
    return [
        f"the bounds are so tight that a target {WITHIN:g} standard errors from this one is out of reach: other "
        "samples of this size may have no solution, and intervals are rough"
    ]
