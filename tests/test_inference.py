"""Uncertainty: coverage, invariances, jackknife and bootstrap, tests with free directions, tail probabilities."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, chi2, norm
from zoo import gaussian, planted

import pre_convex as pre
from pre_convex.inference import Inference, Interval, weighted_chi2_sf

ROOT = Path(__file__).parents[1]
RUNS = 300


def sample(n=200, seed=0, **options):
    """A weighted problem and δ*."""
    x_p, x_q, l_p, l_q, delta = gaussian(n, seed)
    return pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q, **options), delta


def inference(problem, kind="centred", tol=1e-12):
    return Inference(problem, pre.solve(problem, tol=tol).delta, kind=kind)


def chance(count, share=0.95, runs=RUNS):
    """Two-sided probability of a count at least as odd."""
    return 2.0 * min(binom.cdf(count, runs, share), binom.sf(count - 1, runs, share))


@pytest.fixture(scope="module")
def repeated():
    """Inference on 300 samples, features shifted by 10: (Wald statistics by kind, hits of log r, of the divergence)."""
    points = np.array([[0.0, 0.0], [1.0, -0.5]])
    statistics, ratios, divergences = {"centred": [], "paper": []}, [], []
    for seed in range(RUNS):
        problem, delta = sample(300, [1, seed], features=lambda x: x + 10.0)
        estimate = pre.solve(problem).delta
        for kind, values in statistics.items():
            fit = Inference(problem, estimate, kind=kind)
            # of both coefficients, and of their sum: the direction of the shift
            values.append([fit.wald_test(None, delta).statistic, fit.wald_test([1.0, 1.0], delta.sum()).statistic])
        # both posteriors have precision 2, and means with a difference of δ/2
        mean_p, mean_q = np.array([0.4, 0.05]), np.array([-0.05, 0.05])
        np.testing.assert_allclose(2.0 * (mean_p - mean_q), delta, atol=1e-12)
        truth = ((points - mean_q) ** 2).sum(axis=1) - ((points - mean_p) ** 2).sum(axis=1)
        fit = Inference(problem, estimate)
        interval = fit.log_ratio(points + 10.0)
        ratios.append((interval.lower <= truth) & (truth <= interval.upper))
        interval = fit.divergence()
        divergences.append(interval.lower[0] <= delta @ delta / 4.0 <= interval.upper[0])
    return {k: np.array(v) for k, v in statistics.items()}, np.array(ratios), np.array(divergences)


def test_the_joint_region_covers_whatever_the_origin_of_the_features(repeated):
    statistics, _, _ = repeated
    for column, df in zip(statistics["centred"].T, (2, 1), strict=True):
        assert chance((column <= chi2.isf(0.05, df)).sum()) > 1e-3
        assert abs(column.mean() - df) < 4 * np.sqrt(2 * df / RUNS)


def test_the_formula_without_centring_covers_too_much_when_features_are_shifted(repeated):
    statistics, _, _ = repeated
    joint, along = statistics["paper"].T
    assert joint.mean() < 1.3
    assert chance((along <= chi2.isf(0.05, 1)).sum()) < 1e-5
    assert along.mean() < 0.1


def test_intervals_of_log_ratio_and_divergence_cover(repeated):
    _, ratios, divergences = repeated
    for hits in (*ratios.T, divergences):
        assert chance(hits.sum()) > 1e-3


def test_p_values_of_the_divergence_are_uniform_where_there_is_none():
    values = []
    for seed in range(RUNS):
        rng = np.random.default_rng([2, seed])
        x_p, x_q = rng.normal(size=(200, 3)), rng.normal(size=(400, 3))
        likelihood = pre.Gaussian([0.5, 0.0, 0.0], precision=[1.0, 0.1, 0.5])
        values.append(inference(pre.RatioProblem.from_samples(x_p, x_q, likelihood, likelihood)).divergence_p_value())
    values = np.array(values)
    for level in (0.05, 0.2, 0.5):
        assert chance((values < level).sum(), level) > 1e-3


@pytest.mark.parametrize("kind", ["centred", "hc3"])
@pytest.mark.parametrize("shift", [3.0, -40.0, 1e6])
def test_shifts_of_the_features_change_nothing(kind, shift):
    here = inference(sample()[0], kind)
    there = inference(sample(features=lambda x: x + shift)[0], kind, tol=1e-12 if shift < 1e3 else 1e-8)
    tolerance = 1e-8 * max(1.0, abs(shift))
    np.testing.assert_allclose(there.delta, here.delta, rtol=tolerance)
    np.testing.assert_allclose(there.covariance, here.covariance, rtol=tolerance)
    np.testing.assert_allclose(there.divergence().std_error, here.divergence().std_error, rtol=tolerance)
    x = np.array([[0.3, -1.0], [2.0, 0.0]])
    for part in ("estimate", "std_error"):
        a, b = getattr(here.log_ratio(x), part), getattr(there.log_ratio(x + shift), part)
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=1e-9 * max(1.0, abs(shift)))


def test_the_paper_covariance_does_change():
    here, there = inference(sample()[0], "paper"), inference(sample(features=lambda x: x + 3.0)[0], "paper")
    assert np.trace(there.covariance) > 1.5 * np.trace(here.covariance)


@pytest.mark.parametrize("kind", ["centred", "hc3", "paper"])
def test_linear_maps_of_the_features_map_the_covariance(kind):
    A = np.array([[2.0, 1.0], [-0.5, 1e-3]])
    here, there = inference(sample()[0], kind), inference(sample(features=lambda x: x @ A.T)[0], kind)
    back = np.linalg.inv(A)
    np.testing.assert_allclose(there.delta, back.T @ here.delta, rtol=1e-7)
    np.testing.assert_allclose(there.covariance, back.T @ here.covariance @ back, rtol=1e-6)
    assert there.wald_test().statistic == pytest.approx(here.wald_test().statistic, rel=1e-6)


def test_hc3_is_wider_than_centred():
    problem, _ = sample(60)
    wide, narrow = inference(problem, "hc3").covariance, inference(problem).covariance
    assert np.linalg.eigvalsh(wide - narrow).min() > 0.0


def test_hc3_is_the_jackknife():
    n = 60
    x_p, x_q, l_p, l_q, _ = gaussian(n, 3)
    problem = pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q)
    fits = {kind: inference(problem, kind) for kind in ("centred", "hc3")}

    def refit(drop_p=(), drop_q=()):
        rows = np.delete(x_p, drop_p, axis=0), np.delete(x_q, drop_q, axis=0)
        return pre.solve(pre.RatioProblem.from_samples(*rows, l_p, l_q), tol=1e-12).delta - fits["centred"].delta

    changes = np.array([refit(drop_p=[i]) for i in range(n)] + [refit(drop_q=[j]) for j in range(n)])
    jackknife = changes.T @ changes
    off = {kind: np.abs(fit.covariance / jackknife - 1.0).diagonal().max() for kind, fit in fits.items()}
    assert off["hc3"] < 0.05
    assert off["hc3"] < 0.5 * off["centred"]


@pytest.mark.parametrize("bend", [0.0, 0.1, 1.0])
def test_hc3_of_pairs_is_the_jackknife_that_drops_pairs(bend):
    n, k = 80, 6
    x = np.random.default_rng(4).uniform(-1.0, 1.0, (n, k))
    odds = x @ np.linspace(-2.0, 2.0, k) + bend * np.sin(4.0 * x[:, 0])
    sides = -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)
    problem = pre.RatioProblem.from_samples(x, x, *sides, paired=True)
    fits = {kind: inference(problem, kind, tol=1e-13) for kind in ("centred", "hc3")}

    def refit(i):
        rows, one, zero = (np.delete(part, i, axis=0) for part in (x, *sides))
        return pre.solve(pre.RatioProblem.from_samples(rows, rows, one, zero), tol=1e-13).delta - fits["hc3"].delta

    changes = np.array([refit(i) for i in range(n)])
    jackknife = changes.T @ changes
    if bend == 0.0:  # the model is exact: no row moves anything
        assert np.abs(jackknife).max() < 1e-12
        assert np.abs(fits["hc3"].covariance).max() < 1e-12
    else:
        off = {kind: np.abs(fit.covariance / jackknife - 1.0).diagonal().max() for kind, fit in fits.items()}
        assert off["hc3"] < 0.05
        assert off["hc3"] < 0.5 * off["centred"]


def test_a_bootstrap_has_the_same_spread():
    n, resamples = 400, 300
    x_p, x_q, l_p, l_q, _ = gaussian(n, 4)
    fit = inference(pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q))
    rng = np.random.default_rng(5)
    point = np.array([[1.0, 0.5]])
    found = []
    for _ in range(resamples):
        rows = x_p[rng.integers(n, size=n)], x_q[rng.integers(n, size=n)]
        problem = pre.RatioProblem.from_samples(*rows, l_p, l_q)
        delta = pre.solve(problem).delta
        found.append([*delta, point[0] @ delta - problem.tilt(delta).log_z, -problem.value(delta)])
    spread = np.std(found, axis=0, ddof=1)
    expected = np.concatenate([fit.std_error, fit.log_ratio(point).std_error, fit.divergence().std_error])
    np.testing.assert_allclose(spread, expected, rtol=4.0 / np.sqrt(2 * resamples))
    correlation = np.corrcoef(np.array(found)[:, :2].T)[0, 1]
    V = fit.covariance
    assert abs(correlation - V[0, 1] / np.sqrt(V[0, 0] * V[1, 1])) < 4.0 / np.sqrt(resamples)


def test_estimates_converge_to_the_closed_form():
    for n in (300, 3_000, 100_000):
        problem, delta = sample(n, seed=6)
        fit = inference(problem)
        assert np.all(np.abs(fit.delta - delta) < 4.0 * fit.std_error)
        assert fit.std_error.max() < 4.0 / np.sqrt(n)
    assert abs(fit.divergence().estimate[0] - delta @ delta / 4.0) < 0.02


def test_kliep_at_zero_has_the_textbook_covariance():
    """Without likelihoods and at δ = 0, V = H⁻¹ (1/n_p + 1/n_q), as for logistic regression."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(100, 2))
    problem = pre.RatioProblem.from_samples(x, np.repeat(x, 3, axis=0))
    fit = inference(problem)
    np.testing.assert_allclose(fit.delta, 0.0, atol=1e-10)
    expected = np.linalg.inv(np.cov(x.T, bias=True)) * (1 / 100 + 1 / 300)
    np.testing.assert_allclose(fit.covariance, expected, rtol=1e-8)
    np.testing.assert_allclose(fit.divergence().std_error, 0.0, atol=1e-10)


