"""Figures of the benchmark: curves, crosses and points are where their data says."""

import numpy as np
from pre_convex_lab.solvers.plots import draw_gaps, draw_profiles, draw_sizes, render

NAMES = ("newton", "CLARABEL primal", "CLARABEL dual", "a.module:mine")


def lines_by_label(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_profile_curves_are_shares_of_problems():
    ratios = {1e-4: {"newton": np.array([1.0, 1.0, 3.0]), "SCS dual": np.array([2.0])}, 1e-6: {"newton": np.ones(2)}}
    figure = draw_profiles(ratios, {1e-4: 4, 1e-6: 2})
    first, second = figure.axes
    curve = lines_by_label(first)["newton"]
    assert curve.get_drawstyle() == "steps-post"
    heights = {float(x): float(y) for x, y in zip(*curve.get_data(), strict=True)}
    assert heights[1.0] == 0.5
    assert heights[3.0] == 0.75
    assert max(lines_by_label(first)["SCS dual"].get_ydata()) == 0.25
    assert max(lines_by_label(second)["SCS dual"].get_ydata()) == 0.0
    assert "2 problems" in second.get_title()


def test_solvers_differ_in_colour_and_formulations_in_line_style():
    (ax,) = draw_profiles({1e-6: {name: np.ones(1) for name in NAMES}}, {1e-6: 1}).axes
    lines = lines_by_label(ax)
    colours = [lines[name].get_color() for name in NAMES]
    assert colours[1] == colours[2]
    assert len(set(colours)) == 3
    assert lines["CLARABEL primal"].get_linestyle() != lines["CLARABEL dual"].get_linestyle()


def test_size_lines_join_geometric_means_and_unsolved_cases_are_crosses():
    points = np.array([[100.0, 1.0], [100.0, 4.0], [10000.0, 8.0], [1e6, np.inf]])
    (ax,) = draw_sizes({1e-6: {"newton": points}}).axes
    x, y = lines_by_label(ax)["newton"].get_data()
    np.testing.assert_allclose(x, [100.0, 10000.0])
    np.testing.assert_allclose(y, [2.0, 8.0])
    dots, crosses = (np.asarray(part.get_offsets()) for part in ax.collections)
    assert len(dots) == 3
    assert crosses[0, 0] == 1e6
    assert crosses[0, 1] > 8.0
    assert ax.get_xlim()[1] > 1e6


def test_gaps_are_in_the_column_of_their_tolerance():
    gaps = {1e-4: {"newton": np.array([1e-9, np.inf])}, 1e-6: {"newton": np.array([np.nan, 0.0, 1e-7])}}
    (ax,) = draw_gaps(gaps).axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1e-4", "1e-6"]
    clouds = [np.asarray(c.get_offsets()) for c in ax.collections if len(c.get_offsets()) in (2, 3)]
    left, right = (
        [c for c in clouds if len(c) == m and np.all(np.abs(c[:, 0] - x) < 0.5)] for m, x in ((2, 0), (3, 1))
    )
    np.testing.assert_allclose(sorted(left[0][:, 1]), [1e-9, 1e4])
    np.testing.assert_allclose(sorted(right[0][:, 1]), [1e-16, 1e-7, 1e4])


def test_a_long_legend_fits_the_figure():
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


def test_rendering_is_reproducible():
    first, second = (render(draw_profiles({1e-6: {"newton": np.ones(2)}}, {1e-6: 2})) for _ in range(2))
    assert first == second
    assert first[0].startswith(b"<?xml")
    assert first[1].startswith(b"\x89PNG")
