"""Default intervals in small samples: leave-one-out changes, tests of values, their inversion, debiasing."""

import numpy as np
import pytest
from scipy.stats import chi2, f, t
from zoo import gaussian

import pre_convex as pre
from pre_convex.statistics.debias import debiased, newton_step
from pre_convex.statistics.inference import Inference, infer
from pre_convex.statistics.null import score_test
from pre_convex.statistics.small_samples import (
    degrees_of_freedom,
    joint_degrees_of_freedom,
    quadratic_p_value,
    quadratic_quantile,
    skewed_quantile,
    skewed_statistic,
    skewness,
    whitening,
)
from pre_convex.statistics.tilted import TiltedProblem

KINDS = ("profile", "score")


def sample(n, seed=0, **options):
    x_p, x_q, l_p, l_q, delta = gaussian(n, seed)
    return pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q, **options), delta


def pairs(n=80, seed=8):
    x = np.random.default_rng(seed).normal(size=(n, 2))
    odds = x[:, 0] - 0.5 * x[:, 1] + np.sin(2.0 * x[:, 1])
    return pre.RatioProblem.from_samples(x, x, odds, np.zeros(n), paired=True)


def without(problem, row_p=None, row_q=None):
    """The problem without some rows."""
    keep_p, keep_q = np.full(len(problem.features_p), True), np.full(problem.n_q, True)
    keep_p[row_p], keep_q[row_q] = row_p is None, row_q is None
    rows = problem.features_p[keep_p], problem.features_q[keep_q]
    return pre.RatioProblem.from_samples(*rows, problem.log_weights_p[keep_p], problem.log_base[keep_q])


def inference(problem, kind="auto"):
    return Inference(problem, pre.solve(problem, tol=1e-12).delta, kind=kind)


@pytest.mark.parametrize("paired", [False, True])
def test_standard_errors_of_log_r_and_the_divergence_are_those_of_the_jackknife(paired):
    problem = pairs() if paired else sample(60, 3)[0]
    fit, points = inference(problem, "hc3"), np.array([[0.0, 0.0], [1.0, -0.5], [2.0, 2.0]])
    if paired:
        left = [without(problem, i, i) for i in range(problem.n_q)]
    else:
        left = [without(problem, i) for i in range(60)] + [without(problem, None, j) for j in range(60)]
    changes = []
    for other in left:
        solution = pre.solve(other, tol=1e-12)
        values = points @ solution.delta - other.tilt(solution.delta).log_z
        changes.append(np.append(values, -solution.primal_value))
    changes = np.array(changes) - np.append(fit.log_ratio(points).estimate, fit.divergence().estimate)
    jackknife = np.sqrt(np.square(changes).sum(axis=0))
    found = np.append(fit.log_ratio(points).std_error, fit.divergence().std_error)
    np.testing.assert_allclose(found, jackknife, rtol=0.05)


def test_degrees_of_freedom_of_normal_influences_are_their_number():
    x = np.random.default_rng(0).normal(size=(4000, 3))
    np.testing.assert_allclose(degrees_of_freedom(x), 4000, rtol=0.1)
    assert joint_degrees_of_freedom(x, whitening(x.T @ x)) == pytest.approx(4000, rel=0.1)
    one_row = np.eye(50)[:1].T
    np.testing.assert_allclose(degrees_of_freedom(one_row), 3.0)  # a variance from one row
    assert np.isinf(degrees_of_freedom(np.zeros((5, 1)))).all()


@pytest.mark.parametrize("noise_df", [np.inf, 12.0])
def test_hotelling_has_its_p_value_at_its_quantile(noise_df):
    for df in (1, 3):
        value = quadratic_quantile(0.9, df, noise_df)
        assert quadratic_p_value(value, df, noise_df) == pytest.approx(0.1)
    assert quadratic_p_value(4.0, 1, noise_df) == pytest.approx(2.0 * t.sf(2.0, noise_df))
    assert quadratic_p_value(5.0, 2) == pytest.approx(chi2.sf(5.0, 2))
    assert quadratic_p_value(5.0, 2, 20.0) == pytest.approx(f.sf(5.0 * 19.0 / 40.0, 2, 19))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [lambda: sample(50, 1)[0], pairs])
