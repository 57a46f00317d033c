"""Signals, and standard streams that cannot be written: what ``ENDINGS`` of the contract promises."""

import io
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from contract import commands, files

from pre_convex.cli.app import Interruptible, run
from pre_convex.cli.process import terminable


def start(*arguments, cwd, **options):
    env = {**os.environ, "PYTHONUNBUFFERED": "1", **options.pop("env", {})}
    call = [sys.executable, "-m", "pre_convex", *arguments]
    return subprocess.Popen(
        call, cwd=cwd, env=env, text=True, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    )


def assert_ended(process, name):
    """The process exits with the code and the message that the contract promises."""
    _, errors = process.communicate(timeout=60)
    row = commands.ENDINGS[name]
    assert process.returncode == row.code, errors
    assert (errors or "").removeprefix("pre-convex: ").strip() == row.message


def test_a_broken_pipe_is_silent_and_all_files_are_written(tmp_path):
    commands.make_files(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*commands.FIT, "--out", "out", cwd=tmp_path, stdout=writer)
    os.close(writer)
    assert_ended(process, "pipe")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    tables = {"fit.npz", "results.json", "coefficients.csv", "weights.csv"}
    assert names == tables | {f"{name}.png" for name in ("coefficients", "weights", "balance", "ratio")}


def test_files_are_written_even_if_standard_streams_are_closed_or_full(tmp_path):
    commands.make_files(tmp_path)
    script, notebook = "01_two_samples.py", "01_two_samples.ipynb"
    processes = {}
    for name in ("closed", "full"):
        (tmp_path / name).mkdir()
        close = {"preexec_fn": lambda: os.close(1)} if name == "closed" else {"stdout": open("/dev/full", "w")}  # noqa: SIM115
        processes[name] = start("teach", "1", cwd=tmp_path / name, **close)
        if "stdout" in close:
            close["stdout"].close()
    for name, process in processes.items():
        assert_ended(process, name)
        assert {path.name for path in (tmp_path / name / "lessons").iterdir()} == {script, notebook}
        assert (tmp_path / name / "lessons" / script).stat().st_size > 1000
    process = start("teach", "99", cwd=tmp_path, stderr=None, preexec_fn=lambda: os.close(2))
    assert_ended(process, "silent")


def test_characters_that_the_encoding_lacks_become_question_marks(tmp_path):
    for name in "PQ":
        files.write(
            tmp_path / f"{name}.csv", "größe,δ\n" + "\n".join(f"{a},{b}" for a, b in files.X + (name == "P") * 0.1)
        )
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "20", "TERM": "dumb"}
    process = start("fit", "P.csv", "Q.csv", cwd=tmp_path, env=plain)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == commands.ENDINGS["ascii"].code, errors
    assert "gr??e" in printed or "gr?e" in printed
    assert errors == ""


def test_an_interrupted_command_says_so_and_leaves_no_file(tmp_path):
    for name, number in (("interrupt", signal.SIGINT), ("terminate", signal.SIGTERM)):
        (tmp_path / name).mkdir()
        process = start("demo", cwd=tmp_path / name)
        process.stdout.readline()  # it is running
        process.send_signal(number)
        assert_ended(process, name)
        assert [path.name for path in (tmp_path / name).rglob("*")] == ["demo-output"]


def test_a_signal_during_a_write_to_stderr_ends_the_command(monkeypatch):
    class Slow(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            signal.raise_signal(signal.SIGTERM)
            return len(data)

    stream = io.TextIOWrapper(io.BufferedWriter(Slow()), write_through=True)
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(SystemExit) as end, terminable():
        print("progress", file=stream, flush=True)
    assert end.value.code == commands.ENDINGS["terminate"].code
    monkeypatch.undo()
    with suppress(SystemExit), terminable():  # flushes the rest
        stream.close()


def test_an_interrupt_before_the_command_starts_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(Interruptible, "make_context", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(sys, "argv", ["pre-convex", "solvers"])
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == commands.ENDINGS["interrupt"].code
    assert capsys.readouterr().err == "pre-convex: interrupted\n"


def test_output_fits_a_narrow_dumb_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "dumb")
    for arguments in (["solvers"], ["teach"]):
        monkeypatch.setattr(sys, "argv", ["pre-convex", *arguments])
        with pytest.raises(SystemExit) as end:
            run()
        assert not end.value.code
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 60
