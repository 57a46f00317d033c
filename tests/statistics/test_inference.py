"""Inference: coverage, invariances, jackknife and bootstrap, tests with free directions."""

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm
from zoo import gaussian

import pre_convex as pre
from pre_convex.statistics.inference import Inference, Interval

RUNS = 300


def sample(n=200, seed=0, **options):
    """A weighted problem and δ*."""
    x_p, x_q, l_p, l_q, delta = gaussian(n, seed)
    return pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q, **options), delta


def inference(problem, kind="centred", tol=1e-12):
    return Inference(problem, pre.solve(problem, tol=tol).delta, kind=kind)


def chance(count, share=0.95, runs=RUNS):
    """Two-sided probability of a count at least as extreme."""
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


def test_the_joint_region_covers_wherever_the_origin_of_the_features_is(repeated):
    statistics, _, _ = repeated
    for column, df in zip(statistics["centred"].T, (2, 1), strict=True):
        assert chance((column <= chi2.isf(0.05, df)).sum()) > 1e-3
        assert abs(column.mean() - df) < 4 * np.sqrt(2 * df / RUNS)


def test_the_papers_formula_covers_too_much_when_features_are_shifted(repeated):
    statistics, _, _ = repeated
    joint, along = statistics["paper"].T
    assert joint.mean() < 1.3
    assert chance((along <= chi2.isf(0.05, 1)).sum()) < 1e-5
    assert along.mean() < 0.1


def test_intervals_of_log_ratio_and_divergence_cover(repeated):
    _, ratios, divergences = repeated
    for hits in (*ratios.T, divergences):
        assert chance(hits.sum()) > 1e-3


def test_p_values_of_a_zero_divergence_are_uniform():
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
def test_inference_does_not_depend_on_shifts_of_the_features(kind, shift):
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


def test_the_papers_covariance_depends_on_shifts():
    here, there = inference(sample()[0], "paper"), inference(sample(features=lambda x: x + 3.0)[0], "paper")
    assert np.trace(there.covariance) > 1.5 * np.trace(here.covariance)


@pytest.mark.parametrize("kind", ["centred", "hc3", "paper"])
def test_the_covariance_is_equivariant_under_linear_maps(kind):
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


def test_standard_errors_agree_with_a_bootstrap():
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


def test_the_noise_of_paired_rows_cancels():
    together, apart = inference(paired_rows(True)), inference(paired_rows(False))
    assert np.linalg.eigvalsh(apart.covariance - together.covariance).min() > 0.0
    assert np.trace(together.covariance) < 0.6 * np.trace(apart.covariance)
    assert together.log_ratio([[1.0, 1.0]]).std_error < apart.log_ratio([[1.0, 1.0]]).std_error


def test_paired_rows_of_an_exact_model_have_no_noise():
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


def test_the_p_value_of_the_divergence_of_one_feature_is_that_of_a_chi_square():
    rng = np.random.default_rng(12)
    problem = pre.RatioProblem.from_samples(rng.normal(0.1, 1.0, 60), rng.normal(size=90))
    fit = inference(problem)
    H, score = problem.hessian(fit.delta)[0, 0], fit.score_variance[0, 0]
    statistic = 2.0 * fit.divergence().estimate[0] * H / score
    assert statistic > 0.1
    assert fit.divergence_p_value() == pytest.approx(chi2.sf(statistic, 1), rel=1e-8)


def test_an_empty_hypothesis_has_no_degrees_of_freedom():
    fit = inference(sample()[0])
    nothing = fit.wald_test([[0.0, 0.0]])
    assert (nothing.df, nothing.statistic, nothing.p_value) == (0, 0.0, 1.0)
    both, one = fit.wald_test([[0.0, 0.0], [1.0, 0.0]]), fit.wald_test([1.0, 0.0])
    assert (both.df, both.statistic, both.p_value) == (1, pytest.approx(one.statistic), pytest.approx(one.p_value))


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_tests_do_not_depend_on_units(scale):
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


def test_redundant_equations_count_once():
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
        same = Inference(wide.problem, wide.delta + move, kind="centred").wald_test()
        assert (same.df, same.statistic) == (2, pytest.approx(test.statistic, rel=1e-6))
        assert wide.contains(wide.delta + move)
        assert wide.wald_test(None, wide.delta + move).statistic < 1e-10
    assert wide.wald_test([1.0, 0.0, 0.0, 0.0, 0.0]).df == 0
    assert wide.wald_test(mix).statistic == pytest.approx(test.statistic, rel=1e-6)
    assert wide.divergence_p_value() == pytest.approx(plain.divergence_p_value(), rel=1e-4)


