"""The relaxed dual: parts with known answers, and the quick version of the experiment."""

import numpy as np
import pytest

from pre_convex.experiments import Setting, perform
from pre_convex.experiments.dual import RELAXATIONS, STAR, attempt, draw, make_problem, relax, slope, theorem
from pre_convex.solvers import installed_solvers, solve
from pre_convex.theory import min_eigenvalue_in_ball


@pytest.fixture(scope="module")
def outcome():
    return perform("dual", Setting(quick=True))[0]


def test_delta_star_is_what_a_large_sample_finds():
    n = 400_000
    delta = solve(make_problem(np.random.default_rng(0), n)).delta
    assert delta == pytest.approx(STAR, abs=5 * 3 / np.sqrt(n))


@pytest.mark.parametrize("power", [-0.5, -1.0, 0.3])
def test_the_slope_of_a_power_is_its_exponent(power):
    n = np.array([100.0, 400.0, 1600.0])
    noise = np.exp(np.random.default_rng(0).normal(size=(3, 4000)) * 0.2)
    steep, error = slope(n, list(3.0 * n[:, None] ** power * noise))
    assert abs(steep - power) < 4 * error
    assert error < 0.01


def test_the_standard_error_of_a_slope_is_its_spread():
    n = np.array([100.0, 400.0, 1600.0])
    rng = np.random.default_rng(1)
    found = [slope(n, list(np.exp(rng.normal(size=(3, 50)) * 0.5))) for _ in range(400)]
    spread = np.std([steep for steep, _ in found])
    assert np.mean([error for _, error in found]) == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("relaxation", RELAXATIONS)
def test_the_bound_stands_on_a_ball_that_is_large_enough(relaxation):
    n = 200
    problem = make_problem(np.random.default_rng(7), n)
    bound, R_2 = theorem(problem, n, relaxation)
    assert bound == pytest.approx((np.linalg.norm(problem.gradient(STAR)) + relaxation / np.sqrt(n)) / R_2)
    assert min_eigenvalue_in_ball(problem, STAR, bound)[0] >= R_2
    delta = solve(problem.with_radius(relaxation / np.sqrt(n)), "dual").delta
    assert np.linalg.norm(delta - STAR) <= bound


def test_relaxing_uses_the_same_sample_and_bounds_only_the_first():
    first, second = (relax(Setting(), 1, (100, i)) for i in (0, 1))
    assert [run.relaxation for run in first] == list(RELAXATIONS)
    assert all(np.isfinite(run.bound) for run in first)
    assert all(np.isnan(run.bound) for run in second)
    plain = solve(make_problem(Setting().rng(0, 100, 1), 100)).delta
    assert second[0].error == pytest.approx(np.linalg.norm(plain - STAR), abs=1e-6)


@pytest.mark.parametrize("solver", installed_solvers())
def test_multipliers_of_the_dual_are_delta_of_the_primal(solver):
    trial = attempt(Setting(), (solver, 100, 0, 1.0))
    assert trial.apart < 1e-4
    assert trial.polished_apart < 1e-6
    assert 0.0 <= trial.polished_gap <= 1e-8
    assert trial.e_qn < 1e-4


def test_verdicts(outcome):
    verdicts = {finding.question: finding.verdict for finding in outcome.findings}
    for relaxation in RELAXATIONS:
        assert verdicts[f"error slope, R₃ = {relaxation:g}"] == "holds"
    assert verdicts["its bound holds"] == "holds"
    assert verdicts["‖∇ℓ−∇ℓ*‖ ≤ R₂‖δ−δ*‖"].startswith("does not hold")
    assert verdicts["δ dual − primal, polished"] == "holds"
    assert outcome.verdict.startswith("holds: the error falls")
    assert outcome.data["bound"]["smallest_steepness"] >= 1.0
    assert outcome.data["largest_gap"] < 1e-8


def test_every_solver_has_its_figures(outcome):
    assert [row["solver"] for row in outcome.data["solvers"]] == list(installed_solvers())
    for row in outcome.data["solvers"]:
        assert 0 < row["answered"] <= row["problems"]
        assert len(row["gap"]) == len(row["e_qn"]) == row["answered"]


def test_the_figure_has_a_row_for_each_solver(outcome):
    errors, bounds, solvers = draw(outcome.data).axes
    assert len(solvers.get_yticks()) == len(installed_solvers())
    assert "0 of" in bounds.get_title()
    assert errors.get_xscale() == "log"
