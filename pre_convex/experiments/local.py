"""What the experiments on local classifiers share: black boxes, points of interest with outliers, and methods."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from ..applications.explanation.local_fit import fit_local
from ..arrays import frozen
from ..entropy import Array, exp, log
from ..errors import MissingExtraError

__all__ = [
    "KINDS",
    "SPREAD",
    "BlackBox",
    "Scene",
    "angle",
    "lime_fit",
    "lime_kernel",
    "lime_line",
    "lime_module",
    "lime_own_line",
    "make_scene",
    "make_wide_scene",
    "mean_and_half",
    "pre_line",
    "row_kernel",
    "soft_line",
    "train_box",
]

#: an outlier's class, which the black box gives it, and whether that agrees with the local trend
KINDS = ("− against the trend", "− with the trend", "+ against the trend", "+ with the trend")
#: standard deviation of the local cloud; the training data has 1
SPREAD = 0.2
#: an outlier's distance from the point, at least and at most, and the part of it across the boundary, at least
NEAR, FAR, ACROSS = 1.2, 2.5, 0.4
#: |logit| of an outlier at least: the black box is sure of its class
SURE = 2.0
#: noise of the two moons
NOISE = 0.2
#: features of the wide black boxes, of which all but two are noise
WIDE = 8
#: rows to train on, centres of the kernel, its inverse squared width and inverse penalty, by the number of features
TRAINING = {2: (400, 50, 1.0, 10.0), WIDE: (2000, 200, 0.1, 100.0)}


@dataclass(frozen=True, eq=False)
class BlackBox:
    """Kernel logistic regression of scikit-learn, trained on two moons, with the gradient of its logit."""

    model: Any
    rows: Array
    mean: Array
    scale: Array

    def predict_proba(self, x: Array) -> Array:
        """Probabilities of the classes − and +, shape (n, 2): all that the methods see."""
        return np.asarray(self.model.predict_proba(x))

    def logit(self, x: Array) -> Array:
        """Log p₊/p₋, shape (n,): a sum of Gaussian bumps."""
        kernel, linear = self.model
        parts = exp(-kernel.gamma * _square_distances(x, kernel.components_)) * self._heights()
        return np.asarray(parts.sum(axis=1) + linear.intercept_[0])

    def gradient(self, x: Array) -> Array:
        """Gradient of the logit, shape (n, d), exact."""
        kernel, _ = self.model
        parts = exp(-kernel.gamma * _square_distances(x, kernel.components_)) * self._heights()
        return np.asarray(-2.0 * kernel.gamma * (parts.sum(axis=1, keepdims=True) * x - parts @ kernel.components_))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Fresh rows and labels of the law of the training data, in its units."""
        x, labels = _moons(n, self.rows.shape[1], rng)
        return (x - self.mean) / self.scale, labels

    def _heights(self) -> Array:
        """Heights of the bumps."""
        kernel, linear = self.model
        return np.asarray((linear.coef_ @ kernel.normalization_)[0])


@dataclass(frozen=True, eq=False)
class Scene:
    """A black box, a point on its boundary, the unit gradient there, and one outlier of each kind.

    ``boxes`` counts the black boxes that were trained until one had such a point.
    """

    box: BlackBox
    point: Array
    direction: Array
    outliers: Array
    boxes: int

    def cloud(self, n: int, rng: np.random.Generator, kind: int | None = None) -> Array:
        """X_loc: the point, rows around it, and where a kind is given its outlier as the last of the n rows."""
        rows = self.point + SPREAD * rng.normal(size=(n, len(self.point)))
        rows[0] = self.point  # LIME takes the first row for the point that it explains
        if kind is not None:
            rows[-1] = self.outliers[kind]
        return np.asarray(rows)

    def angle(self, line: Array) -> float:
        """Degrees between a classifier's normal and the gradient of the black box at the point."""
        return angle(line[:-1], self.direction)


