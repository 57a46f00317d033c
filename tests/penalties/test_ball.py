"""Penalties R‖δ‖_*: values, directions of a lift, and the slack of the residual that it leaves."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.penalties import NoPenalty, get_norm, make_penalty

NORMS = [2, np.inf, 1]


def penalty_of(norm, radius, k=2):
    """The penalty of a problem with k features."""
    rows = np.random.default_rng(0).normal(size=(40, k))
    return make_penalty(pre.RatioProblem(np.zeros(k), rows, radius=radius, norm=norm))


@pytest.mark.parametrize("norm", NORMS)
def test_value_and_projection(norm):
    delta = np.array([3.0, -4.0])
    dual = {2: 5.0, np.inf: 7.0, 1: 4.0}[norm]
    ball = penalty_of(norm, 0.5)
    assert (ball.value(delta), ball.violation(delta)) == (0.5 * dual, 0.0)
    assert penalty_of(norm, 0.0).value(delta) == 0.0
    np.testing.assert_array_equal(ball.norm.project(np.array([0.1, -0.2]), 0.5), [0.1, -0.2])
    for point in (delta, np.array([0.5, 1e-9]), np.array([-7.0, 0.0])):
        inside = ball.norm.project(point, 0.5)
        assert ball.norm(inside) == pytest.approx(0.5)
        # of all points of the ball, none is nearer: the residual is aligned with the projection
        assert (point - inside) @ inside == pytest.approx(0.5 * ball.norm.dual(point - inside))


@pytest.mark.parametrize("units", [1.0, np.array([1e-4, 1.0, 1e3, 1e-2])], ids=["one unit", "four units"])
@pytest.mark.parametrize("norm", NORMS)
def test_slack_is_finite_only_if_everything_within_the_margin_is_in_the_ball(norm, units):
    rng = np.random.default_rng(3)
    ball, seen = penalty_of(norm, 0.5, 4), set()
    for _ in range(200):
        delta, margin = rng.normal(size=4) / units, np.broadcast_to(10.0 ** rng.uniform(-16, -1) * units, 4)
        r = rng.normal(size=4)
        r *= 0.5 * rng.choice([0.5, 0.99, 1.0, 1.01]) / ball.norm(r)
        slack = ball.slack(delta, r, margin)
        worst = ball.norm(r + np.sign(r) * margin)
        seen.add(bool(slack < np.inf))
        if slack < np.inf:
            assert worst <= 0.5
            assert slack == max(ball.value(delta) - r @ delta, 0.0)  # g(δ) + g*(r) − ⟨r, δ⟩
        else:
            assert worst > 0.5 * (1 - 1e-15)
    assert seen == {True, False}


@pytest.mark.parametrize("norm", NORMS)
def test_a_direction_leads_inside_the_ball_and_nearly_to_the_solution(norm):
    """To first order a lift along d leaves r − H d; at the minimum of the quadratic model the slack vanishes.

    In norms 1 and inf the first directions may miss the ball, since steps regularise H by 1e-12.
    """
    rng = np.random.default_rng(5)
    ball, margin = penalty_of(norm, 0.5, 4), np.full(4, 1e-15)
    for _ in range(20):
        root, delta, r = rng.normal(size=(9, 4)), rng.normal(size=4), 2.0 * rng.normal(size=4)
        H = root.T @ root / 9
        slacks = [(delta + d, ball.slack(delta + d, r - H @ d, margin)) for d in ball.directions(delta, r, H)]
        x, slack = next(pair for pair in slacks if pair[1] < np.inf)
        assert slack <= 2e-9 * ball.value(x)
        assert slacks[-1][1] < np.inf


@pytest.mark.parametrize("norm", NORMS)
def test_without_a_radius_zero_is_the_only_residual(norm):
    point, slack = NoPenalty(get_norm(norm), 0.0).trial(np.ones(2), np.array([0.3, -0.2]), np.eye(2))
    assert (point.tolist(), slack) == ([0.0, 0.0], 0.0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(5))
def test_one_row_that_takes_all_the_weight_proves_nothing_of_an_infeasible_problem(norm, seed):
    """As in detection with 33 one-hot features: no direction can be lifted, and the residual stays outside."""
    rng = np.random.default_rng(seed)
    k = 33
    F = np.eye(k)[np.r_[np.arange(k), rng.integers(0, k, 60)]]
    beyond = np.zeros(k)
    beyond[seed] = 1.0
    problem = pre.RatioProblem(2.0 * beyond, F, norm=norm)
    problem = problem.with_radius(0.9 * pre.minimal_radius(problem).lower, norm)
    for size in (1.0, 30.0, 800.0, 1e5):
        certificate = pre.certify(problem, size * beyond)
        assert certificate.gap == np.inf
        assert certificate.dual_value == -np.inf
    assert pre.solve(problem, check=False).status is pre.Status.INFEASIBLE
