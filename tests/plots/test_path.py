"""Figures of the solutions along the radius."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from plot_fits import check_layout, made

import pre_convex as pre
from pre_convex.plots import plot_radius_path
from pre_convex.plots.canvas import label


@pytest.mark.parametrize("name", ["one", "sixty", "cross_validated", "penalised", "kernel"])
def test_radius_path(name):
    fit, _ = made(name)
    figure = plot_radius_path(fit, None if name in ("one", "cross_validated") else [1.0, 0.3, 0.1, 0.02])
    assert isinstance(figure, Figure)
    if name in ("sixty", "cross_validated"):
        check_layout(figure)
    assert len(figure.axes) == (4 if name == "cross_validated" else 3)
    top = figure.axes[0]
    texts = [text.get_text() for text in top.get_legend().get_texts()]
    known = {label(n, 28) for n in fit.feature_names_}
    assert texts
    assert known.issuperset(texts[:7])
    assert ("others" in texts[-1]) == (name in ("sixty", "kernel"))
    assert f"the radius in use{', ' if fit.radius_ else ' is '}{fit.radius_:.3g}" in top.get_title()


def test_radius_path_goes_through_the_fit():
    fit, _ = made("cross_validated")
    top = plot_radius_path(fit).axes[0]
    at = np.flatnonzero(top.lines[0].get_xdata() == fit.radius_)
    values = [line.get_ydata()[at][0] for line in top.lines[:3]]
    np.testing.assert_allclose(np.sort(values), np.sort(fit.delta_), atol=1e-6)


def test_radii_without_a_solution_are_left_blank():
    problem = pre.RatioProblem([2.0], [[0.0], [1.0], [0.4]])
    figure = plot_radius_path(problem, [0.5, 0.9, 1.2, 1.4])
    assert "no solution at 2 of 4 radii" in figure.axes[0].get_title()
    assert np.isnan(figure.axes[1].lines[0].get_ydata()).sum() == 2
    radii = plot_radius_path(problem).axes[1].lines[0].get_xdata()
    assert 1.0 < radii.min() < 1.02
