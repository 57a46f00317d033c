"""compare() judges every solver by the same certificate, and never raises for an answer."""

import numpy as np
import pytest

import pre_convex as pre

FORMULATIONS = ("primal", "dual")


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    return pre.RatioProblem.from_samples(rng.normal(0.3, 1.0, (80, 2)), rng.normal(0.0, 1.0, (60, 2)))


def test_every_installed_solver_appears_in_each_formulation_and_newton_once(problem):
    result = pre.compare(problem)
    cone = [(solver, f) for solver in pre.installed_solvers()[1:] for f in FORMULATIONS]
    assert [(row.solver, row.formulation) for row in result] == [("newton", "both"), *cone]
    assert len(result) == len(cone) + 1
    reference = pre.solve(problem)
    for row in result:
        assert row.status is row.solution.status is pre.Status.OPTIMAL
        assert row.gap <= 1e-8 * (1.0 + abs(row.value))
        assert row.value == pytest.approx(reference.primal_value, abs=2e-8)
        assert row.seconds > 0.0


def test_the_own_gap_is_that_of_the_unpolished_answer(problem):
    row = pre.compare(problem, "SCS", "dual", tol=1e-3)[0]
    unpolished = pre.solve(problem, "dual", "SCS", tol=1e-3, polish=False, check=False)
    assert row.own_gap == pytest.approx(unpolished.gap, rel=1e-6)
    assert row.gap <= row.own_gap
    newton = pre.compare(problem, ["newton"])[0]
    assert newton.own_gap == newton.gap


@pytest.mark.parametrize(("target", "status"), [(3.0, "INFEASIBLE"), (1.0, "BOUNDARY")])
def test_a_problem_without_a_solution_shows_its_status(target, status):
    problem = pre.RatioProblem(target=[target], features_q=[[0.0], [1.0]])
    result = pre.compare(problem)
    assert {row.status.name for row in result} == {status}
    assert status.lower() in str(result)


def test_a_solver_that_fails_is_a_row_with_its_report(problem, monkeypatch):
    from pre_convex.solvers import CONE_SOLVERS, ConeSolver

    broken = ConeSolver("SCS", lambda tol: {"max_iters": -1})
    monkeypatch.setitem(CONE_SOLVERS, "SCS", broken)
    result = pre.compare(problem, ["newton", "SCS"])
    assert [row.status.name for row in result] == ["OPTIMAL", "FAILED", "FAILED"]
    assert all(row.own_gap == row.gap == np.inf and row.claim for row in result.rows[1:])
    assert result[1].claim.split()[0] in str(result)


def test_the_table_fits_eighty_columns_and_the_frame_holds_the_same_rows(problem):
    result = pre.compare(problem, formulations=["dual"])
    lines = str(result).splitlines()
    assert repr(result) == str(result)
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["solver", "formulation", "status", "own", "gap", "gap", "value", "seconds"]
    for backend in ("pandas", "polars"):
        pytest.importorskip(backend)
        frame = result.to_frame(backend)
        assert list(frame.columns) == [
            "solver", "formulation", "status", "own_gap", "gap", "value", "seconds", "claim",
        ]  # fmt: skip
        for i, row in enumerate(result):
            assert frame["solver"][i] == row.solver
            assert frame["status"][i] == row.status.name
            assert frame["gap"][i] == row.gap


def test_names_are_taken_once_and_in_any_case(problem):
    result = pre.compare(problem, ["auto", "newton", "clarabel", "CLARABEL"], ["primal", "primal"])
    assert [row.solver for row in result] == ["newton", "CLARABEL"]


def test_only_newton_solves_problems_read_block_by_block():
    features = np.random.default_rng(1).normal(size=(50, 2))
    problem = pre.RatioProblem.from_blocks(None, features, target=[0.1, 0.2])
    assert pre.compare(problem, "newton")[0].status.ok
    with pytest.raises(pre.DataError) as error:
        pre.compare(problem)
    assert error.value.argument == "problem"
