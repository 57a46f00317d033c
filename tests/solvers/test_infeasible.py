"""What InfeasibleError says: the features that conflict, and a call that works when it is followed literally."""

import pickle
import re

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.feasibility.capped import separates

NAMES = ["age", "dose", "weight", "height", "income"]


def planted(seed, size, n=300):
    """A target beyond a plane of some features that no row is beyond."""
    rng = np.random.default_rng([7, seed, size])
    F = rng.normal(size=(n, 5))
    conflict = np.sort(rng.choice(5, size, replace=False))
    a = rng.uniform(0.5, 1.5, size) * rng.choice([-1.0, 1.0], size)
    a /= np.linalg.norm(a)
    F[np.ix_(F[:, conflict] @ a > 0.8, conflict)] *= -1.0
    b = F.mean(axis=0) + 0.02 * rng.normal(size=5)
    b[conflict] = 0.9 * a
    return b, F, conflict.tolist()


def error_of(problem):
    with pytest.raises(pre.InfeasibleError) as caught:
        pre.solve(problem)
    return caught.value


def follow(problem, message):
    """Solve the problem that the message advises."""
    call = re.search(r"problem\.with_radius\(\{.*?\}\)", message).group()
    return pre.solve(eval(call, {"problem": problem}))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("terms", [{}, {"divergence": "chi2"}, {"divergence": "reverse-kl"}, {"bounds": (0.0, 20.0)}])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_call_that_a_message_prints_works(seed, size, terms):
    b, F, conflict = planted(seed, size)
    problem = pre.RatioProblem(b, F, feature_names=NAMES, **terms)
    error = error_of(problem)
    if "bounds" not in terms:
        assert error.conflict == tuple(NAMES[i] for i in conflict)
    assert follow(problem, str(error)).status is pre.Status.OPTIMAL
    assert pre.solve(problem.with_radius(error.advised_relaxation)).status is pre.Status.OPTIMAL


def test_two_features_are_named_in_words():
    b, F, _ = planted(0, 2)
    problem = pre.RatioProblem(b, F, feature_names=NAMES)
    error = error_of(problem)
    first, second = error.conflict
    assert f" {first} and {second} can each be matched, but not together." in str(error)
    for name in error.conflict:
        column = [NAMES.index(name)]
        assert pre.solve(pre.RatioProblem(b[column], F[:, column])).ok


def test_three_features_are_named_in_words():
    b, F, _ = planted(0, 3)
    error = error_of(pre.RatioProblem(b, F, feature_names=NAMES))
    one, two, three = error.conflict
    assert f"{one}, {two} and {three} cannot be matched together, but can if any one of them is left out." in str(error)


def test_a_target_out_of_range_is_named_with_the_range():
    F = np.column_stack([[1.0, 2.0, 4.0, 3.0], [0.0, 1.0, 0.0, 1.0]])
    error = error_of(pre.RatioProblem([5.2, 0.5], F, feature_names=["age", "dose"]))
    assert "The target 5.2 of age is outside the q range [1, 4]." in str(error)
    near = error_of(pre.RatioProblem([4.0000012, 0.5], F, feature_names=["age", "dose"]))
    assert "The target 4.000001 of age is outside the q range [1, 4]." in str(near)


def test_a_target_that_bounds_exclude_is_named_with_the_means_they_allow():
    F = np.column_stack([[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 1.0]])
    error = error_of(pre.RatioProblem([3.9, 0.5], F, feature_names=["age", "dose"], bounds=(0.0, 2.0)))
    assert "The target 3.9 of age is outside [1.5, 3.5], the means that weights within the bounds have." in str(error)
    assert "widen the bounds" in str(error)


@pytest.mark.parametrize("terms", [{}, {"bounds": (0.1, 10.0)}, {"divergence": "chi2"}])
def test_a_radius_for_each_feature_is_kept_where_it_suffices(terms):
    b, F, conflict = planted(1, 2)
    radius = {"height": 0.05, ...: 0.01}
    problem = pre.RatioProblem(b, F, feature_names=NAMES, radius=radius, **terms)
    error = error_of(problem)
    assert "to within the radius" in str(error)
    v = error.direction
    assert separates(problem, v, problem.penalty_value(v))
    assert np.array_equal(pickle.loads(pickle.dumps(error)).direction, v)
    for i, name in enumerate(NAMES):
        assert error.advised_relaxation[name] >= problem.radius[i]
        if i not in conflict and "bounds" not in terms:
            assert error.advised_relaxation[name] == problem.radius[i]
    assert follow(problem, str(error)).status is pre.Status.OPTIMAL


def test_the_error_is_pickled_with_its_explanation():
    b, F, _ = planted(2, 2)
    error = error_of(pre.RatioProblem(b, F, feature_names=NAMES))
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.conflict == error.conflict
    assert copy.advised_relaxation == error.advised_relaxation
    assert copy.hull.problem is None


@pytest.mark.parametrize("norm", [2, np.inf, 1])
@pytest.mark.parametrize("divergence", ["kl", "chi2", "reverse-kl"])
@pytest.mark.parametrize("bounds", [(0.0, 3.0), (0.4, 2.0)])
def test_bounds_make_a_problem_infeasible_below_the_minimal_radius_and_solvable_above(norm, divergence, bounds):
    rng = np.random.default_rng(3)
    F = rng.normal(size=(80, 3))
    b = F[np.argsort(F @ [1.0, 0.5, -0.5])[-4:]].mean(axis=0)
    problem = pre.RatioProblem(b, F, norm=norm, divergence=divergence, bounds=bounds)
    error = error_of(problem)
    assert error.hull.radius - error.hull.lower <= 1e-6 * error.hull.radius
    assert pre.solve(problem.with_radius(0.99 * error.hull.lower), check=False).status is pre.Status.INFEASIBLE
    assert pre.solve(problem.with_radius(error.advised_radius)).ok


@pytest.mark.parametrize("divergence", ["kl", "chi2", "reverse-kl"])
def test_no_radius_is_advised_that_has_no_solution(divergence):
    """Times in microseconds: a direction proves that no weights match, but the distance is lost in round-off."""
    T, t = 1_700_000_000_000_000.0, np.arange(0.0, 400.0, 10.0)
    problem = pre.RatioProblem([T + 360.0], (T + t)[:, None], divergence=divergence, bounds=(0.1, 3.0))
    error = error_of(problem)
    assert "distance 0" not in str(error)
    for call in error.advice:
        assert pre.solve(problem.with_radius(**call), check=False).ok
    assert separates(problem, error.direction, 0.0)


def test_reading_an_error_raises_no_other_one():
    """The bounds leave so little room that the linear program of the conflict calls itself infeasible."""
    rng = np.random.default_rng(1)
    n = int(rng.integers(20, 300))
    F, a = np.column_stack([rng.poisson(1, n), rng.normal(size=n)]).astype(float), 10.0 * rng.normal(size=n)
    error = error_of(pre.RatioProblem(F.mean(axis=0), F, a, bounds=(0.0, 1.0 + 1.4e-10)))
    assert error.conflict == ()
    assert np.all(np.isfinite(error.direction))
