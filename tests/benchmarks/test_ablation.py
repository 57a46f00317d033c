"""The ablation: special cases are switched off and on again, saved answers are counted, the page shows the counts."""

import csv
from itertools import islice
from pathlib import Path

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
    named = [Named("square", name, pre.RatioProblem(target, SQUARE)) for name, target in targets.items()]
    baseline = solve_all(named)
    assert [found.status for found, _ in baseline] == ["OPTIMAL", "BOUNDARY", "BOUNDARY", "INFEASIBLE"]
    cases = {case.name: case for case in SPECIAL_CASES}
    lost = []
    count = compare(named, baseline, (cases["boundary answers, all"],), lost)["square"]
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
    for (_, first), (_, second) in zip(named, islice(realistic(), 60), strict=False):
        assert (first.features_q == second.features_q).all()
        assert (first.target == second.target).all()
        assert first.radius == second.radius


def test_the_page_shows_the_stored_counts():
    import ablation

    with (ROOT / "benchmarks" / "results" / "ablation.csv").open(newline="") as file:
        assert quoted(ROOT / "docs" / "ablation.md", "ablation") == ablation.table(list(csv.DictReader(file)))
