"""The verdicts of the benchmark guard, and its rows on small problems."""

import sys

import guard
import pytest
import scale

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")


@pytest.mark.parametrize(
    ("aim", "measured", "verdict"),
    [
        *(("<= 4", "4.00", "ok"), ("<= 4", "7.99", "missed"), ("<= 4", "8.01", "FAIL"), ("<= 4", "", "FAIL")),
        *((">= 4", "4.00", "ok"), (">= 4", "2.01", "missed"), (">= 4", "1.99", "FAIL"), (">= 4", "100", "ok")),
    ],
)
def test_a_row_fails_at_twice_its_goal_or_without_a_number(aim, measured, verdict):
    assert guard.verdict({"measured": measured, "aim": aim}) == verdict


@pytest.fixture
def once(monkeypatch):
    """One pair of times for each row."""
    monkeypatch.setattr(scale, "BUDGET", float("inf"))
    monkeypatch.setattr(scale, "REPEATS", 1)
    monkeypatch.setattr(scale, "FULL", False)


@pytest.mark.parametrize(
    "rows",
    [
        lambda: scale.plain_rows(2_000),
        lambda: scale.penalty_rows(2_000),
        lambda: scale.constraint_rows(2_000),
        lambda: scale.against_lbfgs(1_000, 5, "<= 1.0", faster=False, same_gap=True),
        lambda: scale.many_rows(5, 1_000, 5),
        lambda: scale.float32_rows(2_000, 5),
        lambda: scale.infeasible_rows(30, 60, in_seconds=False),
        lambda: scale.summary_rows(2_000, 5),
        pytest.param(lambda: scale.memory_rows(50_000, 5), marks=LINUX),
    ],
)
def test_every_row_has_a_number_and_a_goal(rows, once):
    found = list(rows())
    assert found
    for row in found:
        # memory that the interpreter frees during a solve may exceed what so small a solve takes
        assert float(row["measured"]) > (-1.0 if row["unit"] == "x the data" else 0.0), row
        assert guard.verdict(row) in ("ok", "missed", "FAIL")
        assert not row["gap"] or float(row["gap"]) <= scale.TOL * 100, row


@LINUX
def test_targets_of_the_memory_rows_lie_where_their_names_say():
    statuses = {name: scale.child("memory", name, "20000", "5")["status"] for name in scale.POSITIONS}
    assert statuses == {
        "inside the hull": "OPTIMAL",
        "on a face": "BOUNDARY",
        "on a vertex": "BOUNDARY",
        "outside": "INFEASIBLE",
    }


def test_rows_of_an_interrupted_run_are_taken_from_its_output(capsys):
    new = [
        scale.row("solve, n = 10, R = 0", 3.25, scale.PASSES, "<= 4", 5e-10, "a note, with 2.0 numbers"),
        scale.row("solve, n = 10, R = 0, one thread", 0.5, scale.FASTER, ">= 1", None),
        scale.row("RatioProblem(b, F)", 1.5, scale.PASSES),
    ]
    for found in new:
        scale.show(found)
    old = [{**found, "measured": "9.99", "gap": "", "notes": "old"} for found in new]
    missing = {**old[0], "work": "import pre_convex"}
    rows = scale.taken(capsys.readouterr().out, [*old, missing])
    assert rows == [*new, {**missing, "work": "import pre_convex (earlier engine)"}]
