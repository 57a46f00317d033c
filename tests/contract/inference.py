"""Rows about inference, the choice of a radius, the bootstrap, diagnostics and the paper's conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pre_convex as pre
from pre_convex.statistics.bootstrap import bootstrap
from pre_convex.statistics.diagnostics import pareto_k
from pre_convex.statistics.selection import automatic_radius, cross_validated_kernel, cross_validated_radius
from pre_convex.statistics.staged import part_radius, staged_features
from pre_convex.statistics.theory import conditions, min_eigenvalue, min_eigenvalue_in_ball, weyl_bound
from pre_convex.statistics.weighted_chi2 import weighted_chi2_sf

from .kinds import choice, count, flag, layouts, log_weights, matrix, number, problem, share, vector
from .rows import Known, Row, Taken

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(0.3, 1.0, (30, 2)), RNG.normal(0.0, 1.0, (40, 2))
PROBLEM, BARE = pre.RatioProblem.from_samples(X_P, X_Q), pre.RatioProblem([0.0, 0.0], X_Q)
BLOCKS = pre.RatioProblem.from_blocks(X_P, X_Q)
SOLUTION = pre.solve(PROBLEM)
DELTA = SOLUTION.delta
INFERENCE = pre.Inference(PROBLEM, DELTA)


def uncertainty() -> Iterator[Row]:
    """Rows for Inference and its methods."""
    yield from problem("Inference", "problem", lambda p: pre.Inference(p, DELTA))
    yield Row("Inference", "problem", "without a p side", lambda: pre.Inference(BARE, DELTA))
    yield Row(
        "Inference", "problem", "with a radius", lambda: pre.Inference(PROBLEM.with_radius(0.1), DELTA), named="radius"
    )
    yield from vector("Inference", "delta", lambda d: pre.Inference(PROBLEM, d), DELTA)
    yield from choice("Inference", "kind", lambda k: pre.Inference(PROBLEM, DELTA, kind=k))
    yield Row(
        "Inference",
        "kind",
        "hc3, for a problem read block by block",
        lambda: pre.Inference(BLOCKS, DELTA, kind="hc3"),
    )
    yield from share("Inference.conf_int", "level", INFERENCE.conf_int)
    yield from share("Inference.divergence", "level", INFERENCE.divergence)
    yield from share("Inference.log_ratio", "level", lambda v: INFERENCE.log_ratio(X_Q, v))
    yield from share("Inference.contains", "level", lambda v: INFERENCE.contains(DELTA, v))
    yield from vector("Inference.contains", "delta", INFERENCE.contains, DELTA)
    yield from matrix("Inference.log_ratio", "features", INFERENCE.log_ratio, X_Q)
    yield Row("Inference.log_ratio", "features", "another width", lambda: INFERENCE.log_ratio(X_Q[:, :1]))
    yield Row("Inference.log_ratio", "features", "beyond 1e100", lambda: INFERENCE.log_ratio(X_Q * 1e200))
    for entry, call in (("Inference.wald_test", INFERENCE.wald_test), ("PosteriorRatio.wald_test", _fit().wald_test)):
        yield from matrix(entry, "hypothesis", call, np.eye(2), skip=("None",))
        yield Row(entry, "hypothesis", "another width", lambda c=call: c([[1.0]]))
        yield from vector(entry, "value", lambda v, c=call: c(None, v), np.zeros(2), skip=("one number",))
    for entry, test in (
        ("Inference.score_test", INFERENCE.score_test),
        ("Inference.p_values", INFERENCE.p_values),
        ("PosteriorRatio.score_test", _fit().score_test),
    ):
        yield from vector(entry, "delta", test, DELTA, skip=("one number",))
    yield from vector("PosteriorRatio.in_region", "delta", _fit().in_region, DELTA)
    yield from number("weighted_chi2_sf", "x", lambda x: weighted_chi2_sf(x, np.ones(2)))
    yield from vector(
        "weighted_chi2_sf",
        "weights",
        lambda w: weighted_chi2_sf(1.0, w),
        np.ones(2),
        skip=("empty", "too short", "too long"),
    )
    yield Row("weighted_chi2_sf", "weights", "negative", lambda: weighted_chi2_sf(1.0, [-1.0, 1.0]))


def _fit() -> pre.PosteriorRatio:
    return pre.PosteriorRatio().fit(X_P, X_Q)


def choosing() -> Iterator[Row]:
    """Rows for the choice of a radius or kernel."""
    for entry, call in (("automatic_radius", automatic_radius), ("cross_validated_radius", cross_validated_radius)):
        yield from problem(entry, "problem", call)
        yield Row(entry, "problem", "without a p side", lambda call=call: call(BARE), named="radius")
        yield Row(entry, "problem", "read block by block", lambda call=call: call(BLOCKS), named="radius")
    yield from share("automatic_radius", "alpha", lambda a: automatic_radius(PROBLEM, alpha=a))
    yield from count("automatic_radius", "draws", lambda n: automatic_radius(PROBLEM, draws=n))
    yield from count("cross_validated_radius", "folds", lambda n: cross_validated_radius(PROBLEM, folds=n))
    yield Row(
        "cross_validated_radius",
        "folds",
        "more than rows",
        lambda: cross_validated_radius(PROBLEM, folds=31),
    )
    yield from flag("cross_validated_radius", "one_se", lambda v: cross_validated_radius(PROBLEM, one_se=v))
    yield from count("cross_validated_radius", "steps", lambda n: cross_validated_radius(PROBLEM, steps=n))
    yield from share("cross_validated_radius", "span", lambda v: cross_validated_radius(PROBLEM, span=v))

    def kernel(**changes: Any) -> Any:
        given = {"kernel": pre.Kernel(), "x_p": X_P, "x_q": X_Q, "log_lik_p": None, "log_lik_q": None}
        return cross_validated_kernel(**{**given, **changes})

    for kind, value in {"name": "rbf", "None": None, "class": pre.Kernel}.items():
        yield Row("cross_validated_kernel", "kernel", kind, lambda v=value: kernel(kernel=v))
    for side, good in (("x_p", X_P), ("x_q", X_Q)):
        yield from matrix("cross_validated_kernel", side, lambda x, s=side: kernel(**{s: x}), good)
    yield Row("cross_validated_kernel", "x_q", "another width", lambda: kernel(x_q=X_Q[:, :1]))
    for name, good in (("log_lik_p", np.zeros(30)), ("log_lik_q", np.zeros(40))):
        yield from log_weights("cross_validated_kernel", name, lambda a, n=name: kernel(**{n: a}), good, skip=("None",))
    yield from count("cross_validated_kernel", "folds", lambda n: kernel(folds=n))
    yield from flag("cross_validated_kernel", "paired", lambda v: kernel(paired=v))

    def staged(**changes: Any) -> Any:
        return staged_features(**{"x_p": X_P, "x_q": X_Q, **changes})

    def parts(**changes: Any) -> Any:
        return part_radius(**{"problem": PROBLEM, "kernel": np.array([False, True]), **changes})

    yield from problem("part_radius", "problem", lambda p: parts(problem=p))
    yield Row("part_radius", "problem", "without a p side", lambda: parts(problem=BARE), named="radius")
    yield Row("part_radius", "problem", "read block by block", lambda: parts(problem=BLOCKS), named="radius")
    yield from count("part_radius", "folds", lambda n: parts(folds=n))
    yield Row("part_radius", "folds", "more than rows", lambda: parts(folds=31))
    for kind, value in {"too short": [True], "None": None, "numbers": [0.0, 2.0], "text": "rbf"}.items():
        yield Row("part_radius", "kernel", kind, lambda v=value: parts(kernel=v))

    for side, good in (("x_p", X_P), ("x_q", X_Q)):
        yield from matrix("staged_features", side, lambda x, s=side: staged(**{s: x}), good)
    yield Row("staged_features", "x_q", "another width", lambda: staged(x_q=X_Q[:, :1]))
    for name, good in (("log_lik_p", np.zeros(30)), ("log_lik_q", np.zeros(40))):
        yield from log_weights("staged_features", name, lambda a, n=name: staged(**{n: a}), good, skip=("None",))
    yield from choice("staged_features", "loss", lambda v: staged(loss=v))
    yield from count("staged_features", "folds", lambda n: staged(folds=n))
    yield Row("staged_features", "folds", "more than rows", lambda: staged(folds=31))
    yield from flag("staged_features", "paired", lambda v: staged(paired=v))
    yield Row("staged_features", "paired", "other rows", lambda: staged(paired=True))


def resampling() -> Iterator[Row]:
    """Rows for the bootstrap."""

    def call(**changes: Any) -> Any:
        return bootstrap(**{"problem": PROBLEM, "delta": DELTA, "replicates": 2, **changes})

    yield from problem("bootstrap", "problem", lambda p: call(problem=p))
    for kind, value in {"without a p side": BARE, "read block by block": BLOCKS}.items():
        yield Row("bootstrap", "problem", kind, lambda v=value: call(problem=v))
    yield from vector("bootstrap", "delta", lambda d: call(delta=d), DELTA)
    yield from count("bootstrap", "replicates", lambda n: call(replicates=n))
    yield Row("bootstrap", "replicates", "beyond 2^31", lambda: call(replicates=10**30))
    yield from flag("bootstrap", "progress", lambda v: call(progress=v))
    for kind, value in {"zero": 0, "fraction": 0.5, "text": "all", "None": None, "bool": True}.items():
        yield Row("bootstrap", "jobs", kind, lambda v=value: call(jobs=v))
    for name in ("penalty", "constraints"):
        for kind, value in {"text": "l1", "number": 3.0}.items():
            yield Row("bootstrap", name, kind, lambda n=name, v=value: call(**{n: v}))


def diagnosing() -> Iterator[Row]:
    """Rows for diagnostics."""
    yield from problem("diagnose", "problem", lambda p: pre.diagnose(p, SOLUTION))
    yield Row("diagnose", "problem", "without a p side", lambda: pre.diagnose(BARE, SOLUTION))
    for kind, value in {"array": DELTA, "None": None, "problem": PROBLEM}.items():
        yield Row("diagnose", "solution", kind, lambda v=value: pre.diagnose(PROBLEM, v))
    other = pre.RatioProblem.from_samples(X_P[:, :1], X_Q[:, :1])
    fewer = pre.RatioProblem.from_samples(X_P, X_Q[:20])
    for kind, wrong in {"of other features": other, "of other rows": fewer}.items():
        yield Row("diagnose", "solution", kind, lambda p=wrong: pre.diagnose(PROBLEM, pre.solve(p)))
    yield from log_weights(
        "pareto_k", "log_weights", pareto_k, np.linspace(0.0, 1.0, 30), skip=("too short", "too long")
    )


def theory() -> Iterator[Row]:
    """Rows for the paper's conditions."""
    zero = np.zeros(2)
    for entry, name, call in (
        ("conditions", "delta", conditions),
        ("min_eigenvalue_in_ball", "centre", min_eigenvalue_in_ball),
        ("weyl_bound", "centre", weyl_bound),
    ):
        yield from problem(entry, "problem", lambda p, call=call: call(p, zero, 0.1))
        yield Row(entry, "problem", "read block by block", lambda call=call: call(BLOCKS, zero, 0.1))
        yield from vector(entry, name, lambda d, call=call: call(PROBLEM, d, 0.1), zero)
        yield Row(entry, name, "beyond 1e100", lambda call=call: call(PROBLEM, [1e200, 0.0], 0.1))
        yield from number(entry, "radius", lambda r, call=call: call(PROBLEM, zero, r))
        yield Row(entry, "radius", "zero", lambda call=call: call(PROBLEM, zero, 0.0))
        yield Row(entry, "radius", "negative", lambda call=call: call(PROBLEM, zero, -1.0))
        yield from count(entry, "starts", lambda n, call=call: call(PROBLEM, zero, 0.1, starts=n), skip=("zero",))
    yield from problem("min_eigenvalue", "problem", lambda p: min_eigenvalue(p, zero))
    yield from vector("min_eigenvalue", "delta", lambda d: min_eigenvalue(PROBLEM, d), zero)
    yield from matrix(
        "weyl_bound", "reference", lambda S: weyl_bound(PROBLEM, zero, 0.1, reference=S), np.eye(2), skip=("None",)
    )
    for kind, value in {"another shape": np.eye(3), "not symmetric": [[1.0, 1.0], [0.0, 1.0]]}.items():
        yield Row("weyl_bound", "reference", kind, lambda v=value: weyl_bound(PROBLEM, zero, 0.1, reference=v))
    found = conditions(PROBLEM, zero, 0.1, starts=0)
    yield from number("Conditions.holds", "C_r", found.holds)
    for kind, value in {"zero": 0.0, "negative": -1.0}.items():
        yield Row("Conditions.holds", "C_r", kind, lambda v=value: found.holds(v))