def paired_rows(paired, n=300, bend=1.0):
    x = np.random.default_rng(8).normal(size=(n, 2))
    odds = x[:, 0] - 0.5 * x[:, 1] + bend * np.sin(2.0 * x[:, 1])
    return pre.RatioProblem.from_samples(x, x, odds, np.zeros(n), paired=paired)


def test_paired_rows_cancel_their_noise():
    together, apart = inference(paired_rows(True)), inference(paired_rows(False))
    assert np.linalg.eigvalsh(apart.covariance - together.covariance).min() > 0.0
    assert np.trace(together.covariance) < 0.6 * np.trace(apart.covariance)
    assert together.log_ratio([[1.0, 1.0]]).std_error < apart.log_ratio([[1.0, 1.0]]).std_error


def test_paired_rows_of_a_true_model_have_no_noise_at_all():
    fit = inference(paired_rows(True, bend=0.0))
    np.testing.assert_allclose(fit.delta, [1.0, -0.5], atol=1e-9)
    assert fit.std_error.max() < 1e-8
    assert inference(paired_rows(False, bend=0.0)).std_error.min() > 0.05


def test_paired_rows_agree_with_a_bootstrap_of_rows():
    problem = paired_rows(True)
    fit = inference(problem)
    rng = np.random.default_rng(9)
    found = []
    for _ in range(200):
        rows = rng.integers(problem.n_q, size=problem.n_q)
        w = problem.log_weights_p[rows]
        F = problem.features_q[rows]
        found.append(pre.solve(pre.RatioProblem(np.exp(w) @ F / np.exp(w).sum(), F, problem.log_base[rows])).delta)
    np.testing.assert_allclose(np.std(found, axis=0), fit.std_error, rtol=4.0 / np.sqrt(400))


