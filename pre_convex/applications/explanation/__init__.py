"""Local explanation of a classifier: a linear classifier around a point, with intervals for its coefficients.

    explain(model, x, Box(0.5)).summary()

The black box predicts random points around x, and PRE fits its log-odds by a linear function. The intervals cover the
coefficients that infinitely many points of the same neighbourhood would give. They quantify the noise of drawing
points, not how well the black box was trained or how the neighbourhood was chosen.
"""

from .explainer import explain, explain_all
from .perturbations import Box, Gaussian, OnOff, Points
from .results import Explanation
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
