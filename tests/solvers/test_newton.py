"""The Newton engine: many rows, peaked likelihoods, user penalties and constraints, rates."""

import cvxpy as cp
import numpy as np
import pytest
from random_problems import feasible
from zoo import gaussian, planted

import pre_convex as pre
from pre_convex.data.requests import Alone, Tilt
from pre_convex.penalties import make_penalty
from pre_convex.solvers.stages import newton

MANY = 160_000  # enough rows for the engine to use a subset


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.05, 2), (0.05, np.inf), (0.05, 1)])
def test_many_rows_take_few_passes_and_are_proven_on_all_rows(radius, norm):
    problem, delta = planted(n=MANY, k=4, radius=radius, norm=norm, strength=0.4)
    result = newton(problem, make_penalty(problem), pre.Settings(tol=1e-9))
    assert result.passes <= 6
    np.testing.assert_allclose(result.delta, delta, atol=1e-4)
    assert result.certificate.proves(1e-9)
    # the certificate from a subset of rows is weaker than the one from all rows, never stronger
    everything = pre.certify(problem, result.delta)
    gap = result.certificate.gap - result.certificate.noise
    assert everything.gap - everything.noise <= gap * (1 + 1e-6) + 1e-18
    assert problem.value(result.delta) - problem.value(delta) <= result.certificate.gap + 1e-14


def test_a_tighter_tolerance_gives_a_tighter_delta():
    problem, delta = planted(n=MANY, k=4)
    assert np.abs(pre.solve(problem, tol=1e-13).delta - delta).max() < 1e-7


@pytest.mark.parametrize("spread", [3.0, 8.0])
def test_uneven_base_weights_on_many_rows(spread):
    problem, delta = planted(n=MANY, k=3, spread=spread, strength=0.3)
    solution = pre.solve(problem, tol=1e-12)
    np.testing.assert_allclose(solution.delta, delta, atol=1e-5)


def test_a_single_row_among_many_that_carries_the_target_is_found():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(MANY, 2))
    F[12_345] = [40.0, 0.0]  # no subset of a sixth of the rows is sure to have it
    problem = pre.RatioProblem([20.0, 0.0], F)
    solution = pre.solve(problem)
    assert solution.status.ok
    assert solution.mu[12_345] == pytest.approx(0.5, abs=0.1)


def test_many_rows_with_a_constant_and_a_duplicate_column():
    rng = np.random.default_rng(1)
    F = rng.normal(size=(MANY, 2))
    F = np.column_stack([F, np.full(MANY, 3.0), F[:, 0]])
    problem, delta = planted(features=F)
    solution = pre.solve(problem)
    assert solution.free_directions == 2
    np.testing.assert_allclose(F @ solution.delta - F[0] @ solution.delta, F @ delta - F[0] @ delta, atol=1e-3)


@pytest.mark.parametrize("offset", [0.0, -900.0])
@pytest.mark.parametrize("precision", [1, 5, 10, 20, 50])
@pytest.mark.parametrize("seed", range(4))
def test_peaked_likelihoods(seed, precision, offset):
    rng = np.random.default_rng(seed)
    x_p, x_q = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2))
    l_p, l_q = pre.Gaussian([0.5, -0.5], precision), pre.Gaussian([-0.3, 0.4], precision)
    problem = pre.RatioProblem.from_samples(
        x_p, x_q, lambda x: l_p(x) + offset, lambda x: l_q(x) + offset, features="polynomial"
    )
    solution = pre.solve(problem)
    assert solution.status is pre.Status.OPTIMAL
    assert solution.gap <= 1e-8 * (1 + abs(solution.primal_value))


def slope(errors):
    sizes = np.log(list(errors))
    return np.polyfit(sizes, np.log([np.mean(e) for e in errors.values()]), 1)[0]


@pytest.mark.parametrize(("formulation", "c"), [("primal", 0.0), ("dual", 0.3)])
def test_the_error_decreases_like_one_over_root_n(formulation, c):
    errors = {}
    for n in (500, 1000, 2000, 4000, 8000):
        errors[n] = []
        for seed in range(40):
            x_p, x_q, l_p, l_q, delta = gaussian(n, seed)
            problem = pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q, radius=c / np.sqrt(n))
            errors[n].append(np.linalg.norm(pre.solve(problem, formulation).delta - delta))
    assert -0.65 <= slope(errors) <= -0.35
    assert np.mean(errors[8000]) < 0.1


USER = {
    "non-negative": ({}, {"constraints": lambda d: [d >= 0]}),
    "sum zero": ({}, {"constraints": lambda d: cp.sum(d) == 0}),
    "group norms": ({}, {"penalty": lambda d: 0.1 * (cp.norm(d[:2]) + cp.norm(d[2:]))}),
    "ridge": ({}, {"penalty": lambda d: 0.3 * cp.sum_squares(d)}),
    "away from zero": ({}, {"constraints": lambda d: [cp.sum(d) == 1, d >= -0.2]}),
    "with a radius": ({"radius": 0.05, "norm": np.inf}, {"constraints": lambda d: [d <= 0.3]}),
    "both": ({"radius": 0.05}, {"penalty": lambda d: 0.05 * cp.norm1(d), "constraints": lambda d: [d >= 0]}),
}


