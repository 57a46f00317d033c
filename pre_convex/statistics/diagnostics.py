"""How far a fit can be trusted: effective sample sizes, heavy weights, balance, conditioning, and warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from .._internal.entropy import effective_sample_size, safe_log
from .._internal.escaping import for_terminal
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import as_vector, read_only
from ..data.passes import tilt
from ..errors import DataError, MissingExtraError
from ..feasibility.hull import minimal_radius
from ..problem import RatioProblem, as_problem
from ..solution import Solution
from .linked import LinkedProblem
from .linked_inference import reach_warnings
from .tilted import TiltedProblem

__all__ = [
    "Diagnostics",
    "base_moments",
    "dependence_warnings",
    "diagnose",
    "diagnose_tilted",
    "fit_warnings",
    "pareto_k",
    "recession_warnings",
    "solution_weights",
]

#: share of a column's range by which a copy has to differ from the combination that it is, to count as rounded
ROUNDED_COPY = 1e-12
#: effective sample size, in rows and, without a radius, in rows per feature, below which a fit warns
MIN_ESS, MIN_ESS_PER_FEATURE = 10.0, 2.0
#: tail index above which the mean of the weights is unreliable, and fewest weights from which it is estimated
MAX_PARETO_K, MIN_TAIL_WEIGHTS = 0.7, 25
#: share of the rows above which an effective sample size is that of even weights
EVEN = 0.99
#: ratio of the largest weight to the average from which a fit computes the tail index
UNEVEN = 10.0
#: largest weights that the tail index is computed from, in units of √n: the tail has 3 √n, and arviz-stats asks for at
#: least 15 √n; round-off allowed in their share of all weights
TOP_WEIGHTS, ROUND_OFF = 16.0, 1e-12
#: condition number above which features count as nearly collinear
MAX_CONDITION = 1e8
#: degrees of freedom of the noise below which an automatic radius is often too small
MIN_RADIUS_DF = 30.0


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Numbers that say how far a fit can be trusted, and warnings made from them.

    Attributes
    ----------
    n_p, n_q : int
        Rows of the two samples.
    ess_p, ess_base, ess_mu : float
        Effective sample sizes (Σw)²/Σw² of the p weights, of the q base weights and of the fitted weights μ: how many
        equally weighted rows they are worth.
    pareto_k_p, pareto_k_mu : float
        Tail index of the p weights and of μ; above 0.7 their mean is unreliable. nan without arviz-stats and for rows
        that are not in memory.
    largest_p, largest_mu : float
        Largest p weight and largest μ, as a share of the total.
    feature_names : tuple of str
        Names of the k features.
    balance_before, balance_after : ndarray of shape (k,)
        Target minus mean of the q features under the base weights and under μ, in standard deviations of each feature
        under the base weights.
    hull_distance : float
        Distance from the target to the convex hull of the q features; zero inside, nan where it is not computed.
    condition : float
        Condition number of the Hessian, with all columns scaled to unit variance.
    free_directions : int
        Dimension of the set of δ that give the same ratio.
    warnings : tuple of str
        What needs attention; empty if nothing does.
    """

    n_p: int
    n_q: int
    ess_p: float
    ess_base: float
    ess_mu: float
    pareto_k_p: float
    pareto_k_mu: float
    largest_p: float
    largest_mu: float
    feature_names: tuple[str, ...]
    balance_before: Array
    balance_after: Array
    hull_distance: float
    condition: float
    free_directions: int
    warnings: tuple[str, ...]

    @property
    def tails(self) -> str:
        """The tail indices as text, or how to install the package that computes them."""
        if np.isnan([self.pareto_k_p, self.pareto_k_mu]).all() and find_spec("arviz_stats") is None:
            return str(MissingExtraError("arviz-stats", "diagnostics"))
        tails = {"p": self.pareto_k_p, "weights": self.pareto_k_mu}
        shown = [f"{name} {k:.2f}" for name, k in tails.items() if k != -np.inf]  # equal weights have no tail
        return ", ".join(shown) or "none, because the weights are equal"

    def __str__(self) -> str:
        lines = [
            f"effective sample size   p {self.ess_p:.1f} of {self.n_p}, q {self.ess_base:.1f} of {self.n_q}, "
            f"weights {self.ess_mu:.1f} of {self.n_q}",
            f"largest weight          p {self.largest_p:.1%}, weights {self.largest_mu:.1%}",
            f"Pareto k                {self.tails}",
            f"balance                 {np.abs(self.balance_before).max():.3g} before, "
            f"{np.abs(self.balance_after).max():.3g} after (largest, in standard deviations)",
            f"distance to the hull    {self.hull_distance:.4g}",
            f"condition number        {self.condition:.3g}, free directions {self.free_directions}",
        ]
        return "\n".join([*lines, *(f"warning: {for_terminal(text)}" for text in self.warnings)])


