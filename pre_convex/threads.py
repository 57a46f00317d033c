"""Threads over parts of the rows: NumPy lets go of the interpreter's lock in products and exponentials.

The products inside a part then run in one thread each. There are as many threads as BLAS was allowed, so that the
knobs people know hold here too: ``OPENBLAS_NUM_THREADS``, ``OMP_NUM_THREADS``, ``threadpoolctl.threadpool_limits``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock, RLock, local
from typing import Any, TypeVar

__all__ = ["alone", "in_threads", "one_thread_each", "quietly"]

Out = TypeVar("Out")


class _Team:
    """BLAS held to one thread while any caller is inside, and a pool of as many threads as it had before."""

    def __init__(self) -> None:
        self.lock, self.inside, self.count = Lock(), 0, 1
        self.libraries: list[Any] | None = None
        self.before: list[int] = []
        self.pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> ThreadPoolExecutor | None:
        with self.lock:
            if self.libraries is None:
                from threadpoolctl import ThreadpoolController

                self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            if self.inside == 0:
                self.before = [library.num_threads for library in self.libraries]
                count = max(self.before, default=1)  # a solver may come with a library that knows one thread only
                if count != self.count:
                    self.count, self.pool = count, ThreadPoolExecutor(count) if count > 1 else None
                if count > 1:
                    self._allow([1] * len(self.before))
            self.inside += 1
            return self.pool

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.count > 1:
                self._allow(self.before)

    def _allow(self, counts: list[int]) -> None:
        assert self.libraries is not None  # __enter__ found them
        for library, count in zip(self.libraries, counts, strict=True):
            # from version 3.8 on threadpoolctl listens to the thread that came first, and to no other; whoever is last
            # to leave speaks here for all, and then gives way to the threads of the user
            give_way = getattr(library, "clear_controlling_thread", None)
            if give_way is not None:
                give_way(force=True)
            library.set_num_threads(count)
            if give_way is not None:
                give_way()


_team = _Team()
_here = local()
_turn = RLock()


def _start_anew() -> None:
    """A forked process has none of its parent's threads; BLAS is back in one thread if it was held to it."""
    global _team, _turn
    _turn = RLock()
    held = _team if _team.inside else None
    _team = _Team()
    if held is not None and held.count > 1:
        held._allow(held.before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """BLAS in one thread: for the sizes met here its own threads wait for each other more than they work."""
    with _team:
        yield


@contextmanager
def alone() -> Iterator[None]:
    """One thread at a time: cvxpy numbers its variables with a counter that two threads can set back."""
    with _turn:
        yield


@contextmanager
def quietly(kind: type[Warning] = Warning) -> Iterator[None]:
    """Warnings of a kind ignored, one thread at a time: filters are the process's, and are put back in their order."""
    with alone(), warnings.catch_warnings():
        warnings.simplefilter("ignore", kind)
        yield


def in_threads(work: Callable[[Any], Out], items: Sequence[Any]) -> list[Out]:
    """``work`` of every item, in their order; one after the other where a thread of the pool asks for it."""
    if getattr(_here, "working", False):
        return [work(item) for item in items]

    def visit(item: Any) -> Out:
        _here.working = True
        try:
            return work(item)
        finally:
            _here.working = False

    with _team as pool:
        if pool is None or len(items) == 1:
            return [work(item) for item in items]
        return list(pool.map(visit, items))
