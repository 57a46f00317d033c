"""Tail probabilities of weighted sums of chi-square variables, against exact values."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2

from pre_convex.statistics.weighted_chi2 import weighted_chi2_sf


@pytest.mark.parametrize("k", [1, 2, 3, 7, 100, 5000])
def test_equal_weights_give_a_chi_square_distribution(k):
    for tail in (1e-12, 0.01, 0.3, 0.5, 0.7, 0.999):
        for scale in (1.0, 1e-7):
            found = weighted_chi2_sf(scale * chi2.isf(tail, k), np.full(k, scale))
            assert found == pytest.approx(tail, rel=1e-10, abs=0.0)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.5), (1.0, 1e-2), (3.0, 1e-6)])
def test_pairs_of_equal_weights_give_a_sum_of_exponentials(a, b):
    for x in (1e-4, 0.1, 1.0, 5.0, 50.0, 300.0):
        exact = (a * np.exp(-x / (2 * a)) - b * np.exp(-x / (2 * b))) / (a - b)
        assert weighted_chi2_sf(x, np.array([a, b, b, a])) == pytest.approx(exact, rel=1e-9, abs=0.0)


@pytest.mark.parametrize(("small", "count"), [(0.01, 1000), (0.1, 9), (0.003, 30)])
def test_one_large_weight_among_many_small_ones(small, count):
    weights = np.append(np.full(count, small), 1.0)
    for z in (-0.4, 0.01, 2.0, 6.0):
        x = weights.sum() + z * np.sqrt(2.0 * np.square(weights).sum())
        integral, _ = quad(
            lambda y, x=x: chi2.pdf(y, count) * chi2.sf(x - small * y, 1), 0.0, x / small, epsrel=1e-10, limit=500,
            points=[float(count)],
        )  # fmt: skip
        exact = integral + chi2.sf(x / small, count)
        assert weighted_chi2_sf(x, weights) == pytest.approx(exact, rel=1e-8, abs=0.0)


@pytest.mark.parametrize("weights", [np.geomspace(1e-12, 1.0, 30), np.geomspace(2e-3, 1.0, 300), np.array([1.0, 0.3])])
def test_quantiles_agree_with_a_simulation(weights):
    draws = np.random.default_rng(11).chisquare(1, size=(20_000, len(weights))) @ weights
    for level in (0.1, 0.5, 0.95):
        assert abs(weighted_chi2_sf(np.quantile(draws, 1.0 - level), weights) - level) < 4 * 0.5 / np.sqrt(20_000)


def test_limiting_cases():
    assert weighted_chi2_sf(1.0, np.zeros(3)) == 1.0
    assert weighted_chi2_sf(1.0, np.zeros(0)) == 1.0
    assert weighted_chi2_sf(0.0, np.ones(2)) == 1.0
    assert weighted_chi2_sf(-1.0, np.ones(2)) == 1.0
    assert weighted_chi2_sf(1e-300, np.ones(2)) == 1.0
    assert weighted_chi2_sf(1e300, np.ones(2)) == 0.0
    assert weighted_chi2_sf(80.0, np.ones(1)) == pytest.approx(chi2.sf(80.0, 1), rel=1e-10, abs=0.0)
