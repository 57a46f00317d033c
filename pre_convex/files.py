"""Files that are whole or absent, and arrays in them that are no more than they declare."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.lib import format as npy

from .errors import DataError

__all__ = ["read_arrays", "write_arrays", "write_text", "write_whole"]


def write_whole(path: Path, write: Callable[[Path], Any]) -> Path:
    """Let ``write`` fill a file beside its place and move it there, with the permissions of any new file."""
    temporary = path.with_name(f".{path.name}{token_hex(4)}")
    temporary.touch(exist_ok=False)  # the system subtracts the umask, which no thread can ask for without changing it
    try:
        write(temporary)
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
    _check_sizes(path)
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays.pop("header")))
    if header["format"] != kind:
        raise DataError(f"it has format {header['format']}, this version reads {kind}")
    return header, arrays


def _check_sizes(path: str | os.PathLike[str]) -> None:
    """Refuse a file that declares more than it holds, before memory is asked for."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        held = sum(member.file_size for member in members)
        if held > os.path.getsize(path) or any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise DataError("its parts are compressed or overlap")
        if len({member.filename for member in members}) < len(members):
            raise DataError("it has an array twice")
        for member in members:
            with archive.open(member) as file:
                major, _ = npy.read_magic(file)
                read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
                shape, _, dtype = read(file)
                size = dtype.itemsize
                for length in shape:
                    size *= max(length, 0)  # of whole numbers, which cannot overflow
                if dtype.hasobject or not dtype.itemsize or size != member.file_size - file.tell():
                    raise DataError(f"{member.filename} is no plain array of the size that it declares")
