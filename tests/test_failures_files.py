"""Bad files and bad options: the error names them, and nothing partial is left on disk."""

import os
import signal
import struct
import tracemalloc
import zipfile
from contextlib import suppress

import numpy as np
import pytest
import typer
from contract import commands, files

import pre_convex as pre
from pre_convex.cli.app import app
from pre_convex.data.files import atomic_write, write_text


def content(folder):
    """Everything in a folder: the content of files, the type of anything else."""
    found = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder))
        found[name] = path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else mode >> 12
    return found


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def assert_unchanged(folder, before):
    """Nothing in the folder has changed, and there are no new files, partial or temporary ones included."""
    after = content(folder)
    assert not {name for name in after if name not in before and not (folder / name).is_dir()}
    assert {name: after.get(name) for name in before} == before


@pytest.mark.parametrize("row", files.ROWS, ids=lambda row: row.name)
def test_a_bad_file_raises_an_error_that_names_it_and_nothing_is_left(row, tmp_path):
    given = row.make(tmp_path)
    before = content(tmp_path)
    error = row.raised(given)
    assert type(error) is row.error, repr(error)
    assert error.argument.replace(f"{tmp_path}/", "") == (row.named or row.argument), str(error)
    assert error.reason
    assert error.remedy, str(error)
    assert_unchanged(tmp_path, before)


@pytest.mark.parametrize("reader", files.READERS, ids=lambda reader: reader.entry)
def test_memory_is_not_allocated_for_what_a_file_only_declares(reader, tmp_path):
    for kind in files.DECLARED:
        path = files.write(tmp_path / f"bad{reader.suffix}", files.CONTENTS[kind](reader.suffix))
        tracemalloc.start()
        with suppress(pre.DataError):
            reader.call(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 32 * path.stat().st_size + 2**26, kind


def cuts(size):
    """Lengths to which a file is truncated: everywhere near its ends, and some between."""
    return sorted({*range(min(size, 12)), *range(0, size, max(size // 25, 1)), *range(max(size - 24, 0), size)})


@pytest.mark.parametrize("reader", [r for r in files.READERS if r.suffix != ".zarr"], ids=lambda reader: reader.entry)
def test_a_truncated_file_is_refused(reader, tmp_path):
    path = tmp_path / f"truncated{reader.suffix}"
    reader.good(path)
    reader.call(path)
    whole = path.read_bytes()
    for size in cuts(len(whole)):
        path.write_bytes(whole[:size])
        if reader.lines and b"\n" in whole[:size]:
            with suppress(
                pre.DataError
            ):  # the first lines of a table are a table, and the first digits of a number are one
                reader.call(path)
            continue
        with pytest.raises(pre.DataError, match="truncated"):
            reader.call(path)


@pytest.mark.parametrize("reader", [r for r in files.READERS if r.suffix == ".npz"], ids=lambda reader: reader.entry)
def test_a_flipped_bit_is_detected(reader, tmp_path):
    path = tmp_path / "fit.npz"
    reader.good(path)
    with zipfile.ZipFile(path) as archive:
        member = max(archive.infolist(), key=lambda member: member.file_size)
    whole = bytearray(path.read_bytes())
    names = struct.unpack_from("<2H", whole, member.header_offset + 26)
    whole[member.header_offset + 30 + sum(names) + member.file_size - 12] ^= 1  # in the last but one number
    path.write_bytes(whole)
    with pytest.raises(pre.DataError, match=r"fit\.npz"):
        reader.call(path)


@pytest.mark.parametrize("reader", files.READERS, ids=lambda reader: reader.entry)
def test_files_may_have_any_name(reader, tmp_path):
    for name in ("a b", "größe", "two\nlines", "-p", "'\"", "x" * 200):
        path = tmp_path / f"{name}{reader.suffix}"
        reader.good(path)
        reader.call(path)


def test_compressed_npz_files_are_read(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", x=files.X)
    np.testing.assert_array_equal(files.read_table(tmp_path / "x.npz").values, files.X)


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path):
    write_text(tmp_path / "text", "old")

    def write(place):
        place.write_text("half")
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        atomic_write(tmp_path / "text", write)
    assert content(tmp_path) == {"text": b"old"}


@pytest.mark.parametrize("row", commands.ROWS, ids=lambda row: row.name)
def test_a_bad_option_is_named_and_nothing_is_left(row, tmp_path):
    commands.make_files(tmp_path)
    before = content(tmp_path)
    code, message = row.run()
    assert code == 2, message
    assert (row.named or row.argument) in message
    assert "\n" not in message
    assert_unchanged(tmp_path, before)


def parameters(command, path=""):
    """Every parameter of every command, as it is typed."""
    for parameter in command.params:
        switch = getattr(parameter, "is_flag", False) and path != ""
        if parameter.name != "help" and not switch:  # a switch has no bad value
            option = parameter.param_type_name == "option"
            yield path or "pre-convex", parameter.opts[0] if option else parameter.metavar or parameter.name
    for name, each in getattr(command, "commands", {}).items():
        yield from parameters(each, f"{path} {name}".strip())


def test_every_option_of_every_command_has_a_row_or_a_reason():
    options = set(parameters(typer.main.get_command(app)))
    rows = {(row.entry, row.argument) for row in commands.ROWS}
    assert options - rows == set(commands.EXEMPT)
    assert len(options) > 50


def test_rows_have_different_names():
    names = [row.name for row in [*files.ROWS, *commands.ROWS]]
    assert sorted(set(names)) == sorted(names)
