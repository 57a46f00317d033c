"""Figures."""

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
LARGE = ": holds …, and numbers beyond 1e+100 overflow; rescale it"
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
    """Functions that draw a fit."""
    for name, call in (
        ("plot_weights", plots.plot_weights),
        ("plot_balance", plots.plot_balance),
        ("plot_coefficients", plots.plot_coefficients),
        ("plot_ratio", lambda fit: plots.plot_ratio(fit, X_Q)),
    ):
        for kind, value in {"array": X_Q, "None": None, "problem": FIT.problem_, "class": pre.KLIEP}.items():
            says = "fit: must be a fitted estimator of this package, not …"
            yield Row(name, "fit", kind, lambda call=call, v=value: call(v), says)
        says = "this KLIEP is not fitted yet; call fit first"
        yield Row(name, "fit", "not fitted", lambda call=call: call(pre.KLIEP()), says, pre.UnfittedError)
    says = "fit: every feature is constant on the q side, so there are no standardised differences"
    yield Row("plot_balance", "fit", "constant features", lambda: plots.plot_balance(_constant()), says)
    yield from share("plot_coefficients", "level", lambda v: plots.plot_coefficients(FIT, level=v))
    yield from flag("plot_coefficients", "standardise", lambda v: plots.plot_coefficients(FIT, standardise=v))
    yield from matrix("plot_ratio", "x", lambda x: plots.plot_ratio(FIT, x), X_Q)
    yield from frames("plot_ratio", "x", lambda x: plots.plot_ratio(FIT, x))
    yield Row(
        "plot_ratio", "x", "another width", lambda: plots.plot_ratio(FIT, X_Q[:, :1]), "x: has 1 columns, the fit had 2"
    )
    yield from share("plot_ratio", "level", lambda v: plots.plot_ratio(FIT, X_Q, level=v))
    yield from flag("plot_ratio", "log", lambda v: plots.plot_ratio(FIT, X_Q, log=v))
    yield from vector("plot_ratio", "at", lambda v: plots.plot_ratio(FIT, X_Q, at=v), np.zeros(2), says={"None": None})
    yield Row("plot_ratio", "at", "beyond 1e100", lambda: plots.plot_ratio(FIT, X_Q, at=[1e200, 0.0]), "at" + LARGE)
    for kind, value, says in (
        ("unknown name", "z", "columns: 'z' is not among x0, x1"),
        ("index beyond the columns", 2, "columns: 2 is neither a name nor an index below 2"),
        ("None", None, "columns: None is neither a name nor an index below 2"),
        ("fraction", 0.5, "columns: 0.5 is neither a name nor an index below 2"),
        ("truth value", True, "columns: True is neither a name nor an index below 2"),
        ("one column twice", (0, 0), "columns: (0, 0) must be one column or two different ones"),
        ("none", (), "columns: () must be one column or two different ones"),
        ("three", (0, 1, 0), "columns: (0, 1, 0) must be one column or two different ones"),
    ):
        yield Row("plot_ratio", "columns", kind, lambda v=value: plots.plot_ratio(FIT, X_Q, columns=v), says)
    for kind, value in {"array": X_Q, "None": None, "solution": FIT.solution_}.items():
        says = "source: must be a fitted estimator or a RatioProblem, not …"
        yield Row("plot_radius_path", "source", kind, lambda v=value: plots.plot_radius_path(v), says)
    says = "this KLIEP is not fitted yet; call fit first"
    yield Row(
        "plot_radius_path", "source", "not fitted", lambda: plots.plot_radius_path(pre.KLIEP()), says, pre.UnfittedError
    )
    for kind, value, says in (
        ("one radius", [0.1], "radii: give at least two different positive numbers; the axis is logarithmic"),
        ("zero", [0.0, 0.1], "radii: give at least two different positive numbers; the axis is logarithmic"),
        ("negative", [-0.1, 0.1], "radii: -0.1 is negative; …"),
        ("NaN", [np.nan, 0.1], "radii: entry 0 is nan; it must be finite"),
        ("text", ["a", "b"], "radii: holds dtype <U1; pass real numbers"),
        ("number", 0.1, "radii: has shape (); pass one number for each row"),
        ("empty", [], "radii: is empty; at least one number is needed"),
    ):
        yield Row("plot_radius_path", "radii", kind, lambda v=value: plots.plot_radius_path(FIT, v), says)


def _constant() -> pre.PosteriorRatio:
    return pre.KLIEP().fit(np.ones((4, 1)), np.ones((5, 1)))


