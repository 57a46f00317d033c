import numpy as np
import pytest

from pre_convex._internal.entropy import log_normalise, log_sum_exp, negative_kl, safe_log, scalar_log


def test_negative_kl_is_minus_infinity_for_mass_on_a_zero_base_weight():
    assert negative_kl(np.array([1.0, 0.0]), np.array([0.0, -np.inf])) == 0.0
    assert negative_kl(np.array([0.5, 0.5]), np.array([0.0, -np.inf])) == -np.inf


def test_logs_of_zero_are_minus_infinity_without_a_warning():
    np.testing.assert_array_equal(safe_log(np.array([0.0, 1.0])), [-np.inf, 0.0])
    assert scalar_log(0.0) == -np.inf


@pytest.mark.parametrize("shift", [-1e300, -800.0, 0.0, 800.0, 1e300])
@pytest.mark.parametrize("size", [0.0, 1.0, 50.0, 700.0])
def test_normalised_log_weights_sum_to_one_and_stay_as_they_are(shift, size):
    for seed in range(10):
        once = log_normalise(np.random.default_rng(seed).uniform(-size, size, 300) + shift)
        assert log_sum_exp(once) == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_array_equal(log_normalise(once), once)


@pytest.mark.parametrize("n", [3, 1000, 1_000_003])
def test_normalised_uniform_log_weights_stay_as_they_are(n):
    once = log_normalise(np.zeros(n))
    np.testing.assert_array_equal(log_normalise(once), once)
