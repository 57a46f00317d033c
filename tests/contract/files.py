"""Files: bad ones for every reader, and places that cannot be written to for every writer."""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmark_rows import four_problems, run_of
from pre_convex_lab.paper.digits.mnist import read_idx
from pre_convex_lab.paper.record import read_outcome, write_outcome
from pre_convex_lab.solvers.case_files import read_case, read_set, write_case, write_set
from pre_convex_lab.solvers.cbf import export_cbf, write_cbf
from pre_convex_lab.solvers.records import header, read_run
from pre_convex_lab.solvers.report import write_report
from pre_convex_lab.solvers.sets import load_set

import pre_convex as pre
from pre_convex import DataError
from pre_convex.applications.detection.recordings import read_prior, read_recording
from pre_convex.cli.fit import write_fit
from pre_convex.cli.tables import Sample
from pre_convex.data.tables import Table, read_table

from .rows import Row

Make = Callable[[Path], Any]
X = np.random.default_rng(0).normal(size=(30, 2))


@dataclass(frozen=True)
class FileRow:
    """``call`` on what ``make`` puts into a folder raises exactly ``error`` and leaves no new file.

    ``named`` is what the error names where that is not ``argument``: often the file itself, by its path in the folder.
    """

    entry: str
    argument: str
    kind: str
    make: Make
    call: Callable[[Any], Any]
    error: type[BaseException] = DataError
    named: str = ""

    name = Row.name

    def raised(self, given: Any) -> BaseException | None:
        """The error that the call raises on what ``make`` returned, or None."""
        try:
            self.call(given)
        except Exception as error:
            return error
        return None


@dataclass(frozen=True)
class Reader:
    """A reader, the ending of its files, and a function that writes a good one.

    ``lines`` says that a file cut between two lines is still valid. ``named`` is what errors name where that is not
    ``argument``, and ``damaged`` what they name where the content is bad; FILE is the file.
    """

    entry: str
    argument: str
    suffix: str
    call: Callable[[Path], Any]
    good: Callable[[Path], Any]
    lines: bool = False
    named: str = ""
    damaged: str = ""


