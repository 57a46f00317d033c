"""Pieces on Dask: the rows stay where they are, summaries come back, merged in a tree.

Every pass is one small graph: a task for each piece and a few merges. Files are named in it by path, start and stop,
and opened by the worker; a memory map in the graph would be copied into it. Whatever scheduler is current does the
work: threads, or the cluster of the client that was made last.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

from .arrays import as_vector
from .blocks import LocalPieces, Task, log_lik_of, read_and
from .errors import DataError, MissingExtraError
from .sources import Source

__all__ = ["DaskPieces", "FilesOnDask", "is_dask"]

Out = TypeVar("Out")
#: summaries that one task merges
FAN_IN = 8
#: numbers of one piece: large beside a scheduler's millisecond for each task, small beside a worker's memory
PIECE_NUMBERS = 10_000_000


def is_dask(x: Any) -> bool:
    """Whether x is a Dask collection; asks without importing Dask."""
    return type(x).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(x, "__dask_graph__")


def _dask() -> Any:
    """Dask itself."""
    try:
        import dask
        from dask import delayed  # noqa: F401
    except ImportError:
        raise MissingExtraError("dask", "dask") from None
    return dask


class DaskPieces:
    """Row chunks of a Dask array or dataframe, with logarithms of weights that are chunked alike."""

    def __init__(self, x: Any, base: Any = None, name: str = "x") -> None:
        x = as_dask_array(x, name)
        if x.ndim == 1:
            x = x[:, None]
        if x.numblocks[1] > 1:
            x = x.rechunk({1: -1})
        self.shape = tuple(int(size) for size in x.shape)
        self._x = x.to_delayed().ravel().tolist()
        self._base: list[Any] = [None] * len(self._x)
        if base is not None:
            log_lik = log_lik_of(name)
            base = as_dask_array(base, log_lik).reshape(-1) if is_dask(base) else _like(x, base, log_lik)
            if base.shape[0] != x.shape[0]:
                raise DataError(
                    f"{log_lik}: has {base.shape[0]} entries where {x.shape[0]} are needed, one for each row"
                )
            self._base = base.rechunk((x.chunks[0],)).to_delayed().ravel().tolist()
        sizes = [int(rows) for rows in x.chunks[0]]
        starts = [0, *itertools.accumulate(sizes)]
        some = [i for i, size in enumerate(sizes) if size]  # a filter leaves chunks without rows
        self.starts = [starts[i] for i in some]
        self._x, self._base = [self._x[i] for i in some], [self._base[i] for i in some]
        self.watch: Callable[[int], Callable[[], None]] | None = None

    def run(self, task: Task[Out], merge: Callable[[Out, Out], Out], where: list[int] | None = None) -> Out:
        """The task of every piece on its worker, merged there."""
        visit = _dask().delayed(task, pure=False, traverse=False)
        watch = self.watch if where is None else None
        where = list(range(len(self.starts))) if where is None else where
        return _tree([visit(self.starts[i], self._x[i], self._base[i]) for i in where], merge, watch)


class FilesOnDask(LocalPieces):
    """Stretches of a source that every worker can open, such as a file on a shared disk."""

    def __init__(self, source: Source, base: Source | None) -> None:
        super().__init__(source, base, PIECE_NUMBERS)

    def run(self, task: Task[Out], merge: Callable[[Out, Out], Out], where: list[int] | None = None) -> Out:
        """The task of every piece on some worker, which reads it."""
        visit = _dask().delayed(read_and, pure=False, traverse=False)
        watch = self.watch if where is None else None
        where = list(range(len(self.starts))) if where is None else where
        pieces = [visit(task, self.source, self.base, self.starts[i], self.stops[i]) for i in where]
        return _tree(pieces, merge, watch)


def as_dask_array(x: Any, name: str) -> Any:
    """A Dask array of known lengths; those of a dataframe are counted."""
    _dask()
    import dask.array as da

    if isinstance(x, da.Array):
        if x.ndim == 0:
            raise DataError(f"{name}: has 0 dimensions; pass one row for each sample, shape (n, d)")
        if any(rows != rows for rows in x.chunks[0]):
            x = x.compute_chunk_sizes()
        return x
    if hasattr(type(x), "to_dask_array"):
        return x.to_dask_array(lengths=True)
    raise DataError(f"{name}: {type(x).__name__} is neither a Dask array nor a Dask dataframe; make one of it")


def _like(x: Any, base: Any, name: str) -> Any:
    """An array in memory as a Dask array with the row chunks of x."""
    import dask.array as da

    values = as_vector(base, name, log_weights="any")
    return da.from_array(values, chunks=(x.chunks[0],) if len(values) == x.shape[0] else -1)


def _tree(tasks: list[Any], merge: Callable[[Out, Out], Out], watch: Any) -> Out:
    """Merge neighbours until one is left, and compute it."""
    dask = _dask()
    moved = watch(1) if watch else None
    join = dask.delayed(_merged, pure=False, traverse=True)
    while len(tasks) > 1:
        tasks = [join(merge, tasks[i : i + FAN_IN]) for i in range(0, len(tasks), FAN_IN)]
    (found,) = dask.compute(tasks[0], optimize_graph=False)
    if moved:
        moved()
    return found  # type: ignore[no-any-return]


def _merged(merge: Callable[[Out, Out], Out], found: list[Out]) -> Out:
    return reduce(merge, found)
