"""Fuzz targets: every reader of files, given bytes; it may raise errors of this package only."""

from __future__ import annotations

import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pre_convex_lab.paper.digits.mnist import read_idx
from pre_convex_lab.paper.record import read_outcome
from pre_convex_lab.solvers.case_files import read_case, read_set, write_case, write_set
from pre_convex_lab.solvers.metrics import Verdict
from pre_convex_lab.solvers.records import ROWS, Row, header, read_run, row_line
from pre_convex_lab.solvers.sets import load_set

import pre_convex as pre
from pre_convex.applications.detection.recordings import read_prior, read_recording
from pre_convex.data.sources import open_source
from pre_convex.data.tables import read_table

X = np.random.default_rng(0).normal(size=(12, 2))
FACTS = {"format": 1, "sets": [{"name": "s", "names": ["a"]}], "contenders": [["SCS", "dual"]]}
RECORD = {"findings": [{"question": "q", "ours": "1"}], "claims": {"it holds": True}, "data": {"a": [1.0, None]}}


@dataclass(frozen=True)
class Target:
    """A reader, the name of its file, valid seed files, and a function that wraps the fuzzed bytes."""

    file: str
    read: Callable[[Path], Any]
    seeds: Callable[[], list[bytes]]
    wrap: Callable[[bytes], bytes] = bytes


def attempt(target: Target, data: bytes, folder: Path) -> bool:
    """Whether the reader accepts the bytes; errors of other types than the package's own propagate."""
    path = folder / target.file
    path.write_bytes(target.wrap(data))
    with suppress(pre.PreConvexError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of headers written by Python 2
        target.read(path)
        return True
    return False


def _written(write: Callable[[Path], Any], suffix: str) -> bytes:
    """Content of a file made by ``write``."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"seed{suffix}"
        write(path)
        return path.read_bytes()


def _savez(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _savez_compressed(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _zip(data: bytes) -> bytes:
    """An archive with correct checksums, so that its content is read."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x.npy", data)
    return out.getvalue()


@cache
def _fits() -> tuple[bytes, ...]:
    fits = (
        pre.PosteriorRatio("polynomial", radius=0.1).fit(X + 0.1, X),
        pre.PluginRatio().fit(X + 0.1, X, pre.Gaussian([0.0, 0.0], 1.0), None),
        pre.KLIEP(pre.Kernel(), radius=0.1).fit(X + 0.1, X),
    )
    return tuple(_written(lambda path, fit=fit: pre.save(fit, path), ".npz") for fit in fits)


@cache
def _arrays(whole: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(whole)) as file:
        return {name: file[name] for name in file.files}


def _with_header(data: bytes) -> bytes:
    """The first fit with another header, if the bytes are text."""
    try:
        return _savez(**{**_arrays(_fits()[0]), "header": np.array(data.decode())})
    except (UnicodeDecodeError, ValueError):
        return b""


def _case() -> bytes:
    return _written(lambda path: write_case(load_set("smoke").cases[0], path), ".npz")


def _index() -> bytes:
    return _written(
        lambda path: (write_set(load_set("smoke"), path.parent), (path.parent / "set.json").rename(path)), ""
    )


def _rows() -> bytes:
    row = Row("s", "a", 9, 2, "optimal", "SCS", "dual", 1e-6, Verdict.SOLVED, "said", "note", {"gap": 1e-9})
    return (header() + row_line(row)).encode()


def _parquet(**options: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return _written(lambda path: pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path, **options), ".parquet")


def _wav() -> bytes:
    from scipy.io import wavfile

    return _written(lambda path: wavfile.write(path, 8000, (1000 * X).astype(np.int16)), ".wav")


def _read_rows(path: Path) -> Any:
    """Rows of a run with a valid run.json."""
    (path.parent / "run.json").write_text(json.dumps(FACTS))
    return read_run(path.parent)


def _read_blocks(path: Path) -> Any:
    """All rows of a file, block by block."""
    source = open_source(path, "x_q")
    edges = source.edges(5)
    for start, stop in pairwise(edges):
        source.read(start, stop)
    return pre.RatioProblem.from_blocks(None, path, target=np.zeros(2))


TARGETS = {
    "load": Target("fit.npz", pre.load, lambda: list(_fits())),
    "load-header": Target(
        *("fit.npz", pre.load, lambda: [str(_arrays(fit)["header"]).encode() for fit in _fits()[:1]], _with_header),
    ),
    "case": Target("case.npz", read_case, lambda: [_case()]),
    "set": Target("set.json", lambda path: read_set(path.parent), lambda: [_index()]),
    "run": Target("run.json", lambda path: read_run(path.parent), lambda: [json.dumps(FACTS).encode()]),
    "rows": Target(ROWS, _read_rows, lambda: [_rows()]),
    "outcome": Target("a.json", read_outcome, lambda: [json.dumps(RECORD).encode()]),
    "csv": Target("a.csv", read_table, lambda: [b"a,b\n1,2\n-3.5e2,inf\n", b'\xef\xbb\xbf"a,1",b\r\n"1",2\r\n']),
    "npz": Target(
        "a.npz", read_table, lambda: [_savez(x=X), _savez_compressed(x=X, ll=X[:, 0], columns=np.array(["u", "v"]))]
    ),
    "npz-part": Target("a.npz", read_table, lambda: [_npy(X), _npy(X.astype(">f4")), _npy(X.astype(str))], _zip),
    "parquet": Target(
        "a.parquet", read_table, lambda: [_parquet(), _parquet(compression="none", use_dictionary=False)]
    ),
    "prior": Target("a.npz", read_prior, lambda: [_npy(X), _npy(X[:, None])], _zip),
    "wav": Target("a.wav", read_recording, lambda: [_wav()]),
    "npy": Target("a.npy", _read_blocks, lambda: [_npy(X), _npy(np.asfortranarray(X)), _npy(X > 0)]),
    "idx": Target(
        *("a", lambda path: read_idx(path, 3)),
        lambda: [b"\x00\x00\x08\x03" + struct.pack(">3I", 2, 2, 2) + bytes(8), b"\x1f\x8b\x08" + bytes(20)],
    ),
}
