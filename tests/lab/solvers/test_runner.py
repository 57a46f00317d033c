"""Runs: whatever a contender does is one row, and an interrupted run can be resumed."""

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
from pre_convex_lab.solvers import records, worker_pool
from pre_convex_lab.solvers.attempt import attempt
from pre_convex_lab.solvers.case_files import write_case
from pre_convex_lab.solvers.metrics import METRICS, Verdict
from pre_convex_lab.solvers.records import read_run
from pre_convex_lab.solvers.runner import run
from pre_convex_lab.solvers.sets import TestSet, load_set

from pre_convex.errors import DataError, PreConvexError, UnknownSolverError

HERE = Path(__file__).parent
CONTENDERS, TOLS = ("newton", "CLARABEL"), (1e-4, 1e-8)
#: verdict on each contender of misbehaving.py on a feasible case, and part of the note
EXPECTED = {
    "honest": ("solved", ""),
    "noisy": ("solved", ""),
    "checks_worker": ("solved", ""),
    "short_peak": ("solved", ""),
    "reports_no_time": ("solved", ""),
    "overwrites_problem": ("false optimal", ""),
    "false_optimal": ("false optimal", ""),
    "false_infeasible": ("false infeasible", ""),
    "infinite_loop": ("time limit", "over 1 s"),
    "ignores_sigterm": ("time limit", "over 1 s"),
    "slow_after_warm_up": ("time limit", "over 1 s"),
    "segfault": ("crash", "SIGSEGV"),
    "abort": ("crash", "SIGABRT (assertion failed: in the solver)"),
    "exits_at_once": ("crash", "exit code 3"),
    "raises_system_exit": ("crash", "exit code 4"),
    "memory_hog": ("memory limit", "over 100 MB"),
    "huge_allocation": ("memory limit", "MemoryError"),
    "catches_memory_error": ("memory limit", "out of memory"),
    "raises": ("failed", "ArithmeticError: first line"),
    "long_message": ("failed", "ValueError: more and more"),
    "unprintable_error": ("failed", "UnprintableError"),
    "returns_none": ("failed", "NoneType"),
    "wrong_shape": ("false optimal", "delta has shape (3,)"),
    "wrong_weights": ("false optimal", "mu has shape (3,)"),
    "not_numeric": ("false optimal", "not numeric"),
    "not_finite": ("false optimal", "not finite"),
    "claim_is_none": ("failed", "claim is NoneType"),
    "kills_worker": ("crash", "worker"),
}


