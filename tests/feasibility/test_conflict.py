"""Conflicts of features: planted ones are recovered, and every one is irreducible in exact fractions."""

import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

import pre_convex as pre
from pre_convex.feasibility.conflict import cheapest_relaxation, find_conflict
from pre_convex.feasibility.exact import exactly_matchable


def planted(seed, n=200, k=5, size=2, over=1.15):
    """Target, features and the conflict: no row is beyond a plane of some features, but the target is."""
    rng = np.random.default_rng([seed, n, k, size])
    F = rng.normal(size=(n, k))
    conflict = np.sort(rng.choice(k, size, replace=False))
    a = rng.uniform(0.5, 1.5, size) * rng.choice([-1.0, 1.0], size)
    a /= np.linalg.norm(a)
    F[np.ix_(F[:, conflict] @ a > 0.8, conflict)] *= -1.0
    b = F.mean(axis=0) + 0.02 * rng.normal(size=k)
    b[conflict] = 0.8 * over * a
    unit, offset = 10.0 ** rng.integers(-4, 5, k), rng.normal(size=k) * 10.0 ** rng.integers(0, 4, k)
    return (b + offset) * unit, (F + offset) * unit, tuple(conflict.tolist())


def assert_irreducible(problem, conflict):
    """In exact fractions: no weights match these features, and some match all but any one of them."""
    assert conflict
    assert not exactly_matchable(problem, conflict)
    for i in conflict:
        assert exactly_matchable(problem, tuple(j for j in conflict if j != i))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_a_planted_conflict_is_recovered_and_irreducible(seed, size):
    b, F, conflict = planted(seed, size=size)
    problem = pre.RatioProblem(b, F, feature_names=["age", "dose", "weight", "height", "income"])
    assert find_conflict(problem) == conflict
    assert_irreducible(problem, conflict)
    hull = pre.minimal_radius(problem)
    assert hull.conflict == tuple(problem.feature_names[i] for i in conflict)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [2, 3])
def test_many_rows_are_searched_by_passes(seed, size):
    b, F, conflict = planted(seed, n=6000, k=12, size=size)
    assert find_conflict(pre.RatioProblem(b, F)) == conflict
    blocks = pre.RatioProblem.from_blocks(None, [lambda: F[:2500], lambda: F[2500:]], target=b)
    assert find_conflict(blocks) == conflict


