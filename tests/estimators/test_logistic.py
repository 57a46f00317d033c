"""LogisticRatio: the ratio and its normalisation, weights, intervals, summary, and what it refuses."""

import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import pre_convex as pre

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(size=(300, 2)), RNG.normal(size=(400, 2))
ONE, ZERO = pre.Gaussian([1.0, 0.0]), pre.Gaussian([0.0, 0.0])
FIT = pre.LogisticRatio().fit(X_P, X_Q, ONE, ZERO)


def test_the_ratio_has_mean_one_under_the_estimated_posterior_of_q():
    u = FIT.problem_.probabilities(FIT.intercept_, FIT.delta_)
    x = np.concatenate([X_P, X_Q])
    weight = (1.0 - u) * np.exp(ZERO(x))
    assert np.isclose(weight @ FIT.ratio(x) / weight.sum(), 1.0, rtol=1e-7)
    weight_p = u * np.exp(ONE(x))
    assert np.isclose(weight_p @ FIT.log_ratio(x) / weight_p.sum(), FIT.divergence_, rtol=1e-7)


def test_without_likelihoods_it_is_logistic_regression():
    fit = pre.LogisticRatio().fit(X_P + 0.5, X_Q)
    expected = fit.intercept_ + np.array([[0.3, -1.0]]) @ fit.delta_
    assert np.allclose(fit.log_ratio([[0.3, -1.0]]), expected, rtol=1e-9)


def test_weights_of_the_q_sample():
    logs = ZERO(X_Q) + X_Q @ FIT.delta_
    np.testing.assert_allclose(FIT.mu_, np.exp(logs) / np.exp(logs).sum(), rtol=1e-10)
    assert np.isclose(FIT.sample_weight().mean(), 1.0)


def test_likelihoods_as_functions_arrays_and_columns():
    pairs = [(log(X_P), log(X_Q)) for log in (ONE, ZERO)]
    np.testing.assert_allclose(pre.LogisticRatio().fit(X_P, X_Q, *pairs).delta_, FIT.delta_, rtol=1e-9)
    frames = [pd.DataFrame({"a": x[:, 0], "one": ONE(x), "b": x[:, 1], "zero": ZERO(x)}) for x in (X_P, X_Q)]
    fit = pre.LogisticRatio().fit(*frames, "one", "zero")
    np.testing.assert_allclose(fit.delta_, FIT.delta_, rtol=1e-9)
    assert fit.feature_names_ == ("a", "b")


def test_intervals_are_the_sandwich_of_the_score():
    problem = FIT.problem_
    F = np.column_stack([np.ones(problem.n), problem.features])
    u = problem.probabilities(FIT.intercept_, FIT.delta_)
    score = (problem.link.positive - u)[:, None] * F
    A = (F * (u * (1.0 - u))[:, None]).T @ F
    B = sum(np.cov(side.T) * len(side) for side in (score[:300], score[300:]))
    V = np.linalg.solve(A, np.linalg.solve(A, B).T)
    np.testing.assert_allclose(FIT.covariance(), V[1:, 1:], rtol=1e-6)


def test_influences_are_the_change_when_a_row_is_left_out():
    x_p, x_q, points = X_P[:40], X_Q[:50], np.array([[0.5, -0.5], [2.0, 1.0]])
    fit = pre.LogisticRatio().fit(x_p, x_q, ONE, ZERO)

    def facts(other):
        return np.concatenate([other.delta_, other.log_ratio(points), [other.divergence_]])

    changes = [facts(pre.LogisticRatio().fit(np.delete(x_p, i, 0), x_q, ONE, ZERO)) for i in range(40)]
    changes += [facts(pre.LogisticRatio().fit(x_p, np.delete(x_q, i, 0), ONE, ZERO)) for i in range(50)]
    changes = np.array(changes) - facts(fit)
    jackknife = sum((len(c) - 1) * np.var(c, axis=0) for c in (changes[:40], changes[40:]))
    intervals = (fit.conf_int(), fit.log_ratio_interval(points), fit.inference().divergence())
    std_error = np.concatenate([interval.std_error for interval in intervals])
    np.testing.assert_allclose(std_error, np.sqrt(jackknife), rtol=0.12)


def test_paired_rows_are_counted_once():
    x = RNG.normal(size=(200, 1))
    other = x + 0.3 + 0.1 * RNG.normal(size=(200, 1))
    apart = pre.LogisticRatio().fit(other, x).conf_int().std_error
    together = pre.LogisticRatio(paired=True).fit(other, x).conf_int().std_error
    assert together < 0.5 * apart


def test_rows_that_were_left_out_have_no_weight():
    def cut(log):
        return lambda x: np.where(x[:, 1] > -1.0, log(x), -np.inf)

    fit = pre.LogisticRatio().fit(X_P, X_Q, cut(ONE), cut(ZERO))
    assert np.array_equal(fit.mu_ > 0.0, X_Q[:, 1] > -1.0)
    assert np.isclose(fit.mu_.sum(), 1.0)
    assert np.all(fit.conf_int().std_error > 0.0)


