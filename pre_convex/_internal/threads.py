"""Threads over blocks of rows: NumPy releases the interpreter's lock in products and exponentials.

Inside a block BLAS runs in one thread. Unless :func:`blocking` says otherwise, there are as many threads as BLAS was
allowed, so that the usual settings work: ``OPENBLAS_NUM_THREADS``, ``OMP_NUM_THREADS``,
``threadpoolctl.threadpool_limits``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from threading import Lock, RLock, local
from typing import Any, TypeVar, cast

__all__ = ["block_size_or", "blocking", "cvxpy_lock", "map_threads", "single_threaded_blas", "warnings_ignored"]

Out = TypeVar("Out")
Function = TypeVar("Function", bound=Callable[..., Any])


class _BlasLimit:
    """Limits BLAS to one thread while any caller is inside, and owns a pool of as many threads as BLAS had before."""

    def __init__(self) -> None:
        self.lock, self.callers, self.count = Lock(), 0, 1
        self.libraries: list[Any] | None = None
        self.limited: list[tuple[Any, int]] = []
        self.pool: ThreadPoolExecutor | None = None
        self.pools: dict[int, ThreadPoolExecutor] = {}

    def pool_of(self, threads: int) -> ThreadPoolExecutor | None:
        """Pool of a given number of threads; ``None`` for one."""
        with self.lock:
            if threads > 1 and threads not in self.pools:
                self.pools[threads] = ThreadPoolExecutor(threads)
            return self.pools.get(threads)

    def __enter__(self) -> ThreadPoolExecutor | None:
        with self.lock:
            if self.callers == 0:
                self._limit()
            self.callers += 1
            return self.pool

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.callers -= 1
            if self.callers == 0:
                self.restore()

    def __call__(self, function: Function) -> Function:
        """Decorator form; uses the limit of the current process, which may have been forked."""

        @wraps(function)
        def limited(*args: Any, **named: Any) -> Any:
            with _blas_limit:
                return function(*args, **named)

        return cast(Function, limited)

    def _limit(self) -> None:
        if self.libraries is None:
            from threadpoolctl import ThreadpoolController

            self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        # a library bundled with a solver may have one thread only
        self.limited = [(library, count) for library in self.libraries if (count := library.num_threads) > 1]
        count = max((count for _, count in self.limited), default=1)
        if count != self.count:
            self.count, self.pool = count, ThreadPoolExecutor(count) if count > 1 else None
        _set_threads([(library, 1) for library, _ in self.limited])

    def restore(self) -> None:
        """Give every library its number of threads back."""
        _set_threads(self.limited)


def _set_threads(counts: list[tuple[Any, int]]) -> None:
    """Set the number of threads of each library."""
    # since version 3.8 threadpoolctl accepts changes only from the thread that made the first one; the last caller to
    # leave may be another, so control is taken by force and then released for the user's own threads
    controlled = [library for library, _ in counts if hasattr(library, "clear_controlling_thread")]
    release = {library.clear_controlling_thread for library in controlled}  # libraries of a kind share theirs
    for clear in release:
        clear(force=True)
    for library, count in counts:
        library.set_num_threads(count)
    for clear in release:
        clear()


_blas_limit = _BlasLimit()
_thread = local()
_cvxpy = RLock()
#: number of threads and size of a block that the caller asked for
_blocking: ContextVar[tuple[int | None, int | None]] = ContextVar("_blocking", default=(None, None))


def _reset_after_fork() -> None:
    """Replace locks and pool, since threads do not survive a fork, and lift the limit if the parent had set it."""
    global _blas_limit, _cvxpy
    _cvxpy = RLock()
    parent = _blas_limit if _blas_limit.callers else None
    _blas_limit = _BlasLimit()
    if parent is not None:
        parent.restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def single_threaded_blas() -> _BlasLimit:
    """Context manager and decorator: BLAS in one thread, because its own threads wait more than they work here."""
    return _blas_limit


def blocking(threads: int | None, block_size: int | None) -> AbstractContextManager[None]:
    """Use this number of threads and blocks of this size meanwhile; ``None`` for the defaults."""
    return nullcontext() if threads is None and block_size is None else _blocking_set(threads, block_size)


@contextmanager
def _blocking_set(threads: int | None, block_size: int | None) -> Iterator[None]:
    token = _blocking.set((threads, block_size))
    try:
        yield
    finally:
        _blocking.reset(token)


def block_size_or(default: int) -> int:
    """The size of a block that the caller asked for, or the default."""
    return _blocking.get()[1] or default


@contextmanager
def cvxpy_lock() -> Iterator[None]:
    """One thread at a time: cvxpy numbers its variables with a counter that is not thread-safe."""
    with _cvxpy:
        yield


@contextmanager
def warnings_ignored(category: type[Warning] = Warning) -> Iterator[None]:
    """Ignore warnings, one thread at a time, because filters belong to the process."""
    with cvxpy_lock(), warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield


def map_threads(function: Callable[[Any], Out], items: Sequence[Any]) -> list[Out]:
    """``[function(item) for item in items]`` in the thread pool; sequentially if called from within the pool."""
    if getattr(_thread, "in_pool", False):
        return [function(item) for item in items]

    def run(item: Any) -> Out:
        _thread.in_pool = True
        try:
            return function(item)
        finally:
            _thread.in_pool = False

    threads = _blocking.get()[0]
    with _blas_limit as pool:
        if threads is not None:
            pool = _blas_limit.pool_of(threads)
        if pool is None or len(items) == 1:
            return [function(item) for item in items]
        return list(pool.map(run, items))
