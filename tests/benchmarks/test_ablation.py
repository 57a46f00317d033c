"""The ablation: special cases are switched off and on again, saved answers are counted, the page shows the counts."""

import csv
from pathlib import Path

import numpy as np
import pytest
from quotes import quoted

import pre_convex as pre

ROOT = Path(__file__).parents[2]
SQUARE = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


def test_boundary_answers_are_lost_without_the_boundary():
    from ablation import Named, compare, solve_all
    from special_cases import SPECIAL_CASES

    targets = {"inside": [0.3, 0.4], "face": [1.0, 0.5], "corner": [0.0, 1.0], "outside": [2.0, 0.5]}
    turn = np.array([[1.0, 1.0], [1.0, 2.0]])  # after it no column exposes these faces
    named = [Named("square", name, pre.RatioProblem(target @ turn, SQUARE @ turn)) for name, target in targets.items()]
    baseline = solve_all(named)
    assert [found.status for found, _ in baseline] == ["OPTIMAL", "BOUNDARY", "BOUNDARY", "INFEASIBLE"]
    cases = {case.name: case for case in SPECIAL_CASES}
    lost = []
    count = compare(named, baseline, (cases["boundary answers"],), lost)["square"]
    assert (count.problems, count.reached, count.lost) == (4, 2, 2)
    assert [line.split(": ")[1] for line in lost] == ["face", "corner"]
    count = compare(named, baseline, (cases["norm 1: search of ties"],))["square"]
    assert (count.problems, count.reached, count.lost) == (4, 0, 0)
    assert [found.status for found, _ in solve_all(named)] == [found.status for found, _ in baseline]


def test_every_special_case_can_be_switched_off_and_leaves_no_trace():
    from special_cases import SPECIAL_CASES, off

    before = [vars(switch.owner)[switch.name] for case in SPECIAL_CASES for switch in case.switches]
    with off(*SPECIAL_CASES):
        changed = [vars(switch.owner)[switch.name] for case in SPECIAL_CASES for switch in case.switches]
    after = [vars(switch.owner)[switch.name] for case in SPECIAL_CASES for switch in case.switches]
    assert all(old is not new for old, new in zip(before, changed, strict=True))
    assert all(old is new for old, new in zip(before, after, strict=True))


def test_realistic_problems_are_the_same_every_time_and_of_every_kind():
    from realistic import FAMILIES, realistic

    named = list(realistic())
    assert {name for name, _ in named} == {family.__name__.replace("_", " ") for family in FAMILIES}
    assert {problem.norm for _, problem in named if problem.radius > 0.0} == {1.0, 2.0, float("inf")}
    for (_, first), (_, second) in zip(named[::50], list(realistic())[::50], strict=True):
        assert (first.features_q == second.features_q).all()
        assert (first.target == second.target).all()
        assert first.radius == second.radius


@pytest.mark.parametrize(("mark", "name"), [("ablation", "ablation"), ("first edition", "ablation-first-edition")])
def test_the_page_shows_the_stored_counts(mark, name):
    import ablation

    lines, path = quoted(ROOT / "docs" / "ablation.md", mark), ROOT / "benchmarks" / "results" / f"{name}.csv"
    if not path.exists():
        assert lines == []  # no claims before a measurement
        return
    with path.open(newline="") as file:
        assert lines == ablation.table(list(csv.DictReader(file)))


def test_generators_of_requests_are_watched_and_switched_off():
    """A target far outside: the descent ends because δ separates it, or goes on for longer."""
    from special_cases import SPECIAL_CASES, off, watch

    cases = {case.name: case for case in SPECIAL_CASES}
    rows = np.random.default_rng(0).normal(size=(200, 3))
    problem = pre.RatioProblem([9.0, 9.0, 9.0], rows)
    with watch(SPECIAL_CASES) as reached:
        before = pre.solve(problem, check=False)
    assert "_separates" in reached
    assert before.trace[0].reason == "diverges"
    with off(cases["_separates"]):
        after = pre.solve(problem, check=False)
    assert after.status is before.status is pre.Status.INFEASIBLE
    assert after.trace[0].reason != "diverges"
