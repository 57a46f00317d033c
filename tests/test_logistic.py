"""LogisticProblem: what the likelihoods do, rows that are left out, and the values of [LOGIT]."""

import numpy as np
import pytest

import pre_convex as pre

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(0.5, 1.0, (60, 2)), RNG.normal(0.0, 1.0, (90, 2))


def log_lik_p(x):
    return -0.5 * (x[:, 0] - 1.0) ** 2


def log_lik_q(x):
    return 0.3 * x[:, 1]


def problem(**terms):
    return pre.LogisticProblem.from_samples(X_P, X_Q, log_lik_p, log_lik_q, **terms)


def test_value_is_that_of_the_formula():
    one = problem(radius=0.2)
    alpha, delta = 0.3, np.array([0.5, -0.2])
    x = np.concatenate([X_P, X_Q])
    eta = alpha + x @ delta + log_lik_q(x) - log_lik_p(x) + np.log(60 / 90)
    loss = np.logaddexp(0.0, -eta[:60]).sum() + np.logaddexp(0.0, eta[60:]).sum()
    assert np.isclose(one.value(alpha, delta), loss / (60 * 90 / 150) + 0.2 * np.linalg.norm(delta), rtol=1e-13)


def test_functions_and_pairs_of_arrays_are_the_same():
    pairs = [(log(X_P), log(X_Q)) for log in (log_lik_p, log_lik_q)]
    given = pre.LogisticProblem.from_samples(X_P, X_Q, *pairs)
    assert np.array_equal(given.offset, problem().offset)


def test_constants_in_the_likelihoods_change_only_the_intercept():
    moved = pre.LogisticProblem.from_samples(X_P, X_Q, lambda x: log_lik_p(x) + 700.0, log_lik_q)
    one, other = pre.solve(problem()), pre.solve(moved)
    np.testing.assert_allclose(one.delta, other.delta, rtol=1e-9)
    assert np.isclose(other.intercept - one.intercept, 700.0, rtol=1e-12)
    assert np.isclose(one.primal_value, other.primal_value, rtol=1e-11)


def test_rows_that_can_occur_in_neither_posterior_are_left_out():
    def cut(log):
        return lambda x: np.where(x[:, 0] > 0.0, log(x), -np.inf)

    one = pre.LogisticProblem.from_samples(X_P, X_Q, cut(log_lik_p), cut(log_lik_q))
    kept_p, kept_q = X_P[X_P[:, 0] > 0.0], X_Q[X_Q[:, 0] > 0.0]
    assert one.sizes == (len(kept_p), len(kept_q))
    assert (one.n_p, one.n_q) == (60, 90)
    inside = pre.LogisticProblem.from_samples(kept_p, kept_q, log_lik_p, log_lik_q)
    np.testing.assert_allclose(pre.solve(one).delta, pre.solve(inside).delta, rtol=1e-8)
    assert np.allclose(one.offset - inside.offset, np.log(60 / 90) - np.log(len(kept_p) / len(kept_q)))


def test_a_row_that_only_one_posterior_can_have_is_refused():
    with pytest.raises(pre.DataError, match="not finite there") as caught:
        pre.LogisticProblem.from_samples(X_P, X_Q, lambda x: np.where(x[:, 0] > 0.0, 0.0, -np.inf))
    assert caught.value.argument == "log_lik_p"


def test_an_array_at_one_sample_is_refused():
    with pytest.raises(pre.DataError, match="rows of both samples"):
        pre.LogisticProblem.from_samples(X_P, X_Q, log_lik_p(X_P))


def test_the_radius_that_gives_zero_is_that_of_pre():
    gap = float(np.linalg.norm(X_P.mean(axis=0) - X_Q.mean(axis=0)))
    for factor, zero in ((1.001, True), (0.999, False)):
        both = [make(X_P, X_Q, radius=factor * gap) for make in (pre.LogisticProblem, pre.RatioProblem.from_samples)]
        assert [not np.any(pre.solve(one).delta) for one in both] == [zero, zero]


def test_swapping_the_sides_changes_signs():
    for radius, norm in ((0.0, 2), (0.1, 2), (0.1, np.inf), (0.1, 1), ([0.0, 0.2], 2)):
        one = pre.solve(pre.LogisticProblem(X_P, X_Q, radius=radius, norm=norm))
        other = pre.solve(pre.LogisticProblem(X_Q, X_P, radius=radius, norm=norm))
        np.testing.assert_allclose(one.delta, -other.delta, rtol=1e-6, atol=1e-8)
        assert abs(one.primal_value - other.primal_value) <= one.gap + other.gap


def test_the_estimate_approaches_the_truth():
    rng = np.random.default_rng(1)
    # prior N(0, 1), unit Gaussian likelihoods at 1 and 0: posteriors N(0.5, 0.5) and N(0, 0.5), log r = x + constant
    x_p, x_q = rng.normal(size=(200_000, 1)), rng.normal(size=(100_000, 1))
    solution = pre.solve(pre.LogisticProblem.from_samples(x_p, x_q, pre.Gaussian([1.0]), pre.Gaussian([0.0])))
    assert abs(solution.delta[0] - 1.0) < 0.03
