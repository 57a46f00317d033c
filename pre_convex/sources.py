"""Where rows are read from when they are not in memory: files, and arrays that live elsewhere.

A source knows its length and reads any stretch of rows. It is small and can be sent to another process, which then
opens the file itself. Adding one is a class and a line in :func:`open_source`.
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

from .arrays import as_matrix, as_numbers, as_vector, called, check_type, column_names, first_line
from .entropy import Array
from .errors import DataError, MissingExtraError
from .files import DAMAGE, Stamp, check_npy, check_plain, check_stamp, stamp_of, too_tight
from .parquet import ParquetSource

__all__ = [
    "ArraySource",
    "FileSource",
    "FunctionSource",
    "JoinedSource",
    "OneColumn",
    "ParquetSource",
    "Source",
    "open_source",
]


class Source(Protocol):
    """Rows of numbers that are read a stretch at a time."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns), or (rows,)."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have any."""

    def edges(self, step: int) -> list[int]:
        """Row numbers at which stretches of about ``step`` rows begin and end, where the source likes them best."""

    def read(self, start: int, stop: int) -> Array:
        """Rows from ``start`` to before ``stop``, which are edges or lie between two that follow each other."""


def _even(n: int, step: int, unit: int = 1) -> list[int]:
    """Edges that are about ``step`` apart and multiples of ``unit``."""
    step = max(unit, step // unit * unit)
    return [*range(0, n, step), n]


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Anything with a shape and slices: an array, a memory map, a Zarr array, an HDF5 data set."""

    array: Any
    columns: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(int(size) for size in self.array.shape)

    def edges(self, step: int) -> list[int]:
        """Whole chunks if the array is stored in chunks."""
        chunks = getattr(self.array, "chunks", None)
        return _even(self.shape[0], step, int(chunks[0]) if chunks else 1)

    def read(self, start: int, stop: int) -> Array:
        """A slice, as numbers."""
        try:
            with np.errstate(over="ignore"):  # a wider type: inf is found and named later
                return np.asarray(self.array[start:stop], dtype=float)
        except Exception as error:  # each kind of array has types of its own for what it finds instead
            raise DataError(f"rows {start} to {stop - 1}: cannot be read ({first_line(error)})") from error


@dataclass(frozen=True)
class FileSource:
    """Numbers stored row after row in a file, such as ``.npy``.

    Stretches are read, not mapped: the pages of a map count as memory of the process, and would fill it.
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
        """Anywhere."""
        if not self.shape:
            raise DataError(f"{self.path}: holds a single number and no rows; write an array of rows and columns")
        return _even(self.shape[0], step)

    def read(self, start: int, stop: int) -> Array:
        """A stretch of the file, as numbers."""
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
                        raise DataError(f"{self.path}: ends before row {stop}; it has been cut or is still written to")
                    done += got
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read ({error.strerror or error})") from error
        return values.astype(float, copy=False)


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """Blocks made by functions without arguments, each of which returns some rows; called again in every pass."""

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
        """One stretch for each function."""
        return [0, *(int(end) for end in np.cumsum(self.lengths))]

    def read(self, start: int, stop: int) -> Array:
        """What the function of the stretch returns."""
        parts, ends = [], np.cumsum(self.lengths)
        for i, (end, length) in enumerate(zip(ends.tolist(), self.lengths, strict=True)):
            first = end - length
            if first < stop and end > start:
                block = _made(called(self.functions[i], f"block {i}"), f"block {i}", self.log_weights)
                if block.shape != (length, self.width):
                    raise DataError(f"block {i}: had shape {(length, self.width)} before and has {block.shape} now")
                parts.append(block[max(start - first, 0) : stop - first])
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class JoinedSource:
    """Several sources, one after the other."""

    sources: tuple[Source, ...]
    columns: tuple[str, ...] | None

    @classmethod
    def of(cls, sources: list[Source], name: str) -> JoinedSource:
        """Sources of the same width and names."""
        if len({(source.shape[1:], source.columns) for source in sources}) > 1:
            raise DataError(f"{name}: its files differ in their columns")
        return cls(tuple(sources), sources[0].columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)."""
        return sum(source.shape[0] for source in self.sources), *self.sources[0].shape[1:]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *itertools.accumulate(source.shape[0] for source in self.sources)]

    def edges(self, step: int) -> list[int]:
        """Those of every source."""
        parts = zip(self._starts, self.sources, strict=False)
        return [start + edge for start, source in parts for edge in source.edges(step)[:-1]] + [self._starts[-1]]

    def read(self, start: int, stop: int) -> Array:
        """What the sources of the stretch hold of it."""
        parts = []
        for first, source in zip(self._starts, self.sources, strict=False):
            low, high = max(start - first, 0), min(stop - first, source.shape[0])
            if low < high:
                parts.append(source.read(low, high))
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class OneColumn:
    """A source of single numbers as one of rows with one column."""

    source: Source

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, 1)."""
        return self.source.shape[0], 1

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Its name, if it has one."""
        return self.source.columns

    def edges(self, step: int) -> list[int]:
        """Those of the numbers."""
        return self.source.edges(step)

    def read(self, start: int, stop: int) -> Array:
        """The numbers, one in each row."""
        return self.source.read(start, stop)[:, None]


