"""Other packages as solvers of the moment problem [P]: how each is called, and how its answer is read.

A peer can be called in several ways; :mod:`peers` takes the best one for each problem. The functions at the end have
the signature of the solver benchmark's contenders, so ``pre-convex bench --solver peers:lbfgs`` runs them too, with
``benchmarks`` on ``PYTHONPATH``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from pre_convex_lab.solvers.contenders import Answer, find_contender
from scale import SHARP, calibrations, objective, spreads, standardised

import pre_convex as pre

#: gap tolerance of the Newton engine
TOL = 1e-8
#: weight of the single row at the target in a logistic regression
TARGET_WEIGHT = 1e-6
Ways = dict[str, Callable[[], Answer]]


@dataclass(frozen=True)
class Peer:
    """A package, and the ways to call it on a problem; none if it cannot express the problem."""

    name: str
    module: str
    ways: Callable[[pre.RatioProblem], Ways]


def newton_ways(problem: pre.RatioProblem) -> Ways:
    """The Newton engine of this package, including certificate and weights."""
    return {"": partial(find_contender("newton"), problem, "both", TOL)}


# --- scipy


def penalised(problem: pre.RatioProblem, unit: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """ℓ_R and its gradient for norm 2, with columns divided by ``unit``; the subgradient of the penalty at 0 is 0."""
    plain, R = objective(problem), problem.radius

    def value_and_gradient(delta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = plain(delta)
        inner = delta / unit
        length = float(np.linalg.norm(inner))
        return value + R * length, gradient + (R * inner / (length * unit) if length else 0.0)

    return value_and_gradient


def split(problem: pre.RatioProblem, unit: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """ℓ_R for norm inf (an ℓ1 penalty) as a smooth function of u, v ≥ 0 with δ = u − v."""
    plain, R = objective(problem), problem.radius

    def value_and_gradient(parts: np.ndarray) -> tuple[float, np.ndarray]:
        u, v = np.split(parts, 2)
        value, gradient = plain(u - v)
        return value + float((u + v) @ (R / unit)), np.concatenate([gradient + R / unit, R / unit - gradient])

    return value_and_gradient


def in_columns(problem: pre.RatioProblem, scaled: bool) -> tuple[pre.RatioProblem, np.ndarray]:
    """The problem with columns as given or standardised, and the scale of each column."""
    if not scaled:
        return problem, np.ones(problem.k)
    plain = standardised(problem)
    return plain.with_radius(problem.radius, problem.norm), spreads(problem)


def fit_lbfgs(problem: pre.RatioProblem, scaled: bool, options: dict[str, float]) -> Answer:
    """scipy's L-BFGS-B; norm inf becomes bounds on u and v."""
    from scipy.optimize import minimize

    theirs, unit = in_columns(problem, scaled)
    call = partial(minimize, jac=True, method="L-BFGS-B", options=options)
    if problem.radius and problem.norm == np.inf:
        start = np.zeros(2 * problem.k)
        found = call(split(theirs, unit), start, bounds=[(0.0, None)] * start.size)
        delta = found.x[: problem.k] - found.x[problem.k :]
    else:
        fun = penalised(theirs, unit) if problem.radius else objective(theirs)
        found = call(fun, np.zeros(problem.k))
        delta = found.x
    return Answer("optimal" if found.success else str(found.message), delta / unit, iterations=int(found.nit))


def lbfgs_ways(problem: pre.RatioProblem) -> Ways:
    """Default and sharp tolerance, columns as given and standardised; bounds cannot express norm 1."""
    if problem.radius and problem.norm == 1:
        return {}
    return {
        f"{words}{columns}": partial(fit_lbfgs, problem, scaled, options)
        for words, options in (("defaults", {}), ("ftol 1e-15", SHARP))
        for columns, scaled in (("", False), (", columns standardised", True))
    }


