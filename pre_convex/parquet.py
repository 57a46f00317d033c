"""Rows in Parquet files, read by row groups."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import first_line
from .entropy import Array
from .errors import DataError, MissingExtraError
from .files import Stamp, check_plain, check_stamp, stamp_of, too_tight

__all__ = ["ParquetSource"]

#: times that columns of few values take less room in a Parquet file than in memory, at most
TIGHT = 10_000


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file or a folder of them, read by row groups; one column may be set apart."""

    files: tuple[str, ...]
    wanted: tuple[str, ...] | None = None

    @cached_property
    def _groups(self) -> list[tuple[int, int, str, int]]:
        """(first row, end, file, number of the group) of every row group."""
        groups, row = [], 0
        for path in self.files:
            self._stamps[path] = stamp_of(path)
            file = _parquet(path)
            missing = set(self.columns) - set(file.schema_arrow.names)
            if missing:
                raise DataError(f"{path}: lacks the columns {', '.join(sorted(missing))} of {self.files[0]}")
            for i in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(i).num_rows
                if not rows >= 0 or too_tight(8 * rows * len(self.columns), Path(path).stat().st_size, TIGHT):
                    raise DataError(f"{path}: row group {i} declares {rows} rows, which it cannot hold")
                if rows:
                    groups.append((row, row + rows, path, i))
                    row += rows
        return groups

    @cached_property
    def _stamps(self) -> dict[str, Stamp]:
        return {}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, without those that pandas and Dask stored as an index."""
        schema = _parquet(self.files[0]).schema_arrow
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
        if twice is not None:
            raise DataError(f"{self.files[0]}: the column {twice!r} stands there twice")
        return self.wanted or tuple(name for name in schema.names if name not in index)

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)."""
        return (self._groups[-1][1] if self._groups else 0), len(self.columns)

    def edges(self, step: int) -> list[int]:
        """Ends of row groups, as many of them together as ``step`` allows."""
        edges = [0]
        for (_, end, _, _), following in itertools.zip_longest(self._groups, self._groups[1:]):
            if following is None or following[1] - edges[-1] > step:
                edges.append(end)
        return edges

    def read(self, start: int, stop: int) -> Array:
        """The row groups of the stretch, as numbers; an empty cell is nan."""
        parts = []
        for first, end, path, group in self._groups:
            if first < stop and end > start:
                part = self._read_group(path, group)
                if len(part) != end - first:
                    raise DataError(f"{path}: row group {group} has {len(part)} rows where it declares {end - first}")
                parts.append(part[max(start - first, 0) : stop - first])
        return np.concatenate(parts)

    def _read_group(self, path: str, group: int) -> Array:
        try:
            check_stamp(path, self._stamps[path])
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from error
        file = _parquet(path)
        try:
            return _from_table(file.read_row_group(group, columns=list(self.columns)), path)
        except DataError:
            raise
        except Exception as error:  # damage shows as errors of many types
            raise DataError(f"{path}: row group {group} cannot be read ({first_line(error)})") from error

    def only(self, columns: tuple[str, ...]) -> ParquetSource:
        """Some of the columns."""
        return ParquetSource(self.files, columns)


def _parquet(path: str) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtraError("pyarrow", "files") from None
    try:
        check_plain(path)
        return ParquetFile(path)
    except Exception as error:  # damage shows as errors of many types
        raise DataError(f"{path}: is not a Parquet file ({first_line(error)})") from error


def _from_table(table: Any, path: str) -> Array:
    """Columns of an Arrow table side by side."""
    from pyarrow import types

    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not any(is_kind(column.type) for is_kind in kinds):
            raise DataError(f"{path}: column {name!r} has type {column.type}; encode it as numbers, or leave it out")
        columns.append(np.asarray(column.to_numpy(), dtype=float))
    return np.column_stack(columns)
