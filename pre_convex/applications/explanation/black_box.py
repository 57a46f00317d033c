"""The classifier to explain, its predictions around x, and their proximity weights."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._internal.typing import Array
from ..._internal.validation import as_numbers, as_scalar, call_user_function, preview
from ...errors import DataError
from .neighbourhood import Neighbourhood, rms_distance

__all__ = ["BlackBox", "Sample", "draw_sample"]

#: tolerances for single precision: how far a probability may leave [0, 1], which is also what each class may add to the
#: error of the sum, and the largest error of the sum
RANGE_TOL, SUM_TOL = 1e-4, 1e-3


@dataclass(frozen=True, eq=False)
class BlackBox:
    """A classifier, or its ``predict_proba``, whose predictions are validated.

    Parameters
    ----------
    classifier : object or callable
        An object with a method ``predict_proba``, or such a function. A function may also return one column or a
        vector: the probability of the second of two classes.

    Examples
    --------
    >>> black_box = BlackBox(lambda x: 1.0 / (1.0 + x[:, 0] ** 2))
    >>> black_box(np.array([[0.0], [1.0]]))
    array([[0. , 1. ],
           [0.5, 0.5]])
    """

    classifier: Any

    def __post_init__(self) -> None:
        if not callable(self._function) or isinstance(self.classifier, type):
            raise DataError(
                "predict_proba",
                f"{type(self.classifier).__name__} is not a function and has no method predict_proba",
                "pass a fitted classifier, or a function of points that returns probabilities",
            )
        if self.classes is not None and len(self.classes) < 2:
            raise DataError(
                "predict_proba", f"has only one class, {self.classes}", "pass a classifier of two or more classes"
            )

    @property
    def _function(self) -> Any:
        return getattr(self.classifier, "predict_proba", self.classifier)

    @property
    def classes(self) -> list[Any] | None:
        """Labels of the columns, if the classifier has ``classes_``."""
        owner = self.classifier
        if not hasattr(owner, "predict_proba"):
            owner = getattr(owner, "__self__", None)
        classes = getattr(owner, "classes_", None)
        return None if classes is None or np.ndim(classes) != 1 else np.asarray(classes).tolist()

    def __call__(self, inputs: Any) -> Array:
        """Probabilities of shape (n, classes), with at least two classes."""
        returned = call_user_function(self._function, "predict_proba", inputs)
        n = len(inputs)
        if isinstance(returned, list) and returned and np.ndim(returned[0]) == 2:
            raise DataError(
                "predict_proba", "returned several arrays, as for several targets", "explain one target at a time"
            )
        P = as_numbers(returned, "predict_proba")
        if P.shape == (n,):
            P = P[:, None]
        if P.ndim != 2 or len(P) != n or P.shape[1] < 1:
            raise DataError(
                "predict_proba", f"returned shape {P.shape} for {n} points", f"return shape ({n}, classes) or ({n},)"
            )
        if not np.isfinite(P).all():
            raise DataError(
                "predict_proba",
                f"returned values that are not finite for {int((~np.isfinite(P)).any(axis=1).sum())} of {n} points",
                "return probabilities",
            )
        if P.shape[1] == 1:
            P = np.concatenate([1.0 - P, P], axis=1)
        sum_error = np.abs(P.sum(axis=1) - 1.0).max()
        if P.min() < -RANGE_TOL or P.max() > 1.0 + RANGE_TOL or sum_error > min(RANGE_TOL * P.shape[1], SUM_TOL):
            raise DataError(
                "predict_proba",
                "returned numbers that are not probabilities with sum one",
                "turn scores into probabilities first",
            )
        return np.asarray(np.clip(P, 0.0, 1.0))

    def column(self, label: Any, P: Array) -> tuple[int, Any]:
        """Column and label of a class; of the most probable class in the first row of P if the label is ``None``."""
        classes, count = self.classes, P.shape[1]
        if classes is not None and len(classes) != count:
            raise DataError(
                "predict_proba", f"returned {count} columns for {len(classes)} classes", "return one column per class"
            )
        if label is None:
            index = int(np.argmax(P[0]))
        elif classes is not None:
            if not isinstance(label, Hashable) or label not in dict.fromkeys(classes):
                raise DataError("label", f"{preview(label)} is not a class", f"use {', '.join(map(repr, classes))}")
            index = classes.index(label)
        else:
            if isinstance(label, bool) or not isinstance(label, (int, np.integer)) or not 0 <= label < count:
                raise DataError(
                    "label",
                    f"{preview(label)} is not a column of the probabilities",
                    f"use an index from 0 to {count - 1}",
                )
            index = int(label)
        return index, index if classes is None else classes[index]

    def predict(self, near: Neighbourhood, z: Array, rng: np.random.Generator) -> Array:
        """Probabilities at points with features z, block by block."""
        size = near.block_size
        blocks = [self(near.inputs(z[i : i + size], rng)) for i in range(0, len(z), size)]
        if len({block.shape[1] for block in blocks}) > 1:
            raise DataError(
                "predict_proba",
                "the number of classes changes between calls",
                "return the same columns for every input",
            )
        return np.concatenate(blocks)


@dataclass(frozen=True, eq=False)
class Sample:
    """Points around x with their predictions.

    Attributes
    ----------
    z : ndarray of shape (n, k)
        Features of the points.
    log_weights : ndarray of shape (n,) or None
        Logs of the proximity weights; ``None`` for equal weights.
    P : ndarray of shape (n, classes)
        Probabilities.
    """

    z: Array
    log_weights: Array | None
    P: Array

    @property
    def weights(self) -> Array:
        """Proximity weights, scaled so that the largest is 1."""
        if self.log_weights is None:
            return np.ones(len(self.z))
        return np.asarray(np.exp(self.log_weights - self.log_weights.max()))

    def one_against_rest(self, index: int) -> tuple[Array, Array]:
        """Probabilities of one class, and of all others as a sum, which stays accurate when it is tiny."""
        return self.P[:, index], np.clip(np.delete(self.P, index, axis=1).sum(axis=1), 0.0, 1.0)


def draw_sample(
    black_box: BlackBox, near: Neighbourhood, n: int, kernel_width: Any, rng: np.random.Generator
) -> Sample:
    """Draw n points around x and predict them."""
    z = near.draw(n, rng)
    return Sample(z, _log_kernel(z, near, kernel_width), black_box.predict(near, z, rng))


def _log_kernel(z: Array, near: Neighbourhood, kernel_width: Any) -> Array | None:
    """Log of the proximity kernel, −d²/2h², for each point."""
    if kernel_width is None:
        return None
    width = as_scalar(kernel_width, "kernel_width")
    if width <= 0.0:
        raise DataError("kernel_width", f"{width:g} is not positive", "pass a positive number, or None for no kernel")
    with np.errstate(over="ignore"):
        log_weights = np.asarray(-0.5 * np.square(rms_distance(z, near) / width))
    if log_weights.max() == -np.inf:
        raise DataError("kernel_width", f"{width:g} gives all points weight zero", "use a wider kernel")
    return log_weights
