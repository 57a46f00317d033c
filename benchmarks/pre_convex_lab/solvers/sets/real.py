"""Data sets of scikit-learn split by one of their columns, and handwritten digits, 6 against 9."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import log_expit

from pre_convex._internal.entropy import log_normalise
from pre_convex._internal.typing import Array
from pre_convex.problem import RatioProblem

from ..cases import Case, Truth, solved

TITLE = "scikit-learn's data sets split by a covariate, digits 6 against 9"
VERSION = 1

#: data set: the column it is split by, and a radius that makes the hard split feasible (0 if it is feasible anyway)
DATA: dict[str, tuple[int, float]] = {
    "iris": (2, 0.7),
    "wine": (0, 0.3),
    "diabetes": (2, 0.0),
    "breast_cancer": (0, 600.0),
    "linnerud": (0, 25.0),
}
#: by norm, radii that are feasible but smaller than the threshold where δ becomes zero
DIGITS = {2: (31.0, 36.0), np.inf: (10.0, 13.0)}


def cases() -> Iterator[Case]:
    """Soft splits by weights, hard splits at the median, and the digits."""
    for name, (column, radius) in DATA.items():
        X = _data(name)
        yield from _soft(name, X, column)
        yield from _hard(name, X, column, radius)
    yield from _digits()


def _data(name: str) -> Array:
    """Feature matrix of a data set."""
    from sklearn import datasets

    return np.asarray(getattr(datasets, f"load_{name}")().data, dtype=float)


def _soft(name: str, X: Array, column: int) -> Iterator[Case]:
    """All rows on both sides, with likelihoods σ(z) and 1 − σ(z) of the standardised covariate z.

    Their ratio is e^z, so the answer is known if the covariate is among the features, and computed otherwise.
    """
    mean, sd = X[:, column].mean(), X[:, column].std()
    z = (X[:, column] - mean) / sd
    w = np.exp(log_normalise(log_expit(z)))
    problem = RatioProblem(w @ X, X, log_expit(-z))
    delta = np.zeros(X.shape[1])
    delta[column] = 1.0 / sd
    yield Case(f"{name}-known", problem, Truth.OPTIMAL, problem.value(delta), delta)
    rest = np.delete(X, column, axis=1)
    yield solved(f"{name}-soft", RatioProblem(w @ rest, rest, log_expit(-z)))


def _hard(name: str, X: Array, column: int, radius: float) -> Iterator[Case]:
    """Rows above the median of a column against the others, with the other columns as features."""
    above = X[:, column] > np.median(X[:, column])
    rest = np.delete(X, column, axis=1)
    problem = RatioProblem(rest[above].mean(axis=0), rest[~above])
    if radius:
        yield Case(f"{name}-hard", problem, Truth.INFEASIBLE, -np.inf)
        yield solved(f"{name}-relaxed", problem.with_radius(radius, 2), radius=radius)
    else:
        yield solved(f"{name}-hard", problem)


def _digits() -> Iterator[Case]:
    """Mean pixels of the sixes as the target, the nines as rows; some pixels are constant."""
    from sklearn.datasets import load_digits

    data = load_digits()
    problem = RatioProblem(data.data[data.target == 6].mean(axis=0), data.data[data.target == 9])
    yield Case("digits-6-9", problem, Truth.INFEASIBLE, -np.inf)
    for norm, radii in DIGITS.items():
        for radius in radii:
            yield solved(f"digits-6-9-norm{norm:g}-{radius:g}", problem.with_radius(radius, norm), radius=radius)
