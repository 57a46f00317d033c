"""Rows about estimators: parameters, training data, new samples, summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pre_convex as pre

from .kinds import (
    choice,
    count,
    flag,
    frames,
    function,
    layouts,
    log_weights,
    matrix,
    number,
    settings,
    share,
    tables,
    tolerance,
    types,
)
from .rows import Known, Row, Taken

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(0.3, 1.0, (30, 2)), RNG.normal(0.0, 1.0, (40, 2))
L_P, L_Q = np.linspace(-1.0, 1.0, 30), np.linspace(1.0, -1.0, 40)
X, Y = np.concatenate([X_P, X_Q]), np.repeat([1, 0], [30, 40])
NEW = X_Q[:4]


def made(**parameters: Any) -> pre.PosteriorRatio:
    """A fitted estimator."""
    return pre.PosteriorRatio(**parameters).fit(X_P, X_Q)


def frame(columns: str = "ab", rows: np.ndarray = X_Q) -> Any:
    """Samples as a data frame."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(columns))


FIT, SHRUNK, CHI2 = made(), made(radius=0.1), made(divergence="chi2")
FRAMED = pre.PosteriorRatio().fit(frame(rows=X_P), frame())
CLASSIFIER, PLUGIN = pre.RatioClassifier().fit(X, Y), pre.PluginRatio().fit(X_P, X_Q, pre.Gaussian([0.0, 0.0]))
FRAMED_CLASSIFIER = pre.RatioClassifier().fit(frame(rows=X), Y)


def never(x: np.ndarray) -> np.ndarray:
    """Log-likelihood that is −inf beyond 5."""
    return np.where(x[:, 0] > 5.0, -np.inf, 0.0)


def parameters() -> Iterator[Row]:
    """Rows for parameters, which are checked by fit."""
    entry = "PosteriorRatio"
    yield from number(entry, "radius", lambda r: made(radius=r), skip=("array of two",))
    yield Row(entry, "radius", "negative", lambda: made(radius=-1.0))
    yield Row(entry, "radius", "automatic, with a penalty", lambda: made(radius="auto", penalty=lambda d: d[0] ** 2))
    yield Row(entry, "radius", "zero with a kernel", lambda: made(features="kernel"))
    yield Row(entry, "norm", "another norm with a kernel", lambda: made(features="kernel", radius=1.0, norm=1))
    yield Row(entry, "radius", "too many entries", lambda: made(radius=[0.1, 0.1, 0.1]))
    yield Row(entry, "radius", "unknown feature", lambda: made(radius={"x9": 0.1}))
    yield Row(entry, "radius", "automatic, with χ²", lambda: made(radius="auto", divergence="chi2"), named="divergence")
    yield from choice(entry, "divergence", lambda v: made(divergence=v))
    for kind, value in {"one number": 2.0, "reversed": (2.0, 0.5), "negative": (-1.0, 2.0), "text": "ab"}.items():
        yield Row(entry, "bounds", kind, lambda v=value: made(bounds=v))
    for kind, value in {"zero": 0.0, "below the average": 0.001, "text": "a", "NaN": np.nan}.items():
        yield Row(entry, "max_weight", kind, lambda v=value: made(max_weight=v))
    yield from choice(entry, "formulation", lambda v: made(formulation=v))
    yield from choice(entry, "norm", lambda v: made(norm=v), skip=("None",))
    yield from choice(entry, "features", lambda v: made(features=v))
    yield Row(entry, "features", "class", lambda: made(features=pre.Linear))
    for name, value in {
        "radius": 0.5,
        "norm": 1,
        "divergence": "chi2",
        "bounds": (0.0, 9.0),
        "max_weight": 0.5,
    }.items():
        yield Row(entry, name, "with automatic features", lambda n=name, v=value: made(features="auto", **{n: v}))
    yield from share(entry, "alpha", lambda v: made(alpha=v))
    yield from count(entry, "cv", lambda v: made(cv=v))
    yield Row(entry, "cv", "more folds than rows", lambda: made(radius="cv", cv=31))
    yield from tolerance(entry, lambda v: made(tol=v))
    yield from settings(entry, lambda v: made(settings=v))
    yield from flag(entry, "one_se", lambda v: made(one_se=v))
    yield from flag(entry, "paired", lambda v: made(paired=v))
    yield from flag(entry, "standardise", lambda v: made(standardise=v))
    yield Row(entry, "paired", "other rows", lambda: made(paired=True))
    for kind, value in {"unknown name": "nonsense", "number": 7, "None": None}.items():
        yield Row(entry, "solver", kind, lambda v=value: made(solver=v), error=pre.UnknownSolverError)
    yield Row(entry, "penalty", "the name of another norm", lambda: made(penalty="l1", norm=2))
    for name in ("penalty", "constraints"):
        for kind, value in {"text": "l3", "number": 3.0}.items():
            yield Row(entry, name, kind, lambda n=name, v=value: made(**{n: v}))


