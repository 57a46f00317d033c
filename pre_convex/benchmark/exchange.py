"""Cases and sets on disk: ``.npz`` files of plain arrays and a JSON header, read back bit for bit.

A case is one file, a set a folder of them with ``set.json``, which has the checksum of every case. The files are not
compressed, so that no file can hold more than its size, and nothing in them is executed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import frozen
from ..entropy import Array
from ..errors import DataError
from ..files import DAMAGE, as_path, check_plain, read_arrays, write_arrays, write_whole, writing
from ..problem import RatioProblem
from .case import Case, Truth
from .sets import TestSet

__all__ = ["checksum", "read_case", "read_set", "write_case", "write_set"]

FORMAT = 1
INDEX = "set.json"
#: arrays that a case may have; the problem's come first
PROBLEM = ("target", "features_q", "log_base", "features_p", "log_weights_p")
ARRAYS = (*PROBLEM, "delta", "radius", "norm", "value")


def write_case(case: Case, path: str | os.PathLike[str]) -> Path:
    """Write a case to a file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pre_convex.benchmark.sets import load_set
    >>> case = load_set("smoke").cases[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy = read_case(write_case(case, Path(folder) / "plain.npz"))
    >>> bool(np.all(copy.problem.log_base == case.problem.log_base)), copy.value == case.value
    (True, True)
    """
    header = {**_words(case), "flat": case.problem.rows.flat}
    return _write(as_path(path, "path"), lambda place: write_arrays(place, FORMAT, header, _arrays(case)))


def read_case(path: str | os.PathLike[str]) -> Case:
    """Read a case back; every array has the bits that were written."""
    path = as_path(path, "path")
    try:
        return _rebuild(*read_arrays(path, FORMAT))
    except OSError as error:
        raise DataError(f"path: cannot read {path} ({error.strerror or error})") from error
    except DAMAGE as error:
        why = f" ({error})" if isinstance(error, DataError) else ""
        raise DataError(f"path: {path} is damaged, or no case that this package wrote{why}") from error


def write_set(test_set: TestSet, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a set into a folder: a file for every case, and ``set.json``, which comes last.

    An older version of the set is replaced, a set of another name is not.
    """
    place = as_path(folder, "folder")
    other = _holds(place)
    if other not in (None, test_set.name):
        raise DataError(f"folder: {place} holds the set {other!r}; give another folder")
    names = [case.name for case in test_set.cases]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"set: {test_set.name!r} has two cases named {twice!r}")
    with writing("folder", place):
        place.mkdir(parents=True, exist_ok=True)
        (place / INDEX).unlink(missing_ok=True)  # that of an older set would not fit the new files
    paths, cases = [], []
    for i, case in enumerate(test_set.cases):
        paths.append(write_case(case, place / f"{file_name(i, case.name)}.npz"))
        cases.append({"name": case.name, "file": paths[-1].name, "sha256": _digest(case)})
    index = {
        "format": FORMAT,
        "name": test_set.name,
        "title": test_set.title,
        "version": test_set.version,
        "sha256": checksum(test_set),
        "cases": cases,
    }
    text = json.dumps(index, indent=1) + "\n"
    return [*paths, _write(place / INDEX, lambda path: path.write_text(text, encoding="utf-8"))]


def _holds(place: Path) -> str | None:
    """Name of the set in a folder, if there is one."""
    try:
        return str(json.loads((place / INDEX).read_text(encoding="utf-8"))["name"])
    except (OSError, *DAMAGE):
        return None


def read_set(folder: str | os.PathLike[str]) -> TestSet:
    """Read a set back; a case that is not the one that was written is named."""
    place = as_path(folder, "folder")
    try:
        check_plain(place / INDEX)
        index = json.loads((place / INDEX).read_text(encoding="utf-8"))
        if index["format"] != FORMAT:
            raise DataError(f"folder: {place} has format {index['format']}, this version reads {FORMAT}")
        name, title, version = str(index["name"]), str(index["title"]), int(index["version"])
        entries = [(str(e["name"]), str(e["file"]), str(e["sha256"])) for e in index["cases"]]
        whole = str(index["sha256"])
    except OSError as error:
        raise DataError(f"folder: {place} holds no set; cannot read {INDEX} in it ({error.strerror})") from error
    except DAMAGE as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"folder: {INDEX} in {place} is damaged, or not one that this package wrote") from error
    cases = []
    for case_name, file, digest in entries:
        if Path(file).name != file:
            raise DataError(f"folder: case {case_name!r} has the file {file!r}, which is not in {place}")
        try:
            case = read_case(place / file)
        except DataError as error:
            raise DataError(f"folder: case {case_name!r} of {place} cannot be read; {error}") from error
        if case.name != case_name or _digest(case) != digest:
            raise DataError(f"folder: case {case_name!r} of {place} is not the one that was written; export it again")
        cases.append(case)
    found = TestSet(name, title, version, tuple(cases))
    if checksum(found) != whole:
        raise DataError(f"folder: {INDEX} in {place} does not fit its checksum; export the set again")
    return found


