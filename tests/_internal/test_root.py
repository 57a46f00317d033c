"""The root of an increasing function."""

import numpy as np
import pytest

from pre_convex._internal.root import increasing_root


@pytest.mark.parametrize("guess", [-700.0, 0.0, 690.0, 1e6])
@pytest.mark.parametrize("root", [-30.0, 0.0, 40.0])
def test_exponential_growth(guess, root):
    with np.errstate(over="ignore"):
        found = increasing_root(lambda c: (np.exp(c - root) - 1.0, np.exp(c - root)), guess, 0.0)
    assert found == pytest.approx(root, abs=1e-12)


def test_flat_start():
    """The slope at the start is nearly zero, so that the first step is long, and flat parts have none at all."""

    def steps(c):
        return (np.clip(c - 50.0, -1.0, 1.0) + 1e-16 * c, 1.0 if abs(c - 50.0) < 1.0 else 1e-16)

    assert increasing_root(steps, 0.0, 1e-14) == pytest.approx(50.0, abs=1e-12)


def test_best_without_a_root():
    assert increasing_root(lambda c: (np.tanh(c) + 2.0, np.cosh(c) ** -2 if abs(c) < 300 else 0.0), 0.0, 0.0) < -15.0
