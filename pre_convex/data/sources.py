"""Sources of rows that are read in blocks: files, and arrays stored elsewhere.

A source knows its shape and reads any block of rows. It is small and can be pickled; another process then opens the
file itself. Adding one is a class and a line in :func:`open_source`.
"""

from __future__ import annotations

import itertools
import mmap
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .._internal.snapshots import COPIED_BYTES, freeze, is_frozen
from .._internal.typing import Array
from .._internal.validation import (
    as_floats,
    as_matrix,
    as_numbers,
    as_vector,
    call_user_function,
    check_dtype,
    column_names,
    first_line,
)
from ..errors import DataError, MissingExtraError
from .files import (
    CORRUPT_FILE_ERRORS,
    Stamp,
    check_npy,
    check_regular_file,
    check_stamp,
    file_stamp,
    too_compressed,
    unreadable,
)
from .parquet import ParquetSource

__all__ = [
    "ArraySource",
    "FileSource",
    "FunctionSource",
    "JoinedSource",
    "OneColumn",
    "Source",
    "is_source",
    "open_source",
]


class Source(Protocol):
    """Rows of numbers that are read one block at a time, as float64 or, if they are stored so, as float32."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns), or (rows,)."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Column names, if there are any."""

    def edges(self, step: int) -> list[int]:
        """First rows of blocks of about ``step`` rows that are fast to read, and the number of rows."""

    def read(self, start: int, stop: int) -> Array:
        """Rows ``start`` to ``stop − 1``."""