def fit_trust(problem: pre.RatioProblem, scaled: bool, options: dict[str, float]) -> Answer:
    """scipy's trust-exact with the exact Hessian."""
    from scipy.optimize import minimize

    theirs, unit = in_columns(problem, scaled)
    F, a = theirs.features_q, theirs.log_base

    def hessian(delta: np.ndarray) -> np.ndarray:
        z = a + F @ delta
        w = np.exp(z - z.max())
        w /= w.sum()
        mean = w @ F
        return F.T @ (F * w[:, None]) - np.outer(mean, mean)

    found = minimize(
        objective(theirs), np.zeros(problem.k), jac=True, hess=hessian, method="trust-exact", options=options
    )
    claim = "optimal" if found.success else str(found.message)
    return Answer(claim, found.x / unit, iterations=int(found.nit))


def trust_ways(problem: pre.RatioProblem) -> Ways:
    """Without a penalty only: trust-exact needs second derivatives, and no penalty here has them at 0."""
    if problem.radius:
        return {}
    return {
        f"{words}{columns}": partial(fit_trust, problem, scaled, options)
        for words, options in (("defaults", {}), ("gtol 1e-8", {"gtol": 1e-8}))
        for columns, scaled in (("", False), (", columns standardised", True))
    }


# --- packages that return weights


def from_weights(problem: pre.RatioProblem, weights: np.ndarray, claim: str) -> Answer:
    """Answer from weights; δ is the slope of log w − a in a linear fit on the features."""
    total = weights.sum()
    if not (np.all(np.isfinite(weights)) and np.all(weights >= 0.0) and total > 0.0):
        return Answer(claim if claim != "optimal" else "weights that are not finite", mu=weights)
    mu = weights / total
    positive = (mu > 0.0) & np.isfinite(problem.log_base)
    unit, mean = spreads(problem), problem.features_q.mean(axis=0)
    design = np.column_stack([np.ones(positive.sum()), (problem.features_q[positive] - mean) / unit])
    slopes = np.linalg.lstsq(design, np.log(mu[positive]) - problem.log_base[positive], rcond=None)[0][1:]
    return Answer(claim, slopes / unit, mu)


def read_later(problem: pre.RatioProblem, call: Callable[[], tuple[np.ndarray, bool]]) -> Callable[[], Answer]:
    """Time a call that returns weights; turning them into an answer is not part of its time."""

    def run() -> Answer:
        start = time.perf_counter()
        weights, converged = call()
        seconds = time.perf_counter() - start
        answer = from_weights(problem, np.asarray(weights, dtype=float), "optimal" if converged else "not converged")
        return Answer(answer.claim, answer.delta, answer.mu, solve_time=seconds)

    return run


def calibration_ways(problem: pre.RatioProblem) -> Ways:
    """``calibrate`` with the entropy objective; its ``l2_norm`` is the radius of norm 2."""
    if problem.radius and problem.norm != 2:
        return {}
    return {name: read_later(problem, call) for name, call in calibrations(problem).items()}


def fit_ebal(
    problem: pre.RatioProblem, scaled: bool, base: np.ndarray | None, **options: object
) -> tuple[np.ndarray, bool]:
    """ATT with the rows of F as controls and two treated rows at b; a single one would have leverage 1."""
    from ebal import ebal_bin

    theirs, _ = in_columns(problem, scaled)
    X = np.concatenate([theirs.features_q, theirs.target[None], theirs.target[None]])
    treated = np.zeros(len(X))
    treated[-2:] = 1.0
    found = ebal_bin(effect="ATT", print_level=-1, **options).ebalance(treated, X, np.zeros(len(X)), base)
    return np.asarray(found["w"])[:-2], bool(found["converged"])


def ebal_ways(problem: pre.RatioProblem) -> Ways:
    """``ebal_bin`` for the ATT; with base weights that sum to one it need not search for their scale."""
    if problem.radius:
        return {}
    base = np.exp(problem.log_base)
    calls = {
        "base_weight": partial(fit_ebal, problem, False, base),
        "base_weight, PCA=False": partial(fit_ebal, problem, False, base, PCA=False),
        "base_weight, PCA=False, columns standardised": partial(fit_ebal, problem, True, base, PCA=False),
    }
    if np.ptp(problem.log_base) == 0.0:
        calls["as it is"] = partial(fit_ebal, problem, False, None)
    return {name: read_later(problem, call) for name, call in calls.items()}


