"""Inputs that are hard on a certificate: what it says must be true of the exact problem, or it must say nothing."""

import cvxpy as cp
import numpy as np
import pytest
from zoo import OPTIMAL, of_kind, planted

import pre_convex as pre

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("animal", [a for a in of_kind(OPTIMAL) if a.small], ids=str)
def test_the_known_answer_is_proven_and_no_other(animal):
    """The gap at a known δ is its round-off; a δ off by one unit of the weights' own scale is not proven."""
    problem, delta = animal.problem, animal.delta
    delta = pre.solve(problem).delta if delta is None else delta  # one of many
    proof = pre.certify(problem, delta)
    assert proof.gap <= 1e-12 * (1.0 + abs(animal.value)) + 10.0 * proof.noise
    assert proof.primal_value == pytest.approx(animal.value, abs=1e-12 + proof.noise)
    if problem.n_q > 1:
        v = np.random.default_rng(0).normal(size=problem.k)
        off = v / np.sqrt(v @ problem.hessian(delta) @ v)
        wrong = pre.certify(problem, delta + off)
        assert not wrong.proves(1e-3)
        assert wrong.primal_value - animal.value <= wrong.gap + 1e-12 + wrong.noise


@pytest.mark.parametrize("width", [1e-9, 1e-11, 1e-13])
def test_nearly_collinear_columns_are_not_proven_beyond_round_off(width):
    # the exact value of ℓ needs more digits than the data has; a gap below that would be false
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=12), rng.normal(size=12)
    F = np.column_stack([x, x + width * z])
    problem = pre.RatioProblem(rng.dirichlet(np.ones(12)) @ F, F)
    solution = pre.solve(problem, check=False)
    assert solution.gap >= 1e-16 / width
    off = pre.RatioProblem(problem.target + [0.0, 20 * width], F)
    assert pre.solve(off, check=False).status is pre.Status.INFEASIBLE


@pytest.mark.parametrize("off", [3e-11, 1e-8, 1e-3])
def test_a_doubled_column_that_the_target_does_not_double(off):
    x = np.linspace(-1, 1, 9)
    problem = pre.RatioProblem([0.3, 0.3 + off], np.column_stack([x, x]))
    solution = pre.solve(problem, check=False)
    assert solution.status is pre.Status.INFEASIBLE
    assert solution.hull.radius == pytest.approx(off / np.sqrt(2), rel=1e-3)
    assert pre.certify(problem, [0.0, 0.0]).dual_value == -np.inf


@pytest.mark.parametrize("width", [1e-4, 1e-6, 1e-8])
def test_a_thin_hull_has_an_inside_a_boundary_and_an_outside(width):
    F = SQUARE @ np.array([[1.0, 1.0], [0.0, width]])
    inside = pre.solve(pre.RatioProblem([0.5, 0.5 + 0.3 * width], F), check=False, tol=1e-6)
    assert inside.status is pre.Status.OPTIMAL
    edge = pre.solve(pre.RatioProblem([0.5, 0.5], F), check=False)
    assert edge.status is pre.Status.BOUNDARY
    assert edge.dual_value == pytest.approx(-np.log(2), abs=1e-6)
    assert pre.solve(pre.RatioProblem([0.5, 0.5 - width], F), check=False).status is pre.Status.INFEASIBLE


def test_blocks_of_vanishing_weight():
    F = np.random.default_rng(0).normal(size=(60_000, 3))
    sorted_base = pre.RatioProblem([0.3, 0.1, -0.2], F, np.linspace(800, -800, 60_000))
    assert sorted_base.value(np.zeros(3)) == pytest.approx(0.0, abs=1e-12)
    F[123, 0] = 1e4  # one outlier
    assert pre.solve(pre.RatioProblem([0.3, 0.1, -0.2], F)).status.ok


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.01, 2), (0.01, np.inf), (0.01, 1)])
def test_a_column_that_one_row_in_many_has(radius, norm):
    F = np.random.default_rng(0).normal(size=(60_000, 3))
    F[:, 2] = 0.0
    F[77, 2] = 1.0
    problem = pre.RatioProblem([0.3, 0.1, 1e-3], F, radius=radius, norm=norm)
    solution = pre.solve(problem)
    assert pre.certify(problem, solution.delta).proves(1e-7)


