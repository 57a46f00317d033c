"""Constant, duplicate, collinear and badly scaled columns; more features than rows; extreme base weights."""

import numpy as np
import pytest
from zoo import OPTIMAL, of_kind, planted

import pre_convex as pre

CASES = [(0.0, 2), (0.05, 2), (0.05, np.inf), (0.05, 1)]
SOLVERS = ["newton", "CLARABEL"]


@pytest.mark.parametrize("animal", [a for a in of_kind(OPTIMAL) if a.small and a.radius == 0.0], ids=str)
def test_redundant_columns_change_neither_value_nor_weights(animal):
    """A constant column and a multiple of another column."""
    plain = animal.problem
    F = np.column_stack([plain.features_q, np.full(plain.n_q, 3.0), 2.0 * plain.features_q[:, 0]])
    target = np.append(plain.target, [3.0, 2.0 * plain.target[0]])
    solution = pre.solve(pre.RatioProblem(target, F, plain.log_base))
    free = pre.solve(plain).free_directions
    assert solution.free_directions == free + 2
    assert solution.primal_value == pytest.approx(animal.value, abs=1e-8 * (1.0 + abs(animal.value)))
    known = animal.answer.mu if animal.delta is None else np.exp(plain.log_mu(animal.delta))
    np.testing.assert_allclose(solution.mu, known, atol=1e-4 * np.sqrt(1.0 + abs(animal.value)))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("radius", "norm"), CASES)
def test_duplicate_columns_count_as_one(radius, norm, solver):
    """Without a radius and in norm 2 they share a coefficient; otherwise any split of it is optimal."""
    F = np.random.default_rng(0).normal(size=(200, 3))
    F = np.column_stack([F, F[:, 0]])
    bare, _ = planted(features=F[:, :3], norm=norm)
    problem = pre.RatioProblem(np.append(bare.target, bare.target[0]), F, bare.log_base, radius=radius, norm=norm)
    solution = pre.solve(problem, solver=solver)
    assert solution.free_directions == 1
    assert pre.certify(problem, solution.delta).proves(1e-8)
    if norm == 2:
        assert solution.delta[0] == pytest.approx(solution.delta[3], abs=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("radius", "norm"), CASES)
def test_a_constant_column_gets_coefficient_zero(radius, norm, solver):
    plain, _ = planted(n=200, k=3, radius=radius, norm=norm)
    F = np.column_stack([plain.features_q, np.full(200, 1e3)])
    problem = pre.RatioProblem(np.append(plain.target, 1e3), F, plain.log_base, radius=radius, norm=norm)
    solution = pre.solve(problem, solver=solver)
    assert solution.free_directions == 1
    np.testing.assert_allclose(solution.delta, np.append(pre.solve(plain).delta, 0.0), atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("radius", "norm"), CASES)
def test_more_features_than_rows(radius, norm, solver):
    rng = np.random.default_rng(2)
    F = rng.normal(size=(8, 12))
    mu = rng.dirichlet(np.full(8, 3.0))
    problem = pre.RatioProblem(mu @ F, F, radius=radius, norm=norm)
    solution = pre.solve(problem, solver=solver)
    assert solution.free_directions == 5  # 12 features, 8 points span 7 dimensions
    assert pre.certify(problem, solution.delta).proves(1e-8)
    if radius == 0.0:
        np.testing.assert_allclose(solution.mu, mu, atol=1e-7)
        spanned = np.linalg.pinv(F - F.mean(axis=0)) @ (F - F.mean(axis=0))
        np.testing.assert_allclose(spanned @ solution.delta, solution.delta, atol=1e-7)  # the shortest


@pytest.mark.parametrize(("radius", "norm"), CASES)
def test_columns_of_different_scale(radius, norm):
    plain, _ = planted(n=300, k=4)
    scale = np.array([1e4, 1.0, 1e-2, 1e2])
    # the radius is measured in the caller's units, so it is set to matter for the third column
    size = radius * 1e-2
    problem = pre.RatioProblem(plain.target * scale, plain.features_q * scale, plain.log_base, radius=size, norm=norm)
    solution = pre.solve(problem)
    assert solution.status.ok
    assert solution.free_directions == 0
    if radius == 0.0:
        np.testing.assert_allclose(solution.delta * scale, pre.solve(plain).delta, rtol=1e-7)


@pytest.mark.parametrize("solver", pre.installed_solvers())
def test_every_solver_copes_with_columns_of_different_scale(solver):
    plain, _ = planted(n=150, k=3)
    scale = np.array([1e6, 1e-6, 1.0])
    problem = pre.RatioProblem(plain.target * scale, plain.features_q * scale, plain.log_base)
    for formulation in ("primal", "dual"):
        delta = pre.solve(problem, formulation, solver).delta
        np.testing.assert_allclose(delta * scale, pre.solve(plain).delta, atol=1e-6)


