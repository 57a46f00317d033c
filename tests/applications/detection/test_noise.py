"""Log-likelihoods of Gaussian noise and of a user's function."""

import numpy as np
import pytest
from sequences import FEATURES, make_priors, make_windows

import pre_convex as pre
from pre_convex.applications.detection import scores
from pre_convex.applications.detection.noise import make_noise
from pre_convex.applications.detection.windows import WindowShape


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_log_likelihoods_stay_accurate_far_from_zero(offset):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 6)) + offset, rng.normal(size=(4, 6)) + offset
    noise = make_noise([0.1, 0.3], WindowShape(3, 2), x)
    found = noise.log_likelihoods(x, noise.precompute(x), y)
    sigma = np.tile([0.1, 0.3], 3)
    expected = -0.5 * np.square((x[None] - y[:, None]) / sigma).sum(axis=2)
    # equal up to a constant for each window
    np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], rtol=1e-6, atol=1e-6)


def test_noise_as_a_function_gives_the_same_scores():
    p, q = make_priors()
    Y_p, Y_q = make_windows(5, 0.6), make_windows(5, -0.5, 2)

    def log_likelihood(x, Y):
        return -0.5 * np.square(x[:, None] - Y[None]).sum(axis=2) / 1.5**2

    custom = scores(Y_p, Y_q, p, q, noise=log_likelihood, features=FEATURES)
    gaussian = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, warn=False)
    np.testing.assert_allclose(custom.scores, gaussian.scores, atol=1e-7)


@pytest.mark.parametrize("sigma", [1e-200, 1e200])
def test_standard_deviations_without_a_finite_inverse_square_are_refused(sigma):
    with pytest.raises(pre.DataError) as error:
        make_noise(sigma, WindowShape(3), np.zeros((2, 3)))
    assert error.value.argument == "noise"