def _made(block: Any, name: str, log_weights: bool) -> Array:
    """What a function returned, as a matrix; −inf among logarithms of weights is a row without weight."""
    if not log_weights:
        return as_matrix(block, name)
    values = as_numbers(block, name)
    none = np.equal(values, -np.inf)
    checked = as_matrix(np.where(none, 0.0, values), name)
    return np.where(none.reshape(checked.shape), -np.inf, checked)


def _functions(x: Sequence[Callable[[], Any]], name: str) -> FunctionSource:
    """Blocks made by functions; those that make no rows are left out."""
    kept, log_weights = [], name.startswith("log_lik")
    for i, block in enumerate(x):
        made = called(block, f"{name}: block {i}")
        if np.ndim(made) and np.shape(made)[0] == 0:
            continue
        kept.append((block, _made(made, f"{name}: block {i}", log_weights).shape))
    if not kept:
        raise DataError(f"{name}: its functions make no rows")
    if len({width for _, (_, width) in kept}) > 1:
        raise DataError(f"{name}: its blocks differ in their number of columns")
    lengths = tuple(rows for _, (rows, _) in kept)
    return FunctionSource(tuple(b for b, _ in kept), lengths, kept[0][1][1], log_weights=log_weights)


def open_source(x: Any, name: str) -> Source:
    """The source of anything rows can be read from.

    Paths end in ``.npy``, ``.parquet`` or ``.zarr``, or are folders of Parquet files; a list or tuple of functions
    makes one block each.
    """
    if isinstance(x, str | Path):
        return _open_path(Path(x), name)
    mapped: Any = x.base if isinstance(x, np.memmap) and x.flags.c_contiguous and x.dtype.kind in "fiub" else None
    if isinstance(mapped, mmap.mmap) and x.mode != "c":  # the whole map, as the file has it
        return FileSource.from_memmap(x)
    if callable(x) and not hasattr(x, "shape"):
        x = [x]
    if isinstance(x, list | tuple) and len(x) and all(isinstance(path, str | Path) for path in x):
        return JoinedSource.of([_open_path(Path(path), name) for path in x], name)
    if isinstance(x, Sequence) and not isinstance(x, memoryview) and len(x) and all(callable(block) for block in x):
        return _functions(x, name)
    if _has_slices(x):
        check_type(np.dtype(x.dtype), name)
        return ArraySource(x)
    values, columns = as_numbers(x, name), column_names(x)
    if values.ndim == 1:
        return ArraySource(as_vector(values, name, log_weights="any"), columns)
    return ArraySource(as_matrix(values, name, columns), columns)


def _has_slices(x: Any) -> bool:
    """Whether x is an array that is read slice by slice as it is; masks, sparse matrices and objects need a look."""
    if isinstance(x, np.ma.MaskedArray) or hasattr(x, "nnz") or hasattr(x, "to_frame"):
        return False
    try:
        return hasattr(x, "shape") and hasattr(x, "__getitem__") and np.dtype(x.dtype).kind != "O"
    except (AttributeError, TypeError):  # no type, or a tensor with types of its own
        return False


def _open_path(path: Path, name: str) -> Source:
    try:
        folder = path.is_dir()
        if not folder or path.suffix == ".npy":
            check_plain(path)
            path.open("rb").close()
    except OSError as error:
        raise DataError(f"{name}: {path} cannot be read ({error.strerror or error})") from error
    if path.suffix == ".npy":
        try:
            with path.open("rb") as file:
                check_npy(file, path.stat().st_size)
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except DAMAGE as error:
            raise DataError(f"{name}: {path} is not an .npy file of numbers ({first_line(error)})") from error
        if array.dtype.kind not in "fiub":
            raise DataError(f"{name}: {path} holds dtype {array.dtype}; pass real numbers")
        return FileSource.from_memmap(array, stamp_of(path)) if array.flags.c_contiguous else ArraySource(array)
    if path.suffix == ".zarr":
        try:
            import zarr
        except ImportError:
            raise MissingExtraError("zarr", "files") from None
        try:
            found = zarr.open_array(path, mode="r")  # a text would be read as an address
        except Exception as error:  # zarr has types of its own for what it finds instead
            raise DataError(f"{name}: {path} is not a Zarr array ({first_line(error)})") from error
        if too_tight(found.nbytes, sum(file.stat().st_size for file in path.rglob("*"))):
            raise DataError(f"{name}: {path} declares {found.shape} numbers and stores few of them; store them all")
        return open_source(found, name)
    files = sorted(path.glob("*.parquet"), key=_natural) if folder else [path]
    if not files or any(file.suffix != ".parquet" for file in files):
        raise DataError(f"{name}: {path} is none of .npy, .parquet, .zarr, or a folder of .parquet files")
    source = ParquetSource(tuple(str(file) for file in files))
    if source.shape[0] == 0:
        raise DataError(f"{name}: {path} has no rows")
    return source


def _natural(path: Path) -> list[tuple[int, str]]:
    """Key that puts part.2 before part.10."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in re.split(r"(\d+)", path.name)]
