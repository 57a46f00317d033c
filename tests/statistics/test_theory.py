"""The paper's consistency conditions."""

import numpy as np
import pytest

import pre_convex as pre


def test_the_smallest_eigenvalue_in_the_ball_against_a_grid():
    rng = np.random.default_rng(0)
    problem = pre.RatioProblem.from_samples(
        rng.normal(size=(500, 2)), rng.normal(size=(500, 2)), pre.Gaussian([0.0, 0.0]), pre.Gaussian([0.0, 0.0])
    )
    found = pre.conditions(problem, [0.0, 0.0], 10 / np.sqrt(500))
    assert found.weyl <= found.eigenvalue_in_ball <= found.eigenvalue
    grid = np.linspace(-1, 1, 41) * found.radius
    values = [
        np.linalg.eigvalsh(problem.hessian([u, v]))[0] for u in grid for v in grid if np.hypot(u, v) <= found.radius
    ]
    assert found.eigenvalue_in_ball == pytest.approx(min(values), rel=0.01)
    assert found.n == 500
    assert found.holds(1.5) == (found.ratio <= 10 / 1.5)
