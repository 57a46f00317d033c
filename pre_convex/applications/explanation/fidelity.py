"""Fidelity: how well the local classifier agrees with the black box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from ..._internal.typing import Array

__all__ = ["Fidelity", "measure_fidelity"]


@dataclass(frozen=True)
class Fidelity:
    """Agreement of the local classifier with the black box on weighted points.

    Attributes
    ----------
    agreement : float
        Share of points that both put on the same side of one half.
    r2 : float
        R² of the probabilities; nan if the black box is constant.
    auc : float
        Area under the ROC curve of the local classifier, where the true class is the black box's side of one half; nan
        if all points are on one side.
    n : int
        Number of points.
    held_out : bool
        Whether the points were not used in the fit.
    ess : float
        Effective sample size of the weights.
    """

    agreement: float
    r2: float
    auc: float
    n: int
    held_out: bool
    ess: float

    def __str__(self) -> str:
        points = "new points" if self.held_out else "points of the fit"
        auc = "" if np.isnan(self.auc) else f", AUC {self.auc:.3f}"
        r2 = "" if np.isnan(self.r2) else f", R2 {self.r2:.3f}"
        ess = f", ESS {self.ess:.0f}" if self.ess < 0.99 * self.n else ""
        return f"agreement {self.agreement:.3f}{r2}{auc} on {self.n} {points}{ess}"


def measure_fidelity(answers: Array, local: Array, weights: Array, held_out: bool) -> Fidelity:
    """Compare probabilities of the black box with those of the local classifier.

    Parameters
    ----------
    answers, local : ndarray of shape (n,)
        Probabilities by the black box, and by the local classifier.
    weights : ndarray of shape (n,)
        Proximity weights.
    held_out : bool
        Whether the points were not used in the fit.

    Examples
    --------
    >>> p = np.array([0.1, 0.4, 0.8])
    >>> print(measure_fidelity(p, p, np.ones(3), True))
    agreement 1.000, R2 1.000, AUC 1.000 on 3 new points
    """
    w = weights / weights.sum()
    truth = answers > 0.5
    mean = float(w @ answers)
    total = float(w @ np.square(answers - mean))
    r2 = 1.0 - float(w @ np.square(answers - local)) / total if total > 1e-20 else float("nan")
    both_sides = float(w[truth].sum()) > 0.0 and float(w[~truth].sum()) > 0.0
    auc = float(roc_auc_score(truth, local, sample_weight=w)) if both_sides else float("nan")
    ess = 1.0 / float(w @ w)
    return Fidelity(min(float(w @ (truth == (local > 0.5))), 1.0), r2, auc, len(answers), held_out, ess)
