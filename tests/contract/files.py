"""Files: what every reader says of a bad one, and what every writer leaves behind when it cannot go on."""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmark_rows import run_of, three_problems

import pre_convex as pre
from pre_convex import DataError
from pre_convex.applications.detection.recordings import read_prior, read_recording
from pre_convex.benchmark.cbf import export_cbf, write_cbf
from pre_convex.benchmark.exchange import read_case, read_set, write_case, write_set
from pre_convex.benchmark.records import header, read_run
from pre_convex.benchmark.report import write_report
from pre_convex.benchmark.sets import load_set
from pre_convex.experiments.mnist import read_idx
from pre_convex.experiments.record import read_outcome, write_outcome
from pre_convex.fitting import write_fit
from pre_convex.tables import read_table

from .rows import Row

Make = Callable[[Path], Any]
X = np.random.default_rng(0).normal(size=(30, 2))


@dataclass(frozen=True)
class FileRow:
    """``call`` of what ``make`` puts into a folder raises ``error``; only the files of ``left`` are new, and whole."""

    entry: str
    argument: str
    kind: str
    make: Make
    call: Callable[[Any], Any]
    says: str
    error: type[BaseException] = DataError
    left: tuple[str, ...] = ()

    name = Row.name


@dataclass(frozen=True)
class Reader:
    """A reader, a file that it takes, and its words: where FILE cannot be read because of WHY, and where it is damaged.

    ``says`` has other words for a kind, or None where it does not apply.
    """

    entry: str
    argument: str
    suffix: str
    call: Callable[[Path], Any]
    good: Callable[[Path], Any]
    closed: str
    damaged: str
    says: Mapping[str, str | None] = field(default_factory=dict)
    #: whether a file that is cut between two of its lines is a whole one
    lines: bool = False


class Dangerous:
    """An object that leaves a file behind when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("executed",)


@contextmanager
def nobody() -> Iterator[None]:
    """As a user without rights; permissions do not bind root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@contextmanager
def full_disk(size: int = 64) -> Iterator[None]:
    """No file grows beyond a few bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def npy(shape: str, data: bytes, descr: str = "<f8", version: bytes = b"\x01\x00") -> bytes:
    """An .npy file that declares what it likes."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def npz(data: bytes, packed: bool = False, name: str = "x.npy") -> bytes:
    """An .npz file with one part."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


def pickled(suffix: str) -> bytes:
    out = io.BytesIO()
    danger = np.array([[Dangerous()]], dtype=object)
    if suffix == ".npz":
        np.savez(out, x=danger)
    else:
        np.save(out, danger, allow_pickle=True)
    return out.getvalue()


@cache
def bomb() -> bytes:
    """Half a gigabyte of zeros in half a megabyte, as far as the archive tells; unpacked, it is none of it."""
    whole = npz(npy("(8000000, 8)", bytes(1 << 20)), packed=True)
    size = struct.pack("<I", 8 * 64_000_000 + 128)
    there = whole.rfind(b"PK\x01\x02")
    return whole[:22] + size + whole[26 : there + 24] + size + whole[there + 28 :]


# what becomes of the place that a reader is sent to: kind, how it is made, why it cannot be read
def _nothing(path: Path) -> None:
    """Leave the place empty."""


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _unreadable(path: Path) -> None:
    path.touch(mode=0o000)
    path.chmod(0o000)


PLACES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing": (_nothing, "No such file or directory"),
    "a folder": (Path.mkdir, "Is a directory"),
    "a loop of links": (_loop, "Too many levels of symbolic links"),
    "a pipe": (os.mkfifo, "Not a regular file"),
    "a device": (_device, "Not a regular file"),
    "unreadable": (_unreadable, "Permission denied"),
}
#: contents that no reader takes
CONTENTS: dict[str, Callable[[str], bytes]] = {
    "empty": lambda suffix: b"",
    "of another type": lambda suffix: b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "pickled objects": pickled,
    "declares 10^15 rows": lambda suffix: npy("(1000000000000000, 2)", bytes(64)),
    "declares 10^15 rows inside": lambda suffix: npz(npy("(1000000000000000, 2)", bytes(64))),
    "declares sizes that overflow": lambda suffix: npz(npy("(4611686018427387904, 4)", bytes(64))),
    "a zip bomb": lambda suffix: bomb(),
    "version of the future": lambda suffix: npz(npy("(2, 2)", bytes(32), version=b"\x09\x00")),
    "a header without end": lambda suffix: npz(b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"(" * 9000),
    "brackets without end": lambda suffix: b"[" * 100_000,
}


def write(path: Path, content: bytes | str) -> Path:
    """A file of that content."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def solve_blocks(path: Any) -> Any:
    return pre.solve(pre.RatioProblem.from_blocks(X, path)).delta