def mixtures() -> Iterator[Row]:
    """Rows for mixture KLIEP."""
    entry, fit = "MixtureKLIEP", pre.MixtureKLIEP(0.5).fit(X_P, X_Q)

    def mixture(**parameters: Any) -> Any:
        return pre.MixtureKLIEP(**{"length_scale": 0.5, **parameters}).fit(X_P, X_Q)

    for kind, value in {"zero": 0.0, "negative": -1.0, "unknown name": "median", "None": None, "NaN": np.nan}.items():
        yield Row(entry, "length_scale", kind, lambda v=value: mixture(length_scale=v))
    yield from count(entry, "centres", lambda v: mixture(centres=v))
    yield from count(entry, "cv", lambda v: mixture(cv=v))
    yield Row(entry, "cv", "more folds than rows", lambda: mixture(length_scale="cv", cv=31))
    yield from tolerance(entry, lambda v: mixture(tol=1.0 if v is None else v))
    yield Row("KLIEP", "model", "unknown name", lambda: pre.KLIEP(model="linear"))

    def again(**data: Any) -> Any:
        return pre.MixtureKLIEP(0.5).fit(**{"x_p": X_P, "x_q": X_Q, **data})

    def score(**data: Any) -> Any:
        return fit.score(**{"x_p": X_P, "x_q": X_Q, **data})

    for method, call in {"fit": again, "score": score}.items():
        for side, good in (("x_p", X_P), ("x_q", X_Q)):
            yield from matrix(f"{entry}.{method}", side, lambda x, c=call, s=side: c(**{s: x}), good)
        yield Row(f"{entry}.{method}", "x_q", "another width", lambda c=call: c(x_q=X_Q[:, :1]))
        for name, good in (("log_lik_p", L_P), ("log_lik_q", L_Q)):
            rows = log_weights(f"{entry}.{method}", name, lambda a, c=call, n=name: c(**{n: a}), good, skip=("None",))
            yield from rows
    for method in ("ratio", "log_ratio"):
        yield from matrix(f"{entry}.{method}", "x", getattr(fit, method), NEW)


def fits() -> Iterator[Row]:
    """Rows for training data."""
    likelihoods = {
        "PosteriorRatio.fit": lambda **a: pre.PosteriorRatio().fit(**{"x_p": X_P, "x_q": X_Q, **a}),
        "PluginRatio.fit": lambda **a: pre.PluginRatio().fit(**{"x_p": X_P, "x_q": X_Q, **a}),
    }
    for entry, fit in {
        **likelihoods,
        "KLIEP.fit": lambda **a: pre.KLIEP().fit(**{"x_p": X_P, "x_q": X_Q, **a}),
    }.items():
        for side, good in (("x_p", X_P), ("x_q", X_Q)):
            yield from matrix(entry, side, lambda x, fit=fit, side=side: fit(**{side: x}), good)
            yield from frames(entry, side, lambda x, fit=fit, side=side: fit(**{side: x}))
        yield Row(entry, "x_q", "another width", lambda fit=fit: fit(x_q=X_Q[:, :1]))
        yield Row(entry, "x_q", "renamed columns", lambda fit=fit: fit(x_p=frame(rows=X_P), x_q=frame("ac")))
        yield Row(entry, "x_p", "outside the hull", lambda fit=fit: fit(x_p=X_P + 99.0), error=pre.InfeasibleError)
    for name, good in (("log_lik_p", L_P), ("log_lik_q", L_Q)):
        fit = likelihoods["PosteriorRatio.fit"]
        yield from log_weights(
            "PosteriorRatio.fit", name, lambda a, n=name, fit=fit: fit(**{n: a}), good, skip=("None",)
        )
        for entry, fit in likelihoods.items():
            yield from function(entry, name, lambda f, n=name, fit=fit: fit(**{n: f}))
        yield Row(
            "PluginRatio.fit", name, "array", lambda n=name, good=good: likelihoods["PluginRatio.fit"](**{n: good})
        )
    yield from matrix("RatioClassifier.fit", "X", lambda x: pre.RatioClassifier().fit(x, Y), X)
    yield from frames("RatioClassifier.fit", "X", lambda x: pre.RatioClassifier().fit(x, [0, 1, 0, 1]))


