"""What a command shares with the system: streams that may be closed, full or without a reader, and signals."""

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

__all__ = ["say", "standard_streams", "terminable"]


class Output(io.FileIO):
    """A standard stream that forgets what it cannot write, so that the command's files are still written."""

    failure: OSError | None = None

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        """Write; when that fails, this and all that follows goes nowhere."""
        try:
            return super().write(data)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):  # a reader that has seen enough is no failure
                self.failure = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(data)


@contextmanager
def standard_streams() -> Iterator[list[Output]]:
    """Output and errors that never end a command: closed, full, without a reader, or of an alphabet without δ."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # a stream that is closed would give its number to the next file, and its text
    os.close(handle)
    before, made = (sys.stdout, sys.stderr), [Output(1, "wb", closefd=False), Output(2, "wb", closefd=False)]
    if sys.stdout is sys.__stdout__:  # nobody else has put a stream of their own there
        sys.stdout = _text(before[0], made[0])
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(before[1], made[1])
    try:
        yield made
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def _text(old: TextIO | None, output: Output) -> TextIO:
    """A stream of text like the old one; letters that its encoding lacks become question marks."""
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
    """A line of the command's own among the errors."""
    print(f"pre-convex: {text}", file=sys.stderr)


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends the command the way Ctrl-C does, so that no half-written file is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)  # without a word: the signal may have come amid one, and streams refuse to be reentered

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
