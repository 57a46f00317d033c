"""Figures of the benchmark draw what they are given: curves, crosses, and gaps on the side of the line they belong."""

import numpy as np
import pytest

from pre_convex.plots.benchmark import draw_gaps, draw_profiles, draw_sizes, pictures, short

NAMES = ("newton", "CLARABEL primal", "CLARABEL dual", "a.module:mine")


def lines_of(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_profile_curves_are_the_shares():
    ratios = {1e-4: {"newton": np.array([1.0, 1.0, 3.0]), "SCS dual": np.array([2.0])}, 1e-6: {"newton": np.ones(2)}}
    figure = draw_profiles(ratios, {1e-4: 4, 1e-6: 2})
    first, second = figure.axes
    curve = lines_of(first)["newton"]
    assert curve.get_drawstyle() == "steps-post"
    at = {float(x): float(y) for x, y in zip(*curve.get_data(), strict=True)}
    assert at[1.0] == 0.5
    assert at[3.0] == 0.75
    assert max(lines_of(first)["SCS dual"].get_ydata()) == 0.25
    assert max(lines_of(second)["SCS dual"].get_ydata()) == 0.0
    assert "2 problems" in second.get_title()


def test_one_colour_for_each_solver_and_one_line_for_each_formulation():
    (ax,) = draw_profiles({1e-6: {name: np.ones(1) for name in NAMES}}, {1e-6: 1}).axes
    lines = lines_of(ax)
    colours = [lines[name].get_color() for name in NAMES]
    assert colours[1] == colours[2]
    assert len(set(colours)) == 3
    assert lines["CLARABEL primal"].get_linestyle() != lines["CLARABEL dual"].get_linestyle()


def test_sizes_join_geometric_means_and_cross_what_is_unsolved():
    points = np.array([[100.0, 1.0], [100.0, 4.0], [10000.0, 8.0], [1e6, np.inf]])
    (ax,) = draw_sizes({1e-6: {"newton": points}}).axes
    x, y = lines_of(ax)["newton"].get_data()
    np.testing.assert_allclose(x, [100.0, 10000.0])
    np.testing.assert_allclose(y, [2.0, 8.0])
    dots, crosses = (part.get_offsets() for part in ax.collections)
    assert len(dots) == 3
    assert np.asarray(crosses)[0, 0] == 1e6
    assert np.asarray(crosses)[0, 1] > 8.0
    assert ax.get_xlim()[1] > 1e6


def test_gaps_stand_in_the_column_of_their_tolerance():
    gaps = {1e-4: {"newton": np.array([1e-9, np.inf])}, 1e-6: {"newton": np.array([np.nan, 0.0, 1e-7])}}
    (ax,) = draw_gaps(gaps).axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1e-4", "1e-6"]
    clouds = [np.asarray(c.get_offsets()) for c in ax.collections if len(c.get_offsets()) in (2, 3)]
    left, right = (
        [c for c in clouds if len(c) == m and np.all(np.abs(c[:, 0] - at) < 0.5)] for m, at in ((2, 0), (3, 1))
    )
    np.testing.assert_allclose(sorted(left[0][:, 1]), [1e-9, 1e4])
    np.testing.assert_allclose(sorted(right[0][:, 1]), [1e-16, 1e-7, 1e4])


def test_nothing_is_cut_off():
    names = {
        f"{solver} {side}": np.array([1e-9])
        for solver in ("A_LONG_SOLVER", "B", "C", "D")
        for side in ("primal", "dual")
    }
    figure = draw_gaps({1e-4: names, 1e-8: names})
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0.0
    assert box.x1 <= figure.bbox.width


def test_pictures_are_the_same_every_time():
    first, second = (pictures(draw_profiles({1e-6: {"newton": np.ones(2)}}, {1e-6: 2})) for _ in range(2))
    assert first == second
    assert first[0].startswith(b"<?xml")
    assert first[1].startswith(b"\x89PNG")


@pytest.mark.parametrize(("tol", "words"), [(1e-4, "1e-4"), (3.5e-9, "3.5e-9"), (0.5, "5e-1"), (1e-12, "1e-12")])
def test_tolerances_in_words(tol, words):
    assert short(tol) == words
