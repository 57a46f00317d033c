"""Verdicts follow from certificates and the known truth, not from claims."""

import numpy as np
import pytest
from pre_convex_lab.solvers.cases import Case, Truth, planted
from pre_convex_lab.solvers.contenders import Answer
from pre_convex_lab.solvers.metrics import METRICS, Verdict, judge
from pre_convex_lab.solvers.sets import load_set
from scipy.optimize import linprog

import pre_convex as pre

RNG = np.random.default_rng(0)
F = RNG.normal(size=(50, 2))
DELTA = np.array([0.4, -0.2])
PLAIN = planted("plain", F, DELTA)
EDGE, OUTSIDE = load_set("smoke").cases[2:]


def verdict(case, claim, delta=None, mu=None, tol=1e-6):
    return judge(case, Answer(claim, delta, mu), tol)[0]


@pytest.mark.parametrize(
    ("case", "claim", "delta", "expected"),
    [
        (PLAIN, "optimal", DELTA, Verdict.SOLVED),
        (PLAIN, "user_limit", DELTA, Verdict.SOLVED),  # the numbers are right, whatever it claims
        (PLAIN, "optimal", DELTA + 0.1, Verdict.FALSE_OPTIMAL),
        (PLAIN, "optimal_inaccurate", DELTA + 0.1, Verdict.INACCURATE),
        (PLAIN, "optimal", None, Verdict.FALSE_OPTIMAL),
        (PLAIN, "optimal", np.array([np.nan, 0.0]), Verdict.FALSE_OPTIMAL),
        (PLAIN, "solver_error", None, Verdict.FAILED),
        (PLAIN, "infeasible", DELTA, Verdict.FALSE_INFEASIBLE),
        (PLAIN, "unbounded", None, Verdict.FALSE_INFEASIBLE),
        (PLAIN, "boundary", DELTA, Verdict.FALSE_INFEASIBLE),
        (PLAIN, "infeasible_inaccurate", None, Verdict.FAILED),
        (OUTSIDE, "infeasible", None, Verdict.SOLVED),
        (OUTSIDE, "unbounded", None, Verdict.SOLVED),
        (OUTSIDE, "optimal", np.zeros(2), Verdict.FALSE_OPTIMAL),
        (OUTSIDE, "boundary", np.zeros(2), Verdict.FALSE_OPTIMAL),
        (OUTSIDE, "optimal_inaccurate", np.zeros(2), Verdict.INACCURATE),
        (EDGE, "optimal", np.array([0.0, 40.0]), Verdict.SOLVED),  # optimal to the tolerance
        (EDGE, "boundary", np.array([0.0, 40.0]), Verdict.SOLVED),
        (EDGE, "optimal", np.array([0.0, 4.0]), Verdict.FALSE_OPTIMAL),
        (EDGE, "infeasible", None, Verdict.FALSE_INFEASIBLE),
    ],
)
def test_verdict(case, claim, delta, expected):
    assert verdict(case, claim, delta) is expected


def test_weights_must_belong_to_delta():
    mu = np.full(50, 0.02)
    assert verdict(PLAIN, "optimal", DELTA, pre.solve(PLAIN.problem).mu) is Verdict.SOLVED
    assert verdict(PLAIN, "optimal", DELTA, mu) is Verdict.FALSE_OPTIMAL
    assert verdict(PLAIN, "optimal", DELTA, 2.0 * pre.solve(PLAIN.problem).mu) is Verdict.FALSE_OPTIMAL


def test_weights_with_the_right_moments_may_still_be_wrong():
    """A vertex of the feasible weights has the moment b but almost no entropy."""
    A, b = np.column_stack([np.ones(50), F]).T, np.append(1.0, PLAIN.problem.target)
    vertex = linprog(np.arange(50.0), A_eq=A, b_eq=b, bounds=(0.0, None)).x
    result, numbers = judge(PLAIN, Answer("optimal", DELTA, vertex), 1e-4)
    assert result is Verdict.FALSE_OPTIMAL
    assert numbers["dual_residual"] < 1e-9
    assert numbers["weights"] == pytest.approx(PLAIN.value - PLAIN.problem.dual_value(vertex), rel=1e-6)
    assert judge(PLAIN, Answer("optimal", DELTA), 1e-4)[1]["weights"] == 0.0


def test_an_answer_is_solved_if_its_gap_is_within_the_tolerance():
    near = DELTA + 1e-3
    gap = judge(PLAIN, Answer("optimal", near), 1e-4)[1]["gap"]
    assert 1e-8 < gap < 1e-4
    assert verdict(PLAIN, "optimal", near, tol=2.0 * gap) is Verdict.SOLVED
    assert verdict(PLAIN, "optimal", near, tol=0.5 * gap) is Verdict.FALSE_OPTIMAL


def test_metrics_have_known_values():
    d = np.array([1e-5, 0.0])
    H = PLAIN.problem.hessian(DELTA)
    answer = Answer("optimal", DELTA + d, None, 7, 1.0, 2.0, 3.0)
    numbers = judge(PLAIN, answer, 1e-6)[1]
    assert numbers["error"] == pytest.approx(1e-5 * np.sqrt(H[0, 0]), rel=1e-6)
    assert numbers["primal_residual"] == pytest.approx(np.linalg.norm(H @ d) / np.sqrt(np.trace(H)), rel=1e-3)
    assert numbers["gap"] * (1.0 + abs(PLAIN.value)) == pytest.approx(0.5 * d @ H @ d, rel=1e-3, abs=1e-14)
    assert (numbers["iterations"], numbers["compile"], numbers["setup"], numbers["solve"]) == (7.0, 1.0, 2.0, 3.0)
    assert {*numbers, "memory", "time"} == set(METRICS)
    half = judge(PLAIN, Answer("optimal", DELTA, 0.5 * np.asarray(pre.solve(PLAIN.problem).mu)), 1e-6)[1]
    assert half["dual_residual"] == pytest.approx(0.5)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_the_answer_without_a_radius_is_not_stationary_with_one(norm):
    case = planted("radius", F, DELTA, radius=0.3, norm=norm)
    free = pre.solve(pre.RatioProblem(case.problem.target, F)).delta
    assert judge(case, Answer("optimal", DELTA), 1e-6)[1]["primal_residual"] < 1e-12
    result, numbers = judge(case, Answer("optimal", free), 1e-6)
    assert result is Verdict.FALSE_OPTIMAL
    assert numbers["primal_residual"] > 0.05


def test_zero_is_not_stationary_at_a_small_radius():
    case = planted("radius", F, DELTA, radius=0.2, norm=np.inf)
    assert judge(case, Answer("optimal", DELTA), 1e-6)[1]["primal_residual"] < 1e-12
    assert judge(case, Answer("optimal", np.zeros(2)), 1e-6)[1]["primal_residual"] > 0.05


def test_an_infeasible_case_has_no_error():
    case = Case("none", OUTSIDE.problem, Truth.INFEASIBLE, -np.inf)
    numbers = judge(case, Answer("infeasible"), 1e-6)[1]
    assert np.isnan(numbers["error"])
    assert np.isnan(numbers["primal_residual"])
    assert not np.isfinite(numbers["gap"])
