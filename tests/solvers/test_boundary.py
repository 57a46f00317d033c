"""Targets on the boundary of the hull: proven gaps against 50 digits, weights that hit the target, memory."""

import tracemalloc

import numpy as np
import pytest
from exact import Exact, mpf

import pre_convex as pre


def whole_numbers(rng):
    """A grid whose faces hold many rows, base weights e^±10, target in the middle of two rows of a face."""
    F = rng.integers(-3, 4, size=(60, 4)).astype(float)
    top = rng.permutation(np.flatnonzero(F[:, 0] == F[:, 0].max()))
    return F[top[:2]].mean(axis=0), F, rng.uniform(-10.0, 10.0, 60)


def absent_category(rng):
    """Indicators of five categories and a count; nobody on the p side is in the first category."""
    category, count = rng.integers(0, 5, 400), rng.integers(0, 9, 400)
    F = np.column_stack([category[:, None] == np.arange(5), count]).astype(float)
    return np.array([0.0, 0.25, 0.125, 0.5, 0.125, 3.5]), F, rng.normal(size=400)


def repeated_vertex(rng):
    """A vertex that several rows share, so that their base weights decide."""
    F = rng.integers(0, 4, size=(300, 3)).astype(float)
    return np.full(3, 3.0), F, rng.normal(0.0, 5.0, 300)


def rotated(target, F, log_base):
    """The same problem after a map of whole numbers that leaves no column exposed."""
    k = F.shape[1]
    A = np.eye(k) - 2.0 * np.roll(np.eye(k), 1, axis=0)
    return target @ A, F @ A, log_base


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
@pytest.mark.parametrize("draw", [absent_category, repeated_vertex])
def test_exposed_columns_leave_a_problem_on_the_face_that_is_proven(draw, seed):
    problem = pre.RatioProblem(*draw(np.random.default_rng(seed)))
    solution = pre.solve(problem)
    assert solution.status is pre.Status.BOUNDARY
    assert solution.ok
    assert solution.certificate.proves(1e-8)
    columns = [one.feature for one in solution.recession]
    face = np.all(problem.features_q[:, columns] == problem.target[columns], axis=1)
    assert np.array_equal(solution.mu > 0.0, face)
    optimum = optimum_on(face, problem)
    on_face = Exact(problem.target, problem.features_q[face], problem.log_base[face])
    assert 0 <= on_face.value(solution.delta) - optimum <= solution.gap
    assert abs(float(on_face.value(solution.delta)) - solution.primal_value) <= 1e-12
    assert np.abs(problem.residual(solution.mu)).max() <= 1e-8


@pytest.mark.parametrize("draw", [absent_category, repeated_vertex])
def test_weights_and_value_are_limits_along_the_recession(draw):
    problem = pre.RatioProblem(*draw(np.random.default_rng(3)))
    solution = pre.solve(problem)
    delta = np.array(solution.delta)
    for faster, (feature, sign) in enumerate(reversed(solution.recession)):
        delta[feature] += sign * 300.0 * 4.0**faster
    assert problem.value(delta) == pytest.approx(solution.primal_value, abs=1e-9)
    np.testing.assert_allclose(np.exp(problem.log_mu(delta)), solution.mu, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("draw", [whole_numbers, absent_category, repeated_vertex])
def test_gaps_are_proven_and_never_below_the_true_ones(draw, seed):
    problem = pre.RatioProblem(*rotated(*draw(np.random.default_rng(seed))))
    solution = pre.solve(problem, check=False)
    assert solution.status is pre.Status.BOUNDARY
    assert not solution.recession
    assert solution.certificate.proves(1e-8)
    optimum = optimum_on(np.flatnonzero(solution.mu), problem)
    true_gap = Exact.of(problem).value(solution.delta) - optimum
    assert 0 <= true_gap <= solution.gap
    assert solution.certificate.dual_value <= optimum


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("draw", [whole_numbers, absent_category, repeated_vertex])
def test_weights_hit_the_target_to_its_last_digits(draw, seed):
    problem = pre.RatioProblem(*rotated(*draw(np.random.default_rng(seed))))
    solution = pre.solve(problem, check=False)
    assert np.abs(problem.target - solution.mu @ problem.features_q).max() <= 1.2e-14
    assert abs(solution.mu.sum() - 1.0) <= 1e-15


@pytest.mark.parametrize("spread", [1.0, 3.0, 10.0, 30.0])
def test_status_boundary_is_claimed_only_with_optimal_weights(spread):
    """One-hot features with uneven base weights: within a level, optimal weights are proportional to them."""
    claimed = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, int(spread), 5])
        n, k = int(rng.integers(50, 1500)), int(rng.integers(3, 15))
        level = rng.integers(0, k, n)
        F = (level[:, None] == np.arange(k)).astype(float)
        problem_base = rng.normal(size=n) * spread
        some, w = rng.integers(0, n, 20), rng.normal(size=20) * spread
        w = np.exp(w - w.max())
        b = np.bincount(level[some], w / w.sum(), minlength=k)
        solution = pre.solve(pre.RatioProblem(b, F, problem_base), check=False)
        share = np.exp(problem_base - problem_base.max())
        optimal = b[level] * share / np.bincount(level, share, minlength=k)[level]
        if solution.status is pre.Status.BOUNDARY:
            claimed += 1
            assert 0.5 * np.abs(solution.mu - optimal).sum() <= 1e-4
            assert all(b[one.feature] == 0.0 for one in solution.recession)
    assert claimed > 5


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


def test_clocks_in_many_units_end_in_a_status():
    """Nanoseconds, hours, years and milliseconds of a few events: products with huge terms differ in round-off."""
    events = [
        [1.700082444756923e18, 22.9013213675, 2023.8723618005465, 1700082444756.0],
        [1.7000576409317e18, 16.011369916666666, 2023.8715758147546, 1700057640931.0],
        [1.700045975022668e18, 12.77083963, 2023.8712061444048, 1700045975022.0],
        [1.70006964614797e18, 19.34615221388889, 2023.871956237102, 1700069646147.0],
        [1.700045835614019e18, 12.732115005277779, 2023.8712017268113, 1700045835614.0],
        [1.70006877325112e18, 19.103680866666668, 2023.87192857667, 1700068773251.0],
    ]
    F = [events[i] for i in (0, 1, 0, 2, 3, 4, 5, 5, 5, 0)]
    target = [1.7000720153895572e18, 20.004274877, 2023.8720313138376, 1700072015389.0]
    assert isinstance(pre.solve(pre.RatioProblem(target, F), check=False).status, pre.Status)
