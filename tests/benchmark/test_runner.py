"""A process for every solve: whatever a contender does is one row, and a run that was interrupted can go on."""

import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from pre_convex.benchmark import runner, slots
from pre_convex.benchmark.attempt import attempt
from pre_convex.benchmark.exchange import write_case
from pre_convex.benchmark.metrics import METRICS, Verdict
from pre_convex.benchmark.records import Row, read_run, row_line
from pre_convex.benchmark.runner import run
from pre_convex.benchmark.sets import TestSet, load_set
from pre_convex.errors import DataError, PreConvexError, UnknownSolverError

HERE = Path(__file__).parent
CONTENDERS, BOTH = ("newton", "CLARABEL"), (1e-4, 1e-8)
#: what each toy comes to on a case that has an answer, and words of its note
FATES = {
    "honest": ("solved", ""),
    "chatter": ("solved", ""),
    "watched": ("solved", ""),
    "hungry": ("solved", ""),
    "boaster": ("solved", ""),
    "forger": ("false optimal", ""),
    "liar": ("false optimal", ""),
    "denier": ("false infeasible", ""),
    "busy": ("time limit", "over 1 s"),
    "sleeper": ("time limit", "over 1 s"),
    "slow_on_cases": ("time limit", "over 1 s"),
    "segfault": ("crash", "killed by SIGSEGV"),
    "abort": ("crash", "killed by SIGABRT (assertion failed: the solver's own)"),
    "quitter": ("crash", "exit code 3"),
    "leaver": ("crash", "exit code 4"),
    "eater": ("memory limit", "over 100 MB"),
    "glutton": ("memory limit", "MemoryError"),
    "caught_glutton": ("memory limit", "out of memory"),
    "thrower": ("failed", "ArithmeticError: of its own"),
    "talker": ("failed", "ValueError: more and more"),
    "unprintable": ("failed", "UnprintableError"),
    "nothing": ("failed", "returned NoneType, not Answer"),
    "wrong_shape": ("false optimal", "delta has the shape (3,), not (2,)"),
    "wrong_weights": ("false optimal", "mu has the shape (3,), not (60,)"),
    "not_numbers": ("false optimal", "delta holds no numbers"),
    "not_finite": ("false optimal", "not finite"),
    "speechless": ("failed", "claim is NoneType, not str"),
    "killer": ("crash", "watcher"),
}


@pytest.fixture(autouse=True, scope="module")
def importable():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        yield


@pytest.fixture(scope="module")
def small():
    """One case with an answer."""
    smoke = load_set("smoke")
    return TestSet("small", "one case", 1, smoke.cases[:1])


@pytest.fixture(scope="module")
def toys(small, tmp_path_factory):
    """All toys at once."""
    solvers = [f"toys:{name}" for name in FATES]
    out = tmp_path_factory.mktemp("toys")
    return run([small], solvers, tols=[1e-4, 1e-6], out=out, time_limit=1.0, memory_limit=100, jobs=2)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    return run(["smoke"], CONTENDERS, tols=BOTH, out=tmp_path_factory.mktemp("smoke") / "deep", jobs=1)


def verdicts(found):
    return {row.key: row.verdict for row in found.rows}


@pytest.mark.parametrize("name", FATES)
def test_what_a_contender_does_is_told_by_its_rows(toys, name):
    rows = [row for row in toys.rows if row.solver == f"toys:{name}"]
    assert [row.tol for row in rows] == [1e-4, 1e-6]
    verdict, words = FATES[name]
    assert [row.verdict for row in rows] == [verdict] * 2
    assert words in rows[0].note
    if verdict in (Verdict.TIME, Verdict.MEMORY):
        assert rows[1].note == f"not run: {verdict} at 0.0001"
    else:
        assert rows[1].note == rows[0].note


def test_no_row_is_lost_to_another(toys):
    assert len(toys.rows) == 2 * len(FATES)


def test_what_the_runner_measures(toys):
    honest, liar = (next(r for r in toys.rows if r.solver == f"toys:{name}") for name in ("honest", "liar"))
    assert honest.claim == liar.claim == "optimal"
    assert set(honest.numbers) == set(METRICS)
    assert honest.numbers["gap"] <= 1e-4 < liar.numbers["gap"]
    assert honest.numbers["error"] < 1e-2 < liar.numbers["error"]
    hungry = next(row for row in toys.rows if row.solver == "toys:hungry")
    # the system counts pages a few hundred at a time
    assert 0.0 <= honest.numbers["memory"] < 20.0 < 62.0 < hungry.numbers["memory"] < 84.0
    assert liar.numbers["solve"] > 0.0  # it tells none, so that of the runner's clock is taken


