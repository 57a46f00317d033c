"""Steps with an ℓ1 penalty, judged by their optimality conditions."""

import numpy as np
import pytest
from pre_convex_lab.solvers.cases import planted

import pre_convex as pre
from pre_convex.penalties import l1
from pre_convex.penalties.l1 import search_signs
from pre_convex.penalties.polyhedral import regularised, solve_regular


def violation(x, q, H, R):
    """Violation of r = R sign(x) where x is nonzero and of |r| ≤ R where it is zero, relative to R."""
    r = -q - H @ x
    carries = np.abs(r - R * np.sign(x))[x != 0.0].max(initial=0.0)
    return max(carries, (np.abs(r) - R)[x == 0.0].max(initial=0.0)) / R


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize(("k", "n"), [(1, 20), (5, 50), (60, 40), (40, 400)])
@pytest.mark.parametrize("R", [1.0, 0.1, 0.01])
def test_the_step_is_optimal_from_any_start(k, n, R, correlated):
    rng = np.random.default_rng([k, n])
    F = rng.normal(size=(n, k)) + correlated * rng.normal(size=(n, 1))
    H = regularised(F.T @ F / n)
    q = H @ rng.normal(size=k)
    for start in (np.zeros(k), rng.normal(size=k)):
        x = search_signs(start, q, H, R)
        assert violation(x, q, H, R) < 1e-10


@pytest.mark.parametrize(("scales", "R"), [(np.ones(20), 1e-9), (np.geomspace(1e-4, 1e4, 20), 0.1)])
def test_small_radii_and_wide_columns_are_solved_to_round_off(scales, R):
    """Signs and residuals cannot agree more closely than the round-off of the residuals."""
    rng = np.random.default_rng(3)
    F = rng.normal(size=(40, 20)) * scales
    H = F.T @ F
    q = H @ (rng.normal(size=20) / scales)
    x = search_signs(np.zeros(20), q, H, R)
    noise = 1e-14 * (np.abs(q) + np.abs(H) @ np.abs(x))
    r = -q - H @ x
    assert np.all(np.abs(r - R * np.sign(x))[x != 0.0] <= (1e-10 * R + noise)[x != 0.0])
    assert np.all(np.abs(r) <= R + 1e-10 * R + noise)


def test_duplicate_columns_share_one_coefficient():
    H = regularised(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    q = np.array([-1.0, -1.0, 0.5])
    x = search_signs(np.zeros(3), q, H, 0.25)
    assert x[:2].sum() == pytest.approx(0.75)
    assert x[2] == pytest.approx(-0.25)


def test_an_unbounded_step_is_none():
    assert search_signs(np.zeros(2), np.array([1.0, 0.0]), np.diag([0.0, 1.0]), 0.5) is None


def test_more_columns_than_rows_need_no_cone_solver(monkeypatch):
    """Guesses of the active set fail here; the minimiser is unique, so that there is nothing to shorten."""
    rng = np.random.default_rng(8)
    delta = np.append([0.6, -0.6, 0.6], np.zeros(87))
    inner = rng.uniform(-0.9, 0.9, 90)
    case = planted("wide", rng.normal(size=(60, 90)), delta, radius=0.1, norm=np.inf, inner=inner)
    monkeypatch.setattr("pre_convex.penalties.step_program.StepProgram", None)
    solution = pre.solve(case.problem)
    assert solution.gap < 1e-8
    assert solution.delta == pytest.approx(delta, abs=1e-7)
    assert np.count_nonzero(solution.delta) == 3


def test_singular_curvature_without_small_pivots():
    """The null direction has a small component in the last columns, so that no pivot of the factor is small."""
    rng = np.random.default_rng(1)
    unsolved = 0
    for _ in range(400):
        A = rng.normal(size=(8, 17))
        H = regularised(A.T @ A)
        q = -H @ rng.normal(size=17)
        start = rng.normal(size=17) * rng.integers(0, 2, size=17)
        x = search_signs(start, q, H, 0.1)
        unsolved += x is None or violation(x, q, H, 0.1) > 1e-9
    assert not unsolved


@pytest.mark.parametrize("shared", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_sets_of_signs_change_in_one_solve(monkeypatch, seed, shared):
    """One sign at a time would take a linear solve for each nonzero coefficient."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(200, 150)) + shared * rng.normal(size=(200, 1))
    H = regularised(F.T @ F / 200)
    q, solves = H @ rng.normal(size=150), []
    monkeypatch.setattr(l1, "solve_regular", lambda H, rhs: solves.append(rhs.size) or solve_regular(H, rhs))
    x = search_signs(np.zeros(150), q, H, 0.05)
    assert violation(x, q, H, 0.05) < 1e-10
    assert 3 * len(solves) < np.count_nonzero(x)
