"""Figures: every plot on many kinds of fits, with names in its labels and nothing cut off."""

import gc
import sys
import weakref

import numpy as np
import pandas as pd
import pytest
from matplotlib._pylab_helpers import Gcf
from matplotlib.axes import Axes
from matplotlib.figure import Figure
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
    import cvxpy as cp

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


FITS = [one, named, sixty, cross_validated, penalised, kernel, weightless]
REFUSED = {"cross_validated", "penalised", "kernel"}
BY_NAME = {make.__name__: make for make in FITS}
_made = {}


def made(name):
    """The fit and its q sample, made once."""
    if name not in _made:
        _made[name] = BY_NAME[name]()
    return _made[name]


@pytest.fixture(params=sorted(BY_NAME))
def case(request):
    return request.param, *made(request.param)


def row_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def check(figure):
    """Nothing reaches over the edge of the figure, no legend lies on data."""
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
    """The axes, after a look at their layout unless the fit looks like another one."""
    assert isinstance(ax, Axes)
    if name not in ("cross_validated", "kernel", "weightless"):
        check(ax.figure)
    return ax


# --- the ratio


def test_ratio_along_a_column(case):
    name, fit, x = case
    ax = drawn(plot_ratio(fit, x), name)
    columns = list(getattr(fit, "feature_names_in_", ["x0"]))
    assert ax.get_xlabel() == label(columns[0])
    assert ("no intervals" in ax.get_title()) == (name in REFUSED)
    assert ("95 %" in ax.get_title()) == (name not in REFUSED)


@pytest.mark.parametrize("log", [True, False])
def test_the_curve_is_the_ratio(log):
    fit, x = made("one")
    grid, curve = drawn(plot_ratio(fit, x, log=log)).lines[1].get_xydata().T
    np.testing.assert_allclose(curve, fit.log_ratio(grid) if log else fit.ratio(grid))


def test_the_band_is_the_interval_and_other_columns_stay():
    fit, x = made("named")
    ax = plot_ratio(fit, x, columns="_hidden", at=[1.0, 0.0, -1.0], level=0.5)
    grid = ax.lines[1].get_xdata()
    points = np.column_stack([np.full(len(grid), 1.0), grid, np.full(len(grid), -1.0)])
    interval = fit.log_ratio_interval(points, 0.5)
    corners = ax.collections[0].get_paths()[0].vertices
    assert corners[:, 1].min() == pytest.approx(interval.lower.min())
    assert corners[:, 1].max() == pytest.approx(interval.upper.max())
    assert "the given point" in ax.get_title()


def test_the_centre_is_weighted_only_for_the_q_sample():
    from pre_convex.plots.ratio import _centre

    x_p, x_q = normal(100, 2, 0), normal(100, 2, 1)
    log_lik = -np.square(x_q - 1.0).sum(axis=1)
    fit = pre.PosteriorRatio().fit(x_p, x_q, None, log_lik)
    weights = np.exp(log_lik) / np.exp(log_lik).sum()
    np.testing.assert_allclose(_centre(fit, x_q), weights @ x_q)
    np.testing.assert_allclose(_centre(fit, x_p), x_p.mean(axis=0))


@pytest.mark.parametrize(
    ("name", "log"), [("named", True), ("named", False), ("sixty", True), ("kernel", False), ("weightless", True)]
)
def test_ratio_over_two_columns(name, log):
    fit, x = made(name)
    ax = drawn(plot_ratio(fit, x, columns=(1, 0), log=log), name)
    columns = list(getattr(fit, "feature_names_in_", ["x0", "x1"]))
    assert ax.get_xlabel() == label(columns[1])
    assert ax.get_ylabel() == label(columns[0])
    assert ("no intervals" in ax.get_title()) == (name in REFUSED)


def test_ratio_that_is_one_everywhere():
    x = normal(80, 2, 0)
    fit = pre.PosteriorRatio().fit(x, x)
    for columns in ((0,), (0, 1)):
        drawn(plot_ratio(fit, x, columns=columns))


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


def test_many_rows_are_taken_in_blocks(monkeypatch):
    fit, x = made("one")
    whole = plot_ratio(fit, x).collections[0].get_paths()[0].vertices
    monkeypatch.setattr("pre_convex.plots.ratio.BLOCK", 100 * len(x))
    blocks = plot_ratio(fit, x).collections[0].get_paths()[0].vertices
    np.testing.assert_allclose(blocks, whole)


def test_columns_of_another_order_are_put_right():
    fit, x = made("named")
    a, b = plot_ratio(fit, x), plot_ratio(fit, x[LONG[::-1]])
    np.testing.assert_allclose(a.lines[1].get_xydata(), b.lines[1].get_xydata(), atol=1e-12)


# --- weights, balance, coefficients


def test_weights(case):
    name, fit, _ = case
    ax = drawn(plot_weights(fit), name)
    size = 1.0 / np.square(fit.mu_).sum()
    shown = f"{size:,.0f}" if size >= 99.5 else f"{size:.3g}"
    assert ax.get_title().endswith(f"weights μ {shown}")
    share = ax.lines[-1].get_ydata()
    assert share[0] == pytest.approx(fit.mu_.max())
    assert share[-1] == pytest.approx(1.0)


