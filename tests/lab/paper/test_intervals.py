"""Intervals of shares and means."""

import numpy as np
import pytest
from pre_convex_lab.paper.intervals import Share, mean_and_margin, mean_interval
from scipy.stats import binomtest


@pytest.mark.parametrize(("count", "total"), [(0, 20), (20, 20), (7, 50), (249, 5000)])
def test_interval_of_a_share_is_exact(count, total):
    share = Share(count, total)
    exact = binomtest(count, total).proportion_ci(method="exact")
    assert (share.lower, share.upper) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert share.lower <= share.value <= share.upper


def test_interval_of_a_mean_of_few_values_has_its_coverage():
    samples = np.random.default_rng(0).normal(1.0, 3.0, (4000, 4))
    covered = [low <= 1.0 <= high for _, low, high in map(mean_interval, samples)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.012)


def test_mean_and_margin_leave_out_nan():
    values = np.random.default_rng(3).normal(size=(50, 2))
    mean, margin = mean_and_margin(np.concatenate([values, np.full((5, 2), np.nan)]))
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(margin, 1.96 * values.std(axis=0, ddof=1) / np.sqrt(50))
