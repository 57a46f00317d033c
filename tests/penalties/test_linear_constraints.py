"""Linear constraints on δ: steps, gaps and solutions against cone programs, exact bounds, units, infeasible sets."""

import cvxpy as cp
import numpy as np
import pytest
from zoo import planted

import pre_convex as pre
from pre_convex.penalties import LinearConstraints, UserPenalty, make_penalty

K = 5
ROWS = np.random.default_rng(0).integers(-1, 2, size=(4 * K, K)).astype(float)
CASES = {
    "lower bounds": lambda d: [d >= 0],
    "box": lambda d: [d >= -0.1, d <= 0.2],
    "infinite bounds": lambda d: [d >= [-np.inf, 0.1, -np.inf, -0.3, 0.0], d <= np.inf],
    "one inequality": lambda d: [cp.sum(d) <= -0.1],
    "increasing": lambda d: [cp.diff(d) >= 0],
    "sum zero": lambda d: cp.sum(d) == 0,
    "a ratio": lambda d: [d[0] == 2 * d[2]],
    "redundant equalities": lambda d: [cp.sum(d) == 1, 2 * cp.sum(d) == 2, d[0] == 0.5, cp.sum(d[1:]) == 0.5],
    "simplex": lambda d: [cp.sum(d) == 1, d >= 0],
    "cone": lambda d: [ROWS @ d <= 0],
    "many rows": lambda d: [ROWS @ d <= 0.1, d >= -1],
    "each bound twice": lambda d: [d >= 0, 2 * d >= 0, d >= -1, cp.diff(d) >= 0],
    "equality as two bounds": lambda d: [d[0] <= 0.3, d[0] >= 0.3, d[1] <= 0.3, d[1] >= 0.1 + 0.2],
    "one point": lambda d: [d <= 0.1, cp.sum(d) >= 0.1 * K],
    "decided by an equality": lambda d: [d[0] + d[1] == 0, d[0] + d[1] <= 0, d[2] >= 0],
}


def model(gradient, H, delta, x):
    """Value of the quadratic model of a step."""
    return float(gradient @ (x - delta) + 0.5 * (x - delta) @ H @ (x - delta))


def optimum(problem, constraints, unit=1.0):
    """Value of [P] by a cone solver at a tight tolerance, for δ = unit · z; constraints are those of z."""
    z = cp.Variable(problem.k)
    logits = problem.log_base + (problem.features_q * unit) @ z
    limits = constraints(z)
    program = cp.Problem(
        cp.Minimize(cp.log_sum_exp(logits) - (problem.target * unit) @ z),
        limits if isinstance(limits, list) else [limits],
    )
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert program.status == cp.OPTIMAL
    return program.value


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_that_of_the_cone_program(case, seed):
    rng = np.random.default_rng(seed)
    problem, _ = planted(k=K, seed=seed)
    linear, cone = make_penalty(problem, None, CASES[case]), UserPenalty(problem, None, CASES[case])
    assert isinstance(linear, LinearConstraints)
    delta = linear.start(K)
    assert linear.violation(delta) <= 1e-15
    np.testing.assert_allclose(delta, cone.start(K), atol=1e-6)
    X = rng.normal(size=(20, K)) * 10.0 ** rng.uniform(-1, 1, K)
    gradient, H = rng.normal(size=K), X.T @ X / 20
    x, expected = linear.step(delta, gradient, H), cone.step(delta, gradient, H)
    np.testing.assert_allclose(x, expected, atol=1e-7 * (1 + np.abs(expected).max()))
    assert model(gradient, H, delta, x) <= model(gradient, H, delta, expected) + 1e-9
    assert linear.violation(x) <= 1e-15


@pytest.mark.parametrize("case", CASES)
def test_a_solution_is_certified_and_that_of_the_cone_engine(case):
    problem, _ = planted(n=150, k=K, seed=2)
    solution = pre.solve(problem, constraints=CASES[case])
    assert solution.certificate.proves(1e-8)
    assert solution.certificate.violation <= 1e-15
    cone = pre.solve(problem, solver="CLARABEL", polish=False, check=False, tol=1e-10, constraints=CASES[case])
    np.testing.assert_allclose(solution.delta, cone.delta, atol=1e-6)
    best = optimum(problem, CASES[case])
    assert solution.dual_value <= best + 1e-9
    assert solution.primal_value == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_the_gap_is_never_below_the_true_one(case):
    rng = np.random.default_rng(1)
    problem, _ = planted(n=100, k=K, seed=1)
    linear = make_penalty(problem, None, CASES[case])
    best, found = optimum(problem, CASES[case]), pre.solve(problem, constraints=CASES[case]).delta
    for size in (1.0, 1e-1, 1e-3, 1e-5):
        delta = linear.step(found + size * rng.normal(size=K), np.zeros(K), np.eye(K))  # the nearest feasible point
        certificate = pre.certify(problem, delta, constraints=CASES[case])
        assert certificate.dual_value <= best + 1e-9
        assert certificate.gap >= max(certificate.primal_value - best - 1e-9, 0.0)
        if size <= 1e-3:  # and not far above it
            assert certificate.gap <= 10.0 * size