@pytest.fixture(autouse=True, scope="module")
def importable():
    """Make misbehaving.py importable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        yield


@pytest.fixture(scope="module")
def small():
    """A set of one feasible case."""
    return TestSet("small", "one case", 1, load_set("smoke").cases[:1])


@pytest.fixture(scope="module")
def misbehaving(small, tmp_path_factory):
    """A run of all misbehaving contenders."""
    solvers = [f"misbehaving:{name}" for name in EXPECTED]
    out = tmp_path_factory.mktemp("misbehaving")
    return run([small], solvers, tols=[1e-4, 1e-6], out=out, time_limit=1.0, memory_limit=100, jobs=2)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """A run of newton and CLARABEL on the smoke set."""
    return run(["smoke"], CONTENDERS, tols=TOLS, out=tmp_path_factory.mktemp("smoke") / "deep", jobs=1)


def first_row(result, name):
    return next(row for row in result.rows if row.solver == f"misbehaving:{name}")


def verdicts(result):
    return {row.key: row.verdict for row in result.rows}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_contender_does_is_in_its_rows(misbehaving, name):
    rows = [row for row in misbehaving.rows if row.solver == f"misbehaving:{name}"]
    assert [row.tol for row in rows] == [1e-4, 1e-6]
    verdict, note = EXPECTED[name]
    assert [row.verdict for row in rows] == [verdict] * 2
    assert note in rows[0].note
    if verdict in (Verdict.TIME, Verdict.MEMORY):
        assert rows[1].note == f"not run: {verdict} at 0.0001"
    else:
        assert rows[1].note == rows[0].note


def test_metrics_of_a_right_and_a_wrong_answer(misbehaving):
    right, wrong = first_row(misbehaving, "honest"), first_row(misbehaving, "false_optimal")
    assert right.claim == wrong.claim == "optimal"
    assert set(right.numbers) == set(METRICS)
    assert right.numbers["gap"] <= 1e-4 < wrong.numbers["gap"]
    assert right.numbers["error"] < 1e-2 < wrong.numbers["error"]
    assert wrong.numbers["solve"] > 0.0  # it reports none, so the benchmark's clock is used


def test_memory_is_the_peak_beyond_the_case(misbehaving):
    little, peak = (first_row(misbehaving, name).numbers["memory"] for name in ("honest", "short_peak"))
    # the system counts pages a few hundred at a time
    assert 0.0 <= little < 20.0 < 62.0 < peak < 84.0


def test_total_time_is_measured_and_not_reported(misbehaving):
    row = first_row(misbehaving, "reports_no_time")
    assert row.numbers["solve"] == 1e-9  # as reported
    assert row.numbers["time"] >= 0.1


def test_a_short_peak_counts_against_the_memory_limit(small, tmp_path):
    """Even if it falls between two checks from outside."""
    reports = []
    path = write_case(small.cases[0], tmp_path / "case.npz")
    task = {"case": str(path), "solver": "misbehaving:short_peak", "formulation": "both", "tol": 1e-4}
    attempt({**task, "memory_limit": 30.0}, reports.append)
    assert (reports[-1]["verdict"], reports[-1]["note"]) == ("memory limit", "over 30 MB")
    attempt({**task, "memory_limit": 200.0}, reports.append)
    assert reports[-1]["verdict"] == "solved"


def test_a_case_that_disappears_ends_the_run_without_a_verdict(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(PreConvexError, match=r"cannot read .*\.npz"):
        run(["smoke"], ["misbehaving:deletes_cases"], tols=[1e-4], out=tmp_path / "out", jobs=1)
    assert all(row.verdict == "solved" for row in read_run(tmp_path / "out").rows)


def test_a_solver_that_workers_cannot_import_ends_the_run_without_a_verdict(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "only_here", sys.modules["misbehaving"])
    with pytest.raises(PreConvexError, match="only_here"):
        run([small], ["only_here:honest"], tols=[1e-4], out=tmp_path, jobs=1)
    assert read_run(tmp_path).rows == ()


def test_newton_and_a_cone_solver_solve_the_smoke_set(smoke):
    assert len(smoke.rows) == 4 * 3 * 2
    assert {row.verdict for row in smoke.rows} == {Verdict.SOLVED}


def test_rows_are_in_a_fixed_order(smoke):
    cases = [case.name for case in load_set("smoke").cases]
    assert [row.case for row in smoke.rows] == [case for case in cases for _ in range(6)]
    contenders = [("newton", "both"), ("CLARABEL", "primal"), ("CLARABEL", "dual")]
    assert [(row.solver, row.formulation) for row in smoke.rows[:6]] == [pair for pair in contenders for _ in range(2)]
    assert [row.tol for row in smoke.rows[:3]] == [1e-4, 1e-8, 1e-4]


def test_settings_are_recorded_without_host_and_folder_names(smoke):
    facts = smoke.facts
    assert facts["sets"][0]["name"] == "smoke"
    assert len(facts["sets"][0]["checksum"]) == 64
    assert facts["threads"] == 1
    assert len(facts["code"]) == 16
    assert {"numpy", "cvxpy", "clarabel", "pre_convex"} <= set(facts["versions"])
    text = (smoke.folder / "run.json").read_text(encoding="utf-8")
    for private in (os.uname().nodename, str(Path.home()), str(smoke.folder.parent)):
        assert private not in text


def test_a_second_run_has_the_same_verdicts(smoke, tmp_path):
    again = run(["smoke"], CONTENDERS[1:], ["dual"], tols=TOLS, out=tmp_path, jobs=1)
    assert len(again.rows) == 8
    assert verdicts(again).items() <= verdicts(smoke).items()


def test_a_finished_run_is_not_run_again(smoke, monkeypatch):
    monkeypatch.setattr(worker_pool.Worker, "ask", lambda *_: pytest.fail("something was run"))
    before = (smoke.folder / "rows.csv").read_bytes()
    again = run(["smoke"], CONTENDERS, tols=TOLS, out=smoke.folder, jobs=1)
    assert (smoke.folder / "rows.csv").read_bytes() == before
    assert [repr(row) for row in again.rows] == [repr(row) for row in smoke.rows]


def start(script, out, **options):
    """Start a run in a process of its own, from a script without ``if __name__ == "__main__"``."""
    script.write_text(f"from pre_convex_lab.solvers.runner import run\nrun(out={str(out)!r}, **{options!r})\n")
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": path})


def wait_until(condition, process, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        assert process.poll() in (None, -signal.SIGKILL, -signal.SIGINT), "ended too early"
        time.sleep(0.05)


def processes_with(text):
    """Living processes with a text in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            is_zombie = (place / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if not is_zombie and text.encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


LONG_RUN = {
    "sets": ["smoke"],
    "solvers": ["misbehaving:starts_processes"],
    "tols": (1e-2, 1e-4, 1e-6),
    "jobs": 1,
    "time_limit": 60.0,
}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return run(**LONG_RUN, out=tmp_path_factory.mktemp("uninterrupted"))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_leaves_nothing_behind_and_can_be_resumed(uninterrupted, tmp_path, monkeypatch, end):
    out, go, scratch = tmp_path / "out", tmp_path / "go", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("PRE_TEST_GO", str(go))  # marks all processes of the run, too
    with monkeypatch.context() as patch:
        patch.setenv("TMPDIR", str(scratch))
        process = start(tmp_path / "script.py", out, **LONG_RUN)
    # the runner, its worker, the child, and the two processes that it has started
    wait_until(lambda: len(processes_with(str(go))) == 5, process)
    assert len(list(scratch.glob("*/*.npz"))) == 4
    process.send_signal(end)
    process.wait()
    wait_until(lambda: not processes_with(str(go)), process)
    assert list(scratch.iterdir()) == []
    stored = read_run(out).rows
    assert [row.tol for row in stored] == [1e-2, 1e-4]
    complete = (out / "rows.csv").read_bytes()
    (out / "rows.csv").write_bytes(complete + b"smoke,plain,60")  # an incomplete line
    go.touch()
    resumed = run(**LONG_RUN, out=out)
    assert {repr(row) for row in stored} <= {repr(row) for row in resumed.rows}  # with their old times
    assert list(verdicts(resumed).items()) == list(verdicts(uninterrupted).items())
    assert len(uninterrupted.rows) == 12


def test_a_folder_takes_one_run_at_a_time(tmp_path, small):
    lock = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another run") as error:
            run([small], ["newton"], out=tmp_path)
        assert error.value.argument == "out"
    finally:
        os.close(lock)


def test_a_run_is_not_resumed_with_different_settings(smoke, small):
    settings = {"sets": ["smoke"], "solvers": CONTENDERS, "tols": TOLS, "jobs": 1, "out": smoke.folder}
    reordered = TestSet("smoke", "", 1, load_set("smoke").cases[::-1])
    for other, names in (
        ({"time_limit": 5.0}, ["time_limit", "5.0"]),
        ({"tols": [1e-4]}, ["tolerances", "1e-08 removed"]),
        ({"solvers": ["newton"]}, ["contenders", "CLARABEL primal, CLARABEL dual removed"]),
        ({"solvers": CONTENDERS[::-1]}, ["contenders", "reordered"]),
        ({"sets": [reordered]}, ["sets", "smoke changed"]),
        ({"sets": [small], "jobs": 2}, ["sets", "smoke removed, small added", "jobs"]),
    ):
        with pytest.raises(DataError) as error:
            run(**settings | other)
        assert error.value.argument == "out"
        assert all(name in error.value.reason for name in names)


def test_a_run_is_not_resumed_with_rows_of_another_run(smoke, tmp_path):
    out = shutil.copytree(smoke.folder, tmp_path / "copy")
    text = (out / "rows.csv").read_text(encoding="utf-8")
    for old, new in ((",edge,", ",ledge,"), ("CLARABEL", "RIVAL"), ("1e-08", "1e-09"), ("smoke", "smog")):
        (out / "rows.csv").write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(DataError, match=new.strip(",")) as error:
            run(["smoke"], CONTENDERS, tols=TOLS, out=out, jobs=1)
        assert error.value.argument == "out"


def test_a_full_disk_is_reported_and_the_run_can_be_resumed(small, tmp_path, monkeypatch):
    row_line = records.row_line
    monkeypatch.setattr(records, "row_line", lambda row: row_line(row).replace("\n", "0" * 10**7 + "\n"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, limits[1]))  # less than one row
    try:
        with pytest.raises(DataError, match="File too large") as error:
            run([small], ["misbehaving:honest"], tols=[1e-4], out=tmp_path, jobs=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error.value.argument == "out"
    assert (tmp_path / "rows.csv").stat().st_size == 10**6
    assert read_run(tmp_path).rows == ()


def test_a_run_of_other_versions_is_replaced_only_if_fresh(smoke, small, tmp_path):
    out = shutil.copytree(smoke.folder, tmp_path / "copy")
    facts = json.loads((out / "run.json").read_text(encoding="utf-8"))
    facts["versions"]["numpy"] = "1.0"
    facts["cpu"] = "abacus"
    (out / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(DataError, match=r"numpy: 1\.0 .*cpu: abacus"):
        run(["smoke"], CONTENDERS, tols=TOLS, out=out, jobs=1)
    result = run(
        [small], ["newton", "misbehaving:two_formulations"], ["dual"], tols=[1e-4], out=out, jobs=1, fresh=True
    )
    # a choice of formulations does not apply to newton, which has only one
    assert [(row.solver, row.formulation) for row in result.rows] == [
        ("newton", "both"),
        ("misbehaving:two_formulations", "dual"),
    ]


@pytest.mark.parametrize(
    ("options", "argument", "reason"),
    [
        ({"sets": ["nowhere"]}, "set", "nowhere"),
        ({"sets": []}, "sets", "empty"),
        ({"sets": ["smoke", "smoke"]}, "sets", "duplicate"),
        ({"solvers": ["misbehaving:absent"]}, "solver", "absent"),
        ({"solvers": ["misbehaving:CONSTANT"]}, "solver", "not a function"),
        ({"solvers": ["misbehaving:bad_formulations"]}, "solver", "formulations"),
        ({"solvers": [":f"]}, "solver", "cannot be imported"),
        ({"solvers": ["..misbehaving:f"]}, "solver", "cannot be imported"),
        ({"solvers": ["broken:f"]}, "solver", "ZeroDivisionError"),
        ({"solvers": []}, "solvers", "nothing"),
        ({"formulations": ["triple"]}, "formulations", "triple"),
        ({"solvers": ["misbehaving:two_formulations"], "formulations": ["both"]}, "solvers", "nothing"),
        ({"tols": []}, "tols", "empty"),
        ({"tols": [0.0]}, "tols", "0.0"),
        ({"tols": [2.0]}, "tols", "2.0"),
        ({"tols": ["x"]}, "tols", "x"),
        ({"time_limit": -1}, "time_limit", "-1"),
        ({"memory_limit": np.nan}, "memory_limit", "nan"),
        ({"jobs": 0}, "jobs", "0"),
    ],
)
def test_bad_arguments_are_reported_before_anything_is_written(options, argument, reason, tmp_path, monkeypatch):
    out = tmp_path / "out"
    (tmp_path / "broken.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DataError) as error:
        run(**{"sets": ["smoke"], "solvers": ["newton"], "out": out, **options})
    assert error.value.argument == argument
    assert reason in error.value.reason
    assert error.value.remedy
    assert not out.exists()


def test_an_unknown_solver_has_an_error_of_its_own(tmp_path):
    with pytest.raises(UnknownSolverError, match="GUROBI"):
        run(["smoke"], ["GUROBI"], out=tmp_path)


def test_the_output_folder_must_not_be_a_file(small, tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(DataError) as error:
        run([small], ["newton"], out=path)
    assert error.value.argument == "out"