def checksum(test_set: TestSet) -> str:
    """SHA-256 of a set's name, its version and all data of its cases, rounded to a millionth of an array's largest.

    Sums and exponentials differ in their last bits between processors, and the sets made on them are the same all the
    same. The files of a set have checksums of their own, to the last bit.
    """
    parts = [test_set.name, str(test_set.version), *(_digest(case, _rounded) for case in test_set.cases)]
    return sha256(json.dumps(parts).encode()).hexdigest()


def file_name(number: int, name: str) -> str:
    """The name of a file for a case, without its suffix: unique by its number, and safe on every system.

    Examples
    --------
    >>> file_name(3, "../n=100, k=2")
    '003-n_100_k_2'
    """
    plain = re.sub(r"[^A-Za-z0-9.+-]+", "_", name).strip("._")
    return f"{number:03d}-{plain[:60]}".rstrip("-")


def _write(path: Path, write: Any) -> Path:
    """Write a file, whole or not at all."""
    with writing("path", path):
        return write_whole(path, write)


def _rounded(array: Array) -> Iterator[bytes]:
    """The largest number of an array, and all others as whole millionths of it."""
    finite = np.isfinite(array)
    top = float(np.abs(array[finite]).max(initial=0.0))
    yield f"{top:.6e} ".encode()
    share = np.where(finite, array, 0.0) / (top or 1.0)
    signs = np.where(finite, 0.0, np.sign(np.nan_to_num(array)) * 2e6)
    yield (np.rint(1e6 * share) + signs).astype("<i4").tobytes()


def _digest(case: Case, parts: Callable[[Array], Iterator[bytes]] | None = None) -> str:
    """SHA-256 of everything a case is, of all bits of its numbers or of other parts of them."""
    found = sha256(json.dumps(_words(case), sort_keys=True).encode())
    for name, array in sorted(_arrays(case).items()):
        found.update(f"{name} {array.shape} ".encode())
        for block in (parts or _in_blocks)(np.asarray(array, dtype="<f8")):
            found.update(block)
    return found.hexdigest()


def _in_blocks(array: Array, numbers: int = 1 << 20) -> Iterator[bytes]:
    """The bytes of an array row by row, whatever its order in memory."""
    if not array.ndim:
        yield array.tobytes()
        return
    step = max(1, numbers // max(1, array[:1].size))
    for i in range(0, len(array), step):
        yield array[i : i + step].tobytes()


def _arrays(case: Case) -> dict[str, Array]:
    """All numbers of a case but its facts."""
    problem = case.problem.in_memory()
    found = {name: getattr(problem, name) for name in PROBLEM}
    found |= {"radius": problem.radius, "norm": problem.norm, "value": case.value, "delta": case.delta}
    return {name: np.asarray(value, dtype=float) for name, value in found.items() if value is not None}


def _words(case: Case) -> dict[str, Any]:
    """All else of a case."""
    return {
        "name": case.name,
        "truth": case.truth.value,
        "feature_names": list(case.problem.feature_names),
        "paired": case.problem.paired,
        "facts": {str(key): _plain(key, value) for key, value in case.facts.items()},
    }


def _plain(key: str, value: Any) -> Any:
    """A fact as JSON knows it; numbers that it does not know are named."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    if not isinstance(value, str | bool | int | float | None):
        raise DataError(f"facts: {key!r} is a {type(value).__name__}; use numbers and texts")
    return value


def _facts(found: Mapping[str, Any]) -> dict[str, Any]:
    """Inverse of :func:`_plain`."""
    return {key: float(value["float"]) if isinstance(value, dict) else value for key, value in found.items()}


def _rebuild(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Case:
    """The case from its parts."""
    odd = sorted(name for name, array in arrays.items() if name not in ARRAYS or array.dtype.kind != "f")
    if odd:
        raise DataError(f"{odd[0]} is not an array of a case")
    arrays = {name: np.asarray(array, dtype=float) for name, array in arrays.items()}
    problem = RatioProblem(
        **{name: arrays[name] for name in PROBLEM if name in arrays},
        radius=float(arrays["radius"]),
        norm=float(arrays["norm"]),
        feature_names=tuple(header["feature_names"]),
        paired=bool(header["paired"]),
    )
    value, delta = float(arrays["value"]), arrays.get("delta")
    if np.isnan(value) or (delta is not None and (delta.shape != (problem.k,) or not np.all(np.isfinite(delta)))):
        raise DataError("its answer is not one of its problem")
    _restore(problem, arrays, bool(header["flat"]))
    return Case(str(header["name"]), problem, Truth(header["truth"]), value, delta, _facts(header["facts"]))


def _restore(problem: RatioProblem, arrays: Mapping[str, Array], flat: bool) -> None:
    """Give a problem the logarithms that were written: to normalise them once more changes their last bits."""
    for name in ("log_base", "log_weights_p"):
        if name in arrays:
            written, again = arrays[name], getattr(problem, name)
            if not np.allclose(written, again, rtol=1e-12, atol=1e-3):  # digits lost to a large offset remain lost
                raise DataError(f"{name} is not normalised")
            if name == "log_base" and flat:  # one number, repeated: the passes know it is flat
                if np.any(written != written[0]):
                    raise DataError("log_base is not flat")
                written = np.broadcast_to(written[0], written.shape)
            object.__setattr__(problem, name, frozen(written))
    object.__setattr__(problem, "rows", replace(problem.rows, log_base=problem.log_base))
