"""Rows about figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pre_convex as pre
from pre_convex import plots

from .kinds import count, flag, frames, function, matrix, names, number, share, vector
from .rows import Known, Row, Taken

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(0.3, 1.0, (30, 2)), RNG.normal(0.0, 1.0, (40, 2))
FIT = pre.PosteriorRatio().fit(X_P, X_Q)
INFERENCE = FIT.inference()
TABLE = pre.Balance().fit(X_Q, np.arange(40) % 2).balance_
SCAN = {"series": np.zeros(20), "times": np.arange(4, 10), "scores": np.ones(6)}
EFFECTS = {"names": ["a", "b"], "effect": np.array([1.0, -2.0])}
PLANE = {
    "points": X_Q,
    "probability": np.linspace(0.0, 1.0, 40),
    "coef": np.ones(2),
    "intercept": 0.1,
    "x": np.zeros(2),
}
PIXELS = {"image": np.eye(4), "superpixels": np.arange(16).reshape(4, 4) // 8, "value": np.array([1.0, -1.0])}


def scan(**changes: Any) -> Any:
    """A scan with some arguments changed."""
    return plots.plot_scan(**{**SCAN, **changes})


def effects(**changes: Any) -> Any:
    """Effects with some arguments changed."""
    return plots.plot_effects(**{**EFFECTS, **changes})


def plane(**changes: Any) -> Any:
    """Points in the plane with some arguments changed."""
    return plots.plot_boundary(**{**PLANE, **changes})


def pixels(**changes: Any) -> Any:
    """An image with some arguments changed."""
    return plots.plot_superpixels(**{**PIXELS, **changes})


def fits() -> Iterator[Row]:
    """Rows for plots of a fit."""
    for name, call in (
        ("plot_weights", plots.plot_weights),
        ("plot_balance", plots.plot_balance),
        ("plot_coefficients", plots.plot_coefficients),
        ("plot_ratio", lambda fit: plots.plot_ratio(fit, X_Q)),
    ):
        for kind, value in {"array": X_Q, "None": None, "problem": FIT.problem_, "class": pre.KLIEP}.items():
            yield Row(name, "fit", kind, lambda call=call, v=value: call(v))
        yield Row(
            name, "fit", "not fitted", lambda call=call: call(pre.KLIEP()), error=pre.UnfittedError, named="KLIEP"
        )
    yield Row("plot_balance", "fit", "constant features", lambda: plots.plot_balance(_constant()))
    yield from share("plot_coefficients", "level", lambda v: plots.plot_coefficients(FIT, level=v))
    yield from flag("plot_coefficients", "standardise", lambda v: plots.plot_coefficients(FIT, standardise=v))
    yield from matrix("plot_ratio", "x", lambda x: plots.plot_ratio(FIT, x), X_Q, skip=("None",))
    yield from frames("plot_ratio", "x", lambda x: plots.plot_ratio(FIT, x))
    yield Row("plot_ratio", "x", "another width", lambda: plots.plot_ratio(FIT, X_Q[:, :1]))
    yield from share("plot_ratio", "level", lambda v: plots.plot_ratio(FIT, X_Q, level=v))
    yield from flag("plot_ratio", "log", lambda v: plots.plot_ratio(FIT, X_Q, log=v))
    yield from vector("plot_ratio", "at", lambda v: plots.plot_ratio(FIT, X_Q, at=v), np.zeros(2), skip=("None",))
    yield Row("plot_ratio", "at", "beyond 1e100", lambda: plots.plot_ratio(FIT, X_Q, at=[1e200, 0.0]))
    for kind, value in {
        "unknown name": "z",
        "index beyond the columns": 2,
        "None": None,
        "fraction": 0.5,
        "bool": True,
        "one column twice": (0, 0),
        "none": (),
        "three": (0, 1, 0),
    }.items():
        yield Row("plot_ratio", "columns", kind, lambda v=value: plots.plot_ratio(FIT, X_Q, columns=v))
    for kind, value in {"array": X_Q, "None": None, "solution": FIT.solution_}.items():
        yield Row("plot_radius_path", "source", kind, lambda v=value: plots.plot_radius_path(v))
    yield Row(
        "plot_radius_path",
        "source",
        "not fitted",
        lambda: plots.plot_radius_path(pre.KLIEP()),
        error=pre.UnfittedError,
        named="KLIEP",
    )
    for kind, value in {
        "one radius": [0.1],
        "zero": [0.0, 0.1],
        "negative": [-0.1, 0.1],
        "NaN": [np.nan, 0.1],
        "text": ["a", "b"],
        "number": 0.1,
        "empty": [],
    }.items():
        yield Row("plot_radius_path", "radii", kind, lambda v=value: plots.plot_radius_path(FIT, v))


def _constant() -> pre.PosteriorRatio:
    return pre.KLIEP().fit(np.ones((4, 1)), np.ones((5, 1)))


def axes() -> Iterator[Row]:
    """Rows for axes that cannot be used."""
    calls = {
        "plot_weights": lambda ax: plots.plot_weights(FIT, ax=ax),
        "plot_balance": lambda ax: plots.plot_balance(FIT, ax=ax),
        "plot_coefficients": lambda ax: plots.plot_coefficients(FIT, ax=ax),
        "plot_ratio": lambda ax: plots.plot_ratio(FIT, X_Q, ax=ax),
        "plot_love": lambda ax: plots.plot_love(TABLE, ax=ax),
        "plot_qq": lambda ax: plots.plot_qq(X_Q, ax=ax),
        "plot_ellipse": lambda ax: plots.plot_ellipse(INFERENCE, ax=ax),
        "plot_effects": lambda ax: effects(ax=ax),
        "plot_boundary": lambda ax: plane(ax=ax),
        "plot_superpixels": lambda ax: pixels(ax=ax),
    }
    for name, call in calls.items():
        for kind, make in {
            "a figure": _figure,
            "text": lambda: "left",
            "array of axes": lambda: np.array([_figure().subplots()]),
            "polar axes": lambda: _figure().add_subplot(projection="polar"),
            "3D axes": lambda: _figure().add_subplot(projection="3d"),
            "removed axes": _removed,
        }.items():
            yield Row(name, "ax", kind, lambda call=call, make=make: call(make()))


def _figure() -> Any:
    from matplotlib.figure import Figure

    return Figure()


def _removed() -> Any:
    ax = _figure().subplots()
    ax.remove()
    return ax


def normality() -> Iterator[Row]:
    """Rows for plots of normality."""
    yield from vector("plot_qq", "z", plots.plot_qq, X_Q[:, 0], skip=("too short", "too long", "matrix", "one number"))
    yield Row("plot_qq", "z", "beyond 1e100", lambda: plots.plot_qq(X_Q * 1e200))
    yield from share("plot_qq", "level", lambda v: plots.plot_qq(X_Q, level=v))
    for kind, value in {"fit": FIT, "None": None, "array": X_Q}.items():
        yield Row("plot_ellipse", "inference", kind, lambda v=value: plots.plot_ellipse(v))
    for kind, value in {
        "one coefficient": (0,),
        "one of them twice": (1, 1),
        "number": 0,
        "unknown name": ("x0", "z"),
        "index beyond the features": (0, 2),
    }.items():
        yield Row("plot_ellipse", "pair", kind, lambda v=value: plots.plot_ellipse(INFERENCE, v))
    yield from share("plot_ellipse", "level", lambda v: plots.plot_ellipse(INFERENCE, level=v))
    yield from matrix("plot_ellipse", "points", lambda v: plots.plot_ellipse(INFERENCE, points=v), X_Q, skip=("None",))
    yield Row("plot_ellipse", "points", "another width", lambda: plots.plot_ellipse(INFERENCE, points=np.ones((3, 3))))


def scans() -> Iterator[Row]:
    """Rows for plots of scans."""
    yield from matrix("plot_scan", "series", lambda v: scan(series=v), np.zeros((20, 1)))
    yield from vector(
        "plot_scan",
        "times",
        lambda v: scan(times=v),
        SCAN["times"] * 1.0,
        named=dict.fromkeys(("too short", "too long"), "scores"),
    )
    yield Row("plot_scan", "times", "fractions", lambda: scan(times=SCAN["times"] + 0.5))
    yield from vector("plot_scan", "scores", lambda v: scan(scores=v), SCAN["scores"], skip=("NaN", "+inf", "-inf"))
    yield Row("plot_scan", "scores", "beyond 1e100", lambda: scan(scores=SCAN["scores"] * 1e200))
    yield from number("plot_scan", "threshold", lambda v: scan(threshold=v), skip=("NaN", "+inf", "-inf"))
    for kind, value in {"beyond the times": [6], "fraction": [0.5], "number": 3, "None": None}.items():
        yield Row("plot_scan", "peaks", kind, lambda v=value: scan(peaks=v))
    yield from count("plot_scan", "window", lambda v: scan(window=v), skip=("zero",))
    yield Row("plot_scan", "method", "number", lambda: scan(method=3))
    yield from number("plot_scan", "rate", lambda v: scan(rate=v), skip=("None",))
    yield Row("plot_scan", "rate", "zero", lambda: scan(rate=0.0))


def explanations() -> Iterator[Row]:
    """Rows for plots of explanations."""
    yield from names("plot_effects", "names", lambda v: effects(names=v), skip=("duplicate",))
    yield from vector(
        "plot_effects",
        "effect",
        lambda v: effects(effect=v),
        EFFECTS["effect"],
        named=dict.fromkeys(("too short", "too long"), "names"),
    )
    for name in ("lower", "upper"):
        for kind, value in {"too short": [1.0], "+inf": [np.inf, 1.0], "matrix": np.eye(2)}.items():
            yield Row("plot_effects", name, kind, lambda n=name, v=value: effects(**{n: v}))
        yield Row("plot_effects", name, "text", lambda n=name: effects(**{n: ["a", "b"]}))
    for entry, call in (("plot_effects", effects), ("plot_boundary", plane), ("plot_superpixels", pixels)):
        for kind, value in {"number": 3, "None": None, "list of numbers": [3]}.items():
            yield Row(entry, "title", kind, lambda call=call, v=value: call(title=v))
    yield Row("plot_effects", "xlabel", "number", lambda: effects(xlabel=3))
    yield Row("plot_superpixels", "bar", "None", lambda: pixels(bar=None))
    yield from matrix("plot_boundary", "points", lambda v: plane(points=v), X_Q)
    yield Row("plot_boundary", "points", "one column", lambda: plane(points=X_Q[:, :1]))
    for name in ("probability", "coef", "x"):
        yield from vector("plot_boundary", name, lambda v, n=name: plane(**{n: v}), PLANE[name] * 1.0)
    yield from number("plot_boundary", "intercept", lambda v: plane(intercept=v))
    yield from names("plot_boundary", "names", lambda v: plane(names=v), skip=("duplicate",))
    yield from function("plot_boundary", "black_box", lambda f: plane(black_box=f))
    yield Row("plot_boundary", "black_box", "text", lambda: plane(black_box="model"))
    for kind, value in {"vector": np.ones(4), "NaN": np.full((4, 4), np.nan), "empty": np.ones((0, 4))}.items():
        yield Row("plot_superpixels", "image", kind, lambda v=value: pixels(image=v))
    yield Row("plot_superpixels", "image", "text", lambda: pixels(image="cat.png"))
    for kind, value in {
        "another shape": np.zeros((2, 2)),
        "beyond the values": np.full((4, 4), 2),
        "fractions": np.full((4, 4), 0.5),
        "None": None,
    }.items():
        yield Row("plot_superpixels", "superpixels", kind, lambda v=value: pixels(superpixels=v))
    yield from vector(
        "plot_superpixels",
        "value",
        lambda v: pixels(value=v),
        PIXELS["value"],
        skip=("too long",),
        named={"too short": "superpixels"},
    )
    yield from number("plot_superpixels", "limit", lambda v: pixels(limit=v), skip=("None",))
    yield Row("plot_superpixels", "limit", "zero", lambda: pixels(limit=0.0))


ROWS: list[Row] = [*fits(), *axes(), *normality(), *scans(), *explanations()]
TAKEN: list[Taken] = []
KNOWN: list[Known] = [
    Known("plot_scan", "scores", "NaN and infinite", lambda: len(scan(scores=[np.nan, np.inf] * 3).axes), 2),
    Known("plot_boundary", "points", "all the same", lambda: plane(points=np.ones((40, 2))).get_xlim(), (0.5, 1.5)),
    Known("plot_effects", "effect", "all zero", lambda: len(effects(effect=np.zeros(2)).patches), 0),
    Known("plot_qq", "z", "one value", lambda: plots.plot_qq([0.3]).get_title(), "Normal QQ plot of 1 value"),
]
