"""Inference, the choice of a radius, the bootstrap, diagnostics and the paper's conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pre_convex as pre
from pre_convex.bootstrap import bootstrap
from pre_convex.diagnostics import pareto_k
from pre_convex.inference import weighted_chi2_sf
from pre_convex.selection import automatic_radius, cross_validated_kernel, cross_validated_radius
from pre_convex.theory import conditions, min_eigenvalue, min_eigenvalue_in_ball, weyl_bound

from .kinds import choice, count, flag, layouts, log_weights, matrix, number, problem, share, vector
from .rows import Known, Row, Taken

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(0.3, 1.0, (30, 2)), RNG.normal(0.0, 1.0, (40, 2))
PROBLEM, BARE = pre.RatioProblem.from_samples(X_P, X_Q), pre.RatioProblem([0.0, 0.0], X_Q)
BLOCKS = pre.RatioProblem.from_blocks(X_P, X_Q)
SOLUTION = pre.solve(PROBLEM)
DELTA = SOLUTION.delta
INFERENCE = pre.Inference(PROBLEM, DELTA)
LARGE = "… holds …, and numbers beyond … overflow; rescale it"


def uncertainty() -> Iterator[Row]:
    """Inference and its methods."""
    yield from problem("Inference", "problem", lambda p: pre.Inference(p, DELTA))
    yield Row(
        "Inference",
        "problem",
        "without a p side",
        lambda: pre.Inference(BARE, DELTA),
        "problem: has no p side, so the noise of its target is not known; build it from samples",
    )
    yield Row(
        "Inference",
        "problem",
        "with a radius",
        lambda: pre.Inference(PROBLEM.with_radius(0.1), DELTA),
        "radius: a radius of 0.1 biases the estimate …; solve with radius=0",
    )
    yield from vector("Inference", "delta", lambda d: pre.Inference(PROBLEM, d), DELTA)
    yield from choice("Inference", "kind", lambda k: pre.Inference(PROBLEM, DELTA, kind=k))
    yield Row(
        "Inference",
        "kind",
        "one that needs every row, of rows in blocks",
        lambda: pre.Inference(BLOCKS, DELTA, kind="hc3"),
        "kind: 'hc3' needs every row at once; use 'centred', or problem.in_memory()",
    )
    yield from share("Inference.conf_int", "level", INFERENCE.conf_int)
    yield from share("Inference.divergence", "level", INFERENCE.divergence)
    yield from share("Inference.log_ratio", "level", lambda v: INFERENCE.log_ratio(X_Q, v))
    yield from share("Inference.contains", "level", lambda v: INFERENCE.contains(DELTA, v))
    yield from vector("Inference.contains", "delta", INFERENCE.contains, DELTA)
    yield from matrix("Inference.log_ratio", "features", INFERENCE.log_ratio, X_Q)
    yield Row(
        "Inference.log_ratio",
        "features",
        "another width",
        lambda: INFERENCE.log_ratio(X_Q[:, :1]),
        "features: have 1 columns where the problem has 2",
    )
    yield Row("Inference.log_ratio", "features", "beyond 1e100", lambda: INFERENCE.log_ratio(X_Q * 1e200), LARGE)
    for entry, call in (("Inference.wald_test", INFERENCE.wald_test), ("PosteriorRatio.wald_test", _fit().wald_test)):
        yield from matrix(entry, "hypothesis", call, np.eye(2), says={
            "one number": "hypothesis: has 1 columns for 2 coefficients",
            "None": None,
        })  # fmt: skip
        yield Row(
            entry,
            "hypothesis",
            "another width",
            lambda c=call: c([[1.0]]),
            "hypothesis: has 1 columns for 2 coefficients",
        )
        shape = "value: has shape … for 2 rows of the hypothesis; give a number or (2,)"
        yield from vector(entry, "value", lambda v, c=call: c(None, v), np.zeros(2), says={
            "too short": shape, "too long": shape, "one number": None,
        })  # fmt: skip
    yield from vector("PosteriorRatio.in_region", "delta", _fit().in_region, DELTA)
    yield from number("weighted_chi2_sf", "x", lambda x: weighted_chi2_sf(x, np.ones(2)))
    weights = "weights: must be finite and not negative, one for each square of the sum"
    yield from vector("weighted_chi2_sf", "weights", lambda w: weighted_chi2_sf(1.0, w), np.ones(2), says={
        **dict.fromkeys(("NaN", "+inf", "-inf", "matrix", "one number"), weights),
        **dict.fromkeys(("empty", "too short", "too long")),
    })  # fmt: skip
    yield Row("weighted_chi2_sf", "weights", "negative", lambda: weighted_chi2_sf(1.0, [-1.0, 1.0]), weights)


def _fit() -> pre.PosteriorRatio:
    return pre.PosteriorRatio().fit(X_P, X_Q)


def choosing() -> Iterator[Row]:
    """Radii and kernels, by noise or by folds."""
    for entry, call in (("automatic_radius", automatic_radius), ("cross_validated_radius", cross_validated_radius)):
        yield from problem(entry, "problem", call)
        says = "radius: … needs the p samples in memory; pass arrays, or a number as radius"
        yield Row(entry, "problem", "without a p side", lambda call=call: call(BARE), says)
        yield Row(entry, "problem", "read block by block", lambda call=call: call(BLOCKS), says)
    yield from share("automatic_radius", "alpha", lambda a: automatic_radius(PROBLEM, alpha=a))
    yield from count("automatic_radius", "draws", lambda n: automatic_radius(PROBLEM, draws=n))
    yield from count("cross_validated_radius", "folds", lambda n: cross_validated_radius(PROBLEM, folds=n))
    yield Row(
        "cross_validated_radius",
        "folds",
        "more than rows",
        lambda: cross_validated_radius(PROBLEM, folds=31),
        "folds, or cv: 31 are not possible with 30 and 40 rows; take fewer",
    )
    yield from flag("cross_validated_radius", "one_se", lambda v: cross_validated_radius(PROBLEM, one_se=v))
    yield from count("cross_validated_radius", "steps", lambda n: cross_validated_radius(PROBLEM, steps=n))
    yield from share("cross_validated_radius", "span", lambda v: cross_validated_radius(PROBLEM, span=v))

    def kernel(**changes: Any) -> Any:
        given = {"kernel": pre.Kernel(), "x_p": X_P, "x_q": X_Q, "log_lik_p": None, "log_lik_q": None}
        return cross_validated_kernel(**{**given, **changes})

    for kind, value in {"name": "rbf", "None": None, "class": pre.Kernel}.items():
        yield Row(
            "cross_validated_kernel",
            "kernel",
            kind,
            lambda v=value: kernel(kernel=v),
            "kernel: must be a Kernel, not …",
        )
    for side, good in (("x_p", X_P), ("x_q", X_Q)):
        yield from matrix("cross_validated_kernel", side, lambda x, s=side: kernel(**{s: x}), good)
    yield Row(
        "cross_validated_kernel",
        "x_q",
        "another width",
        lambda: kernel(x_q=X_Q[:, :1]),
        "x_q: has 1 columns, x_p has 2",
    )
    for name, good in (("log_lik_p", np.zeros(30)), ("log_lik_q", np.zeros(40))):
        yield from log_weights(
            "cross_validated_kernel", name, lambda a, n=name: kernel(**{n: a}), good, says={"None": None}
        )
    yield from count("cross_validated_kernel", "folds", lambda n: kernel(folds=n))
    yield from flag("cross_validated_kernel", "paired", lambda v: kernel(paired=v))


def resampling() -> Iterator[Row]:
    """The bootstrap."""

    def call(**changes: Any) -> Any:
        return bootstrap(**{"problem": PROBLEM, "delta": DELTA, "replicates": 2, **changes})

    yield from problem("bootstrap", "problem", lambda p: call(problem=p))
    for kind, value in {"without a p side": BARE, "read block by block": BLOCKS}.items():
        says = "problem: has no p side in memory to resample; build it from arrays of samples"
        yield Row("bootstrap", "problem", kind, lambda v=value: call(problem=v), says)
    yield from vector("bootstrap", "delta", lambda d: call(delta=d), DELTA)
    yield from count("bootstrap", "replicates", lambda n: call(replicates=n))
    yield Row(
        "bootstrap",
        "replicates",
        "beyond what a computer counts",
        lambda: call(replicates=10**30),
        "replicates: 1000… is more than a computer can count out; at most 2147483647 are taken",
    )
    yield from flag("bootstrap", "progress", lambda v: call(progress=v))
    for kind, value in {"zero": 0, "fraction": 0.5, "text": "all", "None": None, "truth value": True}.items():
        says = f"jobs: {value!r} is not a number of processes; 1 stays in this one, -1 uses every core"
        yield Row("bootstrap", "jobs", kind, lambda v=value: call(jobs=v), says)
    for name in ("penalty", "constraints"):
        for kind, value in {"text": "l1", "number": 3.0}.items():
            yield Row("bootstrap", name, kind, lambda n=name, v=value: call(**{n: v}), f"{name}: must be a function…")


def looking() -> Iterator[Row]:
    """Diagnostics."""
    yield from problem("diagnose", "problem", lambda p: pre.diagnose(p, SOLUTION))
    no_side = "problem: has no p side; build it from samples"
    yield Row("diagnose", "problem", "without a p side", lambda: pre.diagnose(BARE, SOLUTION), no_side)
    for kind, value in {"array": DELTA, "None": None, "problem": PROBLEM}.items():
        says = "solution: must be a Solution, not …; solve() returns one"
        yield Row("diagnose", "solution", kind, lambda v=value: pre.diagnose(PROBLEM, v), says)
    other = pre.RatioProblem.from_samples(X_P[:, :1], X_Q[:, :1])
    fewer = pre.RatioProblem.from_samples(X_P, X_Q[:20])
    for kind, wrong in {"of other features": other, "of other rows": fewer}.items():
        says = (
            "solution: has … coefficients and … weights, the problem needs 2 and 40; pass the solution of this problem"
        )
        yield Row("diagnose", "solution", kind, lambda p=wrong: pre.diagnose(PROBLEM, pre.solve(p)), says)
    yield from log_weights("pareto_k", "log_weights", pareto_k, np.linspace(0.0, 1.0, 30), says={
        "too short": None, "too long": None,
    })  # fmt: skip


def theory() -> Iterator[Row]:
    """The paper's conditions as numbers."""
    zero = np.zeros(2)
    for entry, name, call in (
        ("conditions", "delta", conditions),
        ("min_eigenvalue_in_ball", "centre", min_eigenvalue_in_ball),
        ("weyl_bound", "centre", weyl_bound),
    ):
        yield from problem(entry, "problem", lambda p, call=call: call(p, zero, 0.1))
        says = "problem: is read block by block; use problem.in_memory()"
        yield Row(entry, "problem", "read block by block", lambda call=call: call(BLOCKS, zero, 0.1), says)
        yield from vector(entry, name, lambda d, call=call: call(PROBLEM, d, 0.1), zero)
        yield Row(
            entry, name, "beyond 1e100", lambda call=call: call(PROBLEM, [1e200, 0.0], 0.1), f"{name}: {LARGE[2:]}"
        )
        yield from number(entry, "radius", lambda r, call=call: call(PROBLEM, zero, r))
        yield Row(entry, "radius", "zero", lambda call=call: call(PROBLEM, zero, 0.0), "radius: must be positive")
        yield Row(entry, "radius", "negative", lambda call=call: call(PROBLEM, zero, -1.0), "radius: -1 is negative; …")
        yield from count(entry, "starts", lambda n, call=call: call(PROBLEM, zero, 0.1, starts=n), says={"zero": None})
    yield from problem("min_eigenvalue", "problem", lambda p: min_eigenvalue(p, zero))
    yield from vector("min_eigenvalue", "delta", lambda d: min_eigenvalue(PROBLEM, d), zero)
    yield from matrix(
        "weyl_bound",
        "reference",
        lambda S: weyl_bound(PROBLEM, zero, 0.1, reference=S),
        np.eye(2),
        says={"None": None},
    )
    square = "reference: must be a symmetric matrix of shape (2, 2)"
    for kind, value in {"another shape": np.eye(3), "not symmetric": [[1.0, 1.0], [0.0, 1.0]]}.items():
        yield Row("weyl_bound", "reference", kind, lambda v=value: weyl_bound(PROBLEM, zero, 0.1, reference=v), square)
    found = conditions(PROBLEM, zero, 0.1, starts=0)
    yield from number("Conditions.holds", "C_r", found.holds)
    for kind, value in {"zero": 0.0, "negative": -1.0}.items():
        says = f"C_r: {value:g} is not positive; the theorem asks for a number above 1"
        yield Row("Conditions.holds", "C_r", kind, lambda v=value: found.holds(v), says)


ROWS: list[Row] = [*uncertainty(), *choosing(), *resampling(), *looking(), *theory()]
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
