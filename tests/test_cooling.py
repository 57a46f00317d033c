"""Targets next to a corner of the hull, with base weights that put everything elsewhere."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.solvers.cooling import _solved, cooled, frozen_out
from pre_convex.solvers.newton import newton
from pre_convex.solvers.steps import make_penalty


def near_corner(seed, depth, reach, radius=0.0, norm=2):
    """Inside the hull by a share of the way from a corner to the middle; base weights from e^-reach to e^reach."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(40, 3))
    corner = F[np.argmax(F @ rng.normal(size=3))]
    target = corner + depth * (F.mean(axis=0) - corner)
    return pre.RatioProblem(target, F, rng.uniform(-reach, reach, 40), radius=radius, norm=norm)


@pytest.mark.parametrize("depth", [1e-3, 1e-5, 1e-7, 1e-8])
@pytest.mark.parametrize("reach", [50, 700])
def test_a_target_next_to_a_corner_is_proven(depth, reach):
    for seed in range(4):
        problem = near_corner(seed, depth, reach)
        solution = pre.solve(problem, check=False)
        assert solution.status is pre.Status.OPTIMAL
        assert np.abs(problem.moment(solution.mu)).max() <= 1e-3 * depth


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (1e-6, 2), (1e-6, np.inf), (1e-6, 1)])
def test_the_followed_delta_is_close_to_the_solution(radius, norm):
    problem = near_corner(7, 1e-4, 300, radius, norm)
    delta = cooled(problem, make_penalty(problem))
    assert pre.certify(problem, delta).proves(1e-8)


def test_nothing_is_followed_where_the_target_leaves_the_plane_of_the_rows():
    x = np.linspace(-1.0, 1.0, 9)
    problem = pre.RatioProblem([0.3, 0.4], np.column_stack([x, x]), 100.0 * x)
    assert cooled(problem, make_penalty(problem)) is None
    assert cooled(near_corner(0, -0.1, 50), make_penalty(near_corner(0, -0.1, 50))) is None  # outside the hull


def test_a_target_that_counts_as_on_the_boundary_but_is_proven_inside_stays_proven():
    rng = np.random.default_rng(3)
    F = rng.integers(-2, 3, size=(30, 2)).astype(float)
    F[:, 0] = np.minimum(F[:, 0], 1.0)
    for depth in (1e-8, 1e-9, 1e-10):
        solution = pre.solve(pre.RatioProblem([1.0 - depth, 0.25], F, rng.uniform(-30, 30, 30)), check=False)
        assert solution.certificate.proves(1e-8)


def test_the_largest_base_weights_alone_give_a_start():
    """With base weights from e^-700 to e^700, Newton has a few steps to go from there."""
    for seed in range(4):
        problem = near_corner(seed, 0.3, 700)
        found = newton(problem, make_penalty(problem), tol=1e-8, start=frozen_out(problem))
        assert found.certificate.proves(1e-8)
        assert found.iterations < 20
    assert frozen_out(near_corner(0, -0.1, 700)) is None  # outside the hull
    assert frozen_out(pre.RatioProblem([0.3, 0.4], np.column_stack([np.arange(9.0)] * 2), np.arange(9.0))) is None


def test_a_start_beyond_all_numbers_is_none():
    G = np.array([[1.0, -1.0], [-1.0, 1.0], [2.0, 1.0]])
    problem = pre.RatioProblem([0.1, 0.2], G)
    with np.errstate(over="ignore", invalid="ignore"):
        assert _solved(G, np.zeros(3), make_penalty(problem), np.full(2, 1e308), 0.1, 30) == (None, 1)
