"""The page that advises quotes the stored run, and in that run newton was right everywhere."""

from pathlib import Path

import pytest
from quotes import quoted

from pre_convex.benchmark import DEFAULT_SETS, Truth, Verdict, checksum, load_set, read_run

ROOT = Path(__file__).parents[2]
RUN = read_run(ROOT / "benchmarks" / "results" / "solvers")


@pytest.fixture(scope="module")
def command():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import solvers

        yield solvers


def test_the_page_quotes_the_run(command):
    for mark, body in command.tables(RUN).items():
        assert quoted(ROOT / command.PAGE, mark) == body, mark
    assert quoted(ROOT / "README.md", "solvers") == [command.recommendation(RUN)]


def test_the_run_is_the_default_one_and_whole():
    cases = {name: load_set(name) for name in DEFAULT_SETS}
    assert [part["name"] for part in RUN.facts["sets"]] == list(DEFAULT_SETS)
    for part in RUN.facts["sets"]:
        assert part["checksum"] == checksum(cases[part["name"]]), part["name"]
    names = {(name, case.name) for name in DEFAULT_SETS for case in cases[name].cases}
    contenders = {(row.solver, row.formulation) for row in RUN.rows}
    assert len(RUN.rows) == len(names) * len(contenders) * 3
    assert {(row.group, row.case) for row in RUN.rows} == names


def test_newton_was_certified_on_every_feasible_problem_and_named_the_others():
    own = [row for row in RUN.rows if row.solver == "newton"]
    assert {row.truth for row in own} == {truth.value for truth in Truth}
    assert all(row.verdict is Verdict.SOLVED and row.claim == row.truth for row in own)
