"""The density ratio behind scikit-learn's fit(X, y)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .arrays import as_matrix, as_vector, column_names
from .entropy import Array, exp, log, log_of
from .errors import DataError
from .estimators import PosteriorRatio
from .tables import Table

__all__ = ["RatioClassifier"]


class RatioClassifier(ClassifierMixin, PosteriorRatio):  # type: ignore[misc]
    """The density ratio as a classifier: ``fit(X, y)`` with y = 1 for p rows and y = 0 for q rows.

    It stands in pipelines and grid searches; any two labels will do, the second in order being p. ``score`` is the
    held-out −ℓ, ``sample_weight`` are likelihoods.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RatioClassifier:  # type: ignore[override]
        """Estimate the ratio of the rows with y = 1 to those with y = 0."""
        labels = _labels(y)
        self.classes_ = np.unique(labels)
        if len(self.classes_) != 2:
            classes = "one class" if len(self.classes_) == 1 else f"{len(self.classes_)} classes"
            raise DataError(f"y: Only binary classification is supported; y has {classes} and should hold two labels")
        x_p, x_q, l_p, l_q = self._split(as_matrix(X, "X"), labels, sample_weight)
        columns = column_names(X)
        if columns is not None:
            super().fit(Table(columns, x_p), Table(columns, x_q), l_p, l_q)
        else:
            super().fit(x_p, x_q, l_p, l_q)
        self.share_ = len(x_p) / (len(x_p) + len(x_q))
        return self

    def _split(self, rows: Array, labels: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any]:
        """Rows and log-likelihoods of the two sides."""
        if len(labels) != len(rows):
            raise DataError(f"y: has {len(labels)} entries for {len(rows)} rows of X; pass one label for each")
        strange = labels[~np.isin(labels, self.classes_)]
        if len(strange):
            known = " and ".join(repr(c) for c in self.classes_.tolist())
            raise DataError(f"y: has the label {strange[:1].tolist()[0]!r}, the fit had {known}")
        one = labels == self.classes_[1]
        if one.all() or not one.any():
            raise DataError("y: must hold both labels")
        if sample_weight is None:
            return rows[one], rows[~one], None, None
        weight = as_vector(sample_weight, "sample_weight", len(rows))
        if np.any(weight < 0.0) or not (weight[one].any() and weight[~one].any()):
            raise DataError("sample_weight: must not be negative, nor zero for a whole class")
        logs = log(weight)
        return rows[one], rows[~one], logs[one], logs[~one]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def decision_function(self, X: Any) -> Array:
        """Log r(x)."""
        return self._log_ratio(X, "X")

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the two labels, at the share of p rows seen in the fit."""
        ratio = self._log_ratio(X, "X")
        odds = ratio + log_of(self.share_ / (1.0 - self.share_))
        p = 1.0 / (1.0 + exp(-np.clip(odds, -700.0, 700.0)))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> Array:
        """The likelier label."""
        second = (self.predict_proba(X)[:, 1] > 0.5).astype(int)
        return np.asarray(self.classes_[second])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # type: ignore[override]
        """Held-out −ℓ."""
        x_p, x_q, l_p, l_q = self._split(self._rows(X, "X"), _labels(y), sample_weight)
        return PosteriorRatio.score(self, x_p, x_q, l_p, l_q)


def _labels(y: Any) -> Any:
    """One label for each row, by scikit-learn's rules and in our words."""
    if y is None:
        raise DataError("y: requires y to be passed, but the target y is None")
    if np.ma.is_masked(y):
        raise DataError("y: has masked entries; drop their rows")
    try:
        with np.errstate(invalid="ignore"):  # of labels that are refused
            labels = column_or_1d(np.asarray(y), warn=True)
            check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise DataError(f"y: {str(error).splitlines()[0]} Pass one label for each row") from error
    return labels
