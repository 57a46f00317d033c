"""Columns that are copies of others up to the round-off of float32."""

import warnings

import numpy as np
import pytest

import pre_convex as pre


def temperatures(rng, n, mean):
    """Celsius, Fahrenheit and an unrelated column, as float32."""
    celsius = rng.normal(mean, 8.0, n).astype(np.float32)
    fahrenheit = celsius * np.float32(1.8) + np.float32(32)
    return np.column_stack([celsius, fahrenheit, rng.normal(size=n).astype(np.float32)])


@pytest.mark.parametrize("seed", range(10))
def test_celsius_and_fahrenheit_give_the_ratio_of_either_and_a_warning(seed):
    rng = np.random.default_rng(seed)
    x_p, x_q = temperatures(rng, 400, 15.0), temperatures(rng, 700, 12.0)
    with pytest.warns(pre.PreConvexWarning, match="x[01]: a linear combination of other columns"):
        fit = pre.KLIEP().fit(x_p, x_q)
    assert fit.solution_.status is pre.Status.OPTIMAL
    assert fit.solution_.free_directions == 1
    assert len(fit.solution_.certificate.dependent) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = pre.KLIEP().fit(x_p[:, [0, 2]], x_q[:, [0, 2]])
    np.testing.assert_allclose(fit.log_ratio(x_p), alone.log_ratio(x_p[:, [0, 2]]), atol=1e-5)
    assert fit.delta_[1] == pytest.approx(1.8 * fit.delta_[0], rel=1e-3)  # the shortest δ
