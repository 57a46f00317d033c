"""Both sides of a problem that is read block by block: files, arrays or Dask collections become rows and a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._internal.typing import Array
from .._internal.validation import as_vector, check_length, column_names
from ..errors import DataError
from .blocks import Blocks, LocalBlocks, RowTransform, likelihood_argument, rows_and_mean, show_progress, survey_rows
from .dask_blocks import DaskBlocks, DaskFileBlocks, as_dask_array, is_dask
from .features import Concatenation, FeatureMap, make_features
from .kernels import Kernel
from .parquet import ParquetSource
from .rows import Rows
from .sources import ArraySource, OneColumn, Source, open_source

__all__ = ["assemble"]


def assemble(
    x_p: Any,
    x_q: Any,
    log_lik_p: Any,
    log_lik_q: Any,
    features: Any,
    target: Any,
    dask: bool,
    verbose: bool,
) -> tuple[Rows, Rows | None, Array, tuple[str, ...]]:
    """(rows of the q side, rows of the p side, target, feature names) from the arguments of ``from_blocks``."""
    f = make_features(features)
    maps = f.parts if isinstance(f, Concatenation) else (f,)
    if any(isinstance(part, Kernel) and part.factor is None for part in maps):
        raise DataError("features", "the kernel has no landmarks yet", "pass kernel.fitted(points, rng)")
    blocks_q, transform_q, n_q = _open_side(x_q, log_lik_q, f, dask, "x_q")
    columns, rows_p = transform_q.columns, None
    if target is None:
        if x_p is None:
            raise DataError("x_p", "is None", "pass samples of the p side, or a target")
        blocks_p, transform_p, n_p = _open_side(x_p, log_lik_p, f, dask, "x_p")
        columns = _common_columns(transform_p.columns, transform_q.columns)
        if transform_q.columns not in (columns, _default_names(len(columns))):  # the same columns in another order
            blocks_q, transform_q, n_q = _open_side(x_q, log_lik_q, f, dask, "x_q", columns)
        with show_progress(blocks_p, verbose, "target"):
            rows_p, target = rows_and_mean(blocks_p, transform_p, n_p)
    with show_progress(blocks_q, verbose, "survey"):
        rows = survey_rows(blocks_q, transform_q, n_q)
    names, k = f.names(columns), rows.shape[1]
    target = as_vector(target, "target").copy()
    if target.size != k:
        raise DataError("target", f"has {target.size} entries for {k} features", "pass one for each feature")
    if len(names) != k:
        names = tuple(f"f{i}" for i in range(k))
    return rows.with_origin(target), None if rows_p is None else rows_p.with_origin(target), target, names


def _common_columns(columns_p: tuple[str, ...], columns_q: tuple[str, ...]) -> tuple[str, ...]:
    """Column names of both sides, where one side may have default names only."""
    default = _default_names(len(columns_p))
    if len(columns_p) != len(columns_q):
        names = f" ({', '.join(columns_q)})" if columns_q != _default_names(len(columns_q)) else ""
        raise DataError(
            "x_q", f"has {len(columns_q)} columns{names}, x_p has {len(columns_p)}", "give both the same columns"
        )
    if columns_p != columns_q and default not in (columns_p, columns_q):
        odd = sorted(set(columns_p) ^ set(columns_q))
        if odd:
            raise DataError(
                "x_q", f"its columns differ from those of x_p in {', '.join(odd)}", "give both the same columns"
            )
    return columns_q if columns_p == default else columns_p


def _default_names(width: int) -> tuple[str, ...]:
    """Names of columns that have none."""
    return tuple(f"x{i}" for i in range(width))


def _open_side(
    x: Any, log_lik: Any, f: FeatureMap, dask: bool, name: str, order: tuple[str, ...] | None = None
) -> tuple[Blocks, RowTransform, int]:
    """Blocks of one side, the transform to rows, and the number of rows; ``order`` rearranges named columns."""
    function, stored = (log_lik, None) if callable(log_lik) else (None, log_lik)
    opened = _open_dask(x, stored, name, order) if is_dask(x) else _open_source(x, stored, name, order, dask)
    blocks, shape, columns = opened
    if 0 in shape:
        raise DataError(name, f"is empty, shape {tuple(shape)}", "pass at least one row and one column")
    columns = columns or _default_names(int(shape[1]))
    return blocks, RowTransform(f, columns, name, log_lik is None, function), int(shape[0])


Opened = tuple[Blocks, tuple[int, ...], "tuple[str, ...] | None"]


def _open_dask(x: Any, stored: Any, name: str, order: tuple[str, ...] | None) -> Opened:
    """Blocks, shape and column names of a Dask collection."""
    columns = column_names(x)
    if order is not None and columns is not None:
        x = x[[*order, *(c for c in columns if c not in order)]]
        columns = column_names(x)
    if isinstance(stored, str):
        x, stored, columns = _split_column(x, stored, columns, name)
    elif isinstance(stored, Path):
        raise DataError(likelihood_argument(name), "is a file, the samples are a Dask collection", "pass a Dask array")
    blocks = DaskBlocks(x, stored, name)
    return blocks, blocks.shape, columns


def _open_source(x: Any, stored: Any, name: str, order: tuple[str, ...] | None, dask: bool) -> Opened:
    """Blocks, shape and column names of files, arrays or functions."""
    source = open_source(x, name)
    log_lik = None if stored is None else _open_log_lik(source, stored, name)
    if isinstance(stored, str) and isinstance(source, ParquetSource) and stored in source.columns:
        source = source.select(tuple(c for c in source.columns if c != stored))
    if order is not None:
        source = _reorder(source, order)
    if len(source.shape) == 1:
        source = OneColumn(source)
    if len(source.shape) != 2:
        raise DataError(name, f"has {len(source.shape)} dimensions", "pass one row for each sample, shape (n, d)")
    if log_lik is not None:
        argument = likelihood_argument(name)
        if len(log_lik.shape) != 1 and log_lik.shape[1:] != (1,):
            raise DataError(argument, f"has shape {log_lik.shape}", "pass one number for each row")
        check_length(log_lik.shape[0], source.shape[0], argument)
    blocks = DaskFileBlocks(source, log_lik) if dask else LocalBlocks(source, log_lik)
    return blocks, source.shape, source.columns


def _open_log_lik(source: Source, stored: Any, name: str) -> Source:
    """Stored log-likelihoods: a column of the same file, or a separate source."""
    if isinstance(stored, str) and isinstance(source, ParquetSource) and stored in source.columns:
        return source.select((stored,))
    if isinstance(stored, str) and not Path(stored).exists():
        named = f"a column ({', '.join(source.columns)})" if source.columns else "a column, since these have no names"
        raise DataError(
            likelihood_argument(name), f"{stored!r} is neither a file nor {named}", "pass a file, a column or an array"
        )
    return open_source(stored, likelihood_argument(name))


def _reorder(source: Source, order: tuple[str, ...]) -> Source:
    """The same source with its columns in another order."""
    if isinstance(source, ParquetSource):
        return source.select(order)
    if isinstance(source, ArraySource) and source.columns is not None:
        return ArraySource(source.array[:, [source.columns.index(c) for c in order]], order)
    raise DataError("x_q", "its columns are in another order than those of x_p", "give both in the same order")


def _split_column(x: Any, column: str, columns: tuple[str, ...] | None, name: str) -> tuple[Any, Any, Any]:
    """A Dask dataframe without one column, that column, and the remaining names."""
    if columns is None or column not in columns:
        raise DataError(
            likelihood_argument(name), f"{name} has no column {column!r}", "name one of its columns, or pass an array"
        )
    rest = [c for c in columns if c != column]
    both = as_dask_array(x[[*rest, column]], name)
    return both[:, :-1], both[:, -1], tuple(rest)
