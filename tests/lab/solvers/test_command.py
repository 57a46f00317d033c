"""``pre-convex bench`` from the command line."""

import csv
import inspect
import os
import signal
import subprocess
import sys
import time

import pytest
from pre_convex_lab.solvers import runner
from pre_convex_lab.solvers.case_files import checksum, read_set, write_set
from pre_convex_lab.solvers.sets import SETS, load_set

from pre_convex.cli.app import run as run_command

LIMIT = ("--time-limit", "60")
#: a solver that creates the file "begun", then waits for the file "go"; and one that makes false claims
MODULE = """
import time
from pathlib import Path
from pre_convex_lab.solvers.contenders import Answer, find_contender

newton = find_contender("newton")

def solve(problem, formulation, tol):
    Path("begun").touch()
    while not Path("go").exists():
        time.sleep(0.02)
    return newton(problem, formulation, tol)

solve.formulations = ("primal", "dual")

def liar(problem, formulation, tol):
    return Answer("optimal", 0.0 * problem.target + 0.7)
"""


def start(*arguments, cwd):
    return subprocess.Popen(
        [sys.executable, "-m", "pre_convex", "bench", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": f"{cwd}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    """Run a command in this process; returns exit code, lines of output, and errors."""

    def call(*arguments, cwd=tmp_path):
        monkeypatch.chdir(cwd)
        monkeypatch.syspath_prepend(str(cwd))
        monkeypatch.setattr(sys, "argv", ["pre-convex", "bench", *arguments])
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as exit:
            run_command()
        printed = capsys.readouterr()
        return exit.value.code, printed.out.splitlines(), printed.err

    return call


def cells(lines, name):
    """Cells after the name of a contender, in the first table that has it."""
    return next(line for line in lines if line.strip().startswith(name)).split(maxsplit=len(name.split()))[-1].split()


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Folder, command, exit code, output and errors of an interrupted run of an exported set."""
    place = tmp_path_factory.mktemp("bench") / "a:b, c"  # a name that PYTHONPATH cannot hold
    place.mkdir()
    (place / "own.py").write_text(MODULE)
    write_set(load_set("smoke"), place / "my,set")
    call = ("--set", "my,set", "--solver", "newton,own:solve", "--solver", "own:liar", "--tol", "1e-3", "--jobs", "1")
    process = start(*call, *LIMIT, cwd=place)
    ends = time.monotonic() + 60.0
    while not (place / "begun").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends, "the solver did not begin"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    (place / "go").touch()
    return place, (*call, *LIMIT), process.returncode, out, errors


@pytest.fixture(scope="module")
def finished(interrupted):
    """Folder, command and output of the same run, resumed."""
    place, call, *_ = interrupted
    process = start(*call, cwd=place)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return place, call, out.splitlines()


def test_an_interrupted_run_ends_with_one_line(interrupted):
    *_, code, out, errors = interrupted
    assert code == 130
    assert len(errors.splitlines()) == 1
    assert "interrupted" in errors
    assert not out.strip()


def test_an_interrupted_run_is_resumed(finished):
    with (finished[0] / "bench-output" / "rows.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 4 * 4


def test_a_run_prints_success_false_claims_and_the_paths_of_the_report(finished):
    place, _, lines = finished
    assert cells(lines, "newton") == ["4", "of", "4"]
    assert cells(lines, "own:solve primal") == cells(lines, "own:solve dual") == ["4", "of", "4"]
    assert cells(lines, "own:liar")[:6] == ["0", "of", "4", "4", "false", "optimal"]
    claims = lines[next(i for i, line in enumerate(lines) if line.strip().startswith("false claims")) :]
    assert cells(claims, "own:liar") == ["1e-3", "4", "of", "4", "4", "0", "of", "0"]
    for name in ("report.md", "report.html"):
        assert f"written: bench-output/{name}" in lines
        assert (place / "bench-output" / name).stat().st_size > 1000
    assert max(map(len, lines)) <= 80


def test_the_same_command_again_only_writes_the_report_again(finished, bench):
    place, call, lines = finished
    rows, page = (place / "bench-output" / "rows.csv").read_bytes(), place / "bench-output" / "report.md"
    text = page.read_text(encoding="utf-8")
    page.unlink()
    code, again, errors = bench(*call, cwd=place)
    assert (code, again) == (0, lines), errors
    assert (place / "bench-output" / "rows.csv").read_bytes() == rows, "something was run again"
    assert page.read_text(encoding="utf-8") == text


def test_different_settings_need_another_folder(finished, bench):
    place, call, _ = finished
    code, _, errors = bench(*call, "--tol", "1e-2", cwd=place)
    assert code == 2
    assert errors.startswith("pre-convex: --out: ")


def test_the_report_of_a_stored_run_can_be_written_again(finished, bench):
    place, _, lines = finished
    page = place / "bench-output" / "report.html"
    page.unlink()
    code, again, _ = bench("report", "bench-output", cwd=place)
    assert (code, again) == (0, lines)
    assert page.stat().st_size > 1000


def test_two_runs_are_compared(finished, bench):
    code, lines, _ = bench("compare", "bench-output", "bench-output", "--out", "changes.md", cwd=finished[0])
    assert code == 0
    assert any("same verdicts: yes" in line for line in lines)
    assert "written: changes.md" in lines
    assert max(map(len, lines)) <= 80
    assert "same verdicts: yes" in (finished[0] / "changes.md").read_text(encoding="utf-8")


def test_a_set_is_exported(bench):
    code, lines, _ = bench("export", "smoke", "my,set")
    assert code == 0
    assert lines[0].startswith("4 cases, 5 files, ")
    assert lines[1:] == ["written: my,set/set.json"]
    assert checksum(read_set("my,set")) == checksum(load_set("smoke"))


def test_a_set_is_exported_in_the_conic_benchmark_format(bench, tmp_path):
    code, lines, _ = bench("export", "smoke", "out", "--format", "cbf")
    assert code == 0
    assert "written: out/answers.csv" in lines
    assert len(list((tmp_path / "out").glob("*.cbf.gz"))) == 8


def test_sets_are_listed(bench):
    code, lines, _ = bench("sets")
    assert code == 0
    assert [line.split()[0] for line in lines if line[:3].strip() and "─" not in line] == ["set", *SETS]
    assert cells(lines, "smoke")[:4] == ["1", "4", "2", "optimal"]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("arguments", "option", "word"),
    [
        (["--set", "nothing"], "--set", "easy"),
        (["--set", "."], "--set", "no set"),
        (["--solver", "nothing"], "--solver", "nothing"),
        (["--solver", "nothing:there"], "--solver", "folder of nothing.py"),
        (["--formulation", "third"], "--formulation", "third"),
        (["--tol", "1e-4,small"], "--tol", "small"),
        (["--tol", "nan"], "--tol", "nan"),
        (["--tol", "2"], "--tol", "between 0 and 1"),
        (["--tol", ","], "--tol", "between 0 and 1"),
        (["--time-limit", "-1"], "--time-limit", "-1"),
        (["--memory-limit", "inf"], "--memory-limit", "inf"),
        (["--out", "file/folder"], "--out", "Not a directory"),
        (["--tol", "1e-4", "sets"], "--tol", "sets"),
        (["export", "nothing", "out"], "SET", "nothing"),
        (["export", "smoke", "file"], "DIR", "file"),
        (["export", "smoke", "out", "--format", "mps"], "--format", "cbf"),
        (["report", "nothing"], "run", "no run"),
        (["compare", ".", "."], "run", "no run"),
    ],
)
def test_a_bad_argument_gives_one_line_and_exit_code_two(arguments, option, word, bench, tmp_path):
    (tmp_path / "file").write_text("in the way")
    is_run = arguments[0].startswith("--") and not {"--set", "sets"} & set(arguments)
    code, out, errors = bench(*(["--set", "smoke"] if is_run else []), *arguments)
    assert code == 2
    assert errors.startswith(f"pre-convex: {option}: ")
    assert word in errors
    assert len(errors.splitlines()) == 1
    assert not out
    assert [path.name for path in tmp_path.iterdir() if path.name != "bench-output"] == ["file"]


def test_defaults_agree_with_the_runner():
    from pre_convex_lab.solvers import command

    given = {name: option.default for name, option in inspect.signature(command.run).parameters.items()}
    assert (given["time_limit"], given["memory_limit"]) == (runner.TIME_LIMIT, runner.MEMORY_LIMIT)
    assert tuple(map(float, given["tols"][0].split(","))) == runner.TOLS
