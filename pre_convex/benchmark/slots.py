"""Slots, each with a nursery of its own, that work on many things at the same time."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ..errors import PreConvexError
from .metrics import Verdict

__all__ = ["STOP", "THREADS", "Work", "perform"]

#: threads of BLAS and of the solvers
THREADS = 1
KNOBS = (
    *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS"),
)

#: program of a nursery, whose first argument is the path of modules
NURSERY = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from pre_convex.benchmark.nursery import main; main()"
)

#: the line after which a nursery is given no task
STOP = b"stop\n"

#: asks for the outcome of a task, and is sent it
Work = Generator[dict[str, Any], dict[str, Any], None]


class Slot:
    """A nursery and the work that it is busy with."""

    def __init__(self, folder: Path, cone: Sequence[str]) -> None:
        self.arguments = [str(folder), *cone]
        self.work: Work | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the nursery and wait until it is ready."""
        self.stop()
        threads = dict.fromkeys(KNOBS, str(THREADS))
        # what can be imported here can be imported there, whatever the folders are called
        path = json.dumps([os.path.abspath(place) for place in sys.path])
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", NURSERY, path, *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **threads},
            start_new_session=True,  # Ctrl-C is for the runner
        )
        if not self.output.readline():
            raise PreConvexError("a process of the benchmark cannot start; what it says is above")

    @property
    def output(self) -> IO[bytes]:
        """Where outcomes come from."""
        assert self.process is not None  # it has been started
        assert self.process.stdout is not None  # it is a pipe
        return self.process.stdout

    def ask(self, task: Mapping[str, Any]) -> None:
        """Hand over a task; a nursery that is gone is noticed when the outcome is read."""
        assert self.process is not None  # it has been started
        assert self.process.stdin is not None  # it is a pipe
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()

    def outcome(self) -> dict[str, Any]:
        """What became of the task; the nursery is started again if it died of it."""
        line = self.output.readline()
        if line.endswith(b"\n"):
            found: dict[str, Any] = json.loads(line)
            if "fault" in found:
                raise PreConvexError(f"the run cannot go on; {found['fault']}")
            return found
        self.start()
        return {"verdict": Verdict.CRASH.value, "claim": "", "note": "its watcher died with it", "numbers": {}}

    def stop(self) -> None:
        """End the nursery, whose children die with it."""
        if self.process is None:
            return
        assert self.process.stdin is not None  # it is a pipe
        with suppress(BrokenPipeError):
            self.process.stdin.write(STOP)
            self.process.stdin.flush()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.output.close()
        self.process = None


def perform(work: Sequence[Work], jobs: int, folder: Path, cone: Sequence[str]) -> None:
    """Carry on all work on the cases of a folder, each piece in one of several slots."""
    waiting = iter(work)
    slots = [Slot(folder, cone) for _ in range(jobs)]
    with selectors.DefaultSelector() as selector:
        try:
            for slot in slots:
                slot.start()
                _next(slot, waiting, selector)
            while selector.get_map():
                for key, _ in selector.select():
                    slot = key.data
                    selector.unregister(key.fileobj)
                    found = slot.outcome()
                    _next(slot, waiting, selector, found)
        finally:
            for slot in slots:
                slot.stop()


def _next(
    slot: Slot, waiting: Iterator[Work], selector: selectors.BaseSelector, found: dict[str, Any] | None = None
) -> None:
    """Hand a slot its next task, of the work it has begun or of the next one; nothing when all is given out."""
    while True:
        if slot.work is None:
            slot.work = next(waiting, None)
            if slot.work is None:
                return
        try:
            task = next(slot.work) if found is None else slot.work.send(found)
        except StopIteration:
            slot.work, found = None, None
            continue
        slot.ask(task)
        selector.register(slot.output, selectors.EVENT_READ, slot)
        return
