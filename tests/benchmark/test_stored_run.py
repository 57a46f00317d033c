"""The page that advises quotes the stored run, and in that run newton was right everywhere."""

import re
from pathlib import Path

import pytest

from pre_convex.benchmark import DEFAULT_SETS, Truth, Verdict, checksum, load_set, read_run

ROOT = Path(__file__).parents[2]
RUN = read_run(ROOT / "benchmarks" / "results" / "solvers")


@pytest.fixture(scope="module")
def command():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import solvers

        yield solvers


def quoted(page, mark):
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(rf"^<!-- {mark} -->\n(.*?)\n?^<!-- /{mark} -->$", text, re.S | re.M)
    assert len(found) == 1, f"{page} has the marks of {mark} {len(found)} times"
    return found[0].splitlines()


def test_the_page_quotes_the_run(command):
    for mark, body in command.tables(RUN).items():
        assert quoted(command.PAGE, mark) == body, mark
    assert quoted("README.md", "solvers") == [command.recommendation(RUN)]


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
