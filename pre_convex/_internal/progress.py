"""Progress bars, through rich."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ..errors import MissingExtraError

__all__ = ["progress_bars", "track"]

Item = TypeVar("Item")


def track(items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
    """Iterate over items while a progress bar advances."""
    try:
        from rich.progress import track as rich_track
    except ImportError:
        raise MissingExtraError("rich", "cli") from None
    yield from rich_track(items, description=description, total=total)


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int], Callable[[], None]]]:
    """A function ``start(description, total)`` that adds a bar and returns the function that advances it by one."""
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
