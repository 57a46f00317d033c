"""Rows about balancing and calibration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pre_convex as pre
from pre_convex import plots

from .kinds import choice, layouts, matrix, settings, tables, tolerance
from .rows import Row, Taken

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
TREATED, Y = np.arange(60) % 2 == 0, X[:, 0] + RNG.normal(size=60)
FIT = pre.Balance().fit(X, TREATED, Y)


def made(**parameters: Any) -> pre.Balance:
    """A fit with some parameters."""
    return pre.Balance(**parameters).fit(X, TREATED, Y)


def fitted(**changes: Any) -> pre.Balance:
    """A fit with some data changed."""
    return pre.Balance().fit(**{"X": X, "treatment": TREATED, "y": Y, **changes})


def calibrated(**changes: Any) -> pre.Balance:
    """A fit to targets with some arguments changed."""
    return pre.Balance().fit(**{"X": X, "targets": [0.1, 0.0], **changes})


def frame() -> Any:
    """Covariates as a data frame."""
    import pandas as pd

    return pd.DataFrame(X, columns=["a", "b"])


def parameters() -> Iterator[Row]:
    """Rows for parameters, which are checked by fit."""
    entry = "Balance"
    yield from choice(entry, "estimand", lambda v: made(estimand=v))
    yield from choice(entry, "divergence", lambda v: made(divergence=v))
    yield from choice(entry, "features", lambda v: made(features=v))
    yield from tolerance(entry, lambda v: made(tol=v))
    yield from settings(entry, lambda v: made(settings=v))
    formulas = {"number": 3, "unknown column": "a + c", "no terms": "1", "syntax": "a +* b"}
    for kind, formula in formulas.items():
        yield Row(entry, "formula", kind, lambda f=formula: pre.Balance(formula=f).fit(frame(), TREATED))
    yield Row(entry, "formula", "array", lambda: made(formula="a"), named="X")
    for kind, value in {"one number": 2.0, "reversed": (2.0, 0.5), "negative": (-1.0, 2.0), "text": "ab"}.items():
        yield Row(entry, "bounds", kind, lambda v=value: made(bounds=v))
    yield Row(entry, "bounds", "too short", lambda: made(bounds=(0.1, np.ones(3))))
    for kind, value in {"zero": 0.0, "below the average": 0.001, "text": "a", "NaN": np.nan}.items():
        yield Row(entry, "max_weight", kind, lambda v=value: made(max_weight=v))
    radii = {"negative": -1.0, "text": "auto", "too long": [0.1, 0.1, 0.1], "unknown feature": {"x9": 0.1}}
    for kind, value in radii.items():
        yield Row(entry, "radius", kind, lambda v=value: made(radius=v))


def data() -> Iterator[Row]:
    """Rows for data."""
    entry = "Balance.fit"
    yield from matrix(entry, "X", lambda x: fitted(X=x), X)
    treatments = {"None": None, "three values": np.arange(60) % 3, "too short": TREATED[1:], "NaN": TREATED * np.nan}
    for kind, value in {**treatments, "only one group": np.ones(60), "text": np.full(60, "a")}.items():
        yield Row(entry, "treatment", kind, lambda v=value: fitted(treatment=v))
    for kind, value in {"too short": Y[1:], "NaN": Y * np.nan, "text": np.full(60, "a")}.items():
        yield Row(entry, "y", kind, lambda v=value: fitted(y=v))
    weights = {"too short": np.ones(3), "negative": -np.ones(60), "zero": np.zeros(60), "NaN": np.full(60, np.nan)}
    for kind, value in weights.items():
        yield Row(entry, "base_weights", kind, lambda v=value: fitted(base_weights=v))
    yield Row(entry, "base_weights", "zero for a group", lambda: fitted(base_weights=1.0 * TREATED), named="treatment")
    targets = {"too short": [0.1], "unknown feature": {"x9": 0.1}, "empty": {}, "NaN": [0.1, np.nan], "text": "ab"}
    for kind, value in targets.items():
        yield Row(entry, "targets", kind, lambda v=value: calibrated(targets=v))
    yield Row(entry, "targets", "with a treatment", lambda: calibrated(treatment=TREATED))
    yield Row(entry, "targets", "out of reach", lambda: calibrated(targets=[99.0, 0.0]), error=pre.InfeasibleError)
    for kind, value in {"zero": 0.0, "negative": -1.0, "text": "a", "NaN": np.nan}.items():
        yield Row(entry, "total", kind, lambda v=value: calibrated(total=v))
    yield Row(entry, "total", "without targets", lambda: fitted(total=100.0))
    for name in ("summary", "plot"):
        call = getattr(pre.Balance(), name)
        yield Row(f"Balance.{name}", "self", "not fitted", call, error=pre.UnfittedError, named="Balance")
    for kind, value in {"array": X, "None": None, "fit": FIT}.items():
        yield Row("plot_love", "table", kind, lambda v=value: plots.plot_love(v))


EXEMPT = {
    "Balance.plot.ax": "passed to the plots",
    "Balance.fit.targets": "a vector or a dict, where others have a matrix",
}
ROWS: list[Row] = [*parameters(), *data()]
TAKEN: list[Taken] = [
    *layouts("Balance.fit", "X", lambda x: fitted(X=x).weights_, X),
    *tables("Balance.fit", "X", lambda x: fitted(X=x).weights_, X),
    Taken(
        "Balance.fit",
        "treatment",
        "0 and 1",
        lambda t: fitted(treatment=t).weights_,
        lambda: TREATED.astype(int),
        lambda: TREATED,
    ),
]
