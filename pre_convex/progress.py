"""Progress bars, where somebody asked to see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from .errors import MissingExtraError

__all__ = ["bar", "track"]

Item = TypeVar("Item")


def track(items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
    """The same items, with a bar that moves as they come."""
    try:
        from rich.progress import track as rich_track
    except ImportError:
        raise MissingExtraError("rich", "cli") from None
    yield from rich_track(items, description=description, total=total)


@contextmanager
def bar() -> Iterator[Callable[[str, int], Callable[[], None]]]:
    """A function that starts a bar, given its description and length, and returns what moves it on by one."""
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        raise MissingExtraError("rich", "cli") from None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:

        def start(description: str, total: int) -> Callable[[], None]:
            task = progress.add_task(description, total=total)
            return lambda: progress.advance(task)

        yield start
