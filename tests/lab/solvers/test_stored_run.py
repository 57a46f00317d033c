"""The page on solvers quotes the stored run, in which newton solved every case."""

from pathlib import Path

import pytest
from pre_convex_lab.solvers import DEFAULT_SETS, Truth, Verdict, checksum, load_set, read_run
from quotes import quoted

ROOT = Path(__file__).parents[3]
RUN = read_run(ROOT / "benchmarks" / "results" / "solvers")


@pytest.fixture(scope="module")
def command():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import solvers

        yield solvers


def test_the_pages_quote_the_stored_run(command):
    for mark, body in command.tables(RUN).items():
        assert quoted(ROOT / command.PAGE, mark) == body, mark
    assert quoted(ROOT / "README.md", "solvers") == [command.recommendation(RUN)]


def test_the_stored_run_is_complete_and_has_the_current_sets():
    cases = {name: load_set(name) for name in DEFAULT_SETS}
    assert [part["name"] for part in RUN.facts["sets"]] == list(DEFAULT_SETS)
    for part in RUN.facts["sets"]:
        assert part["checksum"] == checksum(cases[part["name"]]), part["name"]
    names = {(name, case.name) for name in DEFAULT_SETS for case in cases[name].cases}
    contenders = {(row.solver, row.formulation) for row in RUN.rows}
    assert len(RUN.rows) == len(names) * len(contenders) * 3
    assert {(row.test_set, row.case) for row in RUN.rows} == names


def test_newton_solved_every_case_and_claimed_the_truth():
    own = [row for row in RUN.rows if row.solver == "newton"]
    assert {row.truth for row in own} == {truth.value for truth in Truth}
    assert all(row.verdict is Verdict.SOLVED and row.claim == row.truth for row in own)
