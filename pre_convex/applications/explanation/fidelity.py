"""How well a local classifier agrees with the black box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...entropy import Array

__all__ = ["Fidelity", "fidelity", "roc_area"]


@dataclass(frozen=True)
class Fidelity:
    """Agreement of two classifiers on weighted points.

    Attributes
    ----------
    agreement : float
        Share of points that both put on the same side of one half.
    r2 : float
        R² of the probabilities; nan where the black box is constant.
    auc : float
        Area under the ROC curve of the local classifier, the truth being the black box's side of one half; nan where
        there is one side only.
    n : int
    held_out : bool
        Whether the points had no part in the fit.
    ess : float
        Effective number of points, as weights leave it.
    """

    agreement: float
    r2: float
    auc: float
    n: int
    held_out: bool
    ess: float

    def __str__(self) -> str:
        where = "new points" if self.held_out else "points of the fit"
        area = "" if np.isnan(self.auc) else f", AUC {self.auc:.3f}"
        fit = "" if np.isnan(self.r2) else f", R2 {self.r2:.3f}"
        few = f", ESS {self.ess:.0f}" if self.ess < 0.99 * self.n else ""
        return f"agreement {self.agreement:.3f}{fit}{area} on {self.n} {where}{few}"


def fidelity(answers: Array, local: Array, weights: Array, held_out: bool) -> Fidelity:
    """Compare the black box's probabilities with those of the local classifier.

    Examples
    --------
    >>> p = np.array([0.1, 0.4, 0.8])
    >>> print(fidelity(p, p, np.ones(3), True))
    agreement 1.000, R2 1.000, AUC 1.000 on 3 new points
    """
    w = weights / weights.sum()
    truth = answers > 0.5
    mean = float(w @ answers)
    total = float(w @ np.square(answers - mean))
    r2 = 1.0 - float(w @ np.square(answers - local)) / total if total > 1e-20 else float("nan")
    area = roc_area(truth, local, w)
    ess = 1.0 / float(w @ w)
    return Fidelity(min(float(w @ (truth == (local > 0.5))), 1.0), r2, area, len(answers), held_out, ess)


def roc_area(truth: Any, score: Array, weights: Array | None = None) -> float:
    """Area under the ROC curve: how often a true row scores above a false one, ties counting half; nan without both.

    Examples
    --------
    >>> roc_area(np.array([True, False, True]), np.array([0.9, 0.4, 0.4]))
    0.75
    """
    w = np.ones(len(score)) if weights is None else weights
    values, place = np.unique(score, return_inverse=True)
    true = np.bincount(place, w * truth, minlength=len(values))
    false = np.bincount(place, w * ~np.asarray(truth), minlength=len(values))
    pairs = float(true.sum() * false.sum())
    below = np.cumsum(false) - 0.5 * false
    return float(true @ below) / pairs if pairs > 0.0 else float("nan")
