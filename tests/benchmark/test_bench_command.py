"""``pre-convex bench`` as a user sees it."""

import csv
import inspect
import os
import signal
import subprocess
import sys
import time

import pytest

from pre_convex.benchmark import runner
from pre_convex.benchmark.exchange import checksum, read_set, write_set
from pre_convex.benchmark.sets import SETS, load_set
from pre_convex.cli import bench as command
from pre_convex.cli import run as run_here

LIMIT = ("--time-limit", "60")
#: a solver that waits on its first case until a file is there; it says that it has begun by another file
SLEEPER = """
import time
from pathlib import Path
from pre_convex.benchmark.contenders import Answer, find_contender

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
    """(exit code, lines, errors) of a command that is run here, in a folder of its own unless another is named."""

    def call(*arguments, cwd=tmp_path):
        monkeypatch.chdir(cwd)
        monkeypatch.syspath_prepend(str(cwd))
        monkeypatch.setattr(sys, "argv", ["pre-convex", "bench", *arguments])
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as end:
            run_here()
        printed = capsys.readouterr()
        return end.value.code, printed.out.splitlines(), printed.err

    return call


def cells(lines, name):
    """What stands behind the name of a contender, in the first table that has it."""
    return next(line for line in lines if line.strip().startswith(name)).split(maxsplit=len(name.split()))[-1].split()


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Folder and command of a run of an exported set that was interrupted, and what became of it."""
    place = tmp_path_factory.mktemp("bench") / "a:b, c"  # no name for a path of modules
    place.mkdir()
    (place / "own.py").write_text(SLEEPER)
    write_set(load_set("smoke"), place / "my,set")
    call = ("--set", "my,set", "--solver", "newton,own:solve", "--solver", "own:liar", "--tol", "1e-3", "--jobs", "1")
    process = start(*call, *LIMIT, cwd=place)
    ends = time.monotonic() + 60.0
    while not (place / "begun").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends, "the solver has not begun"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    (place / "go").touch()
    return place, (*call, *LIMIT), process.returncode, out, errors


@pytest.fixture(scope="module")
def finished(interrupted):
    """Folder, command and output of the run that went on."""
    place, call, *_ = interrupted
    process = start(*call, cwd=place)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return place, call, out.splitlines()


def test_an_interrupted_run_says_how_to_go_on(interrupted):
    *_, code, out, errors = interrupted
    assert code == 130
    assert errors.splitlines() == ["pre-convex: interrupted; run the same command again to go on"]
    assert not out.strip()


def test_and_it_goes_on(finished):
    with (finished[0] / "bench-output" / "rows.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 4 * 4


def test_a_run_prints_success_false_claims_and_where_the_report_is(finished):
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


def test_the_same_command_again_runs_nothing_and_writes_the_report_anew(finished, bench):
    place, call, lines = finished
    rows, page = (place / "bench-output" / "rows.csv").read_bytes(), place / "bench-output" / "report.md"
    text = page.read_text(encoding="utf-8")
    page.unlink()
    code, again, errors = bench(*call, cwd=place)
    assert (code, again) == (0, lines), errors
    assert (place / "bench-output" / "rows.csv").read_bytes() == rows, "times are those of the first run"
    assert page.read_text(encoding="utf-8") == text


def test_other_settings_need_another_folder(finished, bench):
    place, call, _ = finished
    code, _, errors = bench(*call, "--tol", "1e-2", cwd=place)
    assert code == 2
    assert errors.startswith("pre-convex: --out: bench-output has a run of other settings")


def test_the_report_alone_can_be_written(finished, bench):
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


def test_a_set_is_exported_for_other_solvers(bench, tmp_path):
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
    ("arguments", "message"),
    [
        (["--set", "nothing"], "--set: 'nothing' is not known; use easy"),
        (["--set", "."], "--set: . holds no set"),
        (["--solver", "nothing"], "--solver: 'nothing' is not known"),
        (
            ["--solver", "nothing:there"],
            "--solver: 'nothing:there' cannot be imported (No module named 'nothing'); run it where",
        ),
        (["--formulation", "third"], "--formulation: 'third' is not known"),
        (["--tol", "1e-4,small"], "--tol: 'small' is not a number"),
        (["--tol", "nan"], "--tol: nan is not"),
        (["--tol", "2"], "--tol: must be numbers between 0 and 1"),
        (["--tol", ","], "--tol: must be numbers between 0 and 1"),
        (["--time-limit", "-1"], "--time-limit: -1.0 is not a positive number"),
        (["--memory-limit", "inf"], "--memory-limit: inf is not a positive number"),
        (["--out", "file/folder"], "--out: cannot write to file/folder (Not a directory)"),
        (["--tol", "1e-4", "sets"], "--tol: is for a run; 'bench sets' has its options behind it"),
        (["export", "nothing", "out"], "SET: 'nothing' is not known"),
        (["export", "smoke", "file"], "DIR: cannot write to file"),
        (["export", "smoke", "out", "--format", "mps"], "--format: 'mps' is not known; use npz or cbf"),
        (["report", "nothing"], "run: nothing holds no run"),
        (["compare", ".", "."], "run: . holds no run"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_two(arguments, message, bench, tmp_path):
    (tmp_path / "file").write_text("in the way")
    is_run = arguments[0].startswith("--") and not {"--set", "sets"} & set(arguments)
    code, out, errors = bench(*(["--set", "smoke"] if is_run else []), *arguments)
    assert code == 2
    assert errors.startswith(f"pre-convex: {message}")
    assert len(errors.splitlines()) == 1
    assert not out
    assert [path.name for path in tmp_path.iterdir() if path.name != "bench-output"] == ["file"]


def test_defaults_are_those_of_the_runner():
    given = {name: option.default for name, option in inspect.signature(command.run).parameters.items()}
    assert (given["time_limit"], given["memory_limit"]) == (runner.TIME_LIMIT, runner.MEMORY_LIMIT)
    assert tuple(map(float, given["tols"][0].split(","))) == runner.TOLS
