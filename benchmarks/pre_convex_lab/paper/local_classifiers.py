"""Local classifiers: black boxes, points on their boundaries with outliers, and PRE, LIME and logistic regression."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from pre_convex._internal.entropy import safe_log
from pre_convex._internal.typing import Array
from pre_convex._internal.validation import read_only
from pre_convex.applications.explanation.surrogate import fit_surrogate
from pre_convex.errors import MissingExtraError

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
    "pre_line",
    "row_kernel",
    "soft_line",
    "train_box",
]

#: kinds of outliers: the class that the black box gives it, and whether the local linear trend gives the same
KINDS = ("− against the trend", "− with the trend", "+ against the trend", "+ with the trend")
#: standard deviation of the local cloud; that of the training data is 1
SPREAD = 0.2
#: smallest and largest distance of an outlier from the point, and smallest distance across the boundary
NEAR, FAR, ACROSS = 1.2, 2.5, 0.4
#: smallest |logit| of an outlier: the black box is sure of its class
SURE = 2.0
#: noise of the two moons
NOISE = 0.2
#: features of the wide black boxes, of which all but two are noise
WIDE = 8
#: training rows, kernel centres, kernel gamma and inverse penalty C, by the number of features
TRAINING = {2: (400, 50, 1.0, 10.0), WIDE: (2000, 200, 0.1, 100.0)}


@dataclass(frozen=True, eq=False)
class BlackBox:
    """Kernel logistic regression (scikit-learn) trained on two moons, with the gradient of its logit."""

    model: Any
    rows: Array
    mean: Array
    scale: Array

    def predict_proba(self, x: Array) -> Array:
        """Probabilities of the classes − and +, shape (n, 2); the methods see nothing else."""
        return np.asarray(self.model.predict_proba(x))

    def logit(self, x: Array) -> Array:
        """Log p₊/p₋, shape (n,): a sum of Gaussian kernels."""
        return np.asarray(self._terms(x).sum(axis=1) + self.model[1].intercept_[0])

    def gradient(self, x: Array) -> Array:
        """Exact gradient of the logit, shape (n, d)."""
        kernel, terms = self.model[0], self._terms(x)
        return np.asarray(-2.0 * kernel.gamma * (terms.sum(axis=1, keepdims=True) * x - terms @ kernel.components_))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """New rows and labels from the distribution of the training data, standardised as it is."""
        x, labels = _moons(n, self.rows.shape[1], rng)
        return (x - self.mean) / self.scale, labels

    def _terms(self, x: Array) -> Array:
        """The kernels at every row, times their coefficients, shape (n, centres)."""
        kernel, linear = self.model
        coefficients = (linear.coef_ @ kernel.normalization_)[0]
        return np.asarray(np.exp(-kernel.gamma * _square_distances(x, kernel.components_)) * coefficients)


@dataclass(frozen=True, eq=False)
class Scene:
    """A black box with a point on its boundary.

    Attributes
    ----------
    box : BlackBox
    point : array of shape (d,)
        The point to explain.
    direction : array of shape (d,)
        Unit vector along the gradient of the logit at the point.
    outliers : array of shape (4, d)
        An outlier of each kind.
    boxes : int
        Number of black boxes trained until one had such a point.
    """

    box: BlackBox
    point: Array
    direction: Array
    outliers: Array
    boxes: int

    def cloud(self, n: int, rng: np.random.Generator, kind: int | None = None) -> Array:
        """X_loc: n rows around the point, the point itself first, and last an outlier if a kind is given."""
        rows = self.point + SPREAD * rng.normal(size=(n, len(self.point)))
        rows[0] = self.point  # LIME explains the first row
        if kind is not None:
            rows[-1] = self.outliers[kind]
        return np.asarray(rows)

    def angle(self, line: Array) -> float:
        """Angle in degrees between a classifier's normal and the gradient of the black box at the point."""
        return angle(line[:-1], self.direction)