def parquet(path: Path, columns: Mapping[str, Any]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(dict(columns)), path)
    return path


def wav(path: Path) -> None:
    from scipy.io import wavfile

    wavfile.write(path, 8000, (1000 * X[:, 0]).astype(np.int16))


def zarr_array(path: Path, x: Any = X) -> Path:
    import zarr

    zarr.open_array(path, mode="w", shape=x.shape, chunks=(10, 2), dtype=x.dtype)[:] = x
    return path


@cache
def fitted() -> pre.KLIEP:
    return pre.KLIEP().fit(X + 0.1, X)


@cache
def case() -> Any:
    return load_set("smoke").cases[0]


RUN = '{"format": 1, "sets": [], "contenders": []}'
SET = (
    '{"format": 1, "name": "s", "title": "t", "version": 1, "sha256": "0", '
    '"cases": [{"name": "a", "file": "FILE", "sha256": "0"}]}'
)
RECORD = {"experiment": "normality", "findings": [], "verdict": "holds", "data": {}}
AS_TABLE = "FILE: cannot be read (WHY)"
NO_FIT = "path: FILE is not a fit that this package wrote…"
NO_NPZ = "FILE: is not an npz file of plain arrays…, as np.savez writes it; objects in it are not read"
NO_CSV = "FILE: is not a CSV file…"
READERS = [
    Reader(
        *("load", "path", ".npz", pre.load, lambda path: pre.save(fitted(), path)),
        *("path: cannot read FILE (WHY)", NO_FIT),
    ),
    Reader(
        *("benchmark.read_case", "path", ".npz", read_case, lambda path: write_case(case(), path)),
        *("path: cannot read FILE (WHY)", "path: FILE is damaged, or no case that this package wrote…"),
    ),
    Reader(
        *("fit, detect: CSV", "file", ".csv", read_table, lambda path: write(path, "a,b\n1.5,2\n3,4.25\n")),
        *(AS_TABLE, NO_CSV),
        {"empty": "FILE: is empty", "brackets without end": "FILE: has a header and no rows"}
        | dict.fromkeys([kind for kind in CONTENTS if "inside" in kind or "size" in kind], NO_CSV),
        lines=True,
    ),
    Reader(
        *("fit, detect: npz", "file", ".npz", read_table, lambda path: np.savez(path, x=X)),
        *(AS_TABLE, NO_NPZ),
    ),
    Reader(
        *("fit, detect: Parquet", "file", ".parquet", read_table, lambda path: parquet(path, {"a": X[:, 0]})),
        *(AS_TABLE, "FILE: is not a Parquet file (…)"),
    ),
    Reader(
        *("detect: --prior-p, --prior-q, --pairs", "file", ".npz", read_prior, lambda path: np.savez(path, x=X)),
        *(AS_TABLE, NO_NPZ),
    ),
    Reader(
        *("detect: WAV", "file", ".wav", read_recording, wav),
        *(AS_TABLE, "FILE: is not a WAV file (…)"),
    ),
    Reader(
        *("RatioProblem.from_blocks: npy", "x_q", ".npy", solve_blocks, lambda path: np.save(path, X)),
        *("x_q: FILE cannot be read (WHY)", "x_q: FILE is not an .npy file of numbers (…)"),
    ),
    Reader(
        "RatioProblem.from_blocks: Parquet",
        *("x_q", ".parquet", solve_blocks, lambda path: parquet(path, {"a": X[:, 0], "b": X[:, 1]})),
        *("x_q: FILE cannot be read (WHY)", "FILE: is not a Parquet file (…)"),
        {"a folder": "x_q: FILE is none of .npy, .parquet, .zarr, or a folder of .parquet files"},
    ),
    Reader(
        *("RatioProblem.from_blocks: Zarr", "x_q", ".zarr", solve_blocks, zarr_array),
        *("x_q: FILE cannot be read (WHY)", "x_q: FILE is not a Zarr array (…)"),
        {"a folder": "x_q: FILE is not a Zarr array (…)"},
    ),
    Reader(
        *("experiments.read_outcome", "path", ".json", read_outcome, lambda path: write(path, json.dumps(RECORD))),
        *("path: cannot read FILE (WHY)", "path: FILE holds no outcome of an experiment; write it with write_outcome"),
    ),
    Reader(
        *("experiment digits: --mnist", "file", "", lambda path: read_idx(path, 3)),
        lambda path: write(path, b"\x00\x00\x08\x03" + struct.pack(">3I", 2, 2, 2) + bytes(8)),
        *("--mnist: FILE cannot be read (…WHY…)", "--mnist: FILE is not an IDX file of bytes with 3 dimensions"),
    ),
]