class Dangerous:
    """An object that makes a folder when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("executed",)


@contextmanager
def nobody() -> Iterator[None]:
    """Run as a user without rights, because permissions do not bind root."""
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
    """Let no file grow beyond ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def npy(shape: str, data: bytes, descr: str = "<f8", version: bytes = b"\x01\x00") -> bytes:
    """An .npy file with any header."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def npz(data: bytes, packed: bool = False, name: str = "x.npy") -> bytes:
    """An .npz file with one member."""
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
    """A small archive that declares half a gigabyte."""
    whole = npz(npy("(8000000, 8)", bytes(1 << 20)), packed=True)
    size = struct.pack("<I", 8 * 64_000_000 + 128)
    there = whole.rfind(b"PK\x01\x02")
    return whole[:22] + size + whole[26 : there + 24] + size + whole[there + 28 :]


# what a reader finds at a path instead of a file
def _nothing(path: Path) -> None:
    """Put nothing there."""


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _unreadable(path: Path) -> None:
    path.touch(mode=0o000)
    path.chmod(0o000)


PLACES: dict[str, Callable[[Path], Any]] = {
    "missing": _nothing,
    "a folder": Path.mkdir,
    "a loop of links": _loop,
    "a pipe": os.mkfifo,
    "a device": _device,
    "unreadable": _unreadable,
}
#: contents that no reader accepts
CONTENTS: dict[str, Callable[[str], bytes]] = {
    "empty": lambda suffix: b"",
    "of another type": lambda suffix: b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "pickled objects": pickled,
    "declares 10^15 rows": lambda suffix: npy("(1000000000000000, 2)", bytes(64)),
    "declares 10^15 rows inside": lambda suffix: npz(npy("(1000000000000000, 2)", bytes(64))),
    "declares sizes that overflow": lambda suffix: npz(npy("(4611686018427387904, 4)", bytes(64))),
    "a zip bomb": lambda suffix: bomb(),
    "unknown version": lambda suffix: npz(npy("(2, 2)", bytes(32), version=b"\x09\x00")),
    "an endless header": lambda suffix: npz(b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"(" * 9000),
    "endless brackets": lambda suffix: b"[" * 100_000,
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
RECORD = {"experiment": "normality", "findings": [], "claims": {}, "data": {}}
BLOCKS = "RatioProblem.from_blocks"
READERS = [
    Reader("load", "path", ".npz", pre.load, lambda path: pre.save(fitted(), path)),
    Reader("pre_convex_lab.solvers.read_case", "path", ".npz", read_case, lambda path: write_case(case(), path)),
    Reader(
        *("fit, detect: CSV", "file", ".csv", read_table, lambda path: write(path, "a,b\n1.5,2\n3,4.25\n")),
        lines=True,
        named="FILE",
    ),
    Reader("fit, detect: npz", "file", ".npz", read_table, lambda path: np.savez(path, x=X), named="FILE"),
    Reader(
        *("fit, detect: Parquet", "file", ".parquet", read_table, lambda path: parquet(path, {"a": X[:, 0]})),
        named="FILE",
    ),
    Reader(
        *("detect: --prior-p, --prior-q, --pairs", "file", ".npz", read_prior, lambda path: np.savez(path, x=X)),
        named="FILE",
    ),
    Reader("detect: WAV", "file", ".wav", read_recording, wav, named="FILE"),
    Reader(f"{BLOCKS}: npy", "x_q", ".npy", solve_blocks, lambda path: np.save(path, X)),
    Reader(
        *(f"{BLOCKS}: Parquet", "x_q", ".parquet", solve_blocks),
        lambda path: parquet(path, {"a": X[:, 0], "b": X[:, 1]}),
        damaged="FILE",
    ),
    Reader(f"{BLOCKS}: Zarr", "x_q", ".zarr", solve_blocks, zarr_array),
    Reader(
        "pre_convex_lab.paper.read_outcome", "path", ".json", read_outcome, lambda path: write(path, json.dumps(RECORD))
    ),
    Reader(
        *("experiment digits: --mnist", "file", "", lambda path: read_idx(path, 3)),
        lambda path: write(path, b"\x00\x00\x08\x03" + struct.pack(">3I", 2, 2, 2) + bytes(8)),
        named="--mnist",
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


#: contents that declare more than they hold
DECLARED = (
    "declares 10^15 rows",
    "declares 10^15 rows inside",
    "declares sizes that overflow",
    "a zip bomb",
)


def _reading(reader: Reader) -> Iterator[FileRow]:
    """Rows of all kinds of bad files for one reader."""
    name = f"bad{reader.suffix}"
    for kind, make in PLACES.items():
        call = _as_nobody(reader.call) if kind == "unreadable" else reader.call
        named = reader.named.replace("FILE", name)
        yield FileRow(reader.entry, reader.argument, kind, _place(name, make), call, named=named)
    for kind, content in CONTENTS.items():
        make = _place(name, lambda path, content=content: write(path, content(reader.suffix)))
        named = (reader.damaged or reader.named).replace("FILE", name)
        yield FileRow(reader.entry, reader.argument, kind, make, reader.call, named=named)


def _file(
    entry: str, argument: str, kind: str, name: str, content: Any, call: Callable[[Any], Any], named: str = ""
) -> FileRow:
    """A row for one file, given by its content or by a function that writes it."""
    make = content if callable(content) else lambda path: write(path, content)
    return FileRow(entry, argument, kind, _place(name, make), call, named=named)


def _csv(kind: str, content: bytes | str) -> FileRow:
    return _file("fit, detect: CSV", "file", kind, "bad.csv", content, read_table, "bad.csv")


def _npz(kind: str, arrays: Mapping[str, Any], named: str = "bad.npz") -> FileRow:
    make = lambda path: np.savez(path, **arrays)  # noqa: E731
    return _file("fit, detect: npz", "file", kind, "bad.npz", make, read_table, named)


def _table(kind: str, columns: Mapping[str, Any]) -> FileRow:
    make = lambda path: parquet(path, columns)  # noqa: E731
    return _file("fit, detect: Parquet", "file", kind, "bad.parquet", make, read_table, "bad.parquet")


def _npy(kind: str, array: Any) -> FileRow:
    make = lambda path: np.save(path, array, allow_pickle=False)  # noqa: E731
    return _file(f"{BLOCKS}: npy", "x_q", kind, "bad.npy", make, solve_blocks)


def _with_nan(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x[7, 1] = np.nan
    return x


def _changed(first: Callable[[Path], Any], then: Callable[[Path], Any]) -> Make:
    """A problem whose file changes before it is solved."""

    def make(folder: Path) -> Any:
        path = folder / ("rows.npy" if first is _save else "rows.parquet")
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


ODD: list[FileRow] = [
    _csv("UTF-16", "a,b\n1,2\n".encode("utf-16")),
    _csv("Latin-1", "größe,b\n1,2\n".encode("latin-1")),
    _csv("header only", "a,b\n"),
    _csv("no header", "1,2\n3,4\n"),
    _csv("ragged", "a,b\n1\n"),
    _csv("text", "a,b\n1,many\n"),
    _csv("missing value", "a,b\n1,\n"),
    _csv("NaN", "a,b\n1,nan\n"),
    _csv("empty line", "a,b\n1,2\n\n3,4\n"),
    _csv("duplicate column", "a,a\n1,2\n"),
    _csv("a column without a name", "a,\n1,2\n"),
    _csv("a first column without a name", ",a\n0.5,2\n"),
    _csv("decimal commas", "a;b\n1,5;2\n"),
    _csv("an open quote", 'a,b\n"1,2\n3,4\n'),
    _csv("an endless cell", "a\n" + "1" * 200_000),
    _npz("no x", {"y": X}),
    _npz("too few names", {"x": X, "columns": np.array(["a"])}),
    _npz("a number for names", {"x": X, "columns": np.array(3)}),
    _npz("NaN", {"x": _with_nan(X)}, "bad.npz: x"),
    _npz("text", {"x": X.astype(str)}, "bad.npz: x"),
    _npz("three dimensions", {"x": X[None]}, "bad.npz: x"),
    _table("text", {"a": ["u", "v"]}),
    _table("missing value", {"a": [1.0, None]}),
    _table("no rows", {"a": np.zeros(0)}),
    _table("lists", {"a": [[1.0], [2.0]]}),
    _npy("NaN", _with_nan(X)),
    _npy("text", X.astype(str)),
    _npy("complex", X + 1j),
    _npy("no rows", X[:0]),
    _npy("three dimensions", X[None]),
    _npy("another width", X[:, :1]),
    _file(BLOCKS, "x_q", "an unknown ending", "bad.txt", "1 2\n", solve_blocks),
    _file(f"{BLOCKS}: Zarr", "x_q", "a damaged chunk", "a.zarr", _damaged_zarr, solve_blocks, "rows 0 to 29"),
    _file(f"{BLOCKS}: Zarr", "x_q", "an array of 10^15 rows", "a.zarr", _huge_zarr, solve_blocks),
    FileRow(BLOCKS, "x_q", "a folder without Parquet files", lambda folder: folder, solve_blocks),
    FileRow(
        *(BLOCKS, "x_q", "files of different width"),
        _two(("a.npy", "b.npy"), _save, lambda path: np.save(path, X[:, :1])),
        solve_blocks,
    ),
    FileRow(
        *(BLOCKS, "x_q", "files of different columns"),
        _two(("a.parquet", "b.parquet"), _save_parquet, lambda path: parquet(path, {"a": X[:, 0], "c": X[:, 1]})),
        solve_blocks,
    ),
    FileRow(BLOCKS, "x_q", "one of the files is missing", _two(("a.npy", "b.npy"), _save, _nothing), solve_blocks),
    *(
        FileRow(
            *(f"{BLOCKS}: {what}", "x_q", f"{kind} between passes", _changed(first, then), pre.solve),
            named=f"rows.{what.lower()}",
        )
        for what, first, kind, then in (
            ("npy", _save, "other numbers", lambda path: np.save(path, np.concatenate([X, X]))),
            ("npy", _save, "cut", lambda path: write(path, path.read_bytes()[:-100])),
            ("npy", _save, "removed", Path.unlink),
            ("Parquet", _save_parquet, "other numbers", lambda path: _save_parquet(path, X[:9])),
            ("Parquet", _save_parquet, "removed", Path.unlink),
        )
    ),
    *(
        FileRow("pre_convex_lab.solvers.read_run", "folder", kind, _folder(files), read_run, named="run")
        for kind, files in {
            "no run": {},
            "empty facts": {"run.json": ""},
            "endless brackets": {"run.json": "[" * 100_000},
            "unknown format": {"run.json": '{"format": 9}'},
            "no sets": {"run.json": '{"format": 1}'},
            "other columns": {"run.json": RUN, "rows.csv": "a,b\n1,2\n"},
            "ragged": {"run.json": RUN, "rows.csv": header() + "a,b\n"},
        }.items()
    ),
    *(
        FileRow("pre_convex_lab.solvers.read_set", "folder", kind, _folder(files), read_set)
        for kind, files in {
            "no set": {},
            "empty": {"set.json": ""},
            "unknown format": {"set.json": '{"format": 9}'},
            "a case elsewhere": {"set.json": SET.replace("FILE", "../a.npz")},
            "a case is missing": {"set.json": SET.replace("FILE", "a.npz")},
        }.items()
    ),
]

# entry, argument, what the error names, file or folder, call
Writer = tuple[str, str, str, str, Callable[[Path], Any]]


def _scan(path: Path) -> Any:
    from pre_convex.applications.detection import Detector
    from pre_convex.applications.detection.recordings import write_scan

    rng = np.random.default_rng(1)
    detector = Detector(
        rng.normal(size=(40, 6)), 2 * rng.normal(size=(40, 6)), noise=0.5, features="linear", method="energy"
    )
    return list(write_scan(detector.scan(rng.normal(size=40)), path))


FILE_WRITERS: list[Writer] = [
    ("save", "path", "path", "fit.npz", lambda path: pre.save(fitted(), path)),
    ("pre_convex_lab.solvers.write_case", "path", "path", "a.npz", lambda path: write_case(case(), path)),
    ("pre_convex_lab.solvers.write_cbf", "path", "path", "a.cbf", lambda path: write_cbf(case(), path)),
]
SAMPLE = Sample(Table(("a", "b"), X), {}, None, None, 0)
FOLDER_WRITERS: list[Writer] = [
    ("pre_convex_lab.solvers.write_set", "folder", "folder", "set", lambda path: write_set(load_set("smoke"), path)),
    ("pre_convex_lab.solvers.export_cbf", "folder", "folder", "set", lambda path: export_cbf(load_set("smoke"), path)),
    (
        "fit: --out",
        "folder",
        "--out",
        "out",
        lambda path: list(write_fit(fitted(), Sample(Table(("a", "b"), X), {}, None, None, 0), {}, path, 0.95)),
    ),
    ("detect: --out", "folder", "--out", "out", _scan),
    ("pre_convex_lab.paper.write_outcome", "folder", "folder", "out", lambda path: list(write_outcome(RECORD, path))),
    (
        *("pre_convex_lab.solvers.write_report", "folder", "folder", "out"),
        lambda path: write_report(run_of(four_problems()), path),
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
    """Rows for places that cannot be written to."""
    for entry, argument, named, name, call in FILE_WRITERS:
        for kind, place, make, run in (
            ("no such folder", f"none/{name}", _nothing, call),
            ("a folder is in its place", name, Path.mkdir, call),
            ("a device is in its place", name, _link, call),
            ("full disk", name, _nothing, _full(call)),
            ("full disk and an older file", name, _old, _full(call)),
            ("read-only folder", f"closed/{name}", lambda path: _closed(path.parent), _as_nobody(call)),
        ):
            yield FileRow(entry, argument, kind, _place(place, make), run, named=named)
    for entry, argument, named, name, call in FOLDER_WRITERS:
        one_by_one = entry in (
            "pre_convex_lab.solvers.write_set",
            "pre_convex_lab.solvers.export_cbf",
        )  # they call the writer of single files
        for kind, place, make, run, other in (
            ("a file is in its place", name, _old, call, named),
            ("a file is above it", f"file/{name}", lambda path: _old(path.parent), call, named),
            ("full disk", name, _nothing, _full(call), "path" if one_by_one else named),
        ):
            yield FileRow(entry, argument, kind, _place(place, make), run, named=other)


#: values that are not the name of a file; a number must not be taken for an open file, either
NO_NAME: dict[str, Any] = {"None": None, "number": 0, "bytes": b"a", "list": ["a"], "null character": "a\0b"}


def _named() -> Iterator[FileRow]:
    """Rows for values that are not the name of a file, and for objects that are not a fit."""
    readers = {
        "load": pre.load,
        "pre_convex_lab.solvers.read_case": read_case,
        "pre_convex_lab.paper.read_outcome": read_outcome,
    }
    calls = [(entry, "path", call) for entry, call in readers.items()]
    calls += [
        ("pre_convex_lab.solvers.read_set", "folder", read_set),
        ("pre_convex_lab.solvers.read_run", "folder", read_run),
    ]
    calls += [(row[0], row[1], row[4]) for row in [*FILE_WRITERS, *FOLDER_WRITERS] if not row[0].endswith("--out")]
    for entry, argument, call in calls:
        for kind, value in NO_NAME.items():
            yield FileRow(entry, argument, f"not a name: {kind}", lambda _, value=value: value, call)
    save = lambda fit: pre.save(fit, "a")  # noqa: E731
    yield FileRow(
        *("save", "fit", "an estimator without a fit", lambda _: pre.PosteriorRatio(), save, pre.UnfittedError),
        named="PosteriorRatio",
    )
    yield FileRow("save", "fit", "not an estimator", lambda _: 3, save)
    others = _place("fit.npz", _old)
    yield FileRow("save", "path", "a file of others", others, lambda path: pre.save(fitted(), path))


ROWS: list[FileRow] = [*_named(), *(row for reader in READERS for row in _reading(reader)), *ODD, *_writing()]