def test_intervals_of_log_ratio_count_the_noise_of_log_z():
    problem, _ = sample()
    fit = inference(problem)
    mu = np.exp(problem.log_mu(fit.delta))
    noise = np.sqrt(np.square(mu - np.exp(problem.log_base)).sum())
    at_mean = fit.log_ratio(problem.target[None, :])
    assert at_mean.std_error[0] == pytest.approx(noise)  # ⟨f − F'μ, dδ⟩ vanishes here, log Z does not
    assert noise > 0.02
    np.testing.assert_allclose(at_mean.upper - at_mean.lower, 2 * 1.959963984540054 * noise)


def test_the_variance_of_log_ratio_is_the_sum_of_squared_influences():
    problem, _ = sample(50)
    fit = inference(problem)
    mu, w, base = (np.exp(part) for part in (problem.log_mu(fit.delta), problem.log_weights_p, problem.log_base))
    points = np.array([[0.5, -1.0], [3.0, 2.0]])
    z = np.linalg.solve(problem.hessian(fit.delta), (points - problem.target).T)
    of_p = (w[:, None] * (problem.features_p - problem.target)) @ z
    of_q = -(mu[:, None] * (problem.features_q - problem.target)) @ z - (mu - base)[:, None]
    found = fit.log_ratio(points, 0.9)
    np.testing.assert_allclose(found.std_error**2, np.square(of_p).sum(axis=0) + np.square(of_q).sum(axis=0), rtol=1e-8)
    np.testing.assert_allclose(found.estimate, points @ fit.delta - problem.tilt(fit.delta).log_z)
    np.testing.assert_allclose(found.upper - found.estimate, norm.ppf(0.95) * found.std_error)
    np.testing.assert_allclose(found.estimate - found.lower, norm.ppf(0.95) * found.std_error)
    assert (found.level, fit.divergence(0.8).level, fit.conf_int(0.7).level, fit.conf_int().level) == (
        0.9,
        0.8,
        0.7,
        0.95,
    )
    np.testing.assert_array_equal(fit.conf_int().estimate, fit.delta)


