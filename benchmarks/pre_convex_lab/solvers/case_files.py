"""Cases and sets on disk: ``.npz`` files of plain arrays with a JSON header, read back bit for bit.

A case is one file. A set is a folder of them with ``set.json``, which has the checksum of every case. The files are not
compressed, so none can expand in memory, and nothing in them is executed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex._internal.validation import duplicate
from pre_convex.data.files import (
    CORRUPT_FILE_ERRORS,
    as_path,
    atomic_write,
    check_regular_file,
    read_arrays,
    report_write_errors,
    write_arrays,
    write_text,
)
from pre_convex.errors import DataError
from pre_convex.problem import RatioProblem

from .cases import Case, Truth
from .sets import TestSet

__all__ = ["checksum", "file_name", "read_case", "read_set", "write_case", "write_set"]

FORMAT = 1
INDEX = "set.json"
#: arrays of a problem, and all arrays that the file of a case may have
PROBLEM = ("target", "features_q", "log_base", "features_p", "log_weights_p")
ARRAYS = (*PROBLEM, "delta", "radius", "norm", "value")

REWRITE = "write the file again with write_case or write_set"
EXPORT = "export the set again"


def write_case(case: Case, path: str | os.PathLike[str]) -> Path:
    """Write a case to an ``.npz`` file, atomically.

    Parameters
    ----------
    case : Case
        The case.
    path : str or path
        The file; an existing one is replaced.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pre_convex_lab.solvers.sets import load_set
    >>> case = load_set("smoke").cases[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy = read_case(write_case(case, Path(folder) / "plain.npz"))
    >>> bool(np.all(copy.problem.log_base == case.problem.log_base)), copy.value == case.value
    (True, True)
    """
    target = as_path(path, "path")
    header = {**_header(case), "flat": case.problem.rows.uniform}
    with report_write_errors("path", target):
        return atomic_write(target, lambda temporary: write_arrays(temporary, FORMAT, header, _arrays(case)))


def read_case(path: str | os.PathLike[str]) -> Case:
    """Read a case; every array has the bits that were written.

    Parameters
    ----------
    path : str or path
        A file of :func:`write_case`.

    Returns
    -------
    Case
    """
    path = as_path(path, "path")
    try:
        return _rebuild(*read_arrays(path, FORMAT))
    except OSError as error:
        raise DataError("path", f"cannot read {path} ({error.strerror or error})", "check the path") from error
    except CORRUPT_FILE_ERRORS as error:
        why = f" ({error.reason})" if isinstance(error, DataError) else ""
        raise DataError("path", f"{path} is damaged, or not the file of a case{why}", REWRITE) from error


def write_set(test_set: TestSet, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a set into a folder: a file for every case, then ``set.json``.

    Parameters
    ----------
    test_set : TestSet
        The set.
    folder : str or path
        Created if missing. A set of the same name in it is replaced; one of another name is an error.

    Returns
    -------
    list of Path
        The files, ``set.json`` last.
    """
    folder = as_path(folder, "folder")
    present = _stored_name(folder)
    if present not in (None, test_set.name):
        raise DataError("folder", f"{folder} has the set {present!r} in it", "use another folder")
    twice = duplicate([case.name for case in test_set.cases])
    if twice is not None:
        raise DataError("test_set", f"duplicate case {twice!r} in {test_set.name!r}", "rename one of them")
    with report_write_errors("folder", folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / INDEX).unlink(missing_ok=True)  # an old index would not fit the new files
    paths, entries = [], []
    for i, case in enumerate(test_set.cases):
        paths.append(write_case(case, folder / f"{file_name(i, case.name)}.npz"))
        entries.append({"name": case.name, "file": paths[-1].name, "sha256": _digest(case)})
    index = {
        "format": FORMAT,
        "name": test_set.name,
        "title": test_set.title,
        "version": test_set.version,
        "sha256": checksum(test_set),
        "cases": entries,
    }
    with report_write_errors("folder", folder):
        return [*paths, write_text(folder / INDEX, json.dumps(index, indent=1) + "\n")]


def _stored_name(folder: Path) -> str | None:
    """Name of the set in a folder, if there is one."""
    try:
        return str(json.loads((folder / INDEX).read_text(encoding="utf-8"))["name"])
    except (OSError, *CORRUPT_FILE_ERRORS):
        return None


def read_set(folder: str | os.PathLike[str]) -> TestSet:
    """Read a set, and check every case and the index against their checksums.

    Parameters
    ----------
    folder : str or path
        A folder of :func:`write_set`.

    Returns
    -------
    TestSet
    """
    folder = as_path(folder, "folder")
    index = _read_index(folder)
    cases = []
    for name, file, digest in index["cases"]:
        if Path(file).name != file:
            raise DataError("folder", f"the file {file!r} of case {name!r} is not in {folder}", EXPORT)
        try:
            case = read_case(folder / file)
        except DataError as error:
            raise DataError("folder", f"case {name!r} of {folder} cannot be read ({error.reason})", EXPORT) from error
        if case.name != name or _digest(case) != digest:
            raise DataError("folder", f"case {name!r} of {folder} has changed since it was written", EXPORT)
        cases.append(case)
    test_set = TestSet(index["name"], index["title"], index["version"], tuple(cases))
    if checksum(test_set) != index["sha256"]:
        raise DataError("folder", f"{INDEX} in {folder} does not match its checksum", EXPORT)
    return test_set


def _read_index(folder: Path) -> dict[str, Any]:
    """Content of ``set.json``, with its types checked."""
    try:
        check_regular_file(folder / INDEX)
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        if index["format"] != FORMAT:
            raise DataError("folder", f"{folder} has format {index['format']}, this version reads {FORMAT}", EXPORT)
        types = {"name": str, "title": str, "version": int, "sha256": str}
        checked: dict[str, Any] = {key: convert(index[key]) for key, convert in types.items()}
        checked["cases"] = [(str(e["name"]), str(e["file"]), str(e["sha256"])) for e in index["cases"]]
    except OSError as error:
        reason = f"there is no set in {folder} (cannot read {INDEX}: {error.strerror})"
        raise DataError("folder", reason, "pass the folder of an exported set") from error
    except CORRUPT_FILE_ERRORS as error:
        if isinstance(error, DataError):
            raise
        raise DataError("folder", f"{INDEX} in {folder} is damaged, or not the index of a set", EXPORT) from error
    return checked


def checksum(test_set: TestSet) -> str:
    """SHA-256 of a set's name, version and data, with numbers rounded to a millionth of the largest in their array.

    Rounding makes it the same on all processors, which differ in the last bits of sums and exponentials. The files of a
    set have exact checksums of their own.

    Parameters
    ----------
    test_set : TestSet
        The set.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    parts = [test_set.name, str(test_set.version), *(_digest(case, _rounded) for case in test_set.cases)]
    return sha256(json.dumps(parts).encode()).hexdigest()


def file_name(number: int, name: str) -> str:
    """File name of a case, without suffix: unique by its number, and valid on every system.

    Examples
    --------
    >>> file_name(3, "../n=100, k=2")
    '003-n_100_k_2'
    """
    plain = re.sub(r"[^A-Za-z0-9.+-]+", "_", name).strip("._")
    return f"{number:03d}-{plain[:60]}".rstrip("-")


def _digest(case: Case, to_bytes: Callable[[Array], Iterator[bytes]] | None = None) -> str:
    """SHA-256 of a case, by default of all bits of its numbers."""
    digest = sha256(json.dumps(_header(case), sort_keys=True).encode())
    for name, array in sorted(_arrays(case).items()):
        digest.update(f"{name} {array.shape} ".encode())
        for block in (to_bytes or _exact)(np.asarray(array, dtype="<f8")):
            digest.update(block)
    return digest.hexdigest()


def _rounded(array: Array) -> Iterator[bytes]:
    """The largest absolute value of an array, then all values as whole millionths of it."""
    finite = np.isfinite(array)
    largest = float(np.abs(array[finite]).max(initial=0.0))
    yield f"{largest:.6e} ".encode()
    share = np.where(finite, array, 0.0) / (largest or 1.0)
    infinite = np.where(finite, 0.0, np.sign(np.nan_to_num(array)) * 2e6)
    yield (np.rint(1e6 * share) + infinite).astype("<i4").tobytes()


def _exact(array: Array, numbers: int = 1 << 20) -> Iterator[bytes]:
    """The bytes of an array in blocks of rows, whatever its order in memory."""
    if not array.ndim:
        yield array.tobytes()
        return
    step = max(1, numbers // max(1, array[:1].size))
    for i in range(0, len(array), step):
        yield array[i : i + step].tobytes()


def _arrays(case: Case) -> dict[str, Array]:
    """All numbers of a case except its facts."""
    problem = case.problem.in_memory()
    problem.require_exponential("a file of a case")
    problem.require_one_radius("a file of a case")
    values = {name: getattr(problem, name) for name in PROBLEM}
    values |= {"radius": problem.radius, "norm": problem.norm, "value": case.value, "delta": case.delta}
    return {name: np.asarray(value, dtype=float) for name, value in values.items() if value is not None}


def _header(case: Case) -> dict[str, Any]:
    """The rest of a case, as JSON."""
    return {
        "name": case.name,
        "truth": case.truth.value,
        "feature_names": list(case.problem.feature_names),
        "paired": case.problem.paired,
        "facts": {str(key): _encode_fact(key, value) for key, value in case.facts.items()},
    }


def _encode_fact(key: str, value: Any) -> Any:
    """A fact as JSON, which has no infinity and no nan."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    if not isinstance(value, str | bool | int | float | None):
        raise DataError("facts", f"{key!r} is a {type(value).__name__}", "use numbers and strings")
    return value


def _decode_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Inverse of :func:`_encode_fact`."""
    return {key: float(value["float"]) if isinstance(value, dict) else value for key, value in facts.items()}


def _rebuild(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Case:
    """The case of a file."""
    unexpected = sorted(name for name, array in arrays.items() if name not in ARRAYS or array.dtype.kind != "f")
    if unexpected:
        raise DataError("file", f"unexpected array {unexpected[0]!r}", REWRITE)
    arrays = {name: np.asarray(array, dtype=float) for name, array in arrays.items()}
    given: dict[str, Any] = {name: arrays[name] for name in PROBLEM if name in arrays}
    problem = RatioProblem(
        **given,
        radius=float(arrays["radius"]),
        norm=float(arrays["norm"]),
        feature_names=tuple(header["feature_names"]),
        paired=bool(header["paired"]),
    )
    problem = _with_stored_logs(problem, arrays, bool(header["flat"]))
    value, delta = float(arrays["value"]), arrays.get("delta")
    if np.isnan(value) or (delta is not None and (delta.shape != (problem.k,) or not np.all(np.isfinite(delta)))):
        raise DataError("file", "value or delta does not fit the problem", REWRITE)
    return Case(str(header["name"]), problem, Truth(header["truth"]), value, delta, _decode_facts(header["facts"]))


def _with_stored_logs(problem: RatioProblem, arrays: Mapping[str, Array], flat: bool) -> RatioProblem:
    """The problem with log weights as they were written; normalising them again could change their last bits."""
    for name in ("log_base", "log_weights_p"):
        # the tolerance allows for digits lost to a large offset
        if name in arrays and not np.allclose(arrays[name], getattr(problem, name), rtol=1e-12, atol=1e-3):
            raise DataError("file", f"{name} is not normalised", REWRITE)
    log_base = arrays.get("log_base", problem.log_base)
    if flat:  # one number, repeated: passes over the rows recognise constant weights by that
        if np.any(log_base != log_base[0]):
            raise DataError("file", "log_base is not constant", REWRITE)
        log_base = np.broadcast_to(log_base[0], log_base.shape)
    return problem.with_log_weights(log_base, arrays.get("log_weights_p"))
