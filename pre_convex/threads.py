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
from functools import wraps
from threading import Lock, RLock, local
from typing import Any, TypeVar, cast

__all__ = ["alone", "in_threads", "one_thread_each", "quietly"]

Out = TypeVar("Out")
Work = TypeVar("Work", bound=Callable[..., Any])


class _Team:
    """BLAS held to one thread while any caller is inside, and a pool of as many threads as it had before."""

    def __init__(self) -> None:
        self.lock, self.inside, self.count = Lock(), 0, 1
        self.libraries: list[Any] | None = None
        self.held: list[tuple[Any, int]] = []
        self.pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> ThreadPoolExecutor | None:
        with self.lock:
            if self.inside == 0:
                self._hold()
            self.inside += 1
            return self.pool

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.let_go()

    def __call__(self, work: Work) -> Work:
        """A function that runs inside the team; of its process, if that was forked."""

        @wraps(work)
        def inside(*args: Any, **named: Any) -> Any:
            with _team:
                return work(*args, **named)

        return cast(Work, inside)

    def _hold(self) -> None:
        if self.libraries is None:
            from threadpoolctl import ThreadpoolController

            self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        # a solver may come with a library that knows one thread only
        self.held = [(library, count) for library in self.libraries if (count := library.num_threads) > 1]
        count = max((count for _, count in self.held), default=1)
        if count != self.count:
            self.count, self.pool = count, ThreadPoolExecutor(count) if count > 1 else None
        _allow([(library, 1) for library, _ in self.held])

    def let_go(self) -> None:
        """Every library as it was."""
        _allow(self.held)


def _allow(counts: list[tuple[Any, int]]) -> None:
    """So many threads for each library."""
    # from version 3.8 on threadpoolctl listens to the thread that came first, and to no other; whoever is last
    # to leave speaks here for all, and then gives way to the threads of the user
    one_only = [library for library, _ in counts if hasattr(library, "clear_controlling_thread")]
    listeners = {library.clear_controlling_thread for library in one_only}  # those of a kind share theirs
    for give_way in listeners:
        give_way(force=True)
    for library, count in counts:
        library.set_num_threads(count)
    for give_way in listeners:
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
    if held is not None:
        held.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def one_thread_each() -> _Team:
    """BLAS in one thread, in a ``with`` or as a decorator: for the sizes met here its own wait more than they work."""
    return _team


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
