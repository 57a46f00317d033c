"""Targets exactly on faces of the hull: the rows of the face, its normal, and the solution there."""

import itertools

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.feasibility.face import smallest_face, spanning_rows

CUBE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))


def face_of(F, b, log_base=None, least=1e-6):
    problem = pre.RatioProblem(b, F, log_base).centred_at_target()
    index = spanning_rows(problem, pre.minimal_radius(problem))
    return smallest_face(problem, index, least)


@pytest.mark.parametrize(
    ("b", "on"),
    [
        ([1.0, 1.0, 1.0], [7]),
        ([1.0, 0.25, 1.0], [5, 7]),
        ([0.5, 0.5, 1.0], [1, 3, 5, 7]),  # spanned by the ends of one diagonal; the other two rows have to be found
        ([0.0, 0.125, 0.375], [0, 1, 2, 3]),
    ],
)
@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (2.0**-27, 1.0, 2.0**27)])
def test_faces_of_a_cube(b, on, units):
    F, b = CUBE * units, np.multiply(b, units)
    index, v = face_of(F, b)
    assert index.tolist() == on
    heights = (F - b) @ v
    assert np.abs(heights[index]).max() <= 1e-14
    assert np.delete(heights, index).max() < -0.1 * np.ptp(heights)


def test_a_target_in_the_interior_is_on_no_face():
    assert face_of(CUBE, [0.5, 0.25, 0.75]) is None


def test_rows_of_zero_base_weight_are_on_no_face():
    a = np.zeros(8)
    a[7] = -np.inf
    index, _ = face_of(CUBE, [1.0, 0.5, 0.25], a)
    assert index.tolist() == [4, 5, 6]


def test_a_vertex_of_many_rows():
    rng = np.random.default_rng(0)
    ball = rng.normal(size=(20_000, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    index, v = face_of(ball, ball[17], least=1e-9)
    assert index.tolist() == [17]
    heights = (ball - ball[17]) @ v
    assert np.argsort(heights)[-1] == 17
    assert np.sort(heights)[-2] < 0.0


def solve_on_boundary(problem):
    """The solution, with weights that hit the target and a δ whose value is within the tolerance of the optimum."""
    solution = pre.solve(problem, check=False)
    assert solution.status is pre.Status.BOUNDARY
    return check_boundary(problem, solution)


def check_boundary(problem, solution):
    assert abs(solution.gap) <= 1e-8 * (1.0 + abs(solution.primal_value))
    size = np.abs(problem.features_q).max(axis=0)
    assert np.all(np.abs(problem.target - solution.mu @ problem.features_q) <= 1e-14 * size)
    return solution


@pytest.mark.parametrize("seed", range(6))
def test_edges_of_a_moment_curve(seed):
    """Any two neighbours on (x, x²) are the ends of an edge, and other points are close to it."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.normal(size=50))
    F = x[:, None] ** np.arange(1, 3)
    i = rng.integers(49)
    j = i + 1
    solution = solve_on_boundary(pre.RatioProblem(0.5 * (F[i] + F[j]), F, rng.normal(size=50)))
    assert sorted(np.flatnonzero(solution.mu)) == sorted([i, j])


@pytest.mark.parametrize("seed", range(6))
def test_corners_in_units_of_all_sizes(seed):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(40, 1)) ** np.arange(1, 5) * 10.0 ** rng.integers(-8, 9, 4)
    corner = np.argmax(F[:, 0])
    solution = solve_on_boundary(pre.RatioProblem(F[corner], F, rng.normal(size=40)))
    assert np.flatnonzero(solution.mu).tolist() == [corner]


@pytest.mark.parametrize("seed", range(6))
def test_faces_of_whole_numbers(seed):
    """Base weights e^±5 on a grid whose faces hold many rows; with e^±20 round-off may leave too little to prove."""
    rng = np.random.default_rng(seed)
    F = rng.integers(-3, 4, size=(60, 4)).astype(float)
    top = np.flatnonzero(F[:, 0] == F[:, 0].max())
    some = rng.permutation(top)[:2]
    A = np.eye(4) - 2.0 * np.roll(np.eye(4), 1, axis=0)  # after this map no column is exposed
    problem = pre.RatioProblem(F[some].mean(axis=0) @ A, F @ A, rng.uniform(-5.0, 5.0, 60))
    assert pre.minimal_radius(problem).position is pre.Position.BOUNDARY
    solution = solve_on_boundary(problem)
    assert solution.mu[F[:, 0] < F[:, 0].max()].sum() == 0.0
