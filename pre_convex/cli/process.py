"""Standard streams and signals: closed pipes, full disks, SIGTERM."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO

from .._internal.escaping import for_terminal

__all__ = ["say", "standard_streams", "terminable"]


class Output(io.FileIO):
    """A standard stream that discards what it cannot write, so that a command still writes its files."""

    failure: OSError | None = None

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        """Write; after the first failure, everything goes to the null device."""
        try:
            return super().write(data)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):  # such as `| head`: not a failure
                self.failure = error
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            return len(data)


@contextmanager
def standard_streams() -> Iterator[list[Output]]:
    """Replace stdout and stderr by streams whose failures do not end the command; yields both."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # if a standard stream is closed, the next file opened would get its descriptor, and its text
    os.close(handle)
    before = (sys.stdout, sys.stderr)
    streams = [Output(1, "wb", closefd=False), Output(2, "wb", closefd=False)]
    if sys.stdout is sys.__stdout__:  # not replaced by someone else, such as a test
        sys.stdout = _text(before[0], streams[0])
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(before[1], streams[1])
    try:
        yield streams
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def _text(old: TextIO | None, output: Output) -> TextIO:
    """A text stream like the old one; characters that its encoding lacks become question marks."""
    if old is not None:
        old.flush()
    encoding, lines = ("utf-8", False) if old is None else (old.encoding, old.line_buffering)
    return io.TextIOWrapper(
        io.BufferedWriter(output),
        encoding=encoding,
        errors="replace",
        line_buffering=bool(lines),
        write_through=bool(getattr(old, "write_through", False)),
    )


def say(text: str) -> None:
    """Print a line to stderr, after the name of the command."""
    print(f"pre-convex: {for_terminal(text)}", file=sys.stderr)


@contextmanager
def terminable() -> Iterator[None]:
    """Exit on SIGTERM through exceptions, as on Ctrl-C, so that no partial file is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)  # silently: streams are not reentrant, and the signal may arrive during a write

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
