"""The Newton engine: many rows, peaked likelihoods, user penalties and constraints, rates."""

import cvxpy as cp
import numpy as np
import pytest
from zoo import gaussian, planted

import pre_convex as pre
import pre_convex.solvers.newton as newton_module
from pre_convex.passes import Rows
from pre_convex.solvers.newton import newton
from pre_convex.solvers.steps import make_penalty

MANY = 160_000  # more numbers than the engine solves without a subset


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.05, 2), (0.05, np.inf), (0.05, 1)])
def test_many_rows_take_few_passes_and_are_proven_on_all_rows(radius, norm):
    problem, delta = planted(n=MANY, k=4, radius=radius, norm=norm, strength=0.4)
    outcome = newton(problem, make_penalty(problem), tol=1e-9)
    assert outcome.passes <= 6
    np.testing.assert_allclose(outcome.delta, delta, atol=1e-4)
    assert outcome.certificate.proves(1e-9)
    # the certificate from a subset of rows is weaker than the one from all rows, never stronger
    everything = pre.certify(problem, outcome.delta)
    gap = outcome.certificate.gap - outcome.certificate.noise
    assert everything.gap - everything.noise <= gap * (1 + 1e-6) + 1e-18
    assert problem.value(outcome.delta) - problem.value(delta) <= outcome.certificate.gap + 1e-14


def test_a_tighter_tolerance_gives_a_tighter_delta():
    problem, delta = planted(n=MANY, k=4)
    assert np.abs(pre.solve(problem, tol=1e-14).delta - delta).max() < 1e-7


@pytest.mark.parametrize("spread", [3.0, 8.0])
def test_uneven_base_weights_on_many_rows(spread):
    problem, delta = planted(n=MANY, k=3, spread=spread, strength=0.3)
    solution = pre.solve(problem, tol=1e-12)
    np.testing.assert_allclose(solution.delta, delta, atol=1e-5)


def test_many_rows_of_which_only_rare_ones_reach_the_target():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(MANY, 2))
    F[12_345] = [40.0, 0.0]  # no subset of a sixth of the rows is sure to have it
    problem = pre.RatioProblem([20.0, 0.0], F)
    solution = pre.solve(problem)
    assert solution.status.ok
    assert solution.mu[12_345] == pytest.approx(0.5, abs=0.1)


def test_many_rows_with_a_constant_and_a_double_column():
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
def test_the_error_falls_with_the_root_of_n(formulation, c):
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
def test_user_terms_give_what_the_cone_engine_gives(case):
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
    few = pre.RatioProblem(problem.target, problem.features_q, problem.log_base)
    solution = pre.solve(few, constraints=lambda d: [d >= 0])
    assert solution.status.ok
    assert solution.delta.min() >= -1e-9


def test_constraints_that_contradict_each_other():
    with pytest.raises(pre.SolveError, match="infeasible"):
        pre.solve(planted()[0], constraints=lambda d: [d >= 1, d <= 0])


@pytest.mark.parametrize(("n", "size"), [(13_966, 3_491), (400_001, 100_000), (5_000, 1_250), (2_017, 2_000)])
def test_a_subset_has_no_row_twice(n, size):
    rows = Rows(np.arange(float(n))[:, None], np.broadcast_to(-np.log(n), (n,)))
    index = rows.subset(size).plain.features[:, 0]
    assert len(np.unique(index)) == len(index)
    assert len(index) > 0.9 * size


def test_weights_that_collapse_in_one_long_step_are_noticed(monkeypatch):
    rng = np.random.default_rng(0)
    for n, k in [(300_000, 5), (100_000, 20)]:  # the target that one step from the subset reaches is a rare one
        rng.normal(size=(n, k)), rng.normal(size=n), rng.random(n)
    F = rng.normal(size=(100_000, 60))
    problem = pre.RatioProblem(F[np.argmax(F[:, 0])], F)
    outcome = newton(problem, make_penalty(problem), tol=1e-8)
    assert outcome.certificate.proves(1e-8)  # as good as optimal, but no finite δ is
    assert outcome.collapsed
    monkeypatch.setattr(newton_module, "NEAR", 1e9)  # without the look at the curvature where it ended
    assert not newton(problem, make_penalty(problem), tol=1e-8).collapsed


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
        inside = np.abs(problem.moment(solution.mu)) < radius * (1 - 1e-3)
        assert inside.any()
        assert np.all(solution.delta[inside] == 0.0)
        proof = pre.certify(problem, solution.delta)  # the certificate is that of the δ with zeros
        assert solution.certificate.primal_value == pytest.approx(proof.primal_value, abs=1e-13)
        assert proof.proves(1e-8)
        if twin:
            assert solution.delta[0] == pytest.approx(solution.delta[1], abs=1e-6)