@pytest.mark.parametrize("case", CASES)
def test_a_point_outside_has_an_honest_bound_and_is_not_proven(case):
    problem, _ = planted(n=100, k=K, seed=1)
    best, found = optimum(problem, CASES[case]), pre.solve(problem, constraints=CASES[case]).delta
    linear = make_penalty(problem, None, CASES[case])
    for size in (1e-2, 1e-6, 1e-14):
        outside = found - size * (1.0 + np.arange(K)) * np.sign(linear.M.sum(axis=0))
        certificate = pre.certify(problem, outside, constraints=CASES[case])
        assert certificate.gap >= 0.0
        assert certificate.dual_value <= best + 1e-9
        assert not certificate.proves(1e-8) or certificate.violation <= 1e-8


@pytest.mark.parametrize("seed", range(10))
def test_active_bounds_hold_exactly(seed):
    problem, _ = planted(n=300, k=8, seed=seed)
    lower, upper = np.full(8, -0.1), np.linspace(0.1, 0.3, 8)
    delta = pre.solve(problem, constraints=lambda d: [4 * d >= 4 * lower, d <= upper]).delta
    for bound in (lower, upper):
        at = np.abs(delta - bound) <= 1e-9
        np.testing.assert_array_equal(delta[at], bound[at])
    assert np.any(delta == lower)
    assert np.any(delta == upper)


@pytest.mark.parametrize(
    "constraints",
    [
        lambda d: [d >= 1, d <= 0],
        lambda d: [cp.sum(d) == 1, d <= 0],
        lambda d: [cp.sum(d) == 1, cp.sum(d) == 2],
        lambda d: [ROWS[:, :3] @ d <= -1],
        lambda d: [d >= np.inf],
        lambda d: [d[0] == -np.inf],
        lambda d: [0 * d >= 1],
        lambda d: [d[0] >= 1e-9, d[0] <= 0],
    ],
)
def test_infeasible_constraints(constraints):
    problem, _ = planted()
    assert isinstance(make_penalty(problem, None, constraints), LinearConstraints)
    with pytest.raises(pre.SolveError, match="infeasible"):
        pre.solve(problem, constraints=constraints)
    assert pre.solve(problem, constraints=constraints, check=False).status is pre.Status.FAILED
    assert not pre.certify(problem, np.zeros(3), constraints=constraints).proves(0.5)


def test_constraints_that_do_not_bind_change_nothing():
    problem, delta = planted()
    for constraints in (lambda d: [], lambda d: [d >= -np.inf], lambda d: [d <= 100, 0 * d <= 1, cp.Constant(1) >= 0]):
        solution = pre.solve(problem, constraints=constraints)
        np.testing.assert_allclose(solution.delta, delta, atol=1e-8)
        assert solution.certificate.proves(1e-8)


@pytest.mark.parametrize("unit", [1e-9, 1e9, np.array([1e-9, 1.0, 1e9, 1e3])], ids=["small", "large", "mixed"])
@pytest.mark.parametrize(
    "constraints",
    [lambda z: [z >= 0.2], lambda z: [cp.sum(z) == 1, z <= 0.4], lambda z: [cp.diff(z) >= 0.1, z[0] >= 0]],
)
def test_units_of_the_features_do_not_matter(unit, constraints):
    problem, _ = planted(n=150, k=4, seed=3)
    scaled = pre.RatioProblem(problem.target / unit, problem.features_q / unit, log_base=problem.log_base)
    in_units = pre.solve(scaled, constraints=lambda d: constraints(cp.multiply(1.0 / unit, d)))
    plain = pre.solve(problem, constraints=constraints)
    np.testing.assert_allclose(in_units.delta / unit, plain.delta, atol=1e-8)
    assert in_units.certificate.proves(1e-8)
    # zero violates every one of these, by 1e-9 or by 1e9
    terms = {"constraints": lambda d: constraints(cp.multiply(1.0 / unit, d))}
    assert pre.certify(scaled, np.zeros(4), **terms).violation == pytest.approx(1.0)
    tiny = pre.certify(scaled, in_units.delta - 1e-6 * unit, **terms)
    assert 1e-8 < tiny.violation < 1e-4