def angle(a: Array, b: Array) -> float:
    """Degrees between two directions.

    Examples
    --------
    >>> round(angle(np.array([1.0, 0.0]), np.array([-2.0, 2.0])), 6)
    135.0
    """
    cosine = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def train_box(rng: np.random.Generator, features: int = 2) -> BlackBox:
    """A black box trained on its own sample of two moons and noise columns, standardised."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    n, centres, gamma, loose = TRAINING[features]
    x, labels = _moons(n, features, rng)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    rows = (x - mean) / scale
    kernel = Nystroem(gamma=gamma, n_components=centres, random_state=int(rng.integers(2**31)))
    model = make_pipeline(kernel, LogisticRegression(C=loose, max_iter=1000)).fit(rows, labels)
    return BlackBox(model, frozen(rows), frozen(mean), frozen(scale))


def make_scene(rng: np.random.Generator) -> Scene:
    """The first point of a random black box's boundary that has outliers of all kinds among fresh rows.

    Nothing is made up: an outlier is a row of the law of the training data, of which the black box is sure. It goes
    against the trend where the black box's class is not that of the linear classifier at the point. Points come from
    fresh rows, in their random order; a black box that has no such point is passed over.
    """
    for boxes in count(1):
        box = train_box(rng)
        rows, _ = box.draw(1000, rng)
        logit = box.logit(rows)
        for point in _to_boundary(box, rows[:100]):
            direction = _direction(box, point)
            found = [rows[where] for where in _kinds(rows - point, direction, logit)]
            if all(map(len, found)):
                outliers = np.array([few[rng.integers(len(few))] for few in found])
                return Scene(box, frozen(point), direction, frozen(outliers), boxes)
    raise AssertionError  # the loop has no end


def make_wide_scene(rng: np.random.Generator) -> Scene:
    """The first point of the boundary of a black box with many features, without outliers."""
    for boxes in count(1):
        box = train_box(rng, WIDE)
        rows, _ = box.draw(100, rng)
        for point in _to_boundary(box, rows):
            return Scene(box, frozen(point), _direction(box, point), frozen(np.empty((0, WIDE))), boxes)
    raise AssertionError  # the loop has no end


def pre_line(x: Array, proba: Array, swap: bool = False, weights: Array | None = None) -> Array:
    """PRE's classifier on the rows, [coefficients, offset], positive for +; no labels are needed for the offset.

    The paper has p₋ on the p side and p₊ on the q side; ``swap`` exchanges them.
    """
    names = tuple(f"x{j}" for j in range(x.shape[1]))
    log_weights = None if weights is None else log(weights)
    fit = fit_local(x, proba[:, 1], proba[:, 0], names, log_weights=log_weights, swap=swap)
    return np.append(fit.coef, fit.offset)


def lime_line(x: Array, proba: Array, kernel: bool = True, ridge: bool = True) -> Array:
    """LIME's classifier on the given rows: a ridge regression of p₊ − 1/2 on x, with its kernel unless told."""
    distances = np.sqrt(((x - x[0]) ** 2).sum(axis=1))
    line = lime_fit(x, proba, distances, lambda d: lime_kernel(d, x.shape[1]) if kernel else np.ones(len(d)), ridge)
    line[-1] -= 0.5
    return line


def lime_fit(x: Array, proba: Array, distances: Array, kernel: Callable[[Array], Array], ridge: bool = True) -> Array:
    """LIME's regression of p₊ on rows with these distances from the point, [coefficients, offset], by its own code."""
    from sklearn.linear_model import LinearRegression

    base = lime_module("lime_base").LimeBase(kernel, random_state=np.random.RandomState(0))
    offset, pairs, _, _ = base.explain_instance_with_data(
        x, proba, distances, 1, x.shape[1], "none", None if ridge else LinearRegression()
    )
    return np.append([value for _, value in sorted(pairs)], offset)


def lime_own_line(box: BlackBox, point: Array, n: int, seed: int) -> tuple[Array, Array]:
    """LIME on rows that its package draws around the point, as wide as the training data; the classifier, and the rows.

    The package's defaults are other: rows around the mean of the training data, and columns cut into quartiles. Neither
    would leave a linear classifier at the point.
    """
    rows = [point[None]]

    def answer(x: Array) -> Array:
        rows.append(x)
        return box.predict_proba(x)

    explainer = lime_module("lime_tabular").LimeTabularExplainer(
        box.rows, discretize_continuous=False, sample_around_instance=True, feature_selection="none", random_state=seed
    )
    found = explainer.explain_instance(point, answer, num_features=len(point), num_samples=n)
    # the explainer standardises by its training data, and so its coefficients are of standardised columns
    coefficients = np.array([value for _, value in sorted(found.local_exp[1])]) / explainer.scaler.scale_
    line = np.append(coefficients, found.intercept[1] - 0.5 - coefficients @ explainer.scaler.mean_)
    return line, rows[-1]