def test_an_interval_holds_read_only_numbers():
    interval = Interval([1], [2], [-3], [5], 0.95)
    for name in ("estimate", "std_error", "lower", "upper"):
        part = getattr(interval, name)
        assert part.dtype == float
        assert not part.flags.writeable


def test_the_p_value_of_the_divergence_of_one_feature_is_that_of_a_chi_square():
    rng = np.random.default_rng(12)
    problem = pre.RatioProblem.from_samples(rng.normal(0.1, 1.0, 60), rng.normal(size=90))
    fit = inference(problem)
    H, score = problem.hessian(fit.delta)[0, 0], fit.score_variance[0, 0]
    statistic = 2.0 * fit.divergence().estimate[0] * H / score
    assert statistic > 0.1
    assert fit.divergence_p_value() == pytest.approx(chi2.sf(statistic, 1), rel=1e-8)


def test_hypotheses_about_nothing_count_for_nothing():
    fit = inference(sample()[0])
    nothing = fit.wald_test([[0.0, 0.0]])
    assert (nothing.df, nothing.statistic, nothing.p_value) == (0, 0.0, 1.0)
    both, one = fit.wald_test([[0.0, 0.0], [1.0, 0.0]]), fit.wald_test([1.0, 0.0])
    assert (both.df, both.statistic, both.p_value) == (1, pytest.approx(one.statistic), pytest.approx(one.p_value))


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_units_of_the_features_change_no_test(scale):
    plain, scaled = inference(sample()[0]), inference(sample(features=lambda x: scale * x)[0])
    assert scaled.wald_test().df == 2
    assert scaled.wald_test().statistic == pytest.approx(plain.wald_test().statistic, rel=1e-6)
    doubled = inference(sample(features=lambda x: scale * x[:, [0, 1, 1]])[0])
    assert doubled.wald_test([0.0, 1.0, 0.0]).df == 0
    assert doubled.wald_test([0.0, 1.0, 1.0]).statistic == pytest.approx(plain.wald_test([0.0, 1.0]).statistic)


