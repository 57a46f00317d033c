"""What holds for all figures: axes of the caller, memory, missing matplotlib, labels, invalid arguments."""

import gc
import sys
import weakref

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from plot_fits import made
from sklearn.exceptions import NotFittedError

import pre_convex as pre
from pre_convex.plots import (
    plot_balance,
    plot_coefficients,
    plot_ellipse,
    plot_qq,
    plot_radius_path,
    plot_ratio,
    plot_weights,
)
from pre_convex.plots.canvas import label, labels

ALL = {
    "ratio": lambda fit, x, ax: plot_ratio(fit, x, ax=ax),
    "contours": lambda fit, x, ax: plot_ratio(fit, x, columns=(0, 1), ax=ax),
    "weights": lambda fit, x, ax: plot_weights(fit, ax=ax),
    "balance": lambda fit, x, ax: plot_balance(fit, ax=ax),
    "coefficients": lambda fit, x, ax: plot_coefficients(fit, ax=ax),
    "qq": lambda fit, x, ax: plot_qq(fit.delta_, ax=ax),
    "ellipse": lambda fit, x, ax: plot_ellipse(fit.inference(), ax=ax),
}


def test_plots_draw_on_axes_of_the_caller():
    fit, x = made("named")
    figure = Figure(figsize=(16, 9), layout="constrained")
    for ax, plot in zip(figure.subplots(2, 4).ravel(), ALL.values(), strict=False):
        assert plot(fit, x, ax) is ax
        assert ax.get_title()
    figure.get_layout_engine().execute(figure)


def test_figures_are_freed():
    fit, x = made("named")
    references = [weakref.ref(plot(fit, x, None).figure) for plot in ALL.values()]
    references.append(weakref.ref(plot_radius_path(fit, [0.1, 0.2])))
    gc.collect()
    assert not [ref for ref in references if ref() is not None]
    assert not plt.get_fignums()


@pytest.mark.parametrize("name", ALL)
def test_without_matplotlib(name, monkeypatch):
    fit, x = made("named")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(pre.MissingExtraError, match=r"pre_convex\[plot\]"):
        ALL[name](fit, x, None)


def test_unfitted_estimators_are_refused():
    for plot in (plot_weights, plot_balance, plot_coefficients, plot_radius_path):
        with pytest.raises(NotFittedError):
            plot(pre.PosteriorRatio())
    with pytest.raises(NotFittedError):
        plot_ratio(pre.PosteriorRatio(), [[0.0]])


def test_labels_are_short_and_distinct():
    assert label("a$b") == r"a\$b"
    assert label("a\n b") == "a b"
    assert len(label("x" * 100)) <= 36
    assert label("") == "(no name)"
    names = ["x" * 50, "y", "x" * 51, "y"]
    assert len(set(labels(names, range(4)))) == 4
