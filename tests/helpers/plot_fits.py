"""Fits for tests of figures, and a check that no part of a figure is cut off."""

from functools import cache

import cvxpy as cp
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import pre_convex as pre

LONG = ["number of days since the last payment of the customer in $ or €_{", "_hidden", "a\nbroken name"]


def normal(n, k, seed, shift=0.0, columns=None):
    x = np.random.default_rng(seed).normal(size=(n, k)) + shift
    return x if columns is None else pd.DataFrame(x, columns=columns)


def one():
    x_q = normal(150, 1, 1)
    return pre.PosteriorRatio().fit(normal(200, 1, 0, 0.4), x_q, pre.Gaussian([0.3]), pre.Gaussian([0.0])), x_q


def named():
    x_q = normal(300, 3, 1, columns=LONG)
    return pre.PosteriorRatio(pre.Polynomial(2, interactions=True)).fit(normal(300, 3, 0, 0.3, LONG), x_q), x_q


def sixty():
    columns = [f"measurement {i:02d}" for i in range(60)]
    shift = np.where(np.arange(60) < 4, 0.4, 0.0)
    x_q = normal(600, 60, 1, columns=columns)
    return pre.PosteriorRatio().fit(normal(600, 60, 0, shift, columns), x_q), x_q


def cross_validated():
    x_q = normal(200, 3, 1, columns=LONG)
    return pre.PosteriorRatio(radius="cv", norm=np.inf).fit(normal(200, 3, 0, 0.3, LONG), x_q), x_q


def penalised():
    x_q = normal(150, 2, 1)
    fit = pre.PosteriorRatio(penalty=lambda delta: 0.1 * cp.sum_squares(delta))
    return fit.fit(normal(150, 2, 0, 0.4), x_q), x_q


def kernel():
    x_q = normal(120, 2, 1)
    return pre.PosteriorRatio(pre.Kernel(landmarks=15), radius="auto").fit(normal(120, 2, 0, 0.4), x_q), x_q


def weightless():
    """Rows without base weight, a feature that is constant, and one far from the origin."""
    x_p, x_q = normal(150, 3, 0, [0.4, 0.0, 1e6]), normal(150, 3, 1, [0.0, 0.0, 1e6])
    x_p[:, 1] = x_q[:, 1] = 0.0
    return pre.PosteriorRatio().fit(x_p, x_q, None, np.where(x_q[:, 0] > 1.0, -np.inf, 0.0)), x_q


FITS = {make.__name__: make for make in (one, named, sixty, cross_validated, penalised, kernel, weightless)}
#: fits without intervals
WITHOUT_INTERVALS = {"cross_validated", "penalised", "kernel"}


@cache
def made(name):
    """The fit and its q sample, made once."""
    return FITS[name]()


def check_layout(figure):
    """Nothing extends beyond the edge of the figure, and no legend covers data."""
    figure.get_layout_engine().execute(figure)
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert box.x0 >= -0.02
    assert box.y0 >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02
    for ax in figure.axes:
        if ax.get_legend() is not None:
            legend, data = ax.get_legend().get_window_extent(), ax.get_window_extent()
            assert legend.y1 < data.y0 or legend.x0 > data.x1


def drawn(ax, name=""):
    """The axes, after a check of their layout unless another fit has the same one."""
    assert isinstance(ax, Axes)
    if name not in ("cross_validated", "kernel", "weightless"):
        check_layout(ax.figure)
    return ax


def row_names(ax):
    """Labels of the rows, from the top down."""
    return [text.get_text() for text in ax.get_yticklabels()]
