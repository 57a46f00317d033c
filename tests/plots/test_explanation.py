"""Figures of local explanations, from plain arrays."""

import numpy as np
import pytest
from plot_fits import drawn, row_names

from pre_convex.plots import plot_boundary, plot_effects, plot_superpixels

POINTS = np.random.default_rng(0).normal(size=(50, 2))


def test_bars_whose_interval_contains_zero_are_pale():
    effect = np.array([0.5, -2.0, 1.0])
    ax = drawn(plot_effects(["a", "b", "c"], effect, effect - 0.7, effect + 0.7))
    assert row_names(ax) == ["b", "c", "a"]
    assert {bar.get_width(): bar.get_alpha() for bar in ax.patches} == {-2.0: 1.0, 1.0: 1.0, 0.5: 0.3}


def test_only_the_largest_effects_are_shown():
    ax = drawn(plot_effects([f"x{i}" for i in range(30)], np.arange(30.0)))
    assert row_names(ax) == [f"x{i}" for i in range(29, 4, -1)]
    assert "25 of 29 features" in ax.get_title()


@pytest.mark.parametrize(("coef", "intercept"), [([1.0, 2.0], 0.3), ([0.0, 1.0], 0.2), ([3.0, 0.0], -0.5)])
def test_the_line_of_a_local_classifier_is_where_its_log_odds_are_zero(coef, intercept):
    ax = drawn(plot_boundary(POINTS, POINTS[:, 0] > 0.0, coef, intercept, [0.0, 0.0]))
    line = next(line for line in ax.lines if line.get_label().startswith("local classifier"))
    np.testing.assert_allclose(line.get_xydata() @ coef + intercept, 0.0, atol=1e-12)
    assert np.linalg.norm(np.diff(line.get_xydata(), axis=0)) > 1.0


def test_a_boundary_outside_the_plot_is_said_in_the_title():
    ax = drawn(plot_boundary(POINTS, POINTS[:, 0] > 0.0, [1.0, 0.0], 100.0, [0.0, 0.0]))
    assert "outside the plot" in " ".join(ax.get_title().split())


def test_superpixels_are_coloured_by_their_value():
    superpixels = np.arange(16).reshape(4, 4) // 8
    ax = plot_superpixels(np.eye(4), superpixels, [0.5, -1.0], limit=2.0)
    shade = ax.images[-1]
    np.testing.assert_array_equal(shade.get_array(), np.array([0.5, -1.0])[superpixels])
    assert shade.get_clim() == (-2.0, 2.0)