@pytest.mark.parametrize("scales", [(1e3, 1e-3), (1e-6, 1e6)])
def test_collinear_columns_of_different_scale(scales):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x_p, x_q = rng.normal(size=(400, 2)), rng.normal(size=(400, 2)) + 0.2
        M = np.array([[1, 0, 1, 0.3, 1], [0, 1, 3, -0.7, 1]]) @ np.diag([1, 1, scales[0], 1, scales[1]])
        solution = pre.solve(pre.RatioProblem.from_samples(x_p @ M, x_q @ M))
        assert solution.free_directions == 3
        assert solution.primal_value == pytest.approx(
            pre.solve(pre.RatioProblem.from_samples(x_p, x_q)).primal_value, abs=1e-8
        )


def test_a_constant_column_beside_one_with_a_large_offset():
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(size=(150, 3)) + [0.4, 0, 1e6], rng.normal(size=(150, 3)) + [0, 0, 1e6]
    x_p[:, 1] = x_q[:, 1] = 1.0
    solution = pre.solve(pre.RatioProblem.from_samples(x_p, x_q))
    assert solution.free_directions == 1


def test_a_single_row():
    solution = pre.solve(pre.RatioProblem([2.0, 3.0], [[2.0, 3.0]]))
    np.testing.assert_array_equal(solution.delta, [0.0, 0.0])
    np.testing.assert_array_equal(solution.mu, [1.0])
    assert solution.free_directions == 2


def test_nearly_collinear_columns_are_not_free():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(400, 2))
    F = np.column_stack([F, F[:, 0] + 1e-6 * rng.normal(size=400)])
    problem, _ = planted(features=F)
    solution = pre.solve(problem)
    assert solution.status.ok
    assert solution.free_directions == 0


def test_base_weights_over_hundreds_of_orders_of_magnitude():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(200, 2))
    problem, delta = planted(features=F)
    log_base = problem.log_base + np.linspace(-700, 700, 200)
    wide = pre.RatioProblem(np.zeros(2), F, log_base)
    target = wide.gradient(delta)
    solution = pre.solve(pre.RatioProblem(target, F, log_base))
    assert solution.status.ok


@pytest.mark.parametrize("value", [0.0, 1e-9, 7.0])
@pytest.mark.parametrize(("k", "place"), [(2, 0), (4, 1), (6, 0), (6, 2), (10, 4)])
def test_a_constant_column_at_any_position_is_free(k, place, value):
    rng = np.random.default_rng(k)
    x = rng.uniform(-1.0, 1.0, (300, k))
    x[:, place] = value
    slopes = np.where(np.arange(k) == place, 0.0, rng.normal(size=k))
    problem = pre.RatioProblem.from_samples(x, x, x @ slopes, None, paired=True)
    solution = pre.solve(problem)
    assert solution.free_directions == 1
    np.testing.assert_allclose(solution.delta, slopes, atol=1e-8)


def test_only_constant_columns():
    x = np.tile([0.0, 2.0, 0.0], (20, 1))
    solution = pre.solve(pre.RatioProblem.from_samples(x, x))
    assert solution.free_directions == 3
    assert not solution.delta.any()


def test_a_radius_slightly_too_small_is_not_reported_as_boundary():
    """With columns of very different scale the bounds of the distance are far apart and decide nothing."""
    rng = np.random.default_rng(0)
    for t in range(32):  # the last of these draws was reported as BOUNDARY
        X = rng.normal(size=(40, 3))
        wide = np.column_stack([X * np.geomspace(1e-3, 1e3, 3), np.full(40, 1e3), X[:, :1] * 1e-3])
        k = [4, 4, 6, 5][t % 4]
        noise = rng.normal(size=k)
    target = wide.mean(axis=0) + 0.05 * noise * np.maximum(wide.std(axis=0), 0.1)
    problem = pre.RatioProblem(target, wide)
    radius = 0.9995 * pre.minimal_radius(problem).radius
    solution = pre.solve(problem.with_radius(radius, 2), tol=1e-6, check=False)
    assert solution.status in (pre.Status.INFEASIBLE, pre.Status.INACCURATE)
    assert solution.status is not pre.Status.INACCURATE or solution.hull.lower <= radius


@pytest.mark.parametrize("seed", range(12))
def test_more_columns_than_rows_with_large_offsets(seed):
    """Round-off of a large offset moves the target off the span of the rows."""
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 6)
    F = rng.normal(size=(n, n + 1)) + rng.choice([0.0, 100.0, 1e4], size=n + 1)
    w = rng.dirichlet(np.ones(n))
    solution = pre.solve(pre.RatioProblem(w @ F, F))
    np.testing.assert_allclose(solution.mu, w, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 7, 8, 10])
def test_infeasible_one_hot_features_with_extreme_base_weights_raise_no_warning(seed):
    rng = np.random.default_rng(seed)
    n, k = rng.integers(8, 38), 8
    F, a = np.eye(k)[rng.integers(k, size=n)], rng.uniform(-1400, 0, size=n)
    corner, beyond = rng.integers(k), 0.0443 * rng.uniform(0.5, 2)
    b = beyond * rng.choice([-1.0, 1.0], size=k)
    b[corner] = 1.0 + beyond
    solution = pre.solve(pre.RatioProblem(b, F, a, radius=0.5 * beyond, norm=np.inf), check=False)
    assert solution.status is pre.Status.INFEASIBLE
