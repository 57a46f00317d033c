"""Blocks on Dask: rows stay on the workers, and summaries are merged in a tree.

Every pass is one small graph: a task for each block and a few merges. Files are named in it by path, start and stop,
and opened by the worker; a memory map would be copied into the graph. The current scheduler does the work: threads, or
the cluster of the client that was made last.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

from .._internal.validation import as_vector, check_length
from ..errors import DataError, MissingExtraError
from .blocks import LocalBlocks, StartBar, Task, likelihood_argument, read_and_run
from .sources import Source

__all__ = ["DaskBlocks", "DaskFileBlocks", "as_dask_array", "is_dask"]

Out = TypeVar("Out")
#: summaries merged by one task
FAN_IN = 8
#: entries of one block: large compared with a scheduler's millisecond per task, small compared with a worker's memory
BLOCK_NUMBERS = 10_000_000


def is_dask(x: Any) -> bool:
    """Whether x is a Dask collection; does not import Dask."""
    return type(x).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(x, "__dask_graph__")


def _import_dask() -> Any:
    try:
        import dask
        from dask import delayed  # noqa: F401
    except ImportError:
        raise MissingExtraError("dask", "dask") from None
    return dask


class DaskBlocks:
    """Row chunks of a Dask array or dataframe, with log-likelihoods in the same chunks.

    Parameters
    ----------
    x : Dask array or dataframe
        Samples.
    log_lik : Dask array or array of shape (n,), optional
        Stored log-likelihoods.
    name : str, default "x"
        Argument that holds the samples, for messages.
    """

    def __init__(self, x: Any, log_lik: Any = None, name: str = "x") -> None:
        x = as_dask_array(x, name)
        if x.ndim == 1:
            x = x[:, None]
        if x.numblocks[1] > 1:
            x = x.rechunk({1: -1})
        self.shape = tuple(int(size) for size in x.shape)
        samples = x.to_delayed().ravel().tolist()
        logs: list[Any] = [None] * len(samples)
        if log_lik is not None:
            argument = likelihood_argument(name)
            log_lik = (
                as_dask_array(log_lik, argument).reshape(-1)
                if is_dask(log_lik)
                else _chunked_like(x, log_lik, argument)
            )
            check_length(log_lik.shape[0], x.shape[0], argument)
            logs = log_lik.rechunk((x.chunks[0],)).to_delayed().ravel().tolist()
        sizes = [int(rows) for rows in x.chunks[0]]
        starts = [0, *itertools.accumulate(sizes)]
        filled = [i for i, size in enumerate(sizes) if size]  # a filter leaves chunks without rows
        self.starts = [starts[i] for i in filled]
        self._samples, self._log_lik = [samples[i] for i in filled], [logs[i] for i in filled]
        self.start_bar: StartBar | None = None

    def map_reduce(self, task: Task[Out], merge: Callable[[Out, Out], Out], which: list[int] | None = None) -> Out:
        """Apply the task to each block on its worker and merge the results there."""
        visit = _import_dask().delayed(task, pure=False, traverse=False)
        start_bar = self.start_bar if which is None else None
        which = list(range(len(self.starts))) if which is None else which
        tasks = [visit(self.starts[i], self._samples[i], self._log_lik[i]) for i in which]
        return _compute_tree(tasks, merge, start_bar)


class DaskFileBlocks(LocalBlocks):
    """Blocks of a source that every worker can open, such as a file on a shared disk."""

    def __init__(self, source: Source, log_lik: Source | None) -> None:
        super().__init__(source, log_lik, BLOCK_NUMBERS)

    def map_reduce(self, task: Task[Out], merge: Callable[[Out, Out], Out], which: list[int] | None = None) -> Out:
        """Apply the task to each block on the worker that reads it, and merge the results there."""
        visit = _import_dask().delayed(read_and_run, pure=False, traverse=False)
        start_bar = self.start_bar if which is None else None
        which = list(range(len(self.starts))) if which is None else which
        tasks = [visit(task, self.source, self.log_lik, self.starts[i], self.stops[i]) for i in which]
        return _compute_tree(tasks, merge, start_bar)


def as_dask_array(x: Any, name: str) -> Any:
    """Dask array of known chunk sizes; those of a dataframe are counted."""
    _import_dask()
    import dask.array as da

    if isinstance(x, da.Array):
        if x.ndim == 0:
            raise DataError(name, "has 0 dimensions", "pass one row for each sample, shape (n, d)")
        if any(rows != rows for rows in x.chunks[0]):
            x = x.compute_chunk_sizes()
        return x
    if hasattr(type(x), "to_dask_array"):
        return x.to_dask_array(lengths=True)
    raise DataError(
        name, f"{type(x).__name__} is neither a Dask array nor a Dask dataframe", "convert it to a Dask array"
    )


def _chunked_like(x: Any, log_lik: Any, name: str) -> Any:
    """Array in memory as a Dask array with the row chunks of x."""
    import dask.array as da

    values = as_vector(log_lik, name, log_weights="any")
    return da.from_array(values, chunks=(x.chunks[0],) if len(values) == x.shape[0] else -1)


def _compute_tree(tasks: list[Any], merge: Callable[[Out, Out], Out], start_bar: StartBar | None) -> Out:
    """Merge the results of neighbouring tasks until one is left, and compute it."""
    dask = _import_dask()
    advance = start_bar(1) if start_bar else None
    join = dask.delayed(_merge_all, pure=False, traverse=True)
    while len(tasks) > 1:
        tasks = [join(merge, tasks[i : i + FAN_IN]) for i in range(0, len(tasks), FAN_IN)]
    (result,) = dask.compute(tasks[0], optimize_graph=False)
    if advance:
        advance()
    return result  # type: ignore[no-any-return]


def _merge_all(merge: Callable[[Out, Out], Out], results: list[Out]) -> Out:
    return reduce(merge, results)
