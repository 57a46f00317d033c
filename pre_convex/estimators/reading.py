"""Read the samples passed to an estimator: load files, and split a column of log-likelihoods from its table."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._internal.snapshots import COPIED_BYTES
from .._internal.typing import Index
from .._internal.validation import as_matrix, as_vector, column_names
from ..data.blocks import likelihood_argument
from ..data.dask_blocks import is_dask
from ..data.files import as_path
from ..data.sources import Source, is_source, open_source
from ..data.tables import TABLE_SUFFIXES, Table, read_table, table_suffix
from ..errors import DataError

__all__ = ["in_blocks", "pandas_index", "read_rows", "read_sample", "some_rows", "split_likelihood", "width_of"]

#: numbers of a file above which it is read block by block
IN_MEMORY = COPIED_BYTES // 8


def read_sample(x: Any, name: str) -> Any:
    """A sample that is a path, read: a table or array in memory, or a source of blocks if the file is large.

    A pyarrow table loses the index of pandas. Anything else is returned as it is.

    Parameters
    ----------
    x : path, list of paths or any other sample
        ``.csv``, ``.csv.gz``, ``.tsv``, ``.npz``, ``.npy``, ``.parquet`` and ``.zarr`` files, and folders of Parquet
        files.
    name : str
        Argument, for messages.
    """
    index = pandas_index(x)
    if index:
        return x.drop_columns(index)
    several = isinstance(x, list | tuple) and len(x) > 0 and all(isinstance(path, os.PathLike) for path in x)
    if not several and not isinstance(x, str | os.PathLike):
        return x
    try:
        if not several and table_suffix(as_path(x, name)) in TABLE_SUFFIXES and not os.path.isdir(x):
            return read_table(x)
        source = open_source(list(x) if several else as_path(x, name), name)
    except DataError as error:
        if error.argument == name:
            raise
        raise DataError(name, f"{error.argument} {error.reason}", error.remedy) from error
    return source if int(np.prod(source.shape, dtype=int)) > IN_MEMORY else in_memory(source)


def pandas_index(x: Any) -> list[str]:
    """Columns of a pyarrow table that hold the index of the pandas frame that it was made of."""
    if not hasattr(x, "drop_columns"):
        return []
    index = (getattr(x.schema, "pandas_metadata", None) or {}).get("index_columns", [])
    return [name for name in index if isinstance(name, str) and name in x.column_names]


def read_rows(x: Any, name: str) -> Any:
    """The same for new samples, which are always read into memory."""
    sample = read_sample(x, name)
    return in_memory(sample) if is_source(sample) else sample


def in_memory(source: Source) -> Any:
    """All rows of a source, with their names if they have some."""
    values = source.read(0, source.shape[0])
    return values if source.columns is None else Table(source.columns, values)


def in_blocks(*samples: Any) -> bool:
    """Whether one of the samples is read block by block."""
    return any(is_dask(x) or is_source(x) for x in samples)


def split_likelihood(x: Any, log_lik: Any, name: str) -> tuple[Any, Any]:
    """Sample and log-likelihoods; a name stands for a column of the sample, which is taken out of it."""
    import narwhals as nw

    columns = column_names(x)
    if not isinstance(log_lik, str) or columns is None or in_blocks(x):
        return x, log_lik
    if log_lik not in columns:
        known = ", ".join(columns[:10]) + (", …" if len(columns) > 10 else "")
        reason = f"{log_lik!r} is not a column of {name}"
        raise DataError(likelihood_argument(name), reason, f"use one of {known}, an array, or a function")
    rest = tuple(c for c in columns if c != log_lik)
    if isinstance(x, Table):
        return x.select(rest), x.column(log_lik)
    frame = nw.from_native(x, eager_only=True)
    table = Table(rest, as_matrix(frame.drop(log_lik).to_native(), name))
    return table, as_vector(frame[log_lik].to_native(), likelihood_argument(name), log_weights=True)


def some_rows(x: Any, most: int) -> tuple[Any, Index] | None:
    """At most so many evenly spaced rows of a validated sample in memory, and their numbers; None if it is not."""
    if in_blocks(x):
        return None
    framed = not isinstance(x, Table) and column_names(x) is not None
    x = x if framed or isinstance(x, Table) else np.asarray(x)
    n = len(x.values if isinstance(x, Table) else x)
    index = np.unique(np.linspace(0, n - 1, min(most, n)).round().astype(np.intp))
    if isinstance(x, Table):
        return Table(x.columns, x.values[index]), index
    if framed:
        import narwhals as nw

        return nw.from_native(x, eager_only=True)[index.tolist(), :].to_native(), index
    return x[index], index


def width_of(x: Any) -> int:
    """Number of columns of a validated sample."""
    shape = x.shape if is_source(x) else np.shape(x)
    return int(shape[1]) if len(shape) > 1 else 1