def _place(path: str, make: Callable[[Path], Any]) -> Make:
    def put(folder: Path) -> Path:
        make(folder / path)
        return folder / path

    return put


def _as_nobody(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(given: Any) -> Any:
        with nobody():
            return call(given)

    return run


_NO_SIZE = "x.npy is no plain array of the size that it declares"
#: kind: why an archive is refused before it is unpacked
DECLARED = {
    "declares 10^15 rows inside": _NO_SIZE,
    "declares sizes that overflow": _NO_SIZE,
    "a zip bomb": "its parts are compressed or overlap",
}


def _reading(reader: Reader) -> Iterator[FileRow]:
    """All kinds of bad files for one reader."""
    name = f"bad{reader.suffix}"
    for kind, (make, why) in PLACES.items():
        says = reader.says.get(kind, reader.closed)
        call = _as_nobody(reader.call) if kind == "unreadable" else reader.call
        if says is not None:
            words = says.replace("FILE", name).replace("WHY", why)
            yield FileRow(reader.entry, reader.argument, kind, _place(name, make), call, words)
    for kind, content in CONTENTS.items():
        says = reader.says.get(kind, reader.damaged)
        if says is not None:
            if reader.suffix == ".npz" and kind in DECLARED:  # refused by what is declared, before memory is asked for
                packed = "x.npy is packed too tightly; write it without compression"
                why = packed if kind == "a zip bomb" and reader.argument == "file" else DECLARED[kind]
                says = says.replace("…", f" ({why})", 1)
            make = _place(name, lambda path, content=content: write(path, content(reader.suffix)))
            yield FileRow(reader.entry, reader.argument, kind, make, reader.call, says.replace("FILE", name))


def _file(
    entry: str, argument: str, kind: str, name: str, content: Any, call: Callable[[Any], Any], says: str
) -> FileRow:
    """A row for one file, given as what it holds or as what makes it."""
    make = content if callable(content) else lambda path: write(path, content)
    return FileRow(entry, argument, kind, _place(name, make), call, says)


def _csv(kind: str, content: bytes | str, says: str) -> FileRow:
    return _file("fit, detect: CSV", "file", kind, "bad.csv", content, read_table, f"bad.csv: {says}")


def _arrays(kind: str, arrays: Mapping[str, Any], says: str) -> FileRow:
    make = lambda path: np.savez(path, **arrays)  # noqa: E731
    return _file("fit, detect: npz", "file", kind, "bad.npz", make, read_table, f"bad.npz: {says}")


def _table(kind: str, columns: Mapping[str, Any], says: str) -> FileRow:
    make = lambda path: parquet(path, columns)  # noqa: E731
    return _file("fit, detect: Parquet", "file", kind, "bad.parquet", make, read_table, f"bad.parquet: {says}")


def _npy(kind: str, array: Any, says: str) -> FileRow:
    make = lambda path: np.save(path, array, allow_pickle=False)  # noqa: E731
    return _file("RatioProblem.from_blocks: npy", "x_q", kind, "bad.npy", make, solve_blocks, says)


def _with_nan(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x[7, 1] = np.nan
    return x


def _changed(first: Callable[[Path], Any], then: Callable[[Path], Any]) -> Make:
    """A problem whose file is another one when it is solved."""

    def make(folder: Path) -> Any:
        path = next(iter([folder / "rows.npy", folder / "rows.parquet"][first is not _save :]))
        first(path)
        problem = pre.RatioProblem.from_blocks(X, path)
        then(path)
        return problem

    return make


def _save(path: Path) -> None:
    np.save(path, X)


def _save_parquet(path: Path, x: np.ndarray = X) -> None:
    parquet(path, {"a": x[:, 0], "b": x[:, 1]})


def _damaged_zarr(path: Path) -> None:
    zarr_array(path)
    for chunk in path.rglob("*"):
        if chunk.is_file() and chunk.name != "zarr.json":
            chunk.write_bytes(chunk.read_bytes()[:9])


def _huge_zarr(path: Path) -> None:
    zarr_array(path)
    facts = json.loads((path / "zarr.json").read_text())
    facts["shape"] = [10**15, 2]
    (path / "zarr.json").write_text(json.dumps(facts))


def _two(names: tuple[str, str], *makes: Callable[[Path], Any]) -> Make:
    def make(folder: Path) -> list[Path]:
        for name, each in zip(names, makes, strict=True):
            each(folder / name)
        return [folder / name for name in names]

    return make


def _folder(files: Mapping[str, str]) -> Make:
    def make(folder: Path) -> Path:
        for name, content in files.items():
            write(folder / name, content)
        return folder

    return make


BLOCKS = "RatioProblem.from_blocks"
CHANGED = "…: has changed since it was opened; make the problem anew"
GONE = "…: cannot be read (No such file or directory)"
ODD: list[FileRow] = [
    _csv("UTF-16", "a,b\n1,2\n".encode("utf-16"), "is not a CSV file in UTF-8 (…); save it as such"),
    _csv("Latin-1", "größe,b\n1,2\n".encode("latin-1"), "is not a CSV file in UTF-8 (…); save it as such"),
    _csv("header only", "a,b\n", "has a header and no rows"),
    _csv("no header", "1,2\n3,4\n", "has no header; its first line holds numbers instead of names"),
    _csv("ragged", "a,b\n1\n", "line 2 has 1 cells, the header has 2"),
    _csv("text", "a,b\n1,many\n", "line 2, column 'b' holds 'many', which is not a number"),
    _csv("missing value", "a,b\n1,\n", "line 2, column 'b' holds '', which is not a number"),
    _csv("NaN", "a,b\n1,nan\n", "line 2, column 'b' holds 'nan', which is not a number"),
    _csv("empty line", "a,b\n1,2\n\n3,4\n", "line 3 is empty; fill in what is missing, or take the line out"),
    _csv("a column twice", "a,a\n1,2\n", "the column 'a' stands there twice"),
    _csv("a column without a name", ",a\n1,2\n", "column 1 has no name; name it, or take it out (…)"),
    _csv("semicolons", "a;b\n1;2\n", "line 2, column 'a;b' holds '1;2', which is not a number"),
    _csv("an open quote", 'a,b\n"1,2\n3,4\n', "line 3 has 1 cells, the header has 2"),
    _csv("a cell without end", "a\n" + "1" * 200_000, "is not a CSV file (field larger than field limit (131072))"),
    _arrays("no x", {"y": X}, "has no array 'x'; it holds y"),
    _arrays("names of other length", {"x": X, "columns": np.array(["a"])}, "1 names for 2 columns"),
    _arrays("names that are none", {"x": X, "columns": np.array(3)}, "1 names for 2 columns"),
    _arrays("NaN", {"x": _with_nan(X)}, "x: row 7, column 1 is nan; drop those rows or fill them in first"),
    _arrays("text", {"x": X.astype(str)}, "x: holds dtype <U…; pass real numbers"),
    _arrays("three dimensions", {"x": X[None]}, "x: has 3 dimensions; pass one row for each sample, shape (n, d)"),
    _table("text", {"a": ["u", "v"]}, "column 'a' has type string; encode it as numbers, or leave it out"),
    _table("missing value", {"a": [1.0, None]}, "row 1, column 'a' is nan; drop those rows or fill them in first"),
    _table("no rows", {"a": np.zeros(0)}, "has no rows"),
    _table("lists", {"a": [[1.0], [2.0]]}, "column 'a' has type list…; encode it as numbers, or leave it out"),
    _npy("NaN", _with_nan(X), "x_q: row 7, column 'x1' is nan; drop those rows or fill them in first"),
    _npy("text", X.astype(str), "x_q: bad.npy holds dtype <U…; pass real numbers"),
    _npy("complex", X + 1j, "x_q: bad.npy holds dtype complex128; pass real numbers"),
    _npy("no rows", X[:0], "x_q: is empty, shape (0, 2); at least one row and one column are needed"),
    _npy("three dimensions", X[None], "x_q: has 3 dimensions; pass one row for each sample, shape (n, d)"),
    _npy("other width", X[:, :1], "x_q: has 1 columns, x_p has 2"),
    _file(
        BLOCKS, "x_q", "an unknown ending", "bad.txt", "1 2\n", solve_blocks, "x_q: bad.txt is none of .npy, .parquet…"
    ),
    _file(
        f"{BLOCKS}: Zarr",
        "x_q",
        "a damaged chunk",
        "a.zarr",
        _damaged_zarr,
        solve_blocks,
        "rows 0 to 29: cannot be read (…)",
    ),
    _file(
        f"{BLOCKS}: Zarr",
        "x_q",
        "declares 10^15 rows ",
        "a.zarr",
        _huge_zarr,
        solve_blocks,
        "x_q: a.zarr declares …; store them all",
    ),
    FileRow(
        BLOCKS, "x_q", "a folder without Parquet files", lambda folder: folder, solve_blocks, "x_q: … is none of .npy…"
    ),
    FileRow(
        *(BLOCKS, "x_q", "files of other width", _two(("a.npy", "b.npy"), _save, lambda path: np.save(path, X[:, :1]))),
        *(solve_blocks, "x_q: its files differ in their columns"),
    ),
    FileRow(
        *(BLOCKS, "x_q", "files of other columns"),
        _two(("a.parquet", "b.parquet"), _save_parquet, lambda path: parquet(path, {"a": X[:, 0], "c": X[:, 1]})),
        *(solve_blocks, "x_q: its files differ in their columns"),
    ),
    FileRow(
        *(BLOCKS, "x_q", "one of the files is missing", _two(("a.npy", "b.npy"), _save, _nothing), solve_blocks),
        "x_q: b.npy cannot be read (No such file or directory)",
    ),
    *(
        FileRow(f"{BLOCKS}: {what}", "x_q", f"{kind} between passes", _changed(first, then), pre.solve, says)
        for what, first, kind, then, says in (
            ("npy", _save, "other numbers", lambda path: np.save(path, np.concatenate([X, X])), CHANGED),
            ("npy", _save, "cut", lambda path: write(path, path.read_bytes()[:-100]), CHANGED),
            ("npy", _save, "taken away", Path.unlink, GONE),
            ("Parquet", _save_parquet, "other numbers", lambda path: _save_parquet(path, X[:9]), CHANGED),
            ("Parquet", _save_parquet, "taken away", Path.unlink, GONE),
        )
    ),
    *(
        FileRow("benchmark.read_run", "folder", kind, _folder(files), read_run, f"run: …{says}")
        for kind, files, says in (
            ("no run", {}, " holds no run, run.json cannot be read (No such file or directory)"),
            ("empty facts", {"run.json": ""}, "run.json is damaged, or not one that the benchmark wrote"),
            (
                "brackets without end",
                {"run.json": "[" * 100_000},
                "run.json is damaged, or not one that the benchmark wrote",
            ),
            ("format of the future", {"run.json": '{"format": 9}'}, "run.json has format 9, this version reads 1"),
            (
                "no sets",
                {"run.json": '{"format": 1}'},
                "run.json names no sets; it is damaged, or not one that the benchmark wrote",
            ),
            (
                "other columns",
                {"run.json": RUN, "rows.csv": "a,b\n1,2\n"},
                "rows.csv has columns that the benchmark does not write",
            ),
            ("ragged", {"run.json": RUN, "rows.csv": header() + "a,b\n"}, "line 2 of rows.csv cannot be read (…)"),
        )
    ),
    *(
        FileRow("benchmark.read_set", "folder", kind, _folder(files), read_set, f"folder: …{says}")
        for kind, files, says in (
            ("no set", {}, " holds no set; cannot read set.json in it (No such file or directory)"),
            ("empty", {"set.json": ""}, "set.json in … is damaged, or not one that this package wrote"),
            ("format of the future", {"set.json": '{"format": 9}'}, " has format 9, this version reads 1"),
            (
                "a case elsewhere",
                {"set.json": SET.replace("FILE", "../a.npz")},
                "case 'a' has the file '../a.npz', which is not in …",
            ),
            (
                "a case is missing",
                {"set.json": SET.replace("FILE", "a.npz")},
                "case 'a' of … cannot be read; path: cannot read …",
            ),
        )
    ),
]

# writers: what is called with the place of the result, and how it names that place
Writer = tuple[str, str, str, Callable[[Path], Any], str, type[BaseException]]


def _scan(path: Path) -> Any:
    from pre_convex.applications.detection import Detector
    from pre_convex.applications.detection.recordings import write_scan

    rng = np.random.default_rng(1)
    detector = Detector(
        rng.normal(size=(40, 6)), 2 * rng.normal(size=(40, 6)), noise=0.5, features="linear", method="energy"
    )
    return list(write_scan(detector.scan(rng.normal(size=40)), path))


#: what to do where something cannot be written
ROOM = "; give a place that can be written to and has room"
FILE_WRITERS: list[Writer] = [
    (
        "save",
        "path",
        "fit.npz",
        lambda path: pre.save(fitted(), path),
        f"path: cannot write to fit.npz (WHY){ROOM}",
        DataError,
    ),
    (
        "benchmark.write_case",
        "path",
        "a.npz",
        lambda path: write_case(case(), path),
        f"path: cannot write to a.npz (WHY){ROOM}",
        DataError,
    ),
    (
        "benchmark.write_cbf",
        "path",
        "a.cbf",
        lambda path: write_cbf(case(), path),
        f"path: cannot write to a.cbf (WHY){ROOM}",
        DataError,
    ),
]
FOLDER_WRITERS: list[Writer] = [
    (
        "benchmark.write_set",
        "folder",
        "set",
        lambda path: write_set(load_set("smoke"), path),
        f"folder: cannot write to set (WHY){ROOM}",
        DataError,
    ),
    (
        "benchmark.export_cbf",
        "folder",
        "set",
        lambda path: export_cbf(load_set("smoke"), path),
        f"folder: cannot write to set (WHY){ROOM}",
        DataError,
    ),
    (
        "fit: --out",
        "folder",
        "out",
        lambda path: list(write_fit(fitted(), X, path, 0.95)),
        f"--out: cannot write to out (WHY){ROOM}",
        DataError,
    ),
    ("detect: --out", "folder", "out", _scan, f"--out: cannot write to out (WHY){ROOM}", DataError),
    (
        "experiments.write_outcome",
        "folder",
        "out",
        lambda path: list(write_outcome(RECORD, path)),
        f"folder: cannot write to out (WHY){ROOM}",
        DataError,
    ),
    (
        "benchmark.write_report",
        "folder",
        "out",
        lambda path: write_report(run_of(three_problems()), path),
        f"folder: cannot write to out (WHY){ROOM}",
        DataError,
    ),
]


def _full(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(given: Any) -> Any:
        with full_disk():
            return call(given)

    return run


def _closed(folder: Path) -> None:
    folder.mkdir(mode=0o555)


def _old(path: Path) -> None:
    write(path, "an older result")


def _link(path: Path) -> None:
    path.symlink_to("/dev/full")


def _writing() -> Iterator[FileRow]:
    """What each writer says, and leaves, where its file cannot be written."""
    for entry, argument, name, call, says, error in FILE_WRITERS:
        for kind, place, make, run, why in (
            ("no such folder", f"none/{name}", _nothing, call, "No such file or directory"),
            ("a folder is in its place", name, Path.mkdir, call, "Is a directory"),
            ("a device is in its place", name, _link, call, "Not a regular file"),
            ("a disk that is full", name, _nothing, _full(call), "File too large"),
            ("a disk that is full, and an older file", name, _old, _full(call), "File too large"),
            (
                "a folder that is closed",
                f"closed/{name}",
                lambda path: _closed(path.parent),
                _as_nobody(call),
                "Permission denied",
            ),
        ):
            words = says.replace(name, place).replace("WHY", why)
            yield FileRow(entry, argument, kind, _place(place, make), run, words, error)
    for entry, argument, name, call, says, error in FOLDER_WRITERS:
        for kind, place, make, run, why in (
            ("a file is in its place", name, _old, call, "File exists"),
            ("a file is above it", f"file/{name}", lambda path: _old(path.parent), call, "Not a directory"),
            ("a disk that is full", name, _nothing, _full(call), "File too large"),
        ):
            words = says.replace(f"to {name}", f"to {place}").replace("WHY", why)
            if kind == "a disk that is full" and entry in ("benchmark.write_set", "benchmark.export_cbf"):
                words = f"path: cannot write to {name}/000-…(File too large){ROOM}"
            yield FileRow(entry, argument, kind, _place(place, make), run, words, error)


#: kind: what is no name of a file or folder; a number is not that of an open file, either
NO_NAME: dict[str, Any] = {"None": None, "number": 0, "bytes": b"a", "list": ["a"], "a zero in it": "a\0b"}


def _named() -> Iterator[FileRow]:
    """What is said where no name is given."""
    readers = {"load": pre.load, "benchmark.read_case": read_case, "experiments.read_outcome": read_outcome}
    calls = [(entry, "path", call) for entry, call in readers.items()]
    calls += [("benchmark.read_set", "folder", read_set), ("benchmark.read_run", "folder", read_run)]
    calls += [row[:2] + (row[3],) for row in [*FILE_WRITERS, *FOLDER_WRITERS] if not row[0].endswith("--out")]
    for entry, argument, call in calls:
        for kind, value in NO_NAME.items():
            words = f"{argument}: {value!r} is not the name of a file; pass text or a pathlib.Path"
            yield FileRow(entry, argument, f"no name: {kind}", lambda _, value=value: value, call, words)
    no_fits = {
        "an estimator without a fit": (pre.PosteriorRatio(), "this PosteriorRatio is not fitted yet; call fit first"),
        "no estimator": (3, "fit: a int cannot be written; use one of PosteriorRatio, …"),
    }
    for kind, (fit, words) in no_fits.items():
        error = DataError if fit == 3 else pre.UnfittedError
        yield FileRow("save", "fit", kind, lambda _, fit=fit: fit, lambda fit: pre.save(fit, "a"), words, error)


ROWS: list[FileRow] = [*_named(), *(row for reader in READERS for row in _reading(reader)), *ODD, *_writing()]