@pytest.mark.parametrize("case", USER)
def test_user_terms_give_the_answer_of_the_cone_solvers(case):
    data, terms = USER[case]
    problem, _ = planted(n=150, k=4, seed=3, **data)
    newton_solution = pre.solve(problem, **terms)
    answers = [
        pre.solve(problem, solver=solver, polish=False, check=False, tol=1e-9, **terms)
        for solver in pre.installed_solvers()[1:]
    ]
    cone = min(answers, key=lambda s: s.primal_value + 1e3 * s.certificate.violation)
    np.testing.assert_allclose(newton_solution.delta, cone.delta, atol=1e-6)
    assert newton_solution.status is pre.Status.OPTIMAL
    certificate = pre.certify(problem, newton_solution.delta, **terms)
    assert certificate.proves(1e-8)
    assert certificate.violation <= 1e-8
    # a bound below what the cone engine reached, and not far below
    assert certificate.dual_value <= cone.primal_value + 1e-10
    # an answer that is wrong by a little is not proven
    assert not pre.certify(problem, newton_solution.delta + 0.05, **terms).proves(1e-6)


@pytest.mark.parametrize("solver", pre.installed_solvers()[1:])
def test_user_terms_with_every_cone_solver(solver):
    problem, _ = planted(n=100, k=3)
    terms = {"constraints": lambda d: [d >= 0]}
    np.testing.assert_allclose(
        pre.solve(problem, solver=solver, **terms).delta, pre.solve(problem, **terms).delta, atol=1e-6
    )


def test_user_terms_on_many_rows():
    problem, _ = planted(n=MANY, k=4, strength=0.3)
    solution = pre.solve(problem, constraints=lambda d: [d >= 0])
    assert solution.status.ok
    assert solution.delta.min() >= -1e-9


def test_constraints_that_contradict_each_other():
    with pytest.raises(pre.SolveError, match="infeasible"):
        pre.solve(planted()[0], constraints=lambda d: [d >= 1, d <= 0])


def test_a_target_on_the_boundary_is_noticed_after_one_long_step_from_the_subset():
    rng = np.random.default_rng(0)
    for n, k in [(300_000, 5), (100_000, 20)]:  # draws that lead to a target which one step from the subset reaches
        rng.normal(size=(n, k)), rng.normal(size=n), rng.random(n)
    F = rng.normal(size=(100_000, 60))
    problem = pre.RatioProblem(F[np.argmax(F[:, 0])], F)
    assert not newton(problem, make_penalty(problem), pre.Settings(tol=1e-8)).certificate.proves(1e-8)
    assert pre.solve(problem, check=False).status is pre.Status.BOUNDARY


@pytest.mark.parametrize("twin", [False, True])
@pytest.mark.parametrize(("n", "k"), [(13, 40), (20, 30), (30, 40), (60, 40)])
def test_a_sparse_delta_has_exact_zeros_with_fewer_rows_than_features(n, k, twin):
    rng = np.random.default_rng(n)
    F = rng.normal(size=(n, k))
    if twin:  # the shortest δ shares a coefficient between the two
        F[:, 1] = F[:, 0]
    mu = rng.dirichlet(np.ones(n)) @ F
    for radius in (0.02, 0.1, 0.3):
        problem = pre.RatioProblem(mu, F, radius=radius, norm=np.inf)
        solution = pre.solve(problem)
        inside = np.abs(problem.residual(solution.mu)) < radius * (1 - 1e-3)
        assert inside.any()
        assert np.all(solution.delta[inside] == 0.0)
        proof = pre.certify(problem, solution.delta)  # the certificate is that of the δ with zeros
        assert solution.certificate.primal_value == pytest.approx(proof.primal_value, abs=1e-13)
        assert proof.proves(1e-8)
        if twin:
            assert solution.delta[0] == pytest.approx(solution.delta[1], abs=1e-6)


def test_few_rows_are_solved_to_full_precision_from_any_start():
    problem, best = planted(n=300, k=3)
    for start in (None, best + 0.1, np.full(3, 1e3), np.full(3, -1e3)):  # a start worse than δ = 0 is dropped
        result = newton(problem, make_penalty(problem), pre.Settings(tol=1e-8), start=start)
        np.testing.assert_allclose(result.delta, best, atol=1e-11)
        assert result.certificate.proves(1e-8)
        assert result.free_directions == 0
        assert result.passes >= result.iterations + 1 >= 2
    near = newton(problem, make_penalty(problem), pre.Settings(tol=1e-8), start=best)
    assert near.iterations <= 1


