"""Boxes and on/off features."""

import numpy as np
import pytest
from black_boxes import SLOPES, X, linear

import pre_convex as pre
from pre_convex.applications.explanation import Box, OnOff, SuperPixels, Words, explain


def test_a_box_is_bounded_by_standard_deviations_of_the_data():
    data = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 10.0, 0.1]
    near = Box(0.5, data=data).around(X)
    np.testing.assert_allclose(near.unit, 0.5 * data.std(axis=0))
    z = near.draw(2000, np.random.default_rng(1))
    assert np.all(np.abs(z - X) <= near.unit)
    assert np.all(np.abs(z - X).max(axis=0) > 0.95 * near.unit)


def test_on_off_features_of_linear_log_odds_are_recovered_exactly():
    found = explain(linear, X, OnOff(off=[1.0, 2.0, 3.0]), 300, label=1, tol=1e-12)
    np.testing.assert_allclose(found.coef, SLOPES * (X - [1.0, 2.0, 3.0]), atol=1e-6)
    assert found.fit.offset == pytest.approx(X @ SLOPES + 0.7, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "perturbation"),
    [(np.array([5.0, 7.0]), OnOff()), ("five seven", Words()), (np.array([[5.0, 7.0]]), SuperPixels((1, 2)))],
)
def test_on_off_features_must_be_ones_and_zeros(x, perturbation):
    found = explain(lambda z: np.linspace(0.2, 0.6, len(z)), x, perturbation, 50, label=1)
    np.testing.assert_allclose(found.decision_function([1, 0]), found.coef[0] + found.intercept)
    np.testing.assert_allclose(found.decision_function([[1, 1]]), found.decision_interval().estimate)
    for wrong in ([5.0, 7.0], [[5.0, 7.0]], [[0.5, 1.0]], [1, 0, 1]):
        with pytest.raises(pre.DataError) as error:
            found.decision_function(wrong)
        assert error.value.argument == "z"