def test_wald_test_of_one_coefficient_is_its_squared_z():
    fit = inference(sample()[0])
    z = fit.delta / fit.std_error
    for i, row in enumerate(np.eye(2)):
        for hypothesis in (row, row[None, :], 7.0 * row):
            test = fit.wald_test(hypothesis)
            assert test.df == 1
            assert test.statistic == pytest.approx(z[i] ** 2)
            assert test.p_value == pytest.approx(chi2.sf(z[i] ** 2, 1))
    lower = fit.conf_int().lower[0]
    assert fit.wald_test([1.0, 0.0], lower).p_value == pytest.approx(0.05)
    assert fit.wald_test([7.0, 0.0], 7.0 * lower).p_value == pytest.approx(0.05)
    far = fit.wald_test([1.0, 0.0], 1e200)
    assert (far.statistic, far.p_value) == (np.inf, 0.0)
    assert "Wald chi2(2) = " in str(fit.wald_test())


def test_redundant_hypotheses_count_once():
    fit = inference(sample()[0])
    once, twice = fit.wald_test([[1.0, 1.0]]), fit.wald_test([[1.0, 1.0], [-2.0, -2.0]])
    assert (twice.df, twice.statistic) == (1, pytest.approx(once.statistic))


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_free_directions_are_not_tested(scale):
    """Columns that add no information change no statistic, whatever δ the solver returned along them."""
    mix = np.array([[1.0, 0.0, 1.0, 0.3, scale], [0.0, 1.0, 1.0, -0.7, 3.0 * scale]])
    plain, wide = inference(sample()[0]), inference(sample(features=lambda x: x @ mix)[0])
    test = plain.wald_test()
    free = np.linalg.svd(mix)[2][2:]  # mix @ free' = 0
    for move in (np.zeros(5), *free, 100.0 * free.sum(axis=0)):
        same = Inference(wide.problem, wide.delta + move).wald_test()
        assert (same.df, same.statistic) == (2, pytest.approx(test.statistic, rel=1e-6))
        assert wide.contains(wide.delta + move)
        assert wide.wald_test(None, wide.delta + move).statistic < 1e-10
    assert wide.wald_test([1.0, 0.0, 0.0, 0.0, 0.0]).df == 0
    assert wide.wald_test(mix).statistic == pytest.approx(test.statistic, rel=1e-6)
    assert wide.divergence_p_value() == pytest.approx(plain.divergence_p_value(), rel=1e-4)


def test_a_doubled_column_has_the_sum_of_its_coefficients_tested():
    plain, doubled = inference(sample()[0]), inference(sample(features=lambda x: x[:, [0, 1, 1]])[0])
    assert doubled.wald_test([0.0, 1.0, 1.0]).statistic == pytest.approx(plain.wald_test([0.0, 1.0]).statistic)
    assert doubled.wald_test([0.0, 1.0, 0.0]).df == 0


def test_a_constant_column_has_no_noise_and_no_test():
    plain = inference(sample()[0])
    fit = inference(sample(features=lambda x: np.column_stack([x, np.full(len(x), 0.3)]))[0])
    assert fit.std_error[2] == 0.0
    np.testing.assert_allclose(fit.covariance[:2, :2], plain.covariance, rtol=1e-8)
    assert (fit.wald_test().df, fit.wald_test().statistic) == (2, pytest.approx(plain.wald_test().statistic))
    alone = inference(pre.RatioProblem.from_samples(np.ones((5, 1)), np.ones((6, 1))))
    assert alone.wald_test().df == 0
    assert alone.contains([3.0])
    assert alone.divergence_p_value() == 1.0


def test_regions_grow_with_the_level():
    fit = inference(sample()[0])
    statistic = fit.wald_test(None, fit.delta + 0.2).statistic
    level = chi2.cdf(statistic, 2)
    assert fit.contains(fit.delta + 0.2, level + 1e-6)
    assert not fit.contains(fit.delta + 0.2, level - 1e-6)
    assert np.all(fit.conf_int(0.99).upper > fit.conf_int(0.9).upper)