def test_limits_are_where_the_test_of_a_value_has_the_p_value_of_the_level(kind, make):
    fit = inference(make(), kind)
    for level in (0.8, 0.95):
        interval = fit.conf_int(level)
        for limits in (interval.lower, interval.upper):
            np.testing.assert_allclose(fit.p_values(limits), 1.0 - level, rtol=1e-3)
    np.testing.assert_allclose(fit.p_values(), interval.table()[:, 3], rtol=1e-6)
    np.testing.assert_array_equal((interval.lower > 0.0) | (interval.upper < 0.0), fit.p_values() < 0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_with_one_feature_the_region_is_the_interval(kind):
    rng = np.random.default_rng(2)
    problem = pre.RatioProblem.from_samples(rng.normal(0.5, 1.0, (60, 1)), rng.normal(size=(40, 1)))
    fit = inference(problem, kind)
    interval, width = fit.conf_int(), float(np.ptp([fit.conf_int().lower, fit.conf_int().upper]))
    for end, out in ((interval.lower, -1.0), (interval.upper, 1.0)):
        assert fit.contains(end - out * 1e-3 * width)
        assert not fit.contains(end + out * 1e-3 * width)


def test_the_score_interval_of_one_feature_needs_no_estimate():
    """The statistic is g/√V at the tested value, from sums over the rows."""
    rng = np.random.default_rng(3)
    x_p, x_q = rng.normal(0.5, 1.0, 60), rng.normal(size=40)
    fit = inference(pre.RatioProblem.from_samples(x_p, x_q), "score")
    mu = np.exp(0.2 * x_q) / np.exp(0.2 * x_q).sum()
    g = x_p.mean() - mu @ x_q
    changes = np.append((x_p - x_p.mean()) / 59, mu / (1.0 - mu) * (x_q - mu @ x_q))
    z, nu = g / np.sqrt(changes @ changes), 3.0 * (changes @ changes) ** 2 / (changes**4).sum()
    assert fit.p_values(0.2)[0] == pytest.approx(2.0 * t.sf(abs(z), nu))


def test_the_score_test_of_zero_has_the_textbook_variance():
    rng = np.random.default_rng(4)
    x_p, x_q = rng.normal(0.2, 1.0, (50, 2)), rng.normal(size=(70, 2))
    test = inference(pre.RatioProblem.from_samples(x_p, x_q)).score_test()
    g, V = x_p.mean(axis=0) - x_q.mean(axis=0), np.cov(x_p.T) / 50 + np.cov(x_q.T) / 70
    assert test.statistic == pytest.approx(g @ np.linalg.solve(V, g))
    nu = test.noise_df
    assert 100 < nu < 200
    assert test.p_value == pytest.approx(f.sf(test.statistic * (nu - 1) / (2 * nu), 2, nu - 1))
    assert str(test).startswith(f"score T2(2, {nu:.0f}) = ")


@pytest.mark.parametrize(("n_p", "n_q", "k"), [(100, 300, 20), (60, 60, 30)])
def test_the_score_test_of_zero_rejects_rarely_with_many_features(n_p, n_q, k):
    """χ² would reject several times as often."""
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, k])
        problem = pre.RatioProblem.from_samples(rng.exponential(size=(n_p, k)), rng.exponential(size=(n_q, k)))
        rejected += score_test(TiltedProblem(problem, np.zeros(k)), np.zeros(k)).p_value < 0.05
    assert rejected <= 20


def test_the_score_test_from_blocks_is_that_from_rows():
    rng = np.random.default_rng(5)
    x_p, x_q = rng.normal(0.2, 1.0, (3000, 2)), rng.normal(size=(4000, 2))
    likelihood = pre.Gaussian([0.5, 0.0])
    tests = []
    for make in (pre.RatioProblem.from_samples, pre.RatioProblem.from_blocks):
        problem = make(x_p, x_q, likelihood, likelihood)
        fit = Inference(problem, pre.solve(problem).delta)
        tests.append([fit.score_test(value).statistic for value in (0.0, 0.1)])
    np.testing.assert_allclose(tests[1], tests[0], rtol=3e-3)  # sums have no 1 − w


