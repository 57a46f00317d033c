"""Penalties on some coordinates: steps agree with cvxpy, trials with the definition."""

import cvxpy as cp
import numpy as np
import pytest

import pre_convex as pre
from pre_convex.penalties import make_penalty, with_intercept


def quadratic(seed, k):
    """A random point, gradient and curvature."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(k + 3, k))
    return rng.normal(size=k), rng.normal(size=k), A.T @ A


def problem(radius, norm=2, k=3):
    """A problem with the given radius; its data do not matter here."""
    return pre.RatioProblem(np.zeros(k), np.random.default_rng(0).normal(size=(30, k)), radius=radius, norm=norm)


CASES = [
    (0.0, 2),
    (0.3, 2),
    (0.3, np.inf),
    (0.3, 1),
    ([0.0, 0.2, 0.5], 2),
    ([np.inf, 0.2, 0.0], 2),
    ([0, np.inf, 0], 2),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("radius", "norm"), CASES, ids=str)
def test_steps_with_an_intercept_agree_with_cvxpy(radius, norm, seed):
    p = problem(radius, norm)
    penalty = with_intercept(make_penalty(p), 3)
    theta, gradient, H = quadratic(seed, 4)
    R = np.asarray(p.radius)
    if R.ndim:
        theta[1:][np.isinf(R)] = 0.0
    x = cp.Variable(4)
    model = gradient @ (x - theta) + 0.5 * cp.quad_form(x - theta, cp.psd_wrap(H))
    if R.ndim:
        g = np.where(np.isinf(R), 0.0, R) @ cp.abs(x[1:])
        limits = [x[1 + i] == 0 for i in np.flatnonzero(np.isinf(R))]
    else:
        g, limits = radius * cp.norm(x[1:], p.moment_norm.dual_order), []
    cp.Problem(cp.Minimize(model + g), limits).solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    np.testing.assert_allclose(penalty.step(theta, gradient, H), x.value, atol=1e-5)


@pytest.mark.parametrize(("radius", "norm"), CASES, ids=str)
def test_trials_are_allowed_and_their_slack_is_that_of_the_definition(radius, norm):
    p = problem(radius, norm)
    penalty = make_penalty(p)
    delta, r, H = quadratic(0, 3)
    delta[np.isinf(np.broadcast_to(p.radius, 3))] = 0.0
    assert penalty.value(delta) == pytest.approx(p.penalty_value(delta))
    trial = penalty.trial(delta, r, H, np.full(3, 1e-12))
    residual = np.where(np.isinf(np.broadcast_to(p.radius, 3)), 0.0, trial.residual)
    assert p.excess(residual) == 0.0
    assert np.all(residual[np.broadcast_to(p.radius, 3) == 0.0] == 0.0)
    assert trial.slack == pytest.approx(p.penalty_value(delta) - residual @ delta, abs=1e-12)


def test_a_coordinate_left_out_has_infinite_value():
    penalty = make_penalty(problem([0.1, np.inf, 0.0]))
    assert penalty.value(np.array([1.0, 0.0, 5.0])) == pytest.approx(0.1)
    assert penalty.value(np.array([1.0, 0.1, 5.0])) == np.inf


def test_without_curvature_of_the_free_coordinates_the_step_stays():
    penalty = with_intercept(make_penalty(problem(0.3)), 3)
    assert np.all(np.isfinite(penalty.step(np.zeros(4), np.ones(4), np.zeros((4, 4)))))