def test_weights_of_many_rows_are_thinned():
    fit = pre.PosteriorRatio().fit(normal(500, 1, 0, 0.4), normal(20_000, 1, 1))
    share = plot_weights(fit).lines[-1].get_ydata()
    assert len(share) <= 2000
    assert share[-1] == pytest.approx(1.0)


def test_few_weights_have_a_logarithmic_axis():
    few = np.where(np.arange(300) < 5, 0.0, -8.0)
    x_q = normal(300, 1, 1)
    assert plot_weights(pre.PosteriorRatio().fit(x_q[:5] * 0.9, x_q, None, few)).get_xscale() == "log"
    assert plot_weights(made("one")[0]).get_xscale() == "linear"


def test_balance(case):
    name, fit, _ = case
    ax = drawn(plot_balance(fit), name)
    before, after = (line.get_xdata() for line in ax.lines[-2:])
    shown = row_names(ax)
    assert len(shown) == len(before) == min(fit.problem_.k - (name == "weightless"), 40)
    assert set(shown) <= {label(n) for n in fit.feature_names_}
    if fit.radius_ == 0.0 and fit.penalty is None:
        np.testing.assert_allclose(after, 0.0, atol=1e-5)
        assert np.all(np.diff(np.abs(before)) <= 1e-12)
    assert ("of 60 features" in ax.get_title()) == (name == "sixty")
    assert ("1 constant feature left out" in ax.get_title()) == (name == "weightless")


def test_balance_is_the_standardised_difference():
    fit, x = made("sixty")
    ax = plot_balance(fit)
    i = list(x.columns).index(row_names(ax)[0])
    expected = (fit.problem_.target[i] - x.iloc[:, i].mean()) / x.iloc[:, i].std(ddof=0)
    assert ax.lines[-2].get_xdata()[0] == pytest.approx(expected)


def test_balance_of_constants_only_is_refused():
    x = np.ones((20, 1))
    with pytest.raises(pre.DataError, match="constant"):
        plot_balance(pre.PosteriorRatio().fit(x, x))


def test_coefficients(case):
    name, fit, _ = case
    ax = drawn(plot_coefficients(fit), name)
    shown = row_names(ax)
    assert len(shown) == min(fit.problem_.k, 40)
    assert set(shown) <= {label(n) for n in fit.feature_names_}
    assert ("no intervals" in ax.get_title()) == (name in REFUSED)
    order = [[label(n) for n in fit.feature_names_].index(n) for n in shown]
    np.testing.assert_array_equal(ax.lines[-1].get_xdata(), fit.delta_[order])
    if name == "sixty":
        z = np.abs(fit.delta_ / fit.conf_int().std_error)
        assert np.all(np.diff(z[order]) <= 0.0)


@pytest.mark.parametrize("name", ["one", "penalised"])
def test_standardised_coefficients_do_not_depend_on_units(name):
    fit, x = made(name)
    values = plot_coefficients(fit, standardise=True).lines[-1].get_xdata()
    spread = np.sqrt(np.exp(fit.problem_.log_base) @ np.square(x - np.exp(fit.problem_.log_base) @ x))
    np.testing.assert_allclose(np.sort(values), np.sort(fit.delta_ * spread))


# --- the radius


@pytest.mark.parametrize("name", ["one", "sixty", "cross_validated", "penalised", "kernel"])
def test_radius_path(name):
    fit, _ = made(name)
    figure = plot_radius_path(fit, None if name in ("one", "cross_validated") else [1.0, 0.3, 0.1, 0.02])
    assert isinstance(figure, Figure)
    if name in ("sixty", "cross_validated"):
        check(figure)
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


def test_radius_path_of_a_problem_beyond_the_hull():
    problem = pre.RatioProblem([2.0], [[0.0], [1.0], [0.4]])
    figure = plot_radius_path(problem, [0.5, 0.9, 1.2, 1.4])
    assert "no solution at 2 of 4 radii" in figure.axes[0].get_title()
    assert np.isnan(figure.axes[1].lines[0].get_ydata()).sum() == 2
    radii = plot_radius_path(problem).axes[1].lines[0].get_xdata()
    assert 1.0 < radii.min() < 1.02


# --- normal laws


@pytest.mark.parametrize("n", [1, 2, 50, 10_000])
def test_qq(n):
    z = np.random.default_rng(0).normal(size=n)
    ax = drawn(plot_qq(z))
    points = ax.lines[-1].get_xydata()
    assert len(points) <= 3000
    assert points[0, 1] == z.min()
    assert points[-1, 1] == z.max()


def test_the_band_of_a_qq_plot_has_its_level():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(10):
        ax = plot_qq(rng.normal(size=100))
        points, corners = ax.lines[-1].get_xydata(), ax.collections[0].get_paths()[0].vertices
        for x, y in points[10:90:20]:
            band = corners[np.isclose(corners[:, 0], x, atol=1e-12), 1]
            inside.append(band.min() <= y <= band.max())
    assert 0.8 < np.mean(inside) <= 1.0