def angle(a: Array, b: Array) -> float:
    """Angle between two directions, in degrees.

    Examples
    --------
    >>> round(angle(np.array([1.0, 0.0]), np.array([-2.0, 2.0])), 6)
    135.0
    """
    cosine = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def train_box(rng: np.random.Generator, features: int = 2) -> BlackBox:
    """A black box trained on a new sample of two moons, with noise columns if ``features`` is above two."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    n, centres, gamma, C = TRAINING[features]
    x, labels = _moons(n, features, rng)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    rows = (x - mean) / scale
    kernel = Nystroem(gamma=gamma, n_components=centres, random_state=int(rng.integers(2**31)))
    model = make_pipeline(kernel, LogisticRegression(C=C, max_iter=1000)).fit(rows, labels)
    return BlackBox(model, read_only(rows), read_only(mean), read_only(scale))


def make_scene(rng: np.random.Generator) -> Scene:
    """A random black box with a point on its boundary that has outliers of all kinds.

    An outlier is a row from the distribution of the training data whose class the black box is sure of. It goes against
    the trend if the linear classifier at the point gives it the other class. Candidate points come from new rows, in
    random order; a black box without a suitable point is skipped.
    """
    for boxes in count(1):
        box = train_box(rng)
        rows, _ = box.draw(1000, rng)
        logit = box.logit(rows)
        for point in _to_boundary(box, rows[:100]):
            direction = _direction(box, point)
            candidates = [rows[where] for where in _kinds(rows - point, direction, logit)]
            if all(map(len, candidates)):
                outliers = np.array([of_kind[rng.integers(len(of_kind))] for of_kind in candidates])
                return Scene(box, read_only(point), direction, read_only(outliers), boxes)
    raise AssertionError("unreachable: the loop is endless")


def make_wide_scene(rng: np.random.Generator) -> Scene:
    """A random black box with eight features and a point on its boundary, without outliers."""
    for boxes in count(1):
        box = train_box(rng, WIDE)
        rows, _ = box.draw(100, rng)
        for point in _to_boundary(box, rows):
            return Scene(box, read_only(point), _direction(box, point), read_only(np.empty((0, WIDE))), boxes)
    raise AssertionError("unreachable: the loop is endless")


def pre_line(x: Array, proba: Array, swap: bool = False, weights: Array | None = None) -> Array:
    """PRE's classifier, [coefficients, offset], positive for the class +; the offset needs no labels.

    As in the paper, p₋ is on the p side and p₊ on the q side; ``swap`` exchanges them.
    """
    names = tuple(f"x{j}" for j in range(x.shape[1]))
    log_weights = None if weights is None else safe_log(weights)
    fit = fit_surrogate(x, proba[:, 1], proba[:, 0], names, log_weights=log_weights, swap=swap)
    return np.append(fit.coef, fit.offset)


def lime_line(x: Array, proba: Array, kernel: bool = True, ridge: bool = True) -> Array:
    """LIME's classifier on the given rows: regression of p₊ − 1/2 on x, by default with LIME's kernel and ridge."""
    distances = np.sqrt(((x - x[0]) ** 2).sum(axis=1))
    line = lime_fit(x, proba, distances, lambda d: lime_kernel(d, x.shape[1]) if kernel else np.ones(len(d)), ridge)
    line[-1] -= 0.5
    return line


def lime_fit(x: Array, proba: Array, distances: Array, kernel: Callable[[Array], Array], ridge: bool = True) -> Array:
    """Regression of p₊ by the lime package, [coefficients, offset]; the kernel turns distances into weights."""
    from sklearn.linear_model import LinearRegression

    base = lime_module("lime_base").LimeBase(kernel, random_state=np.random.RandomState(0))
    offset, pairs, _, _ = base.explain_instance_with_data(
        x, proba, distances, 1, x.shape[1], "none", None if ridge else LinearRegression()
    )
    return np.append([value for _, value in sorted(pairs)], offset)


def lime_own_line(box: BlackBox, point: Array, n: int, seed: int) -> tuple[Array, Array]:
    """LIME on n rows that its package draws around the point, as wide as the training data; classifier and rows.

    By default the package draws rows around the mean of the training data and cuts columns into quartiles, which gives
    no linear classifier at the point.
    """
    rows = [point[None]]

    def answer(x: Array) -> Array:
        rows.append(x)
        return box.predict_proba(x)

    explainer = lime_module("lime_tabular").LimeTabularExplainer(
        box.rows, discretize_continuous=False, sample_around_instance=True, feature_selection="none", random_state=seed
    )
    found = explainer.explain_instance(point, answer, num_features=len(point), num_samples=n)
    # its coefficients refer to standardised columns
    coefficients = np.array([value for _, value in sorted(found.local_exp[1])]) / explainer.scaler.scale_
    line = np.append(coefficients, found.intercept[1] - 0.5 - coefficients @ explainer.scaler.mean_)
    return line, rows[-1]


def lime_module(name: str) -> Any:
    """Import a module of the lime package."""
    try:
        return importlib.import_module(f"lime.{name}")
    except ImportError:
        raise MissingExtraError("lime", "experiments") from None


def lime_kernel(distances: Array, features: int) -> Array:
    """LIME's default weights √exp(−d²/w²) with w = 0.75 √features, for distances in standard deviations."""
    return np.asarray(np.exp(-(distances**2) / (2.0 * 0.75**2 * features)))


def row_kernel(x: Array) -> Array:
    """LIME's default weights of rows, by their distance from the first one."""
    return lime_kernel(np.sqrt(((x - x[0]) ** 2).sum(axis=1)), x.shape[1])


def soft_line(x: Array, proba: Array, weights: Array | None = None) -> Array:
    """Logistic regression on soft labels, without penalty: each row once per class, weighted by its probability."""
    from sklearn.linear_model import LogisticRegression

    sample_weight = proba if weights is None else proba * weights[:, None]
    labels = np.repeat([0, 1], len(x))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8)
    model.fit(np.concatenate([x, x]), labels, sample_weight=sample_weight.T.ravel())
    return np.append(model.coef_[0], model.intercept_)


def _moons(n: int, features: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two moons, with columns of noise up to the number of features, and their labels."""
    from sklearn.datasets import make_moons

    x, labels = make_moons(n, noise=NOISE, random_state=int(rng.integers(2**31)))
    return np.column_stack([x, rng.normal(size=(n, features - 2))]), np.asarray(labels)


def _direction(box: BlackBox, point: Array) -> Array:
    """Unit vector along the gradient of the logit."""
    gradient = box.gradient(point[None])[0]
    return read_only(gradient / np.linalg.norm(gradient))


def _to_boundary(box: BlackBox, rows: Array) -> Array:
    """Rows moved along the gradient to the boundary; rows that start far from it or end on a plateau are dropped."""
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
    """For each kind, which rows are outliers; ``away`` are the rows minus the point."""
    distance, across = np.linalg.norm(away, axis=1), away @ direction
    sure = (distance > NEAR) & (distance < FAR) & (np.abs(across) > ACROSS) & (np.abs(logit) > SURE)
    with_trend = across * logit > 0.0
    for positive in (False, True):
        for agrees in (False, True):
            yield sure & ((logit > 0.0) == positive) & (with_trend == agrees)


def _square_distances(x: Array, centres: Array) -> Array:
    """Squared distances between rows and centres, shape (n, m)."""
    return np.asarray((x**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * x @ centres.T)