def axes() -> Iterator[Row]:
    """Axes that are none, or of a kind that nothing here can be drawn on."""
    calls = {
        "plot_weights": lambda ax: plots.plot_weights(FIT, ax=ax),
        "plot_balance": lambda ax: plots.plot_balance(FIT, ax=ax),
        "plot_coefficients": lambda ax: plots.plot_coefficients(FIT, ax=ax),
        "plot_ratio": lambda ax: plots.plot_ratio(FIT, X_Q, ax=ax),
        "plot_qq": lambda ax: plots.plot_qq(X_Q, ax=ax),
        "plot_ellipse": lambda ax: plots.plot_ellipse(INFERENCE, ax=ax),
        "plot_effects": lambda ax: effects(ax=ax),
        "plot_boundary": lambda ax: plane(ax=ax),
        "plot_superpixels": lambda ax: pixels(ax=ax),
    }
    for name, call in calls.items():
        none = "ax: … is not the axes of a plot; take them from figure.subplots()"
        plain = "ax: has the projection …; take plain axes, from figure.subplots()"
        for kind, make, says in (
            ("a figure", _figure, none),
            ("text", lambda: "left", none),
            ("array of axes", lambda: np.array([_figure().subplots()]), none),
            ("polar axes", lambda: _figure().add_subplot(projection="polar"), plain),
            ("axes of a space", lambda: _figure().add_subplot(projection="3d"), plain),
            ("removed axes", _removed, "ax: has been removed from its figure; take other axes"),
        ):
            yield Row(name, "ax", kind, lambda call=call, make=make: call(make()), says)


def _figure() -> Any:
    from matplotlib.figure import Figure

    return Figure()


def _removed() -> Any:
    ax = _figure().subplots()
    ax.remove()
    return ax


def laws() -> Iterator[Row]:
    """How normal estimates are."""
    yield from vector("plot_qq", "z", plots.plot_qq, X_Q[:, 0], says=dict.fromkeys(
        ("too short", "too long", "matrix", "one number")
    ))  # fmt: skip
    yield Row("plot_qq", "z", "beyond 1e100", lambda: plots.plot_qq(X_Q * 1e200), "z" + LARGE)
    yield from share("plot_qq", "level", lambda v: plots.plot_qq(X_Q, level=v))
    for kind, value in {"fit": FIT, "None": None, "array": X_Q}.items():
        says = "inference: must be an Inference, not …; take fit.inference()"
        yield Row("plot_ellipse", "inference", kind, lambda v=value: plots.plot_ellipse(v), says)
    for kind, value, says in (
        ("one coefficient", (0,), "pair: (0,) must be two different coefficients"),
        ("one of them twice", (1, 1), "pair: (1, 1) must be two different coefficients"),
        ("number", 0, "pair: 0 must be two different coefficients"),
        ("unknown name", ("x0", "z"), "pair: 'z' is not among x0, x1"),
        ("index beyond the features", (0, 2), "pair: 2 is neither a name nor an index below 2"),
    ):
        yield Row("plot_ellipse", "pair", kind, lambda v=value: plots.plot_ellipse(INFERENCE, v), says)
    yield from share("plot_ellipse", "level", lambda v: plots.plot_ellipse(INFERENCE, level=v))
    yield from matrix(
        "plot_ellipse", "points", lambda v: plots.plot_ellipse(INFERENCE, points=v), X_Q, says={"None": None}
    )
    says = "points: have 3 columns; give the two coefficients, or all 2"
    yield Row(
        "plot_ellipse", "points", "another width", lambda: plots.plot_ellipse(INFERENCE, points=np.ones((3, 3))), says
    )


def scans() -> Iterator[Row]:
    """Scores along a series."""
    yield from matrix("plot_scan", "series", lambda v: scan(series=v), np.zeros((20, 1)))
    length = "scores: has shape … for … times; pass one score for each"
    yield from vector("plot_scan", "times", lambda v: scan(times=v), SCAN["times"] * 1.0, says={
        "too short": length, "too long": length,
    })  # fmt: skip
    says = "times: must be whole numbers, the time points of the scores"
    yield Row("plot_scan", "times", "fractions", lambda: scan(times=SCAN["times"] + 0.5), says)
    yield from vector("plot_scan", "scores", lambda v: scan(scores=v), SCAN["scores"], says={
        **dict.fromkeys(("too short", "too long", "empty", "matrix", "one number"), length),
        **dict.fromkeys(("NaN", "+inf", "-inf")),
    })  # fmt: skip
    says = "scores: has numbers beyond 1e+100, which no axis can show; infinite ones are marked"
    yield Row("plot_scan", "scores", "beyond 1e100", lambda: scan(scores=SCAN["scores"] * 1e200), says)
    yield from number(
        "plot_scan", "threshold", lambda v: scan(threshold=v), says=dict.fromkeys(("NaN", "+inf", "-inf"))
    )
    for kind, value, says in (
        ("beyond the times", [6], "peaks: 6 is not a place among 6 times"),
        ("fraction", [0.5], "peaks: 0.5 is not a whole number of at least 0"),
        ("number", 3, "peaks: 3 is not a sequence of places among the times"),
        ("None", None, "peaks: None is not a sequence of places among the times"),
    ):
        yield Row("plot_scan", "peaks", kind, lambda v=value: scan(peaks=v), says)
    yield from count("plot_scan", "window", lambda v: scan(window=v), says={"zero": None})
    yield Row("plot_scan", "method", "number", lambda: scan(method=3), "method: 3 is not a text")
    yield from number("plot_scan", "rate", lambda v: scan(rate=v), says={"None": None})
    says = "rate: 0 is not positive; it counts time points in a second"
    yield Row("plot_scan", "rate", "zero", lambda: scan(rate=0.0), says)