def test_ellipse_is_where_the_wald_statistic_is_the_quantile():
    fit, _ = made("named")
    inference = fit.inference()
    ax = drawn(plot_ellipse(inference, ("_hidden", 0), level=0.9))
    border = ax.lines[0].get_xydata()
    L = np.zeros((2, fit.problem_.k))
    L[0, 1] = L[1, 0] = 1.0
    for point in border[::60]:
        assert inference.wald_test(L, point).p_value == pytest.approx(0.1)
    assert "_hidden" in ax.get_xlabel()


def test_ellipse_with_points():
    fit, _ = made("weightless")  # one of the coefficients is free, so that an ellipse is a line
    for columns in (2, 3):
        ax = drawn(plot_ellipse(fit.inference(), (0, 1), points=np.zeros((5, columns))))
        assert ax.collections[0].get_offsets().shape == (5, 2)
    with pytest.raises(pre.DataError, match="points: have 4 columns"):
        plot_ellipse(fit.inference(), points=np.zeros((5, 4)))


# --- what holds for all


ALL = {
    "ratio": lambda fit, x, ax: plot_ratio(fit, x, ax=ax),
    "contours": lambda fit, x, ax: plot_ratio(fit, x, columns=(0, 1), ax=ax),
    "weights": lambda fit, x, ax: plot_weights(fit, ax=ax),
    "balance": lambda fit, x, ax: plot_balance(fit, ax=ax),
    "coefficients": lambda fit, x, ax: plot_coefficients(fit, ax=ax),
    "qq": lambda fit, x, ax: plot_qq(fit.delta_, ax=ax),
    "ellipse": lambda fit, x, ax: plot_ellipse(fit.inference(), ax=ax),
}


def test_plots_share_a_figure_of_the_caller():
    fit, x = made("named")
    figure = Figure(figsize=(16, 9), layout="constrained")
    for ax, plot in zip(figure.subplots(2, 4).ravel(), ALL.values(), strict=False):
        assert plot(fit, x, ax) is ax
        assert ax.get_title()
    figure.get_layout_engine().execute(figure)


def test_figures_are_forgotten():
    fit, x = made("named")
    alive = [weakref.ref(plot(fit, x, None).figure) for plot in ALL.values()]
    alive.append(weakref.ref(plot_radius_path(fit, [0.1, 0.2])))
    gc.collect()
    assert not [ref for ref in alive if ref() is not None]
    assert not Gcf.figs


@pytest.mark.parametrize("name", ALL)
def test_without_matplotlib(name, monkeypatch):
    fit, x = made("named")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(pre.MissingExtraError, match=r"pre_convex\[plot\]"):
        ALL[name](fit, x, None)


def test_not_fitted():
    for plot in (plot_weights, plot_balance, plot_coefficients, plot_radius_path):
        with pytest.raises(NotFittedError):
            plot(pre.PosteriorRatio())
    with pytest.raises(NotFittedError):
        plot_ratio(pre.PosteriorRatio(), [[0.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fit, x: plot_ratio(fit, x, columns=3), "columns: 3"),
        (lambda fit, x: plot_ratio(fit, x, columns="nothing"), "columns: 'nothing'"),
        (lambda fit, x: plot_ratio(fit, x, columns=(0, 0)), "two different"),
        (lambda fit, x: plot_ratio(fit, x, columns=(0, 1, 2)), "two different"),
        (lambda fit, x: plot_ratio(fit, x, columns=()), "one column or two"),
        (lambda fit, x: plot_ratio(fit, x, at=[0.0]), "at: has 1 entries"),
        (lambda fit, x: plot_ratio(fit, x, level=1.0), "level: 1 is not between"),
        (lambda fit, x: plot_ratio(fit, x.to_numpy()[:, :2]), "2 columns"),
        (lambda fit, x: plot_coefficients(fit, level=95), "level: 95 is not between"),
        (lambda fit, x: plot_ellipse(fit.inference(), (0, 0)), "two different"),
        (lambda fit, x: plot_ellipse(fit.inference(), (0, 99)), "pair: 99"),
        (lambda fit, x: plot_qq([0.0, np.nan]), "z: entry 1"),
        (lambda fit, x: plot_radius_path(fit, [0.0, 1.0]), "positive"),
        (lambda fit, x: plot_radius_path(fit, [1.0]), "two different"),
        (lambda fit, x: plot_radius_path(pre.RatioProblem([0.5], [[0.0], [1.0]])), "the target already"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(pre.DataError, match=message):
        call(*made("named"))


def test_labels():
    assert label("a$b") == r"a\$b"
    assert label("a\n b") == "a b"
    assert len(label("x" * 100)) <= 36
    assert label("") == "(no name)"
    names = ["x" * 50, "y", "x" * 51, "y"]
    assert len(set(labels(names, range(4)))) == 4
