"""Files that are whole or absent, and arrays in them that are no more than they declare."""

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

from .arrays import first_line
from .errors import DataError

__all__ = [
    "DAMAGE",
    "Stamp",
    "as_path",
    "check_npy",
    "check_plain",
    "check_stamp",
    "read_arrays",
    "read_npz",
    "stamp_of",
    "too_tight",
    "write_arrays",
    "write_text",
    "write_whole",
    "writing",
]

#: what a cut, damaged or foreign file raises on its way through readers
DAMAGE = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, SyntaxError),
)
#: bytes of an array from which on it must not be packed more tightly than so many times: nobody's numbers are
LARGE, TIGHT = 1 << 26, 200


def too_tight(size: int, stored: int, most: int = TIGHT) -> bool:
    """Whether numbers of ``size`` bytes cannot be those that ``stored`` bytes hold.

    Examples
    --------
    >>> too_tight(10**15, 10**6), too_tight(10**9, 10**7)
    (True, False)
    """
    return size > max(most * stored, LARGE)


#: size and time of a file, by which a change shows: passes over other numbers would give a wrong answer
Stamp = tuple[int, int]


def stamp_of(path: str | Path) -> Stamp:
    """The stamp that a file has now."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def check_stamp(path: str, stamp: Stamp | None) -> None:
    """Refuse a file whose stamp is another one now."""
    if stamp is not None and stamp_of(path) != stamp:
        raise DataError(f"{path}: has changed since it was opened; make the problem anew")


def as_path(value: Any, argument: str) -> Path:
    """The path that an argument names; a number would be taken for an open file."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if not isinstance(path, str) or "\0" in path:
        raise DataError(f"{argument}: {path!r:.60} is not the name of a file; pass text or a pathlib.Path")
    return Path(path)


def check_plain(path: str | os.PathLike[str]) -> None:
    """Raise an OSError unless a file can be read to its end: a folder cannot, a pipe or device may never end."""
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file")


@contextmanager
def writing(argument: str, place: str | os.PathLike[str]) -> Iterator[None]:
    """Say in words why a file or folder that an argument names cannot be written."""
    try:
        yield
    except OSError as error:
        why = error.strerror or first_line(error)
        raise DataError(
            f"{argument}: cannot write to {place} ({why}); give a place that can be written to and has room"
        ) from error


def write_whole(path: Path, write: Callable[[Path], Any]) -> Path:
    """Let ``write`` fill a file beside its place and move it there, with the permissions of any new file."""
    if not path.name:  # the folder where we are
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_dir():
        check_plain(path)  # what is moved to the place of a device would be the end of it
    temporary = path.with_name(f".{path.name}{token_hex(4)}")
    temporary.touch(exist_ok=False)  # the system subtracts the umask, which no thread can ask for without changing it
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())  # some disks say only now that they are full
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_text(path: Path, text: str) -> Path:
    """Write a whole text file or none."""
    return write_whole(path, lambda place: place.write_text(text, encoding="utf-8"))


def write_arrays(place: Path, kind: int, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays, and a header of plain data with the number of its format, as ``.npz`` without compression."""
    text = np.array(json.dumps({"format": kind, **header}))
    with place.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays, header=text)


def read_arrays(path: str | os.PathLike[str], kind: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a file that :func:`write_arrays` wrote; nothing in it is executed.

    A file that is cut, damaged or foreign raises errors of many types, which whoever reads it turns into words.
    """
    with _opened(path) as file:
        arrays = _read_parts(file, packed=False)
    header = json.loads(str(arrays.pop("header")))
    if header["format"] != kind:
        raise DataError(f"it has format {header['format']}, this version reads {kind}")
    return header, arrays


def read_npz(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Arrays of an ``.npz`` file, compressed or not; nothing in it is executed."""
    try:
        with _opened(path) as file:
            return _read_parts(file, packed=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except DAMAGE as error:
        why = f" ({error})" if isinstance(error, DataError) else ""
        raise DataError(
            f"{path}: is not an npz file of plain arrays{why}, as np.savez writes it; objects in it are not read"
        ) from error


def check_npy(file: IO[bytes], size: int) -> None:
    """Refuse an ``.npy`` file of ``size`` bytes that holds objects, or less than it declares, before memory is asked.

    NumPy multiplies the lengths of a shape in numbers that overflow.
    """
    if not 0 <= _declared(file) <= size - file.tell():
        raise DataError("it holds objects, or less than it declares")


def _opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file to read."""
    check_plain(path)
    return open(path, "rb")


def _read_parts(file: IO[bytes], *, packed: bool) -> dict[str, Any]:
    """The arrays of an archive, none of which holds more than it declares."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        known = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) if packed else (zipfile.ZIP_STORED,)
        held = sum(member.compress_size for member in members)
        if held > os.fstat(file.fileno()).st_size or any(member.compress_type not in known for member in members):
            raise DataError("its parts are compressed or overlap")
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) < len(names):
            raise DataError("it has an array twice")
        for member in members:
            plain = member.compress_type == zipfile.ZIP_STORED and member.file_size != member.compress_size
            if plain or too_tight(member.file_size, member.compress_size):
                raise DataError(f"{member.filename} is packed too tightly; write it without compression")
            with archive.open(member) as part:
                if _declared(part) != member.file_size - part.tell():
                    raise DataError(f"{member.filename} is no plain array of the size that it declares")
        return {name: _read_part(archive, member) for name, member in zip(names, members, strict=True)}


def _read_part(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    with archive.open(member) as part:
        return npy.read_array(part, allow_pickle=False)


def _declared(file: IO[bytes]) -> int:
    """Bytes that the header of an array asks for, in whole numbers, which cannot overflow; −1 if that cannot be."""
    major, _ = npy.read_magic(file)
    shape, _, dtype = (npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0)(file)
    if dtype.hasobject or not dtype.itemsize or any(type(length) is not int or length < 0 for length in shape):
        return -1
    return math.prod(shape, start=dtype.itemsize)
