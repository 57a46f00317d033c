"""The score test of products that a fit does not have: power, size, and when it is silent."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.statistics.missed import missed_products
from pre_convex.statistics.tilted import TiltedProblem


def correlated(seed, n=400, rho=0.5):
    rng = np.random.default_rng(seed)
    x_p, x_q = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    x_p[:, 2] = rho * x_p[:, 0] + np.sqrt(1.0 - rho**2) * x_p[:, 2]
    return x_p, x_q


@pytest.mark.parametrize("features", ["linear", "polynomial"])
def test_a_change_of_correlation_is_seen(features):
    for seed in range(5):
        (warning,) = pre.KLIEP(features).fit(*correlated(seed)).diagnostics().warnings
        assert warning.startswith("x0*x2:")
    assert pre.KLIEP("quadratic").fit(*correlated(0)).diagnostics().warnings == ()
    assert "x0*x2" in str(pre.KLIEP(features).fit(*correlated(0)).summary())


def test_a_change_of_scale_is_seen_by_a_linear_fit():
    rng = np.random.default_rng(0)
    (warning,) = pre.KLIEP().fit(0.6 * rng.normal(size=(300, 1)), rng.normal(size=(300, 1))).diagnostics().warnings
    assert warning.startswith("x0^2:")


def test_scores_of_a_right_model_are_about_standard_normal():
    z = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        x_p, x_q = rng.exponential(0.8, (250, 3)), rng.exponential(1.0, (250, 3))
        problem = pre.RatioProblem.from_samples(x_p, x_q)
        z.append(missed_products(TiltedProblem(problem, pre.solve(problem).delta), 3, squares=True)[1])
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.05, abs=0.02)
    assert np.mean(z) == pytest.approx(0.0, abs=0.2)


def test_without_the_estimate_of_delta_the_variance_would_be_too_large():
    x_p, x_q = correlated(1, rho=0.0)
    x_p, x_q = x_p + 5.0, x_q + 5.0  # products far from the origin are nearly linear
    problem = pre.RatioProblem.from_samples(x_p, x_q)
    shifted = missed_products(TiltedProblem(problem, pre.solve(problem).delta), 3, squares=False)[1]
    centred = pre.RatioProblem.from_samples(x_p - 5.0, x_q - 5.0)
    z = missed_products(TiltedProblem(centred, pre.solve(centred).delta), 3, squares=False)[1]
    np.testing.assert_allclose(shifted, z, atol=1e-6)


def test_it_is_silent_where_it_cannot_say():
    x_p, x_q = correlated(2)
    for fit in (
        pre.KLIEP(radius=0.1),  # moments are off by the radius
        pre.KLIEP(lambda x: x),  # features need not be columns
        pre.KLIEP(divergence="chi2"),
    ):
        assert not any("*" in text for text in fit.fit(x_p, x_q).diagnostics().warnings)
    assert pre.KLIEP().fit(x_p[:, :1], x_q[:, :1]).diagnostics().warnings == ()
    assert not any("*" in text for text in pre.KLIEP().fit(x_p[:60], x_q[:60]).diagnostics().warnings)
