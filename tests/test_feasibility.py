"""Inside, on the boundary, outside: three answers, each with its proof."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import pre_convex as pre
from pre_convex import feasibility
from pre_convex.feasibility import Hull, Position, minimal_radius
from pre_convex.norms import get_norm
from pre_convex.passes import Rows


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


NORMS = [2, np.inf, 1]
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def check_hull(problem, hull):
    """Both sides of [HULL] by hand: the weights reach the distance, and the direction shows that nothing is closer."""
    F, b, v = problem.features_q, problem.target, hull.direction
    scale = 1e-9 * (np.abs(b).max() + np.abs(F).max())
    assert hull.weights.min() > 0.0
    assert hull.weights.sum() == pytest.approx(1.0)
    assert problem.ball(b - hull.weights @ F[hull.index]) == pytest.approx(hull.radius, abs=scale)
    alive = F[problem.log_base > -np.inf]
    if hull.position is Position.INSIDE:
        assert not v.any()
    else:
        assert problem.ball.dual(v) == pytest.approx(1.0)
        assert v @ b - (alive @ v).max() == pytest.approx(hull.lower, abs=scale)
    if hull.position is Position.OUTSIDE:
        assert 0.0 < hull.lower <= hull.radius * (1 + 1e-9)
    else:
        assert (hull.radius, hull.lower) == (0.0, 0.0)
    for part in (hull.direction, hull.index, hull.weights):
        assert not part.flags.writeable


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


WAYS = [(0.0, None), (1e4, None), (0.0, [0.0, 1.0]), (0.0, [0.0, 0.0])]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    ("place", "shift", "hint"),
    [(place, *way) for place in PLACES for way in WAYS if place != "hardly outside" or way[0] == 0.0],
)
def test_a_square_from_everywhere(place, norm, shift, hint):
    target, position, distances = PLACES[place]
    problem = pre.RatioProblem(np.array(target) + shift, SQUARE + shift, norm=norm)
    hull = minimal_radius(problem, hint=None if hint is None else np.array(hint))
    assert hull.position is position
    assert hull.radius == pytest.approx(distances[NORMS.index(norm)], rel=1e-7, abs=1e-14)
    check_hull(problem, hull)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (1e5, 1.0, 1e-5), (1e-3, 1e-3, 1e-3)])
@pytest.mark.parametrize("far", [0.0, 0.9, 1.5, 3.0])
def test_a_cloud_from_inside_to_outside(norm, scales, far):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(300, 3)) * scales
    F = np.vstack([F, 9.0 * F])  # rows without weight are no part of it
    top = F[:300][np.argmax(F[:300, 1])]
    problem = pre.RatioProblem(far * top, F, np.repeat([0.0, -np.inf], 300), norm=norm)
    hull = minimal_radius(problem)
    assert hull.position is (Position.OUTSIDE if far > 1.0 else Position.INSIDE)
    check_hull(problem, hull)


def test_many_rows_are_looked_at_by_way_of_a_sample():
    F = np.random.default_rng(1).normal(size=(12_000, 2)) * [1e4, 1e-4]
    for target, position in (([0.0, 1e-3], Position.OUTSIDE), ([0.0, 1e-4], Position.INSIDE)):
        problem = pre.RatioProblem(target, F)
        hull = minimal_radius(problem)
        assert hull.position is position
        check_hull(problem, hull)


@pytest.mark.parametrize("norm", NORMS)
def test_a_target_off_the_plane_of_all_rows(norm):
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
    assert only.position is Position.INSIDE  # of the one point that there is


def watched(monkeypatch, name):
    """Arguments of the calls of a function of the module."""
    calls, real = [], getattr(feasibility, name)
    monkeypatch.setattr(feasibility, name, lambda *args: calls.append(args) or real(*args))
    return calls


def sphere(n=3000):
    F = np.random.default_rng(2).normal(size=(n, 3))
    return F / np.linalg.norm(F, axis=1)[:, None]


def test_a_vertex_among_many_has_a_plane_of_its_own():
    F = sphere()
    problem = pre.RatioProblem(F[17], F)
    hull = minimal_radius(problem)
    assert hull.position is Position.BOUNDARY
    check_hull(problem, hull)
    assert hull.direction @ F[17] > 0.99
    np.testing.assert_allclose(hull.weights @ F[hull.index], F[17], atol=1e-8)


@pytest.mark.parametrize(
    ("F", "target"),
    [
        (SQUARE, [0.5, 3.0]),
        (SQUARE, [0.25, 1.0]),
        (SQUARE, [0.3, 0.6]),
        (sphere(), sphere()[17]),
        (sphere() * [1e6, 1e-6, 1.0], [0.0, 1e-5, 0.0]),  # outside, which coordinates of equal spread show
    ],
)
def test_the_passes_that_are_counted_are_those_that_were_made(monkeypatch, F, target):
    made, spanned = watched(monkeypatch, "support"), watched(monkeypatch, "coordinates")
    hull = minimal_radius(pre.RatioProblem(target, F))
    assert hull.passes == len(made) + len(spanned)  # one to see what the rows span
    assert len(spanned) == (0 if len(F) == 4 and hull.position is Position.OUTSIDE else 1)


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


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_small_solvers_of_the_distance_prove_their_answer(norm, scale):
    ball = get_norm(norm)
    for seed in range(3):
        G = scale * (np.random.default_rng(seed).normal(size=(8, 3)) + [1.5, -2.0, 1.0])
        mu, v = feasibility._nearest(ball)(G)
        assert mu.min() >= 0.0
        assert mu.sum() == pytest.approx(1.0)
        v = feasibility._unit(ball, v)
        assert ball.dual(v) == pytest.approx(1.0)
        assert (G @ v).min() == pytest.approx(ball(mu @ G), rel=1e-6)
    mu, v = feasibility._nearest(ball)(np.zeros((2, 3)))
    assert mu.sum() == pytest.approx(1.0)
    assert not feasibility._unit(ball, np.zeros(3)).any()


@pytest.mark.parametrize("norm", NORMS)
def test_a_small_solver_that_gives_up_says_so(monkeypatch, norm):
    import scipy.optimize

    def fail(*args, **kwargs):
        if norm == 2:
            raise RuntimeError("too many steps")
        return scipy.optimize.OptimizeResult(status=1, message="too many steps")

    monkeypatch.setattr(scipy.optimize, "nnls" if norm == 2 else "linprog", fail)
    with pytest.raises(pre.SolveError, match=r"^distance to the hull: too many steps$"):
        minimal_radius(pre.RatioProblem([0.5, 3.0], SQUARE, norm=norm))


def test_too_many_passes_are_a_failure_that_says_how_far_it_came(monkeypatch):
    monkeypatch.setattr(feasibility, "PASSES", 2)
    F = np.random.default_rng(0).normal(size=(20_000, 5))
    with pytest.raises(pre.SolveError, match=r"^distance to the hull: between \S+ and \S+ after 2 passes$"):
        minimal_radius(pre.RatioProblem(np.full(5, 4.0), F))


def test_a_hull_is_read_only():
    hull = Hull(Position.OUTSIDE, 1.0, 1.0, np.ones(2), np.array([3]), np.ones(1), 1)
    for name in ("direction", "index", "weights"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(hull, name)[0] = 0


@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (1e3, 1e-3, 10.0)])
def test_a_direction_that_leans_is_set_square_to_its_face(scales):
    F = half_space()[:, :3] * scales + [0.0, 0.0, 5.0]  # a face with many rows, at height 5
    rows = pre.RatioProblem(np.zeros(3), F).rows
    lean = np.array([1e-12, -2e-12, -1.0]) / scales
    for v in (lean, 3.0 * lean):
        squares = feasibility._square_to_face(rows, v)
        assert len(squares) == 3
        for square in squares:
            np.testing.assert_allclose(square, [0.0, 0.0, v[2]], atol=1e-18)
    corner = feasibility._square_to_face(pre.RatioProblem([0.0, 0.0], SQUARE).rows, np.array([1.0, 1.0]))
    np.testing.assert_array_equal(corner, [[1.0, 1.0]] * 3)  # a face of one row has no directions


def test_a_face_is_as_deep_as_a_share_of_the_range():
    # of heights from -400 to 600; the second row is deeper than the first of three shares, and part of the next faces
    F = np.array([[0.0, 0.0, 600.0], [1.0, 0.0, 600.0 - 9e-5], [0.0, 3.0, -400.0], [0.0, 1.0, 600.0 - 0.011]])
    v = np.array([0.0, 0.0, 1.0])
    shallow, *deep = feasibility._square_to_face(pre.RatioProblem(np.zeros(3), F).rows, v)
    np.testing.assert_array_equal(shallow, v)
    for square in deep:  # each column in its own unit
        np.testing.assert_allclose(square, [4.5e-5, 0.0, 0.5], rtol=1e-6, atol=1e-12)


def test_a_distance_is_charged_with_its_round_off():
    found = feasibility._surely(2.0, np.array([0.5, -1.0]), np.array([1e8, 0.0]), np.array([0.0, -3.0]))
    assert 2.0 - found == pytest.approx(4 * np.finfo(float).eps * (0.5e8 + 3.0), rel=1e-6)


def test_a_plane_that_takes_too_many_passes_is_a_failure_that_says_so(monkeypatch):
    F = sphere(500)
    rows, some, eye = pre.RatioProblem(F[17], F).rows, np.array([3, 17, 40, 200]), np.eye(3)
    v, passes = feasibility._supporting_direction(rows, F[17], some, eye)
    assert (F @ v).max() - F[17] @ v <= 1e-9
    monkeypatch.setattr(feasibility, "PASSES", passes - 1)
    with pytest.raises(pre.SolveError, match=rf"^supporting plane: not found in {passes - 1} passes$"):
        feasibility._supporting_direction(rows, F[17], some, eye)


def test_a_distance_is_refused_by_the_name_of_what_is_wrong():
    problem = pre.RatioProblem([0.5, 3.0], SQUARE)
    with pytest.raises(pre.DataError, match=r"^rtol: 2\.0 is not between 0 and 1"):
        minimal_radius(problem, rtol=2.0)
    with pytest.raises(pre.DataError, match=r"^hint: has 3 entries where 2 are needed"):
        minimal_radius(problem, hint=np.zeros(3))
    with pytest.raises(pre.DataError, match=r"^hint: holds 1e\+151"):
        minimal_radius(problem, hint=np.array([1e151, 0.0]))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("depth", [1e-9, 1e-11, 1e-12])
def test_a_target_just_below_a_face_is_outside_by_the_direction_square_to_it(monkeypatch, depth, norm):
    made, real = [], feasibility.support
    monkeypatch.setattr(feasibility, "support", lambda *args: made.append(1) or real(*args))
    F = half_space(60)
    problem = pre.RatioProblem(F[F[:, 2] == 0.0][:20].mean(axis=0) - [0.0, 0.0, depth], F, norm=norm)
    hull = minimal_radius(problem)
    assert hull.position is Position.OUTSIDE
    assert hull.radius == pytest.approx(depth, rel=1e-3, abs=0.0)
    np.testing.assert_allclose(hull.direction, [0.0, 0.0, -1.0], atol=1e-20)
    check_hull(problem, hull)
    charge = 4 * np.finfo(float).eps * (np.abs(problem.target[2]) + np.ptp(F[:, 2]))
    assert depth - hull.lower == pytest.approx(charge, rel=1e-6, abs=0.0)
    assert hull.passes == len(made) + 1  # one more to see what the rows span


@pytest.mark.parametrize(
    ("hint", "directions", "count"),
    [
        (None, [[1, 0, -1, 0], [0, 1, 0, -1]], 2),
        ([3.0, 4.0], [[1, 0, -1, 0, 3], [0, 1, 0, -1, 4]], 8),  # a hint brings its rows, and more of the others
        ([0.0, 0.0], [[1, 0, -1, 0], [0, 1, 0, -1]], 8),  # which is no direction
    ],
)
def test_the_first_look_is_along_the_axes_and_along_a_hint(monkeypatch, hint, directions, count):
    calls = watched(monkeypatch, "support")
    minimal_radius(pre.RatioProblem([0.5, 3.0], SQUARE), hint=hint)
    np.testing.assert_array_equal(calls[0][1], directions)
    assert calls[0][2] == count


def test_a_hint_that_separates_ends_the_search_with_the_next_pass():
    F = sphere(20_000)
    problem = pre.RatioProblem(3.0 * F[17] / np.linalg.norm(F[17]), F)
    alone = minimal_radius(problem)
    hinted = minimal_radius(problem, hint=alone.direction)
    assert hinted.passes == 2 < alone.passes
    assert hinted.radius == pytest.approx(alone.radius, rel=1e-7)


@pytest.mark.parametrize(("height", "lower"), [(3.0, 2.0), (1.5, 0.5)])
def test_a_distance_that_shows_at_once_takes_two_passes_and_is_charged_with_round_off(height, lower):
    F, target = 2.0 * SQUARE - 1.0, np.array([0.0, height])
    hull = minimal_radius(pre.RatioProblem(target, F))
    assert hull.passes == 2
    assert hull.lower == pytest.approx(lower, rel=1e-12)
    shown = hull.direction @ target - (F @ hull.direction).max()
    assert shown - hull.lower == pytest.approx(4 * np.finfo(float).eps * (height + 2.0), rel=0.1, abs=0.0)


@pytest.mark.parametrize(("n", "sample"), [(10_000, None), (10_001, 5000)])
def test_coordinates_of_many_rows_come_from_a_sample(monkeypatch, n, sample):
    calls = watched(monkeypatch, "coordinates")
    F = np.random.default_rng(0).normal(size=(n, 2))
    assert minimal_radius(pre.RatioProblem([0.0, 0.0], F)).position is Position.INSIDE
    ((rows, some),) = calls
    assert rows.shape == (n, 2)
    if sample is None:
        assert some is None
    else:
        assert some.shape == rows.sample(sample).shape


def test_no_direction_is_set_square_to_a_face_for_a_target_at_no_distance(monkeypatch):
    calls = watched(monkeypatch, "_square_to_face")
    assert minimal_radius(pre.RatioProblem([0.0, 0.0], SQUARE)).position is Position.BOUNDARY
    assert not calls
    rng = np.random.default_rng(0)
    for _ in range(5):  # inside there is no face
        assert minimal_radius(pre.RatioProblem(rng.uniform(0.1, 0.9, 2), SQUARE)).position is Position.INSIDE
    assert not calls


def test_a_direction_square_to_all_rows_stays_as_it_is():
    v = np.array([0.0, 0.0, 2.0])
    rows = pre.RatioProblem(np.zeros(3), np.column_stack([SQUARE, np.zeros(4)])).rows
    np.testing.assert_array_equal(feasibility._square_to_face(rows, v), [v] * 3)


@pytest.mark.parametrize(("apart", "looked"), [(9.9, False), (10.1, True), (1e6, True)])
def test_bounds_of_a_distance_that_are_far_apart_are_looked_at_once_more(monkeypatch, apart, looked):
    real, calls = feasibility._distance, watched(monkeypatch, "coordinates")

    def rough(*args):
        hull = real(*args)
        return replace(hull, lower=hull.radius * (1 - 1e-7 * apart)) if not calls else hull

    monkeypatch.setattr(feasibility, "_distance", rough)
    hull = minimal_radius(pre.RatioProblem([0.5, 3.0], SQUARE))
    assert hull.position is Position.OUTSIDE
    assert len(calls) == looked
    assert hull.lower == pytest.approx(2.0 if looked else 2.0 * (1 - 1e-7 * apart), rel=1e-12)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1e6), (1.0, 1e9), (1e9, 0.0), (1e-9, 0.0)])
def test_a_target_on_an_edge_is_not_outside_by_the_round_off_of_large_numbers(scale, shift):
    positions = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        F = scale * rng.normal(size=(3, 2)) + shift
        hull = minimal_radius(pre.RatioProblem(rng.dirichlet([1.0, 1.0]) @ F[:2], F))
        positions.add(hull.position)
    # what was rounded before may be inside by as much
    assert positions == {Position.BOUNDARY} if shift == 0.0 else Position.OUTSIDE not in positions


# parts, with answers by hand


def distance_of(rows, b, scale, index, norm=2, basis=None):
    b = np.array(b, dtype=float)
    basis = np.eye(b.size) if basis is None else basis
    return feasibility._distance(rows, b, get_norm(norm), scale, np.array(index), 1e-7, basis)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("origin", "b", "size"), [([1e6], 1e6, 2e6), (None, 1e4, 1e4), (None, 0.0, 0.0)])
def test_a_distance_below_the_round_off_of_numbers_so_large_is_none(norm, origin, b, size):
    F = np.array([[b - (1e-6 * size or 1e-13)], [b]]) + (0.0 if origin is None else origin[0])
    rows = Rows(F, np.zeros(2), None if origin is None else np.array(origin))
    inside = distance_of(rows, [b + 0.8e-13 * size], 0.0, [0, 1], norm)
    assert (inside.position, inside.radius, inside.lower, inside.passes) == (Position.INSIDE, 0.0, 0.0, 1)
    away = 1.3e-13 * size or 1e-14
    outside = distance_of(rows, [b + away], 0.0, [0, 1], norm)
    assert outside.position is Position.OUTSIDE
    assert outside.radius == outside.lower == pytest.approx(away, rel=1e-3, abs=0.0)


def test_one_point_is_at_no_distance_from_itself():
    hull = distance_of(Rows(np.zeros((3, 2)), np.zeros(3)), [0.0, 0.0], 0.0, [0])
    assert (hull.position, hull.radius, hull.passes) == (Position.INSIDE, 0.0, 1)


def test_a_distance_that_counts_as_none_is_none_whatever_planes_were_seen_before():
    # the first row is lower than the edge of the other two, and is all that is known at first
    rows = Rows(np.array([[0.0, -1e-9], [-1.0, 0.0], [1.0, 0.0], [0.0, -1.0]]), np.zeros(4))
    hull = distance_of(rows, [0.0, 1e-11], 1.0, [0])
    assert (hull.position, hull.radius, hull.lower, hull.passes) == (Position.INSIDE, 0.0, 0.0, 2)
    beyond = distance_of(rows, [0.0, 1e-9], 1.0, [0])
    assert beyond.position is Position.OUTSIDE
    assert beyond.radius == pytest.approx(1e-9, rel=1e-6, abs=0.0)


@pytest.mark.parametrize(("known", "kept"), [(119, True), (120, False)])  # forty for each feature, and forty more
def test_rows_without_weight_are_dropped_once_there_are_many(monkeypatch, known, kept):
    sizes, real = [], feasibility._nearest_euclidean
    monkeypatch.setattr(feasibility, "_nearest_euclidean", lambda G: sizes.append(len(G)) or real(G))
    F = np.random.default_rng(0).normal(size=(400, 2))
    F = F[np.argsort(F[:, 1])]  # the highest rows are not known at first
    hull = distance_of(Rows(F, np.zeros(400)), [0.0, 9.0], 1.0, range(known))
    assert hull.radius - hull.lower <= 1e-7 * hull.radius
    assert sizes[0] == known
    new = feasibility.ROWS_PER_PASS
    assert sizes[1] == known + new if kept else new < sizes[1] <= new + 2


def supporting(F, b, index=None, basis=None):
    """The plane that was found, after a look at whether it supports."""
    F, b = np.asarray(F, dtype=float), np.asarray(b, dtype=float)
    rows = Rows(F, np.zeros(len(F)))
    index = np.arange(len(F)) if index is None else np.asarray(index)
    v, passes = feasibility._supporting_direction(rows, b, index, np.eye(b.size) if basis is None else basis)
    assert (F @ v).max() - v @ b <= 1e-9 * max(1.0, np.abs(F).max())
    return v, passes


@pytest.mark.parametrize("shift", [-5.0, 0.0, 5.0])
@pytest.mark.parametrize("edge", [([1.0, 0.0], [1.0, 0.5]), ([-1.0, 0.0], [0.0, 0.5]), ([0.0, 1.0], [0.5, 1.0])])
def test_a_supporting_plane_is_as_steep_as_its_bounds_allow(edge, shift):
    v, passes = supporting(SQUARE + shift, np.array(edge[1]) + shift)
    np.testing.assert_allclose(v, edge[0], atol=1e-9)
    assert passes == 1


@pytest.mark.parametrize("shift", [-5.0, 0.0, 5.0])
def test_a_plane_that_supports_all_rows_is_found_from_a_few_of_its_face(shift):
    F = half_space() + shift
    face = np.flatnonzero(F[:, 2] == shift)[:20]
    high = np.flatnonzero(F[:, 2] > shift)[:5]
    v, passes = supporting(F, F[face].mean(axis=0), np.union1d(face, high))
    np.testing.assert_allclose(v / np.abs(v).max(), [0.0, 0.0, -1.0], atol=1e-8)
    assert passes == 1  # although it has found more rows of the face


def test_one_row_beyond_the_first_plane_turns_it():
    F = np.vstack([SQUARE, [[0.5, 1.9]]])
    v, passes = supporting(F, [0.0, 1.0], range(4))
    assert v.any()
    assert passes == 2


def test_a_plane_of_large_numbers_is_found_although_round_off_is_larger_than_its_tolerance():
    F = 1e8 * np.array([[0.0, 1.0], [3.0, 0.0], [0.0, -2.0], [-1.0, 0.3]])
    v, passes = supporting(F, [1e8, 2e8 / 3.0])
    assert v[1] / v[0] == pytest.approx(3.0, rel=1e-9)
    assert passes == 1


@pytest.mark.parametrize(("depth", "inside"), [(3e-10, False), (9e-10, False), (1.2e-9, True), (3e-9, True)])
def test_a_target_below_a_face_by_little_is_on_it(depth, inside):
    v, passes = supporting(SQUARE, [0.5, 1.0 - depth])
    assert (not v.any()) is inside
    assert passes == (0 if inside else 1)


@pytest.mark.parametrize(("drop", "inside"), [(1.1e-4, False), (0.9e-4, True)])
def test_rows_that_hardly_come_down_from_a_plane_are_all_on_it(drop, inside):
    F = np.column_stack([SQUARE, [0.0, 0.0, 0.0, -4.0 * drop]])
    v, _ = supporting(F, [0.5, 0.5, 0.0])
    assert (not v.any()) is inside


def test_a_linear_program_that_fails_shows_no_plane(monkeypatch):
    import scipy.optimize

    failed = scipy.optimize.OptimizeResult(status=4, x=None, fun=None, message="numerical difficulties")
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *args, **kwargs: failed)
    v, passes = supporting(SQUARE, [0.5, 1.0])
    assert (v.any(), passes) == (False, 0)
