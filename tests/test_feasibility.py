"""Inside, on the boundary, outside: three answers, each with its proof."""

import cvxpy as cp
import numpy as np
import pytest

import pre_convex as pre


def shifted(norm=2, n=2000):
    rng = np.random.default_rng(0)
    x_q, x_p = rng.normal(size=(n, 5)), rng.normal(size=(n, 5))
    x_p[:, 2] += 6.0
    return pre.RatioProblem.from_samples(x_p, x_q, norm=norm)


@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_outside_the_hull(norm):
    problem = shifted(norm)
    with pytest.raises(pre.InfeasibleError) as error:
        pre.solve(problem)
    mu = cp.Variable(problem.n_q, nonneg=True)
    distance = cp.norm(problem.target - problem.features_q.T @ mu, norm)
    reference = cp.Problem(cp.Minimize(distance), [cp.sum(mu) == 1])
    reference.solve(solver="CLARABEL")
    assert error.value.minimal_radius == pytest.approx(reference.value, rel=1e-6)
    v = error.value.direction
    assert (problem.features_q @ v).max() < v @ problem.target
    message = str(error.value)
    assert "x2" in message
    assert f"{error.value.minimal_radius:.6g}" in message
    for remedy in ("radius", "more q samples", "fewer features"):
        assert remedy in message


@pytest.mark.parametrize("solver", pre.installed_solvers())
@pytest.mark.parametrize("formulation", ["primal", "dual"])
def test_every_engine_says_infeasible_and_recovers_above_the_minimal_radius(solver, formulation):
    problem = shifted(n=200)
    solution = pre.solve(problem, formulation, solver, check=False)
    assert solution.status is pre.Status.INFEASIBLE
    assert solution.hull.radius > 0.0
    relaxed = pre.solve(problem.with_radius(1.5 * solution.hull.radius), formulation, solver)
    assert relaxed.status is pre.Status.OPTIMAL


def test_a_radius_that_is_too_small_is_infeasible_too():
    problem = shifted(n=300)
    radius = pre.minimal_radius(problem).radius
    with pytest.raises(pre.InfeasibleError):
        pre.solve(problem.with_radius(0.9 * radius))
    assert pre.solve(problem.with_radius(1.001 * radius)).status.ok


def half_space(n=400, seed=0):
    """Rows above a plane, many of them on it."""
    F = np.random.default_rng(seed).normal(size=(n, 3))
    F[:, 2] = np.maximum(F[:, 2], 0.0)
    return F


@pytest.mark.parametrize("formulation", ["primal", "dual"])
def test_on_a_face_the_weights_exist_and_delta_does_not(formulation):
    F = half_space()
    on_face = np.flatnonzero(F[:, 2] == 0.0)
    problem = pre.RatioProblem(F[on_face[:40]].mean(axis=0), F)
    with pytest.raises(pre.BoundaryError) as error:
        pre.solve(problem, formulation)
    solution = error.value.solution
    assert solution.status is pre.Status.BOUNDARY
    np.testing.assert_allclose(solution.hull.direction, [0.0, 0.0, -1.0], atol=1e-8)
    off_face = np.setdiff1d(np.arange(len(F)), on_face)
    assert np.all(solution.mu[off_face] == 0.0)
    np.testing.assert_allclose(problem.moment(solution.mu), 0.0, atol=1e-9)
    assert abs(solution.gap) <= 1e-7
    # the same weights as a problem that never heard of the other rows
    alone = pre.solve(pre.RatioProblem(problem.target, F[on_face]))
    np.testing.assert_allclose(solution.mu[on_face], alone.mu, atol=1e-7)
    assert pre.solve(problem.with_radius(0.01)).status.ok


@pytest.mark.parametrize(
    ("F", "b"),
    [
        ([[0, 0], [4, 0], [4, 2], [2, 4], [0, 2], [2, 1]], [3, 3]),
        ([[0, 0], [6, 0], [6, 1], [3, 2], [0, 2], [2, 1]], [4.5, 1.5]),
        ([[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]], [1, 2]),
    ],
)
def test_an_edge_of_few_rows_is_no_optimum_however_small_the_last_gradient(F, b):
    problem = pre.RatioProblem(target=b, features_q=F)
    assert pre.minimal_radius(problem).position is pre.Position.BOUNDARY
    for tol in (1e-4, 1e-8, 1e-12):
        assert pre.solve(problem, tol=tol, check=False).status is pre.Status.BOUNDARY
    assert pre.solve_many(problem, [problem.target])[0].status is pre.Status.BOUNDARY


