"""Is the fit to be trusted: effective sample sizes, heavy weights, balance, conditioning, and plain warnings."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from .arrays import as_vector, frozen
from .entropy import Array, effective_sample_size, exp, exp_of, log
from .errors import DataError, MissingExtraError
from .feasibility import minimal_radius
from .passes import Rows, highest_logit, tilt
from .problem import RatioProblem, as_problem
from .solution import Solution
from .threads import one_thread_each

__all__ = ["Diagnostics", "diagnose", "pareto_k"]


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Figures that say how far a fit can be trusted.

    Attributes
    ----------
    n_p, n_q : int
    ess_p, ess_base, ess_mu : float
        Effective sample sizes of the p weights, of the q base weights and of the tilted weights.
    pareto_k_p, pareto_k_mu : float
        Tail index of p and tilted weights (above 0.7 their mean is not to be trusted); nan without arviz-stats.
    largest_p, largest_mu : float
        Share of the heaviest sample on either side.
    balance_before, balance_after : ndarray of shape (k,)
        Moment residuals in standard deviations of the q side, under base and under tilted weights.
    hull_distance : float
        Distance from the target to the hull of the q features; zero inside.
    condition : float
        Condition number of the Hessian, columns scaled alike.
    free_directions : int
    warnings : tuple of str
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
        """The tail indices in words, or what they lack."""
        if np.isnan([self.pareto_k_p, self.pareto_k_mu]).all() and find_spec("arviz_stats") is None:
            return "not computed without pip install 'pre_convex[diagnostics]'"
        return f"p {self.pareto_k_p:.2f}, weights {self.pareto_k_mu:.2f}"

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
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])


def pareto_k(log_weights: Array) -> float:
    """Tail index k of importance weights, by arviz-stats.

    Raises
    ------
    MissingExtraError
        Without arviz-stats.
    """
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        raise MissingExtraError("arviz-stats", "diagnostics") from None
    log_weights = as_vector(log_weights, "log_weights", log_weights=True)
    finite = log_weights[log_weights > -np.inf]
    if finite.size < 25 or np.ptp(finite) == 0.0:
        return float("nan") if finite.size < 25 else float("-inf")
    with np.errstate(all="ignore"):
        try:
            # psislw is made for leave-one-out and takes the logarithms of inverse weights
            return float(array_stats.psislw(finite.max() - finite)[1])
        except ValueError:  # the largest weights are all the same: no tail is lighter
            return float("-inf")


@one_thread_each()
def diagnose(problem: RatioProblem, solution: Solution) -> Diagnostics:
    """Diagnostics of a solution of a problem that was built from samples.

    Where rows are read block by block, no tail index is fitted: it would need all weights at once.
    """
    as_problem(problem)
    if problem.rows_p is None:
        raise DataError("problem: has no p side; build it from samples")
    if not isinstance(solution, Solution):
        raise DataError(f"solution: must be a Solution, not {type(solution).__name__}; solve() returns one")
    if solution.delta.size != problem.k or solution.mu.size != problem.n_q:
        raise DataError(
            f"solution: has {solution.delta.size} coefficients and {solution.mu.size} weights, the problem needs "
            f"{problem.k} and {problem.n_q}; pass the solution of this problem"
        )
    H = problem.hessian(solution.delta)
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    eigenvalues = np.linalg.eigvalsh(H / np.outer(scale, scale))
    smallest = eigenvalues[min(solution.free_directions, problem.k - 1)]
    near = problem.rows.in_memory and problem.rows_p.in_memory
    facts = Diagnostics(
        **(_by_rows(problem, solution.mu) if near else _by_passes(problem, solution.delta)),
        feature_names=problem.feature_names,
        hull_distance=_hull_distance(problem, solution),
        condition=float(eigenvalues[-1] / smallest) if smallest > 0.0 else np.inf,
        free_directions=solution.free_directions,
        warnings=(),
    )
    object.__setattr__(facts, "warnings", tuple(_warnings(facts, problem)))
    return facts


def _by_rows(problem: RatioProblem, mu: Array) -> dict[str, Any]:
    """Facts about the weights, from one of them for each row."""
    log_w, base, log_mu = problem.log_weights_p, exp(problem.log_base), log(mu)
    assert log_w is not None  # diagnose() has looked
    mean = base @ problem.features_q
    spread = np.sqrt(np.maximum(base @ np.square(problem.features_q - mean), 0.0))
    unit = _unit(mean, spread)
    try:
        k_p, k_mu = pareto_k(log_w), pareto_k(log_mu)
    except MissingExtraError:
        k_p = k_mu = float("nan")
    return {
        "n_p": log_w.size,
        "n_q": problem.n_q,
        "ess_p": effective_sample_size(log_w),
        "ess_base": effective_sample_size(problem.log_base),
        "ess_mu": effective_sample_size(log_mu),
        "pareto_k_p": k_p,
        "pareto_k_mu": k_mu,
        "largest_p": float(exp(log_w.max(keepdims=True))[0]),
        "largest_mu": float(mu.max()),
        "balance_before": frozen((problem.target - mean) / unit),
        "balance_after": frozen(problem.moment(mu) / unit),
    }


def _by_passes(problem: RatioProblem, delta: Array) -> dict[str, Any]:
    """Facts about the weights μ(δ), from passes over rows that are not in memory."""
    rows_p, rows_q, zero = problem.rows_p, problem.rows, np.zeros(problem.k)
    assert rows_p is not None  # diagnose() has looked
    before, after = tilt(rows_q, zero), tilt(rows_q, delta, covariance=False)
    assert before.covariance is not None
    unit = _unit(before.mean, np.sqrt(np.maximum(before.covariance.diagonal(), 0.0)))
    b = problem.residual_origin
    return {
        "n_p": rows_p.shape[0],
        "n_q": rows_q.shape[0],
        "ess_p": _ess(rows_p, zero),
        "ess_base": _ess(rows_q, zero),
        "ess_mu": _ess(rows_q, delta),
        "pareto_k_p": float("nan"),
        "pareto_k_mu": float("nan"),
        "largest_p": exp_of(highest_logit(rows_p, zero)),
        "largest_mu": exp_of(highest_logit(rows_q, delta) - after.log_z),
        "balance_before": frozen((b - before.mean) / unit),
        "balance_after": frozen((b - after.mean) / unit),
    }


def _unit(mean: Array, spread: Array) -> Array:
    """Spread of every feature, one where it is only round-off."""
    return np.where(spread > 1e-13 * np.abs(mean), spread, 1.0)


def _ess(rows: Rows, delta: Array) -> float:
    """(Σ w)² / Σ w² of the weights tilted by δ."""
    plain, squares = tilt(rows, delta, covariance=False), tilt(rows, 2.0 * delta, covariance=False, power=2.0)
    return exp_of(2.0 * plain.log_z - squares.log_z)


def _hull_distance(problem: RatioProblem, solution: Solution) -> float:
    """Distance from the target to the hull; a solution with radius 0 is proof that there is none."""
    if solution.hull is not None:
        return solution.hull.radius
    return 0.0 if problem.radius == 0.0 and solution.status.ok else minimal_radius(problem).radius


def _warnings(d: Diagnostics, problem: RatioProblem) -> list[str]:
    """What a careful reader of the figures would say."""
    notes = []
    few = max(10.0, 2.0 * problem.k)
    if d.ess_p < few:
        notes.append(
            f"ESS of the p side is {d.ess_p:.0f}: the likelihood is much sharper than the prior sample; "
            "draw more p samples near the observation"
        )
    if d.ess_base < few:
        notes.append(
            f"ESS of the q side is {d.ess_base:.0f}: the likelihood is much sharper than the prior sample; "
            "draw more q samples near the observation"
        )
    elif d.ess_mu < few:
        notes.append(
            f"ESS of the weights is {d.ess_mu:.0f}: few q samples look like the p side, and the ratio rests on them"
        )
    for name, value in (("p weights", d.pareto_k_p), ("weights", d.pareto_k_mu)):
        if value > 0.7:
            notes.append(f"Pareto k of the {name} is {value:.2f}: single samples decide; intervals are too short")
    if max(d.largest_p, d.largest_mu) > 0.5:
        notes.append("one sample has more than half of the weight")
    shared = problem.radius > 0.0 and problem.norm == 2  # then collinear features have one answer
    if d.condition > 1e8 and not shared:
        notes.append(f"condition number {d.condition:.0e}: some features are nearly collinear under the weights")
    if d.free_directions:
        notes.append(
            f"{d.free_directions} free direction{'s' if d.free_directions > 1 else ''}: features are constant or "
            "duplicated; delta is the shortest of those that give the ratio"
        )
    if d.hull_distance > 0.0:
        notes.append(
            f"the target is {d.hull_distance:.3g} outside the hull of the q features; only the radius makes a solution"
        )
    return notes
