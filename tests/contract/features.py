"""Rows about feature maps, kernels and likelihoods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pre_convex as pre
from pre_convex.data.features import FromCallable, make_features

from .kinds import FUNCTION, choice, count, fails, flag, frames, function, layouts, matrix, number, tables, vector
from .rows import Known, OwnError, Row, Taken

X = np.random.default_rng(0).normal(size=(6, 3))
KERNEL = pre.Kernel().fitted(X)
MAPS: dict[str, Any] = {
    "Linear": pre.Linear(),
    "Polynomial": pre.Polynomial(2, interactions=True),
    "Autocorrelation": pre.Autocorrelation(1),
    "LagProducts": pre.LagProducts(),
    "Concatenation": pre.Linear() + pre.LagProducts(),
    "Kernel": KERNEL,
}
#: kinds that feature maps do not check, because they see millions of rows; the features are checked later
LATER = ("NaN", "+inf", "-inf", "no rows", "no columns")


def probabilities(x: Any) -> np.ndarray:
    """Probabilities of two classes."""
    return np.tile([0.3, 0.7], (len(x), 1))


def maps() -> Iterator[Row]:
    """Rows for feature maps."""
    for name, f in MAPS.items():
        yield from matrix(f"{name}.__call__", "x", f, X, skip=("no columns",) if name == "Kernel" else LATER)
        yield from frames(f"{name}.__call__", "x", f)
        if name not in ("Autocorrelation", "Kernel"):  # whose names are their own
            for kind, value in {"one text": "abc", "number": 3, "set": {"a", "b"}}.items():
                yield Row(f"{name}.names", "columns", kind, lambda f=f, v=value: f.names(v))
    yield from count("Polynomial", "degree", pre.Polynomial)
    yield from flag("Polynomial", "interactions", lambda v: pre.Polynomial(2, v))
    yield from count("Autocorrelation", "lags", pre.Autocorrelation)
    yield from count("LagProducts", "lag", pre.LagProducts)
    for name, made in (("Autocorrelation", pre.Autocorrelation(3)), ("LagProducts", pre.LagProducts(3))):
        yield Row(
            f"{name}.__call__",
            "x",
            "too few time points",
            lambda f=made: f(X),
            named="lags" if name == "Autocorrelation" else "lag",
        )
    for kind, value in {"empty": (), "text": "linear", "None": None, "number": 3, "one map": pre.Linear()}.items():
        yield Row("Concatenation", "parts", kind, lambda v=value: pre.Concatenation(v))
    for entry, call in (
        ("Concatenation", lambda v: pre.Concatenation((v,))),
        ("make_features", make_features),
        ("Linear.__add__", lambda v: pre.Linear() + v),
    ):
        argument = {"Concatenation": "parts", "make_features": "features"}.get(entry, "other")
        for kind, value in {"a number": 3, "a list": ["linear"], "nothing": None}.items():
            yield Row(entry, argument, kind, lambda call=call, v=value: call(v), named="features")
        yield Row(entry, argument, "unknown name", lambda call=call: call("spline"), named="features")
        yield Row(entry, argument, "a class", lambda call=call: call(pre.Linear), named="features")
    for kind, value in {"text": "linear", "None": None, "number": 3}.items():
        yield Row("FromCallable", "function", kind, lambda v=value: FromCallable(v))
    for entry, call in (
        ("FromCallable", lambda f: FromCallable(f)(X)),
        ("Concatenation", lambda f: pre.Concatenation((pre.Linear(), f))(X)),
    ):
        argument = "function" if entry == "FromCallable" else "parts"
        if entry == "FromCallable":
            yield Row(entry, argument, "raises", lambda call=call: call(fails), error=OwnError)
        for kind in ("returns None", "returns one number", "returns too few rows", "returns three dimensions"):
            yield Row(entry, argument, kind, lambda call=call, f=FUNCTION[kind]: call(f), named="features")
        yield Row(entry, argument, "returns ragged rows", lambda c=call: c(lambda x: [[1], [1, 2]]), named="features")


def kernels() -> Iterator[Row]:
    """Rows for kernels."""
    yield from choice("Kernel", "kind", pre.Kernel)
    yield from count("Kernel", "degree", lambda v: pre.Kernel("polynomial", degree=v))
    yield from count("Kernel", "landmarks", lambda v: pre.Kernel(landmarks=v), skip=("None",))
    for kind, value in {
        "zero": 0.0,
        "negative": -1.0,
        "NaN": np.nan,
        "+inf": np.inf,
        "too small to be squared": 1e-200,
        "too large to be squared": 1e200,
        "text": "mean",
        "None": None,
        "bool": True,
        "array of two": np.ones(2),
    }.items():
        yield Row("Kernel", "length_scale", kind, lambda v=value: pre.Kernel(length_scale=v))
    yield from matrix("Kernel.fitted", "x", lambda x: pre.Kernel().fitted(x), X)
    yield from frames("Kernel.fitted", "x", lambda x: pre.Kernel().fitted(x))
    yield Row("Kernel.fitted", "x", "beyond 1e100", lambda: pre.Kernel().fitted(X * 1e200))
    yield Row(
        "Kernel.fitted",
        "x",
        "a power that overflows",
        lambda: pre.Kernel("polynomial", 1.0, degree=400).fitted(X * 1e3),
    )
    yield Row("Kernel.fitted", "length_scale", "cross-validated", lambda: pre.Kernel(length_scale="cv").fitted(X))
    gram = pre.Kernel(length_scale=1.0).gram
    yield from matrix("Kernel.gram", "x", lambda x: gram(x, X), X)
    yield from matrix("Kernel.gram", "y", lambda y: gram(X, y), X)
    yield Row("Kernel.gram", "y", "another width", lambda: gram(X, X[:, :1]))
    yield Row("Kernel.gram", "length_scale", "not known yet", lambda: pre.Kernel().gram(X, X))
    yield Row("Kernel.__call__", "x", "another width", lambda: KERNEL(X[:, :1]))
    yield Row("Kernel.__call__", "points", "not fitted", lambda: pre.Kernel()(X), named="features")


def likelihoods() -> Iterator[Row]:
    """Rows for likelihoods."""
    y = np.zeros(3)
    yield from vector(
        "Gaussian", "observation", pre.Gaussian, y, skip=("too short", "too long", "one number", "matrix")
    )
    yield Row("Gaussian.__call__", "observation", "another length", lambda: pre.Gaussian([0.0, 0.0])(X))
    yield from vector(
        "Gaussian",
        "precision",
        lambda t: pre.Gaussian(y, t),
        np.ones(3),
        skip=("too short", "too long", "empty", "matrix", "one number", "None"),
    )
    for kind, value in {"zero": 0.0, "negative": -1.0, "one of them zero": [1.0, 0.0, 1.0]}.items():
        yield Row("Gaussian", "precision", kind, lambda v=value: pre.Gaussian(y, v))
    for kind, value in {"too few": [1.0, 1.0], "matrix": np.eye(3)}.items():
        yield Row("Gaussian", "precision", kind, lambda v=value: pre.Gaussian(y, v))
    yield Row("Gaussian", "precision", "beside a covariance", lambda: pre.Gaussian(y, 1.0, np.eye(3)))
    yield from matrix("Gaussian", "covariance", lambda S: pre.Gaussian(y, None, S), np.eye(3), skip=("None",))
    for kind, value in {
        "another shape": np.eye(2),
        "not symmetric": np.triu(np.ones((3, 3))),
        "singular": np.ones((3, 3)),
        "negative": -np.eye(3),
    }.items():
        yield Row("Gaussian", "covariance", kind, lambda v=value: pre.Gaussian(y, None, v))
    yield from matrix("Gaussian.__call__", "x", pre.Gaussian(y), X, skip=LATER)
    for kind, value in {"text": "model", "None": None, "class": dict, "number": 3}.items():
        yield Row("ClassProbability", "predict_proba", kind, lambda v=value: pre.ClassProbability(v, 1))
    yield from function("ClassProbability", "predict_proba", lambda f: pre.ClassProbability(f, 0)(X))
    for kind, times in {"returns scores above 1": 3.0, "returns negative scores": -1.0}.items():
        yield Row(
            "ClassProbability",
            "predict_proba",
            kind,
            lambda t=times: pre.ClassProbability(lambda x: t * probabilities(x), 1)(X),
        )
    for kind, value in {"text": "yes", "None": None, "fraction": 0.5, "bool": True}.items():
        yield Row("ClassProbability", "index", kind, lambda v=value: pre.ClassProbability(probabilities, v))
    yield Row(
        "ClassProbability",
        "index",
        "no such class",
        lambda: pre.ClassProbability(probabilities, 2)(X),
        named="predict_proba",
    )
    yield from number("ClassProbability", "floor", lambda v: pre.ClassProbability(probabilities, 1, v))
    for kind, value in {"one": 1.0, "negative": -0.1}.items():
        yield Row("ClassProbability", "floor", kind, lambda v=value: pre.ClassProbability(probabilities, 1, v))
    yield from matrix(
        "ClassProbability.__call__",
        "x",
        pre.ClassProbability(probabilities, 1),
        X,
        skip=("NaN", "+inf", "-inf", "no columns"),
        named={"no rows": "predict_proba"},
    )


ROWS: list[Row] = [*maps(), *kernels(), *likelihoods()]
TAKEN: list[Taken] = [
    *(row for name, f in MAPS.items() for row in layouts(f"{name}.__call__", "x", f, X)),
    *(row for name, f in MAPS.items() for row in tables(f"{name}.__call__", "x", f, X)),
    *layouts("Kernel.fitted", "x", lambda x: pre.Kernel().fitted(x)(X), X),
    *layouts("Gaussian.__call__", "x", pre.Gaussian([0.0, 1.0, 2.0]), X),
    *tables("Gaussian.__call__", "x", pre.Gaussian([0.0, 1.0, 2.0]), X),
    Taken(
        "LagProducts",
        "lag",
        "a count of one byte",
        lambda lag: pre.LagProducts(lag)(X),
        lambda: np.uint8(1),
        lambda: 1,
    ),
    Taken(
        "Concatenation",
        "parts",
        "names and functions",
        lambda parts: pre.Concatenation(parts)(X),
        lambda: ["linear", lambda x: x[:, :1] * x[:, 1:2]],
        lambda: (pre.Linear(), FromCallable(lambda x: x[:, 0] * x[:, 1])),
    ),
]
KNOWN: list[Known] = [
    Known(
        "Gaussian.__call__",
        "x",
        "so far away that its square overflows",
        lambda: pre.Gaussian([0.0])([[1e200]]),
        [-np.inf],
    ),
    Known("Autocorrelation.__call__", "x", "a constant row", lambda: pre.Autocorrelation(1)(np.ones((1, 4))), [[0.0]]),
    Known(
        "ClassProbability",
        "floor",
        "zero",
        lambda: pre.ClassProbability(lambda x: np.eye(2)[:1], 1, 0.0)(X[:1]),
        [-np.inf],
    ),
]
