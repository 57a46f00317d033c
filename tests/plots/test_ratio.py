"""Figures of the ratio over one or two columns."""

import numpy as np
import pytest
from plot_fits import FITS, LONG, WITHOUT_INTERVALS, drawn, made, normal

import pre_convex as pre
from pre_convex.plots import plot_ratio
from pre_convex.plots.canvas import label


@pytest.fixture(params=sorted(FITS))
def case(request):
    return request.param, *made(request.param)


def test_ratio_along_a_column(case):
    name, fit, x = case
    ax = drawn(plot_ratio(fit, x), name)
    columns = list(getattr(fit, "feature_names_in_", ["x0"]))
    assert ax.get_xlabel() == label(columns[0])
    assert ("no intervals" in ax.get_title()) == (name in WITHOUT_INTERVALS)
    assert ("95 %" in ax.get_title()) == (name not in WITHOUT_INTERVALS)


@pytest.mark.parametrize("log", [True, False])
def test_the_curve_is_the_ratio(log):
    fit, x = made("one")
    grid, curve = drawn(plot_ratio(fit, x, log=log)).lines[1].get_xydata().T
    np.testing.assert_allclose(curve, fit.log_ratio(grid) if log else fit.ratio(grid))


def test_the_band_is_the_interval_with_the_other_columns_fixed():
    fit, x = made("named")
    ax = plot_ratio(fit, x, columns="_hidden", at=[1.0, 0.0, -1.0], level=0.5)
    grid = ax.lines[1].get_xdata()
    points = np.column_stack([np.full(len(grid), 1.0), grid, np.full(len(grid), -1.0)])
    interval = fit.log_ratio_interval(points, 0.5)
    corners = ax.collections[0].get_paths()[0].vertices
    assert corners[:, 1].min() == pytest.approx(interval.lower.min())
    assert corners[:, 1].max() == pytest.approx(interval.upper.max())
    assert "the given point" in ax.get_title()


def test_other_columns_are_at_the_weighted_mean_only_for_the_q_sample():
    x_p, x_q = normal(100, 2, 0), normal(100, 2, 1)
    log_lik = -np.square(x_q - 1.0).sum(axis=1)
    fit = pre.PosteriorRatio().fit(x_p, x_q, None, log_lik)
    weights = np.exp(log_lik) / np.exp(log_lik).sum()
    for x, mean in ((x_q, weights @ x_q), (x_p, x_p.mean(axis=0))):
        grid, curve = plot_ratio(fit, x).lines[1].get_xydata().T
        points = np.column_stack([grid, np.full(len(grid), mean[1])])
        np.testing.assert_allclose(curve, fit.log_ratio(points), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "log"), [("named", True), ("named", False), ("sixty", True), ("kernel", False), ("weightless", True)]
)
def test_ratio_over_two_columns(name, log):
    fit, x = made(name)
    ax = drawn(plot_ratio(fit, x, columns=(1, 0), log=log), name)
    columns = list(getattr(fit, "feature_names_in_", ["x0", "x1"]))
    assert ax.get_xlabel() == label(columns[1])
    assert ax.get_ylabel() == label(columns[0])
    assert ("no intervals" in ax.get_title()) == (name in WITHOUT_INTERVALS)


def test_a_ratio_of_one_everywhere():
    x = normal(80, 2, 0)
    fit = pre.PosteriorRatio().fit(x, x)
    for columns in ((0,), (0, 1)):
        drawn(plot_ratio(fit, x, columns=columns))


@pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")
def test_a_huge_ratio_does_not_overflow():
    x_q = normal(60, 1, 1)
    fit = pre.PosteriorRatio("polynomial").fit(normal(60, 1, 0, 0.5) * 1.3, x_q)
    assert fit.delta_[1] > 0.05
    far = np.linspace(-200.0, 200.0, 50)
    drawn(plot_ratio(fit, far, log=False))
    drawn(plot_ratio(fit, far))


def test_a_plugin_has_no_band():
    x_p, x_q = normal(60, 1, 0, 0.3), normal(60, 1, 1)
    fit = pre.PluginRatio().fit(x_p, x_q, lambda x: -np.square(x[:, 0]), None)
    assert "no intervals" in drawn(plot_ratio(fit, x_q)).get_title()


def test_columns_are_matched_by_name():
    fit, x = made("named")
    a, b = plot_ratio(fit, x), plot_ratio(fit, x[LONG[::-1]])
    np.testing.assert_allclose(a.lines[1].get_xydata(), b.lines[1].get_xydata(), atol=1e-12)


def test_without_x_the_rows_of_the_fit_are_drawn(tmp_path):
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.5, 1.0, (300, 2)), rng.normal(size=(400, 2))
    fit = pre.KLIEP("polynomial").fit(x_p, x_q)
    expected = plot_ratio(fit, x_q).lines
    again = pre.load(pre.save(fit, tmp_path / "fit.npz"))
    for other in (fit, again):
        for line, same in zip(plot_ratio(other).lines, expected, strict=True):
            np.testing.assert_allclose(line.get_ydata(), same.get_ydata(), atol=1e-9)
    assert fit.plot().get_ylabel() == "x1"
    assert pre.KLIEP().fit(x_p[:, :1], x_q[:, :1]).plot().get_ylabel() == "log r(x)"
    wide = pre.KLIEP().fit(np.hstack([x_p, x_p**2]), np.hstack([x_q, x_q**2]))
    assert "Coefficients" in wide.plot().get_title()


def test_rows_read_block_by_block_have_to_be_passed():
    dask_array = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.5, 1.0, (300, 1)), rng.normal(size=(400, 1))
    fit = pre.KLIEP().fit(dask_array.from_array(x_p), dask_array.from_array(x_q))
    with pytest.raises(pre.DataError) as error:
        plot_ratio(fit)
    assert error.value.argument == "x"
    assert "Coefficients" in fit.plot().get_title()
    assert plot_ratio(fit, x_q).get_ylabel() == "log r(x)"