@pytest.mark.parametrize("start", [None, np.array([5.0])])
def test_a_target_on_the_boundary_is_never_proven_however_large_delta_is(start):
    problem = pre.RatioProblem([1.0], [[0.0], [0.5], [1.0]])
    result = newton(problem, make_penalty(problem), pre.Settings(tol=1e-8), start=start)
    assert not result.certificate.proves(1e-8)
    for delta in (10.0, 30.0, 100.0, 1e3, 1e6):
        assert not pre.certify(problem, [delta]).proves(1e-8)
    inside = pre.RatioProblem([0.9], [[0.0], [0.5], [1.0]])
    assert newton(inside, make_penalty(inside), pre.Settings(tol=1e-8), start=start).certificate.proves(1e-8)


@pytest.mark.parametrize("start", [None, [1.0, 2.0, 3.0]])
def test_collinear_columns_give_the_shortest_delta(start):
    plain, best = planted(n=200, k=2)
    M = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]])
    problem = pre.RatioProblem(plain.target @ M, plain.features_q @ M, plain.log_base)
    result = newton(
        problem, make_penalty(problem), pre.Settings(tol=1e-9), start=None if start is None else np.array(start)
    )
    assert result.free_directions == 1
    np.testing.assert_allclose(M @ result.delta, best, atol=1e-9)
    np.testing.assert_allclose(result.delta, np.linalg.pinv(M) @ best, atol=1e-9)  # the shortest
    assert result.certificate.primal_value == pytest.approx(plain.value(best), abs=1e-12)
    assert result.certificate.proves(1e-9)
    spread = np.sqrt(np.trace(problem.hessian(result.delta)))  # of the columns as they were given
    assert result.certificate.spread == pytest.approx(spread)
    assert newton(problem, make_penalty(problem), pre.Settings(tol=1e-9), start=result.delta).iterations <= 1
    off = pre.RatioProblem(problem.target + [0.0, 0.0, 1.0], problem.features_q, plain.log_base)
    away = newton(off, make_penalty(off), pre.Settings(tol=1e-9))
    assert not away.certificate.proves(1e-9)
    assert (away.iterations, away.passes, away.free_directions) == (0, 1, 0)
    np.testing.assert_allclose(M @ away.delta, 0.0, atol=1e-9)  # constant on all rows
    assert away.delta @ [0.0, 0.0, 1.0] > 0.0


def test_rows_that_are_all_equal():
    problem = pre.RatioProblem([2.0, 3.0], [[2.0, 3.0]] * 3)
    result = newton(problem, make_penalty(problem), pre.Settings(tol=1e-9))
    assert (result.free_directions, result.iterations, result.passes) == (2, 0, 1)
    assert not result.delta.any()
    assert result.certificate.proves(1e-9)
    ball = problem.with_radius(0.1)
    result = newton(ball, make_penalty(ball), pre.Settings(tol=1e-9))
    assert result.free_directions == 2
    assert result.certificate.proves(1e-9)
    reached = pre.RatioProblem([2.0, 3.05], [[2.0, 3.0]] * 3, radius=0.1)
    assert newton(reached, make_penalty(reached), pre.Settings(tol=1e-9)).certificate.proves(1e-9)
    missed = pre.RatioProblem([2.0, 4.0], [[2.0, 3.0]] * 3, radius=0.1)
    result = newton(missed, make_penalty(missed), pre.Settings(tol=1e-9))
    assert not result.certificate.proves(1e-9)
    assert result.delta[1] > 0.0


@pytest.mark.parametrize(("missed", "ends"), [(0.05, False), (0.1, False), (0.15, True), (0.5, True)])
def test_a_target_off_the_span_of_the_rows_by_more_than_the_radius_is_not_proven(missed, ends):
    F = np.column_stack([np.random.default_rng(0).normal(size=(50, 2)), np.full(50, 3.0)])
    problem = pre.RatioProblem([0.1, 0.0, 0.1, 3.0 + missed], F[:, [0, 1, 0, 2]], radius=0.1)
    result = newton(problem, make_penalty(problem), pre.Settings(tol=1e-8))
    assert (result.iterations == 0) is ends
    if ends:
        assert (result.passes, result.reason) == (1, "diverges")
        np.testing.assert_allclose(result.delta, [0.0, 0.0, 0.0, missed], atol=1e-12)
        assert result.certificate.primal_value == pytest.approx(problem.value(result.delta), abs=1e-12)
        assert not result.certificate.proves(1e-8)


@pytest.mark.parametrize("number", [855])
def test_tiny_problems_with_a_radius_near_zero_are_proven(number):
    # the decrement shrinks by 1/e in each step with a fresh covariance, which is too slow to go on with
    drawn = feasible(number)
    assert 0.0 < drawn.problem.radius < 1e-6
    assert pre.solve(drawn.problem, check=False).status is pre.Status.OPTIMAL


def test_every_pass_over_a_tiny_problem_computes_a_covariance(monkeypatch):
    asked, answer = [], Alone._answer

    def watched(self, request):
        if isinstance(request, Tilt) and request.level == 0:
            asked.append(request.covariance)
        return answer(self, request)

    monkeypatch.setattr(Alone, "_answer", watched)
    for n, every in ((500, True), (5_000, False)):
        problem, _ = planted(n=n, k=4, strength=1.0)
        asked.clear()
        assert pre.solve(problem).status is pre.Status.OPTIMAL
        assert all(asked) is every
