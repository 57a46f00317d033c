"""Ridge fits against other solvers, and their equivalence to one radius on scaled features."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import pre_convex as pre
from pre_convex.logistic import LogisticProblem
from pre_convex.statistics.ridge import KullbackLeibler, Logistic, Sample, ridge
from pre_convex.statistics.staged import staged_features


def sample(seed=0, n=200, k=5):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(2 * n, k))
    F[:n, 0] += 0.8
    weight = rng.uniform(0.5, 2.0, size=2 * n)
    weight[:n] /= weight[:n].sum()
    weight[n:] /= weight[n:].sum()
    return F, Sample(F, np.repeat([True, False], n), weight, np.zeros(2 * n))


def test_separate_penalties_are_one_radius_on_scaled_features():
    F, data = sample()
    penalty = np.array([0.01, 0.01, 0.3, 0.3, 0.3])
    theta, _ = ridge(KullbackLeibler(F, data), data.weight, penalty, np.zeros(5), None, 1e-20)
    scaled = F * np.sqrt(0.01 / penalty)
    p, log_weight = data.is_p, np.log(data.weight)
    delta = theta / np.sqrt(0.01 / penalty)
    problem = pre.RatioProblem(
        data.weight[p] @ scaled[p], scaled[~p], log_weight[~p], radius=0.01 * np.linalg.norm(delta)
    )
    solution = pre.solve(problem, tol=1e-12)
    assert solution.status is pre.Status.OPTIMAL
    np.testing.assert_allclose(solution.delta, delta, rtol=1e-5, atol=1e-7)


def test_the_same_holds_for_logistic_regression_with_likelihoods():
    rng = np.random.default_rng(6)
    x_p, x_q = rng.normal(0.4, 1.0, (150, 2)), rng.normal(size=(250, 2))
    lik_p, lik_q = pre.Gaussian([0.5, 0.0]), pre.Gaussian([0.0, 0.3])
    features, choice = staged_features(x_p, x_q, lik_p, lik_q, loss="logistic")
    assert choice.chosen == "linear"
    problem = LogisticProblem.from_samples(x_p, x_q, lik_p, lik_q, features=features, radius=choice.radius)
    delta = pre.solve(problem, tol=1e-12).delta
    x, m = np.concatenate([x_p, x_q]), problem.m
    data = Sample(features(x), problem.link.positive, np.full(400, 1.0 / m), problem.link.offset)
    penalty = np.append(0.0, np.full(delta.size, choice.radius / np.linalg.norm(delta)))
    theta, _ = ridge(Logistic(data.x, data), data.weight, penalty, np.zeros(delta.size + 1), None, 1e-20)
    np.testing.assert_allclose(theta[1:], delta, rtol=1e-4, atol=1e-6)
    known = next(one for one in choice.candidates if one.name == choice.chosen).penalty
    assert penalty[-1] == pytest.approx(known, rel=1e-3)


def test_the_logistic_fit_is_that_of_scikit_learn():
    F, data = sample(1)
    theta, _ = ridge(Logistic(F, data), data.weight, np.append(0.0, np.full(5, 0.02)), np.zeros(6), None, 1e-18)
    other = LogisticRegression(C=1.0 / 0.02, tol=1e-10, max_iter=1000).fit(F, data.is_p, sample_weight=data.weight)
    np.testing.assert_allclose(theta, np.append(other.intercept_, other.coef_), atol=1e-5)


@pytest.mark.parametrize("kind", [KullbackLeibler, Logistic])
def test_an_old_hessian_leads_to_the_same_minimiser(kind):
    F, data = sample(2)
    loss = kind(F, data)
    free = np.zeros(loss.columns)
    small, large = (np.append(free, np.full(5, x)) for x in (1e-3, 1.0))
    fresh, _ = ridge(loss, data.weight, small, np.zeros(small.size), None, 1e-18)
    _, H = ridge(loss, data.weight, large, np.zeros(small.size), None, 1e-18)
    np.testing.assert_allclose(ridge(loss, data.weight, small, np.zeros(small.size), H, 1e-18)[0], fresh, atol=1e-7)


def test_rows_of_zero_weight_are_left_out():
    F, data = sample(3)
    used = np.arange(400) % 3 > 0
    weight = data.restricted(used)
    assert [weight[side].sum() for side in (data.is_p, ~data.is_p)] == pytest.approx([1.0, 1.0])
    part = Sample(F[used], data.is_p[used], weight[used], np.zeros(used.sum()))
    penalty = np.full(5, 0.1)
    all_rows, _ = ridge(KullbackLeibler(F, data), weight, penalty, np.zeros(5), None, 1e-18)
    some, _ = ridge(KullbackLeibler(F[used], part), part.weight, penalty, np.zeros(5), None, 1e-18)
    np.testing.assert_allclose(all_rows, some, atol=1e-8)
