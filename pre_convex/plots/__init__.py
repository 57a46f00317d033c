"""Figures; the only home of matplotlib.

Every function draws on the axes it is given, or on a figure of its own that needs no screen: save it with
``axes.figure.savefig(path)``, or look at it in a notebook.
"""

from .detection import plot_scan
from .explanation import plot_boundary, plot_effects, plot_superpixels
from .fit import plot_balance, plot_coefficients, plot_weights
from .normal import plot_ellipse, plot_qq
from .path import plot_radius_path
from .ratio import plot_ratio

__all__ = [
    "plot_balance",
    "plot_boundary",
    "plot_coefficients",
    "plot_effects",
    "plot_ellipse",
    "plot_qq",
    "plot_radius_path",
    "plot_ratio",
    "plot_scan",
    "plot_superpixels",
    "plot_weights",
]
