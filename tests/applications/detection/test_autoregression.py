"""AR coefficients maximise the exact Gaussian likelihood."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from sequences import ar_sequences

from pre_convex.applications.detection.autoregression import ar_coefficients


def minus_two_log_lik(y, phi):
    """Exact Gaussian likelihood of an AR model, profiled over its variance, from the dense covariance."""
    psi = np.zeros(3000)
    psi[0] = 1.0
    for k in range(1, len(psi)):
        past = psi[max(0, k - len(phi)) : k][::-1]
        psi[k] = phi[: len(past)] @ past
    covariance = toeplitz([psi[: len(psi) - lag] @ psi[lag:] for lag in range(len(y))])
    return len(y) * np.log(y @ np.linalg.solve(covariance, y)) + np.linalg.slogdet(covariance)[1]


@pytest.mark.parametrize("order", [1, 2, 5])
def test_coefficients_maximise_the_exact_likelihood(order):
    rng = np.random.default_rng(order)
    y = ar_sequences(np.array([0.7, -0.4, 0.0]), rng, 40)
    phi = ar_coefficients(y, order)
    for row, best in zip(y, phi, strict=True):
        row = row - row.mean()
        value = minus_two_log_lik(row, best)
        for i in range(order):
            for h in (-1e-3, 1e-3):
                other = best.copy()
                other[i] += h
                assert minus_two_log_lik(row, other) > value
        assert value <= minus_two_log_lik(row, np.zeros(order))


def test_a_known_model_is_recovered():
    rng = np.random.default_rng(0)
    y = np.zeros((1, 4000))
    for t in range(2, y.shape[1]):
        y[0, t] = 1.2 * y[0, t - 1] - 0.5 * y[0, t - 2] + rng.normal()
    np.testing.assert_allclose(ar_coefficients(y + 7.0, 3), [[1.2, -0.5, 0.0]], atol=0.05)


def test_constant_periodic_and_impulse_windows_have_finite_coefficients():
    phi = ar_coefficients(np.array([np.full(50, 3.0), np.sin(np.arange(50.0)), np.r_[np.zeros(49), 1.0]]), 20)
    assert np.all(np.isfinite(phi))
    assert not phi[0].any()
