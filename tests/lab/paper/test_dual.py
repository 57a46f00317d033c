"""Dual: slope and bound of the error, the verdict, and the quick version of the experiment."""

import numpy as np
import pytest
from pre_convex_lab.paper import Finding, Setting
from pre_convex_lab.paper.dual import (
    BOUND,
    RELAXATIONS,
    STAR,
    STEP,
    attempt,
    claims,
    error_bound,
    judge_size,
    judge_slope,
    judge_step,
    make_problem,
    relax,
    slope,
)

from pre_convex.solvers import installed_solvers, solve
from pre_convex.statistics.theory import min_eigenvalue_in_ball


@pytest.fixture(scope="module")
def outcome(quick_run):
    return quick_run("dual")[0]


def test_delta_star_is_what_a_large_sample_finds():
    n = 400_000
    delta = solve(make_problem(np.random.default_rng(0), n)).delta
    assert delta == pytest.approx(STAR, abs=5 * 3 / np.sqrt(n))


@pytest.mark.parametrize("power", [-0.5, -1.0, 0.3])
def test_slope_of_a_power_law_is_its_exponent(power):
    n = np.array([100.0, 400.0, 1600.0])
    noise = np.exp(np.random.default_rng(0).normal(size=(3, 4000)) * 0.2)
    fitted, error = slope(n, list(3.0 * n[:, None] ** power * noise))
    assert abs(fitted - power) < 4 * error
    assert error < 0.01


def test_standard_error_of_a_slope_is_its_standard_deviation():
    n = np.array([100.0, 400.0, 1600.0])
    rng = np.random.default_rng(1)
    found = [slope(n, list(np.exp(rng.normal(size=(3, 50)) * 0.5))) for _ in range(400)]
    spread = np.std([fitted for fitted, _ in found])
    assert np.mean([error for _, error in found]) == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("relaxation", RELAXATIONS)
def test_bound_meets_the_condition_of_the_theorem_and_holds(relaxation):
    n = 200
    problem = make_problem(np.random.default_rng(7), n)
    bound, R_2 = error_bound(problem, n, relaxation)
    assert bound == pytest.approx((np.linalg.norm(problem.gradient(STAR)) + relaxation / np.sqrt(n)) / R_2)
    assert min_eigenvalue_in_ball(problem, STAR, bound)[0] >= R_2
    delta = solve(problem.with_radius(relaxation / np.sqrt(n)), "dual").delta
    assert np.linalg.norm(delta - STAR) <= bound


def test_relaxations_share_their_sample_and_only_the_first_samples_get_a_bound():
    first, second = (relax(Setting(), 1, (100, i)) for i in (0, 1))
    assert [run.relaxation for run in first] == list(RELAXATIONS)
    assert all(np.isfinite(run.bound) for run in first)
    assert all(np.isnan(run.bound) for run in second)
    plain = solve(make_problem(Setting().rng(0, 100, 1), 100)).delta
    assert second[0].error == pytest.approx(np.linalg.norm(plain - STAR), abs=1e-6)


@pytest.mark.parametrize("solver", installed_solvers())
def test_multipliers_of_the_dual_are_the_delta_of_the_primal(solver):
    trial = attempt(Setting(), (solver, 100, 0, 1.0))
    assert trial.apart < 1e-4
    assert trial.polished_apart < 1e-6
    assert 0.0 <= trial.polished_gap <= 1e-8
    assert trial.e_qn < 1e-4


@pytest.mark.parametrize(
    ("fitted", "noise", "verdict"),
    [
        (-0.51, 0.02, "holds"),
        (-0.46, 0.02, "holds within 0.05"),
        (-0.6, 0.08, "holds within 1.5 × its noise"),
        (-0.6, 0.02, "does not hold"),
        (0.5, 0.02, "does not hold"),
    ],
)
def test_slope_is_judged_by_its_margin(fitted, noise, verdict):
    assert judge_slope(fitted, noise) == verdict


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [((9, 0, 9), "holds"), ((0, 9, 9), "does not hold: ≥ does"), ((1, 8, 9), "does not hold: nor does ≥")],
)
def test_inequality_must_hold_in_all_cases(counts, verdict):
    assert judge_step(*counts) == verdict


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        ([2e-8, 1e-7, 9e-7], "holds"),
        ([2e-8, 1e-7, 9e-6], "holds in the median"),
        ([1e-10, 1e-10, 1e-7], "does not hold: smaller"),
        ([1e-5, 1e-5, 1e-5], "does not hold: larger"),
    ],
)
def test_e_qn_is_judged_by_median_and_maximum(sizes, verdict):
    assert judge_size(sizes) == verdict


@pytest.mark.parametrize(
    ("slope", "bound", "step", "holds"),
    [
        ("holds", "holds", "does not hold: ≥ does", [True, True, True, False]),
        ("holds within 0.05", "holds", "holds", [True, True, True, True]),
        ("does not hold", "holds", "holds", [False, True, True, True]),
        ("holds", "does not hold", "holds", [True, True, False, True]),
    ],
)
def test_claims_follow_from_the_findings(slope, bound, step, holds):
    findings = (
        Finding("slope", "", "−1/2", slope),
        Finding("distance", "", "0", "holds to 1e-06"),
        Finding(BOUND, "", "always", bound),
        Finding(STEP, "", "in the proof", step),
    )
    assert list(claims(findings).values()) == holds
    assert len(claims(findings[:2])) == 2  # Theorem 3 applied to no sample


def test_quick_run_reproduces_the_verdict(outcome):
    verdicts = {finding.question: finding.verdict for finding in outcome.findings}
    for relaxation in RELAXATIONS:
        assert verdicts[f"error slope, R₃ = {relaxation:g}"].startswith("holds")
    assert verdicts[BOUND] == "holds"
    assert verdicts[STEP] == "does not hold: ≥ does"
    assert verdicts["‖δ dual − δ primal‖, polished"] == "holds to 1e-06"
    assert verdicts["E_qn, newton"] == ""
    assert list(outcome.claims.values()) == [True, True, True, False]
    assert min(outcome.data["bound"]["steepness"]) >= 1.0
    assert outcome.data["bound"]["checked"] == len(RELAXATIONS) * outcome.data["bound"]["samples"]
    assert outcome.data["largest_gap"] < 1e-8
    assert [row["solver"] for row in outcome.data["solvers"]] == list(installed_solvers())
    for row in outcome.data["solvers"]:
        assert 0 < row["answered"] <= row["problems"]
        assert len(row["gap"]) == len(row["e_qn"]) == row["answered"]
