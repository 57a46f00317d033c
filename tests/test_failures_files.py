"""What bad files get, and what is left on disk when a file cannot be written or a command is ended."""

import io
import os
import signal
import struct
import subprocess
import sys
import zipfile
from contextlib import nullcontext, suppress

import numpy as np
import pytest
import typer
from contract import commands, files
from contract.rows import matches

import pre_convex as pre
from pre_convex.cli import run
from pre_convex.cli.app import Interruptible, app
from pre_convex.cli.process import terminable
from pre_convex.files import write_text, write_whole


def held(folder):
    """Everything in a folder: what a file holds, and what kind anything else is of."""
    found = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder))
        found[name] = path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else mode >> 12
    return found


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("row", files.ROWS, ids=lambda row: row.name)
def test_a_bad_file_is_refused_in_words_and_nothing_is_left(row, tmp_path):
    given = row.make(tmp_path)
    before = held(tmp_path)
    with pytest.raises(row.error) as error:
        row.call(given)
    assert isinstance(error.value, pre.PreConvexError)
    assert matches(row.says, str(error.value).replace(f"{tmp_path}/", "")), str(error.value)
    after = held(tmp_path)
    new = {name for name in after if name not in before and not (tmp_path / name).is_dir()}
    assert new == set(row.left), "no half files, no temporary ones"
    assert {name: after.get(name) for name in before} == before, "what was there is as it was"


