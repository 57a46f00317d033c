"""A process that is started once, loads all libraries, and forks a child for every solve.

It is given the folder of the cases and the cone solvers to load. It reads a task, a line of JSON, from its input,
watches the child that works on it, ends it when it is over a limit, and writes the outcome as a line of JSON. It ends
when it is told to stop, or with its input: then the runner was killed, and it removes the folder of the cases, so that
nothing is left behind. A program of its own and no module of the caller's: it can be used from notebooks and from
scripts that have no guard against being imported again.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NoReturn

from ..solvers import find_solver
from .attempt import MB, attempt, outcome, resident
from .metrics import Verdict
from .slots import STOP

__all__ = ["main"]

#: seconds between two looks at the child's memory
LOOK = 0.025
#: seconds for what is no work of the contender: reading the case and importing, judging
LOAD, JUDGE = 120.0, 120.0
#: bytes kept of what a child writes to its error stream
TAIL = 4096
#: what runtimes say before they abort for want of memory
NO_MEMORY = ("memory allocation of", "bad_alloc", "out of memory", "cannot allocate memory")
#: what the engines import when they first need it
LIBRARIES, CONE = ("scipy.optimize", "threadpoolctl"), ("pre_convex.solvers.cone",)
#: of prctl, on Linux: the signal that a process gets when its parent dies, and who inherits orphans
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
#: seconds in which killed processes are gone
GONE = 2.0


class StopWorkError(Exception):
    """Nobody waits for the outcome any more."""


@dataclass
class Child:
    """A process at work, as its watcher sees it."""

    pid: int
    messages: int
    errors: int
    time_limit: float
    memory_limit: float
    phase: str = "load"
    since: float = field(default_factory=time.monotonic)
    base: float = 0.0
    most: float = 0.0
    unread: bytes = b""
    tail: bytes = b""
    found: dict[str, Any] | None = None
    reaped: bool = False

    def hear(self) -> bool:
        """Take in what the child says; whether it can say more."""
        data = os.read(self.messages, 1 << 16)
        *lines, self.unread = (self.unread + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "verdict" in message or "fault" in message:
                self.found = message
                continue
            self.phase, self.since = message["phase"], time.monotonic()
            self.base = message.get("memory", self.base)
        return bool(data)

    def keep_errors(self) -> bool:
        """Keep the end of what it complains; whether it can complain more."""
        data = os.read(self.errors, 1 << 16)
        self.tail = (self.tail + data)[-TAIL:]
        return bool(data)

    def over(self) -> dict[str, Any] | None:
        """The outcome of a child that is over a limit."""
        if self.phase not in ("load", "judge"):
            self.most = max(self.most, resident(self.pid) - self.base)
            if self.most > self.memory_limit * MB:
                return outcome(Verdict.MEMORY, note=f"over {self.memory_limit:g} MB")
        limit = {"load": LOAD, "judge": JUDGE}.get(self.phase, self.time_limit)
        if time.monotonic() - self.since <= limit:
            return None
        if self.phase == "judge":  # not the contender's fault, but no proof either
            return outcome(Verdict.FAILED, note="could not be judged in time")
        note = f"over {limit:g} s" + ("" if self.phase == "solve" else f" in {self.phase}")
        return outcome(Verdict.TIME, note=note)

    def death(self, status: int) -> dict[str, Any]:
        """The outcome of a child that ended without one."""
        last = self.tail.decode(errors="replace").strip().rpartition("\n")[2]
        said = f" ({last})" if last else ""
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            return outcome(Verdict.CRASH, note=f"ended with exit code {code}{said}")
        note = f"killed by {_signal_name(-code)}{said}"
        wanted = any(words in last.lower() for words in NO_MEMORY)
        if wanted or self.most > 0.8 * self.memory_limit * MB:
            return outcome(Verdict.MEMORY, note=note)
        return outcome(Verdict.CRASH, note=note)


def main() -> None:
    """Load libraries, say so, and work on tasks until the input ends."""
    tasks, results = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # what libraries print must not come among the outcomes
    runner = os.getppid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is not None and _children() is not None:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    folder, *solvers = sys.argv[1:]
    for module in (*LIBRARIES, *(CONE if solvers else ())):  # here and not in every child
        import_module(module)
    for name in solvers:
        find_solver(name)  # loads the solver's own package
    gc.collect()
    gc.freeze()  # a child's first collection would copy every page
    _write(results, {"ready": os.getpid()})
    lines = os.fdopen(tasks, "rb", closefd=False)
    try:
        while (line := lines.readline()) not in (STOP, b""):
            _write(results, _watched(json.loads(line), tasks, results, runner, libc))
    except StopWorkError:
        line = lines.readline() if os.getppid() == runner else b""
    except BrokenPipeError:
        line = b""
    if line != STOP:
        shutil.rmtree(folder, ignore_errors=True)


def _watched(task: Mapping[str, Any], tasks: int, results: int, runner: int, libc: Any) -> dict[str, Any]:
    """Outcome of a task, worked on by a child."""
    hear, tell = os.pipe()
    errors, complain = os.pipe()
    pid = os.fork()
    if pid == 0:
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for file in (tasks, results, hear, errors):
            os.close(file)
        os.dup2(complain, 2)
        os.close(complain)
        _work(task, tell)
    os.close(tell)
    os.close(complain)
    child = Child(pid, hear, errors, float(task["time_limit"]), float(task["memory_limit"]))
    try:
        return _watch(child, tasks, runner)
    finally:
        _end(child)
        os.close(hear)
        os.close(errors)


def _watch(child: Child, tasks: int, runner: int) -> dict[str, Any]:
    """Wait for the outcome of a child, or for what ends it."""
    open_files = {child.messages: child.hear, child.errors: child.keep_errors}
    while True:
        ready = select.select([tasks, *open_files], [], [], LOOK)[0]
        if tasks in ready or os.getppid() != runner:  # no task comes before the outcome of the last one
            raise StopWorkError
        for file in ready:
            if not open_files[file]():
                del open_files[file]
        if child.found is not None:
            return child.found
        ended, status = os.waitpid(child.pid, os.WNOHANG)
        if ended:
            child.reaped = True
            for file, take in open_files.items():  # what it said last
                while select.select([file], [], [], 0.0)[0] and take():
                    pass
            return child.found or child.death(status)
        limit = child.over()
        if limit is not None:
            return limit
        if child.messages not in open_files:  # it is about to end, or holds on with its pipe closed
            time.sleep(LOOK / 10)


def _end(child: Child) -> None:
    """End a child and the processes it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    if not child.reaped:
        os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
    end = time.monotonic() + GONE
    while (left := _children()) and time.monotonic() < end:  # those that left the group of the child are orphans here
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _children() -> list[int] | None:
    """Processes whose parent this one is; nothing where the system does not tell."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return None


def _work(task: Mapping[str, Any], pipe: int) -> NoReturn:
    """All that a child does."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is a row, not a file
        attempt(task, lambda message: _write(pipe, message))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        with suppress(Exception):
            _write(pipe, outcome(Verdict.FAILED, note=f"{type(error).__name__}: {error}"))
    finally:
        os._exit(code & 0xFF)


def _write(file: int, message: Mapping[str, Any]) -> None:
    """A line of JSON, all of it."""
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(file, data) :]


def _signal_name(number: int) -> str:
    """Name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