ROWS: list[Row] = [*uncertainty(), *choosing(), *resampling(), *diagnosing(), *theory()]
TAKEN: list[Taken] = [
    *layouts("Inference", "delta", lambda d: pre.Inference(PROBLEM, d).covariance, DELTA),
    *layouts("Inference.log_ratio", "features", lambda f: INFERENCE.log_ratio(f).upper, X_Q),
    *layouts("Inference.wald_test", "hypothesis", lambda h: INFERENCE.wald_test(h).statistic, np.eye(2)),
    *layouts("bootstrap", "delta", lambda d: bootstrap(PROBLEM, d, 2), DELTA),
    Taken(
        "Inference.wald_test",
        "hypothesis",
        "in units of 1e300",
        lambda h: INFERENCE.wald_test(h).statistic,
        lambda: np.array([[1e300, -1e300]]),
        lambda: [1.0, -1.0],
    ),
]
KNOWN: list[Known] = [
    Known("Inference.wald_test", "value", "1e300 away", lambda: INFERENCE.wald_test(None, 1e300).p_value, 0.0),
    Known("pareto_k", "log_weights", "weights of two sizes", lambda: pareto_k(np.arange(60) % 2 * 1.0), -np.inf),
    Known("pareto_k", "log_weights", "weights of one size", lambda: pareto_k(np.zeros(60)), -np.inf),
    Known("pareto_k", "log_weights", "too few to have a tail", lambda: pareto_k(np.arange(9.0)), np.nan),
    Known("weighted_chi2_sf", "x", "negative", lambda: weighted_chi2_sf(-1.0, np.ones(2)), 1.0),
]
