"""Intervals, tables and plots of an explanation."""

import io
import pickle

import numpy as np
import pytest
from black_boxes import bent, sparse

from pre_convex.applications.explanation import Box, OnOff, explain


def test_wider_levels_give_wider_intervals():
    found = explain(bent, [0.1, 0.0], 1.0, 200)
    narrow, wide = found.conf_int(0.5), found.conf_int(0.99)
    assert np.all(wide.lower < narrow.lower)
    assert np.all(wide.upper > narrow.upper)


def test_summary_and_frame_show_the_coefficients():
    found = explain(bent, [0.1, 0.0], 1.0, 200, label=1)
    text = str(found.summary())
    assert "n = 200" in text.splitlines()[0]
    assert "agreement" in text
    frame = found.to_frame()
    assert list(frame["feature"]) == ["x0", "x1"]
    np.testing.assert_allclose(frame["coef"], found.coef)
    np.testing.assert_allclose(frame["effect"], found.coef * found.unit)
    np.testing.assert_allclose(frame["lower"], found.conf_int().lower)
    assert found.to_frame("polars").shape == frame.shape
    with pytest.raises(ValueError, match="read-only"):
        found.coef[0] = 1.0


@pytest.mark.parametrize(
    ("x", "perturbation"),
    [([0.1, 0.0], 1.0), ([0.1, 0.2], OnOff()), ([0.1, 0.0], np.random.default_rng(0).normal(size=(50, 2)))],
)
def test_explanations_can_be_pickled(x, perturbation):
    found = explain(bent, x, perturbation, 100, label=1)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.decision_function(found.points), found.decision_function(found.points))
    assert str(again.summary()) == str(found.summary())
    assert repr(again) == f"Explanation(label=1, 2 features, n={len(found.points)})"


def drawn(axes):
    figure = axes.get_figure(root=True)
    figure.savefig(io.BytesIO(), format="png")
    return axes


def test_bars_show_the_effects_largest_first():
    found = explain(bent, [0.1, 0.0], Box([1.0, 0.5]), 300, label=1)
    axes = drawn(found.plot())
    order = np.argsort(-np.abs(found.effect))
    np.testing.assert_allclose(sorted(bar.get_width() for bar in axes.patches), sorted(found.effect))
    assert [t.get_text() for t in axes.get_yticklabels()] == [found.names[i] for i in order]
    assert "95 % intervals" in axes.get_title()
    selected = explain(sparse, np.zeros(12), 1.0, 300, radius=0.1, norm=np.inf)
    title = " ".join(drawn(selected.plot()).get_title().split())
    assert "no intervals: the radius 0.1" in title
    assert f"{np.sum(selected.coef == 0.0)} features have no effect" in title
    nothing = drawn(explain(lambda z: np.full(len(z), 0.7), [0.1, 0.1], 1.0, 50).plot())
    assert nothing.get_legend() is None


def test_the_boundary_is_where_the_odds_are_even():
    found = explain(bent, [0.1, 0.0], 1.0, 300, label=1)
    axes = drawn(found.plot_boundary(bent))
    line = next(line for line in axes.lines if line.get_label().startswith("local classifier"))
    np.testing.assert_allclose(found.decision_function(line.get_xydata()), 0.0, atol=1e-9)