@pytest.mark.parametrize("bounds", [(0.0, 3.0), (0.5, 2.0)])
@pytest.mark.parametrize("seed", range(4))
def test_conflicts_within_bounds_are_irreducible(seed, bounds):
    """The target is a mean of rows, in the hull, but too far out for weights within the bounds."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(40, 4))
    far = F[np.argsort(F @ rng.normal(size=4))[-3:]].mean(axis=0)
    problem = pre.RatioProblem(0.95 * far + 0.05 * F.mean(axis=0), F, bounds=bounds)
    assert exactly_matchable(problem.without_bounds(), (0, 1, 2, 3))
    assert_irreducible(problem, find_conflict(problem))


@pytest.mark.parametrize("seed", range(4))
def test_corners_of_bounded_weights_give_the_conflict_that_all_rows_give(seed, monkeypatch):
    b, F, _ = planted(seed, n=1500, k=5)
    problem = pre.RatioProblem(b, F, bounds=(0.2, 6.0))
    few, cost = find_conflict(problem), cheapest_relaxation(problem)
    monkeypatch.setattr("pre_convex.feasibility.reachable.FEW_ROWS", 10)
    many, cost_by_passes = find_conflict(problem), cheapest_relaxation(problem)
    spread = F.std(axis=0)
    assert (cost_by_passes / spread).sum() == pytest.approx((cost / spread).sum(), rel=2e-2)
    for conflict in (few, many):
        restricted = pre.RatioProblem(b[list(conflict)], F[:, conflict], bounds=(0.2, 6.0))
        assert find_conflict(restricted) == tuple(range(len(conflict)))


@pytest.mark.parametrize("seed", range(4))
def test_the_radius_of_each_feature_counts(seed):
    b, F, conflict = planted(seed)
    spread = F.std(axis=0)
    radius = np.where(np.arange(5) == conflict[0], np.inf, 0.0)
    assert find_conflict(pre.RatioProblem(b, F, radius=radius)) == ()
    tight = pre.RatioProblem(b, F, radius=0.01 * spread)
    assert find_conflict(tight) == conflict
    assert_irreducible(tight, conflict)
    R = cheapest_relaxation(tight)
    assert np.all(tight.radius <= R)
    assert find_conflict(tight.with_radius(1.001 * R)) == ()


@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_one_radius_counts_in_its_norm(norm):
    """The first feature alone misses by 0.1, which a radius of 0.3 forgives; two others miss by more together."""
    rng = np.random.default_rng(0)
    F = rng.uniform(-1.0, 1.0, (300, 4))
    F[:, 1:3] = np.where((F[:, 1] + F[:, 2] > 0.5)[:, None], -F[:, 1:3], F[:, 1:3])
    problem = pre.RatioProblem([F[:, 0].max() + 0.1, 0.9, 0.9, 0.0], F, norm=norm)
    assert find_conflict(problem) == (0,)
    conflict = find_conflict(problem.with_radius(0.3))
    assert len(conflict) == 2

    def distance_of(columns):
        return pre.minimal_radius(pre.RatioProblem(problem.target[columns], F[:, columns], norm=norm))

    assert distance_of(list(conflict)).lower > 0.3
    assert all(distance_of([i]).radius <= 0.3 for i in conflict)
    distance = pre.minimal_radius(problem).radius
    assert find_conflict(problem.with_radius(1.01 * distance)) == ()
    assert find_conflict(problem.with_radius(0.99 * distance)) != ()


@pytest.mark.parametrize("seed", range(5))
def test_the_cheapest_relaxation_is_that_of_one_linear_program(seed):
    b, F, _ = planted(seed, size=3)
    R = cheapest_relaxation(pre.RatioProblem(b, F))
    spread = F.std(axis=0)
    P = (F - b) / spread
    # min Σe s.t. |P'μ| ≤ e, written with μ and e
    A = np.block([[P.T, -np.eye(5)], [-P.T, -np.eye(5)]])
    cost, total = np.append(np.zeros(200), np.ones(5)), np.append(np.ones(200), np.zeros(5))[None]
    assert (R / spread).sum() == pytest.approx(linprog(cost, A, np.zeros(10), total, [1.0]).fun, rel=1e-6)


def test_a_target_in_the_hull_has_neither():
    F = np.random.default_rng(0).normal(size=(50, 3))
    hull = pre.minimal_radius(pre.RatioProblem(F.mean(axis=0), F))
    assert hull.conflict == ()
    assert hull.relaxation == {}


def test_a_hull_keeps_its_explanation_when_pickled():
    b, F, _ = planted(0)
    hull = pre.minimal_radius(pre.RatioProblem(b, F))
    fresh = pickle.loads(pickle.dumps(hull))
    assert fresh.conflict == hull.conflict
    assert hull.relaxation
    assert hull.separating is hull.direction
    explained = pickle.loads(pickle.dumps(hull))
    assert explained.problem is None
    assert (explained.conflict, explained.relaxation) == (hull.conflict, hull.relaxation)


@pytest.mark.parametrize("seed", range(8))
def test_the_exact_simplex_method_agrees_with_a_float_one(seed):
    rng = np.random.default_rng(seed)
    F = np.round(rng.normal(size=(12, 2)), 1)
    bounds = (0.3, 2.5) if seed % 2 else None
    radius = [0.05, 0.0] if seed % 3 else 0.0
    for _ in range(10):
        problem = pre.RatioProblem(np.round(rng.normal(size=2), 1), F, bounds=bounds, radius=radius)
        lo, hi = problem.bounds
        R = np.broadcast_to(problem.radius, 2) + 1e-12
        P = (F - problem.target).T
        found = linprog(
            np.zeros(12), np.vstack([P, -P]), np.append(R, R), np.ones((1, 12)), [1.0], [(lo / 12, hi / 12)] * 12
        )
        assert exactly_matchable(problem, (0, 1)) == (found.status == 0)
