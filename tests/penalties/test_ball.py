"""Penalties R‖δ‖_*: values, and the residual that a lift aims at."""

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
def test_everything_within_the_margin_of_a_trial_is_in_the_ball(norm, units):
    rng = np.random.default_rng(3)
    ball = penalty_of(norm, 0.5, 4)
    for _ in range(50):
        root = rng.normal(size=(9, 4)) * units
        delta, r, margin = rng.normal(size=4) / units, rng.normal(size=4), 10.0 ** rng.uniform(-16, -12) * units
        point, slack = ball.trial(delta, r, root.T @ root, np.broadcast_to(margin, 4))
        for sign in rng.choice([-1.0, 1.0], size=(20, 4)):
            assert ball.norm(point + sign * margin) <= 0.5
        # g(δ) − ⟨r', δ⟩, which is not negative in the ball
        assert slack >= 0.0
        assert slack == pytest.approx(max(ball.value(delta) - point @ delta, 0.0))


@pytest.mark.parametrize("norm", NORMS)
def test_near_the_solution_a_trial_is_aligned_with_delta(norm):
    ball, H = penalty_of(norm, 0.5), np.diag([1.0, 3.0])
    delta = {2: np.array([0.8, -0.1]), np.inf: np.array([0.8, -0.1]), 1: np.array([0.8, -0.8])}[norm]
    aligned = {2: 0.5 * delta / np.linalg.norm(delta), np.inf: [0.5, -0.5], 1: [0.25, -0.25]}[norm]
    for off in (0.0, 1e-9, 1e-6):
        point, slack = ball.trial(delta, np.asarray(aligned) + off, H, np.full(2, 1e-15))
        assert slack <= 10.0 * off + 1e-14
        np.testing.assert_allclose(point, aligned, atol=10.0 * off + 1e-14)


@pytest.mark.parametrize("norm", NORMS)
def test_a_trial_keeps_what_a_lift_cannot_move(norm):
    ball, delta, margin = penalty_of(norm, 0.5, 3), np.array([0.8, 5.0, -1.0]), np.full(3, 1e-12)
    constant = np.diag([1.0, 0.0, 2.0])
    equal = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    for H, fixed in ((constant, [0.0, 1.0, 0.0]), (equal, [1.0, -1.0, 0.0])):
        for size in (0.0, 0.1, -0.2):
            r = np.array([0.4, -0.3, 2.0])
            r += (size - r @ fixed) * np.array(fixed) / np.dot(fixed, fixed)
            point, _ = ball.trial(delta, r, H, margin)
            assert ball.norm(np.abs(point) + margin) <= 0.5
            assert point @ fixed == pytest.approx(size, abs=1e-12)
    assert ball.trial(delta, np.array([0.1, 0.6, 0.1]), constant, margin) is None  # the second entry stays outside


@pytest.mark.parametrize("norm", NORMS)
def test_a_ball_that_is_smaller_than_the_margin_has_no_trial(norm):
    delta, H = np.array([0.8, -0.1]), np.diag([1.0, 3.0])
    assert penalty_of(norm, 1e-9).trial(delta, np.array([0.3, -0.2]), H, np.full(2, 1e-8)) is None
    point, slack = NoPenalty(get_norm(norm), 0.0).trial(delta, np.array([0.3, -0.2]), H, np.full(2, 1e-8))
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
