"""Tables of the command line: which columns are features, how categories become numbers, which rows are dropped."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._internal.escaping import for_csv
from .._internal.typing import Array
from ..data.cells import Cells, read_cells
from ..data.tables import Table
from ..errors import DataError
from .console import show

__all__ = ["Columns", "Sample", "csv_text", "keyed", "listed", "read_samples", "report_dropped"]


@dataclass(frozen=True)
class Columns:
    """What to do with the columns of the files.

    Attributes
    ----------
    wanted : tuple of str
        Columns to use; all that are not named elsewhere if empty.
    excluded : tuple of str
        Columns to leave out.
    categorical : tuple of str
        Columns of categories: one column of 0 and 1 for each category but the first.
    key : str or None
        Column that identifies a row in the output.
    drop_missing : bool
        Whether rows with missing values are dropped.
    """

    wanted: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    key: str | None = None
    drop_missing: bool = False


@dataclass(frozen=True, eq=False)
class Sample:
    """One file as numbers.

    Attributes
    ----------
    table : Table
        The features.
    others : dict of str to ndarray
        Columns of numbers with another role, such as log-likelihoods.
    key : str or None
        Name of the column of keys.
    keys : list of str or None
        The key of every row.
    dropped : int
        Rows that were dropped because of missing values.
    """

    table: Table
    others: dict[str, Array]
    key: str | None
    keys: list[str] | None
    dropped: int


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as the text of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def keyed(sample: Sample, values: dict[str, Array]) -> Iterator[tuple[Any, ...]]:
    """Header and rows of a table with the key of every row, if there is one, and columns of numbers."""
    columns: list[Any] = [] if sample.keys is None else [map(for_csv, sample.keys)]
    yield (*([] if sample.key is None else [for_csv(sample.key)]), *values)
    yield from zip(*columns, *(array.tolist() for array in values.values()), strict=True)


def report_dropped(paths: Sequence[Path], samples: Sequence[Sample]) -> None:
    """Print how many rows were dropped."""
    for path, sample in zip(paths, samples, strict=True):
        if sample.dropped:
            count = len(sample.table.values) + sample.dropped
            show(f"{path}: dropped {sample.dropped} of {count} rows, which have missing values")


def listed(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def read_samples(
    paths: Sequence[Path],
    columns: Columns,
    others: Sequence[dict[str, str]],
    levels: dict[str, list[str]] | None = None,
) -> tuple[list[Sample], dict[str, list[str]]]:
    """The files as numbers, with the same columns, and the levels of each categorical column.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    columns : Columns
        What to do with their columns.
    others : sequence of dict
        For each file: columns of numbers with another role, by the option that names them.
    levels : dict, optional
        Known levels of the categorical columns; by default those of all files together.
    """
    files = [read_cells(path) for path in paths]
    special = [{*roles.values(), columns.key} for roles in others]
    kept = []
    for file, roles in zip(files, others, strict=True):
        for option, name in roles.items():
            file.check((name,), option)
        if columns.key is not None:
            file.check((columns.key,), "--key")
    names = _feature_names(files, columns, special)
    for file, roles in zip(files, others, strict=True):
        used = [*names, *roles.values()]
        missing = np.any([file.missing(name) for name in used], axis=0) & columns.drop_missing
        if missing.all():
            reason = f"every row of {file.path} has a missing value"
            raise DataError("--drop-missing", reason, "leave out the columns that are always empty")
        kept.append((file.take(~missing), int(missing.sum())))
    known = levels or {name: _levels([file for file, _ in kept], name) for name in names if name in columns.categorical}
    samples = []
    for (file, dropped), roles in zip(kept, others, strict=True):
        keys = None if columns.key is None else file.texts(columns.key)
        roles_read = {option: file.numbers(name, option) for option, name in roles.items()}
        try:
            table = _encoded(file, names, known)
        except DataError:
            _refuse_text(file, names, known, columns.key)
            raise
        samples.append(Sample(table, roles_read, columns.key, keys, dropped))
    return samples, known


def _refuse_text(file: Cells, names: Sequence[str], levels: dict[str, list[str]], key: str | None) -> None:
    """Raise if several columns hold text, with the options that name them all."""
    text = [name for name in names if name not in levels and file.holds_text(name)]
    if len(text) < 2:
        return
    unique = [name for name in text if len(set(file.texts(name))) == file.rows]
    groups = {"--key": unique[:1], "--exclude": unique[1:]} if key is None else {"--exclude": unique}
    groups["--categorical"] = [name for name in text if name not in unique]
    options = [f"{option} {','.join(names)}" for option, names in groups.items() if names]
    reason = f"columns {', '.join(text[:-1])} and {text[-1]} hold text"
    raise DataError(file.path, reason, f"pass {' '.join(options)}; --exclude leaves columns out")


def _feature_names(files: list[Cells], columns: Columns, special: list[set[str | None]]) -> list[str]:
    """Columns of the features: those that are wanted, or all that are left."""
    wanted = columns.wanted or tuple(name for name in files[0].columns if name not in special[0])
    for file in files:
        file.check(columns.wanted, "--columns")
        file.check(columns.categorical, "--categorical")
    for name in columns.excluded:
        if not any(name in file.columns for file in files):
            known = ", ".join(files[0].columns)
            raise DataError("--exclude", f"there is no column {name!r}", f"use one of {known}")
    names = [name for name in wanted if name not in columns.excluded]
    if not columns.wanted and len(files) == 2:
        left = {name for name in files[1].columns if name not in special[1] and name not in columns.excluded}
        odd = sorted(left ^ set(names))
        if odd:
            reason = f"has different columns than P: {', '.join(odd)} in only one of them"
            raise DataError("Q", reason, f"pass --exclude {','.join(odd)}, or give both files the same columns")
    if not names:
        raise DataError("--columns", "no column is left", "leave out --exclude, or name other columns")
    return names


def _levels(files: list[Cells], name: str) -> list[str]:
    """Categories of a column in all files."""
    levels: set[str] = set()
    for file in files:
        missing = np.flatnonzero(file.missing(name))
        if missing.size:
            raise file._not_a_number(name, int(missing[0]), "")
        levels |= set(file.texts(name))
    if len(levels) < 2:
        raise DataError("--categorical", f"{name} holds only {levels.pop()!r}", f"pass --exclude {name}")
    return sorted(levels)


def _encoded(file: Cells, names: list[str], levels: dict[str, list[str]]) -> Table:
    """The features as numbers."""
    header: list[str] = []
    parts: list[Array] = []
    for name in names:
        if name not in levels:
            header.append(name)
            parts.append(file.numbers(name))
            continue
        texts = np.array(file.texts(name), dtype=object)
        unknown = sorted(set(texts) - set(levels[name]))
        if unknown:
            reason = f"column {name!r} holds {unknown[0]!r}, which the fit has not seen"
            raise DataError(file.path, reason, f"use {', '.join(levels[name])}")
        for level in levels[name][1:]:
            header.append(f"{name}={level}")
            parts.append((texts == level).astype(float))
    return Table(tuple(header), np.column_stack(parts))