@pytest.mark.parametrize("share", [2.5e-9, 1e-6, 1e-3, 0.3])
@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_rows_in_one_place_share_their_weight_however_close_to_a_corner_the_target_is(share, norm):
    F = np.array([[0, 0]] * 3 + [[1, 1], [-1, 1], [2, 4]], dtype=float)
    problem = pre.RatioProblem([share, share], F, norm=norm)
    solution = pre.solve(problem, check=False)
    assert solution.status is pre.Status.BOUNDARY
    mu = np.array([(1 - share) / 3] * 3 + [share, 0, 0])
    np.testing.assert_allclose(solution.mu, mu, atol=1e-9)
    assert solution.dual_value == pytest.approx(problem.dual_value(mu), abs=1e-8)
    assert solution.gap <= 1e-7


def test_at_a_vertex_all_weight_is_on_one_row():
    F = np.random.default_rng(1).normal(size=(100, 2))
    corner = int(np.argmax(F @ [1.0, 0.5]))
    with pytest.raises(pre.BoundaryError) as error:
        pre.solve(pre.RatioProblem(F[corner], F))
    np.testing.assert_allclose(error.value.solution.mu, np.eye(100)[corner], atol=1e-12)


@pytest.mark.parametrize("depth", [1e-2, 1e-4, 1e-6])
def test_near_the_boundary_both_sides_are_told_apart(depth):
    F = half_space()
    on_face = F[F[:, 2] == 0.0][:40].mean(axis=0)
    inside = pre.solve(pre.RatioProblem(on_face + [0, 0, depth], F))
    assert inside.status is pre.Status.OPTIMAL
    outside = pre.solve(pre.RatioProblem(on_face - [0, 0, depth], F), check=False)
    assert outside.status is pre.Status.INFEASIBLE
    assert outside.hull.radius == pytest.approx(depth, rel=1e-6)
    assert pre.minimal_radius(pre.RatioProblem(on_face + [0, 0, depth], F)).position is pre.Position.INSIDE


def test_a_constant_column_that_the_target_misses():
    F = np.column_stack([np.random.default_rng(0).normal(size=(50, 2)), np.ones(50)])
    with pytest.raises(pre.InfeasibleError) as error:
        pre.solve(pre.RatioProblem([0.0, 0.0, 1.5], F))
    assert error.value.minimal_radius == pytest.approx(0.5, rel=1e-9)


def test_columns_of_very_different_size_do_not_hide_a_distance():
    F = np.random.default_rng(0).normal(size=(200, 2)) * [1e6, 1e-6]
    solution = pre.solve(pre.RatioProblem([0.0, 1e-5], F), check=False)
    assert solution.status is pre.Status.INFEASIBLE


def test_distance_at_a_million_rows_takes_few_passes():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(1_000_000, 4))
    hull = pre.minimal_radius(pre.RatioProblem([7.0, 0.0, 0.0, 0.0], F))
    assert hull.position is pre.Position.OUTSIDE
    assert hull.passes <= 8
    assert hull.radius - hull.lower <= 1e-6 * hull.radius


def test_a_solver_that_gives_up_is_not_called_infeasible(monkeypatch):
    from pre_convex.solvers import CONE_SOLVERS, ConeSolver

    monkeypatch.setitem(CONE_SOLVERS, "CLARABEL", ConeSolver("CLARABEL", lambda tol: {"no_such_option": 1}))
    problem = shifted(n=200)
    inside = pre.RatioProblem(np.zeros(5), problem.features_q)
    with pytest.raises(pre.SolveError) as error:
        pre.solve(inside, solver="CLARABEL")
    assert not isinstance(error.value, (pre.InfeasibleError, pre.BoundaryError))
    assert error.value.solution.status is pre.Status.FAILED
