"""Rows about logistic problems and the estimator made from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pre_convex as pre

from .estimators import NEW, frame, wrong_columns
from .kinds import (
    choice,
    flag,
    frames,
    function,
    layouts,
    matrix,
    names,
    number,
    settings,
    share,
    tables,
    tolerance,
    vector,
)
from .kinds import problem as no_problem
from .problems import radius
from .rows import Known, Row, Taken

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(0.3, 1.0, (30, 2)), RNG.normal(0.0, 1.0, (40, 2))
L_P, L_Q = np.linspace(-1.0, 1.0, 30), np.linspace(1.0, -1.0, 40)
GOOD: dict[str, Any] = {"features_p": X_P, "features_q": X_Q}
PROBLEM = pre.LogisticProblem(X_P, X_Q)


def problem(**changes: Any) -> pre.LogisticProblem:
    """A good problem with some arguments changed."""
    return pre.LogisticProblem(**{**GOOD, **changes})


def samples(**changes: Any) -> pre.LogisticProblem:
    """A good problem from samples with some arguments changed."""
    return pre.LogisticProblem.from_samples(**{"x_p": X_P, "x_q": X_Q, **changes})


def likelihoods(entry: str, call: Any) -> list[Row]:
    """Rows for a log-likelihood, which is needed at both samples; ``call`` takes it by name."""
    inf = np.full(30, -np.inf)
    kinds = {
        "one array": L_P,
        "a number": 1.0,
        "three arrays": (L_P, L_Q, L_Q),
        "pair in the wrong order": (L_Q, L_P),
        "pair with NaN": (np.where(L_P > 0.9, np.nan, L_P), L_Q),
        "pair with +inf": (np.where(L_P > 0.9, np.inf, L_P), L_Q),
        "pair of text": ("a", "b"),
        "-inf for one likelihood only": (np.where(L_P > 0.9, -np.inf, L_P), L_Q),
        "-inf for all p rows": (inf, L_Q),
    }
    return [
        Row(entry, name, kind, lambda name=name, value=value: call(**{name: value}))
        for name in ("log_lik_p", "log_lik_q")
        for kind, value in kinds.items()
    ]


def fitted(**parameters: Any) -> pre.LogisticRatio:
    """A fitted estimator."""
    return pre.LogisticRatio(**parameters).fit(X_P, X_Q)


FIT = fitted()
FRAMED = pre.LogisticRatio().fit(frame(rows=X_P), frame(rows=X_Q))


def parameters() -> Iterator[Row]:
    """Rows for the parameters of the estimator, which are checked by fit."""
    entry = "LogisticRatio"
    yield from radius(entry, lambda r: fitted(radius=r))
    for kind, value in {"automatic": "auto", "cross-validated": "cv"}.items():
        yield Row(entry, "radius", kind, lambda v=value: fitted(radius=v))
    yield Row(entry, "radius", "zero with a kernel", lambda: fitted(features="kernel"))
    yield from choice(entry, "norm", lambda v: fitted(norm=v), skip=("None",))
    yield from choice(entry, "features", lambda v: fitted(features=v))
    yield Row(entry, "radius", "with automatic features", lambda: fitted(features="auto", radius=0.5))
    yield Row(entry, "features", "kernel with a search", lambda: fitted(features=pre.Kernel(length_scale="cv")))
    yield from choice(entry, "formulation", lambda v: fitted(formulation=v))
    for kind, value in {"unknown name": "nonsense", "number": 7, "None": None}.items():
        yield Row(entry, "solver", kind, lambda v=value: fitted(solver=v), error=pre.UnknownSolverError)
    for name in ("penalty", "constraints"):
        for kind, value in {"text": "l3", "number": 3.0}.items():
            yield Row(entry, name, kind, lambda n=name, v=value: fitted(**{n: v}))
    yield from tolerance(entry, lambda v: fitted(tol=v))
    yield from settings(entry, lambda v: fitted(settings=v))
    yield from flag(entry, "standardise", lambda v: fitted(standardise=v))
    yield from flag(entry, "paired", lambda v: fitted(paired=v))
    yield Row(entry, "random_state", "text", lambda: fitted(random_state="seed"))


def estimator() -> Iterator[Row]:
    """Rows for the methods of the estimator."""

    def fit(**changes: Any) -> Any:
        return pre.LogisticRatio().fit(**{"x_p": X_P, "x_q": X_Q, **changes})

    def score(**changes: Any) -> float:
        return FIT.score(**{"x_p": X_P, "x_q": X_Q, **changes})

    for entry, call in (("LogisticRatio.fit", fit), ("LogisticRatio.score", score)):
        for side, good in (("x_p", X_P), ("x_q", X_Q)):
            yield from matrix(entry, side, lambda x, call=call, side=side: call(**{side: x}), good)
        yield from likelihoods(entry, call)
        for name in ("log_lik_p", "log_lik_q"):
            yield from function(entry, name, lambda f, call=call, name=name: call(**{name: f}))
    yield from matrix("LogisticRatio.ratio", "x", FIT.ratio, NEW)
    yield from wrong_columns("LogisticRatio.ratio", "x", FRAMED.ratio)
    yield from choice("LogisticRatio.inference", "kind", lambda v: FIT.inference(kind=v))
    yield from choice("LogisticRatio.summary", "kind", lambda v: FIT.summary(kind=v))
    yield from share("LogisticRatio.summary", "level", lambda v: FIT.summary(level=v))
    yield Row("LogisticRatio.bootstrap", "self", "any", lambda: FIT.bootstrap(), named="LogisticRatio")
    yield Row("LogisticRatio.specification_test", "radius", "positive", fitted(radius=0.1).specification_test)
    yield Row("LogisticRatio.inference", "radius", "positive", fitted(radius=0.1).inference)
    yield Row("LogisticRatio.inference", "penalty", "given", lambda: fitted(penalty=lambda d: d[0] ** 2).inference())
    for name in ("ratio", "diagnostics", "summary", "inference", "score", "specification_test"):
        arguments: tuple[Any, ...] = {"ratio": (NEW,), "score": (X_P, X_Q)}.get(name, ())
        yield Row(
            f"LogisticRatio.{name}", "self", "not fitted",
            lambda name=name, a=arguments: getattr(pre.LogisticRatio(), name)(*a),
            error=pre.UnfittedError, named="LogisticRatio",
        )  # fmt: skip
    yield from no_problem("specification_test", "problem", pre.specification_test)
    yield Row("specification_test", "problem", "with a radius", lambda: pre.specification_test(problem(radius=0.1)))
    yield Row(
        "specification_test",
        "solution",
        "not a solution",
        lambda: pre.specification_test(PROBLEM, 3),  # type: ignore[arg-type]
    )


ROWS: list[Row] = [
    *parameters(),
    *estimator(),
    *(
        row
        for side, good in GOOD.items()
        for row in matrix("LogisticProblem", side, lambda x, side=side: problem(**{side: x}), good)
    ),
    *likelihoods("LogisticProblem", problem),
    *radius("LogisticProblem", lambda r: problem(radius=r)),
    *choice("LogisticProblem", "norm", lambda v: problem(norm=v)),
    *names("LogisticProblem", "feature_names", lambda v: problem(feature_names=v)),
    *flag("LogisticProblem", "paired", lambda v: problem(paired=v)),
    Row("LogisticProblem", "paired", "other rows", lambda: problem(paired=True)),
    *(
        row
        for side, good in (("x_p", X_P), ("x_q", X_Q))
        for row in (
            *matrix("LogisticProblem.from_samples", side, lambda x, side=side: samples(**{side: x}), good),
            *frames("LogisticProblem.from_samples", side, lambda x, side=side: samples(**{side: x})),
        )
    ),
    *likelihoods("LogisticProblem.from_samples", samples),
    *(
        row
        for name in ("log_lik_p", "log_lik_q")
        for row in function("LogisticProblem.from_samples", name, lambda f, name=name: samples(**{name: f}))
    ),
    *choice("LogisticProblem.from_samples", "features", lambda v: samples(features=v)),
    *radius("LogisticProblem.from_samples", lambda r: samples(radius=r)),
    *choice("LogisticProblem.from_samples", "norm", lambda v: samples(norm=v)),
    *flag("LogisticProblem.from_samples", "paired", lambda v: samples(paired=v)),
    *radius("LogisticProblem.with_radius", PROBLEM.with_radius),
    *choice("LogisticProblem.with_radius", "norm", lambda v: PROBLEM.with_radius(0.1, v), skip=("None",)),
    *vector("LogisticProblem.value", "delta", lambda d: PROBLEM.value(0.0, d), np.array([0.3, -0.2])),
    *number("LogisticProblem.value", "intercept", lambda v: PROBLEM.value(v, [0.0, 0.0])),
    *vector("LogisticProblem.best_intercept", "delta", PROBLEM.best_intercept, np.array([0.3, -0.2])),
    Row("solve", "problem", "separable samples", lambda: pre.solve(problem(features_p=X_P + 99.0)),
        error=pre.SeparationError),
    *(
        Row(entry, argument, "for a logistic problem", call)
        for entry, argument, call in (
            ("solve", "weight_penalty", lambda: pre.solve(PROBLEM, weight_penalty=lambda mu: 0.0)),
            ("solve", "weight_constraints", lambda: pre.solve(PROBLEM, weight_constraints=lambda mu: [])),
            ("certify", "mu", lambda: pre.certify(PROBLEM, [0.0, 0.0], mu=L_Q)),
            ("dual_program", "counts", lambda: pre.dual_program(PROBLEM, counts=True)),
            ("dual_program", "weight_penalty", lambda: pre.dual_program(PROBLEM, weight_penalty=lambda mu: 0.0)),
            ("verify", "problem", lambda: pre.verify(PROBLEM, [0.0, 0.0])),
        )
    ),
]  # fmt: skip
TAKEN: list[Taken] = [
    *layouts("LogisticProblem", "features_q", lambda x: pre.solve(problem(features_q=x)).delta, X_Q),
    *tables("LogisticProblem.from_samples", "x_q", lambda x: pre.solve(samples(x_q=x)).delta, X_Q),
]
KNOWN: list[Known] = [
    Known(
        "LogisticProblem", "features_q", "equal samples", lambda: pre.solve(problem(features_q=X_P)).delta, [0.0, 0.0]
    ),
]
EXEMPT = {
    **{
        f"LogisticProblem.{name}": "called by the engines"
        for name in ("in_units", "theta", "intercept_of", "scores", "probabilities", "weights")
    },
    **dict.fromkeys(("LogisticRatio.bootstrap", "LogisticRatio.debiased"), "always raises"),
}