def cuts(size):
    """Places at which a file is cut: everywhere near its ends, and some between."""
    return sorted({*range(min(size, 12)), *range(0, size, max(size // 25, 1)), *range(max(size - 24, 0), size)})


@pytest.mark.parametrize("reader", [r for r in files.READERS if r.suffix != ".zarr"], ids=lambda reader: reader.entry)
def test_a_file_that_is_cut_anywhere_is_refused(reader, tmp_path):
    path = tmp_path / f"whole{reader.suffix}"
    reader.good(path)
    reader.call(path)
    whole = path.read_bytes()
    for size in cuts(len(whole)):
        path.write_bytes(whole[:size])
        if reader.lines and b"\n" in whole[:size]:
            with suppress(pre.DataError):  # some lines of a text are a text, and what is left of a number is one
                reader.call(path)
            continue
        with pytest.raises(pre.DataError, match="whole"):
            reader.call(path)


@pytest.mark.parametrize("reader", [r for r in files.READERS if r.suffix == ".npz"], ids=lambda reader: reader.entry)
def test_a_number_that_has_changed_on_disk_is_noticed(reader, tmp_path):
    path = tmp_path / "fit.npz"
    reader.good(path)
    with zipfile.ZipFile(path) as archive:
        member = max(archive.infolist(), key=lambda member: member.file_size)
    whole = bytearray(path.read_bytes())
    names = struct.unpack_from("<2H", whole, member.header_offset + 26)
    whole[member.header_offset + 30 + sum(names) + member.file_size - 12] ^= 1  # in the last number but one
    path.write_bytes(whole)
    with pytest.raises(pre.DataError, match=r"fit\.npz"):
        reader.call(path)


@pytest.mark.parametrize("name", ["a b", "größe", "two\nlines", "-p", "'\"", "x" * 200])
@pytest.mark.parametrize("reader", files.READERS, ids=lambda reader: reader.entry)
def test_files_may_have_any_name(reader, name, tmp_path):
    path = tmp_path / f"{name}{reader.suffix}"
    reader.good(path)
    reader.call(path)


def test_a_file_of_compressed_arrays_is_read(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", x=files.X)
    np.testing.assert_array_equal(files.read_table(tmp_path / "x.npz").values, files.X)


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path):
    write_text(tmp_path / "text", "old")

    def write(place):
        place.write_text("half of it")
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "text", write)
    assert held(tmp_path) == {"text": b"old"}


def said(errors):
    """What a command says, without its own name, and out of the box that stands around mistakes of usage."""
    inside = [line.strip("│ ") for line in errors.splitlines() if line.startswith("│")]
    return " ".join(inside) if inside else errors.removeprefix("pre-convex: ").rstrip("\n")


@pytest.mark.parametrize("row", commands.ROWS, ids=lambda row: row.name)
def test_a_bad_option_is_refused_in_words_and_nothing_is_left(row, tmp_path, monkeypatch, capsys):
    commands.make_files(tmp_path)
    before = held(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["pre-convex", *row.arguments])
    with pytest.raises(SystemExit) as end, files.full_disk() if row.full else nullcontext():
        run()
    errors = capsys.readouterr().err
    assert end.value.code == row.code, errors
    assert matches(row.says, said(errors)), errors
    assert "Traceback" not in errors
    after = held(tmp_path)
    new = {name for name in after if name not in before and not (tmp_path / name).is_dir()}
    assert new == set(row.left), "no half files, no temporary ones"
    assert {name: after.get(name) for name in before} == before


def parameters(command, path=""):
    """Every parameter of every command, as people write it."""
    for parameter in command.params:
        switch = getattr(parameter, "is_flag", False) and path != ""
        if parameter.name != "help" and not switch:  # a switch has no bad value
            option = parameter.param_type_name == "option"
            yield path or "pre-convex", parameter.opts[0] if option else parameter.metavar or parameter.name
    for name, each in getattr(command, "commands", {}).items():
        yield from parameters(each, f"{path} {name}".strip())


def test_every_option_of_every_command_has_a_row_or_a_reason():
    there = set(parameters(typer.main.get_command(app)))
    rows = {(row.entry, row.argument) for row in commands.ROWS}
    assert there - rows == set(commands.EXEMPT)
    assert len(there) > 50


def start(*arguments, cwd, **options):
    env = {**os.environ, "PYTHONUNBUFFERED": "1", **options.pop("env", {})}
    call = [sys.executable, "-m", "pre_convex", *arguments]
    return subprocess.Popen(
        call, cwd=cwd, env=env, text=True, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    )


def ended(process, name):
    """The process has come to the end that the contract promises."""
    _, errors = process.communicate(timeout=60)
    row = commands.ENDINGS[name]
    assert process.returncode == row.code, errors
    assert (errors or "").removeprefix("pre-convex: ").strip() == row.says


def test_a_command_whose_reader_has_gone_writes_all_its_files_and_says_nothing(tmp_path):
    commands.make_files(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*commands.FIT, "--out", "out", cwd=tmp_path, stdout=writer)
    os.close(writer)
    ended(process, "pipe")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    tables = {"results.json", "coefficients.csv", "weights.csv"}
    assert names == tables | {f"{name}.png" for name in ("coefficients", "weights", "balance", "ratio")}


def test_a_command_whose_streams_are_closed_or_full_does_its_work(tmp_path):
    commands.make_files(tmp_path)
    script, notebook = "lessons/01_two_samples.py", "lessons/01_two_samples.ipynb"
    processes = {}
    for name in ("closed", "full"):
        (tmp_path / name).mkdir()
        close = {"preexec_fn": lambda: os.close(1)} if name == "closed" else {"stdout": open("/dev/full", "w")}  # noqa: SIM115
        processes[name] = start("teach", "1", cwd=tmp_path / name, **close)
        if "stdout" in close:
            close["stdout"].close()
    for name, process in processes.items():
        ended(process, name)
        assert set(held(tmp_path / name)) == {"lessons", script, notebook}
        assert len(held(tmp_path / name)[script]) > 1000
    process = start("teach", "99", cwd=tmp_path, stderr=None, preexec_fn=lambda: os.close(2))
    ended(process, "silent")


def test_letters_that_a_terminal_lacks_become_question_marks(tmp_path):
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


def test_a_command_that_is_ended_says_so_and_leaves_nothing(tmp_path):
    for name, number in (("interrupt", signal.SIGINT), ("terminate", signal.SIGTERM)):
        (tmp_path / name).mkdir()
        process = start("demo", cwd=tmp_path / name)
        process.stdout.readline()  # it has begun
        process.send_signal(number)
        ended(process, name)
        assert set(held(tmp_path / name)) == {"demo-output"}


def test_a_signal_amid_a_line_of_errors_ends_the_command(monkeypatch):
    class Slow(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            signal.raise_signal(signal.SIGTERM)
            return len(data)

    stream = io.TextIOWrapper(io.BufferedWriter(Slow()), write_through=True)
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(SystemExit) as end, terminable():
        print("a bar of progress", file=stream, flush=True)
    assert end.value.code == commands.ENDINGS["terminate"].code
    monkeypatch.undo()
    with suppress(SystemExit), terminable():  # what is left in it goes the same way
        stream.close()


def test_an_interrupt_before_a_command_has_begun_is_named(monkeypatch, capsys):
    monkeypatch.setattr(Interruptible, "make_context", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(sys, "argv", ["pre-convex", "solvers"])
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == commands.ENDINGS["interrupt"].code
    assert capsys.readouterr().err == "pre-convex: interrupted\n"


def test_a_narrow_terminal_that_can_do_nothing_is_enough(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "dumb")
    for arguments in (["solvers"], ["teach"]):
        monkeypatch.setattr(sys, "argv", ["pre-convex", *arguments])
        with pytest.raises(SystemExit) as end:
            run()
        assert not end.value.code
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_a_row_stands_there_once():
    names = [row.name for row in [*files.ROWS, *commands.ROWS]]
    assert sorted(set(names)) == sorted(names)
