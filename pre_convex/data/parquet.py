"""Parquet files, read by row groups."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .._internal.typing import Array
from .._internal.validation import duplicate, first_line
from ..errors import DataError, MissingExtraError
from .files import Stamp, check_regular_file, check_stamp, file_stamp, too_compressed, unreadable

__all__ = ["ParquetSource"]

#: maximum compression ratio; Parquet packs columns of few distinct values tightly
MAX_RATIO = 10_000


@dataclass(frozen=True)
class ParquetSource:
    """Rows of one or more Parquet files, all columns or the wanted ones."""

    files: tuple[str, ...]
    wanted: tuple[str, ...] | None = None

    @cached_property
    def _groups(self) -> list[tuple[int, int, str, int]]:
        """(first row, end, file, number within the file) of every row group."""
        groups, row = [], 0
        for path in self.files:
            self._stamps[path] = file_stamp(path)
            file = _open_parquet(path)
            missing = set(self.columns) - set(file.schema_arrow.names)
            if missing:
                names = ", ".join(sorted(missing))
                raise DataError(path, f"lacks columns {names} of {self.files[0]}", "give all files the same columns")
            for i in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(i).num_rows
                if not rows >= 0 or too_compressed(8 * rows * len(self.columns), Path(path).stat().st_size, MAX_RATIO):
                    reason = f"row group {i} cannot hold the {rows} rows it declares"
                    raise DataError(path, reason, "write the file again")
                if rows:
                    groups.append((row, row + rows, path, i))
                    row += rows
        return groups

    @cached_property
    def _stamps(self) -> dict[str, Stamp]:
        return {}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Column names, without the index of pandas and Dask."""
        schema = _open_parquet(self.files[0]).schema_arrow
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        twice = duplicate(schema.names)
        if twice is not None:
            raise DataError(self.files[0], f"duplicate column {twice!r}", "rename or drop one of them")
        return self.wanted or tuple(name for name in schema.names if name not in index)

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)."""
        return (self._groups[-1][1] if self._groups else 0), len(self.columns)

    def edges(self, step: int) -> list[int]:
        """Blocks of as many whole row groups as fit into ``step`` rows."""
        edges = [0]
        for (_, end, _, _), following in itertools.zip_longest(self._groups, self._groups[1:]):
            if following is None or following[1] - edges[-1] > step:
                edges.append(end)
        return edges

    def read(self, start: int, stop: int) -> Array:
        """Rows ``start`` to ``stop − 1`` as float64; an empty cell is nan."""
        blocks = []
        for first, end, path, group in self._groups:
            if first < stop and end > start:
                values = self._read_group(path, group)
                if len(values) != end - first:
                    raise DataError(
                        path,
                        f"row group {group} declares {end - first} rows and has {len(values)}",
                        "write the file again",
                    )
                blocks.append(values[max(start - first, 0) : stop - first])
        return np.concatenate(blocks)

    def _read_group(self, path: str, group: int) -> Array:
        try:
            check_stamp(path, self._stamps[path])
        except OSError as error:
            raise unreadable(path, error) from error
        file = _open_parquet(path)
        try:
            return _from_table(file.read_row_group(group, columns=list(self.columns)), path)
        except DataError:
            raise
        except Exception as error:  # a corrupt file raises errors of many types
            raise DataError(
                path, f"row group {group} cannot be read ({first_line(error)})", "write the file again"
            ) from error

    def select(self, columns: tuple[str, ...]) -> ParquetSource:
        """The same rows with these columns only."""
        return ParquetSource(self.files, columns)


def _open_parquet(path: str) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtraError("pyarrow", "files") from None
    try:
        check_regular_file(path)
        return ParquetFile(path)
    except Exception as error:  # a corrupt file raises errors of many types
        raise DataError(path, f"is not a Parquet file ({first_line(error)})", "pass a valid Parquet file") from error


def _from_table(table: Any, path: str) -> Array:
    """Columns of an Arrow table as one matrix."""
    from pyarrow import types

    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not any(is_kind(column.type) for is_kind in kinds):
            raise DataError(path, f"column {name!r} has type {column.type}", "encode it as numbers, or leave it out")
        columns.append(np.asarray(column.to_numpy(), dtype=float))
    return np.column_stack(columns)