def _even_edges(n: int, step: int, unit: int = 1) -> list[int]:
    """Multiples of ``unit`` that are about ``step`` apart, and n."""
    step = max(unit, step // unit * unit)
    return [*range(0, n, step), n]


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Anything with a shape and slices: an array, a memory map, a Zarr array, an HDF5 dataset."""

    array: Any
    columns: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(int(size) for size in self.array.shape)

    def edges(self, step: int) -> list[int]:
        """Chunk boundaries, if the array is stored in chunks."""
        chunks = getattr(self.array, "chunks", None)
        return _even_edges(self.shape[0], step, int(chunks[0]) if chunks else 1)

    def read(self, start: int, stop: int) -> Array:
        """One slice as float64 or float32."""
        try:
            return as_floats(np.asarray(self.array[start:stop]), single=True)
        except Exception as error:  # each array library has its own exceptions
            raise DataError(
                f"rows {start} to {stop - 1}", f"cannot be read ({first_line(error)})", "check that the array is intact"
            ) from error


@dataclass(frozen=True)
class FileSource:
    """Numbers stored row after row in a file, such as ``.npy``.

    Blocks are read, not mapped: the pages of a memory map count as memory of the process, and would fill it.
    """

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    columns: tuple[str, ...] | None = None
    stamp: Stamp | None = None

    @classmethod
    def from_memmap(cls, array: np.memmap[Any, Any], stamp: Stamp | None = None) -> FileSource:
        """The file behind a memory map."""
        shape = tuple(int(size) for size in array.shape)
        return cls(str(array.filename), array.dtype.str, shape, int(array.offset), stamp=stamp)

    def edges(self, step: int) -> list[int]:
        """Even blocks."""
        if not self.shape:
            raise DataError(self.path, "holds a single number and no rows", "write an array of rows and columns")
        return _even_edges(self.shape[0], step)

    def read(self, start: int, stop: int) -> Array:
        """One block as float64 or float32."""
        values = np.empty((stop - start, *self.shape[1:]), dtype=self.dtype)
        width = values.itemsize * int(np.prod(self.shape[1:], dtype=int))
        try:
            with open(self.path, "rb", buffering=0) as file:
                check_stamp(self.path, self.stamp)
                file.seek(self.offset + start * width)
                view, done = memoryview(values.reshape(-1).view(np.uint8).data), 0
                while done < len(view):
                    got = file.readinto(view[done:])
                    if not got:
                        raise DataError(self.path, f"ends before row {stop}", "write the file again")
                    done += got
        except OSError as error:
            raise unreadable(self.path, error) from error
        return as_floats(values, single=True)


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """Blocks returned by functions without arguments, which are called again in every pass."""

    functions: tuple[Callable[[], Any], ...]
    lengths: tuple[int, ...]
    width: int
    columns: tuple[str, ...] | None = None
    log_weights: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)."""
        return sum(self.lengths), self.width

    def edges(self, step: int) -> list[int]:
        """One block for each function."""
        return [0, *(int(end) for end in np.cumsum(self.lengths))]

    def read(self, start: int, stop: int) -> Array:
        """Rows returned by the functions of the block."""
        blocks, ends = [], np.cumsum(self.lengths)
        for i, (end, length) in enumerate(zip(ends.tolist(), self.lengths, strict=True)):
            first = end - length
            if first < stop and end > start:
                block = _as_block(call_user_function(self.functions[i], f"block {i}"), f"block {i}", self.log_weights)
                if block.shape != (length, self.width):
                    raise DataError(
                        f"block {i}",
                        f"had shape {(length, self.width)} at first and has {block.shape} now",
                        "return the same rows in every call",
                    )
                blocks.append(block[max(start - first, 0) : stop - first])
        return np.concatenate(blocks)


@dataclass(frozen=True, eq=False)
class JoinedSource:
    """Several sources, one after the other."""

    sources: tuple[Source, ...]
    columns: tuple[str, ...] | None

    @classmethod
    def of(cls, sources: list[Source], name: str) -> JoinedSource:
        """Join sources that have the same columns."""
        if len({(source.shape[1:], source.columns) for source in sources}) > 1:
            raise DataError(name, "its files differ in their columns", "give all files the same columns")
        return cls(tuple(sources), sources[0].columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)."""
        return sum(source.shape[0] for source in self.sources), *self.sources[0].shape[1:]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *itertools.accumulate(source.shape[0] for source in self.sources)]

    def edges(self, step: int) -> list[int]:
        """Edges of all sources."""
        pairs = zip(self._starts, self.sources, strict=False)
        return [start + edge for start, source in pairs for edge in source.edges(step)[:-1]] + [self._starts[-1]]

    def read(self, start: int, stop: int) -> Array:
        """Rows from all sources that overlap the block."""
        blocks = []
        for first, source in zip(self._starts, self.sources, strict=False):
            low, high = max(start - first, 0), min(stop - first, source.shape[0])
            if low < high:
                blocks.append(source.read(low, high))
        return np.concatenate(blocks)


@dataclass(frozen=True, eq=False)
class OneColumn:
    """A one-dimensional source as a source with one column."""

    source: Source

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, 1)."""
        return self.source.shape[0], 1

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Column name, if there is one."""
        return self.source.columns

    def edges(self, step: int) -> list[int]:
        """Edges of the one-dimensional source."""
        return self.source.edges(step)

    def read(self, start: int, stop: int) -> Array:
        """One block with one column."""
        return self.source.read(start, stop)[:, None]


def _as_block(block: Any, name: str, log_weights: bool) -> Array:
    """Block returned by a function, as a matrix of finite numbers; log weights may be −inf."""
    if not log_weights:
        return as_matrix(block, name, single=True)
    values = as_numbers(block, name)
    zero = np.equal(values, -np.inf)
    checked = as_matrix(np.where(zero, 0.0, values), name)
    return np.where(zero.reshape(checked.shape), -np.inf, checked)


def _function_source(x: Sequence[Callable[[], Any]], name: str) -> FunctionSource:
    """Source of functions; those that return no rows are left out."""
    kept, log_weights = [], name.startswith("log_lik")
    for i, block in enumerate(x):
        values = call_user_function(block, f"{name}: block {i}")
        if np.ndim(values) and np.shape(values)[0] == 0:
            continue
        kept.append((block, _as_block(values, f"{name}: block {i}", log_weights).shape))
    if not kept:
        raise DataError(name, "its functions return no rows", "return at least one row")
    if len({width for _, (_, width) in kept}) > 1:
        raise DataError(name, "its blocks differ in their number of columns", "return the same columns in all blocks")
    lengths = tuple(rows for _, (rows, _) in kept)
    return FunctionSource(tuple(b for b, _ in kept), lengths, kept[0][1][1], log_weights=log_weights)


def is_source(x: Any) -> bool:
    """Whether x is a source that has been opened."""
    return isinstance(x, ArraySource | FileSource | FunctionSource | JoinedSource | OneColumn | ParquetSource)


def open_source(x: Any, name: str) -> Source:
    """Source for a path, a list of paths, an array, a data frame, a function or a list of functions.

    Paths end in ``.npy``, ``.parquet`` or ``.zarr``, or are folders of Parquet files. Each function returns one block.
    """
    if is_source(x):
        return x  # type: ignore[no-any-return]
    if isinstance(x, str | Path):
        return _open_path(Path(x), name)
    if _is_whole_memmap(x):
        return FileSource.from_memmap(x)
    if callable(x) and not hasattr(x, "shape"):
        x = [x]
    if isinstance(x, list | tuple) and len(x) and all(isinstance(path, str | Path) for path in x):
        return JoinedSource.of([_open_path(Path(path), name) for path in x], name)
    if isinstance(x, Sequence) and not isinstance(x, memoryview) and len(x) and all(callable(block) for block in x):
        return _function_source(x, name)
    if _has_slices(x):
        check_dtype(np.dtype(x.dtype), name)
        return ArraySource(_copied(x) if type(x) is np.ndarray else x)
    values, columns = as_numbers(x, name, single=True), column_names(x)
    if values.ndim == 1:
        return ArraySource(_copied(as_vector(values, name, log_weights="any")), columns)
    return ArraySource(_copied(as_matrix(values, name, columns, single=True)), columns)


def _copied(x: Array) -> Array:
    """A copy that the caller cannot edit, unless the array is large: then every pass reads it as it is."""
    return freeze(x.copy()) if x.nbytes <= COPIED_BYTES and not is_frozen(x) else x


def _is_whole_memmap(x: Any) -> bool:
    """Whether x is a memory map of a whole file, row after row and without changes in memory."""
    if not isinstance(x, np.memmap) or not x.flags.c_contiguous or x.dtype.kind not in "fiub":
        return False
    base: Any = x.base
    return isinstance(base, mmap.mmap) and x.mode != "c"


def _has_slices(x: Any) -> bool:
    """Whether x can be read slice by slice; masked, sparse and object arrays need validation first."""
    if isinstance(x, np.ma.MaskedArray) or hasattr(x, "nnz") or hasattr(x, "to_frame"):
        return False
    try:
        return hasattr(x, "shape") and hasattr(x, "__getitem__") and np.dtype(x.dtype).kind != "O"
    except (AttributeError, TypeError):  # no dtype, or not one of NumPy
        return False


def _open_path(path: Path, name: str) -> Source:
    try:
        folder = path.is_dir()
        if not folder or path.suffix == ".npy":
            check_regular_file(path)
            path.open("rb").close()
    except OSError as error:
        raise DataError(
            name, f"{path} cannot be read ({error.strerror or error})", "check the path and its permissions"
        ) from error
    if path.suffix == ".npy":
        return _open_npy(path, name)
    if path.suffix == ".zarr":
        return _open_zarr(path, name)
    files = sorted(path.glob("*.parquet"), key=_natural_order) if folder else [path]
    if not files or any(file.suffix != ".parquet" for file in files):
        raise DataError(
            name, f"{path} has an unknown format", "pass .npy, .parquet or .zarr, or a folder of .parquet files"
        )
    source = ParquetSource(tuple(str(file) for file in files))
    if source.shape[0] == 0:
        raise DataError(name, f"{path} has no rows", "pass at least one row")
    return source


def _open_npy(path: Path, name: str) -> Source:
    try:
        with path.open("rb") as file:
            check_npy(file, path.stat().st_size)
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except CORRUPT_FILE_ERRORS as error:
        raise DataError(
            name, f"{path} is not an .npy file of numbers ({first_line(error)})", "write it with np.save"
        ) from error
    if array.dtype.kind not in "fiub":
        raise DataError(name, f"{path} holds dtype {array.dtype}", "store real numbers")
    return FileSource.from_memmap(array, file_stamp(path)) if array.flags.c_contiguous else ArraySource(array)


def _open_zarr(path: Path, name: str) -> Source:
    try:
        import zarr
    except ImportError:
        raise MissingExtraError("zarr", "files") from None
    try:
        array = zarr.open_array(path, mode="r")  # a string would be read as a URL
    except Exception as error:  # zarr has its own exceptions
        raise DataError(
            name, f"{path} is not a Zarr array ({first_line(error)})", "pass the folder of one array"
        ) from error
    if too_compressed(array.nbytes, sum(file.stat().st_size for file in path.rglob("*"))):
        raise DataError(
            name, f"{path} declares shape {array.shape} and stores little of it", "store all chunks of the array"
        )
    return open_source(array, name)


def _natural_order(path: Path) -> list[tuple[int, str]]:
    """Sort key that puts part.2 before part.10."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in re.split(r"(\d+)", path.name)]
