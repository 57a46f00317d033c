"""Figures of a fit: weights, balance, coefficients."""

import numpy as np
import pytest
from plot_fits import FITS, WITHOUT_INTERVALS, drawn, made, normal, row_names

import pre_convex as pre
from pre_convex.plots import plot_balance, plot_coefficients, plot_weights
from pre_convex.plots.canvas import label


@pytest.fixture(params=sorted(FITS))
def case(request):
    return request.param, *made(request.param)


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


@pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")
def test_concentrated_weights_have_a_logarithmic_axis():
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
    with pytest.raises(pre.DataError, match="constant") as error:
        plot_balance(pre.PosteriorRatio().fit(x, x))
    assert error.value.argument == "fit"


def test_coefficients(case):
    name, fit, _ = case
    ax = drawn(plot_coefficients(fit), name)
    shown = row_names(ax)
    assert len(shown) == min(fit.problem_.k, 40)
    assert set(shown) <= {label(n) for n in fit.feature_names_}
    assert ("no intervals" in ax.get_title()) == (name in WITHOUT_INTERVALS)
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


def test_a_coefficient_on_the_boundary_is_marked():
    rng = np.random.default_rng(0)
    x_p = np.column_stack([np.zeros(100), rng.normal(size=100)])
    x_q = np.column_stack([np.arange(150) % 2, rng.normal(size=150)])
    with pytest.warns(pre.PreConvexWarning):
        fit = pre.KLIEP().fit(x_p, x_q)
    ax = drawn(plot_coefficients(fit), "boundary")
    assert [text.get_text() for text in ax.texts] == ["−∞"]
    assert ax.get_yticklabels()[0].get_text() == "x0"
