"""Both bounds on the distance to the hull, in all norms and units: exact in rational arithmetic, and close."""

import tracemalloc
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

import pre_convex as pre
from pre_convex.feasibility import Position, minimal_radius

NORMS = [2, np.inf, 1]


def exact_norm(x, order):
    """Norm of a vector of fractions: its square for order 2, so that it is rational."""
    return {2: lambda: sum(v * v for v in x), np.inf: lambda: max(map(abs, x)), 1: lambda: sum(map(abs, x))}[order]()


def assert_bounds_hold(problem, hull):
    """In exact arithmetic, the direction separates by ``lower`` and the weights are at the distance ``radius``."""
    F = [[Fraction(x) for x in row] for row in problem.features_q[problem.log_base > -np.inf].tolist()]
    b, v = ([Fraction(x) for x in array.tolist()] for array in (problem.target, hull.direction))
    margin = sum(x * y for x, y in zip(v, b, strict=True)) - max(
        sum(x * y for x, y in zip(v, f, strict=True)) for f in F
    )
    order = problem.norm
    dual = exact_norm(v, {2: 2, np.inf: 1, 1: np.inf}[order])
    lower, power = Fraction(hull.lower), 2 if order == 2 else 1
    assert margin > 0
    assert lower**power * dual <= margin**power * (1 + Fraction(1, 10**12))
    weights = [Fraction(x) for x in hull.weights.tolist()]
    rows = [[Fraction(x) for x in row] for row in problem.features_q[hull.index].tolist()]
    total = sum(weights)
    r = [b[i] - sum(w * f[i] for w, f in zip(weights, rows, strict=True)) / total for i in range(len(b))]
    spread = np.abs(problem.features_q[hull.index] - problem.target).max(axis=0)
    round_off = Fraction(float(problem.moment_norm(spread))) * Fraction(1, 10**15)
    assert exact_norm(r, order) <= (Fraction(hull.radius) + round_off) ** power * (1 + Fraction(1, 10**12))
    assert hull.lower <= hull.radius * (1.0 + 1e-9)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("digits", [0, 3, 6])