def explanations() -> Iterator[Row]:
    """Effects, boundaries, images."""
    wrong = {
        "too few": "names: 1 names for 2 effects",
        "too many": "names: 3 names for 2 effects",
        "a name twice": None,
    }
    yield from names("plot_effects", "names", lambda v: effects(names=v), says=wrong)
    length = "names: 2 names for … effects"
    yield from vector("plot_effects", "effect", lambda v: effects(effect=v), EFFECTS["effect"], says={
        "too short": length, "too long": length,
    })  # fmt: skip
    for name in ("lower", "upper"):
        says = f"{name}: must have a finite number or nan for each of 2 effects"
        for kind, value in {"too short": [1.0], "+inf": [np.inf, 1.0], "matrix": np.eye(2)}.items():
            yield Row("plot_effects", name, kind, lambda n=name, v=value: effects(**{n: v}), says)
        text = f"{name}: holds dtype <U1; pass real numbers"
        yield Row("plot_effects", name, "text", lambda n=name: effects(**{n: ["a", "b"]}), text)
    for entry, call in (("plot_effects", effects), ("plot_boundary", plane), ("plot_superpixels", pixels)):
        for kind, value in {"number": 3, "None": None, "list of numbers": [3]}.items():
            says = "title: … is neither a text nor a sequence of texts"
            yield Row(entry, "title", kind, lambda call=call, v=value: call(title=v), says)
    yield Row("plot_effects", "xlabel", "number", lambda: effects(xlabel=3), "xlabel: 3 is not a text")
    yield Row("plot_superpixels", "bar", "None", lambda: pixels(bar=None), "bar: None is not a text")
    yield from matrix("plot_boundary", "points", lambda v: plane(points=v), X_Q)
    says = "points: have 1 features; a boundary can be drawn for two of them"
    yield Row("plot_boundary", "points", "one column", lambda: plane(points=X_Q[:, :1]), says)
    for name in ("probability", "coef", "x"):
        yield from vector("plot_boundary", name, lambda v, n=name: plane(**{n: v}), PLANE[name] * 1.0)
    yield from number("plot_boundary", "intercept", lambda v: plane(intercept=v))
    two = {
        "too few": "names: 1 names for 2 features",
        "too many": "names: 3 names for 2 features",
        "a name twice": None,
    }
    yield from names("plot_boundary", "names", lambda v: plane(names=v), says=two)
    yield from function("plot_boundary", "black_box", lambda f: plane(black_box=f), says={
        "returns NaN": "black_box: entry 0 is nan (…",
    })  # fmt: skip
    says = "black_box: 'model' is not a function of points"
    yield Row("plot_boundary", "black_box", "text", lambda: plane(black_box="model"), says)
    for kind, value in {"vector": np.ones(4), "NaN": np.full((4, 4), np.nan), "empty": np.ones((0, 4))}.items():
        says = "image: shape … is not an image (height, width[, channels]) of finite numbers"
        yield Row("plot_superpixels", "image", kind, lambda v=value: pixels(image=v), says)
    yield Row("plot_superpixels", "image", "text", lambda: pixels(image="cat.png"), "image: is text or a path; …")
    for kind, value, says in (
        ("another shape", np.zeros((2, 2)), "superpixels: shape (2, 2) for an image of 4 × 4 pixels"),
        (
            "beyond the values",
            np.full((4, 4), 2),
            "superpixels: must be whole numbers from 0 to 1, the places of the values",
        ),
        ("fractions", np.full((4, 4), 0.5), "superpixels: must be whole numbers from 0 to 1, the places of the values"),
        ("None", None, "superpixels: is None; pass an array of numbers"),
    ):
        yield Row("plot_superpixels", "superpixels", kind, lambda v=value: pixels(superpixels=v), says)
    yield from vector("plot_superpixels", "value", lambda v: pixels(value=v), PIXELS["value"], says={
        "too short": "superpixels: must be whole numbers from 0 to 0, the places of the values", "too long": None,
    })  # fmt: skip
    yield from number("plot_superpixels", "limit", lambda v: pixels(limit=v), says={"None": None})
    says = "limit: 0 is not positive; it is the size with the strongest colour"
    yield Row("plot_superpixels", "limit", "zero", lambda: pixels(limit=0.0), says)


ROWS: list[Row] = [*fits(), *axes(), *laws(), *scans(), *explanations()]
TAKEN: list[Taken] = []
KNOWN: list[Known] = [
    Known("plot_scan", "scores", "unknown and infinite", lambda: len(scan(scores=[np.nan, np.inf] * 3).axes), 2),
    Known("plot_boundary", "points", "all the same", lambda: plane(points=np.ones((40, 2))).get_xlim(), (0.5, 1.5)),
    Known("plot_effects", "effect", "nothing has an effect", lambda: len(effects(effect=np.zeros(2)).patches), 0),
    Known("plot_qq", "z", "one value", lambda: plots.plot_qq([0.3]).get_title(), "Normal QQ plot of 1 value"),
]