def test_the_clock_is_the_runners(toys):
    boaster = next(row for row in toys.rows if row.solver == "toys:boaster")
    assert boaster.numbers["solve"] == 1e-9  # its own word
    assert boaster.numbers["time"] >= 0.1


def test_memory_that_is_held_for_a_moment_counts(small, tmp_path):
    """The watcher may look before and after; the peak is known all the same."""
    told = []
    path = write_case(small.cases[0], tmp_path / "case.npz")
    task = {"case": str(path), "solver": "toys:hungry", "formulation": "both", "tol": 1e-4, "memory_limit": 30.0}
    attempt(task, told.append)
    assert (told[-1]["verdict"], told[-1]["note"]) == ("memory limit", "over 30 MB")
    attempt({**task, "memory_limit": 200.0}, told.append)
    assert told[-1]["verdict"] == "solved"


def test_a_case_that_vanishes_ends_the_run_and_is_held_against_nobody(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(PreConvexError, match=r"the run cannot go on; path: cannot read .*\.npz \(No such file"):
        run(["smoke"], ["toys:thief"], tols=[1e-4], out=tmp_path / "out", jobs=1)
    assert all(row.verdict == "solved" for row in read_run(tmp_path / "out").rows)


def test_a_solver_that_is_found_nowhere_else_ends_the_run(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "only_here", sys.modules["toys"])
    with pytest.raises(PreConvexError, match="the run cannot go on; solver: 'only_here:honest' cannot be imported"):
        run([small], ["only_here:honest"], tols=[1e-4], out=tmp_path, jobs=1)
    assert read_run(tmp_path).rows == ()


def test_newton_and_a_cone_solver(smoke):
    assert len(smoke.rows) == 4 * 3 * 2
    assert {row.verdict for row in smoke.rows} == {Verdict.SOLVED}
    assert {(row.solver, row.formulation) for row in smoke.rows} == {
        ("newton", "both"),
        ("CLARABEL", "primal"),
        ("CLARABEL", "dual"),
    }


def test_rows_come_in_a_fixed_order(smoke):
    cases = [case.name for case in load_set("smoke").cases]
    assert [row.case for row in smoke.rows] == [case for case in cases for _ in range(6)]
    assert [row.solver for row in smoke.rows[:6]] == ["newton"] * 2 + ["CLARABEL"] * 4
    assert [row.tol for row in smoke.rows[:3]] == [1e-4, 1e-8, 1e-4]


def test_facts_say_how_and_not_where(smoke):
    facts = smoke.facts
    assert facts["sets"][0]["name"] == "smoke"
    assert len(facts["sets"][0]["checksum"]) == 64
    assert facts["threads"] == 1
    assert {"numpy", "cvxpy", "clarabel", "pre_convex"} <= set(facts["versions"])
    text = (smoke.folder / "run.json").read_text(encoding="utf-8")
    assert os.uname().nodename not in text
    assert str(Path.home()) not in text
    assert str(smoke.folder.parent) not in text


def test_a_second_run_has_the_same_verdicts(smoke, tmp_path):
    again = run(["smoke"], CONTENDERS[1:], ["dual"], tols=BOTH, out=tmp_path, jobs=1)
    assert len(again.rows) == 8
    assert verdicts(again).items() <= verdicts(smoke).items()


def test_a_finished_run_is_not_run_again(smoke, monkeypatch):
    monkeypatch.setattr(slots.Slot, "ask", lambda *_: pytest.fail("something was run"))
    before = (smoke.folder / "rows.csv").read_bytes()
    again = run(["smoke"], CONTENDERS, tols=BOTH, out=smoke.folder, jobs=1)
    assert (smoke.folder / "rows.csv").read_bytes() == before
    assert [repr(row) for row in again.rows] == [repr(row) for row in smoke.rows]


def start(out, **options):
    """A run in a process of its own, in a script without a guard."""
    code = f"from pre_convex.benchmark.runner import run\nrun(out={str(out)!r}, **{options!r})"
    places = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": places})


def wait_until(true, process, seconds=60.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        assert process.poll() in (None, *ENDED), "it ended too early"
        time.sleep(0.05)


def marked(mark):
    """Processes that have a mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            alive = (place / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
            if alive and mark.encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


ENDED = (-signal.SIGKILL, -signal.SIGINT)
LONG_RUN = {"sets": ["smoke"], "solvers": ["toys:parent"], "tols": (1e-2, 1e-4, 1e-6), "jobs": 1, "time_limit": 60.0}


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run that nothing interrupts."""
    return run(**LONG_RUN, out=tmp_path_factory.mktemp("whole"))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_and_resumed_equals_uninterrupted_and_nothing_is_left(straight, tmp_path, monkeypatch, end):
    part, go, scratch = tmp_path / "part", tmp_path / "go", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("PRE_TEST_GO", str(go))  # a mark of all processes too
    with monkeypatch.context() as patch:
        patch.setenv("TMPDIR", str(scratch))
        process = start(part, **LONG_RUN)
    # the runner, its nursery, the child, and the two that it has started
    wait_until(lambda: len(marked(str(go))) == 5, process)
    assert len(list(scratch.glob("*/*.npz"))) == 4
    process.send_signal(end)
    process.wait()
    wait_until(lambda: not marked(str(go)), process)
    assert list(scratch.iterdir()) == []
    kept = read_run(part).rows
    assert [row.tol for row in kept] == [1e-2, 1e-4]
    cut = (part / "rows.csv").read_bytes()
    (part / "rows.csv").write_bytes(cut + b"smoke,plain,60")  # a line that was being written
    go.touch()
    resumed = run(**LONG_RUN, out=part)
    assert {repr(row) for row in kept} <= {repr(row) for row in resumed.rows}  # with the times they had
    assert list(verdicts(resumed).items()) == list(verdicts(straight).items())
    assert len(straight.rows) == 12


def test_a_folder_takes_one_run_at_a_time(tmp_path, small):
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another run is writing"):
            run([small], ["newton"], out=tmp_path)
    finally:
        os.close(held)


def test_a_run_of_other_settings_is_refused(smoke, tmp_path, small):
    settings = {"sets": ["smoke"], "solvers": CONTENDERS, "tols": BOTH, "jobs": 1, "out": smoke.folder}
    changed = TestSet("smoke", "", 1, load_set("smoke").cases[::-1])
    for other, words in (
        ({"time_limit": 5.0}, "time_limit: 10.0 there, 5.0 now"),
        ({"tols": [1e-4]}, "tolerances: without 1e-08"),
        ({"solvers": ["newton"]}, "contenders: without CLARABEL primal, CLARABEL dual"),
        ({"solvers": CONTENDERS[::-1]}, "contenders: in another order"),
        ({"sets": [changed]}, "sets: other data in smoke"),
        ({"sets": [small], "jobs": 2}, "sets: without smoke, with small; jobs: 1 there, 2 now"),
    ):
        with pytest.raises(DataError) as raised:
            run(**settings | other)
        start = f"out: {smoke.folder} has a run of other settings ("
        assert str(raised.value) == f"{start}{words}); use another --out, or --fresh"


def test_a_row_of_another_run_is_refused(smoke, tmp_path):
    out = shutil.copytree(smoke.folder, tmp_path / "copy")
    text = (out / "rows.csv").read_text(encoding="utf-8")
    for old, new in ((",edge,", ",ledge,"), ("CLARABEL", "RIVAL"), ("1e-08", "1e-09"), ("smoke", "smog")):
        (out / "rows.csv").write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(DataError, match=rf"rows\.csv has a row that is none of this run \(.*{new.strip(',')}"):
            run(["smoke"], CONTENDERS, tols=BOTH, out=out, jobs=1)


def test_a_full_disk_is_named(small, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "row_line", lambda row: row_line(row).replace("\n", "0" * 10**7 + "\n"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, limits[1]))  # less than such a row
    try:
        with pytest.raises(DataError, match=r"out: cannot write to .* \(File too large\)"):
            run([small], ["toys:honest"], tols=[1e-4], out=tmp_path, jobs=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "rows.csv").stat().st_size == 10**6
    assert read_run(tmp_path).rows == ()  # and the run can go on


def test_a_run_of_other_versions_is_refused_until_it_is_to_be_fresh(smoke, small, tmp_path):
    out = shutil.copytree(smoke.folder, tmp_path / "copy")
    facts = json.loads((out / "run.json").read_text(encoding="utf-8"))
    facts["versions"]["numpy"] = "1.0"
    facts["cpu"] = "abacus"
    (out / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(DataError, match=r"versions of numpy: 1\.0 there, .*cpu: abacus there"):
        run(["smoke"], CONTENDERS, tols=BOTH, out=out, jobs=1)
    found = run([small], ["newton", "toys:choosy"], ["dual"], tols=[1e-4], out=out, jobs=1, fresh=True)
    # and a choice of formulations is for those who have one
    assert [(row.solver, row.formulation) for row in found.rows] == [("newton", "both"), ("toys:choosy", "dual")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sets": ["nowhere"]}, "set: 'nowhere' is not known"),
        ({"sets": []}, "sets: there is none"),
        ({"sets": ["smoke", "smoke"]}, "sets: 'smoke' is there twice"),
        ({"solvers": ["toys:absent"]}, "solver: 'toys:absent' cannot be imported"),
        ({"solvers": ["toys:CONSTANT"]}, "solver: 'toys:CONSTANT' is not a function"),
        ({"solvers": ["toys:not_forms"]}, "solver: formulations of 'toys:not_forms' must be a tuple"),
        ({"solvers": [":f"]}, "solver: ':f' cannot be imported"),
        ({"solvers": ["..toys:f"]}, r"solver: '\.\.toys:f' cannot be imported"),
        ({"solvers": ["broken:f"]}, r"solver: 'broken:f' cannot be imported \(ZeroDivisionError: "),
        ({"solvers": []}, "solvers: none is left"),
        ({"formulations": ["triple"]}, "formulations: 'triple' is not known"),
        ({"solvers": ["toys:choosy"], "formulations": ["both"]}, "solvers: none is left"),
        ({"tols": []}, "tols: "),
        ({"tols": [0.0]}, "tols: 0.0 is not a positive number"),
        ({"tols": [2.0]}, "tols: "),
        ({"tols": ["x"]}, "tols: 'x' is not a number"),
        ({"time_limit": -1}, "time_limit: -1 is not a positive number"),
        ({"memory_limit": np.nan}, "memory_limit: nan is not a positive number"),
        ({"jobs": 0}, "jobs: 0 is not a positive whole number"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_written(options, words, tmp_path, monkeypatch):
    out = tmp_path / "out"
    (tmp_path / "broken.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DataError, match=words):
        run(**{"sets": ["smoke"], "solvers": ["newton"], "out": out, **options})
    assert not out.exists()


def test_an_unknown_solver_is_named(tmp_path):
    with pytest.raises(UnknownSolverError, match="GUROBI"):
        run(["smoke"], ["GUROBI"], out=tmp_path)


def test_an_out_that_is_a_file_is_refused(small, tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(DataError, match="out: cannot write to"):
        run([small], ["newton"], out=path)


ROW = Row("s", 'a "case", odd', 3, 1, "optimal", "SCS", "dual", 1.5e-7, Verdict.INACCURATE, "c", "n", {"gap": 0.123456})


def stored(folder, *texts, facts='{"format": 1, "sets": [], "contenders": []}'):
    (folder / "run.json").write_text(facts, encoding="utf-8")
    (folder / "rows.csv").write_text("".join(texts), encoding="utf-8")


HEADER = "set,case,n,k,truth,solver,formulation,tol,verdict,claim,note,gap\n"


def test_a_row_is_read_as_it_was_written(tmp_path):
    stored(tmp_path, HEADER, row_line(ROW, ["gap"]))
    (row,) = read_run(tmp_path).rows
    assert row.key == ROW.key
    assert (row.n, row.k, row.truth, row.verdict, row.claim, row.note) == (3, 1, "optimal", ROW.verdict, "c", "n")
    assert row.numbers == {"gap": 0.1235}


def test_a_metric_of_another_version_is_kept(tmp_path):
    stored(tmp_path, HEADER.replace("gap", "gap,beauty"), row_line(ROW, ["gap"]).replace("\n", ",7\n"))
    assert read_run(tmp_path).rows[0].numbers["beauty"] == 7.0


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    line = row_line(ROW, ["gap"])
    for end in range(len(line)):
        stored(tmp_path, HEADER, line, line.replace("SCS", "ECOS")[:end])
        assert len(read_run(tmp_path).rows) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n", "columns that the benchmark does not write"),
        (HEADER + "s,c\n", "line 2 of .* cannot be read"),
        (HEADER + row_line(ROW, ["gap"]).replace("inaccurate", "lovely"), "line 2 of .*lovely"),
        (HEADER + 2 * row_line(ROW, ["gap"]), "line 3 of .* is there twice"),
        (HEADER + row_line(ROW, ["gap"]).replace("1.5e-07", "nan"), "tol is nan"),
    ],
)
def test_a_damaged_table_is_named(tmp_path, text, words):
    stored(tmp_path, text)
    with pytest.raises(DataError, match=words):
        read_run(tmp_path)


@pytest.mark.parametrize("facts", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "sets": [1], "contenders": []}'])
def test_a_foreign_file_is_named(tmp_path, facts):
    stored(tmp_path, HEADER, facts=facts)
    with pytest.raises(DataError, match=r"run\.json"):
        read_run(tmp_path)


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(DataError, match="holds no run"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text('{"format": 99, "sets": []}', encoding="utf-8")
    with pytest.raises(DataError, match="has format 99, this version reads 1"):
        read_run(tmp_path)