LABELS: dict[str, Any] = {
    "None": None,
    "one label": np.zeros(70),
    "three labels": np.arange(70) % 3,
    "NaN": np.where(Y > 0, 1.0, np.nan),
    "continuous": np.linspace(0.0, 1.5, 70),
    "one number": 1.0,
    "two columns": np.column_stack([Y, Y]),
    "objects": np.full(70, None),
    "complex": Y + 1j,
    "ragged": [[1.0], [1.0, 2.0]],
    "masked": np.ma.array(Y, mask=Y > 0),
    "too short": Y[1:],
}
SAMPLE_WEIGHTS: dict[str, Any] = {
    "negative": -np.ones(70),
    "zero for a label": Y.astype(float),
    "NaN": np.full(70, np.nan),
    "too short": np.ones(3),
    "text": np.full(70, "a"),
}


def labelled() -> Iterator[Row]:
    """Rows for labels and weights of a classifier."""
    for entry, call in (
        ("RatioClassifier.fit", lambda **a: pre.RatioClassifier().fit(**{"X": X, "y": Y, **a})),
        ("RatioClassifier.score", lambda **a: CLASSIFIER.score(**{"X": X, "y": Y, **a})),
    ):
        for kind, value in LABELS.items():
            yield Row(entry, "y", kind, lambda call=call, v=value: call(y=v))
        for kind, value in SAMPLE_WEIGHTS.items():
            yield Row(entry, "sample_weight", kind, lambda call=call, v=value: call(sample_weight=v))


def wrong_columns(entry: str, argument: str, call: Callable[[Any], Any]) -> Iterator[Row]:
    """Rows for new samples without the columns a and b of the fit."""
    yield Row(entry, argument, "renamed columns", lambda: call(frame("ac")))
    yield Row(entry, argument, "columns missing", lambda: call(frame("a", X_Q[:, :1])))
    yield Row(entry, argument, "another width", lambda: call(X_Q[:, :1]))


def new_samples() -> Iterator[Row]:
    """Rows for new samples."""
    for name in ("log_ratio", "ratio", "log_ratio_interval"):
        entry = f"PosteriorRatio.{name}"
        yield from matrix(entry, "x", getattr(FIT, name), NEW)
        yield from frames(entry, "x", getattr(FIT, name))
        yield from wrong_columns(entry, "x", getattr(FRAMED, name))
        yield Row(entry, "x", "beyond 1e100", lambda name=name: getattr(FIT, name)(NEW * 1e200), named="features(x)")
    for name in ("predict", "predict_proba", "decision_function"):
        entry = f"RatioClassifier.{name}"
        yield from matrix(entry, "X", getattr(CLASSIFIER, name), NEW)
        yield from wrong_columns(entry, "X", getattr(FRAMED_CLASSIFIER, name))
    yield from matrix("RatioClassifier.score", "X", lambda x: CLASSIFIER.score(x, Y), X)
    yield from wrong_columns("RatioClassifier.score", "X", lambda x: FRAMED_CLASSIFIER.score(x, Y[:40]))
    yield from matrix("PluginRatio.log_ratio", "x", PLUGIN.log_ratio, NEW)
    yield Row(
        "PluginRatio.log_ratio",
        "x",
        "a row of likelihood zero on both sides",
        lambda: pre.PluginRatio().fit(X_P, X_Q, never, never).log_ratio([[0.0, 0.0], [9.0, 0.0]]),
    )
    for entry, fit in (("PosteriorRatio.score", FIT), ("PluginRatio.score", PLUGIN)):
        for side, good in (("x_p", X_P), ("x_q", X_Q)):
            yield from matrix(entry, side, lambda x, f=fit, s=side: f.score(**{"x_p": X_P, "x_q": X_Q, s: x}), good)
        for name, good in (("log_lik_p", L_P), ("log_lik_q", L_Q)):
            yield from log_weights(
                entry, name, lambda a, f=fit, n=name: f.score(X_P, X_Q, **{n: a}), good, skip=("None",)
            )
    for side, good in (("x_p", X_P), ("x_q", X_Q)):
        yield from matrix(
            "KLIEP.score",
            side,
            lambda x, s=side: pre.KLIEP().fit(X_P, X_Q).score(**{"x_p": X_P, "x_q": X_Q, s: x}),
            good,
        )


