"""Love plots."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.plots import plot_love
from pre_convex.statistics.balance import BalanceTable


def test_points_are_the_differences_of_the_table_with_the_largest_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    fit = pre.Balance("ATE", radius=0.02).fit(X, rng.random(200) < 1.0 / (1.0 + np.exp(-X[:, 1])))
    ax = fit.plot()
    drawn = {line.get_label(): line.get_xdata() for line in ax.lines}
    order = np.argsort(-np.abs(fit.balance_.before))
    np.testing.assert_allclose(drawn["before"], fit.balance_.before[order])
    np.testing.assert_allclose(drawn["after"], fit.balance_.after[order])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [f"x{i}" for i in order]


def test_constant_features_are_left_out_and_many_are_cut():
    before = np.linspace(-1.0, 1.0, 61)
    before[30] = np.nan
    table = BalanceTable("groups", tuple(f"f{i}" for i in range(61)), before, 0.1 * before, {})
    ax = plot_love(table)
    assert len(ax.get_yticklabels()) == 40
    assert "40 of 60 features" in ax.get_title()
    with pytest.raises(pre.DataError, match="constant"):
        plot_love(BalanceTable("groups", ("a",), np.array([np.nan]), np.array([np.nan]), {}))
