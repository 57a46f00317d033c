"""RatioClassifier: the density ratio behind scikit-learn's ``fit(X, y)``."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._internal.entropy import safe_log
from .._internal.typing import Array
from .._internal.validation import as_matrix, as_vector, column_names
from ..data.tables import Table
from ..errors import DataError
from .posterior_ratio import PosteriorRatio

__all__ = ["RatioClassifier"]


class RatioClassifier(ClassifierMixin, PosteriorRatio):  # type: ignore[misc]
    """The density ratio as a classifier, for pipelines and grid searches.

    ``fit(X, y)`` takes both samples in one matrix, with y = 1 for p rows and y = 0 for q rows. Any two labels will do;
    the second in sorted order is p. Parameters are those of :class:`PosteriorRatio`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels in sorted order; the second is p.
    share_ : float
        Share of p rows in the fit, which :meth:`predict_proba` uses as the prior probability of p.
    delta_, mu_, solution_ : ndarray, ndarray, Solution
        As in :class:`PosteriorRatio`; ``mu_`` sums to one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1))])
    >>> model = RatioClassifier().fit(X, np.repeat([1, 0], 300))
    >>> model.decision_function([[1.0]]).round(2), model.predict([[1.0]])
    (array([0.41]), array([1]))
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Estimate the ratio of the rows labelled p to those labelled q.

        Parameters
        ----------
        X : array of shape (n, d) or data frame
            Rows of both samples.
        y : array of shape (n,)
            Two labels; the second in sorted order marks the p rows.
        sample_weight : array of shape (n,), optional
            Likelihoods of the rows, not negative and not all zero in either class.

        Returns
        -------
        RatioClassifier
            The estimator itself.
        """
        return self._fit_copy(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        labels = _labels(y)
        self.classes_ = np.unique(labels)
        if len(self.classes_) != 2:  # scikit-learn's checks look for this wording
            count = len(self.classes_)
            raise DataError(
                "y",
                f"Only binary classification is supported, y has {count} class{'es' * (count != 1)}",
                "pass two labels",
            )
        x_p, x_q, l_p, l_q = self._split(as_matrix(X, "X"), labels, sample_weight)
        columns = column_names(X)
        if columns is not None:
            super()._fit(Table(columns, x_p), Table(columns, x_q), l_p, l_q)
        else:
            super()._fit(x_p, x_q, l_p, l_q)
        self.share_ = len(x_p) / (len(x_p) + len(x_q))

    def _split(self, rows: Array, labels: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any]:
        """Rows and log-likelihoods of the two sides."""
        if len(labels) != len(rows):
            raise DataError("y", f"has {len(labels)} entries for {len(rows)} rows of X", "pass one label per row")
        unknown = labels[~np.isin(labels, self.classes_)]
        known = " and ".join(repr(c) for c in self.classes_.tolist())
        if len(unknown):
            raise DataError("y", f"has the label {unknown[:1].tolist()[0]!r}, the fit had {known}", f"use {known} only")
        is_p = labels == self.classes_[1]
        if is_p.all() or not is_p.any():
            raise DataError("y", "has only one of the two labels", f"pass rows of both {known}")
        if sample_weight is None:
            return rows[is_p], rows[~is_p], None, None
        weight = as_vector(sample_weight, "sample_weight", len(rows))
        if np.any(weight < 0.0) or not (weight[is_p].any() and weight[~is_p].any()):
            raise DataError(
                "sample_weight",
                "is negative, or zero for a whole class",
                "pass likelihoods, some of them positive in each class",
            )
        logs = safe_log(weight)
        return rows[is_p], rows[~is_p], logs[is_p], logs[~is_p]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def decision_function(self, X: Any) -> Array:
        """Log ratio log r(x) of every row.

        Parameters
        ----------
        X : array of shape (n, d) or data frame
            Points with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._log_ratio(X, "X")

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the two labels, given the share of p rows in the fit.

        Parameters
        ----------
        X : array of shape (n, d) or data frame
            Points with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, 2)
            In the order of ``classes_``; rows sum to one.
        """
        ratio = self._log_ratio(X, "X")
        odds = ratio + math.log(self.share_ / (1.0 - self.share_))
        p = 1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0)))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> Array:
        """The more probable label of every row.

        Parameters
        ----------
        X : array of shape (n, d) or data frame
            Points with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
        """
        second = (self.predict_proba(X)[:, 1] > 0.5).astype(int)
        return np.asarray(self.classes_[second])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # type: ignore[override]
        """Held-out −ℓ, not the accuracy.

        Parameters
        ----------
        X : array of shape (n, d) or data frame
            Rows of both samples, with the columns of the fit.
        y : array of shape (n,)
            Their labels, both of which must occur.
        sample_weight : array of shape (n,), optional
            Likelihoods of the rows, as in :meth:`fit`.

        Returns
        -------
        float
            An estimate of the divergence; larger is better, and a ratio of one everywhere scores zero.
        """
        x_p, x_q, l_p, l_q = self._split(self._rows(X, "X"), _labels(y), sample_weight)
        return PosteriorRatio.score(self, x_p, x_q, l_p, l_q)


def _labels(y: Any) -> Any:
    """One label for each row, checked by scikit-learn's rules."""
    if y is None:
        # scikit-learn's checks look for this wording
        raise DataError("y", "requires y to be passed, but the target y is None", "pass one label per row")
    if np.ma.is_masked(y):
        raise DataError("y", "has masked entries", "drop their rows")
    try:
        with np.errstate(invalid="ignore"):  # refused labels should not warn as well
            labels = column_or_1d(np.asarray(y), warn=True)
            check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise DataError("y", str(error).splitlines()[0].rstrip("."), "pass one label per row") from error
    return labels
