"""Feature maps of standardised columns."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.features import from_state, to_state
from pre_convex.data.scaled import Scaled

X = np.array([[1.0, 2.0], [3.0, -4.0]])


def test_columns_are_clipped_standardised_and_multiplied():
    f = Scaled("polynomial", [1.0, 0.0], [2.0, 1.0], [1.0, 2.0, 3.0, 4.0], [0.0, -1.0], [9.0, 1.0])
    np.testing.assert_allclose(f(X), [[0.0, 2.0, 0.0, 4.0], [1.0, -2.0, 3.0, 4.0]])
    assert f.names(["u", "v"]) == ("u", "v", "u^2", "v^2")


def test_its_state_can_be_stored():
    f = Scaled(pre.Linear() + pre.Kernel(length_scale=1.0).fitted(X), [0.0, 0.0], [1.0, 2.0], [1.0, 1.0, 0.5, 0.5])
    np.testing.assert_array_equal(from_state(to_state(f))(X), f(X))


@pytest.mark.parametrize("name", ["scale", "factors"])
def test_factors_are_positive(name):
    given = {"centre": [0.0], "scale": [1.0], "factors": [1.0], name: [0.0]}
    with pytest.raises(pre.DataError) as caught:
        Scaled("linear", **given)
    assert caught.value.argument == name


def test_the_numbers_of_columns_and_factors_are_checked():
    with pytest.raises(pre.DataError) as caught:
        Scaled("linear", [0.0], [1.0], [1.0])(X)
    assert caught.value.argument == "x"
    with pytest.raises(pre.DataError) as caught:
        Scaled("polynomial", [0.0, 0.0], [1.0, 1.0], [1.0, 1.0])(X)
    assert caught.value.argument == "factors"