def test_the_radius_is_in_standard_deviations():
    units = np.array([1.0, 1000.0])
    one = pre.LogisticRatio(radius=0.1).fit(X_P + 0.3, X_Q)
    other = pre.LogisticRatio(radius=0.1).fit((X_P + 0.3) * units, X_Q * units)
    np.testing.assert_allclose(other.delta_ * units, one.delta_, rtol=1e-6)
    assert one.radius_ == 0.1
    np.testing.assert_allclose(one.log_ratio(X_P[:3]), other.log_ratio(X_P[:3] * units), rtol=1e-6)
    sparse = pre.LogisticRatio(radius=0.2, penalty="l1").fit(X_P + [0.5, 0.0], X_Q)
    assert sparse.delta_[0] != 0.0
    assert sparse.delta_[1] == 0.0
    plain = pre.LogisticRatio(radius=0.1, standardise=False).fit(X_P * units, X_Q * units)
    assert np.all(plain.scale_ == 1.0)


def test_penalty_and_constraints():
    fit = pre.LogisticRatio(constraints=lambda d: [d >= 0.2]).fit(X_P, X_Q, ONE, ZERO)
    assert fit.delta_.min() >= 0.2 - 1e-7
    with pytest.raises(pre.DataError, match="penalty"):
        pre.LogisticRatio(penalty=lambda d: cp.sum_squares(d)).fit(X_P, X_Q).conf_int()


def test_kernel_features():
    fit = pre.LogisticRatio(features=pre.Kernel(landmarks=20), radius=0.05).fit(X_P + 0.5, X_Q)
    assert fit.solution_.status.ok
    assert fit.log_ratio([[1.0, 1.0]]) > fit.log_ratio([[-1.0, -1.0]])
    with pytest.raises(pre.DataError, match="kernel"):
        pre.LogisticRatio(features="kernel").fit(X_P, X_Q)


def test_summary():
    text = str(FIT.summary())
    for line in ("divergence   KL", "delta = 0    Wald", "PRE agrees   Hausman", "certificate  gap", "p posterior"):
        assert line in text
    assert FIT.summary().warnings == ()
    shrunk = pre.LogisticRatio(radius=0.1).fit(X_P, X_Q).summary()
    assert "not shown" in str(shrunk)
    assert shrunk.values.shape == (2, 1)
    assert list(FIT.to_frame()["feature"]) == ["x0", "x1"]


def test_the_summary_warns_if_the_estimators_disagree():
    wrong = pre.LogisticRatio().fit(X_P, X_Q, pre.Gaussian([1.0, 0.0], precision=3.0))  # log r is quadratic
    (warning,) = wrong.summary().warnings
    assert "PosteriorRatio finds another δ" in warning
    right = pre.LogisticRatio("polynomial").fit(X_P, X_Q, pre.Gaussian([1.0, 0.0], precision=3.0))
    assert right.summary().warnings == ()


def test_the_summary_survives_a_missing_competitor():
    # all p rows at the edge: the target is outside the hull, but the samples are not separable
    fit = pre.LogisticRatio().fit([[0.0], [1.0], [10.0]], [[0.0], [1.0], [2.0]])
    assert "not tested: PosteriorRatio has no solution" in str(fit.summary())


def test_divergence_and_tests():
    lower, upper = FIT.divergence_interval()
    assert 0.0 <= lower < FIT.divergence_ < upper
    assert FIT.divergence_p_value() < 1e-6
    assert FIT.in_region(FIT.delta_)
    assert not FIT.in_region(-FIT.delta_)
    assert FIT.wald_test([0.0, 1.0]).df == 1


def test_score_is_largest_near_the_fit():
    rng = np.random.default_rng(5)
    held_out = rng.normal(size=(3000, 2)), rng.normal(size=(3000, 2)), ONE, ZERO
    wrong = pre.LogisticRatio(radius=0.5).fit(X_P, X_Q, ONE, ZERO)
    assert FIT.score(*held_out) > wrong.score(*held_out)


def test_refusals():
    with pytest.raises(NotFittedError):
        pre.LogisticRatio().log_ratio([[0.0, 0.0]])
    with pytest.raises(pre.SeparationError):
        pre.LogisticRatio().fit(X_P + 9.0, X_Q)
    for call in (FIT.bootstrap, lambda: pre.save(FIT, "fit.npz"), lambda: FIT.inference("hc3")):
        with pytest.raises(pre.DataError):
            call()


def test_clone_and_pickle():
    assert clone(pre.LogisticRatio(radius=0.1, paired=True)).get_params()["radius"] == 0.1
    copy = pickle.loads(pickle.dumps(FIT))
    assert np.array_equal(copy.log_ratio(X_P[:4]), FIT.log_ratio(X_P[:4]))
    assert np.array_equal(copy.conf_int().lower, FIT.conf_int().lower)