def test_a_lift_keeps_the_total_weight():
    problem = pre.RatioProblem([1.5], [[1.0], [2.0]], [0.0, -50.0])
    optimum = -25.0 + np.log(2.0)  # half of the weight on each row
    assert pre.certify(problem, [0.0]).dual_value <= optimum + 1e-12
    assert pre.solve(problem).primal_value == pytest.approx(optimum, abs=1e-12)


def test_a_huge_delta_does_not_round_its_way_to_a_bound():
    problem = pre.RatioProblem([1.5], [[1.0], [1.0]], radius=1.0)
    assert pre.certify(problem, [1e13 / 3]).dual_value <= 0.0


@pytest.mark.parametrize("seed", range(20))
def test_base_weights_over_six_hundred_orders_of_magnitude(seed):
    rng = np.random.default_rng(seed)
    F, log_base = rng.normal(size=(30, 3)), rng.uniform(-700, 700, 30)
    solution = pre.solve(pre.RatioProblem(rng.dirichlet(np.ones(30)) @ F, F, log_base))
    assert solution.status is pre.Status.OPTIMAL


@pytest.mark.parametrize("radius", [1e-300, 1e-16, 1e-9, 0.5])
def test_a_constant_column_alone_and_any_radius(radius):
    column = np.full((8, 1), 0.3)
    met = pre.solve(pre.RatioProblem([0.3], column, 20.0 * np.arange(8), radius=radius), check=False)
    assert met.status is pre.Status.OPTIMAL
    missed = pre.solve(pre.RatioProblem([0.8 + 2 * radius], column, radius=radius), check=False)
    assert missed.status is pre.Status.INFEASIBLE


def test_a_penalty_outside_its_domain_is_infinite():
    certificate = pre.certify(planted()[0], [-1.0, -1.0, 1.0], penalty=lambda d: -cp.sum(cp.log(d)))
    assert certificate.primal_value == np.inf
    assert certificate.dual_value == -np.inf


def test_an_unbounded_problem_with_a_penalty_is_not_proven():
    problem = pre.RatioProblem([9.0, 9.0], planted(k=2)[0].features_q)
    solution = pre.solve(problem, penalty=lambda d: 0.01 * cp.norm1(d), check=False)
    assert solution.status is pre.Status.INACCURATE
    assert solution.gap == np.inf


def test_a_solver_that_raises_leaves_no_stale_step(monkeypatch):
    from pre_convex.programs import StepProgram

    problem, _ = planted(k=2)
    step = StepProgram(problem, np.ones(2), lambda d: cp.norm1(d))
    step.solve(np.ones(2), np.eye(2))

    def fail(*args, **kwargs):
        raise cp.SolverError("out of order")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(pre.SolveError, match="out of order"):
        step.solve(-np.ones(2), np.eye(2))


def test_the_right_delta_does_not_prove_the_wrong_weights():
    problem, delta = planted()
    right, wrong = np.exp(problem.log_mu(delta)), np.full(problem.n_q, 1 / problem.n_q)
    assert pre.certify(problem, delta, right).proves(1e-8)
    assert not pre.certify(problem, delta, wrong).proves(1e-8)


def test_user_terms_on_infeasible_data_say_where_the_target_is():
    problem = pre.RatioProblem([9.0, 9.0], planted(k=2)[0].features_q)
    with pytest.raises(pre.SolveError, match="outside the hull of the q features, and the penalty and constraints"):
        pre.solve(problem, penalty=lambda d: 0.01 * cp.norm1(d))


def test_infeasible_is_said_only_with_a_separating_direction():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        F = rng.normal(size=(60, 3)) * 10.0 ** rng.uniform(-6, 6, 3)
        problem = pre.RatioProblem(F[0] * rng.uniform(0.5, 6.0), F, norm=[2, np.inf, 1][seed % 3])
        solution = pre.solve(problem, check=False)
        if solution.status is pre.Status.INFEASIBLE:
            v = solution.hull.direction
            assert (F @ v).max() < v @ problem.target
            assert solution.hull.lower > 0.0
