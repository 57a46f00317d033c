"""Targets inside the hull, on its boundary and outside, each with its proof."""

import cvxpy as cp
import numpy as np
import pytest

import pre_convex as pre
from pre_convex.feasibility import Position, minimal_radius
from pre_convex.feasibility import hull as hull_module
from pre_convex.feasibility.nearest import nearest_polyhedral


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


@pytest.mark.parametrize("solver", pre.installed_solvers())
@pytest.mark.parametrize("formulation", ["primal", "dual"])
def test_every_solver_finds_infeasibility_and_solves_above_the_minimal_radius(solver, formulation):
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
    F = F @ [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]  # the face is F_2 = 0 still, and ...
    F[:, 2] -= F[:, 0]  # ... F_2 + F_0 = 0 after this, so that no column exposes it
    problem = pre.RatioProblem(F[on_face[:40]].mean(axis=0), F)
    with pytest.raises(pre.BoundaryError) as error:
        pre.solve(problem, formulation)
    solution = error.value.solution
    assert solution.status is pre.Status.BOUNDARY
    off_face = np.setdiff1d(np.arange(len(F)), on_face)
    assert np.all(solution.mu[off_face] == 0.0)
    np.testing.assert_allclose(problem.residual(solution.mu), 0.0, atol=1e-9)
    assert abs(solution.gap) <= 1e-7
    # the same weights as without the other rows
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
def test_a_target_on_an_edge_is_never_called_optimal(F, b):
    problem = pre.RatioProblem(target=b, features_q=F)
    assert pre.minimal_radius(problem).position is pre.Position.BOUNDARY
    for tol in (1e-4, 1e-8, 1e-12):
        assert pre.solve(problem, tol=tol, check=False).status is pre.Status.BOUNDARY
    assert pre.solve_many(problem, [problem.target])[0].status is pre.Status.BOUNDARY


@pytest.mark.parametrize("share", [2.5e-9, 1e-6, 1e-3, 0.3])
@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_duplicate_rows_share_their_weight_near_a_corner(share, norm):
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
def test_both_sides_of_the_boundary_are_told_apart(depth):
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


NORMS = [2, np.inf, 1]
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def check_hull(problem, hull):
    """Both sides of [HULL]: the weights are at the distance, and the direction proves that nothing is closer."""
    F, b, v = problem.features_q, problem.target, hull.direction
    scale = 1e-9 * (np.abs(b).max() + np.abs(F).max())
    assert hull.weights.min() > 0.0
    assert hull.weights.sum() == pytest.approx(1.0)
    assert problem.moment_norm(b - hull.weights @ F[hull.index]) == pytest.approx(hull.radius, abs=scale)
    positive = F[problem.log_base > -np.inf]
    if hull.position is Position.INSIDE:
        assert not v.any()
    else:
        assert problem.moment_norm.dual(v) == pytest.approx(1.0)
        assert v @ b - (positive @ v).max() == pytest.approx(hull.lower, abs=scale)
    if hull.position is Position.OUTSIDE:
        assert 0.0 < hull.lower <= hull.radius * (1 + 1e-9)
    else:
        assert (hull.radius, hull.lower) == (0.0, 0.0)
    for array in (hull.direction, hull.index, hull.weights):
        assert not array.flags.writeable


PLACES = {  # target, position, distance in the norms 2, inf and 1
    "above an edge": ([0.5, 3.0], Position.OUTSIDE, (2.0, 2.0, 2.0)),
    "beyond a corner": ([4.0, 5.0], Position.OUTSIDE, (5.0, 4.0, 7.0)),
    "below a corner": ([-3.0, -4.0], Position.OUTSIDE, (5.0, 4.0, 7.0)),
    "hardly outside": ([0.5, 1.0 + 1e-8], Position.OUTSIDE, (1e-8, 1e-8, 1e-8)),
    "on an edge": ([0.25, 1.0], Position.BOUNDARY, (0.0, 0.0, 0.0)),
    "at a corner": ([1.0, 0.0], Position.BOUNDARY, (0.0, 0.0, 0.0)),
    "inside": ([0.3, 0.6], Position.INSIDE, (0.0, 0.0, 0.0)),
    "hardly inside": ([0.3, 1.0 - 1e-3], Position.INSIDE, (0.0, 0.0, 0.0)),
}