def summaries() -> Iterator[Row]:
    """Rows for intervals, tests and summaries."""
    for name in ("conf_int", "divergence_interval", "summary", "to_frame", "to_latex"):
        yield from share(f"PosteriorRatio.{name}", "level", lambda v, name=name: getattr(FIT, name)(level=v))
    for name in ("summary", "to_latex"):
        yield Row(
            f"PosteriorRatio.{name}",
            "level",
            "percent, where there are no intervals",
            lambda name=name: getattr(SHRUNK, name)(level=95.0),
        )
    yield from flag("save", "overwrite", lambda v: pre.save(FIT, "fit.npz", overwrite=v))
    yield from share("PosteriorRatio.log_ratio_interval", "level", lambda v: FIT.log_ratio_interval(NEW, v))
    yield from share("PosteriorRatio.in_region", "level", lambda v: FIT.in_region([0.0, 0.0], v))
    kinds = ("covariance", "conf_int", "divergence_interval", "divergence_p_value", "wald_test", "inference")
    for name in (*kinds, "summary"):
        yield from choice(f"PosteriorRatio.{name}", "kind", lambda v, name=name: getattr(FIT, name)(kind=v))
    yield from choice("PosteriorRatio.debiased", "kind", lambda v: FIT.debiased(kind=v))
    yield from choice("PosteriorRatio.log_ratio_interval", "kind", lambda v: FIT.log_ratio_interval(NEW, kind=v))
    yield from choice("PosteriorRatio.in_region", "kind", lambda v: FIT.in_region([0.0, 0.0], kind=v))
    yield from choice("PosteriorRatio.to_frame", "backend", FIT.to_frame)
    yield from count("PosteriorRatio.bootstrap", "replicates", FIT.bootstrap)
    yield from flag("PosteriorRatio.bootstrap", "progress", lambda v: FIT.bootstrap(2, progress=v))
    for kind, value in {"zero": 0, "fraction": 1.5, "text": "all", "None": None, "bool": True}.items():
        yield Row("PosteriorRatio.bootstrap", "jobs", kind, lambda v=value: FIT.bootstrap(2, jobs=v))
    for name in kinds:
        yield Row(f"PosteriorRatio.{name}", "radius", "positive", lambda name=name: getattr(SHRUNK, name)())
        yield Row(f"PluginRatio.{name}", "kind", "any", lambda name=name: getattr(PLUGIN, name)(), named="PluginRatio")
    yield Row("PosteriorRatio.inference", "penalty", "given", lambda: made(penalty=lambda d: d[0] ** 2).inference())


