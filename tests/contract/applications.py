"""Rows about detection and explanation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pre_convex.applications import detection as det
from pre_convex.applications import explanation as exp

from .kinds import (
    ANY,
    choice,
    count,
    flag,
    function,
    layouts,
    matrix,
    number,
    settings,
    share,
    tables,
    tolerance,
    vector,
)
from .rows import Known, Row, Taken

RNG = np.random.default_rng(0)
PRIOR_P, PRIOR_Q = RNG.normal(0.0, 1.0, (40, 4)), RNG.normal(0.0, 2.0, (40, 4))
Y_P, Y_Q, SERIES = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=20)
SETTINGS: dict[str, Any] = {"noise": 2.0, "features": "linear", "radius": 0.5}
DATA = RNG.normal(size=(50, 2))
POINT = np.array([0.2, 0.1])


def detector(**changes: Any) -> det.Detector:
    """A detector with some arguments changed."""
    return det.Detector(**{"prior_p": PRIOR_P, "prior_q": PRIOR_Q, **SETTINGS, **changes})


DETECTOR = detector()
SCAN = DETECTOR.scan(SERIES, warn=False, background=det.Background(np.linspace(0.0, 1.0, 99)))


def priors() -> Iterator[Row]:
    """Rows for the parameters of a detector."""
    for name, good in (("prior_p", PRIOR_P), ("prior_q", PRIOR_Q)):
        yield from matrix("Detector", name, lambda x, n=name: detector(**{n: x}), good, skip=("three dimensions",))
        yield Row("Detector", name, "beyond 1e100", lambda n=name: detector(**{n: PRIOR_P * 1e200}))
        yield Row("Detector", name, "one sequence", lambda n=name: detector(**{n: PRIOR_P[0]}))
    yield Row("Detector", "prior_q", "shorter sequences", lambda: detector(prior_q=PRIOR_Q[:, :3]))
    for kind, value in {
        "zero": 0.0,
        "negative": -1.0,
        "NaN": np.nan,
        "+inf": np.inf,
        "None": None,
        "text": "1",
        "bool": True,
        "complex": 1j,
        "class": float,
        "another number of channels": [1.0, 1.0],
        "masked": np.ma.array([1.0], mask=[True]),
    }.items():
        yield Row("Detector", "noise", kind, lambda v=value: detector(noise=v))

    def with_noise(f: Any) -> Any:
        return detector(noise=lambda x, Y: f(x)).score(Y_P[0], Y_Q[0], warn=False)

    yield from function("Detector", "noise", with_noise)
    yield Row(
        "Detector",
        "noise",
        "returns NaN in the right shape",
        lambda: with_noise(lambda x: np.full((len(x), 1), np.nan)),
    )
    yield Row(
        "Detector",
        "noise",
        "gives every row likelihood zero",
        lambda: with_noise(lambda x: np.full((len(x), 1), -np.inf)),
    )
    yield from choice("Detector", "features", lambda v: detector(features=v))
    yield Row("Detector", "features", "too many lags", lambda: detector(features="autocorrelation"))
    yield Row(
        "Detector",
        "features",
        "different numbers of columns on the two sides",
        lambda: detector(features=lambda x: x[:, : 1 + (x.std() > 1.5)]),
    )
    yield from number("Detector", "radius", lambda v: detector(radius=v))
    yield Row("Detector", "radius", "negative", lambda: detector(radius=-1.0))
    yield from choice("Detector", "norm", lambda v: detector(norm=v))
    yield from choice("Detector", "method", lambda v: detector(method=v))
    yield from choice("Detector.using", "method", DETECTOR.using)
    yield from count("Detector", "order", lambda v: detector(order=v))
    yield from count("Detector.using", "order", lambda v: DETECTOR.using("energy", order=v), skip=("None",))
    for method in ("autocorrelation", "ar", "sst"):
        yield Row("Detector", "order", f"too high for {method}", lambda m=method: detector(method=m))
    yield from flag("Detector", "standardise", lambda v: detector(standardise=v))
    yield from tolerance("Detector", lambda v: detector(tol=v))
    yield from settings("Detector", lambda v: detector(settings=v))
    for kind, value in {"text": "l1", "number": 3}.items():
        yield Row("Detector", "penalty", kind, lambda v=value: detector(penalty=v))
        yield Row("Detector", "draw", kind, lambda v=value: detector(draw=v))

    def drawn(f: Any) -> Any:
        return detector(draw=lambda x, rng: f(x)).background(5)

    yield from function("Detector", "draw", drawn)
    yield Row("Detector", "draw", "returns too few sequences", lambda: drawn(lambda x: x[1:]))
    yield Row(
        "Detector.background",
        "draw",
        "missing, with a function as noise",
        lambda: detector(noise=lambda x, Y: np.zeros((len(x), len(Y)))).background(5),
    )


def scored() -> Iterator[Row]:
    """Rows for windows, series and backgrounds."""

    def score(**changes: Any) -> Any:
        return DETECTOR.score(**{"y_p": Y_P[0], "y_q": Y_Q[0], "warn": False, **changes})

    def scores(**changes: Any) -> Any:
        return DETECTOR.scores(**{"Y_p": Y_P, "Y_q": Y_Q, "warn": False, **changes})

    def scan(**changes: Any) -> Any:
        return DETECTOR.scan(**{"series": SERIES, "warn": False, **changes})

    def background(**changes: Any) -> Any:
        return DETECTOR.background(**{"replicates": 5, **changes})

    yield from vector("Detector.score", "y_p", lambda y: score(y_p=y), Y_P[0])
    yield from flag("Detector.score", "warn", lambda v: score(warn=v))
    yield from vector("Detector.score", "y_q", lambda y: score(y_q=y), Y_Q[0])
    yield from vector("Detector.scan", "series", lambda y: scan(series=y), SERIES, skip=("too short", "too long"))
    yield from vector("Detector.scan", "reference", lambda y: scan(reference=y), Y_P[0], skip=("None",))
    yield from vector("Detector.background", "reference", lambda y: background(reference=y), Y_P[0], skip=("None",))
    yield from matrix("Detector.scores", "Y_p", lambda y: scores(Y_p=y), Y_P)
    yield from matrix("Detector.scores", "Y_q", lambda y: scores(Y_q=y), Y_Q)
    yield Row("Detector.scores", "Y_q", "too few", lambda: scores(Y_q=Y_Q[:2]))
    yield Row("Detector.scan", "series", "beyond 1e100", lambda: scan(series=SERIES * 1e200))
    yield Row("Detector.scan", "series", "shorter than two windows", lambda: scan(series=SERIES[:7]))
    yield from count("Detector.scan", "step", lambda v: scan(step=v))
    for entry, call in (("Detector.scores", scores), ("Detector.scan", scan)):
        yield from share(entry, "rate", lambda v, call=call: call(rate=v))
        for name in ("verbose", "warn", "swap"):
            yield from flag(entry, name, lambda v, n=name, call=call: call(**{n: v}))
    for entry, call in (("Detector.score", score), ("Detector.scores", scores), ("Detector.scan", scan)):
        for kind, value in {"array": np.zeros(3), "number": 3.0, "text": "yes"}.items():
            yield Row(entry, "background", kind, lambda v=value, call=call: call(background=v))
        other = detector(method="energy").background(99)
        yield Row(entry, "background", "of another method", lambda call=call, b=other: call(background=b))
    yield from count("Detector.background", "replicates", lambda v: background(replicates=v))
    yield from flag("Detector.background", "verbose", lambda v: background(verbose=v))
    doubled = np.tile(PRIOR_P, 2)
    yield from matrix("Detector.background", "pairs", lambda x: background(pairs=x), doubled, skip=("None",))
    yield Row("Detector.background", "pairs", "beside a reference", lambda: background(pairs=doubled, reference=Y_P[0]))
    yield Row(
        "Detector.background",
        "prior_p",
        "too few rows to draw from",
        lambda: detector(prior_p=PRIOR_P[:3]).background(5),
    )
    yield from functions(scan)


def functions(scan: Any) -> Iterator[Row]:
    """Rows for the functions that create a detector, for backgrounds and for results."""
    both = {"prior_p": PRIOR_P, "prior_q": PRIOR_Q, **SETTINGS}
    for entry, call in (
        ("score", lambda **a: det.score(Y_P[0], Y_Q[0], **both, warn=False, **a)),
        ("scores", lambda **a: det.scores(Y_P, Y_Q, **both, warn=False, **a)),
        ("scan", lambda **a: det.scan(SERIES, 4, **both, warn=False, **a)),
    ):
        yield Row(entry, "options", "unknown name", lambda call=call: call(colour=3), named="colour")
        if entry != "score":
            yield from count(entry, "replicates", lambda v, call=call: call(replicates=v), skip=("zero",))
    yield from count("scan", "window", lambda v: det.scan(SERIES, v, **both))
    yield Row("scan", "window", "not that of the priors", lambda: det.scan(SERIES, 5, **both))
    yield Row("scan", "pairs", "without replicates", lambda: det.scan(SERIES, 4, **both, pairs=PRIOR_P))
    yield from vector(
        "Background", "scores", det.Background, np.arange(3.0), skip=("+inf", "-inf", "too short", "too long")
    )
    for kind, value in {"negative": -1.0, "text": "1", "None": None, "array": np.zeros(2)}.items():
        yield Row("Background", "minimal_radius", kind, lambda v=value: det.Background([1.0], v))
    yield Row("Background", "made_for", "text", lambda: det.Background([1.0], made_for="pre"))
    known = det.Background(np.arange(9.0))
    yield from vector(
        "Background.p_values",
        "scores",
        known.p_values,
        np.arange(3.0),
        skip=("NaN", "+inf", "-inf", "empty", "too short", "too long", "matrix", "one number"),
    )
    yield from share("Background.threshold", "rate", known.threshold)
    yield Row(
        "Background.threshold", "rate", "smaller than the number of simulations allows", lambda: known.threshold(0.01)
    )
    yield from count("Scan.peaks", "count", SCAN.peaks, skip=("zero", "None"))
    yield from number("Scan.peaks", "distance", lambda v: SCAN.peaks(distance=v), skip=("None",))
    yield Row("Scan.peaks", "distance", "below one", lambda: SCAN.peaks(distance=0.5))
    yield from number("Scan.peaks", "above", lambda v: SCAN.peaks(above=v), skip=("None", "+inf", "-inf"))
    yield from number("Scan.plot", "rate", SCAN.plot, skip=("None",))
    yield from choice("Score.to_frame", "backend", SCAN[0].to_frame)
    yield from choice("Scores.to_frame", "backend", SCAN.to_frame)
    yield Row(
        "Scores.alarms", "self", "no background", lambda: DETECTOR.scan(SERIES, warn=False).alarms, named="threshold"
    )


def box(z: Any) -> np.ndarray:
    """A black box: the probability of the second of two classes."""
    return 1.0 / (1.0 + np.exp(-np.asarray(z, dtype=float)[:, 0]))


def explained(**changes: Any) -> exp.Explanation:
    """An explanation with some arguments changed."""
    given = {"predict_proba": box, "x": POINT, "perturbation": 0.5, "n": 20, "n_test": 5}
    return exp.explain(**{**given, **changes})


WORDS = exp.explain(lambda texts: [0.2 + 0.6 * ("good" in t) for t in texts], "a good day it is", n=40, n_test=5)


def explaining() -> Iterator[Row]:
    """Rows for explain()."""
    for kind, value in {"text": "model", "None": None, "class": dict, "number": 3}.items():
        yield Row("explain", "predict_proba", kind, lambda v=value: explained(predict_proba=v))
    yield from function("explain", "predict_proba", lambda f: explained(predict_proba=f))
    yield Row(
        "explain",
        "predict_proba",
        "returns scores",
        lambda: explained(predict_proba=lambda z: np.asarray(z)[:, :2] * 9.0),
    )
    yield from count("explain", "n", lambda v: explained(n=v))
    yield Row("explain", "n", "fewer than features", lambda: explained(n=3))
    yield Row("explain", "n", "beyond 2^31", lambda: explained(n=10**30))
    yield from count("explain", "n_test", lambda v: explained(n_test=v), skip=("zero",))
    for kind, value in {"unknown": 7, "text": "yes", "list": [1], "bool": True}.items():
        yield Row("explain", "label", kind, lambda v=value: explained(label=v))
    yield from number("explain", "kernel_width", lambda v: explained(kernel_width=v), skip=("None",))
    yield Row("explain", "kernel_width", "zero", lambda: explained(kernel_width=0.0))
    yield from flag("explain", "swap", lambda v: explained(swap=v))
    yield from flag("explain", "refit", lambda v: explained(refit=v))
    yield Row("explain", "refit", "without a radius", lambda: explained(refit=True))
    given = {"refit": True, "perturbation": DATA, "radius": 0.1}
    yield Row("explain", "refit", "of given points", lambda: explained(**given))
    yield from number("explain", "radius", lambda v: explained(radius=v))
    yield Row("explain", "radius", "negative", lambda: explained(radius=-1.0))
    yield from choice("explain", "norm", lambda v: explained(norm=v))
    yield from choice("explain", "kind", lambda v: explained(kind=v))
    yield from share("explain", "floor", lambda v: explained(floor=v))
    yield from tolerance("explain", lambda v: explained(tol=v))
    yield from settings("explain", lambda v: explained(settings=v))
    yield from _points()
    yield Row(
        "explain_all", "options", "unknown name", lambda: exp.explain_all(box, POINT, 0.5, colour=3), named="colour"
    )
    yield Row("explain_all", "options", "a label", lambda: exp.explain_all(box, POINT, 0.5, label=1), named="label")


def _points() -> Iterator[Row]:
    """Rows for x and its perturbations."""
    yield from vector("explain", "x", lambda x: explained(x=x), POINT, skip=("too short", "too long"))
    yield Row("explain", "x", "two rows", lambda: explained(x=DATA[:2]))
    yield Row("explain", "x", "beyond 1e100", lambda: explained(x=POINT * 1e200))
    for kind, value in {
        "not given": None,
        "class": exp.Box,
        "text": "box",
        "vector": np.ones(2),
        "ragged": [[1.0], [1.0, 2.0]],
        "zero": 0.0,
        "NaN": np.nan,
        "points of another width": DATA[:, :1],
    }.items():
        yield Row(
            "explain",
            "perturbation",
            kind,
            lambda v=value: explained(perturbation=v),
            named="half_width" if kind in ("zero", "NaN") else "",
        )

    def near(perturbation: Any, x: Any = POINT) -> Any:
        return perturbation.around(x)

    for entry, kind, name in (("Box", exp.Box, "half_width"), ("explanation.Gaussian", exp.Gaussian, "scale")):
        yield from vector(entry, name, lambda v, kind=kind: near(kind(v)), np.ones(2), skip=("one number", "None"))
        for kind_of, value in {
            "zero": 0.0,
            "negative": -1.0,
            "beyond 1e100": 1e200,
            "one of them zero": [1.0, 0.0],
        }.items():
            yield Row(entry, name, kind_of, lambda v=value, kind=kind: near(kind(v)))
        yield from matrix(
            entry, "data", lambda x, kind=kind: near(kind(None, x)), DATA, skip=("no columns",), named={"None": name}
        )
        yield Row(entry, "data", "another width", lambda kind=kind: near(kind(None, DATA[:, :1])))
    yield from vector("OnOff", "off", lambda v: near(exp.OnOff(v)), np.zeros(2), skip=("one number",))
    yield from share("OnOff", "keep", lambda v: near(exp.OnOff(0.0, v)))
    yield from matrix("Points", "rows", lambda x: near(exp.Points(x)), DATA, skip=("no columns",), named="perturbation")
    yield from _tables(near)
    yield from share("Words", "keep", lambda v: near(exp.Words(keep=v), "a day"))
    yield from flag("Words", "together", lambda v: near(exp.Words(together=v), "a day"))
    for kind, value in {"broken": "(", "number": 3, "None": None}.items():
        yield Row("Words", "pattern", kind, lambda v=value: near(exp.Words(pattern=v), "a day"))
    for kind, value in {"number": 3, "None": None}.items():
        yield Row("Words", "mask", kind, lambda v=value: near(exp.Words(mask=v), "a day"))
    for kind, value in {"number": 3, "without words": "..."}.items():
        yield Row("Words.around", "x", kind, lambda v=value: near(exp.Words(), v))
    yield from _images(near)


def _tables(near: Any) -> Iterator[Row]:
    """Rows for tables with categories."""
    import pandas as pd

    table = pd.DataFrame({"a": DATA[:, 0], "c": np.where(DATA[:, 1] > 0, "u", "v")})
    row = {"a": 0.1, "c": "u"}
    for kind, value in {
        "text": "table.csv",
        "None": None,
        "vector": np.ones(3),
        "ragged": [[1.0], [1.0, 2.0]],
        "sparse": ANY["sparse"](DATA),
        "masked": ANY["masked"](DATA),
        "no rows": table.iloc[:0],
        "duplicate column": table.set_axis(["a", "a"], axis=1),
    }.items():
        yield Row("Tabular", "data", kind, lambda v=value: near(exp.Tabular(v), row))
    for kind, value in {"unknown column": ["z"], "one text": "c", "number": 1, "index beyond the columns": [2]}.items():
        yield Row("Tabular", "categorical", kind, lambda v=value: near(exp.Tabular(table, v), row))
    yield from number("Tabular", "half_width", lambda v: near(exp.Tabular(table, half_width=v), row))
    yield Row("Tabular", "half_width", "zero", lambda: near(exp.Tabular(table, half_width=0.0), row))
    yield from share("Tabular", "keep", lambda v: near(exp.Tabular(table, keep=v), row))
    for kind, value in {
        "a column missing": {"a": 0.1},
        "NaN": {"a": np.nan, "c": "u"},
        "text for a number": {"a": "t", "c": "u"},
        "two rows": table.iloc[:2],
        "too few values": [0.1],
    }.items():
        yield Row("Tabular.around", "x", kind, lambda v=value: near(exp.Tabular(table), v))


def _images(near: Any) -> Iterator[Row]:
    """Rows for images."""
    image = np.arange(16.0).reshape(4, 4)
    for kind, value in {
        "vector": np.ones(4),
        "text": "cat.png",
        "ragged": [[1.0], [1.0, 2.0]],
        "NaN": np.full((4, 4), np.nan),
        "masked": ANY["masked"](image),
    }.items():
        yield Row("SuperPixels.around", "x", kind, lambda v=value: near(exp.SuperPixels((2, 2)), v))
    for kind, value in {
        "too fine": (9, 9),
        "fractions": (2.0, 2.0),
        "one number": 2,
        "three numbers": (2, 2, 2),
        "zero": (0, 2),
    }.items():
        yield Row("SuperPixels", "grid", kind, lambda v=value: near(exp.SuperPixels(v), image))
    for kind, value in {
        "another shape": np.zeros((2, 2), int),
        "NaN": np.full((4, 4), np.nan),
        "objects": np.full((4, 4), None),
        "ragged": [[1], [1, 2]],
    }.items():
        yield Row("SuperPixels", "labels", kind, lambda v=value: near(exp.SuperPixels(labels=v), image))
    for kind, value in {
        "unknown name": "median",
        "NaN": np.nan,
        "another shape": np.zeros((3, 3)),
        "None": None,
        "ragged": [[1], [1, 2]],
    }.items():
        yield Row("SuperPixels", "fill", kind, lambda v=value: near(exp.SuperPixels((2, 2), fill=v), image))
    yield from flag("SuperPixels", "flat", lambda v: near(exp.SuperPixels((2, 2), flat=v), image))
    yield from share("SuperPixels", "keep", lambda v: near(exp.SuperPixels((2, 2), keep=v), image))


def explanations() -> Iterator[Row]:
    """Rows for the methods of an explanation."""
    found = explained()
    for name in ("decision_function", "predict_proba", "decision_interval"):
        entry = f"Explanation.{name}"
        yield from matrix(
            entry,
            "z",
            getattr(found, name),
            DATA,
            skip=("no columns", "None") if name == "decision_interval" else ("no columns",),
        )
        yield Row(entry, "z", "another width", lambda n=name: getattr(found, n)([[1.0]]))
        yield Row(
            entry, "z", "words that are neither on nor off", lambda n=name: getattr(WORDS, n)(np.full((1, 5), 0.5))
        )
    for name in ("conf_int", "decision_interval", "summary", "to_frame", "plot"):
        yield from share(f"Explanation.{name}", "level", lambda v, n=name: getattr(found, n)(level=v))
    yield from choice("Explanation.to_frame", "backend", found.to_frame)
    yield Row("Explanation.plot_image", "self", "of numbers", found.plot_image, named="plot_image")
    yield Row("Explanation.plot_boundary", "self", "of five features", WORDS.plot_boundary, named="plot_boundary")
    yield Row("Explanation.plot_boundary", "predict_proba", "text", lambda: found.plot_boundary("model"))
    image = exp.explain(lambda i: 0.2 + 0.5 * i[:, 0, 0], np.ones((2, 2)), exp.SuperPixels((2, 1)), n=40, n_test=5)
    yield from flag("Explanation.plot_image", "clear", lambda v: image.plot_image(clear=v))
    yield from share("Explanation.plot_image", "level", lambda v: image.plot_image(level=v))


ROWS: list[Row] = [*priors(), *scored(), *explaining(), *explanations()]
TAKEN: list[Taken] = [
    *layouts("Detector", "prior_p", lambda x: detector(prior_p=x).scores(Y_P, Y_Q, warn=False).scores, PRIOR_P),
    *tables("Detector", "prior_q", lambda x: detector(prior_q=x).scores(Y_P, Y_Q, warn=False).scores, PRIOR_Q),
    *layouts("Detector.scores", "Y_q", lambda y: DETECTOR.scores(Y_P, y, warn=False).scores, Y_Q),
    *layouts("Detector.scan", "series", lambda y: DETECTOR.scan(y, warn=False).scores, SERIES),
    *layouts("explain", "x", lambda x: explained(x=x).coef, POINT),
    *layouts("explain", "perturbation", lambda x: explained(perturbation=x).coef, DATA),
    *layouts("Explanation.decision_function", "z", explained().decision_function, DATA),
]
KNOWN: list[Known] = [
    Known("Scan.peaks", "count", "none at all", lambda: len(SCAN.peaks(0)), 0),
    Known("Scan.peaks", "above", "infinite", lambda: len(SCAN.peaks(above=np.inf)), 0),
    Known("Background", "scores", "infinite", lambda: det.Background([0.0, np.inf]).p_values([np.inf]), [2.0 / 3.0]),
    Known(
        "explain",
        "predict_proba",
        "constant",
        lambda: explained(predict_proba=lambda z: np.full(len(z), 0.5)).coef,
        [0.0, 0.0],
    ),
    Known(
        "explain",
        "predict_proba",
        "an unfitted scikit-learn model raises its own error",
        lambda: _raised(lambda: explained(predict_proba=_model())),
        "NotFittedError",
    ),
]


def _model() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _raised(call: Any) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"