HINTS = [(0.0, None), (1e4, None), (0.0, [0.0, 1.0]), (0.0, [0.0, 0.0])]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    ("place", "shift", "hint"),
    [(place, *way) for place in PLACES for way in HINTS if place != "hardly outside" or way[0] == 0.0],
)
def test_positions_around_a_square(place, norm, shift, hint):
    target, position, distances = PLACES[place]
    problem = pre.RatioProblem(np.array(target) + shift, SQUARE + shift, norm=norm)
    hull = minimal_radius(problem, hint=None if hint is None else np.array(hint))
    assert hull.position is position
    assert hull.radius == pytest.approx(distances[NORMS.index(norm)], rel=1e-7, abs=1e-14)
    check_hull(problem, hull)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (1e5, 1.0, 1e-5), (1e-3, 1e-3, 1e-3)])
@pytest.mark.parametrize("far", [0.0, 0.9, 1.5, 3.0])
def test_positions_around_a_cloud_in_all_units(norm, scales, far):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(300, 3)) * scales
    F = np.vstack([F, 9.0 * F])  # the second half has zero base weight
    top = F[:300][np.argmax(F[:300, 1])]
    problem = pre.RatioProblem(far * top, F, np.repeat([0.0, -np.inf], 300), norm=norm)
    hull = minimal_radius(problem)
    assert hull.position is (Position.OUTSIDE if far > 1.0 else Position.INSIDE)
    check_hull(problem, hull)


def test_hull_of_many_rows_with_columns_of_different_size():
    F = np.random.default_rng(1).normal(size=(12_000, 2)) * [1e4, 1e-4]
    for target, position in (([0.0, 1e-3], Position.OUTSIDE), ([0.0, 1e-4], Position.INSIDE)):
        problem = pre.RatioProblem(target, F)
        hull = minimal_radius(problem)
        assert hull.position is position
        check_hull(problem, hull)


@pytest.mark.parametrize("norm", NORMS)
def test_a_target_off_the_affine_span_of_all_rows(norm):
    x = np.linspace(-1.0, 1.0, 9)
    for F, target, distance in (
        (np.column_stack([x, x]), [0.3, 0.3 + 1e-6], {2: 1e-6 / np.sqrt(2), np.inf: 0.5e-6, 1: 1e-6}[norm]),
        (np.column_stack([x, np.ones(9)]), [0.3, 1.5], 0.5),
        (np.ones((3, 2)), [1.0, 2.0], 1.0),
    ):
        problem = pre.RatioProblem(target, F, norm=norm)
        hull = minimal_radius(problem)
        assert hull.position is Position.OUTSIDE
        assert hull.radius == pytest.approx(distance, rel=1e-6)
        check_hull(problem, hull)
    only = minimal_radius(pre.RatioProblem([1.0, 1.0], np.ones((3, 2)), norm=norm))
    assert only.position is Position.INSIDE  # of a hull that is one point


def sphere(n=3000):
    F = np.random.default_rng(2).normal(size=(n, 3))
    return F / np.linalg.norm(F, axis=1)[:, None]


def test_a_vertex_among_many_rows_has_a_supporting_plane():
    F = sphere()
    problem = pre.RatioProblem(F[17], F)
    hull = minimal_radius(problem)
    assert hull.position is Position.BOUNDARY
    check_hull(problem, hull)
    assert hull.direction @ F[17] > 0.99
    np.testing.assert_allclose(hull.weights @ F[hull.index], F[17], atol=1e-8)


def test_a_coarse_distance_takes_fewer_passes():
    F = np.random.default_rng(0).normal(size=(20_000, 5))
    problem = pre.RatioProblem(np.full(5, 4.0), F)
    exact, coarse = minimal_radius(problem), minimal_radius(problem, rtol=0.1)
    assert coarse.passes < exact.passes
    assert exact.radius - exact.lower <= 1e-7 * exact.radius
    assert exact.radius <= coarse.radius <= 1.2 * exact.radius
    assert coarse.lower <= exact.radius
    hinted = minimal_radius(problem, hint=exact.direction)
    assert hinted.radius == pytest.approx(exact.radius, rel=1e-7)
    assert hinted.passes <= exact.passes


