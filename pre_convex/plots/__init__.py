"""Figures of fits, paths, scans and explanations, with matplotlib.

Most functions draw on the axes they are given, or on a new figure that needs no display, and return the axes: save the
figure with ``axes.figure.savefig(path)``, or show it in a notebook. ``plot_radius_path`` and ``plot_scan`` draw several
panels and return the figure.
"""

from .balance import plot_love
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
    "plot_love",
    "plot_qq",
    "plot_radius_path",
    "plot_ratio",
    "plot_scan",
    "plot_superpixels",
    "plot_weights",
]
