"""Penalties R‖δ‖_*: values, the residual that a lift aims for, and its slack."""

from fractions import Fraction

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
    ball, seen = penalty_of(norm, 0.5, 4), set()
    for _ in range(200):
        delta, margin = rng.normal(size=4) / units, np.broadcast_to(10.0 ** rng.uniform(-16, 0) * units, 4)
        root, r = rng.normal(size=(9, 4)) * units, 10.0 ** rng.uniform(-3, 3) * rng.normal(size=4)
        trial = ball.trial(delta, r, root.T @ root / 9, margin)
        seen.add(trial is None)
        if trial is None:
            assert ball.norm(margin) >= 0.5 * (1 - 1e-14)
        else:
            exact = [Fraction(abs(x)) + Fraction(m) for x, m in zip(trial.residual, margin, strict=True)]
            size = {2: sum(x * x for x in exact), np.inf: max(exact), 1: sum(exact)}[norm]
            assert size <= Fraction(0.5) ** (2 if norm == 2 else 1)
            slack = ball.value(delta) - trial.residual @ delta  # g(δ) + g*(r) − ⟨r, δ⟩
            assert trial.slack == pytest.approx(max(slack, 0.0), rel=1e-13, abs=1e-14 * ball.value(delta))
    assert seen == {True, False}


@pytest.mark.parametrize("norm", NORMS)
def test_a_trial_leaves_little_slack_at_the_solution_of_a_step(norm):
    rng = np.random.default_rng(5)
    ball = penalty_of(norm, 0.5, 4)
    for _ in range(20):
        root, delta, r = rng.normal(size=(9, 4)), rng.normal(size=4), 2.0 * rng.normal(size=4)
        H = root.T @ root / 9
        x = ball.step(delta, -r, H)
        at_x = ball.trial(x, r - H @ (x - delta), H, np.zeros(4))
        assert at_x.slack <= 1e-10 * (1.0 + ball.value(x))


@pytest.mark.parametrize("norm", NORMS)
def test_without_a_radius_zero_is_the_only_residual(norm):
    trial = NoPenalty(get_norm(norm), 0.0).trial(np.ones(2), np.array([0.3, -0.2]), np.eye(2), np.zeros(2))
    assert (trial.residual.tolist(), trial.slack) == ([0.0, 0.0], 0.0)


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
