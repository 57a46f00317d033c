"""Feature maps, kernels and likelihoods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pre_convex as pre
from pre_convex.features import FromCallable, make_features

from .kinds import FUNCTION, choice, count, flag, frames, function, layouts, matrix, number, tables, vector
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
#: what a map lets through, since blocks of millions of rows pass it: those who use the features name the place
LATER = dict.fromkeys(("NaN", "+inf", "-inf", "no rows", "no columns"))


def probabilities(x: Any) -> np.ndarray:
    """Chances of two classes."""
    return np.tile([0.3, 0.7], (len(x), 1))


def fails(x: Any) -> Any:
    """A function with an error of its own."""
    raise OwnError("my own words")


def maps() -> Iterator[Row]:
    """Samples, numbers and names."""
    for name, f in MAPS.items():
        yield from matrix(f"{name}.__call__", "x", f, X, says={"no columns": None} if name == "Kernel" else LATER)
        yield from frames(f"{name}.__call__", "x", f)
        if name not in ("Autocorrelation", "Kernel"):  # whose names are their own
            for kind, value in {"one text": "abc", "number": 3, "set": {"a", "b"}}.items():
                yield Row(
                    f"{name}.names",
                    "columns",
                    kind,
                    lambda f=f, v=value: f.names(v),
                    "columns: must be a sequence of names, not …",
                )
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
            "lag…: 3 … rows of more than 3 time points, not 3",
        )
    for kind, value in {"empty": (), "text": "linear", "None": None, "number": 3, "one map": pre.Linear()}.items():
        says = "parts: … is not a sequence of feature maps, such as [Linear(), Polynomial()]"
        yield Row("Concatenation", "parts", kind, lambda v=value: pre.Concatenation(v), says)
    unknown = "features: … is neither a name, a feature map nor a function"
    for entry, call in (
        ("Concatenation", lambda v: pre.Concatenation((v,))),
        ("make_features", make_features),
        ("Linear.__add__", lambda v: pre.Linear() + v),
    ):
        argument = {"Concatenation": "parts", "make_features": "features"}.get(entry, "other")
        for kind, value in {"a number": 3, "a list": ["linear"], "nothing": None}.items():
            yield Row(entry, argument, kind, lambda call=call, v=value: call(v), unknown)
        yield Row(
            entry, argument, "unknown name", lambda call=call: call("spline"), "features: 'spline' is not known; …"
        )
        yield Row(
            entry, argument, "a class", lambda call=call: call(pre.Linear), "features: Linear is a class; write …"
        )
    for kind, value in {"text": "linear", "None": None, "number": 3}.items():
        yield Row(
            "FromCallable", "function", kind, lambda v=value: FromCallable(v), "function: … is not a function of …"
        )
    shape = "features: returned shape … for 6 samples; return shape (n, k)"
    for entry, call in (
        ("FromCallable", lambda f: FromCallable(f)(X)),
        ("Concatenation", lambda f: pre.Concatenation((pre.Linear(), f))(X)),
    ):
        argument = "function" if entry == "FromCallable" else "parts"
        if entry == "FromCallable":
            yield Row(entry, argument, "raises", lambda call=call: call(fails), "my own words", OwnError)
        for kind in ("returns None", "returns one number", "returns too few rows", "returns three dimensions"):
            yield Row(entry, argument, kind, lambda call=call, f=FUNCTION[kind][0]: call(f), shape)
        ragged = "features: returned what is no array (…); return shape (n, k)"
        yield Row(entry, argument, "returns rows of many lengths", lambda c=call: c(lambda x: [[1], [1, 2]]), ragged)


def kernels() -> Iterator[Row]:
    """Kernels: parameters, and points that they are fitted to."""
    yield from choice("Kernel", "kind", pre.Kernel)
    yield from count("Kernel", "degree", lambda v: pre.Kernel("polynomial", degree=v))
    yield from count("Kernel", "landmarks", lambda v: pre.Kernel(landmarks=v), says={"None": None})
    for kind, value in {
        "zero": 0.0,
        "negative": -1.0,
        "NaN": np.nan,
        "+inf": np.inf,
        "too small to be squared": 1e-200,
        "too large to be squared": 1e200,
        "text": "mean",
        "None": None,
        "truth value": True,
        "array of two": np.ones(2),
    }.items():
        yield Row(
            "Kernel",
            "length_scale",
            kind,
            lambda v=value: pre.Kernel(length_scale=v),
            "length_scale: … is neither a positive number, 1e-100 to 1e100, 'median' nor 'cv'",
        )
    yield from matrix("Kernel.fitted", "x", lambda x: pre.Kernel().fitted(x), X)
    yield from frames("Kernel.fitted", "x", lambda x: pre.Kernel().fitted(x))
    yield Row(
        "Kernel.fitted",
        "x",
        "beyond 1e100",
        lambda: pre.Kernel().fitted(X * 1e200),
        "x: has distances beyond 1e100 or below 1e-100; rescale the columns",
    )
    yield Row(
        "Kernel.fitted",
        "x",
        "a power that overflows",
        lambda: pre.Kernel("polynomial", 1.0, degree=400).fitted(X * 1e3),
        "x: is so large that its kernel overflows; …",
    )
    yield Row(
        "Kernel.fitted",
        "length_scale",
        "cross-validated",
        lambda: pre.Kernel(length_scale="cv").fitted(X),
        "length_scale: 'cv' needs an estimator, which has two samples to hold out from",
    )
    gram = pre.Kernel(length_scale=1.0).gram
    yield from matrix("Kernel.gram", "x", lambda x: gram(x, X), X)
    yield from matrix("Kernel.gram", "y", lambda y: gram(X, y), X)
    yield Row("Kernel.gram", "y", "another width", lambda: gram(X, X[:, :1]), "y: has 1 columns, x has 3")
    yield Row(
        "Kernel.gram",
        "length_scale",
        "not known yet",
        lambda: pre.Kernel().gram(X, X),
        "length_scale: is not known before …",
    )
    yield Row(
        "Kernel.__call__",
        "x",
        "another width",
        lambda: KERNEL(X[:, :1]),
        "x: has 1 columns, the kernel was fitted to 3",
    )
    yield Row(
        "Kernel.__call__",
        "points",
        "not fitted",
        lambda: pre.Kernel()(X),
        "features: this kernel has no landmarks yet; …",
    )


def likelihoods() -> Iterator[Row]:
    """Likelihoods: observations, noise, classifiers."""
    y = np.zeros(3)
    finite = "observation: must be finite numbers, one for each column of the samples"
    odd = dict.fromkeys(("NaN", "+inf", "-inf", "empty", "too short", "too long", "one number", "matrix"))
    yield from vector("Gaussian", "observation", pre.Gaussian, y, says=odd)
    for kind, value in {"NaN": [np.nan, 0.0], "+inf": [np.inf, 0.0], "empty": []}.items():
        yield Row("Gaussian", "observation", kind, lambda v=value: pre.Gaussian(v), finite)
    yield Row(
        "Gaussian.__call__",
        "observation",
        "another length",
        lambda: pre.Gaussian([0.0, 0.0])(X),
        "observation: has 2 entries, the samples have 3 columns",
    )
    yield from vector(
        "Gaussian", "precision", lambda t: pre.Gaussian(y, t), np.ones(3), says={
            **dict.fromkeys(("NaN", "+inf", "-inf"), "precision: … is not positive; give inverse variances"),
            **dict.fromkeys(("too short", "too long", "empty", "matrix", "one number", "None")),
        },
    )  # fmt: skip
    for kind, value in {"zero": 0.0, "negative": -1.0, "one of them zero": [1.0, 0.0, 1.0]}.items():
        says = "precision: … is not positive; give inverse variances"
        yield Row("Gaussian", "precision", kind, lambda v=value: pre.Gaussian(y, v), says)
    for kind, value in {"too few": [1.0, 1.0], "matrix": np.eye(3)}.items():
        yield Row(
            "Gaussian",
            "precision",
            kind,
            lambda v=value: pre.Gaussian(y, v),
            "precision: must be one number or 3 of them",
        )
    yield Row(
        "Gaussian",
        "precision",
        "beside a covariance",
        lambda: pre.Gaussian(y, 1.0, np.eye(3)),
        "precision: give either a precision or a covariance",
    )
    yield from matrix("Gaussian", "covariance", lambda S: pre.Gaussian(y, None, S), np.eye(3), says={"None": None})
    square = "covariance: must be a symmetric matrix of shape (3, 3)"
    for kind, value, says in (
        ("another shape", np.eye(2), square),
        ("not symmetric", np.triu(np.ones((3, 3))), square),
        ("singular", np.ones((3, 3)), "covariance: is not positive definite"),
        ("negative", -np.eye(3), "covariance: is not positive definite"),
    ):
        yield Row("Gaussian", "covariance", kind, lambda v=value: pre.Gaussian(y, None, v), says)
    yield from matrix("Gaussian.__call__", "x", pre.Gaussian(y), X, says=LATER)
    for kind, value in {"text": "model", "None": None, "class": dict, "number": 3}.items():
        yield Row(
            "ClassProbability",
            "predict_proba",
            kind,
            lambda v=value: pre.ClassProbability(v, 1),
            "predict_proba: … is not a function of samples; pass model.predict_proba",
        )
    yield from function(
        "ClassProbability", "predict_proba", lambda f: pre.ClassProbability(f, 0)(X), says={
            "returns one number": "predict_proba: has 0 dimensions; pass one row for each sample, shape (n, d)",
            "returns three dimensions": "predict_proba: has 3 dimensions; pass one row for each sample, shape (n, d)",
            "returns too few rows": "predict_proba: returned shape (5, 1) for 6 samples and class 0",
            "returns NaN": "predict_proba: row 0, column 0 is nan (6 such entries); …",
        },
    )  # fmt: skip
    for kind, times in {"returns scores above 1": 3.0, "returns negative scores": -1.0}.items():
        yield Row(
            "ClassProbability",
            "predict_proba",
            kind,
            lambda t=times: pre.ClassProbability(lambda x: t * probabilities(x), 1)(X),
            "predict_proba: returned values that are not between 0 and 1; turn scores into probabilities first",
        )
    for kind, value in {"text": "yes", "None": None, "fraction": 0.5, "truth value": True}.items():
        says = f"index: {value!r} is not a whole number; give the column of the class"
        yield Row("ClassProbability", "index", kind, lambda v=value: pre.ClassProbability(probabilities, v), says)
    yield Row(
        "ClassProbability",
        "index",
        "no such class",
        lambda: pre.ClassProbability(probabilities, 2)(X),
        "predict_proba: returned shape (6, 2) for 6 samples and class 2",
    )
    yield from number("ClassProbability", "floor", lambda v: pre.ClassProbability(probabilities, 1, v))
    for kind, value in {"one": 1.0, "negative": -0.1}.items():
        says = f"floor: {value!r} is not a probability below 1"
        yield Row("ClassProbability", "floor", kind, lambda v=value: pre.ClassProbability(probabilities, 1, v), says)
    yield from matrix("ClassProbability.__call__", "x", pre.ClassProbability(probabilities, 1), X, says={
        **LATER, "no rows": "predict_proba: is empty, shape (0, 2); at least one row and one column are needed",
    })  # fmt: skip


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
