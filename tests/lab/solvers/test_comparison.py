"""Comparisons of handmade runs list every change and nothing else."""

import numpy as np
import pytest
from benchmark_rows import FALSE_OPTIMAL, four_problems, row, run_of
from pre_convex_lab.solvers.comparison import compare
from pre_convex_lab.solvers.metrics import Verdict

FACTS = {
    "cpu": "old",
    "versions": {"numpy": "2.1", "scs": "3.2"},
    "sets": [{"name": "easy", "checksum": "abc", "version": 1}],
}


def test_a_run_does_not_differ_from_itself():
    run = run_of(four_problems(), **FACTS)
    c = compare(run, run)
    assert c.same_verdicts
    assert (c.shared, c.only_before, c.only_now, c.verdicts, c.times, c.facts, c.sets) == (8, (), (), (), (), (), ())
    assert [t.ratio for t in c.contenders] == pytest.approx([1.0, 1.0])
    assert "same verdicts: yes" in c.to_markdown()


def test_changed_verdicts_and_times():
    before = run_of(
        [row("a", seconds=1.0), row("b", seconds=1.0), row("c", seconds=1.0), row("d", verdict=FALSE_OPTIMAL)]
    )
    now = run_of(
        [row("a", seconds=0.25), row("b", seconds=2.0), row("c", verdict=Verdict.TIME), row("d", seconds=3.0), row("e")]
    )
    c = compare(before, now)
    assert not c.same_verdicts
    assert [(v.before.case, v.before.verdict, v.now.verdict) for v in c.verdicts] == [
        ("c", Verdict.SOLVED, Verdict.TIME),
        ("d", FALSE_OPTIMAL, Verdict.SOLVED),
    ]
    (t,) = c.contenders
    assert (t.rows, t.solved_before, t.solved_now) == (4, 3, 3)
    assert t.ratio == pytest.approx(0.5**0.5)
    assert [(v.before.case, v.ratio) for v in c.times] == [("a", 0.25)]  # a factor of exactly two is not listed
    assert c.only_now == (("easy", "e", "A", "dual", 1e-6),)
    text = c.to_markdown()
    assert "newly solved: 1, no longer solved: 1" in text
    assert "same verdicts: no (2 of 4" in text


def test_changed_settings():
    later = {**FACTS, "cpu": "new", "versions": {"numpy": "2.2", "scs": "3.2", "ecos": "2.0"}}
    c = compare(run_of([row("a")], **FACTS), run_of([row("a")], **later))
    assert c.facts == (("cpu", "old", "new"), ("versions.numpy", "2.1", "2.2"), ("versions.ecos", "–", "2.0"))
    assert "not comparable" in c.to_markdown()
    assert not c.sets


def test_sets_with_different_problems_give_a_warning():
    later = {**FACTS, "sets": [{"name": "easy", "checksum": "xyz"}, {"name": "new", "checksum": "1"}]}
    c = compare(run_of([row("a")], **FACTS), run_of([row("a")], **later))
    assert c.sets == (("easy", "abc", "xyz"),)
    assert "WARNING" in c.to_markdown()
    assert any(line.startswith("WARNING") for line in c.lines())


def test_runs_without_common_rows_do_not_have_the_same_verdicts():
    c = compare(run_of([row("a")]), run_of([row("b")]))
    assert (c.same_verdicts, c.shared) == (False, 0)
    assert c.lines()


def test_a_terminal_gets_short_lines_and_short_lists():
    rng = np.random.default_rng(0)
    name = "a.module.of.mine:solver"
    before = [row(f"a case with a rather long name {i}", name) for i in range(60)]
    now = [
        row(r.case, name, FALSE_OPTIMAL if i % 2 else Verdict.SOLVED, rng.uniform(3, 9)) for i, r in enumerate(before)
    ]
    facts = {"cpu": "x" * 100, "versions": {"numpy": "2"}}
    c = compare(run_of(before, cpu="y" * 100), run_of(now, **facts))
    lines = c.lines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 60
    assert "… and 18 more" in lines
    (cpu,) = (line for line in lines if line.startswith("cpu "))
    assert "yyyy" in cpu
    assert "xxxx" in cpu
    assert c.to_markdown().count("rather long name") == 30 + 30
