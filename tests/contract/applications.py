"""Detection and explanation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pre_convex.applications import detection as det
from pre_convex.applications import explanation as exp

from .kinds import ANY, MATRIX, choice, count, flag, function, layouts, matrix, number, share, tables, vector
from .rows import Known, Row, Taken

RNG = np.random.default_rng(0)
PRIOR_P, PRIOR_Q = RNG.normal(0.0, 1.0, (40, 4)), RNG.normal(0.0, 2.0, (40, 4))
Y_P, Y_Q, SERIES = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=20)
SETTINGS: dict[str, Any] = {"noise": 2.0, "features": "linear", "radius": 0.5}
DATA = RNG.normal(size=(50, 2))
POINT = np.array([0.2, 0.1])
LARGE = ": holds …, and numbers beyond 1e+100 overflow; rescale it"
FILL = "; fill them in first"


def detector(**changes: Any) -> det.Detector:
    """A detector with some arguments changed."""
    return det.Detector(**{"prior_p": PRIOR_P, "prior_q": PRIOR_Q, **SETTINGS, **changes})


DETECTOR = detector()
SCAN = DETECTOR.scan(SERIES, warn=False, background=det.Background(np.linspace(0.0, 1.0, 99)))


def windows(entry: str, argument: str, call: Any, good: np.ndarray, says: Any = None) -> list[Row]:
    """Rows for an array of windows."""
    other = {
        "no columns": f"{argument}: is empty, shape (…, 0); at least one row and one column are needed",
        "one number": f"{argument}: has 0 dimensions; pass one row for each sequence",
        "generator": f"{argument}: generator is not an array of numbers; …",
        "sparse": f"{argument}: sparse matrices are not taken; pass x.toarray()",
        "three dimensions": f"{argument}: has sequences of 3 time points of 4 channels, prior_p has …; they must agree",
        "records": f"{argument}: has 1 dimensions; pass one row for each sequence",
    }
    return matrix(entry, argument, call, good, says={**other, **(says or {})})


def priors() -> Iterator[Row]:
    """What a detector is made of."""
    for name, good in (("prior_p", PRIOR_P), ("prior_q", PRIOR_Q)):
        agree = {"three dimensions": None}
        yield from windows("Detector", name, lambda x, n=name: detector(**{n: x}), good, says=agree)
        yield Row("Detector", name, "beyond 1e100", lambda n=name: detector(**{n: PRIOR_P * 1e200}), name + LARGE)
        vectors = f"{name}: has 1 dimensions; pass one row for each sequence"
        yield Row("Detector", name, "one sequence", lambda n=name: detector(**{n: PRIOR_P[0]}), vectors)
    yield Row(
        "Detector",
        "prior_q",
        "shorter sequences",
        lambda: detector(prior_q=PRIOR_Q[:, :3]),
        "prior_q: has sequences of 3 time points, prior_p has sequences of 4 time points; they must agree",
    )
    for kind, value in {
        "zero": 0.0,
        "negative": -1.0,
        "NaN": np.nan,
        "+inf": np.inf,
        "None": None,
        "text": "1",
        "truth value": True,
        "complex": 1j,
        "class": float,
        "another number of channels": [1.0, 1.0],
        "masked": np.ma.array([1.0], mask=[True]),
    }.items():
        yield Row(
            "Detector",
            "noise",
            kind,
            lambda v=value: detector(noise=v),
            "noise: … must be one positive standard deviation, 1e-100 to 1e100, or a function",
        )

    def with_noise(f: Any) -> Any:
        return detector(noise=lambda x, Y: f(x)).score(Y_P[0], Y_Q[0], warn=False)

    shape = "noise: returned shape … for 40 rows and 1 windows; return shape (rows, windows)"
    yield from function("Detector", "noise", with_noise, says={
        **dict.fromkeys(("returns one number", "returns too few rows", "returns three dimensions"), shape),
        "returns NaN": shape,
    })  # fmt: skip
    yield Row(
        "Detector",
        "noise",
        "returns NaN in the right shape",
        lambda: with_noise(lambda x: np.full((len(x), 1), np.nan)),
        "noise: returned nan or inf; a log-likelihood is a finite number or -inf",
    )
    yield Row(
        "Detector",
        "noise",
        "rules every row out",
        lambda: with_noise(lambda x: np.full((len(x), 1), -np.inf)),
        "noise: every prior row has likelihood zero given window 0; check the noise, and the window",
    )
    yield from choice("Detector", "features", lambda v: detector(features=v), says=dict.fromkeys(
        ("number", "None", "list", "array"), "features: … is neither a name, a feature map nor a function"
    ))  # fmt: skip
    yield Row(
        "Detector",
        "features",
        "too many lags",
        lambda: detector(features="autocorrelation"),
        "features: 20 autocorrelations …",
    )
    yield Row(
        "Detector",
        "features",
        "another number of columns on either side",
        lambda: detector(features=lambda x: x[:, : 1 + (x.std() > 1.5)]),
        "features: 1 columns for prior_p but 2 for prior_q",
    )
    yield from number("Detector", "radius", lambda v: detector(radius=v))
    yield Row("Detector", "radius", "negative", lambda: detector(radius=-1.0), "radius: -1 is negative; …")
    yield from choice("Detector", "norm", lambda v: detector(norm=v))
    yield from choice("Detector", "method", lambda v: detector(method=v))
    yield from choice("Detector.using", "method", DETECTOR.using)
    yield from count("Detector", "order", lambda v: detector(order=v))
    yield from count("Detector.using", "order", lambda v: DETECTOR.using("energy", order=v), says={"None": None})
    for method in ("autocorrelation", "ar", "sst"):
        says = "order: so many … need windows of … time points, not 4; lower it"
        yield Row("Detector", "order", f"too high for {method}", lambda m=method: detector(method=m), says)
    yield from flag("Detector", "standardise", lambda v: detector(standardise=v))
    yield from share("Detector", "tol", lambda v: detector(tol=v))
    for kind, value in {"text": "l1", "number": 3}.items():
        says = f"penalty: {value!r} is not a function of a cvxpy expression"
        yield Row("Detector", "penalty", kind, lambda v=value: detector(penalty=v), says)
        says = f"draw: {value!r} is not a function (x, rng) -> observations"
        yield Row("Detector", "draw", kind, lambda v=value: detector(draw=v), says)

    def drawn(f: Any) -> Any:
        return detector(draw=lambda x, rng: f(x)).background(5)

    yield from function("Detector", "draw", drawn, says={
        "returns text": "draw: holds dtype <U1; pass real numbers",
        "returns complex numbers": "draw: has 1 dimensions; pass one row for each sequence",
        "returns one number": "draw: has 0 dimensions; pass one row for each sequence",
        "returns too few rows": "draw: has 1 dimensions; pass one row for each sequence",
        "returns three dimensions": "draw: has sequences of 1 time points of 1 channels, prior_p has …",
        "returns NaN": "draw: has 1 dimensions; pass one row for each sequence",
    })  # fmt: skip
    yield Row(
        "Detector",
        "draw",
        "loses a sequence",
        lambda: drawn(lambda x: x[1:]),
        "draw: returned 4 observations of 5 sequences; return one of each",
    )
    yield Row(
        "Detector.background",
        "draw",
        "not given with a noise of your own",
        lambda: detector(noise=lambda x, Y: np.zeros((len(x), len(Y)))).background(5),
        "draw: the noise is a function; give draw(x, rng) -> observations to simulate with it",
    )


def scored() -> Iterator[Row]:
    """Windows, series, backgrounds."""

    def score(**changes: Any) -> Any:
        return DETECTOR.score(**{"y_p": Y_P[0], "y_q": Y_Q[0], "warn": False, **changes})

    def scores(**changes: Any) -> Any:
        return DETECTOR.scores(**{"Y_p": Y_P, "Y_q": Y_Q, "warn": False, **changes})

    def scan(**changes: Any) -> Any:
        return DETECTOR.scan(**{"series": SERIES, "warn": False, **changes})

    def background(**changes: Any) -> Any:
        return DETECTOR.background(**{"replicates": 5, **changes})

    def one(entry: str, argument: str, call: Any, good: np.ndarray, long: bool = False, none: bool = True) -> list[Row]:
        place = f"{argument}: row 1, column 0 is …{FILL}"
        points = f"{argument}: has … time points, prior_p has sequences of 4 time points; they must agree"
        return vector(entry, argument, call, good, says={
            **dict.fromkeys(("NaN", "+inf", "-inf"), place),
            "empty": f"{argument}: is empty, shape (0, 1); at least one row and one column are needed",
            "too short": None if long else points,
            "too long": None if long else points,
            "matrix": f"{argument}: has shape (…, 2), prior_p has sequences of 4 time points; they must agree",
            "one number": f"{argument}: has 0 dimensions; pass one row for each sample, shape (n, d)",
            **({} if none else {"None": None}),
        })  # fmt: skip

    yield from one("Detector.score", "y_p", lambda y: score(y_p=y), Y_P[0])
    yield from flag("Detector.score", "warn", lambda v: score(warn=v))
    yield from one("Detector.score", "y_q", lambda y: score(y_q=y), Y_Q[0])
    yield from one("Detector.scan", "series", lambda y: scan(series=y), SERIES, long=True)
    yield from one("Detector.scan", "reference", lambda y: scan(reference=y), Y_P[0], none=False)
    yield from one("Detector.background", "reference", lambda y: background(reference=y), Y_P[0], none=False)
    yield from windows("Detector.scores", "Y_p", lambda y: scores(Y_p=y), Y_P)
    yield from windows("Detector.scores", "Y_q", lambda y: scores(Y_q=y), Y_Q)
    few = "Y_q: has 2 windows for 3 of Y_p; pass one for each"
    yield Row("Detector.scores", "Y_q", "too few", lambda: scores(Y_q=Y_Q[:2]), few)
    yield Row("Detector.scan", "series", "beyond 1e100", lambda: scan(series=SERIES * 1e200), "series" + LARGE)
    yield Row(
        "Detector.scan", "series", "shorter than two windows", lambda: scan(series=SERIES[:7]), "series: has 7 time …"
    )
    yield from count("Detector.scan", "step", lambda v: scan(step=v))
    for entry, call in (("Detector.scores", scores), ("Detector.scan", scan)):
        yield from share(entry, "rate", lambda v, call=call: call(rate=v))
        for name in ("verbose", "warn", "swap"):
            yield from flag(entry, name, lambda v, n=name, call=call: call(**{n: v}))
    for entry, call in (("Detector.score", score), ("Detector.scores", scores), ("Detector.scan", scan)):
        for kind, value in {"array": np.zeros(3), "number": 3.0, "text": "yes"}.items():
            says = "background: … is not one; use detector.background() or Background(scores)"
            yield Row(entry, "background", kind, lambda v=value, call=call: call(background=v), says)
        other = detector(method="energy").background(99)
        says = "background: was made for method 'energy', this detector has 'pre'; use its own"
        yield Row(entry, "background", "of another method", lambda call=call, b=other: call(background=b), says)
    yield from count("Detector.background", "replicates", lambda v: background(replicates=v))
    yield from flag("Detector.background", "verbose", lambda v: background(verbose=v))
    doubled = np.tile(PRIOR_P, 2)
    agree = "pairs: has sequences of … time points of 8 channels, a pair of windows has sequences of 8 …"
    yield from windows("Detector.background", "pairs", lambda x: background(pairs=x), doubled, says={
        "three dimensions": agree, "None": None,
    })  # fmt: skip
    yield Row(
        "Detector.background",
        "pairs",
        "beside a reference",
        lambda: background(pairs=doubled, reference=Y_P[0]),
        "pairs: say where y_p comes from, and so does reference; give one of the two",
    )
    yield Row(
        "Detector.background",
        "prior_p",
        "too few rows to draw from",
        lambda: detector(prior_p=PRIOR_P[:3]).background(5),
        "prior_p: at least 4 rows are needed to simulate from",
    )
    yield from functions(scan)


def functions(scan: Any) -> Iterator[Row]:
    """The functions that make a detector, backgrounds, and results."""
    both = {"prior_p": PRIOR_P, "prior_q": PRIOR_Q, **SETTINGS}
    for entry, call in (
        ("score", lambda **a: det.score(Y_P[0], Y_Q[0], **both, warn=False, **a)),
        ("scores", lambda **a: det.scores(Y_P, Y_Q, **both, warn=False, **a)),
        ("scan", lambda **a: det.scan(SERIES, 4, **both, warn=False, **a)),
    ):
        says = "colour: is not an option; a Detector takes features, radius, norm, …"
        yield Row(entry, "options", "unknown name", lambda call=call: call(colour=3), says)
        if entry != "score":
            yield from count(entry, "replicates", lambda v, call=call: call(replicates=v), says={"zero": None})
    yield from count("scan", "window", lambda v: det.scan(SERIES, v, **both))
    says = "window: is 5, the prior sequences have 4 time points"
    yield Row("scan", "window", "not that of the priors", lambda: det.scan(SERIES, 5, **both), says)
    says = "pairs: are for simulated background; ask for replicates too"
    yield Row("scan", "pairs", "without replicates", lambda: det.scan(SERIES, 4, **both, pairs=PRIOR_P), says)
    ranked = "scores: must be numbers, at least one of them; nan cannot be ranked"
    yield from vector("Background", "scores", det.Background, np.arange(3.0), says={
        **dict.fromkeys(("NaN", "empty", "matrix", "one number"), ranked),
        **dict.fromkeys(("+inf", "-inf", "too short", "too long")),
    })  # fmt: skip
    for kind, value in {"negative": -1.0, "text": "1", "None": None, "array": np.zeros(2)}.items():
        says = "minimal_radius: … is not a number of at least 0; nan where it is not known"
        yield Row("Background", "minimal_radius", kind, lambda v=value: det.Background([1.0], v), says)
    says = "made_for: 'pre' is not what a detector gives; leave it out"
    yield Row("Background", "made_for", "text", lambda: det.Background([1.0], made_for="pre"), says)
    known = det.Background(np.arange(9.0))
    yield from vector("Background.p_values", "scores", known.p_values, np.arange(3.0), says=dict.fromkeys(
        ("NaN", "+inf", "-inf", "empty", "too short", "too long", "matrix", "one number")
    ))  # fmt: skip
    yield from share("Background.threshold", "rate", known.threshold)
    says = "rate: 0.01 is below 1/10, the smallest p-value of 9 simulations; use at least 99 replicates"
    yield Row("Background.threshold", "rate", "finer than the simulations", lambda: known.threshold(0.01), says)
    yield from count("Scan.peaks", "count", SCAN.peaks, says={"zero": None, "None": None})
    yield from number("Scan.peaks", "distance", lambda v: SCAN.peaks(distance=v), says={"None": None})
    says = "distance: 0.5 is not a number of time points"
    yield Row("Scan.peaks", "distance", "below one", lambda: SCAN.peaks(distance=0.5), says)
    yield from number("Scan.peaks", "above", lambda v: SCAN.peaks(above=v), says={
        "None": None, "+inf": None, "-inf": None,
    })  # fmt: skip
    yield from number("Scan.plot", "rate", SCAN.plot, says={"None": None})
    yield from choice("Score.to_frame", "backend", SCAN[0].to_frame)
    yield from choice("Scores.to_frame", "backend", SCAN.to_frame)
    says = "threshold: there is none; ask for a calibration with replicates=999, say"
    yield Row("Scores.alarms", "self", "no background", lambda: DETECTOR.scan(SERIES, warn=False).alarms, says)


def box(z: Any) -> np.ndarray:
    """A black box: the chance of the second of two classes."""
    return 1.0 / (1.0 + np.exp(-np.asarray(z, dtype=float)[:, 0]))


def explained(**changes: Any) -> exp.Explanation:
    """An explanation with some arguments changed."""
    given = {"predict_proba": box, "x": POINT, "perturbation": 0.5, "n": 20, "n_test": 5}
    return exp.explain(**{**given, **changes})


WORDS = exp.explain(lambda texts: [0.2 + 0.6 * ("good" in t) for t in texts], "a good day it is", n=40, n_test=5)


def explaining() -> Iterator[Row]:
    """explain() and what it takes."""
    for kind, value in {"text": "model", "None": None, "class": dict, "number": 3}.items():
        says = "predict_proba: … is no function and has no method predict_proba"
        yield Row("explain", "predict_proba", kind, lambda v=value: explained(predict_proba=v), says)
    shape = "predict_proba: answers with shape … for 1 points; it should be (1, classes)"
    yield from function("explain", "predict_proba", lambda f: explained(predict_proba=f), says={
        **dict.fromkeys(("returns one number", "returns too few rows", "returns three dimensions"), shape),
        "returns NaN": "predict_proba: 1 of 1 answers are not finite",
    })  # fmt: skip
    yield Row(
        "explain",
        "predict_proba",
        "returns scores",
        lambda: explained(predict_proba=lambda z: np.asarray(z)[:, :2] * 9.0),
        "predict_proba: its answers are not probabilities that sum to one; turn scores into probabilities first",
    )
    yield from count("explain", "n", lambda v: explained(n=v))
    yield Row(
        "explain", "n", "fewer than features", lambda: explained(n=3), "n: 3 points cannot tell 2 features apart; …"
    )
    yield Row("explain", "n", "beyond what a computer counts", lambda: explained(n=10**30), "n: 1000… is more than a …")
    yield from count("explain", "n_test", lambda v: explained(n_test=v), says={"zero": None})
    for kind, value in {"unknown": 7, "text": "yes", "list": [1], "truth value": True}.items():
        says = f"label: {value!r} is not a column from 0 to 1 of the probabilities"
        yield Row("explain", "label", kind, lambda v=value: explained(label=v), says)
    yield from number("explain", "kernel_width", lambda v: explained(kernel_width=v), says={"None": None})
    says = "kernel_width: 0 is not positive; None weights all points alike"
    yield Row("explain", "kernel_width", "zero", lambda: explained(kernel_width=0.0), says)
    yield from flag("explain", "swap", lambda v: explained(swap=v))
    yield from flag("explain", "refit", lambda v: explained(refit=v))
    says = "refit: needs a positive radius that chooses features; use radius='auto' with norm=inf"
    yield Row("explain", "refit", "without a radius", lambda: explained(refit=True), says)
    says = "refit: needs new points; points that are given cannot be drawn again"
    given = {"refit": True, "perturbation": DATA, "radius": 0.1}
    yield Row("explain", "refit", "of points that are given", lambda: explained(**given), says)
    unknown = {"text": "radius: '0.5' is not known; use a number, 'auto' or 'cv'"}
    yield from number("explain", "radius", lambda v: explained(radius=v), says=unknown)
    yield Row("explain", "radius", "negative", lambda: explained(radius=-1.0), "radius: -1 is negative; …")
    yield from choice("explain", "norm", lambda v: explained(norm=v))
    yield from choice("explain", "kind", lambda v: explained(kind=v))
    yield from share("explain", "floor", lambda v: explained(floor=v))
    yield from share("explain", "tol", lambda v: explained(tol=v))
    yield from _points()
    says = "colour: is not an option; explain takes predict_proba, x, perturbation, …"
    yield Row("explain_all", "options", "unknown name", lambda: exp.explain_all(box, POINT, 0.5, colour=3), says)
    says = "label: all classes are explained here; use explain() for one of them"
    yield Row("explain_all", "options", "a label", lambda: exp.explain_all(box, POINT, 0.5, label=1), says)


def _points() -> Iterator[Row]:
    """x and the ways to perturb it."""
    one_row = "x: has shape …; pass one row of numbers, or use SuperPixels for an image"
    yield from vector("explain", "x", lambda x: explained(x=x), POINT, says={
        **dict.fromkeys(("too short", "too long")),
        "matrix": one_row,
        "ragged": "x: holds rows of different lengths; pass one row of numbers",
        "name of a file": "x: is a text; leave the perturbation out, or use Words",
    })  # fmt: skip
    yield Row("explain", "x", "two rows", lambda: explained(x=DATA[:2]), one_row)
    yield Row("explain", "x", "beyond 1e100", lambda: explained(x=POINT * 1e200), "x" + LARGE)
    for kind, value, says in (
        ("not given", None, "perturbation: how far points may lie from x is not known; give a half-width, …"),
        ("class", exp.Box, "perturbation: Box is a class; write Box(...)"),
        ("text", "box", "perturbation: is neither a perturbation, a half-width nor rows of points"),
        ("vector", np.ones(2), "perturbation: is neither a perturbation, a half-width nor rows of points"),
        ("ragged", [[1.0], [1.0, 2.0]], "perturbation: is neither a perturbation, a half-width nor rows of points"),
        ("zero", 0.0, "half_width: 0.0 is not positive, …"),
        ("NaN", np.nan, "half_width: is nan; pass a finite number"),
        ("points of another width", DATA[:, :1], "perturbation: has 1 columns, x has 2"),
    ):
        yield Row("explain", "perturbation", kind, lambda v=value: explained(perturbation=v), says)

    def near(perturbation: Any, x: Any = POINT) -> Any:
        return perturbation.around(x)

    for entry, kind, name in (("Box", exp.Box, "half_width"), ("explanation.Gaussian", exp.Gaussian, "scale")):
        long = f"{name}: has … entries where 2 are needed, one for each row"
        yield from vector(entry, name, lambda v, kind=kind: near(kind(v)), np.ones(2), says={
            "too short": long, "too long": long, "one number": None, "None": None,
            **dict.fromkeys(("generator", "dictionary", "set", "name of a file"), f"{name}: … is not a number; …"),
            "tensor that refuses": f"{name}: cannot be read as an array of numbers (…)",
        })  # fmt: skip
        for kind_of, value in {
            "zero": 0.0,
            "negative": -1.0,
            "beyond 1e100": 1e200,
            "one of them zero": [1.0, 0.0],
        }.items():
            says = f"{name}: … is not positive, or beyond what can be told apart; 1e-100 to 1e100"
            yield Row(entry, name, kind_of, lambda v=value, kind=kind: near(kind(v)), says)
        yield from matrix(entry, "data", lambda x, kind=kind: near(kind(None, x)), DATA, says={
            "None": f"{name}: how far points may lie from x is not known; give {name}, or data to take it from",
            "no columns": None,
        })  # fmt: skip
        says = "data: has 1 columns, x has 2"
        yield Row(entry, "data", "another width", lambda kind=kind: near(kind(None, DATA[:, :1])), says)
    yield from vector("OnOff", "off", lambda v: near(exp.OnOff(v)), np.zeros(2), says={
        **dict.fromkeys(("generator", "dictionary", "set", "name of a file", "None"), "off: … is not a number; …"),
        "one number": None,
    })  # fmt: skip
    yield from share("OnOff", "keep", lambda v: near(exp.OnOff(0.0, v)))
    yield from matrix("Points", "rows", lambda x: near(exp.Points(x)), DATA, says={
        kind: "perturbation" + words for kind, (_, words) in MATRIX.items() if kind != "no columns"
    } | {"no columns": None})  # fmt: skip
    yield from _tables(near)
    yield from share("Words", "keep", lambda v: near(exp.Words(keep=v), "a day"))
    yield from flag("Words", "together", lambda v: near(exp.Words(together=v), "a day"))
    for kind, value in {"broken": "(", "number": 3, "None": None}.items():
        says = "pattern: is not a regular expression (…)"
        yield Row("Words", "pattern", kind, lambda v=value: near(exp.Words(pattern=v), "a day"), says)
    for kind, value in {"number": 3, "None": None}.items():
        says = f"mask: {value!r} is not a text"
        yield Row("Words", "mask", kind, lambda v=value: near(exp.Words(mask=v), "a day"), says)
    for kind, value, says in (
        ("number", 3, "x: int is not a text"),
        ("without words", "...", "x: has no word; give a pattern that finds some"),
    ):
        yield Row("Words.around", "x", kind, lambda v=value: near(exp.Words(), v), says)
    yield from _images(near)


def _tables(near: Any) -> Iterator[Row]:
    """Tables with categories."""
    import pandas as pd

    table = pd.DataFrame({"a": DATA[:, 0], "c": np.where(DATA[:, 1] > 0, "u", "v")})
    row = {"a": 0.1, "c": "u"}
    neither = "data: is neither a pandas frame nor an array of shape (n, d)"
    for kind, value, says in (
        ("text", "table.csv", neither),
        ("None", None, neither),
        ("vector", np.ones(3), neither),
        ("ragged", [[1.0], [1.0, 2.0]], neither),
        ("sparse", ANY["sparse"][0](DATA), neither),
        ("masked", ANY["masked"][0](DATA), neither),
        ("no rows", table.iloc[:0], "data: is empty, shape (0, 2)"),
        ("a name twice", table.set_axis(["a", "a"], axis=1), "data: the column 'a' stands there twice"),
    ):
        yield Row("Tabular", "data", kind, lambda v=value: near(exp.Tabular(v), row), says)
    for kind, value, says in (
        ("unknown column", ["z"], "categorical: 'z' is not a column of the data"),
        ("one text", "c", "categorical: 'c' is not a sequence of columns, such as ['a']"),
        ("number", 1, "categorical: 1 is not a sequence of columns, such as ['a']"),
        ("index beyond the columns", [2], "categorical: 2 is not a column of the data"),
    ):
        yield Row("Tabular", "categorical", kind, lambda v=value: near(exp.Tabular(table, v), row), says)
    yield from number("Tabular", "half_width", lambda v: near(exp.Tabular(table, half_width=v), row))
    yield Row(
        "Tabular", "half_width", "zero", lambda: near(exp.Tabular(table, half_width=0.0), row), "half_width: 0 is …"
    )
    yield from share("Tabular", "keep", lambda v: near(exp.Tabular(table, keep=v), row))
    for kind, value, says in (
        ("a column missing", {"a": 0.1}, "x: lacks the columns c of the data"),
        ("NaN", {"a": np.nan, "c": "u"}, "x: column 'a' is nan; fill it in first, or name it among the …"),
        ("text for a number", {"a": "t", "c": "u"}, "x: column 'a' is 't'; fill it in first, or …"),
        ("two rows", table.iloc[:2], "x: has 2 rows; one point is explained at a time"),
        ("too few values", [0.1], "x: has 1 entries, the data has 2 columns"),
    ):
        yield Row("Tabular.around", "x", kind, lambda v=value: near(exp.Tabular(table), v), says)


def _images(near: Any) -> Iterator[Row]:
    """Images."""
    image = np.arange(16.0).reshape(4, 4)
    for kind, value, says in (
        ("vector", np.ones(4), "x: shape (4,) of float64 is not an image (height, width[, channels])"),
        ("text", "cat.png", "x: shape () of <U7 is not an image …"),
        ("ragged", [[1.0], [1.0, 2.0]], "x: cannot be read as an array (…)"),
        ("NaN", np.full((4, 4), np.nan), "x: has pixels that are not finite"),
        ("masked", ANY["masked"][0](image), "x: has masked entries; fill them first"),
    ):
        yield Row("SuperPixels.around", "x", kind, lambda v=value: near(exp.SuperPixels((2, 2)), v), says)
    for kind, value, says in (
        ("too fine", (9, 9), "grid: 9 × 9 super-pixels do not fit an image of 4 × 4 pixels"),
        ("fractions", (2.0, 2.0), "grid: (2.0, 2.0) is not a pair of whole numbers"),
        ("one number", 2, "grid: 2 is not a pair of whole numbers"),
        ("three numbers", (2, 2, 2), "grid: (2, 2, 2) is not a pair of whole numbers"),
        ("zero", (0, 2), "grid: 0 × 2 super-pixels do not fit an image of 4 × 4 pixels"),
    ):
        yield Row("SuperPixels", "grid", kind, lambda v=value: near(exp.SuperPixels(v), image), says)
    for kind, value, says in (
        ("another shape", np.zeros((2, 2), int), "labels: shape (2, 2) for an image of 4 × 4 pixels"),
        ("NaN", np.full((4, 4), np.nan), "labels: float64 are no numbers of super-pixels; give whole numbers"),
        ("objects", np.full((4, 4), None), "labels: object are no numbers of super-pixels; give whole numbers"),
        ("ragged", [[1], [1, 2]], "labels: cannot be read as an array (…)"),
    ):
        yield Row("SuperPixels", "labels", kind, lambda v=value: near(exp.SuperPixels(labels=v), image), says)
    for kind, value, says in (
        ("unknown name", "median", "fill: 'median' is not known; use a number, 'mean' or an image"),
        ("NaN", np.nan, "fill: has values that are not finite"),
        ("another shape", np.zeros((3, 3)), "fill: shape (3, 3) does not fit an image of shape (4, 4)"),
        ("None", None, "fill: holds no numbers but object; use a number, 'mean' or an image"),
        ("ragged", [[1], [1, 2]], "fill: cannot be read as an array (…)"),
    ):
        yield Row("SuperPixels", "fill", kind, lambda v=value: near(exp.SuperPixels((2, 2), fill=v), image), says)
    yield from flag("SuperPixels", "flat", lambda v: near(exp.SuperPixels((2, 2), flat=v), image))
    yield from share("SuperPixels", "keep", lambda v: near(exp.SuperPixels((2, 2), keep=v), image))


def answered() -> Iterator[Row]:
    """What an explanation is asked."""
    found = explained()
    for name in ("decision_function", "predict_proba", "decision_interval"):
        entry = f"Explanation.{name}"
        yield from matrix(entry, "z", getattr(found, name), DATA, says={
            "None": None if name == "decision_interval" else "z: is None; pass an array of numbers",
            "no columns": None,
            "records": "z: holds dtype [(…)]; pass real numbers",
        })  # fmt: skip
        yield Row(
            entry, "z", "another width", lambda n=name: getattr(found, n)([[1.0]]), "z: has 1 columns for 2 features"
        )
        says = "z: words are on (1) or off (0), and there are other values; give rows of ones and zeros"
        yield Row(entry, "z", "words that are half on", lambda n=name: getattr(WORDS, n)(np.full((1, 5), 0.5)), says)
    for name in ("conf_int", "decision_interval", "summary", "to_frame", "plot"):
        yield from share(f"Explanation.{name}", "level", lambda v, n=name: getattr(found, n)(level=v))
    yield from choice("Explanation.to_frame", "backend", found.to_frame)
    says = "plot_image: what was explained is not an image"
    yield Row("Explanation.plot_image", "self", "of numbers", found.plot_image, says)
    says = "plot_boundary: there are 5 features; a plane needs two"
    yield Row("Explanation.plot_boundary", "self", "of five features", WORDS.plot_boundary, says)
    says = "predict_proba: str is no function and has no method predict_proba"
    yield Row("Explanation.plot_boundary", "predict_proba", "text", lambda: found.plot_boundary("model"), says)
    image = exp.explain(lambda i: 0.2 + 0.5 * i[:, 0, 0], np.ones((2, 2)), exp.SuperPixels((2, 1)), n=40, n_test=5)
    yield from flag("Explanation.plot_image", "clear", lambda v: image.plot_image(clear=v))
    yield from share("Explanation.plot_image", "level", lambda v: image.plot_image(level=v))


ROWS: list[Row] = [*priors(), *scored(), *explaining(), *answered()]
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
        "says the same everywhere",
        lambda: explained(predict_proba=lambda z: np.full(len(z), 0.5)).coef,
        [0.0, 0.0],
    ),
    Known(
        "explain",
        "predict_proba",
        "a model of scikit-learn that is not fitted raises its own error",
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