@pytest.mark.parametrize("shape", [(12, 3), (40, 5), (15, 20), (200, 8)])
def test_bounds_bracket_the_distance_in_all_units(shape, digits, norm):
    for seed in range(4):
        rng = np.random.default_rng([*shape, digits, seed])
        units = 10.0 ** rng.uniform(-digits, digits, shape[1])
        F = rng.normal(size=shape) * units
        problem = pre.RatioProblem(F.max(axis=0) + rng.exponential(size=shape[1]) * units, F, norm=norm)
        hull = minimal_radius(problem)
        assert hull.position is Position.OUTSIDE
        assert_bounds_hold(problem, hull)
        assert hull.radius - hull.lower <= 1e-6 * hull.radius


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape", [(30, 4), (20, 30), (300, 6)])
def test_the_distance_is_that_of_a_cone_solver(shape, norm):
    rng = np.random.default_rng(shape)
    problem = pre.RatioProblem(3.0 * rng.normal(size=shape[1]), rng.normal(size=shape), norm=norm)
    mu = cp.Variable(shape[0], nonneg=True)
    program = cp.Problem(cp.Minimize(cp.norm(problem.target - problem.features_q.T @ mu, norm)), [cp.sum(mu) == 1])
    program.solve(solver="CLARABEL")
    hull = minimal_radius(problem)
    assert hull.lower <= program.value * (1 + 1e-6)
    assert hull.radius == pytest.approx(program.value, rel=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_a_known_distance_in_a_column_of_small_numbers(norm):
    """One column is beyond its range by a known amount, tiny next to the other columns."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        F = rng.normal(size=(200, 3)) * [1e6, 1e-3, 1.0]
        target = F[np.argmax(F[:, 1])].copy()
        target[1] += 1e-3 * 10.0 ** rng.uniform(-8, -3)
        distance = target[1] - F[:, 1].max()
        hull = minimal_radius(pre.RatioProblem(target, F, norm=norm))
        assert hull.position is Position.OUTSIDE
        assert hull.radius == pytest.approx(distance, rel=1e-6, abs=0.0)
        assert hull.lower == pytest.approx(distance, rel=1e-3, abs=0.0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape", [(38, 187), (60, 150)])
def test_more_columns_than_rows_have_a_distance_and_a_solution_beyond_it(shape, norm):
    rng = np.random.default_rng(0)
    problem = pre.RatioProblem(rng.normal(size=shape).mean(axis=0), rng.normal(size=shape), norm=norm)
    with pytest.raises(pre.InfeasibleError) as error:
        pre.solve(problem)
    hull = error.value.hull
    assert hull.radius - hull.lower <= 1e-6 * hull.radius
    with pytest.raises(pre.InfeasibleError):
        pre.solve(problem.with_radius(0.99 * hull.lower))
    assert pre.solve(problem.with_radius(1.01 * hull.radius)).status.ok


def one_hot(n=3000):
    rng = np.random.default_rng(0)
    groups = [np.eye(g)[rng.integers(0, g, n)] for g in (3, 8, 5)]
    return np.hstack([*groups, rng.normal(size=(n, 2)) * [1e5, 1e-2]])


@pytest.mark.parametrize(
    ("change", "position"),
    [
        (np.zeros(18), Position.INSIDE),
        (np.eye(18)[0] * 0.1 - np.eye(18)[1] * 0.1, Position.INSIDE),
        (np.eye(18)[0] * 0.1, Position.OUTSIDE),  # the levels of a factor no longer sum to one
        (np.eye(18)[17] * 1e-1, Position.OUTSIDE),
    ],
)
def test_the_position_of_one_hot_features_does_not_depend_on_the_norm(change, position):
    F = one_hot()
    hulls = [minimal_radius(pre.RatioProblem(F.mean(axis=0) + change, F, norm=norm)) for norm in NORMS]
    assert {hull.position for hull in hulls} == {position}
    for hull in hulls:
        assert hull.radius - hull.lower <= 1e-6 * hull.radius


def test_a_level_that_the_target_lacks_is_a_face():
    F = one_hot()
    target = F[F[:, 0] == 0.0].mean(axis=0)
    for norm in NORMS:
        hull = minimal_radius(pre.RatioProblem(target, F, norm=norm))
        assert hull.position is Position.BOUNDARY
        off_face = F[F[:, 0] == 1.0] - target
        assert (off_face @ hull.direction).max() < 0.0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("far", [0.0, 1.0, 5.0])
def test_a_search_needs_little_memory(norm, far):
    F = np.random.default_rng(0).normal(size=(40_000, 40))
    problem = pre.RatioProblem(np.full(40, far), F, norm=norm)
    minimal_radius(pre.RatioProblem(np.full(2, far), F[:100, :2], norm=norm))  # modules are imported on first use
    tracemalloc.start()
    minimal_radius(problem)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * F.nbytes


def exact_norm_within(r, order, bound):
    """Whether ‖r‖ ≤ bound, in rational arithmetic."""
    if order == 2:
        return sum(x * x for x in r) <= bound**2
    return (max(abs(x) for x in r) if order == np.inf else sum(abs(x) for x in r)) <= bound


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("norm", NORMS)
def test_bounds_hold_in_rational_arithmetic_in_any_units_and_at_any_offset(norm, seed):
    rng = np.random.default_rng([4, seed])
    n, k = int(rng.integers(20, 120)), int(rng.integers(2, 6))
    unit = 10.0 ** rng.integers(-6, 7, k)
    F = (rng.normal(size=(n, k)) + np.where(rng.random(k) < 0.4, 10.0 ** rng.uniform(1, 6), 0.0)) * unit
    j = int(rng.integers(k))
    b = F[F[:, j].argmax()].copy()
    b[j] += 10.0 ** rng.uniform(-8, 0) * unit[j]
    hull = minimal_radius(pre.RatioProblem(b, F, norm=norm))
    assert hull.position is Position.OUTSIDE
    exact = [[Fraction(x) for x in row] for row in F.tolist()]
    target, weights = [Fraction(x) for x in b.tolist()], [Fraction(x) for x in hull.weights.tolist()]
    total = sum(weights)
    r = [target[i] - sum(w * exact[q][i] for w, q in zip(weights, hull.index, strict=True)) / total for i in range(k)]
    assert exact_norm_within(r, norm, Fraction(float(hull.radius)))
    v = [Fraction(x) for x in hull.direction.tolist()]
    height = sum(x * y for x, y in zip(v, target, strict=True))
    height -= max(sum(x * y for x, y in zip(v, row, strict=True)) for row in exact)
    length = {2: 2, np.inf: 1, 1: np.inf}[norm]
    assert exact_norm_within([x * Fraction(float(hull.lower)) for x in v], length, height)
    assert hull.lower >= 0.99 * hull.radius


@pytest.mark.parametrize("norm", NORMS)
def test_the_distance_beside_timestamps_is_that_without_them(norm):
    """A category that no q row has; microseconds since 1970 can be matched exactly, so that they add no distance."""
    rng = np.random.default_rng(0)
    level_p, level_q = rng.integers(0, 12, 1500), rng.integers(0, 11, 3000)
    categories = [(level[:, None] == np.arange(12)).astype(float) for level in (level_p, level_q)]
    times = [np.floor(1.7e15 + 2e12 * rng.random((n, 1))) for n in (1500, 3000)]
    alone = minimal_radius(pre.RatioProblem(categories[0].mean(axis=0), categories[1], norm=norm))
    both = [np.hstack(pair) for pair in zip(categories, times, strict=True)]
    hull = minimal_radius(pre.RatioProblem(both[0].mean(axis=0), both[1], norm=norm))
    assert alone.lower <= hull.radius
    assert hull.radius <= 1.05 * alone.radius
    assert hull.lower >= 0.95 * alone.radius


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("bounds", [(0.0, 3.0), (0.4, 2.0)])
@pytest.mark.parametrize("shape", [(60, 3), (300, 6)])
def test_the_distance_within_bounds_is_that_of_a_cone_solver(shape, bounds, norm):
    rng = np.random.default_rng(shape)
    F, log_base = rng.normal(size=shape), rng.normal(size=shape[0])
    target = F[np.argsort(F @ rng.normal(size=shape[1]))[-5:]].mean(axis=0)
    problem = pre.RatioProblem(target, F, log_base, norm=norm, bounds=bounds)
    pi = np.exp(problem.log_base)
    mu = cp.Variable(shape[0])
    within = [cp.sum(mu) == 1, mu >= bounds[0] * pi, mu <= bounds[1] * pi]
    program = cp.Problem(cp.Minimize(cp.norm(target - F.T @ mu, norm)), within)
    program.solve(solver="CLARABEL")
    hull = minimal_radius(problem)
    assert hull.position is Position.OUTSIDE
    assert hull.lower <= program.value * (1 + 1e-6)
    assert hull.radius == pytest.approx(program.value, rel=2e-6)
    assert hull.radius - hull.lower <= 1e-6 * hull.radius
    ratio = hull.weights / pi[hull.index]
    assert np.all((ratio >= bounds[0] * (1 - 1e-12)) & (ratio <= bounds[1] * (1 + 1e-12)))
    assert problem.moment_norm(target - hull.weights @ F[hull.index]) <= hull.radius


@pytest.mark.parametrize("seed", range(6))
def test_both_bounds_on_a_distance_within_bounds_hold_in_fractions(seed):
    """Bounds 0 to n / 5 on equal weights: the highest mean in a direction is that of five rows."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(50, 3)) * 10.0 ** rng.integers(-3, 4, 3) + rng.normal(size=3) * 100.0
    target = F.mean(axis=0) + 2.0 * F.std(axis=0) * rng.choice([-1.0, 1.0], 3)
    hull = minimal_radius(pre.RatioProblem(target, F, norm=np.inf, bounds=(0.0, 10.0)))
    v, b = ([Fraction(x) for x in array.tolist()] for array in (hull.direction, target))
    rows = [[Fraction(x) for x in row] for row in F.tolist()]
    heights = sorted((sum(x * y for x, y in zip(v, row, strict=True)) for row in rows), reverse=True)
    margin = sum(x * y for x, y in zip(v, b, strict=True)) - sum(heights[:5]) / 5
    assert Fraction(hull.lower) * sum(map(abs, v)) <= margin
    weights = [Fraction(x) for x in hull.weights.tolist()]
    total = sum(weights)
    r = [b[i] - sum(w * rows[j][i] for w, j in zip(weights, hull.index, strict=True)) / total for i in range(3)]
    assert max(map(abs, r)) <= Fraction(hull.radius)


@pytest.mark.parametrize("bounds", [(0.0, 3.0), (0.4, 2.0)])
def test_the_position_within_bounds(bounds):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(200, 3))
    v, lo, hi = rng.normal(size=3), *bounds
    order, mu = np.argsort(-F @ v), np.full(200, lo / 200)
    for j in order:
        mu[j] += max(min(1.0 - mu.sum(), (hi - lo) / 200), 0.0)
    corner, middle = mu @ F, F.mean(axis=0)
    for share, position in ((0.99, Position.INSIDE), (1.0, Position.BOUNDARY), (1.001, Position.OUTSIDE)):
        target = middle + share * (corner - middle)
        assert minimal_radius(pre.RatioProblem(target, F, bounds=bounds)).position is position
    per_row = (np.full(200, lo), np.full(200, hi))
    assert minimal_radius(pre.RatioProblem(0.9 * corner, F, bounds=per_row)).position is Position.INSIDE