def test_divergence_interval():
    problem, _ = sample()
    fit = inference(problem)
    interval = fit.divergence()
    assert interval.estimate[0] == pytest.approx(-problem.value(fit.delta))
    assert 0.0 < interval.lower[0] < interval.estimate[0] < interval.upper[0]
    x = np.random.default_rng(10).normal(size=(400, 1))
    near = inference(pre.RatioProblem.from_samples(x[:200], x[200:]))
    assert near.divergence().lower[0] >= 0.0
    with pytest.raises(ValueError, match="read-only"):
        interval.estimate[0] = 1.0


@pytest.mark.parametrize("k", [1, 2, 3, 7, 100, 5000])
@pytest.mark.parametrize("tail", [1e-12, 0.01, 0.3, 0.5, 0.7, 0.999])
def test_equal_weights_give_a_chi_square(k, tail):
    for scale in (1.0, 1e-7):
        found = weighted_chi2_sf(scale * chi2.isf(tail, k), np.full(k, scale))
        assert found == pytest.approx(tail, rel=1e-10, abs=0.0)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.5), (1.0, 1e-2), (3.0, 1e-6)])
def test_pairs_of_weights_give_a_sum_of_exponentials(a, b):
    for x in (1e-4, 0.1, 1.0, 5.0, 50.0, 300.0):
        exact = (a * np.exp(-x / (2 * a)) - b * np.exp(-x / (2 * b))) / (a - b)
        assert weighted_chi2_sf(x, np.array([a, b, b, a])) == pytest.approx(exact, rel=1e-9, abs=0.0)


@pytest.mark.parametrize(("small", "count"), [(0.01, 1000), (0.1, 9), (0.003, 30)])
def test_one_large_weight_among_many_small(small, count):
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
def test_weighted_chi_square_agrees_with_simulation(weights):
    draws = np.random.default_rng(11).chisquare(1, size=(20_000, len(weights))) @ weights
    for level in (0.1, 0.5, 0.95):
        assert abs(weighted_chi2_sf(np.quantile(draws, 1.0 - level), weights) - level) < 4 * 0.5 / np.sqrt(20_000)


def test_weighted_chi_square_at_the_ends():
    assert weighted_chi2_sf(1.0, np.zeros(3)) == 1.0
    assert weighted_chi2_sf(1.0, np.zeros(0)) == 1.0
    assert weighted_chi2_sf(0.0, np.ones(2)) == 1.0
    assert weighted_chi2_sf(-1.0, np.ones(2)) == 1.0
    assert weighted_chi2_sf(1e-300, np.ones(2)) == 1.0
    assert weighted_chi2_sf(1e300, np.ones(2)) == 0.0
    assert weighted_chi2_sf(80.0, np.ones(1)) == pytest.approx(chi2.sf(80.0, 1), rel=1e-10, abs=0.0)
    with pytest.raises(pre.DataError, match="weights: must be finite and not negative"):
        weighted_chi2_sf(4.0, np.array([-1.0, 2.0]))


