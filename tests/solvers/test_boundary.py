"""Targets on the boundary of the hull: proven gaps against 50 digits, weights that hit the target, memory."""

import tracemalloc

import numpy as np
import pytest
from exact import Exact, mpf

import pre_convex as pre


def whole_numbers(rng):
    """A grid whose faces hold many rows, base weights e^±50, target in the middle of two rows of a face."""
    F = rng.integers(-3, 4, size=(60, 4)).astype(float)
    top = rng.permutation(np.flatnonzero(F[:, 0] == F[:, 0].max()))
    return F[top[:2]].mean(axis=0), F, rng.uniform(-50.0, 50.0, 60)


def absent_category(rng):
    """Indicators of five categories and a count; nobody on the p side is in the first category."""
    category, count = rng.integers(0, 5, 400), rng.integers(0, 9, 400)
    F = np.column_stack([category[:, None] == np.arange(5), count]).astype(float)
    return np.array([0.0, 0.25, 0.125, 0.5, 0.125, 3.5]), F, rng.normal(size=400)


def repeated_vertex(rng):
    """A vertex that several rows share, so that their base weights decide."""
    F = rng.integers(0, 4, size=(300, 3)).astype(float)
    return np.full(3, 3.0), F, rng.normal(0.0, 5.0, 300)


def optimum_on(face, problem):
    """The value of the problem in 50 digits, from the rows of the face and columns that are independent on them."""
    F, a = problem.features_q[face], problem.log_base[face]
    columns: list[int] = []
    for i in range(problem.k):
        if np.linalg.matrix_rank((F - problem.target)[:, [*columns, i]]) > len(columns):
            columns.append(i)
    b = problem.target[columns]
    if not columns:  # a vertex
        exact = Exact(problem.target, F, a)
        return exact.tilt([mpf(0)] * problem.k)[0]
    start = pre.solve(pre.RatioProblem(b, F[:, columns], a), check=False).delta
    exact = Exact(b, F[:, columns], a)
    delta = exact.optimum(start)
    assert exact.kkt(delta) < 1e-30
    return exact.value(delta)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("draw", [whole_numbers, absent_category, repeated_vertex])
def test_gaps_are_proven_and_never_below_the_true_ones(draw, seed):
    problem = pre.RatioProblem(*draw(np.random.default_rng(seed)))
    solution = pre.solve(problem, check=False)
    assert solution.status is pre.Status.BOUNDARY
    assert solution.certificate.proves(1e-8)
    optimum = optimum_on(np.flatnonzero(solution.mu), problem)
    true_gap = Exact.of(problem).value(solution.delta) - optimum
    assert 0 <= true_gap <= solution.gap
    assert solution.certificate.dual_value <= optimum


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("draw", [whole_numbers, absent_category, repeated_vertex])
def test_weights_hit_the_target_to_its_last_digits(draw, seed):
    problem = pre.RatioProblem(*draw(np.random.default_rng(seed)))
    solution = pre.solve(problem, check=False)
    assert np.abs(problem.target - solution.mu @ problem.features_q).max() <= 4e-15
    assert abs(solution.mu.sum() - 1.0) <= 1e-15


def test_a_face_where_two_rows_have_all_the_weight():
    """The other rows of this face have weights below 1e-16; half on each of the two rows is feasible exactly."""
    b, F, log_base = whole_numbers(np.random.default_rng(5))
    problem = pre.RatioProblem(b, F, log_base)
    solution = pre.solve(problem, check=False)
    assert solution.certificate.proves(1e-8)
    halves = np.where(solution.mu > 0.25, 0.5, 0.0)
    exact = Exact.of(problem)
    assert not any(exact.residual(halves))
    assert exact.value(solution.delta) - exact.dual_value(halves) <= solution.gap


def test_memory_beyond_the_data_for_a_face_of_few_rows():
    """Most of the work takes vectors of one number per row."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(60_000, 40))
    face = rng.random(len(F)) < 0.01
    F[:, 0] = np.where(face, 1.0, -rng.random(len(F)))
    problem = pre.RatioProblem(F[face].mean(axis=0), F)
    pre.solve(pre.RatioProblem([1.0], [[0.0], [1.0]]), check=False)  # imports what a solve imports
    tracemalloc.start()
    solution = pre.solve(problem, check=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.status is pre.Status.BOUNDARY
    assert solution.certificate.proves(1e-8)
    assert peak <= 0.5 * F.nbytes
