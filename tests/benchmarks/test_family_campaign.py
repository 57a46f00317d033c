"""The campaign of the convex family: its problems, its judge, the stored results, and the commands."""

import csv
import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import pre_convex as pre

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
#: share of feasible problems that has to be proven; the others are on or very close to the edge
PROVEN = 0.98


def stored(name):
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def quoted(page, mark):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [line for line in text.split(f"<!-- {mark} -->")[1].split(f"<!-- /{mark} -->")[0].splitlines() if line]


@pytest.mark.parametrize("number", range(11))
def test_feasible_problems_have_weights_and_infeasible_ones_do_not(number):
    from family_problems import feasible, infeasible

    for drawn, is_feasible in ((feasible(number), True), (infeasible(number), False)):
        problem = drawn.problem
        rows = problem.positive_rows
        F, pi, R = problem.features_q[rows], np.exp(problem.log_base[rows]), np.broadcast_to(problem.radius, problem.k)
        bounds = np.column_stack([np.broadcast_to(x, problem.n_q)[rows] * pi for x in problem.bounds])
        used = np.isfinite(R)
        scale = np.where(np.ptp(F, axis=0) > 0.0, np.ptp(F, axis=0), 1.0)[used]
        A, slack = ((F - problem.target)[:, used] / scale).T, R[used] / scale + 1e-8
        # a box around the ball of the radius: weights that the ball allows are in it
        found = linprog(np.zeros(rows.size), np.vstack([A, -A]), np.tile(slack, 2), np.ones((1, rows.size)), [1.0],
                        bounds, method="highs")  # fmt: skip
        if is_feasible:
            assert found.status == 0, drawn
        elif problem.radius_per_feature or problem.norm == np.inf or not np.any(R):
            assert found.status == 2, drawn


def test_the_judge_refutes_a_gap_that_is_too_small_and_no_true_one():
    from family_judge import judge

    rng = np.random.default_rng(0)
    F = rng.normal(size=(40, 2))
    for name, radius in [("chi2", 0.0), ("reverse-kl", [0.0, 0.1]), ("kl", 0.05)]:
        problem = pre.RatioProblem([0.3, 0.2], F, divergence=name, bounds=(0.1, 4.0), radius=radius)
        solution = pre.solve(problem)
        assert judge(problem, solution).certified
        assert not judge(problem, solution).false
        off = solution.delta + 1e-3
        proof = pre.certify(problem, off)
        moved = dataclasses.replace(
            solution, delta=off, certificate=proof, normaliser=problem.intercept(off), weights=problem.mu(off)
        )
        assert not judge(problem, moved).false
        less = dataclasses.replace(proof, gap=0.5 * proof.gap)
        refuted = judge(problem, dataclasses.replace(moved, certificate=less))
        assert refuted.false == (less.gap < proof.primal_value - solution.dual_value)
        assert refuted.false or radius != 0.0


def test_the_judge_of_directions_counts_bounds_and_radii():
    from family_judge import separates, wrong_weights

    problem = pre.RatioProblem([0.9], [[0.0], [1.0]], bounds=(0.0, 1.5))
    assert separates(problem, np.ones(1))
    assert not separates(problem, -np.ones(1))
    assert not separates(problem.with_radius(0.16), np.ones(1))
    assert not separates(problem.without_bounds(), np.ones(1))
    assert wrong_weights(problem.with_radius(0.2), np.array([0.3, 0.7])) == ""
    assert wrong_weights(problem.with_radius(0.2), np.array([0.2, 0.8])) == "bounds"
    assert wrong_weights(problem.with_radius(0.2), np.array([0.3, 0.6])) == "sum"


def test_the_commands_run():
    campaign = [ROOT / "benchmarks" / "family_campaign.py", "--feasible", "22", "--infeasible", "3"]
    coverage = [ROOT / "benchmarks" / "family_coverage.py", "--runs", "1"]
    scale = [ROOT / "benchmarks" / "family_scale.py", "--rows", "3000", "--columns", "3"]
    outputs = [
        subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True).stdout
        for command in (campaign, coverage, scale)
    ]
    assert "| **all feasible** | **22** |" in outputs[0]
    assert "reverse KL" in outputs[1]
    assert outputs[2].count("OPTIMAL") == 8


@pytest.mark.parametrize(
    ("name", "page"),
    [("family-campaign", "robustness.md"), ("family-coverage", "coverage.md"), ("family-scale", "scale.md")],
)
def test_the_pages_show_the_stored_results(name, page):
    import importlib

    assert quoted(page, name) == importlib.import_module(name.replace("-", "_")).table(stored(name))


def test_the_stored_campaign_has_no_false_certificate():
    rows = {row["kind"]: row for row in stored("family-campaign")}
    assert all(row["false"] == "0" for row in rows.values())
    for kind, count in (("all feasible", 10_000), ("all infeasible", 2_500)):
        assert int(rows[kind]["problems"]) >= count
        assert int(rows[kind]["proven"]) + int(rows[kind]["edge"]) >= PROVEN * count


def test_stored_solves_of_a_million_rows_take_at_most_twelve_passes():
    for row in stored("family-scale"):
        assert (row["rows"], row["columns"], row["status"]) == ("1000000", "20", "OPTIMAL")
        if row["member"] != "reverse KL":
            assert float(row["passes"]) <= 12.0, row


def test_the_stored_coverage_is_nominal_where_it_should_be():
    for row in stored("family-coverage"):
        if row["aim"] == "True":
            error = 100.0 * np.sqrt(0.05 * 0.95 / int(row["runs"]))
            for name in ("delta_1", "delta_2", "r at (0.5, 0.2)", "joint region"):
                assert abs(float(row[name]) - 95.0) < 1.0 + 3.5 * error, (row, name)