def unfitted() -> Iterator[Row]:
    """Rows for methods called before fit."""
    points = {"log_ratio": (NEW,), "ratio": (NEW,), "log_ratio_interval": (NEW,), "in_region": ([0.0, 0.0],)}
    plain = ("covariance", "conf_int", "divergence_interval", "divergence_p_value", "wald_test", "bootstrap")
    plain = (*plain, "diagnostics", "summary", "to_frame", "to_latex", "inference")
    calls = {**points, **dict.fromkeys(plain, ()), "score": (X_P, X_Q)}
    for entry, kind, asked_for in (
        ("PosteriorRatio", pre.PosteriorRatio, calls),
        ("KLIEP", pre.KLIEP, {"score": (X_P, X_Q), "log_ratio": (NEW,)}),
        ("PluginRatio", pre.PluginRatio, {"score": (X_P, X_Q), "log_ratio": (NEW,)}),
        (
            "RatioClassifier",
            pre.RatioClassifier,
            {"predict": (X,), "predict_proba": (X,), "decision_function": (X,), "score": (X, Y)},
        ),
    ):
        for name, arguments in asked_for.items():
            yield Row(
                f"{entry}.{name}",
                "self",
                "not fitted",
                lambda kind=kind, name=name, a=arguments: getattr(kind(), name)(*a),
                error=pre.UnfittedError,
                named=entry,
            )
    yield Row(
        "PosteriorRatio.mu_",
        "self",
        "not fitted",
        lambda: pre.PosteriorRatio().mu_,
        error=pre.UnfittedError,
        named="PosteriorRatio",
    )


ROWS: list[Row] = [*parameters(), *mixtures(), *fits(), *labelled(), *new_samples(), *summaries(), *unfitted()]
TAKEN: list[Taken] = [
    *layouts("PosteriorRatio.fit", "x_q", lambda x: pre.PosteriorRatio().fit(X_P, x).delta_, X_Q),
    *tables("PosteriorRatio.fit", "x_q", lambda x: pre.PosteriorRatio().fit(X_P, x).delta_, X_Q),
    *layouts("PosteriorRatio.fit", "log_lik_p", lambda a: pre.PosteriorRatio().fit(X_P, X_Q, a).delta_, L_P),
    *layouts("PosteriorRatio.log_ratio", "x", FIT.log_ratio, NEW),
    *types("PosteriorRatio.log_ratio", "x", FIT.log_ratio, NEW),
    *tables("PosteriorRatio.log_ratio", "x", FIT.log_ratio, NEW),
    *layouts("RatioClassifier.fit", "X", lambda x: pre.RatioClassifier().fit(x, Y).delta_, X),
    Taken(
        "PosteriorRatio.fit",
        "x_q",
        "reordered columns",
        lambda x: pre.PosteriorRatio().fit(frame(rows=X_P), x).delta_,
        lambda: frame()[["b", "a"]],
        frame,
    ),
    *(
        Taken(entry, argument, kind, call, change, frame)
        for kind, change in {
            "reordered columns": lambda: frame()[["b", "a"]],
            "more columns than the fit had": lambda: frame().assign(c=1.0)[["c", "b", "a"]],
        }.items()
        for entry, argument, call in (
            ("PosteriorRatio.log_ratio", "x", FRAMED.log_ratio),
            ("PosteriorRatio.score", "x_q", lambda x: FRAMED.score(frame(rows=X_P), x)),
            ("PosteriorRatio.log_ratio_interval", "x", lambda x: FRAMED.log_ratio_interval(x).lower),
            ("RatioClassifier.predict_proba", "X", FRAMED_CLASSIFIER.predict_proba),
            ("RatioClassifier.score", "X", lambda x: FRAMED_CLASSIFIER.score(x, np.arange(40) % 2)),
        )
    ),
    Taken(
        "RatioClassifier.fit",
        "y",
        "text labels",
        lambda y: pre.RatioClassifier().fit(X, y).delta_,
        lambda: np.where(Y > 0, "yes", "no"),
        lambda: Y,
    ),
]
KNOWN: list[Known] = [
    Known(
        "PosteriorRatio.ratio",
        "x",
        "so far away that the ratio overflows",
        lambda: FIT.ratio(1e6 * FIT.delta_[None]),
        [np.inf],
    ),
    Known(
        "PluginRatio.log_ratio",
        "x",
        "a row of likelihood zero on the p side",
        lambda: pre.PluginRatio().fit(X_P, X_Q, never).log_ratio([[9.0, 0.0]]),
        [-np.inf],
    ),
    Known(
        "PosteriorRatio.fit",
        "x_p",
        "two rows",
        lambda: pre.PosteriorRatio().fit(X_Q[:2] * 0.1, X_Q).solution_.gap < 1e-8,
        True,
    ),
    Known(
        "PosteriorRatio.fit",
        "features",
        "as many features as rows, with a radius",
        lambda: made(features=pre.Polynomial(20), radius="auto").solution_.status.ok,
        True,
    ),
]
