"""The user's terms in conic form, and bounds of their conjugate that do not rest on a solver, [CONE]."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from zoo import planted

import pre_convex as pre
from pre_convex.penalties.conic_form import ConicForm
from pre_convex.penalties.step_program import StepProgram

K = 4
NONE = np.zeros((K, 0))
DIFFERENCES = np.diff(np.eye(K), axis=0)
TERMS = {
    "norm 2": lambda d: 0.3 * cp.norm(d),
    "norm 1": lambda d: 0.3 * cp.norm1(d),
    "norm inf": lambda d: 0.3 * cp.norm_inf(d),
    "squares": lambda d: cp.sum_squares(d),
    "groups": lambda d: 0.1 * cp.norm(d[:2]) + 0.1 * cp.norm(d[2:]),
    "huber": lambda d: 0.2 * cp.sum(cp.huber(d)),
    "total variation": lambda d: 0.1 * cp.norm1(DIFFERENCES @ d),
    "exponentials": lambda d: 0.3 * cp.sum(cp.exp(d)) - cp.sum(d),
    "nuclear": lambda d: 0.1 * cp.normNuc(cp.reshape(d, (2, 2), order="F")),
    "largest and a constant": lambda d: 0.3 * cp.max(d) + 7.0,
}


@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-4])
@pytest.mark.parametrize("name", TERMS)
def test_the_slack_is_an_upper_bound_whatever_the_dual_point(name, off):
    # g*(r') ≥ ⟨r', x⟩ − g(x) for every x, so that the slack has to exceed g(δ) − g(x) − ⟨r', δ − x⟩
    rng = np.random.default_rng(3)
    variable = cp.Variable(K)
    g = TERMS[name](variable)
    form = ConicForm(variable, g, [], np.ones(K))
    root, q = rng.normal(size=(K, K)) + 2.0 * np.eye(K), rng.normal(size=K)
    point, z = form.step(q, root), form.solve(q, root)
    z = z * (1.0 + off * rng.normal(size=z.size))

    def value(x):
        variable.value = x
        return float(g.value)

    trial = form.bound(z, point, value(point), np.zeros(K), NONE, q, np.ones(K))
    if off == 0.0:
        assert trial is not None
        assert trial.slack < 1e-8
    if trial is None:
        return
    for scale in 10.0 ** np.arange(-8.0, 2.0):
        x = point + scale * rng.normal(size=K)
        least = value(point) - value(x) - float(trial.residual @ (point - x)) - float(trial.error @ np.abs(point - x))
        assert trial.slack >= least - 1e-14


def test_the_slack_of_squares_in_exact_arithmetic():
    rng = np.random.default_rng(5)
    variable = cp.Variable(K)
    form = ConicForm(variable, cp.sum_squares(variable), [], np.ones(K))
    for _ in range(20):
        root, q = rng.normal(size=(K, K)) + 2.0 * np.eye(K), rng.normal(size=K)
        point, z = form.step(q, root), form.solve(q, root)
        trial = form.bound(z, point, float(point @ point), np.zeros(K), NONE, q, np.ones(K))
        # g(δ) + g*(r) − ⟨r, δ⟩ = ‖δ − r/2‖² for the nearest of the residuals that the bound may mean
        miss = [
            max(abs(Fraction(x) - Fraction(r) / 2) - Fraction(e) / 2, Fraction(0))
            for x, r, e in zip(point, trial.residual, trial.error, strict=True)
        ]
        assert Fraction(trial.slack) >= sum(m * m for m in miss)


def test_residuals_within_the_margin_have_the_slack_too():
    variable, rng = cp.Variable(K), np.random.default_rng(1)
    form = ConicForm(variable, 0.3 * cp.norm(variable), [], np.ones(K))
    q = rng.normal(size=K)
    point, z = form.step(q, np.eye(K)), form.solve(q, np.eye(K))
    margin = np.full(K, 1e-15)
    trial = form.bound(z, point, 0.3 * float(np.linalg.norm(point)), margin, NONE, np.zeros(K), np.ones(K))
    assert trial is not None
    assert not trial.error.any()
    assert np.linalg.norm(trial.residual) + np.linalg.norm(margin) <= 0.3
    # a residual on the sphere has no room around it
    assert form.bound(z, point, 0.3, np.full(K, 0.1), NONE, np.zeros(K), np.ones(K)) is None


def test_power_cones_have_no_bound_and_no_proof():
    problem, _ = planted(k=2)

    def limit(d):
        return [cp.PowCone3D(d[0] + 2.0, cp.Constant(1.0), d[1], 0.3)]

    solution = pre.solve(problem, constraints=limit, check=False)
    assert solution.status is not pre.Status.OPTIMAL
    assert solution.certificate.gap == np.inf


def test_columns_that_depend_on_others_are_proven_with_a_penalty():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(200, 3))
    F = np.column_stack([F, 2.0 * F[:, 2], np.full(200, 7.0)])
    target = rng.dirichlet(np.ones(200)) @ F
    solution = pre.solve(pre.RatioProblem(target, F), penalty=lambda d: 0.01 * cp.norm(d))
    assert solution.status is pre.Status.OPTIMAL
    assert solution.certificate.last_digit == 0.0


def test_a_step_that_has_no_solution_raises():
    problem, _ = planted(k=2)
    step = StepProgram(problem, lambda d: cp.norm1(d), lambda d: [d[0] >= 1.0, d[0] <= -1.0])
    with pytest.raises(pre.SolveError, match="Infeasible"):
        step.solve(np.ones(2), np.eye(2))
