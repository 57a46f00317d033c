"""Atomic writes; safe readers of npy and npz files."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from .._internal.validation import first_line
from ..errors import DataError

__all__ = [
    "CORRUPT_FILE_ERRORS",
    "Stamp",
    "as_path",
    "atomic_write",
    "check_npy",
    "check_overwrite",
    "check_regular_file",
    "check_stamp",
    "file_stamp",
    "read_arrays",
    "read_npz",
    "report_write_errors",
    "too_compressed",
    "unreadable",
    "write_arrays",
    "write_text",
]

#: exceptions that readers raise for truncated, corrupt or foreign files
CORRUPT_FILE_ERRORS = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, SyntaxError),
)
#: zip-bomb guard: maximum compression ratio of arrays above this many bytes
GUARDED_BYTES, MAX_RATIO = 1 << 26, 200


def too_compressed(size: int, stored: int, max_ratio: int = MAX_RATIO) -> bool:
    """Whether it is implausible that ``stored`` bytes hold ``size`` bytes of numbers.

    Examples
    --------
    >>> too_compressed(10**15, 10**6), too_compressed(10**9, 10**7)
    (True, False)
    """
    return size > max(max_ratio * stored, GUARDED_BYTES)


#: size and modification time of a file; if they change between passes, results would mix two versions
Stamp = tuple[int, int]


def file_stamp(path: str | Path) -> Stamp:
    """Current size and modification time of a file."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def check_stamp(path: str, stamp: Stamp | None) -> None:
    """Raise if a file has changed since its stamp was taken."""
    if stamp is not None and file_stamp(path) != stamp:
        raise DataError(path, "has changed since it was opened", "create the problem again")


def unreadable(path: str | os.PathLike[str], error: OSError) -> DataError:
    """Error about a file that the operating system does not let us read."""
    return DataError(path, f"cannot be read ({error.strerror or error})", "check the path and its permissions")


def as_path(value: Any, argument: str) -> Path:
    """Path from a string or a path; an int is refused, because it would be an open file descriptor."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if not isinstance(path, str) or "\0" in path:
        raise DataError(argument, f"{path!r:.60} is not the name of a file", "pass a str or a pathlib.Path")
    return Path(path)


def check_regular_file(path: str | os.PathLike[str]) -> None:
    """Raise an OSError for anything but a regular file: reading a pipe or device may never end."""
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:  # a name that is not allowed
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file")


@contextmanager
def report_write_errors(argument: str, place: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError inside into a DataError about the argument that names the file or folder."""
    try:
        yield
    except OSError as error:
        reason = f"cannot write to {place} ({error.strerror or first_line(error)})"
        raise DataError(argument, reason, "pass a writable path with enough space") from error


def check_overwrite(path: Path, argument: str, remedy: str, ours: Callable[[Path], bool] = lambda path: False) -> None:
    """Raise if a file exists, unless ``ours`` recognises it: it may hold somebody's work."""
    if path.is_file() and not ours(path):
        raise DataError(argument, f"{path} exists and may hold your work", remedy)


def atomic_write(path: Path, write: Callable[[Path], Any]) -> Path:
    """Atomic write: ``write`` fills a temporary file in the same folder, which then replaces ``path``.

    The file gets the permissions of any new file.
    """
    if not path.name:  # the current folder
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_dir():
        check_regular_file(path)  # replacing a device or pipe would destroy it
    temporary = path.with_name(f".{path.name}{token_hex(4)}")
    temporary.touch(exist_ok=False)  # applies the umask, which cannot be read without setting it
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())  # some disks report only now that they are full
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_text(path: Path, text: str) -> Path:
    """Write a text file atomically."""
    return atomic_write(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_arrays(path: Path, version: int, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays and a JSON header with a format version as an uncompressed ``.npz``."""
    text = np.array(json.dumps({"format": version, **header}))
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays, header=text)


def read_arrays(path: str | os.PathLike[str], version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays written by :func:`write_arrays`; nothing in the file is executed.

    A truncated, corrupt or foreign file raises one of :data:`CORRUPT_FILE_ERRORS`, which the caller reports.
    """
    with _open_regular(path) as file:
        arrays = _read_members(file, compressed=False)
    header = json.loads(str(arrays.pop("header")))
    if type(header["format"]) is not int or header["format"] != version:
        raise DataError(
            "file", f"has format {header['format']}, this version reads {version}", "save it again with this version"
        )
    return header, arrays


def read_npz(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Arrays of an ``.npz`` file, compressed or not; nothing in it is executed."""
    try:
        with _open_regular(path) as file:
            return _read_members(file, compressed=True)
    except OSError as error:
        raise unreadable(path, error) from error
    except CORRUPT_FILE_ERRORS as error:
        detail = f" ({error.reason})" if isinstance(error, DataError) else ""
        raise DataError(path, f"is not an npz file of numeric arrays{detail}", "write it with np.savez") from error


def check_npy(file: IO[bytes], size: int) -> None:
    """Raise if an ``.npy`` file of ``size`` bytes holds objects or less than it declares, before memory is allocated.

    NumPy itself multiplies the lengths of a shape in integers that overflow.
    """
    if not 0 <= _declared_bytes(file) <= size - file.tell():
        reason = "holds objects, or fewer bytes than its header declares"
        raise DataError("file", reason, "write a numeric array with np.save")


def _open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    check_regular_file(path)
    return open(path, "rb")


def _read_members(file: IO[bytes], *, compressed: bool) -> dict[str, Any]:
    """Arrays of an archive, after a check that none needs more memory than its size justifies."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        known = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) if compressed else (zipfile.ZIP_STORED,)
        stored = sum(member.compress_size for member in members)
        if stored > os.fstat(file.fileno()).st_size or any(member.compress_type not in known for member in members):
            raise DataError("file", "has compressed or overlapping members", "write it with np.savez")
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) < len(names):
            raise DataError("file", "has duplicate array names", "write it with np.savez")
        for member in members:
            wrong_size = member.compress_type == zipfile.ZIP_STORED and member.file_size != member.compress_size
            if wrong_size or too_compressed(member.file_size, member.compress_size):
                raise DataError(
                    "file", f"{member.filename} has an implausible compression ratio", "write it without compression"
                )
            with archive.open(member) as data:
                if _declared_bytes(data) != member.file_size - data.tell():
                    raise DataError(
                        "file",
                        f"{member.filename} is not a numeric array of the size its header declares",
                        "write it with np.savez",
                    )
        return {name: _read_member(archive, member) for name, member in zip(names, members, strict=True)}


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    with archive.open(member) as data:
        return npy.read_array(data, allow_pickle=False)


def _declared_bytes(file: IO[bytes]) -> int:
    """Bytes of the array that an npy header declares, computed without overflow; −1 for objects and bad shapes."""
    major, _ = npy.read_magic(file)
    shape, _, dtype = (npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0)(file)
    if dtype.hasobject or not dtype.itemsize or any(type(length) is not int or length < 0 for length in shape):
        return -1
    return math.prod(shape, start=dtype.itemsize)