def lime_module(name: str) -> Any:
    """A module of LIME's package."""
    try:
        return importlib.import_module(f"lime.{name}")
    except ImportError:
        raise MissingExtraError("lime", "experiments") from None


def lime_kernel(distances: Array, features: int) -> Array:
    """LIME's default weights √exp(−d²/w²), w = 0.75 √features, of distances in standard deviations."""
    return exp(-(distances**2) / (2.0 * 0.75**2 * features))


def row_kernel(x: Array) -> Array:
    """LIME's weights of rows of which the first is the point."""
    return lime_kernel(np.sqrt(((x - x[0]) ** 2).sum(axis=1)), x.shape[1])


def soft_line(x: Array, proba: Array, weights: Array | None = None) -> Array:
    """Logistic regression on the probabilities as soft labels, without penalty: every row once in each class."""
    from sklearn.linear_model import LogisticRegression

    share = proba if weights is None else proba * weights[:, None]
    labels = np.repeat([0, 1], len(x))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8)
    model.fit(np.concatenate([x, x]), labels, sample_weight=share.T.ravel())
    return np.append(model.coef_[0], model.intercept_)


def mean_and_half(values: Array) -> tuple[Array, Array]:
    """Mean along the first axis and half of its 95 % interval, nan left out.

    Examples
    --------
    >>> mean, half = mean_and_half(np.array([1.0, 2.0, np.nan, 3.0]))
    >>> round(float(mean), 3), round(float(half), 3)
    (2.0, 1.132)
    """
    count = np.isfinite(values).sum(axis=0)
    half = 1.96 * np.nanstd(values, axis=0, ddof=1) / np.sqrt(count)
    return np.asarray(np.nanmean(values, axis=0)), np.asarray(half)


def _moons(n: int, features: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two moons, and columns of noise that say nothing of the class."""
    from sklearn.datasets import make_moons

    x, labels = make_moons(n, noise=NOISE, random_state=int(rng.integers(2**31)))
    return np.column_stack([x, rng.normal(size=(n, features - 2))]), np.asarray(labels)


def _direction(box: BlackBox, point: Array) -> Array:
    """Unit vector along the gradient of the logit."""
    gradient = box.gradient(point[None])[0]
    return frozen(gradient / np.linalg.norm(gradient))


def _to_boundary(box: BlackBox, rows: Array) -> Array:
    """Rows moved along the gradient to the boundary; only those near it, and where it is no plateau."""
    moved = rows
    for _ in range(40):
        gradient = box.gradient(moved)
        step = (box.logit(moved) / np.maximum((gradient**2).sum(axis=1), 1e-3))[:, None] * gradient
        length = np.linalg.norm(step, axis=1, keepdims=True)
        moved = moved - step * np.minimum(1.0, 0.3 / np.maximum(length, 1e-12))
    close = np.linalg.norm(moved - rows, axis=1) < 1.0
    steep = np.linalg.norm(box.gradient(moved), axis=1) > 2.0
    return np.asarray(moved[close & steep & (np.abs(box.logit(moved)) < 1e-8)])


def _kinds(away: Array, direction: Array, logit: Array) -> Iterator[Array]:
    """Which rows, given relative to the point, are outliers of each kind."""
    distance, across = np.linalg.norm(away, axis=1), away @ direction
    sure = (distance > NEAR) & (distance < FAR) & (np.abs(across) > ACROSS) & (np.abs(logit) > SURE)
    with_trend = across * logit > 0.0
    for positive in (False, True):
        for agrees in (False, True):
            yield sure & ((logit > 0.0) == positive) & (with_trend == agrees)


def _square_distances(x: Array, centres: Array) -> Array:
    """Squared distances of rows and centres, shape (n, m)."""
    return np.asarray((x**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * x @ centres.T)
