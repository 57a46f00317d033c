"""Rows about RatioProblem: constructors and methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import pre_convex as pre

from .kinds import (
    choice,
    flag,
    frames,
    function,
    layouts,
    log_weights,
    matrix,
    names,
    number,
    scalars,
    tables,
    types,
    vector,
)
from .rows import Row, Taken

F = np.random.default_rng(0).normal(size=(20, 2))
X = np.random.default_rng(1).normal(size=(15, 2))
A = np.linspace(-1.0, 1.0, 20)
AT = [0.3, -0.2]


def problem(**changes: Any) -> pre.RatioProblem:
    """A good problem with some arguments changed."""
    return pre.RatioProblem(**{"target": [0, 0], "features_q": F, **changes})


def samples(**changes: Any) -> pre.RatioProblem:
    """A good problem from samples with some arguments changed."""
    return pre.RatioProblem.from_samples(**{"x_p": X, "x_q": F, **changes})


def radius(entry: str, call: Any) -> list[Row]:
    """Rows for a radius, which is a number, an array or a dict."""
    return [
        *number(entry, "radius", call, skip=("array of two",)),
        *(
            Row(entry, "radius", kind, lambda bad=bad: call(bad))
            for kind, bad in {
                "an entry is negative": [0.1, -0.1],
                "an entry is nan": [0.1, np.nan],
                "an entry is beyond 1e100": [0.1, 1e101],
                "too many entries": [0.1, 0.1, 0.1],
                "two dimensions": [[0.1, 0.1]],
                "all features left out": [np.inf, np.inf],
                "unknown feature": {"nothing": 0.1},
                "negative in a dict": {...: -1.0},
                "text in a dict": {...: "small"},
            }.items()
        ),
        Row(entry, "radius", "negative", lambda: call(-1)),
        Row(entry, "radius", "beyond 1e100", lambda: call(1e101)),
    ]


def family(entry: str, call: Any, skip: tuple[str, ...] = ()) -> list[Row]:
    """Rows for divergence, bounds and max_weight of 20 rows."""
    bounds = {
        "None in a pair": (None, 2.0),
        "a number": 3.0,
        "text": "01",
        "three numbers": (0.0, 1.0, 2.0),
        "text in a pair": ("a", 2.0),
        "nan": (0.0, np.nan),
        "negative": (-0.1, 2.0),
        "reversed": (2.0, 0.5),
        "both below one": (0.1, 0.9),
        "both above one": (1.1, 2.0),
        "infinite lower bound": (np.inf, np.inf),
        "wrong length": (np.zeros(3), 2.0),
        "nan in an array": (0.0, np.full(20, np.nan)),
        "arrays that allow too little": (np.zeros(20), np.full(20, 0.9)),
        "boolean": (True, 2.0),
    }
    return [
        *choice(entry, "divergence", lambda d: call(divergence=d), skip=skip),
        *(Row(entry, "bounds", kind, lambda bad=bad: call(bounds=bad)) for kind, bad in bounds.items()),
        *number(entry, "max_weight", lambda w: call(max_weight=w), skip=("None",)),
        Row(entry, "max_weight", "zero", lambda: call(max_weight=0.0)),
        Row(entry, "max_weight", "below the average weight", lambda: call(max_weight=0.04)),
    ]


def features(entry: str, call: Any) -> list[Row]:
    """Rows for a feature map that is a name or a function."""
    return [
        *choice(entry, "features", call),
        *function(
            entry,
            "features",
            call,
            named=dict.fromkeys(("returns text", "returns complex numbers", "returns NaN"), "features(x_p)"),
        ),
        Row(
            entry,
            "features",
            "returns numbers beyond 1e100",
            lambda: call(lambda x: np.full(x.shape, 1e101)),
            named="features(x_p)",
        ),
        Row(
            entry,
            "features",
            "returns another width for x_q",
            lambda: call(lambda x: x if len(x) == len(X) else x[:, :1]),
            named="target" if entry.endswith("blocks") else "",
        ),
    ]


def delta(name: str) -> list[Row]:
    """Rows for a method of δ."""
    method = getattr(problem(), name)
    return [
        *vector(f"RatioProblem.{name}", "delta", method, np.zeros(2)),
        Row(f"RatioProblem.{name}", "delta", "beyond 1e150", lambda: method([1e151, 0.0])),
    ]


def mu(name: str) -> list[Row]:
    """Rows for a method of μ."""
    method = getattr(problem(), name)
    return [
        *vector(f"RatioProblem.{name}", "mu", method, np.full(20, 0.05)),
        Row(f"RatioProblem.{name}", "mu", "beyond 1e100", lambda: method(np.full(20, 1e101))),
    ]


def likelihood(entry: str, argument: str, call: Any, good: np.ndarray) -> list[Row]:
    """Rows for a log-likelihood, which is an array or a function."""
    return [
        *log_weights(entry, argument, call, good, skip=("None",)),
        *function(entry, argument, call),
        Row(entry, argument, "returns -inf everywhere", lambda: call(lambda x: np.full(len(x), -np.inf))),
    ]


MEAN = F.mean(axis=0)
ROWS: list[Row] = [
    *matrix("RatioProblem", "features_q", lambda x: problem(features_q=x), F),
    *frames("RatioProblem", "features_q", lambda x: problem(features_q=x)),
    Row("RatioProblem", "features_q", "beyond 1e100", lambda: problem(features_q=F * 1e101)),
    Row("RatioProblem", "features_q", "denormal", lambda: problem(features_q=F * [1.0, 1e-310])),
    *vector("RatioProblem", "target", lambda x: problem(target=x), np.zeros(2)),
    Row("RatioProblem", "target", "beyond 1e150", lambda: problem(target=[0.0, 1e151])),
    *log_weights("RatioProblem", "log_base", lambda x: problem(log_base=x), A, skip=("None",)),
    *radius("RatioProblem", lambda r: problem(radius=r)),
    *family("RatioProblem", problem),
    *choice("RatioProblem", "norm", lambda p: problem(norm=p)),
    Row("RatioProblem", "norm", "bool", lambda: problem(norm=True)),
    *names("RatioProblem", "feature_names", lambda n: problem(feature_names=n)),
    *matrix("RatioProblem", "features_p", lambda x: problem(target=MEAN, features_p=x), F, skip=("None",)),
    Row("RatioProblem", "features_p", "another width", lambda: problem(target=MEAN, features_p=F[:, :1])),
    Row("RatioProblem", "features_p", "another mean", lambda: problem(target=[9, 9], features_p=F), named="target"),
    *log_weights(
        "RatioProblem",
        "log_weights_p",
        lambda a: problem(target=MEAN, features_p=F, log_weights_p=a),
        A,
        skip=("None",),
    ),
    Row(
        "RatioProblem",
        "log_weights_p",
        "without features_p",
        lambda: problem(log_weights_p=np.zeros(3)),
        named="features_p",
    ),
    *flag("RatioProblem", "paired", lambda p: problem(target=MEAN, features_p=F, paired=p)),
    Row(
        "RatioProblem",
        "paired",
        "mismatched lengths",
        lambda: problem(target=F[:9].mean(axis=0), features_p=F[:9], paired=True),
    ),
    *matrix("RatioProblem.from_samples", "x_p", lambda x: samples(x_p=x), X),
    *frames("RatioProblem.from_samples", "x_p", lambda x: samples(x_p=x)),
    *matrix("RatioProblem.from_samples", "x_q", lambda x: samples(x_q=x), F),
    *frames("RatioProblem.from_samples", "x_q", lambda x: samples(x_q=x)),
    Row("RatioProblem.from_samples", "x_q", "another width", lambda: samples(x_q=F[:, :1])),
    Row("RatioProblem.from_samples", "x_q", "labels", lambda: samples(x_q=np.zeros(15))),
    Row(
        "RatioProblem.from_samples",
        "x_q",
        "other columns",
        lambda: samples(x_p=pd.DataFrame(X, columns=["a", "b"]), x_q=pd.DataFrame(F, columns=["a", "c"])),
    ),
    Row(
        "RatioProblem.from_samples",
        "x_q",
        "extra column",
        lambda: samples(
            x_p=pd.DataFrame(X, columns=["a", "b"]), x_q=pd.DataFrame(np.c_[F, A], columns=["a", "b", "c"])
        ),
    ),
    *likelihood("RatioProblem.from_samples", "log_lik_p", lambda a: samples(x_p=F, log_lik_p=a), A),
    *likelihood("RatioProblem.from_samples", "log_lik_q", lambda a: samples(log_lik_q=a), A),
    *features("RatioProblem.from_samples", lambda f: samples(features=f)),
    *radius("RatioProblem.from_samples", lambda r: samples(radius=r)),
    *family("RatioProblem.from_samples", samples),
    *choice("RatioProblem.from_samples", "norm", lambda p: samples(norm=p)),
    *flag("RatioProblem.from_samples", "paired", lambda p: samples(x_p=F, paired=p)),
    Row("RatioProblem.from_samples", "paired", "mismatched lengths", lambda: samples(paired=True)),
    *radius("RatioProblem.with_radius", lambda r: problem().with_radius(r)),
    *choice("RatioProblem.with_radius", "norm", lambda p: problem().with_radius(0.1, p), skip=("None",)),
    *(row for name in ("value", "gradient", "hessian", "log_mu", "mu", "intercept", "tilt") for row in delta(name)),
    *flag("RatioProblem.tilt", "covariance", lambda c: problem().tilt(AT, covariance=c)),
    *(row for name in ("dual_value", "residual") for row in mu(name)),
]
ORDERED = pd.DataFrame(F, columns=["a", "b"])


def gradient(**changes: Any) -> Any:
    """Gradient of a problem with some arguments changed."""
    return problem(**changes).gradient(AT)


def sampled(**changes: Any) -> Any:
    """Gradient of a problem from samples with some arguments changed."""
    return samples(**changes).gradient(AT)


TAKEN: list[Taken] = [
    *layouts("RatioProblem", "features_q", lambda x: pre.solve(problem(features_q=x)).delta, F),
    *types("RatioProblem", "features_q", lambda x: gradient(features_q=x), F),
    *tables("RatioProblem", "features_q", lambda x: gradient(features_q=x), F),
    *layouts("RatioProblem", "target", lambda b: gradient(target=b), np.array([0.1, 0.2])),
    *types("RatioProblem", "target", lambda b: gradient(target=b), np.array([0.1, 0.2])),
    *layouts("RatioProblem", "log_base", lambda a: gradient(log_base=a), A),
    *types("RatioProblem", "log_base", lambda a: gradient(log_base=a), A),
    Taken(
        "RatioProblem",
        "log_base",
        "numbers from -1e308 to 1e308",
        lambda a: gradient(log_base=a),
        lambda: np.where(A > 0, 1e308, -1e308),
        lambda: np.where(A > 0, 0.0, -np.inf),
    ),
    *scalars("RatioProblem", "radius", lambda r: problem(radius=r).value(AT), 0.25),
    *layouts("RatioProblem.from_samples", "x_q", lambda x: sampled(x_q=x), F),
    *types("RatioProblem.from_samples", "x_q", lambda x: sampled(x_q=x), F),
    *tables("RatioProblem.from_samples", "x_q", lambda x: sampled(x_q=x), F),
    *layouts("RatioProblem.from_samples", "x_p", lambda x: sampled(x_p=x), X),
    *types("RatioProblem.from_samples", "x_p", lambda x: sampled(x_p=x), X),
    *tables("RatioProblem.from_samples", "x_p", lambda x: sampled(x_p=x), X),
    Taken(
        "RatioProblem.from_samples",
        "x_q",
        "reordered columns",
        lambda x: sampled(x_p=pd.DataFrame(X, columns=["a", "b"]), x_q=x),
        lambda: ORDERED[["b", "a"]],
        lambda: ORDERED,
    ),
    *layouts("RatioProblem.from_samples", "log_lik_q", lambda a: sampled(log_lik_q=a), A),
    *layouts("RatioProblem.from_samples", "log_lik_p", lambda a: sampled(x_p=F, log_lik_p=a), A),
    *layouts("RatioProblem.value", "delta", lambda d: problem().value(d), np.array(AT)),
    *layouts("RatioProblem.residual", "mu", lambda m: problem().residual(m), np.full(20, 0.05)),
]