def pareto_k(log_weights: Any) -> float:
    """Tail index k of importance weights, by arviz-stats.

    Parameters
    ----------
    log_weights : array of shape (n,)
        Logarithms of the weights, up to a common constant; −inf for a row without weight.

    Returns
    -------
    float
        k of the generalised Pareto distribution fitted to the largest weights; −inf if these are all equal, nan for
        fewer than 25 weights.

    Raises
    ------
    MissingExtraError
        If arviz-stats is not installed.

    Examples
    --------
    >>> bool(pareto_k(np.log(np.random.default_rng(0).uniform(size=3000))) < 0.3)
    True
    """
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        raise MissingExtraError("arviz-stats", "diagnostics") from None
    log_weights = as_vector(log_weights, "log_weights", log_weights=True)
    finite = log_weights[log_weights > -np.inf]
    if finite.size < MIN_TAIL_WEIGHTS or np.ptp(finite) == 0.0:
        return float("nan") if finite.size < MIN_TAIL_WEIGHTS else float("-inf")
    count, share = finite.size, 1.0
    top = min(count, int(TOP_WEIGHTS * math.sqrt(count)))
    if top < count:  # only the largest weights matter; the share keeps the number that makes up the tail
        finite, share = np.partition(finite, count - top)[count - top :], (1.0 - ROUND_OFF) * top / count
    with np.errstate(all="ignore"):
        try:
            # psislw is written for leave-one-out and takes the logarithms of inverse weights
            return float(array_stats.psislw(finite.max() - finite, r_eff=share)[1])
        except ValueError:  # the largest weights are all equal: there is no tail
            return float("-inf")


def diagnose(problem: RatioProblem, solution: Solution) -> Diagnostics:
    """Diagnostics of a solution.

    Parameters
    ----------
    problem : RatioProblem
        A problem that was built from samples, so that it has a p side.
    solution : Solution
        Its solution. For rows that are read block by block no tail index is computed, because it needs all weights
        at once.

    Returns
    -------
    Diagnostics

    Examples
    --------
    >>> import pre_convex as pre
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> problem = pre.RatioProblem.from_samples(x[:200] + 0.3, x[200:])
    >>> diagnostics = diagnose(problem, pre.solve(problem))
    >>> round(diagnostics.ess_mu), diagnostics.warnings
    (171, ())
    """
    as_problem(problem)
    if problem.rows_p is None:
        raise DataError("problem", "has no p sample", "build it with RatioProblem.from_samples")
    if not isinstance(solution, Solution):
        raise DataError("solution", f"is a {type(solution).__name__}, not a Solution", "pass what solve() returns")
    if solution.delta.size != problem.k or solution.mu.size != problem.n_q:
        raise DataError(
            "solution",
            f"has {solution.delta.size} coefficients and {solution.mu.size} weights, "
            f"the problem needs {problem.k} and {problem.n_q}",
            "pass the solution of this problem",
        )
    if problem.has_intercept:
        return diagnose_tilted(LinkedProblem(problem, solution), solution)
    return diagnose_tilted(TiltedProblem(problem, solution.delta, solution.recession), solution)


@single_threaded_blas()
def diagnose_tilted(tilted: TiltedProblem | LinkedProblem, solution: Solution) -> Diagnostics:
    """Diagnostics of a solution, from moments at its δ that may have been computed already."""
    problem = tilted.problem
    scale = np.sqrt(np.maximum(np.diag(tilted.hessian), 1e-300))
    eigenvalues = np.linalg.eigvalsh(tilted.hessian / np.outer(scale, scale))
    by_row = tilted.by_row or (tilted.in_memory and not callable(solution.weights))
    smallest = eigenvalues[min(solution.free_directions, problem.k - 1)]
    diagnostics = Diagnostics(
        **(_from_rows(tilted, solution) if by_row or isinstance(tilted, LinkedProblem) else _from_sums(tilted)),
        feature_names=problem.feature_names,
        hull_distance=_hull_distance(problem, solution),
        condition=float(eigenvalues[-1] / smallest) if smallest > 0.0 else np.inf,
        free_directions=solution.free_directions,
        warnings=(),
    )
    notes = recession_warnings(problem, solution) + dependence_warnings(problem, solution)
    notes += _warnings(diagnostics, problem)
    if isinstance(tilted, LinkedProblem) and solution.ok:
        notes += reach_warnings(problem, solution.delta)
    return replace(diagnostics, warnings=tuple(notes))


def solution_weights(tilted: TiltedProblem | LinkedProblem, solution: Solution) -> Array:
    """The weights of a solution; those that it has not computed yet come from the pass at its δ."""
    return tilted.mu if tilted.in_memory and callable(solution.weights) else solution.mu


