"""Local explanation of a classifier: a linear classifier around a point, with intervals for its coefficients.

    explain(model, x, Box(0.5)).summary()

The black box is asked about random points around x, and PRE fits the log-odds it gives them by a linear function. The
intervals cover the coefficients that infinitely many points of the same neighbourhood would give: they speak of the
noise of drawing points, neither of how well the black box was trained nor of the choice of the neighbourhood.
"""

from .explainer import explain, explain_all
from .local_explanation import Explanation
from .perturbations import Box, Gaussian, OnOff, Points
from .superpixels import SuperPixels
from .tabular import Tabular
from .words import Words

__all__ = [
    "Box",
    "Explanation",
    "Gaussian",
    "OnOff",
    "Points",
    "SuperPixels",
    "Tabular",
    "Words",
    "explain",
    "explain_all",
]