def test_refusals():
    problem, delta = sample()
    fit = inference(problem)
    bare, answer = planted()
    for message, call in (
        (
            "kind: 'robust' is not known; use one of 'centred', 'hc3', 'paper'",
            lambda: Inference(problem, delta, kind="robust"),
        ),
        (
            "radius: a radius of 0.1 biases the estimate towards zero by as much as its noise, so that no interval "
            "around it has the coverage it claims; solve with radius=0",
            lambda: Inference(problem.with_radius(0.1), delta),
        ),
        ("problem: has no p side", lambda: Inference(bare, answer)),
        ("delta: has 1 entries where 2 are needed, one for each row", lambda: Inference(problem, [1.0])),
        ("delta: entry 1 is nan; it must be finite", lambda: Inference(problem, [1.0, np.nan])),
        ("delta: has 3 entries where 2 are needed, one for each row", lambda: fit.contains([1.0, 0.0, 0.0])),
        ("level: 95 is not between 0 and 1", lambda: fit.conf_int(95)),
        ("level: 'most' is not a number; pass a finite number", lambda: fit.conf_int("most")),
        ("level: 1 is not between 0 and 1", lambda: fit.contains(delta, 1)),
        ("level: 0 is not between 0 and 1", lambda: fit.divergence(0.0)),
        ("features: have 3 columns where the problem has 2", lambda: fit.log_ratio(np.zeros((1, 3)))),
        ("features: is None; pass an array of numbers", lambda: fit.log_ratio(None)),
        ("features: holds 1e+101, and numbers beyond 1e+100 overflow", lambda: fit.log_ratio([[1e101, 0.0]])),
        ("hypothesis: has 3 columns for 2 coefficients", lambda: fit.wald_test([1.0, 0.0, 0.0])),
        ("hypothesis: holds dtype <U2; pass real numbers", lambda: fit.wald_test(["x0", "x1"])),
        (
            "value: has shape (3,) for 2 rows of the hypothesis; give a number or (2,)",
            lambda: fit.wald_test(np.eye(2), [1.0, 2.0, 3.0]),
        ),
        ("value: entry 1 is nan; it must be finite", lambda: fit.wald_test(np.eye(2), [1.0, np.nan])),
        ("value: ", lambda: fit.wald_test(None, "most")),
        ("x: 'most' is not a number", lambda: weighted_chi2_sf("most", np.ones(2))),
        ("weights: ", lambda: weighted_chi2_sf(1.0, ["most"])),
        ("weights: must be finite and not negative", lambda: weighted_chi2_sf(1.0, np.array([np.inf]))),
        ("weights: must be finite and not negative", lambda: weighted_chi2_sf(1.0, np.array([1.0, -1.0]))),
        ("weights: must be finite and not negative", lambda: weighted_chi2_sf(1.0, np.ones((2, 2)))),
        ("hypothesis: row 0, column 1 is nan", lambda: fit.wald_test([[0.0, np.nan]])),
        ("value: is inf; pass a finite number", lambda: fit.wald_test(np.eye(2), np.inf)),
    ):
        with pytest.raises(pre.DataError) as error:
            call()
        assert str(error.value).startswith(message)


def stored():
    with (ROOT / "benchmarks" / "results" / "coverage.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_quotes_the_stored_coverage():
    lines = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines()
    for row in stored():
        own = [line for line in lines if line.startswith(f"| {row['scenario']} |")]
        assert any(f"| {row['coverage']} % |" in line for line in own), row


def test_the_stored_coverage_is_what_it_should_be():
    for row in stored():
        assert int(row["runs"]) >= 2000
        if row["aim"].startswith("9"):
            low, high = (float(word) for word in row["aim"].split(" to "))
            assert low <= float(row["coverage"]) <= high, row
        elif row["aim"]:
            assert abs(float(row["coverage"]) - 5.0) < 1.0, row


def test_the_stored_coverage_has_a_command_that_runs():
    command = [sys.executable, "-W", "error", ROOT / "benchmarks" / "interval_coverage.py", "--runs", "2"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == len(stored())
    assert "set-up of the paper" in result.stdout


@pytest.mark.parametrize("shift", [0.0, 300.0])
def test_sums_by_passes_are_the_sums_over_rows(monkeypatch, shift):
    import pre_convex.influence as module

    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.3, 1.0, (300, 3)) + shift, rng.normal(0.0, 1.0, (500, 3)) + shift
    lik = pre.Gaussian(np.full(3, 0.2 + shift), precision=0.7)
    problem = pre.RatioProblem.from_samples(x_p, x_q, lik, lik)
    delta = pre.solve(problem).delta
    rows = module.influence(problem, delta, "centred")
    monkeypatch.setattr(module, "MANY_NUMBERS", 0)
    passes = module.influence(problem, delta, "centred")
    for name in ("H", "score", "cross", "log_z", "divergence"):
        np.testing.assert_allclose(getattr(passes, name), getattr(rows, name), rtol=1e-8, atol=1e-12)