def _from_rows(tilted: TiltedProblem | LinkedProblem, solution: Solution) -> dict[str, Any]:
    """Statistics of the weights, from one weight per row."""
    problem, mu = tilted.problem, solution_weights(tilted, solution)
    log_w, log_mu = problem.log_weights_p, safe_log(mu)
    assert log_w is not None  # diagnose checks that there is a p sample
    mean, spread = base_moments(problem)
    unit = np.where(spread > 0.0, spread, 1.0)
    residual = tilted.residual if callable(solution.weights) else problem.residual(mu)
    k_p, k_mu = _tail_indices(problem, log_mu)
    return {
        "n_p": log_w.size,
        "n_q": problem.n_q,
        "ess_p": effective_sample_size(log_w),
        "ess_base": effective_sample_size(problem.log_base),
        "ess_mu": effective_sample_size(log_mu),
        "pareto_k_p": k_p,
        "pareto_k_mu": k_mu,
        "largest_p": float(np.exp(log_w.max())),
        "largest_mu": float(mu.max()),
        "balance_before": read_only((problem.target - mean) / unit),
        "balance_after": read_only(residual / unit),
    }


def _from_sums(tilted: TiltedProblem) -> dict[str, Any]:
    """Statistics of the weights μ(δ), from sums over the rows."""
    p, q, problem = tilted.p, tilted.q, tilted.problem
    spread = _standard_deviation(q.base_mean + problem.target, q.base_variance)
    unit = np.where(spread > 0.0, spread, 1.0)
    k_p = k_mu = float("nan")
    if q.logits is not None:  # the rows are in memory
        k_p, k_mu = _tail_indices(problem, q.logits)
    return {
        "n_p": tilted.rows_p.shape[0],
        "n_q": problem.n_q,
        "ess_p": 1.0 / p.squares,
        "ess_base": 1.0 / q.base_squares,
        "ess_mu": 1.0 / q.squares,
        "pareto_k_p": k_p,
        "pareto_k_mu": k_mu,
        "largest_p": p.largest,
        "largest_mu": q.largest,
        "balance_before": read_only(-q.base_mean / unit),
        "balance_after": read_only(tilted.residual / unit),
    }


def _tail_indices(problem: RatioProblem, log_mu: Array) -> tuple[float, float]:
    """Tail indices of the p weights and of μ, from logs up to a constant; nan without arviz-stats."""
    assert problem.log_weights_p is not None
    return _tail_index(problem.log_weights_p), _tail_index(log_mu)


def base_moments(problem: RatioProblem) -> tuple[Array, Array]:
    """Mean and standard deviation of every q feature under the base weights, for rows in memory."""
    base = np.exp(problem.log_base)
    mean = np.asarray(base @ problem.features_q)
    return mean, _standard_deviation(mean, base @ np.square(problem.features_q - mean))


def _standard_deviation(mean: Array, variance: Array) -> Array:
    """Square root of the variance, zero where it is only round-off."""
    spread = np.sqrt(np.maximum(variance, 0.0))
    return np.where(spread > 1e-13 * np.abs(mean), spread, 0.0)


def _hull_distance(problem: RatioProblem, solution: Solution) -> float:
    """Distance from the target to the hull; a solution with radius 0 proves that it is zero."""
    if solution.hull is not None:
        return solution.hull.radius
    if problem.exact and solution.ok:
        return 0.0
    return float("nan") if problem.has_intercept else minimal_radius(problem).radius


def recession_warnings(problem: RatioProblem, solution: Solution) -> list[str]:
    """One warning for each coefficient that runs to infinity."""
    notes = []
    for feature, sign in solution.recession:
        value, name = float(problem.target[feature]), problem.feature_names[feature]
        extreme, other = ("largest", "below") if sign > 0 else ("smallest", "above")
        notes.append(
            f"{name}: the p side has only the {extreme} q value, {value:.6g}; the ratio is zero where it is {other} "
            f"that, and its coefficient runs to {'+' if sign > 0 else '-'}inf"
        )
    return notes


def dependence_warnings(problem: RatioProblem, solution: Solution) -> list[str]:
    """A warning that names columns which are combinations of others, but only up to the round-off of the data."""
    certificate = solution.certificate
    if not certificate.last_digit > 0.0:
        return []
    low, high = problem.ranges
    rounded = [
        problem.feature_names[column]
        for column, missed in zip(certificate.dependent, certificate.missed, strict=True)
        if missed > ROUNDED_COPY * (high - low)[column]
    ]
    if not rounded:
        return []
    return [
        f"{', '.join(rounded)}: a linear combination of other columns up to the round-off of the data; δ is the "
        "shortest that gives the same ratio, and its single coefficients mean little: leave the column out"
    ]