def test_a_small_bound_is_judged_by_its_own_size():
    problem, _ = planted()
    terms = {"constraints": lambda d: [d[0] >= 1e-9, d[1:] >= 0]}
    solution = pre.solve(problem, **terms)
    assert solution.delta[0] >= 1e-9
    assert pre.certify(problem, np.zeros(3), **terms).violation == pytest.approx(1.0)


def test_collinear_columns_are_proven():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(200, 2))
    F = np.column_stack([F, F.sum(axis=1)])  # (1, 1, -1) is a free direction
    problem = pre.RatioProblem(F.mean(axis=0) + F.std(axis=0) * [0.3, -0.2, 0.0] @ np.diag([1, 1, 0]), F)
    problem = pre.RatioProblem([*problem.target[:2], problem.target[:2].sum()], F)
    for constraints in (lambda d: [d >= -0.1], lambda d: [cp.sum(d) == 0.5], lambda d: [d[2] >= 0.5]):
        solution = pre.solve(problem, constraints=constraints)
        assert solution.free_directions == 1
        assert solution.certificate.proves(1e-8)
        cone = pre.solve(problem, solver="CLARABEL", constraints=constraints, polish=False, check=False)
        assert solution.primal_value <= cone.primal_value + 1e-7


def test_a_bound_stops_a_coefficient_that_would_diverge():
    F = np.column_stack([np.random.default_rng(0).normal(size=(200, 2)), np.ones(200)])
    problem = pre.RatioProblem([0.2, -0.1, 1.5], F)  # no weights give a constant another mean
    solution = pre.solve(problem, constraints=lambda d: [d[2] <= 0.7, d[0] <= 0.1])
    assert solution.certificate.proves(1e-8)
    assert (solution.delta[0], solution.delta[2]) == (0.1, 0.7)


LINEAR = {
    "parameter": lambda d: [cp.Parameter(value=2.0) * d >= 1],
    "non-negative cone": lambda d: [cp.NonNeg(d - 1)],
    "zero cone": lambda d: [cp.Zero(d[0] - 1)],
    "matrix": lambda d: [cp.outer(d, np.ones(2)) >= 1],
    "no list": lambda d: d[0] <= 1,
    "large offset": lambda d: [0.1 * d + 1e9 >= 1e9],
}


@pytest.mark.parametrize("case", LINEAR)
@pytest.mark.parametrize("k", [1, 3])
def test_linear_constraints_are_recognised(case, k):
    problem, _ = planted(k=k)
    linear, cone = make_penalty(problem, None, LINEAR[case]), UserPenalty(problem, None, LINEAR[case])
    assert isinstance(linear, LinearConstraints)
    for delta in np.random.default_rng(0).normal(size=(5, k)):
        assert (linear.violation(delta) > 1e-9) == (cone.violation(delta) > 1e-6)


@pytest.mark.parametrize(
    ("data", "terms"),
    [
        ({}, {"constraints": lambda d: [cp.norm(d) <= 1]}),
        ({}, {"constraints": lambda d: [d >= 0, cp.sum_squares(d) <= 1]}),
        ({}, {"penalty": lambda d: cp.norm1(d), "constraints": lambda d: [d >= 0]}),
        ({"radius": 0.1}, {"constraints": lambda d: [d >= 0]}),
    ],
)
def test_other_terms_stay_cone_programs(data, terms):
    problem, _ = planted(**data)
    assert isinstance(make_penalty(problem, **terms), UserPenalty)


def test_no_cone_program_is_solved(monkeypatch):
    problem, _ = planted(k=K)
    monkeypatch.setattr(cp.Problem, "solve", None)
    for constraints in CASES.values():
        assert pre.solve(problem, constraints=constraints).status.ok


def test_random_constraints_on_many_rows():
    problem, _ = planted(n=30_000, k=20, strength=0.1)
    solution = pre.solve(problem, constraints=lambda d: [d >= -0.05, cp.sum(d) == 0])
    assert solution.certificate.proves(1e-8)
    assert solution.delta.min() == -0.05