def test_of_a_duplicated_column_only_the_sum_of_coefficients_is_tested():
    plain, doubled = inference(sample()[0]), inference(sample(features=lambda x: x[:, [0, 1, 1]])[0])
    assert doubled.wald_test([0.0, 1.0, 1.0]).statistic == pytest.approx(plain.wald_test([0.0, 1.0]).statistic)
    assert doubled.wald_test([0.0, 1.0, 0.0]).df == 0


def test_a_constant_column_has_no_standard_error_and_is_not_tested():
    plain = inference(sample()[0])
    fit = inference(sample(features=lambda x: np.column_stack([x, np.full(len(x), 0.3)]))[0])
    assert fit.std_error[2] == 0.0
    np.testing.assert_allclose(fit.covariance[:2, :2], plain.covariance, rtol=1e-8)
    assert (fit.wald_test().df, fit.wald_test().statistic) == (2, pytest.approx(plain.wald_test().statistic))
    alone = inference(pre.RatioProblem.from_samples(np.ones((5, 1)), np.ones((6, 1))))
    assert alone.wald_test().df == 0
    assert alone.contains([3.0])
    assert alone.divergence_p_value() == 1.0


def test_regions_and_intervals_grow_with_the_level():
    fit = inference(sample()[0])
    statistic = fit.wald_test(None, fit.delta + 0.2).statistic
    level = chi2.cdf(statistic, 2)
    assert fit.contains(fit.delta + 0.2, level + 1e-6)
    assert not fit.contains(fit.delta + 0.2, level - 1e-6)
    assert np.all(fit.conf_int(0.99).upper > fit.conf_int(0.9).upper)


def test_the_interval_of_the_divergence_becomes_the_normal_one():
    off = []
    for n in (100, 10_000):
        found = inference(sample(n)[0]).divergence()
        half = norm.isf(0.025) * found.std_error
        off.append(np.abs([found.estimate - found.lower - half, found.upper - found.estimate - half]).max() / half[0])
    assert off[1] < 0.2 * off[0]
    assert off[1] < 0.05


@pytest.mark.parametrize("k", [1, 10])
def test_the_interval_of_the_divergence_covers_near_zero(k):
    shift = np.full(k, 0.1 / np.sqrt(k))  # the divergence is 0.005, the noise of its estimate about k/200
    hits = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([7, k, seed])
        x_p, x_q = shift + rng.normal(size=(200, k)), rng.normal(size=(200, k))
        found = inference(pre.RatioProblem.from_samples(x_p, x_q), tol=1e-8).divergence()
        hits += found.lower[0] <= 0.005 <= found.upper[0]
    assert binom.cdf(hits, RUNS, 0.95) > 1e-3


def test_two_equal_samples_may_have_a_divergence_of_zero():
    x = np.random.default_rng(11).normal(size=(100, 2))
    found = inference(pre.RatioProblem.from_samples(x, x)).divergence()
    assert found.estimate[0] == pytest.approx(0.0, abs=1e-12)
    assert found.lower[0] == 0.0
    assert 0.01 < found.upper[0] < 0.1


def test_the_interval_of_the_divergence_is_not_negative():
    problem, _ = sample()
    fit = inference(problem)
    interval = fit.divergence()
    assert interval.estimate[0] == pytest.approx(-problem.value(fit.delta))
    assert 0.0 < interval.lower[0] < interval.estimate[0] < interval.upper[0]
    x = np.random.default_rng(10).normal(size=(400, 1))
    near = inference(pre.RatioProblem.from_samples(x[:200], x[200:]))
    assert near.divergence().lower[0] == 0.0 < near.divergence().upper[0]
    for name in ("estimate", "std_error", "lower", "upper"):
        assert not getattr(interval, name).flags.writeable


def test_the_table_of_an_interval():
    estimate, std_error = np.array([0.3, -0.5, 0.0]), np.array([0.1, 0.0, 0.0])
    table = Interval(estimate, std_error, estimate - 0.2, estimate + 0.2, 0.95).table()
    np.testing.assert_array_equal(table[:, [0, 1, 4, 5]].T, [estimate, std_error, estimate - 0.2, estimate + 0.2])
    np.testing.assert_allclose(table[:, 2], [3.0, np.nan, np.nan])
    np.testing.assert_allclose(table[:, 3], [2.0 * norm.sf(3.0), np.nan, np.nan])


def test_an_interval_prints_one_line_for_each_estimate():
    shown = str(Interval(np.full(50, 1.0), np.full(50, 0.5), np.full(50, 0.02), np.full(50, 1.98), 0.95)).splitlines()
    assert shown[0].split() == ["estimate", "std", "error", "95", "%", "from", "to"]
    assert shown[1].split() == ["1", "0.5", "0.02", "1.98"]
    assert shown[-1] == "and 10 more"
