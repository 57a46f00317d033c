"""The specification test: size, power, degenerate directions, and what it refuses."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.statistics.specification import posterior_problem


def problem(seed, log_lik_p, log_lik_q=None, features="linear", n=200):
    rng = np.random.default_rng(seed)
    return pre.LogisticProblem.from_samples(
        rng.normal(size=(n, 1)), rng.normal(size=(n + 50, 1)), log_lik_p, log_lik_q, features=features
    )


def test_size_and_power():
    right = [pre.specification_test(problem(i, pre.Gaussian([1.0]), pre.Gaussian([0.0]))).p_value for i in range(200)]
    assert 2 <= np.sum(np.array(right) < 0.05) <= 20  # binomial(200, 0.05), with a chance of 0.2 % outside
    wrong = [pre.specification_test(problem(i, pre.Gaussian([1.0]))).p_value for i in range(20)]
    assert np.mean(np.array(wrong) < 0.05) > 0.9


def test_difference_is_that_of_the_estimators():
    one = problem(0, pre.Gaussian([1.0]), pre.Gaussian([0.0]))
    test = pre.specification_test(one)
    expected = pre.solve(posterior_problem(one)).delta - pre.solve(one).delta
    np.testing.assert_allclose(test.difference, expected, atol=1e-7)
    assert np.isclose(test.statistic, (expected[0] / test.std_error[0]) ** 2, rtol=1e-6)
    assert test.df == 1
    assert "Hausman chi2(1)" in str(test)


def test_equal_samples_have_nothing_to_test():
    x = np.random.default_rng(0).normal(size=(50, 2))
    test = pre.specification_test(pre.LogisticProblem(x, x))
    assert test.p_value > 0.99


def test_units_and_duplicate_columns_change_nothing():
    rng = np.random.default_rng(1)
    x_p, x_q = rng.normal(0.5, 1.2, (150, 2)), rng.normal(size=(150, 2))
    plain = pre.specification_test(pre.LogisticProblem(x_p, x_q))
    wide = [np.column_stack([x * [1e4, 1e-3], x[:, 0]]) for x in (x_p, x_q)]
    test = pre.specification_test(pre.LogisticProblem(*wide))
    assert test.df == plain.df == 2
    assert np.isclose(test.statistic, plain.statistic, rtol=1e-4)


def test_a_radius_is_refused():
    with pytest.raises(pre.DataError, match="radius"):
        pre.specification_test(problem(0, None).with_radius(0.1))
    with pytest.raises(pre.InfeasibleError):
        pre.specification_test(pre.LogisticProblem([[0.0], [1.0], [10.0]], [[0.0], [1.0], [2.0]]))
