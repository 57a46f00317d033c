"""Penalties R‖δ‖_*: values, residuals to lift to, and the lower bounds that weights prove."""

import numpy as np
import pytest

from pre_convex.certificate.lift import Lift
from pre_convex.data.rows import Rows
from pre_convex.penalties.ball import BallPenalty
from pre_convex.penalties.norms import get_norm

NORMS = [2, np.inf, 1]


@pytest.mark.parametrize("norm", NORMS)
def test_value_and_projection(norm):
    delta = np.array([3.0, -4.0])
    dual = {2: 5.0, np.inf: 7.0, 1: 4.0}[norm]
    ball = BallPenalty(get_norm(norm), 0.5)
    assert (ball.value(delta), ball.violation(delta)) == (0.5 * dual, 0.0)
    assert BallPenalty(get_norm(norm), 0.0).value(delta) == 0.0
    np.testing.assert_array_equal(ball.project(np.array([0.1, -0.2])), [0.1, -0.2])
    for point in (delta, np.array([0.5, 1e-9]), np.array([-7.0, 0.0])):
        inside = ball.project(point)
        assert ball.norm(inside) <= 0.5
        assert ball.norm(inside) == pytest.approx(0.5)
        # of all points of the ball, none is nearer: the residual is aligned with the projection
        assert (point - inside) @ inside == pytest.approx(0.5 * ball.norm.dual(point - inside))


@pytest.mark.parametrize("norm", NORMS)
def test_trial_residuals_lie_in_the_ball_and_one_is_aligned_with_delta(norm):
    ball, r, H = BallPenalty(get_norm(norm), 0.5), np.array([0.3, -0.2]), np.diag([1.0, 3.0])
    delta = np.array([0.8, -0.1])
    trials = ball.trial_residuals(delta, r, H)
    assert max(ball.norm(p) for p in trials) <= 0.5
    assert max(float(p @ delta) for p in trials) == pytest.approx(ball.value(delta), rel=1e-7)
    np.testing.assert_array_equal(BallPenalty(get_norm(norm), 0.0).trial_residuals(delta, r, H), [[0.0, 0.0]])


@pytest.mark.parametrize("norm", NORMS)
def test_trial_residuals_change_nothing_that_a_lift_cannot_move(norm):
    ball, H = BallPenalty(get_norm(norm), 0.5), np.diag([1.0, 0.0])
    delta = np.array([0.8, 5.0])
    for r in (np.array([0.4, 0.2]), np.array([3.0, -0.4]), np.array([1.0, 0.1])):
        trials = ball.trial_residuals(delta, r, H)
        assert len(trials) == 4
        for point in trials:
            assert ball.norm(point) <= 0.5
            assert point[1] == pytest.approx(r[1], abs=1e-12)
        assert trials[0][0] > 0.1 or norm == 1
    np.testing.assert_allclose(ball.trial_residuals(delta, np.array([0.0, 0.5]), H)[0], [0.0, 0.5])
    assert ball.trial_residuals(delta, np.array([0.1, 0.6]), H) == []  # no point of the ball has this residual


def test_a_lift_may_not_make_a_weight_negative():
    F = np.array([[0.0], [1.0], [2.0]])
    lift = Lift(Rows(F, np.zeros(3)), np.array([0.98, 0.01, 0.01]))
    ball, log_base = BallPenalty(get_norm(2), 0.0), np.log(np.full(3, 1 / 3))
    assert ball.bound(np.array([-0.1]), np.zeros(1), lift, log_base) == -np.inf
    r = np.array([0.005])
    mu = lift.mu * (1.0 + lift.correction(r)[0])
    assert (mu @ F)[0] == pytest.approx(0.035)
    assert ball.bound(r, np.zeros(1), lift, log_base) == pytest.approx(-mu @ np.log(3 * mu))
    edge = Lift(Rows(F, np.zeros(3)), np.array([0.5, 0.5, 0.0]))  # moves all weight to one row
    assert ball.bound(np.array([-0.5]), np.zeros(1), edge, log_base) == pytest.approx(-np.log(3.0))


def test_weights_on_a_row_of_zero_base_weight_prove_nothing():
    lift = Lift(Rows(np.array([[0.0], [1.0], [2.0]]), np.zeros(3)), np.array([0.5, 0.25, 0.25]))
    ball, r = BallPenalty(get_norm(2), 0.0), np.array([0.1])
    assert ball.bound(r, np.zeros(1), lift, np.array([0.0, 0.0, -np.inf])) == -np.inf
    assert ball.bound(r, np.zeros(1), lift, np.zeros(3)) > 0.0