# --- logistic regression


def fit_logistic(problem: pre.RatioProblem, scaled: bool, solver: str, tol: float, most: int) -> Answer:
    """Logistic regression of the rows of F against one row at b with a tiny weight.

    As that weight tends to 0, the slope depends on the row's class only through its mean, and tends to δ of [P] (Owen
    2007, infinitely imbalanced logistic regression). For any weight, the fitted probabilities times the base weights
    have mean b; these are the weights returned.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    theirs, unit = in_columns(problem, scaled)
    base = np.exp(theirs.log_base)
    X = np.concatenate([theirs.features_q, theirs.target[None]])
    label = np.zeros(len(X))
    label[-1] = 1.0
    # scikit-learn scales its tolerance by the sum of all weights
    fit = LogisticRegression(C=np.inf, solver=solver, tol=tol * TARGET_WEIGHT, max_iter=most)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit.fit(X, label, sample_weight=np.append(base, TARGET_WEIGHT))
    unconverged = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    mu = base * fit.predict_proba(theirs.features_q)[:, 1]
    claim = "not converged" if unconverged else "optimal"
    return Answer(claim, fit.coef_[0] / unit, mu / mu.sum(), iterations=int(fit.n_iter_[0]))


def logistic_ways(problem: pre.RatioProblem) -> Ways:
    """Without a penalty only: scikit-learn's squared ℓ2 penalty is not one of ours."""
    if problem.radius:
        return {}
    return {
        f"{solver}{columns}": partial(fit_logistic, problem, scaled, solver, 1e-6, most)
        for solver, most in (("newton-cholesky", 100), ("lbfgs", 10_000))
        for columns, scaled in (("", False), (", columns standardised", True))
    }


SOLVERS = (
    Peer("pre_convex newton", "pre_convex", newton_ways),
    Peer("scipy L-BFGS-B", "scipy", lbfgs_ways),
    Peer("scipy trust-exact", "scipy", trust_ways),
    Peer("empirical_calibration", "empirical_calibration", calibration_ways),
    Peer("ebal", "ebal", ebal_ways),
    Peer("scikit-learn logistic", "sklearn", logistic_ways),
)


# --- contenders of the solver benchmark, at their sharpest setting


def contend(ways: Callable[[pre.RatioProblem], Ways], name: str, problem: pre.RatioProblem) -> Answer:
    """Call a peer in the named way, or in its first way if it has no such way for this problem."""
    calls = ways(problem)
    if not calls:
        return Answer("cannot state the problem")
    call = calls.get(name) or next(iter(calls.values()))
    start = time.perf_counter()
    found = call()
    seconds = found.solve_time or time.perf_counter() - start
    return Answer(found.claim, found.delta, found.mu, found.iterations, solve_time=seconds)


def lbfgs(problem: pre.RatioProblem, formulation: str, tol: float) -> Answer:
    """L-BFGS-B as a contender; ``formulation`` and ``tol`` are ignored here and below."""
    return contend(lbfgs_ways, "ftol 1e-15, columns standardised", problem)


def trust_exact(problem: pre.RatioProblem, formulation: str, tol: float) -> Answer:
    return contend(trust_ways, "gtol 1e-8, columns standardised", problem)


def calibration(problem: pre.RatioProblem, formulation: str, tol: float) -> Answer:
    return contend(calibration_ways, "baseline_weights", problem)


def ebal(problem: pre.RatioProblem, formulation: str, tol: float) -> Answer:
    """The only peer with a settable tolerance on the moments, which is set to ``tol``."""
    if problem.radius:
        return Answer("cannot state the problem")
    call = partial(fit_ebal, problem, True, np.exp(problem.log_base), PCA=False, constraint_tolerance=tol)
    return read_later(problem, call)()


def logistic(problem: pre.RatioProblem, formulation: str, tol: float) -> Answer:
    return contend(logistic_ways, "newton-cholesky, columns standardised", problem)
