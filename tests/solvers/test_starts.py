"""Targets near a vertex of the hull, with base weights that favour other rows."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.penalties import make_penalty
from pre_convex.solvers.newton import newton
from pre_convex.solvers.starts import continuation_start, vertex_start


def near_vertex(seed, depth, reach, radius=0.0, norm=2):
    """Target at ``depth`` of the way from a vertex to the mean; base weights from e^-reach to e^reach."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(40, 3))
    vertex = F[np.argmax(F @ rng.normal(size=3))]
    target = vertex + depth * (F.mean(axis=0) - vertex)
    return pre.RatioProblem(target, F, rng.uniform(-reach, reach, 40), radius=radius, norm=norm)


@pytest.mark.parametrize("depth", [1e-3, 1e-5, 1e-7, 1e-8])
@pytest.mark.parametrize("reach", [50, 700])
def test_a_target_near_a_vertex_is_proven(depth, reach):
    for seed in range(4):
        problem = near_vertex(seed, depth, reach)
        solution = pre.solve(problem, check=False)
        assert solution.status is pre.Status.OPTIMAL
        assert np.abs(problem.residual(solution.mu)).max() <= 1e-3 * depth


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (1e-6, 2), (1e-6, np.inf), (1e-6, 1)])
def test_continuation_reaches_the_solution(radius, norm):
    problem = near_vertex(7, 1e-4, 300, radius, norm)
    delta = continuation_start(problem, make_penalty(problem))
    assert pre.certify(problem, delta).proves(1e-8)


def test_continuation_gives_up_without_a_solution():
    x = np.linspace(-1.0, 1.0, 9)
    problem = pre.RatioProblem([0.3, 0.4], np.column_stack([x, x]), 100.0 * x)
    assert continuation_start(problem, make_penalty(problem)) is None
    assert (
        continuation_start(near_vertex(0, -0.1, 50), make_penalty(near_vertex(0, -0.1, 50))) is None
    )  # outside the hull


def test_a_target_within_round_off_of_the_boundary_is_proven():
    rng = np.random.default_rng(3)
    F = rng.integers(-2, 3, size=(30, 2)).astype(float)
    F[:, 0] = np.minimum(F[:, 0], 1.0)
    for depth in (1e-8, 1e-9, 1e-10):
        solution = pre.solve(pre.RatioProblem([1.0 - depth, 0.25], F, rng.uniform(-30, 30, 30)), check=False)
        assert solution.certificate.proves(1e-8)


def test_a_vertex_of_the_dual_is_a_good_start():
    """With base weights from e^-700 to e^700, Newton needs few steps from there."""
    for seed in range(4):
        problem = near_vertex(seed, 0.3, 700)
        found = newton(problem, make_penalty(problem), tol=1e-8, start=vertex_start(problem))
        assert found.certificate.proves(1e-8)
        assert found.iterations < 20
    assert vertex_start(near_vertex(0, -0.1, 700)) is None  # outside the hull
    assert vertex_start(pre.RatioProblem([0.3, 0.4], np.column_stack([np.arange(9.0)] * 2), np.arange(9.0))) is None
