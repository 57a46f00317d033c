"""The Newton engine: many rows, peaked likelihoods, user penalties and constraints, rates."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import brentq
from zoo import gaussian, planted

import pre_convex as pre
import pre_convex.solvers.newton as newton_module
from pre_convex.passes import Rows
from pre_convex.solution import BallPenalty, certificate
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


# the parts of the engine, each with an answer known by hand


SYMMETRIC = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -2.0], [0.0, 2.0]])


def descent_of(problem, **options):
    return newton_module._Descent(problem.rows, problem.residual_origin, make_penalty(problem), **options)


def point_of(descent, delta, **changes):
    return replace(descent.at(np.asarray(delta, dtype=float)), **changes)


def test_a_secant_update_maps_the_step_to_the_change_of_the_gradient_and_leaves_the_rest():
    H, s, y = np.diag([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5]), np.array([2.0, 1.0, 3.0])
    updated = newton_module._secant(H, s, y)
    np.testing.assert_allclose(updated @ s, y)
    np.testing.assert_allclose(updated, updated.T)
    x = np.cross(H @ s, y)  # sees neither the old curvature along s nor the new one
    np.testing.assert_allclose(updated @ x, H @ x, atol=1e-12)
    for step, change in ((s, -s), (s, np.cross(s, y)), (np.array([0.0, 1.0, 0.0]), np.array([0.0, -1.0, 0.0]))):
        assert newton_module._secant(H, step, change) is H
    flat = np.diag([1.0, 0.0, 1.0])
    assert newton_module._secant(flat, np.array([0.0, 1.0, 0.0]), np.ones(3)) is flat


@pytest.mark.parametrize(("k", "near", "patience"), [(49, 0.5, 0.25), (50, 4.0, 0.6)])
def test_many_features_are_content_with_gradients_from_further_away(k, near, patience):
    rows = Rows(np.zeros((3, k)), np.zeros(3))
    start = newton_module._Descent(rows, np.zeros(k), None)
    assert (start.near, start.patience, start.exact, start.verbose) == (near, patience, True, False)
    assert (start.iterations, start.passes, start.decrement, start.longest, start.low) == (0, 0, np.inf, 0.0, -30.0)
    assert not newton_module._Descent(rows, np.zeros(k), None, np.eye(k)).exact


def test_a_pass_brings_the_covariance_far_from_the_solution_only():
    problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC, radius=0.1)
    descent, delta = descent_of(problem), np.array([0.3, -0.4])
    point = descent.at(delta)
    np.testing.assert_allclose(point.summary.covariance, problem.hessian(delta))
    pull, log_z = problem.target @ delta, problem.tilt(delta).log_z
    assert point.loss == pytest.approx(log_z - pull)
    assert point.penalty == pytest.approx(0.05)
    assert point.value == pytest.approx(problem.value(delta))
    assert point.noise == pytest.approx(1e-14 * (1.0 + abs(pull) + abs(log_z)), abs=0.0)
    descent.decrement = 0.5
    assert descent.at(delta).summary.covariance is None
    descent.decrement = 0.51
    assert descent.at(delta).summary.covariance is not None
    assert descent.passes == 3
    assert descent_of(problem, curvature=np.eye(2)).at(delta).summary.covariance is None


def test_steps_go_on_to_the_aim_or_to_the_limit(capsys):
    problem, best = planted(n=300, k=3, strength=1.0)
    descent = descent_of(problem)
    found = descent.run(descent.at(np.zeros(3)), 1e-20)
    np.testing.assert_allclose(found.delta, best, atol=1e-10)
    assert descent.decrement <= 1e-20
    assert 3 <= descent.iterations <= 12
    assert descent.longest == pytest.approx(first_decrement(problem), rel=1e-6)
    assert capsys.readouterr().out == ""
    short = descent_of(problem)
    short.verbose = True
    short.run(short.at(np.zeros(3)), 1e-20, limit=2)
    assert (short.iterations, short.passes) == (2, 3)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:15] for line in lines] == ["pass   1  value", "pass   2  value", "pass   3  value"]
    assert lines[0] == f"pass   1  value +0.000000000000  decrement {first_decrement(problem):.1e}"
    coarse = descent_of(problem)
    coarse.run(coarse.at(np.zeros(3)), 1e-2)
    assert coarse.decrement <= 1e-2
    assert coarse.iterations < descent.iterations


def first_decrement(problem):
    gradient, H = problem.gradient(np.zeros(problem.k)), problem.hessian(np.zeros(problem.k))
    return gradient @ np.linalg.solve(H, gradient)


def test_a_curvature_that_is_given_learns_from_gradients():
    problem, best = planted(n=300, k=3, strength=0.3)
    H = problem.hessian(best) * 1.3
    descent = descent_of(problem, curvature=H)
    found = descent.run(descent.at(np.zeros(3)), 1e-16)
    np.testing.assert_allclose(found.delta, best, atol=1e-6)
    assert not descent.exact
    assert found.summary.covariance is None
    assert np.abs(descent.curvature - problem.hessian(best)).max() < np.abs(H - problem.hessian(best)).max()


def test_a_curvature_that_is_no_help_gives_up_early():
    problem, _ = planted(n=300, k=3, strength=0.3)
    descent = descent_of(problem, curvature=1e4 * np.eye(3))
    descent.run(descent.at(np.zeros(3)), 1e-16)
    assert descent.iterations < 20


RUNNING = pre.RatioProblem([3.0, 0.0], SYMMETRIC)  # outside the hull: δ = (1, 0) separates it


@pytest.mark.parametrize(
    ("delta", "decrement", "iterations", "value", "away"),
    [
        ([1.0, 0.0], 1.0, 4, None, True),
        ([1.0, 0.0], 0.1, 4, None, True),
        ([1.0, 0.0], 0.09, 4, None, False),  # steps that are short do not run away
        ([1.0, 0.0], 1.0, 3, None, False),  # looked at now and then
        ([1.0, 0.0], 1.0, 5, None, False),
        ([1.0, 0.0], 1.0, 9, None, True),
        ([1.0, 0.0], 1.0, 3, -31.0, True),  # or where the value is low
        ([1.0, 0.0], 1.0, 3, -30.0, False),
        ([0.0, 1.0], 1.0, 4, None, False),  # no separation
        ([-1.0, 0.0], 1.0, 4, None, False),
        ([0.0, 0.0], 1.0, 4, None, False),
    ],
)
def test_running_away_is_noticed_by_a_direction_that_separates(delta, decrement, iterations, value, away):
    descent = descent_of(RUNNING)
    point = point_of(descent, delta)
    if value is not None:
        point = replace(point, loss=value - point.penalty)
    descent.decrement, descent.iterations = decrement, iterations
    assert descent._runs_away(point) is away
    assert descent.low == (-62.0 if value == -31.0 else -30.0)


def test_running_away_has_to_be_worth_the_penalty():
    for radius, away in ((1.9, True), (2.0, False), (2.1, False)):
        problem = RUNNING.with_radius(radius)
        descent = descent_of(problem)
        point = point_of(descent, [1.0, 0.0])
        descent.decrement, descent.iterations = 1.0, 4
        assert descent._runs_away(point) is away
    for beyond, away in ((1.5e-9, False), (3e-9, True)):  # round-off of two products of size one
        problem = pre.RatioProblem([1.0 + beyond, 0.0], SYMMETRIC)
        descent = descent_of(problem)
        point = point_of(descent, [1.0, 0.0])
        descent.decrement, descent.iterations = 1.0, 4
        assert descent._runs_away(point) is away
    user = newton_module._Descent(RUNNING.rows, RUNNING.target, make_penalty(RUNNING, lambda d: cp.norm1(d)))
    user.decrement, user.iterations = 1.0, 4
    assert not user._runs_away(point_of(descent_of(RUNNING), [1.0, 0.0]))


def test_the_decrement_is_the_fall_of_the_model():
    problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC)
    d, g, H = np.array([1.0, 2.0]), np.array([-2.0, -3.0]), np.diag([1.0, 0.5])
    plain = descent_of(problem)
    at = point_of(plain, [0.0, 0.0])
    assert plain._decrement(at, d, g, H) == pytest.approx(8.0)  # −⟨g, d⟩ = 8 > d'Hd = 3
    assert plain._decrement(at, d, 0.1 * g, H) == pytest.approx(3.0)
    assert plain._decrement(at, d, -g, H) == pytest.approx(3.0)
    # a fall by no more than round-off is none
    assert plain._decrement(replace(at, noise=8.0), d, g, H) == pytest.approx(3.0)
    assert plain._decrement(replace(at, noise=7.9), d, g, H) == pytest.approx(8.0)
    ball = descent_of(problem.with_radius(2.0, np.inf))
    at = point_of(ball, [0.0, 1.0])
    assert ball._decrement(at, d, 3.0 * g, H) == pytest.approx(2.0 * 1.0 - 2.0 * 4.0 + 24.0)


def test_a_step_is_damped_by_the_variances_of_the_rows():
    problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC)
    descent = descent_of(problem)
    at, g, H = point_of(descent, [0.1, 0.2]), np.array([1.0, 1.0]), np.diag([2.0, 4.0])
    np.testing.assert_allclose(descent._variances(), [0.5, 2.0])
    np.testing.assert_allclose(descent._step(at, g, H, 0.0), [-0.5, -0.25])
    np.testing.assert_allclose(descent._step(at, g, H, 4.0), [-1.0 / 4.0, -1.0 / 12.0])
    np.testing.assert_allclose(descent._step(at, g, H, 0.5), [-1.0 / 2.25, -1.0 / 5.0])
    assert descent._step(at, np.array([1e101, 0.0]), H, 0.0) is None  # its square is next to no number
    assert descent._step(at, np.array([1e99, 0.0]), H, 0.0) is not None
    # a model that falls for ever along its step is one of round-off
    for bend, good in ((-1e-9, True), (-1e-7, False)):
        at_most = newton_module._Descent(problem.rows, problem.target, OneStep(problem.ball, 0.0))
        assert (at_most._step(at, g, np.diag([bend, 0.0]), 0.0) is not None) is good


class OneStep(newton_module.NoPenalty):
    """A penalty whose step is always by one along the first axis."""

    def step(self, delta, gradient, H):
        return delta + [1.0, 0.0]


class NoStep(newton_module.NoPenalty):
    """A penalty whose small program fails."""

    def step(self, delta, gradient, H):
        raise pre.SolveError("no step")


def test_a_step_that_cannot_be_computed_is_none_and_ends_the_descent():
    problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC)
    descent = newton_module._Descent(problem.rows, problem.target, NoStep(problem.ball, 0.0))
    at = point_of(descent, [0.1, 0.2])
    assert descent._step(at, np.ones(2), np.eye(2), 0.0) is None
    assert descent.run(at, 1e-8) is at
    assert (descent.iterations, descent.decrement) == (0, np.inf)


def test_variances_are_those_of_rows_with_weight_and_one_where_there_is_none():
    F = np.array([[0.0, 3.0], [2.0, 3.0], [100.0, 7.0]])
    descent = newton_module._Descent(Rows(F, np.array([0.0, 0.0, -np.inf])), np.zeros(2), None)
    np.testing.assert_allclose(descent._variances(), [1.0, 1.0])
    assert descent._variances() is descent._variances()
    rows = Rows(np.arange(4000.0)[:, None], np.zeros(4000))
    (variance,) = newton_module._Descent(rows, np.zeros(1), None)._variances()
    assert variance == pytest.approx(np.arange(0, 4000, 4).var())  # of a thousand rows


def test_a_step_is_blind_where_curvature_is_lost_and_the_gradient_is_not():
    problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC)
    descent = descent_of(problem)
    H = np.diag([1.0, 0.0])
    for gradient, d, blind in (
        ([1.0, 1e-3], [-1.0, 0.0], True),
        ([1.0, 2e-6], [-1.0, 0.0], True),  # more than a millionth of the spread, √2
        ([1.0, 1e-6 * np.sqrt(2.0)], [-1.0, 0.0], False),
        ([1.0, 1e-6], [-1.0, 0.0], False),
        ([1.0, 0.0], [-1.0, 0.0], False),
        ([1.0, 1e-3], None, False),
    ):
        step = None if d is None else np.array(d)
        assert descent._blind(np.array(gradient), H, step) is blind
    tight = np.diag([1e-12, 1.0])
    assert not descent._blind(np.array([0.9e-13, 0.0]), tight, np.zeros(2))
    assert not descent._blind(np.array([100.0, 0.0]), H, np.array([-100.0 + 0.9e-6, 0.0]))
    assert descent._blind(np.array([100.0, 0.0]), H, np.array([-100.0 + 2e-6, 0.0]))
    small = descent_of(pre.RatioProblem([0.0, 0.0], 1e-3 * SYMMETRIC))
    assert small._blind(np.array([5e-8, 0.0]), 1e-12 * np.eye(2), np.zeros(2))
    ball = descent_of(problem.with_radius(0.1))
    assert not ball._blind(np.array([1.0, 1e-3]), H, np.array([-1.0, 0.0]))


def test_a_line_is_flat_where_a_hundredth_of_its_curvature_is_left():
    problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC)
    descent, d = descent_of(problem), np.array([1.0, 1.0])
    here = point_of(descent, [0.0, 0.0])

    def bent(size):
        return replace(here, summary=replace(here.summary, covariance=None if size is None else size * np.eye(2)))

    for before, after, flat in ((1.0, 0.0099, True), (1.0, 0.01, False), (None, 0.001, False), (1.0, None, False)):
        assert descent._flat(bent(before), bent(after), d) is flat


def test_a_line_search_takes_the_full_step_where_it_helps_and_a_shorter_one_where_it_does_not():
    problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC)
    descent = descent_of(problem)
    here = point_of(descent, [0.0, 0.0])
    gradient = here.summary.mean - problem.target
    d = -np.linalg.solve(here.summary.covariance, gradient)
    descent.decrement = d @ here.summary.covariance @ d
    found = descent._search(here, d, gradient)
    np.testing.assert_allclose(found.delta, d)
    assert descent.passes == 2
    descent.decrement = 1600.0  # a step of 40 standard deviations is cut to 4
    np.testing.assert_allclose(descent._search(here, d, gradient).delta, 0.1 * d)
    descent.decrement = 1.0
    far = descent._search(here, 20.0 * d, gradient)
    assert far.value < here.value
    assert np.linalg.norm(far.delta) < 0.5 * np.linalg.norm(20.0 * d)
    assert descent._search(here, -d, gradient) is None  # uphill


@pytest.mark.parametrize(
    ("n", "k", "share", "tol"),
    [
        (10**6, 20, 1.0, 3e-10),
        (10**6, 5, 0.1, 1e-6),
        (10**7, 50, 1.0, 1e-9),
        (10**7, 2, 1.0, 1e-3),  # three passes, and no fewer
        (10**6, 5, 1.0, 2.6e-37),  # eight, after between a fifth and a quarter of the rows
        (10**6, 5, 1.0, 1e-40),  # eight would need more than that
        (10**6, 5, 1.0, 1e-15),  # four, and five would cost nearly the same
    ],
)
def test_a_subset_is_as_large_as_makes_the_whole_cheapest(n, k, share, tol):
    rows = Rows(np.broadcast_to(0.0, (n, k)), np.broadcast_to(0.0, (n,)))
    costs = {}
    for passes in range(3, 9):
        # (k / (share · size))^passes · n / (share · size) = tol: what is left after so many passes is the gap
        size = np.exp(
            brentq(lambda z, p=passes: p * (np.log(k / share) - z) + np.log(n / share) - z - np.log(tol), 0.0, 99.0)
        )
        if size <= n / 4:
            costs[int(size + 1e-6)] = passes + 20.0 * size / n
    best = min(costs, key=costs.get) if costs else n
    assert newton_module._size_of_subset(rows, share, tol) == pytest.approx(best, abs=1)
    assert newton_module._size_of_subset(Rows(np.zeros((100, 5)), np.zeros(100)), 1.0, 1e-8) == 100


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_a_subset_is_solved_from_a_few_rows_and_no_further_than_its_sampling_error(monkeypatch, spread):
    problem, best = planted(n=MANY, k=4, strength=0.4, spread=spread)
    penalty, runs = make_penalty(problem), []

    class Watched(newton_module._Descent):
        def run(self, point, aim, limit=newton_module.ITERATIONS):
            found = super().run(point, aim, limit)
            runs.append((self.rows.shape[0], aim, limit, self.exact, found))
            return found

    monkeypatch.setattr(newton_module, "_Descent", Watched)
    few = Watched(problem.rows.subset(2000).weighted, problem.target, penalty)
    start = few.at(np.zeros(4))
    delta, curvature, subset = newton_module._solve_subset(problem.rows, problem.target, penalty, start, few, 1e-9)
    (rows, aim, limit, exact, found), (size, inner_aim, inner_limit, inner_exact, _) = runs
    assert (rows, limit, exact, inner_limit, inner_exact) == (few.rows.shape[0], 40, True, 40, False)
    assert aim == pytest.approx(0.1 * 4 / rows)
    weights = few.rows.features @ found.delta + few.rows.log_base
    share = np.exp(weights).sum() ** 2 / np.exp(2 * weights).sum() / rows
    wanted = newton_module._size_of_subset(problem.rows, share, 0.3e-9)
    assert size == subset.shape[0] == pytest.approx(wanted, rel=0.02)
    assert inner_aim == pytest.approx(0.1 * 4 / wanted)
    noise = 5.0 / np.sqrt(share * size)  # what so few rows leave open
    assert np.abs(delta - best).max() < noise
    assert np.abs(curvature - problem.hessian(best)).max() < noise
    np.testing.assert_array_equal(problem.rows.subset(wanted).plain.features, subset.features)
    # a tolerance that needs most of the rows: the few have to do
    delta, curvature, subset = newton_module._solve_subset(problem.rows, problem.target, penalty, start, few, 1e-40)
    assert subset is None
    assert np.abs(curvature - problem.hessian(best)).max() < 5.0 / np.sqrt(share * rows)
    # a target that the few do not reach: all rows begin at the start, with their own curvature
    far = np.array([4.0, 4.0, 4.0, 4.0])
    few = Watched(problem.rows.subset(2000).weighted, far, penalty)
    start = few.at(np.zeros(4))
    delta, curvature, subset = newton_module._solve_subset(problem.rows, far, penalty, start, few, 1e-9)
    assert (curvature, subset) == (None, None)
    assert delta is start.delta


def recorded(monkeypatch):
    """Numbers of rows that certificates are lifted on; ``None`` for all."""
    lifted = []

    def watched(problem, delta, **options):
        assert isinstance(options["penalty"], BallPenalty)
        assert options["summary"] is not None  # the pass that was made is not made again
        rows = options.get("rows")
        lifted.append(None if rows is None else rows.shape[0])
        return real(problem, delta, **options)

    real = newton_module.certificate
    monkeypatch.setattr(newton_module, "certificate", watched)
    return lifted


@pytest.mark.parametrize(
    ("decrement", "tol", "lifted"),
    [
        (0.0, 1e-6, [1000]),
        (1e-10, 1e-6, [1000]),
        (0.8e-7, 1e-6, [2000]),  # at least 3 · decrement · n / tol of the rows
        (4.5e-7, 1e-6, [None]),  # more than half of them: all
        (1.0, 1e-6, [1000]),  # it ran away: nothing will help
        (0.1, 1e-2, [None]),
        (0.105, 1e-2, [1000]),
    ],
)
def test_a_certificate_is_lifted_on_as_many_rows_as_it_needs(monkeypatch, decrement, tol, lifted):
    problem, best = planted(n=8000, k=2)
    point = point_of(descent_of(problem), best)
    found = recorded(monkeypatch)
    proof = newton_module._certify(problem, point, make_penalty(problem), None, tol, decrement)
    assert proof.proves(tol)
    assert found == lifted


def test_a_lift_that_fails_on_some_rows_is_tried_on_all_of_the_subset(monkeypatch):
    problem, best = planted(n=8000, k=2)
    point = point_of(descent_of(problem), best + 0.02)
    found = recorded(monkeypatch)
    for subset in (None, problem.rows.take(slice(0, 4000))):
        proof = newton_module._certify(problem, point, make_penalty(problem), subset, 1e-12, 0.0)
        assert proof.primal_value == pytest.approx(problem.value(best + 0.02))
    assert found == [1000, None, 1000, 4000]
    for subset in (None, problem.rows.take(slice(0, 2000))):  # zeros are certified on the subset, too
        descent, penalty = descent_of(problem), make_penalty(problem.with_radius(0.05, np.inf))
        at, proof = point_of(descent, [1e-9, 1e-9]), replace(certificate(problem, best), gap=0.0)
        inside = replace(at, summary=replace(at.summary, mean=problem.target))
        descent.decrement = 0.0
        newton_module._with_exact_zeros(problem, descent, inside, penalty, subset, 1e-12, proof)
    assert found[4:] == [1000, None, 1000, 2000]
    del found[4:]
    wide, zero = planted(n=4000, k=250)[0], np.zeros(250)
    newton_module._certify(wide, point_of(descent_of(wide), zero), make_penalty(wide), None, 1e-12, 1.0)
    assert found[4:] == [1334]  # five rows for each feature, which are more than a thousand


def test_exact_zeros_replace_round_off_where_the_gap_proves_them():
    problem, best = planted(n=200, k=4, radius=0.05, norm=np.inf)
    penalty = make_penalty(problem)
    noisy = np.where(best == 0.0, 1e-12, best)
    assert (best == 0.0).any()
    descent = descent_of(problem)
    point = point_of(descent, noisy)
    proof = certificate(problem, noisy, penalty=penalty)
    found, again = newton_module._with_exact_zeros(problem, descent, point, penalty, None, 1e-8, proof)
    np.testing.assert_array_equal(found.delta == 0.0, best == 0.0)
    np.testing.assert_array_equal(found.delta[best != 0.0], best[best != 0.0])
    assert again.primal_value == pytest.approx(problem.value(found.delta), abs=1e-15)
    # nothing to replace, or a gap that does not prove enough: all stays as it is
    clean = point_of(descent, best)
    same, _ = newton_module._with_exact_zeros(problem, descent, clean, penalty, None, 1e-8, proof)
    np.testing.assert_array_equal(same.delta, best)
    unproven = newton_module._with_exact_zeros(problem, descent, point, penalty, None, 1e-30, proof)
    assert unproven[0] is point
    assert unproven[1] is proof
    loose = replace(proof, gap=10.0)
    same, _ = newton_module._with_exact_zeros(problem, descent, point, penalty, None, 1e-8, loose)
    np.testing.assert_array_equal(same.delta, noisy)


def test_few_rows_are_solved_to_the_last_digits_from_any_start():
    problem, best = planted(n=300, k=3)
    for start in (None, best + 0.1, np.full(3, 1e3), np.full(3, -1e3)):  # a start worse than none is left
        outcome = newton(problem, make_penalty(problem), tol=1e-8, start=start)
        np.testing.assert_allclose(outcome.delta, best, atol=1e-11)
        assert outcome.certificate.proves(1e-8)
        assert (outcome.free_directions, outcome.collapsed) == (0, False)
        assert outcome.passes >= outcome.iterations + 1 >= 2
    near = newton(problem, make_penalty(problem), tol=1e-8, start=best)
    assert near.iterations <= 1


@pytest.mark.parametrize("verbose", [False, True])
def test_a_line_for_every_pass_if_asked_for(capsys, verbose):
    problem, _ = planted(n=300, k=3)
    outcome = newton(problem, make_penalty(problem), tol=1e-8, verbose=verbose)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == (outcome.passes if verbose else 0)
    many, _ = planted(n=100_001, k=4, strength=0.3)
    outcome = newton(many, make_penalty(many), tol=1e-8, verbose=verbose)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == (outcome.passes if verbose else 0)  # those over all rows


def test_a_target_on_the_boundary_collapses_the_weights():
    problem = pre.RatioProblem([1.0], [[0.0], [0.5], [1.0]])
    assert newton(problem, make_penalty(problem), tol=1e-8).collapsed
    assert newton(problem, make_penalty(problem), tol=1e-8, start=np.array([5.0])).collapsed
    inside = pre.RatioProblem([0.9], [[0.0], [0.5], [1.0]])
    assert not newton(inside, make_penalty(inside), tol=1e-8).collapsed
    assert not newton(inside, make_penalty(inside), tol=1e-8, start=np.array([5.0])).collapsed


@pytest.mark.parametrize("start", [None, [1.0, 2.0, 3.0]])
def test_columns_that_depend_on_each_other_are_solved_in_coordinates(capsys, start):
    plain, best = planted(n=200, k=2)
    M = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]])
    problem = pre.RatioProblem(plain.target @ M, plain.features_q @ M, plain.log_base)
    outcome = newton(problem, make_penalty(problem), tol=1e-9, start=None if start is None else np.array(start))
    assert outcome.free_directions == 1
    np.testing.assert_allclose(M @ outcome.delta, best, atol=1e-9)
    np.testing.assert_allclose(outcome.delta, np.linalg.pinv(M) @ best, atol=1e-9)  # the shortest
    assert outcome.certificate.primal_value == pytest.approx(plain.value(best), abs=1e-12)
    assert outcome.certificate.proves(1e-9)
    spread = np.sqrt(np.trace(problem.hessian(outcome.delta)))  # of the columns as they were given
    assert outcome.certificate.spread == pytest.approx(spread)
    assert newton(problem, make_penalty(problem), tol=1e-9, start=outcome.delta).iterations <= 1
    assert capsys.readouterr().out == ""
    again = newton(problem, make_penalty(problem), tol=1e-9, verbose=True)
    assert len(capsys.readouterr().out.splitlines()) == again.passes
    off = pre.RatioProblem(problem.target + [0.0, 0.0, 1.0], problem.features_q, plain.log_base)
    away = newton(off, make_penalty(off), tol=1e-9)
    assert not away.certificate.proves(1e-9)
    assert (away.iterations, away.passes, away.free_directions) == (0, 1, 0)
    np.testing.assert_allclose(M @ away.delta, 0.0, atol=1e-9)  # no row follows the target there
    assert away.delta @ [0.0, 0.0, 1.0] > 0.0


def test_nothing_to_estimate_is_an_answer_too():
    problem = pre.RatioProblem([2.0, 3.0], [[2.0, 3.0]] * 3)
    outcome = newton(problem, make_penalty(problem), tol=1e-9)
    assert (outcome.free_directions, outcome.iterations, outcome.passes) == (2, 0, 1)
    assert not outcome.delta.any()
    assert outcome.certificate.proves(1e-9)
    ball = problem.with_radius(0.1)
    outcome = newton(ball, make_penalty(ball), tol=1e-9)
    assert outcome.free_directions == 2
    assert outcome.certificate.proves(1e-9)
    reached = pre.RatioProblem([2.0, 3.05], [[2.0, 3.0]] * 3, radius=0.1)
    assert newton(reached, make_penalty(reached), tol=1e-9).certificate.proves(1e-9)
    missed = pre.RatioProblem([2.0, 4.0], [[2.0, 3.0]] * 3, radius=0.1)
    outcome = newton(missed, make_penalty(missed), tol=1e-9)
    assert not outcome.certificate.proves(1e-9)
    assert outcome.delta[1] > 0.0


@pytest.mark.parametrize(
    ("n", "k", "first"),
    [
        (8_000, 2, 2000),  # two thousand rows,
        (40_000, 2, 2000),
        (20_000, 30, 3000),  # a hundred for each feature,
        (120_000, 250, 20_000),  # no more than twenty thousand,
        (5_000, 10, 1250),  # and no more than a quarter of all
        (4_000, 10, 1000),
        (5_000, 220, 1250),
        (3_996, 10, None),  # fewer than a thousand are not worth it,
        (5_100, 256, None),  # nor fewer than five for each feature
        (4_000, 4, None),  # few numbers are solved at once
    ],
)
def test_many_rows_begin_with_some_of_them(monkeypatch, n, k, first):
    monkeypatch.setattr(newton_module, "FEW_NUMBERS", 16_000)
    if n == 8_000:
        monkeypatch.setattr(newton_module, "FEW_NUMBERS", 15_999)
    sizes = []

    class Watched(Rows):
        def subset(self, size):
            sizes.append(size)
            raise StopIteration

    problem = pre.RatioProblem(np.zeros(k), np.broadcast_to(np.arange(2.0), (2,))[:, None] * np.ones((2, k)))
    rows = Watched(np.broadcast_to(0.0, (n, k)), np.broadcast_to(0.0, (n,)))
    object.__setattr__(problem, "rows", rows)
    penalty = make_penalty(problem)
    if first is None:
        monkeypatch.setattr(newton_module, "_Descent", Stop)
        with pytest.raises(StopIteration):
            newton(problem, penalty, tol=1e-8)
        assert sizes == []
    else:
        with pytest.raises(StopIteration):
            newton(problem, penalty, tol=1e-8)
        assert sizes == [first]
        assert isinstance(sizes[0], int)


class Stop:
    """In place of a descent: the question was only how it would begin."""

    def __init__(self, *args):
        raise StopIteration


def test_numbers_that_overflow_on_the_way_raise_no_warning(monkeypatch):
    large, zero = np.full(1, 1e308), np.zeros(1)
    monkeypatch.setattr(newton_module, "_newton", lambda *args: (10.0 * large, large / zero, zero / zero))
    problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC)
    over, divided, invalid = newton(problem, make_penalty(problem), tol=1e-8)
    assert (over[0], divided[0]) == (np.inf, np.inf)
    assert np.isnan(invalid[0])


class Line(newton_module._Descent):
    """A line on which values and slopes are given, trial by trial."""

    def __init__(self, trials, decrement=1.0, penalty=None, flat=False):
        problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC)
        super().__init__(problem.rows, np.zeros(2), penalty or make_penalty(problem))
        self.trials, self.decrement, self.tried, self.flat = iter(trials), decrement, [], flat
        self.point = replace(super().at(np.zeros(2)), loss=0.0, penalty=0.0, noise=0.0)

    def at(self, delta):
        self.tried.append(delta[0])
        value, slope = next(self.trials)
        summary = replace(self.point.summary, mean=np.array([slope, 0.0]))
        return replace(self.point, delta=delta, loss=value, summary=summary)

    def _flat(self, point, trial, d):
        return self.flat

    def search(self, fall):
        return self._search(self.point, np.array([1.0, 0.0]), np.array([-fall, 0.0]))


UP, DOWN = (1.0, -1.0), (-1.0, -1.0)  # a value that is too high, and one that will do


@pytest.mark.parametrize(
    ("fall", "slopes", "steps"),
    [
        (0.1, [0.9], [1.0, 0.1]),  # to the lowest point of the parabola
        (0.1, [0.3], [1.0, 0.25]),
        (2.0, [6.0, 18.0], [1.0, 0.25, 0.025]),
        (0.1, [9.9], [1.0, 0.05]),  # no shorter than a twentieth,
        (2.0, [1.0], [1.0, 0.5]),  # no longer than half
        (2.0, [-1.0], [1.0, 0.5]),  # where the line still falls there is no such point
        (0.0, [3.0], [1.0, 0.5]),
        (-1.0, [3.0], [1.0, 0.5]),
    ],
)
def test_a_step_that_is_too_long_is_cut_to_where_the_line_is_lowest(fall, slopes, steps):
    line = Line([(1.0, slope) for slope in slopes] + [DOWN])
    assert line.search(fall) is not None
    np.testing.assert_allclose(line.tried, steps)


@pytest.mark.parametrize("decrement", [1.0, 16.0, 64.0])
@pytest.mark.parametrize("fall", [1.0, 0.1])
def test_a_step_has_to_bring_a_share_of_the_fall_it_promised(fall, decrement):
    t = min(1.0, 4.0 / np.sqrt(decrement))  # four standard deviations at most
    for share, good in ((1.001, True), (1.0, True), (0.999, False), (-1.0, False)):
        line = Line([(-1e-4 * t * fall * share, 0.0), DOWN], decrement)
        line.search(fall)
        np.testing.assert_allclose(line.tried, [t] if good else [t, 0.5 * t])
    for share, good in ((0.499, True), (0.5, True), (0.501, False), (1.4, False)):  # and not to rise again
        line = Line([(-1.0, share * fall), DOWN], decrement)
        line.search(fall)
        assert len(line.tried) == (1 if good else 2)
    flat = Line([DOWN] * 40, decrement, flat=True)
    assert flat.search(fall) is None
    assert len(flat.tried) == 40  # halvings, after which there is nothing left of the step


def test_the_promise_of_a_step_knows_the_penalty():
    ball = make_penalty(pre.RatioProblem([0.5, 1.0], SYMMETRIC, radius=0.25))
    # −⟨g, d⟩ = 1 and the penalty rises by 0.25: a fall of 0.75, and a slope of 0.25 more than that of the loss
    for value, slope, good in (
        (-0.76e-4, -1.0, True),
        (-0.74e-4, -1.0, False),
        (-1.0, 0.12, True),
        (-1.0, 0.13, False),
    ):
        line = Line([(value, slope), DOWN], penalty=ball)
        line.search(1.0)
        assert len(line.tried) == (1 if good else 2)


def scripted(monkeypatch, decrement):
    """Runs that end where they began, as (rows, exact, aim), and the subsets that certificates were asked for."""
    runs, asked = [], []
    unproven = replace(certificate(planted()[0], np.zeros(3)), gap=np.inf)

    class Scripted(newton_module._Descent):
        def run(self, point, aim, limit=newton_module.ITERATIONS):
            runs.append((self.rows.shape[0], self.exact, aim))
            assert len(runs) < 100
            self.decrement = decrement
            self.curvature = np.eye(len(self.target)) if self.curvature is None else self.curvature
            return point

    def certify(problem, point, penalty, subset, tol, decrement):
        assert isinstance(penalty, BallPenalty)
        asked.append(None if subset is None else subset.shape[0])
        return unproven

    monkeypatch.setattr(newton_module, "_Descent", Scripted)
    monkeypatch.setattr(newton_module, "_certify", certify)
    monkeypatch.setattr(newton_module, "FEW_NUMBERS", 2_000)
    return runs, asked


ALL = [(True, 1e-6 * 1e-4**i) for i in range(5)]  # all rows at a tolerance of 1e-3, down to round-off


@pytest.mark.parametrize(("decrement", "expected"), [(0.0, ALL), (1e-17, ALL[:4]), (0.5, ALL[:1])])
def test_few_rows_are_solved_more_closely_until_their_answer_is_proven(monkeypatch, decrement, expected):
    problem, _ = planted(n=300, k=3)
    runs, asked = scripted(monkeypatch, decrement)
    outcome = newton(problem, make_penalty(problem), tol=1e-3)
    assert not outcome.certificate.proves(1e-3)
    assert [run[:2] for run in runs] == [(300, True)] * len(expected)
    np.testing.assert_allclose([run[2] for run in runs], [aim for _, aim in expected])
    assert asked == [None] * len(expected)


@pytest.mark.parametrize(("decrement", "lifts"), [(0.0, 10), (0.5, 1)])
def test_many_rows_are_solved_more_closely_and_then_with_the_curvature_of_all(monkeypatch, decrement, lifts):
    problem, _ = planted(n=8000, k=4, spread=0.0)
    runs, asked = scripted(monkeypatch, decrement)
    newton(problem, make_penalty(problem), tol=1e-3)
    aim = 1e-3 * 2000 / 8000
    closer = [(False, aim * 1e-2**i) for i in range(lifts)]
    exact = ALL if decrement == 0.0 else ALL[:1]
    assert [run[:2] for run in runs] == [(2000, True), (2000, False), *((8000, e) for e, _ in closer + exact)]
    np.testing.assert_allclose([run[2] for run in runs], [2e-4, 2e-4, *(a for _, a in closer + exact)])
    assert asked == [2000] * lifts + [None] * len(exact)


def test_many_rows_without_a_subset_are_solved_with_the_curvature_of_the_few(monkeypatch):
    problem, _ = planted(n=8000, k=4, spread=0.0)
    runs, asked = scripted(monkeypatch, 0.5)
    newton(problem, make_penalty(problem), tol=1e-25)
    assert [run[:2] for run in runs] == [(2000, True), (8000, False), (8000, True)]
    np.testing.assert_allclose([run[2] for run in runs], [2e-4, 1e-26, 1e-50])
    assert asked == [None, None]


def passes_at(monkeypatch):
    """Where passes were made."""
    deltas = []

    class Watched(newton_module._Descent):
        def at(self, delta):
            deltas.append(delta)
            return super().at(delta)

    monkeypatch.setattr(newton_module, "_Descent", Watched)
    return deltas


class Elsewhere(newton_module.NoPenalty):
    """A penalty that begins away from zero, as constraints may ask for."""

    def start(self, k):
        return np.ones(k)


def test_a_start_that_is_worse_than_none_is_left_at_once(monkeypatch):
    problem, best = planted(n=300, k=3)
    deltas = passes_at(monkeypatch)
    newton(problem, make_penalty(problem), tol=1e-8, start=np.full(3, 1e3))
    np.testing.assert_array_equal(deltas[:2], [np.full(3, 1e3), np.zeros(3)])
    deltas.clear()
    newton(problem, make_penalty(problem), tol=1e-8, start=best)
    assert not any(np.all(delta == 0.0) for delta in deltas[:-1])  # the last one is to see what the weights lost
    deltas.clear()
    outcome = newton(problem, Elsewhere(problem.ball, 0.0), tol=1e-8)
    np.testing.assert_array_equal(deltas[0], np.ones(3))
    np.testing.assert_allclose(outcome.delta, best, atol=1e-9)
    deltas.clear()
    newton(
        problem, Elsewhere(problem.ball, 0.0), tol=1e-8, start=best + 5.0
    )  # worse than δ = 0, which may not be allowed
    np.testing.assert_array_equal(deltas[0], best + 5.0)
    assert not np.all(deltas[1] == 1.0)


@pytest.mark.parametrize(("few", "size"), [(10**9, None), (2_000, 2000)])
def test_coordinates_come_from_the_few_rows_where_there_are_many(monkeypatch, few, size):
    asked, real = [], newton_module.coordinates
    monkeypatch.setattr(newton_module, "coordinates", lambda *args: asked.append(args) or real(*args))
    monkeypatch.setattr(newton_module, "FEW_NUMBERS", few)
    F = np.random.default_rng(0).normal(size=(8000, 2))
    problem = pre.RatioProblem([0.1, 0.2, 0.1], F[:, [0, 1, 0]])
    assert newton(problem, make_penalty(problem), tol=1e-6).free_directions == 1
    rows, some = asked[0]
    assert rows is problem.rows
    if size is None:
        assert some is None
    else:
        assert some.shape == (size, 3)
        np.testing.assert_array_equal(some.log_base, np.full(size, problem.log_base[0]))  # as they are, not as all


@pytest.mark.parametrize(("missed", "ends"), [(0.05, False), (0.1, False), (0.15, True), (0.5, True)])
def test_a_target_off_the_plane_of_the_rows_by_more_than_the_radius_has_no_answer(missed, ends):
    F = np.column_stack([np.random.default_rng(0).normal(size=(50, 2)), np.full(50, 3.0)])
    problem = pre.RatioProblem([0.1, 0.0, 0.1, 3.0 + missed], F[:, [0, 1, 0, 2]], radius=0.1)
    outcome = newton(problem, make_penalty(problem), tol=1e-8)
    assert (outcome.iterations == 0) is ends
    if ends:
        assert (outcome.passes, outcome.free_directions, outcome.collapsed) == (1, 1, False)
        np.testing.assert_allclose(outcome.delta, [0.0, 0.0, 0.0, missed], atol=1e-12)
        assert outcome.certificate.primal_value == pytest.approx(problem.value(outcome.delta), abs=1e-12)
        assert not outcome.certificate.proves(1e-8)


class Decided(newton_module._Descent):
    """A descent that ends with a decrement that is given."""

    decrements, inner = iter(()), []

    def run(self, point, aim, limit=newton_module.ITERATIONS):
        found = super().run(point, aim, limit)
        self.inner.append((self.rows.shape[0], self.exact))
        self.decrement = next(self.decrements)
        return found


@pytest.mark.parametrize(
    ("decrements", "tol", "solved", "runs"),
    [
        ((1.0, 1.0), 1e-3, True, [(2000, True), (2000, False)]),
        ((1.0, 1.01), 1e-3, False, [(2000, True), (2000, False)]),  # the subset misses the target
        ((1.01, 1.0), 1e-3, True, [(2000, True), (2000, True)]),  # the few do, and the subset begins by itself
        ((1.01, 2.0), 1e-3, False, [(2000, True), (2000, True)]),
        ((1.0,), 1e-25, True, [(2000, True)]),  # there is no subset that would be worth it
        ((1.01,), 1e-25, False, [(2000, True)]),
    ],
)
def test_a_subset_that_misses_the_target_brings_nothing(monkeypatch, decrements, tol, solved, runs):
    problem, _ = planted(n=8000, k=4, spread=0.0)
    penalty = make_penalty(problem)
    monkeypatch.setattr(newton_module, "_Descent", Decided)
    monkeypatch.setattr(Decided, "decrements", iter(decrements))
    monkeypatch.setattr(Decided, "inner", [])
    few = Decided(problem.rows.subset(2000).weighted, problem.target, penalty)
    start = few.at(np.zeros(4))
    delta, curvature, subset = newton_module._solve_subset(problem.rows, problem.target, penalty, start, few, tol)
    assert Decided.inner == runs
    assert (delta is not start.delta) is solved
    assert (curvature is not None) is solved
    assert (subset is not None) is (solved and tol == 1e-3)


class OnFiles(Rows):
    """Rows that are not in memory, where a pass costs more."""

    in_memory = False


@pytest.mark.parametrize(("kind", "room"), [(Rows, 0.3), (OnFiles, 0.1)])
@pytest.mark.parametrize("reached", [True, False])
@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-30])
def test_a_subset_has_the_rows_and_the_curvature_that_its_share_asks_for(monkeypatch, kind, room, reached, tol):
    asked, noisy = [], []
    monkeypatch.setattr(newton_module, "_size_of_subset", lambda *args: asked.append(args) or sizes[tol])
    monkeypatch.setattr(newton_module, "shrunk", lambda H, size: noisy.append((H, size)) or H)
    monkeypatch.setattr(newton_module, "_Descent", Decided)
    monkeypatch.setattr(Decided, "inner", [])
    sizes = {1e-2: 500, 1e-6: 4000, 1e-30: 8000}
    monkeypatch.setattr(Decided, "decrements", iter([0.5 if reached else 1.5, 0.5]))
    problem, _ = planted(n=8000, k=4, spread=0.0)
    rows, penalty = kind(problem.features_q, problem.log_base), make_penalty(problem)
    few = Decided(rows.subset(2000).weighted, problem.target, penalty)
    _, curvature, subset = newton_module._solve_subset(rows, problem.target, penalty, few.at(np.zeros(4)), few, tol)
    ((given, share, safe),) = asked
    assert given is rows
    assert safe == pytest.approx(room * tol, abs=0.0)
    assert 0.1 < share < 0.99 if reached else share == 1.0
    if tol == 1e-30:
        assert subset is None
        assert noisy == ([(few.curvature, 2000 * share)] if reached else [])
        assert curvature is (few.curvature if reached else None)
    else:
        assert subset.shape == (max(sizes[tol], 2000), 4)  # no fewer than the few
        ((H, size),) = noisy
        np.testing.assert_allclose(curvature, H)
        assert size == pytest.approx(share * subset.shape[0])


def test_exact_zeros_are_those_that_the_inequality_of_pinsker_proves():
    problem, best = planted(n=200, k=4, radius=0.05, norm=np.inf)
    penalty, descent = make_penalty(problem), descent_of(problem)
    noisy = np.where(best == 0.0, 1e-12, best)
    point = point_of(descent, noisy)
    zero = np.flatnonzero(best == 0.0)
    inside = 0.05 - np.abs(problem.residual_origin - point.summary.mean)[zero]
    ranges = np.ptp(problem.features_q, axis=0)[zero]
    gaps = 2.0 * (inside / ranges) ** 2  # at which range · √(gap / 2) is all that a residual is inside by
    for share in (0.8, 1.2):
        proof = replace(certificate(problem, noisy, penalty=penalty), gap=share * gaps.max())
        found, _ = newton_module._with_exact_zeros(problem, descent, point, penalty, None, 1e-8, proof)
        np.testing.assert_array_equal(found.delta[zero] == 0.0, share * gaps.max() < gaps)


class Flow(newton_module._Descent):
    """A descent whose decrements and searches are given one after the other; what it asks for is written down."""

    D = np.array([0.1, 0.2])

    def __init__(self, decrements, moves=(), blind=(), curvature=None):
        problem = pre.RatioProblem([0.5, 1.0], SYMMETRIC)
        super().__init__(problem.rows, problem.target, make_penalty(problem), curvature)
        self.begin = super().at(np.zeros(2))
        self.decrements, self.moves, self.blind = iter(decrements), iter(moves), iter(blind)
        self.dampings, self.asked, self.learned = [], [], []

    def at(self, delta):
        self.asked.append((delta, self.decrement))
        return super().at(delta)

    def _step(self, point, gradient, H, damping):
        np.testing.assert_array_equal(gradient, point.summary.mean - self.target)
        assert H is self.curvature
        self.dampings.append(damping)
        assert len(self.dampings) < 100
        return self.D

    def _decrement(self, point, d, gradient, H):
        assert d is self.D
        return next(self.decrements)

    def _blind(self, gradient, H, d):
        assert d is self.D
        return next(self.blind, False)

    def _runs_away(self, point):
        return False

    def _search(self, point, d, gradient):
        """Up by a number, with the covariance or without; ``None`` if the search finds nothing."""
        move = next(self.moves)
        if move is None:
            return None
        rise, fresh = move
        covariance = 2.0 * np.eye(2) if fresh else None
        summary = replace(point.summary, covariance=covariance, mean=point.summary.mean + [0.3, 0.4])
        return replace(point, delta=point.delta + d, loss=point.loss + rise, summary=summary)

    def go(self, aim=1e-8):
        return self.run(self.begin, aim)


FALLS, LEVEL = (-1.0, True), (-1e-15, True)  # a step that helps, and one that does so by no more than round-off


@pytest.mark.parametrize(
    ("moves", "dampings"),
    [
        ([FALLS], [0, 0]),
        ([None] * 8, [0, 1e-8, 1e-6, 1e-4, 1e-2, 1e0, 1e2, 1e4]),  # and no more than that
        ([None, FALLS], [0, 1e-8, 0]),
        ([None, None, FALLS, FALLS], [0, 1e-8, 1e-6, 1e-8, 0]),  # it is taken back step by step
        ([None, None, None, FALLS, FALLS, FALLS], [0, 1e-8, 1e-6, 1e-4, 1e-6, 1e-8, 0]),
        ([LEVEL, None], [0, 0]),  # among values that differ by round-off nothing is tried again
    ],
)
def test_steps_that_do_not_help_are_damped(moves, dampings):
    taken = sum(move is not None for move in moves)
    ends = None in moves[-1:]
    flow = Flow([0.9 * 0.1 ** min(i, taken) for i in range(len(dampings) - (not ends))] + [0.0], moves)
    found = flow.go()
    np.testing.assert_allclose(flow.dampings, dampings, rtol=1e-12)
    assert flow.iterations == taken
    np.testing.assert_allclose(found.delta, taken * flow.D)


@pytest.mark.parametrize(
    ("decrements", "blind", "dampings"),
    [
        ([0.4, 0.4, 0.0], [True], [0, 1e-6, 1e-8]),
        ([0.5, 0.0], [True], [0, 0, 1e-6]),  # far away it is not asked; at the end it is
        ([0.4, 0.0], [False], [0, 0]),
    ],
)
def test_a_blind_step_is_damped_once(decrements, blind, dampings):
    flow = Flow([*decrements, 0.0], [FALLS], blind)
    flow.go()
    np.testing.assert_allclose(flow.dampings, dampings)


def test_steps_end_at_the_aim_itself():
    flow = Flow([0.25])
    assert flow.go(aim=0.25) is flow.begin
    assert (flow.iterations, flow.longest, flow.decrement) == (0, 0.0, 0.25)


GRADIENT = (-1.0, False)  # a step whose pass brought no covariance


@pytest.mark.parametrize(
    ("decrements", "moves", "iterations", "asked"),
    [
        ([1.0, 0.24, 0.0], [GRADIENT, GRADIENT], 2, 0),
        ([1.0, 0.25, 0.0], [GRADIENT, GRADIENT], 2, 0),
        ([1.0, 0.26, 0.26, 0.0], [GRADIENT, GRADIENT], 2, 1),  # too little: the covariance of this point is asked for
        ([1.0, 0.26, 0.30, 0.0], [GRADIENT, GRADIENT], 2, 1),  # once
        ([1.0, 0.26, 0.26, 0.07, 0.07, 0.0], [GRADIENT] * 3, 3, 2),
        ([1.0, 0.26, 0.26, 0.06, 0.0], [GRADIENT] * 3, 3, 1),
        ([1.0, 0.9, 0.0], [FALLS, FALLS], 2, 0),  # with a covariance there is patience,
        ([1.0, 0.9], [(-1e-14, True)], 1, 0),  # unless values differ by round-off only
        ([1.0, 0.2, 0.0], [LEVEL, FALLS], 2, 0),
        ([1.0, 0.9, 0.8, 0.0], [(-1e-13, True), (-1e-13, True), FALLS], 3, 0),
    ],
)
def test_a_step_by_gradients_has_to_shrink_the_decrement(decrements, moves, iterations, asked):
    flow = Flow(decrements, moves)
    found = flow.go()
    assert flow.iterations == iterations
    assert [np.isinf(decrement) for _, decrement in flow.asked] == [True] * asked
    np.testing.assert_allclose(found.delta, iterations * flow.D)
    assert flow.longest == 1.0
    assert next(flow.decrements, None) is None
    given = Flow([1.0, 0.26], [GRADIENT], curvature=np.eye(2))
    given.begin = replace(given.begin, summary=replace(given.begin.summary, covariance=None))
    np.testing.assert_allclose(given.go().delta, given.D)  # where a curvature was given there is nothing to ask for
    s, y = given.D, np.array([0.3, 0.4])
    np.testing.assert_allclose(given.curvature, newton_module._secant(np.eye(2), s, y))


PROVEN, UNPROVEN = 0.0, np.inf


def ended(monkeypatch, proofs, longest=0.0, decrement=0.0, shrunk_to=None, move=None):
    """A whole run whose descents end where they began, or by a move from there, with certificates that are given."""
    seen = {"descents": [], "asked": [], "zeros": []}
    gaps, plain = iter(proofs), certificate(planted()[0], np.zeros(3))

    class Ended(newton_module._Descent):
        def at(self, delta):
            seen["descents"].append((self.rows.shape[0], delta))
            return super().at(delta)

        def run(self, point, aim, limit=newton_module.ITERATIONS):
            self.curvature = point.summary.covariance if self.curvature is None else self.curvature
            if shrunk_to is not None:
                self.curvature = shrunk_to * self.curvature
            self.decrement, self.longest = decrement, longest
            if move is not None and self.rows.shape[0] == 8000:
                return super().at(point.delta + move)
            return point

    def certify(problem, point, penalty, subset, tol, decrement):
        assert isinstance(penalty, BallPenalty)
        seen["asked"].append(None if subset is None else subset.shape[0])
        return replace(plain, gap=next(gaps))

    def zeros(problem, descent, point, penalty, subset, tol, proof):
        seen["zeros"].append(None if subset is None else subset.shape[0])
        return point, proof

    monkeypatch.setattr(newton_module, "_Descent", Ended)
    monkeypatch.setattr(newton_module, "_certify", certify)
    monkeypatch.setattr(newton_module, "_with_exact_zeros", zeros)
    monkeypatch.setattr(newton_module, "FEW_NUMBERS", 2_000)
    return seen


@pytest.mark.parametrize(("longest", "looked"), [(0.5, False), (0.51, True)])
@pytest.mark.parametrize(("tol", "rows"), [(1e-3, 2000), (1e-25, 2000)])
def test_after_a_long_step_the_curvature_is_looked_at_where_it_ended(monkeypatch, longest, looked, tol, rows):
    problem, _ = planted(n=8000, k=2, spread=0.0)
    seen = ended(monkeypatch, [PROVEN], longest, move=np.array([200.0, 0.0]))  # where one row has all the weight
    outcome = newton(problem, make_penalty(problem), tol=tol)
    assert outcome.collapsed is looked
    assert (seen["descents"][-1][0] == rows) is looked
    assert (seen["descents"][-1][1] is outcome.delta) is looked
    assert seen["zeros"] == [None if tol == 1e-25 else 2000]


def test_where_every_covariance_was_asked_for_it_is_known_and_with_a_radius_nothing_collapses(monkeypatch):
    problem, _ = planted(n=300, k=2, spread=0.0)
    ended(monkeypatch, [PROVEN] * 2, longest=9.0, shrunk_to=1e-30)
    assert newton(problem, make_penalty(problem), tol=1e-3).collapsed is True
    ball = problem.with_radius(0.1)
    assert newton(ball, make_penalty(ball), tol=1e-3).collapsed is False


@pytest.mark.parametrize(("share", "collapsed"), [(1 - 5e-5, False), (1 + 5e-5, True)])
def test_weights_collapse_where_curvature_is_lost_like_the_decrement(monkeypatch, share, collapsed):
    problem, _ = planted(n=300, k=2, spread=0.0)
    ended(monkeypatch, [PROVEN], decrement=1e-7 * share, shrunk_to=1e-3)
    assert newton(problem, make_penalty(problem), tol=1e-3).collapsed is collapsed


def test_the_curvature_to_begin_with_is_that_of_the_rows_it_began_with(monkeypatch):
    problem, _ = planted(n=8000, k=2, spread=0.0)
    seen = ended(monkeypatch, [PROVEN])
    newton(problem, make_penalty(problem), tol=1e-3, start=np.array([0.1, 0.2]))
    rows, delta = seen["descents"][-1]
    assert rows == 2000
    np.testing.assert_array_equal(delta, np.zeros(2))


@pytest.mark.parametrize(
    ("n", "proofs", "shortened"),
    [
        (300, [PROVEN, PROVEN], True),
        (300, [PROVEN, UNPROVEN], False),  # a shorter δ has to be proven, too
        (300, [UNPROVEN], False),  # what is not proven is left as it is
        (8000, [PROVEN, PROVEN], True),
    ],
)
def test_a_proven_delta_is_replaced_by_the_shortest_that_is_proven(monkeypatch, n, proofs, shortened):
    F = np.random.default_rng(0).normal(size=(n, 2))
    problem = pre.RatioProblem([0.6, 0.2, 0.6], F[:, [0, 1, 0]], radius=0.05)
    seen = ended(monkeypatch, proofs, decrement=0.5)
    start = np.array([0.1, 0.1, 0.3])
    outcome = newton(problem, make_penalty(problem), tol=1e-3, start=start)
    np.testing.assert_allclose(outcome.delta, [0.2, 0.1, 0.2] if shortened else start)
    assert outcome.free_directions == 1
    assert outcome.certificate.proves(1e-3) is (proofs[0] == PROVEN)
    rows = None if n == 300 else 2000
    assert seen["asked"] == [rows] * len(proofs)
    assert seen["zeros"] == ([rows] if proofs[0] == PROVEN else [])
    assert outcome.passes == (2 if len(proofs) > 1 else 1)