def test_a_failing_least_squares_solver_is_reported(monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("too many steps")

    monkeypatch.setattr("scipy.optimize.nnls", fail)
    with pytest.raises(pre.SolveError, match="too many steps"):
        minimal_radius(pre.RatioProblem([0.5, 3.0], SQUARE))


def test_giving_up_after_many_passes_is_a_solve_error(monkeypatch):
    monkeypatch.setattr("pre_convex.feasibility.hull._Search.max_passes", 1)
    F = np.random.default_rng(0).normal(size=(20_000, 5))
    with pytest.raises(pre.SolveError, match="2 passes"):
        minimal_radius(pre.RatioProblem(np.full(5, 4.0), F))


@pytest.mark.parametrize(
    ("argument", "value"), [("rtol", 2.0), ("hint", np.zeros(3)), ("hint", np.array([1e151, 0.0]))]
)
def test_bad_input_is_refused_by_an_error_that_names_the_argument(argument, value):
    with pytest.raises(pre.DataError) as error:
        minimal_radius(pre.RatioProblem([0.5, 3.0], SQUARE), **{argument: value})
    assert error.value.argument == argument


@pytest.mark.parametrize(("depth", "position"), [(3e-10, Position.BOUNDARY), (3e-9, Position.INSIDE)])
def test_a_target_counts_as_inside_from_a_depth_of_a_billionth(depth, position):
    assert minimal_radius(pre.RatioProblem([0.5, 1.0 - depth], SQUARE)).position is position


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("depth", [1e-9, 1e-11, 1e-12])
def test_a_target_just_outside_a_face_is_separated_by_its_normal(depth, norm):
    F = half_space(60)
    problem = pre.RatioProblem(F[F[:, 2] == 0.0][:20].mean(axis=0) - [0.0, 0.0, depth], F, norm=norm)
    hull = minimal_radius(problem)
    assert hull.position is Position.OUTSIDE
    assert hull.radius == pytest.approx(depth, rel=1e-3, abs=0.0)
    np.testing.assert_allclose(hull.direction, [0.0, 0.0, -1.0], atol=1e-14)
    check_hull(problem, hull)
    assert 0.0 < hull.lower < depth  # less round-off


def test_a_separating_hint_costs_no_pass():
    F = sphere(20_000)
    problem = pre.RatioProblem(3.0 * F[17] / np.linalg.norm(F[17]), F)
    alone = minimal_radius(problem)
    hinted = minimal_radius(problem, hint=alone.direction)
    assert hinted.passes <= alone.passes <= 5
    assert hinted.radius == pytest.approx(alone.radius, rel=1e-7)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1e6), (1.0, 1e9), (1e9, 0.0), (1e-9, 0.0)])
def test_a_target_on_an_edge_is_not_outside_by_round_off(scale, shift):
    positions = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        F = scale * rng.normal(size=(3, 2)) + shift
        hull = minimal_radius(pre.RatioProblem(rng.dirichlet([1.0, 1.0]) @ F[:2], F))
        positions.add(hull.position)
    # a target that was rounded may be inside
    assert positions == {Position.BOUNDARY} if shift == 0.0 else Position.OUTSIDE not in positions


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(5))
def test_the_radius_that_an_error_advises_works(norm, seed):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(200, 4))
    problem = pre.RatioProblem(F.mean(axis=0) + rng.normal(size=4) * 4.0, F, norm=norm)
    with pytest.raises(pre.InfeasibleError) as error:
        pre.solve(problem)
    advised = error.value.advised_radius
    assert f"a radius of {advised:g} or more" in str(error.value)
    assert advised >= 1.1 * error.value.minimal_radius
    assert pre.solve(problem.with_radius(float(f"{advised:g}"))).ok


def test_without_the_p_rows_that_an_error_names_there_is_a_solution():
    """A category that the q side lacks."""
    rng = np.random.default_rng(0)
    level_p, level_q = rng.integers(0, 4, 300), rng.integers(0, 3, 300)
    x_p, x_q = ((level[:, None] == np.arange(4)).astype(float) for level in (level_p, level_q))
    with pytest.raises(pre.InfeasibleError, match="remove the p rows outside the q range of x3") as error:
        pre.KLIEP().fit(x_p, x_q)
    assert error.value.outside == ("x3",)
    assert pre.KLIEP().fit(x_p[level_p != 3], x_q).solution_.ok


@pytest.mark.parametrize("norm", [1, np.inf])
@pytest.mark.parametrize("seed", range(3))
def test_other_norms_start_from_few_rows(monkeypatch, norm, seed):
    """Extremes of columns that have no weight in the nearest point of norm 2 would make every program slow."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(1000, 5)) @ rng.normal(size=(5, 100)) + 0.3 * rng.normal(size=(1000, 100))
    b = F.mean(axis=0) + 0.5 * rng.normal(size=100)
    sizes = []

    def recorded(G, start, shared, rtol):
        sizes.append((len(G), np.count_nonzero(start)))
        return nearest_polyhedral(G, start, shared, rtol)

    monkeypatch.setattr(hull_module, "nearest_polyhedral", recorded)
    found = pre.minimal_radius(pre.RatioProblem(b, F, norm=norm))
    assert found.lower == pytest.approx(found.radius, rel=1e-7)
    rows, with_weight = sizes[0]
    assert rows <= 2 * with_weight