def test_kinds_agree_in_large_samples():
    problem, _ = sample(20_000, 6)
    solution = pre.solve(problem, tol=1e-12)
    centred = Inference(problem, solution.delta, kind="centred").conf_int()
    for kind in ("auto", "profile", "score", "hc3"):
        interval = Inference(problem, solution.delta, kind=kind).conf_int()
        for name in ("lower", "upper"):
            gap = getattr(interval, name) - getattr(centred, name)
            assert np.abs(gap).max() < 0.01 * (centred.upper - centred.lower).min()


def test_a_profile_is_equivariant_under_scales_and_shifts():
    here, there = (inference(sample(50, 7, features=m)[0]) for m in (lambda x: x, lambda x: 1e3 * x + 50.0))
    for name in ("lower", "upper"):
        np.testing.assert_allclose(getattr(there.conf_int(), name) * 1e3, getattr(here.conf_int(), name), rtol=1e-4)
    assert there.score_test().statistic == pytest.approx(here.score_test().statistic, rel=1e-6)


def test_auto_profiles_only_coefficients_with_few_degrees_of_freedom():
    few, many = inference(sample(50, 1)[0]), inference(sample(2000, 1)[0])
    assert few.conf_int().df.max() < 200.0 < many.conf_int().df.min()
    np.testing.assert_array_equal(few.conf_int().lower, inference(few.problem, "profile").conf_int().lower)
    np.testing.assert_array_equal(many.conf_int().lower, inference(many.problem, "hc3").conf_int().lower)
    assert not np.allclose(few.conf_int().lower, inference(few.problem, "hc3").conf_int().lower, rtol=1e-3)


def test_auto_is_centred_for_rows_that_are_read_in_blocks():
    problem = pre.RatioProblem.from_blocks(*gaussian(200, 0)[:2])
    fit = Inference(problem, pre.solve(problem).delta)
    assert fit.kind == "centred"
    assert fit.contains(fit.delta)


def test_debiasing_takes_most_of_the_bias_away():
    x_p, x_q, l_p, l_q, _ = gaussian(2000, 8)
    exact = pre.PosteriorRatio().fit(x_p, x_q, l_p, l_q)
    off = []
    for radius in (0.1, 0.05):
        fit = pre.PosteriorRatio(radius=radius).fit(x_p, x_q, l_p, l_q)
        off.append((np.abs(fit.debiased().delta - exact.delta_).max(), np.abs(fit.delta_ - exact.delta_).max()))
    (large, bias), (small, _) = off
    assert large < 0.15 * bias
    assert 2.5 < large / small < 6.0  # of second order in the radius
    interval = fit.debiased().conf_int()
    assert np.all((interval.lower < exact.delta_) & (exact.delta_ < interval.upper))


def test_debiased_intervals_cover():
    hits = []
    for seed in range(200):
        problem, delta = sample(200, [9, seed])
        there, _ = debiased(problem, pre.solve(problem.with_radius(0.1)).delta)
        interval = infer(there).conf_int()
        hits.append((interval.lower <= delta) & (delta <= interval.upper))
    assert np.all(np.abs(np.mean(hits, axis=0) - 0.95) < 0.055)


def test_a_radius_that_shrinks_too_much_for_one_step_gets_more_of_them():
    rng = np.random.default_rng(10)
    x_p, x_q = rng.exponential(1.5, (2000, 1)), rng.exponential(1.0, (2000, 1))
    fit, exact = pre.KLIEP(radius=0.3).fit(x_p, x_q), pre.KLIEP().fit(x_p, x_q)
    problem, std_error = exact.problem_, exact.conf_int().std_error
    one_step = newton_step(problem, fit.delta_)
    assert np.abs(one_step - exact.delta_)[0] > std_error[0]
    assert np.abs(fit.debiased().delta - exact.delta_)[0] < 0.5 * std_error[0]


@pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")
def test_bias_that_no_step_takes_away_is_reported():
    x = np.linspace(-1.0, 1.0, 50)[:, None]
    fit = pre.KLIEP(radius=0.5, standardise=False).fit(x + 1.4, x)
    with pytest.warns(UserWarning, match="smaller radius"):
        fit.debiased()


def test_debiasing_is_refused_where_it_says_nothing():
    x_p, x_q, *_ = gaussian(40, 11)
    with pytest.raises(pre.DataError) as error:
        pre.KLIEP(features=pre.Polynomial(25), radius=0.5).fit(x_p, x_q).debiased()  # 50 columns, 40 rows
    assert error.value.argument == "features"
    with pytest.raises(pre.DataError) as error:
        pre.KLIEP(radius=[0.0, np.inf]).fit(x_p, x_q).debiased()
    assert error.value.argument == "radius"
    with pytest.raises(pre.DataError) as error:
        pre.KLIEP(constraints=lambda d: [d >= 0.0]).fit(x_p, x_q).debiased()
    assert error.value.argument == "penalty"


def test_the_automatic_radius_of_a_kernel_stays_below_that_of_a_zero_solution():
    rng = np.random.default_rng(12)
    fit = pre.KLIEP(features="kernel", radius="auto").fit(rng.normal(1.0, 0.5, (100, 1)), rng.normal(size=(100, 1)))
    assert np.abs(fit.delta_).max() > 0.0


def test_with_many_features_debiasing_has_a_smaller_error_than_no_radius():
    shifts, errors = np.linspace(-0.35, 0.35, 10), []
    for seed in range(60):
        rng = np.random.default_rng([13, seed])
        problem = pre.RatioProblem.from_samples(rng.normal(shifts, 1.0, (100, 10)), rng.normal(size=(100, 10)))
        there, _ = debiased(problem, pre.solve(problem.with_radius(0.4)).delta)
        exact = pre.solve(problem, check=False)
        errors.append([np.square(d - shifts).sum() for d in (there.delta, exact.delta)])
    step, none = np.median(errors, axis=0)
    assert step < 0.9 * none


@pytest.mark.parametrize("skew", [-0.8, -1e-3, 0.0, 1e-9, 0.2, 1.0])
def test_the_skewed_quantile_is_the_inverse_of_the_skewed_statistic(skew):
    z = np.linspace(-8.0, 8.0, 33)
    np.testing.assert_allclose(skewed_statistic(skewed_quantile(z, skew), skew), z, atol=1e-6)
    assert np.all(np.diff(skewed_statistic(z, skew)) > 0.0)


def test_the_skewed_statistic_of_a_skewed_mean_is_symmetric():
    x = np.random.default_rng(0).exponential(size=(40_000, 30)) - 1.0
    centred = x - x.mean(axis=1, keepdims=True)
    t_values = x.mean(axis=1) / np.sqrt(np.square(centred).sum(axis=1)) * 30
    skew = skewness(centred.T)
    plain, corrected = ([np.mean(z < -1.96), np.mean(z > 1.96)] for z in (t_values, skewed_statistic(t_values, skew)))
    assert plain[0] > 5 * plain[1]
    assert max(corrected) < 3 * min(corrected)


def test_paired_intervals_have_the_wider_limit_and_agree_with_their_p_values():
    problem = pairs(120, 3)
    fit, straight = inference(problem), inference(problem, "hc3")
    points = np.array([[0.0, 0.0], [2.0, -2.0]])
    for found, other in ((fit.conf_int(), straight.conf_int()), (fit.log_ratio(points), straight.log_ratio(points))):
        assert np.all(found.lower <= other.lower)
        assert np.all(found.upper >= other.upper)
        assert np.any(found.upper - found.lower > 1.001 * (other.upper - other.lower))
    limits = fit.conf_int()
    for end in (limits.lower, limits.upper):
        np.testing.assert_allclose(fit.p_values(end), 0.05, atol=1e-6)
    np.testing.assert_allclose(limits.table()[:, 3], fit.p_values(0.0), atol=1e-12)
