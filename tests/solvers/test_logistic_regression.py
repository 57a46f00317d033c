"""Plain logistic regression: optimality, offsets, weights, ridge, separable data."""

import numpy as np
import pytest
from scipy.special import expit

from pre_convex.solvers.logistic_regression import logistic_loss, logistic_regression


def sample(seed=0, n=400, k=3):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, k)) * [1.0, 10.0, 0.1] + [0.0, 100.0, 1.0]
    offset = rng.normal(size=n)
    positive = rng.random(n) < expit((F - [0.0, 100.0, 1.0]) @ [0.5, -0.05, 3.0] + offset)
    return F, positive, offset, rng.exponential(size=n)


@pytest.mark.parametrize("ridge", [0.0, 2.0, np.array([0.0, 1.0, 5.0])])
def test_gradient_vanishes(ridge):
    F, positive, offset, weights = sample()
    fit = logistic_regression(F, positive, offset=offset, weights=weights, ridge=ridge)
    slope = weights * (expit(fit.score(F, offset)) - positive)
    scale = np.sqrt(weights @ np.square(F - F.mean(axis=0)))
    assert fit.converged
    assert abs(slope.sum()) < 1e-3 * scale.min()
    assert np.all(np.abs((F - F.mean(axis=0)).T @ slope + ridge * fit.coefficients) < 1e-3 * scale)


def test_integer_weights_repeat_rows():
    F, positive, offset, _ = sample(1)
    counts = np.random.default_rng(2).integers(0, 3, len(F))
    weighted = logistic_regression(F, positive, offset=offset, weights=counts, tol=1e-16)
    index = np.repeat(np.arange(len(F)), counts)
    repeated = logistic_regression(F[index], positive[index], offset=offset[index], tol=1e-16)
    assert np.allclose(weighted.coefficients, repeated.coefficients, rtol=1e-6)
    assert np.isclose(weighted.intercept, repeated.intercept, rtol=1e-6)


def test_collinear_columns():
    F, positive, offset, _ = sample(3)
    twice = logistic_regression(np.column_stack([F, F[:, 0]]), positive, offset=offset)
    once = logistic_regression(F, positive, offset=offset)
    assert twice.converged
    assert np.isclose(twice.loss, once.loss)


def test_warm_start_saves_steps():
    F, positive, offset, _ = sample(4)
    first = logistic_regression(F, positive, offset=offset, ridge=1.0)
    again = logistic_regression(F, positive, offset=offset, ridge=1.1, start=first)
    assert again.steps < first.steps


def test_separable_data_do_not_converge_without_a_ridge():
    x = np.linspace(-1.0, 1.0, 40)[:, None]
    assert not logistic_regression(x, x[:, 0] > 0.0).converged
    assert logistic_regression(x, x[:, 0] > 0.0, ridge=0.1).converged


def test_loss_does_not_overflow():
    assert logistic_loss(np.array([1e300, -1e300]), np.array([True, False])).tolist() == [0.0, 0.0]
