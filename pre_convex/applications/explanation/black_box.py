"""The classifier that is explained: anything that maps points to class probabilities, checked at every answer."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import as_numbers, called, shown
from ...entropy import Array
from ...errors import DataError
from .perturbations import Neighbourhood

__all__ = ["BlackBox"]

#: by how much probabilities may leave [0, 1], and miss the sum of one at most: single precision, and a little more
ROUND_OFF, MISSED = 1e-4, 1e-3


@dataclass(frozen=True, eq=False)
class BlackBox:
    """A classifier with ``predict_proba``, or such a function.

    Parameters
    ----------
    classifier : object or function
        A function may also return one column or a vector: the probability of the second of two classes.

    Examples
    --------
    >>> box = BlackBox(lambda x: 1.0 / (1.0 + x[:, 0] ** 2))
    >>> box(np.array([[0.0], [1.0]]))
    array([[0. , 1. ],
           [0.5, 0.5]])
    """

    classifier: Any

    def __post_init__(self) -> None:
        if not callable(self._function) or isinstance(self.classifier, type):
            raise DataError(
                f"predict_proba: {type(self.classifier).__name__} is no function and has no method predict_proba"
            )
        if self.classes is not None and len(self.classes) < 2:
            raise DataError(f"predict_proba: knows one class only, {self.classes}; there is nothing to tell apart")

    @property
    def _function(self) -> Any:
        return getattr(self.classifier, "predict_proba", self.classifier)

    @property
    def classes(self) -> list[Any] | None:
        """Labels of the columns, where the classifier knows them."""
        owner = self.classifier
        if not hasattr(owner, "predict_proba"):
            owner = getattr(owner, "__self__", None)
        classes = getattr(owner, "classes_", None)
        return None if classes is None or np.ndim(classes) != 1 else np.asarray(classes).tolist()

    def __call__(self, inputs: Any) -> Array:
        """Probabilities, shape (n, classes), at least two of them."""
        given = called(self._function, "predict_proba", inputs)
        n = len(inputs)
        if isinstance(given, list) and given and np.ndim(given[0]) == 2:
            raise DataError("predict_proba: answers with several arrays, as for several targets; explain one target")
        P = as_numbers(given, "predict_proba")
        if P.shape == (n,):
            P = P[:, None]
        if P.ndim != 2 or len(P) != n or P.shape[1] < 1:
            raise DataError(f"predict_proba: answers with shape {P.shape} for {n} points; it should be ({n}, classes)")
        if not np.isfinite(P).all():
            raise DataError(f"predict_proba: {int((~np.isfinite(P)).any(axis=1).sum())} of {n} answers are not finite")
        if P.shape[1] == 1:
            P = np.concatenate([1.0 - P, P], axis=1)
        off = np.abs(P.sum(axis=1) - 1.0).max()
        if P.min() < -ROUND_OFF or P.max() > 1.0 + ROUND_OFF or off > min(ROUND_OFF * P.shape[1], MISSED):
            raise DataError(
                "predict_proba: its answers are not probabilities that sum to one; turn scores into probabilities first"
            )
        return np.asarray(np.clip(P, 0.0, 1.0))

    def column(self, label: Any, P: Array) -> tuple[int, Any]:
        """Column and label of a class; of the likeliest one at the first row of P for ``None``."""
        classes, count = self.classes, P.shape[1]
        if classes is not None and len(classes) != count:
            raise DataError(f"predict_proba: answers with {count} columns for {len(classes)} classes")
        if label is None:
            index = int(np.argmax(P[0]))
        elif classes is not None:
            if not isinstance(label, Hashable) or label not in dict.fromkeys(classes):
                raise DataError(f"label: {shown(label)} is not among the classes {', '.join(map(repr, classes))}")
            index = classes.index(label)
        else:
            if isinstance(label, bool) or not isinstance(label, (int, np.integer)) or not 0 <= label < count:
                raise DataError(f"label: {shown(label)} is not a column from 0 to {count - 1} of the probabilities")
            index = int(label)
        return index, index if classes is None else classes[index]

    def around(self, near: Neighbourhood, z: Array, rng: np.random.Generator) -> Array:
        """Probabilities at the points with features z, some at a time."""
        size = near.at_once
        parts = [self(near.inputs(z[i : i + size], rng)) for i in range(0, len(z), size)]
        if len({part.shape[1] for part in parts}) > 1:
            raise DataError("predict_proba: the number of classes changes from call to call")
        return np.concatenate(parts)