def radius_warnings(noise_df: float) -> list[str]:
    """A warning that the noise behind an automatic radius is that of a few rows, given its degrees of freedom."""
    if noise_df >= MIN_RADIUS_DF:
        return []
    return [
        f"the automatic radius rests on a noise with {noise_df:.0f} degrees of freedom: a few samples make up most of "
        "it, and the radius may be too small"
    ]


def fit_warnings(tilted: TiltedProblem | LinkedProblem, solution: Solution) -> list[str]:
    """Warnings issued by a fit: those of the diagnostics that take no more than one pass over the q rows."""
    problem = tilted.problem
    notes = recession_warnings(problem, solution) + dependence_warnings(problem, solution)
    if isinstance(tilted, TiltedProblem) and not tilted.in_memory:
        size = tilt(problem.rows, solution.delta, covariance=False).ess
        notes += _weight_warnings(problem, (np.inf, np.inf, size), (np.nan, np.nan), 0.0)
    elif tilted.in_memory:
        log_w, log_mu = problem.log_weights_p, _log_mu(problem, solution)
        assert log_w is not None  # estimators have a p sample
        sides = (log_w, problem.log_base, log_mu)
        sizes = tuple(map(effective_sample_size, sides))
        tails = tuple(_tail_index(side) if _is_uneven(side) else np.nan for side in (log_w, log_mu))
        notes += _weight_warnings(problem, sizes, tails, float(np.exp(max(log_w.max(), log_mu.max()))))
    if solution.hull is not None and solution.hull.radius > 0.0 and solution.ok:
        notes += _outside(solution.hull.radius)
    return notes


def _log_mu(problem: RatioProblem, solution: Solution) -> Array:
    """Log weights of a solution, by a pass without moments if it has not computed them."""
    if callable(solution.weights) and problem.exponential and not solution.recession:
        return problem.log_mu(solution.delta)
    return safe_log(solution.mu)


def _is_uneven(log_weights: Array) -> bool:
    """Whether some weight is so much above the average that there may be a heavy tail."""
    return float(log_weights.max()) > math.log(UNEVEN / log_weights.size)


def _tail_index(log_weights: Array) -> float:
    """Tail index; nan without arviz-stats."""
    try:
        return pareto_k(log_weights)
    except MissingExtraError:
        return float("nan")


def _weight_warnings(
    problem: RatioProblem, sizes: tuple[float, ...], tails: tuple[float, ...], largest: float
) -> list[str]:
    """Warnings about ESS of p side, q side and weights, tail indices of p side and weights, and the largest weight."""
    ess_p, ess_base, ess_mu = sizes
    notes = []
    needed = max(MIN_ESS, MIN_ESS_PER_FEATURE * problem.k if problem.exact else 0.0)
    rows_p = problem.rows_p
    n_p, n_q = np.inf if rows_p is None else rows_p.shape[0], problem.n_q
    sharp = {"p": ess_p < min(needed, EVEN * n_p), "q": ess_base < min(needed, EVEN * n_q)}
    for side, size in (("p", ess_p), ("q", ess_base)):
        if sharp[side]:
            notes.append(
                f"ESS of the {side} side is {size:.0f}: the likelihood is much sharper than the prior sample; "
                f"draw more {side} samples near the observation"
            )
    if ess_mu < min(needed, EVEN * n_q) and not sharp["q"]:
        notes.append(
            f"ESS of the weights is {ess_mu:.0f}: few q samples resemble the p side, and the ratio depends on them; "
            "a larger radius or fewer features help"
        )
    for name, value in zip(("p weights", "weights"), tails, strict=True):
        if value > MAX_PARETO_K:
            notes.append(f"Pareto k of the {name} is {value:.2f}: a few samples dominate, and intervals are too short")
    if largest > 0.5:
        notes.append("one sample has more than half of the weight")
    return notes


def _outside(distance: float) -> list[str]:
    return [
        f"the target is {distance:.3g} outside the hull of the q features; a solution exists only because of the radius"
    ]


def _warnings(d: Diagnostics, problem: RatioProblem) -> list[str]:
    """Warnings about numbers that are out of their usual range."""
    notes = _weight_warnings(
        problem, (d.ess_p, d.ess_base, d.ess_mu), (d.pareto_k_p, d.pareto_k_mu), max(d.largest_p, d.largest_mu)
    )
    one_radius = not problem.radius_per_feature and problem.radius > 0.0
    unique = one_radius and problem.norm == 2  # then collinear features share their weight
    if d.condition > MAX_CONDITION and not unique:
        notes.append(f"condition number {d.condition:.0e}: some features are nearly collinear under the weights")
    if d.free_directions:
        notes.append(
            f"{d.free_directions} free direction{'s' if d.free_directions > 1 else ''}: some features are constant or "
            "duplicated, and other values of delta give the same ratio"
        )
    if d.hull_distance > 0.0:
        notes += _outside(d.hull_distance)
    return notes
