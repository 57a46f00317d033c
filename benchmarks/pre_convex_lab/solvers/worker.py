"""A worker process: loads the libraries once, then forks a child for every solve and enforces its limits.

Tasks come as lines of JSON on standard input, outcomes leave as lines of JSON on standard output. The worker ends when
it is told to stop. If its input ends instead, the runner was killed: it then ends the child and everything the child
started, and removes the folder of the cases.

``multiprocessing``'s forkserver with preloaded libraries was measured against this on CPython 3.11. It is as quick (a
child costs 9 ms there, 7 ms here), but it cannot serve:

- every child imports ``__main__`` again, so an unguarded script fails on its first solve;
- after the runner is killed (SIGKILL), the child and what it started go on: 4 of 4 processes were left, here 0;
- there is one server per interpreter, shared with the user's own code, with the thread counts and modules it was
  started with.
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

from pre_convex.solvers import find_solver

from .attempt import MB, attempt, outcome, resident_bytes
from .metrics import Verdict
from .worker_pool import STOP

__all__ = ["main"]

#: seconds between two checks of the child's limits
INTERVAL = 0.025
#: seconds allowed for loading the case and the contender, and for judging the answer
LOAD_LIMIT, JUDGE_LIMIT = 120.0, 120.0
#: bytes kept from the end of a child's error stream
STDERR_TAIL = 4096
#: messages of runtimes that abort when out of memory
OUT_OF_MEMORY = ("memory allocation of", "bad_alloc", "out of memory", "cannot allocate memory")
#: modules that the engines import on first use
LIBRARIES, CONE_LIBRARIES = ("scipy.optimize", "threadpoolctl"), ("pre_convex.solvers.cone",)
#: options of prctl on Linux: signal a child when its parent dies; inherit orphaned descendants
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
#: seconds for killed processes to disappear
KILL_TIMEOUT = 2.0


class CancelledError(Exception):
    """The runner no longer waits for the outcome."""


@dataclass
class Child:
    """The process of one solve: its pipes, its limits, and what it has reported so far."""

    pid: int
    messages: int
    errors: int
    time_limit: float
    memory_limit: float
    phase: str = "load"
    phase_start: float = field(default_factory=time.monotonic)
    base_memory: float = 0.0
    peak_memory: float = 0.0
    unread: bytes = b""
    stderr_tail: bytes = b""
    outcome: dict[str, Any] | None = None
    reaped: bool = False

    def read_messages(self) -> bool:
        """Read reports of the child; whether the pipe is still open."""
        data = os.read(self.messages, 1 << 16)
        *lines, self.unread = (self.unread + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "verdict" in message or "fault" in message:
                self.outcome = message
                continue
            self.phase, self.phase_start = message["phase"], time.monotonic()
            self.base_memory = message.get("memory", self.base_memory)
        return bool(data)

    def read_errors(self) -> bool:
        """Keep the end of the child's error stream; whether the pipe is still open."""
        data = os.read(self.errors, 1 << 16)
        self.stderr_tail = (self.stderr_tail + data)[-STDERR_TAIL:]
        return bool(data)

    def exceeded(self) -> dict[str, Any] | None:
        """The outcome if the child is over a limit."""
        if self.phase not in ("load", "judge"):
            self.peak_memory = max(self.peak_memory, resident_bytes(self.pid) - self.base_memory)
            if self.peak_memory > self.memory_limit * MB:
                return outcome(Verdict.MEMORY, note=f"over {self.memory_limit:g} MB")
        limit = {"load": LOAD_LIMIT, "judge": JUDGE_LIMIT}.get(self.phase, self.time_limit)
        if time.monotonic() - self.phase_start <= limit:
            return None
        if self.phase == "judge":  # not the contender's fault, but no proof either
            return outcome(Verdict.FAILED, note="could not be judged in time")
        note = f"over {limit:g} s" + ("" if self.phase == "solve" else f" in {self.phase}")
        return outcome(Verdict.TIME, note=note)

    def crash(self, status: int) -> dict[str, Any]:
        """The outcome if the child ended without reporting one."""
        last_line = self.stderr_tail.decode(errors="replace").strip().rpartition("\n")[2]
        quoted = f" ({last_line})" if last_line else ""
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            return outcome(Verdict.CRASH, note=f"ended with exit code {code}{quoted}")
        note = f"killed by {_signal_name(-code)}{quoted}"
        out_of_memory = any(words in last_line.lower() for words in OUT_OF_MEMORY)
        if out_of_memory or self.peak_memory > 0.8 * self.memory_limit * MB:
            return outcome(Verdict.MEMORY, note=note)
        return outcome(Verdict.CRASH, note=note)


def main() -> None:
    """Load libraries, report ready, and work on tasks until told to stop."""
    tasks, results = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)  # prints of libraries must not mix with outcomes
    runner = os.getppid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is not None and _children() is not None:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    folder, *solvers = sys.argv[1:]
    for module in (*LIBRARIES, *(CONE_LIBRARIES if solvers else ())):
        import_module(module)
    for name in solvers:
        find_solver(name)  # loads the solver's package
    gc.collect()
    gc.freeze()  # or the first collection of a child would copy every page
    _write(results, {"ready": os.getpid()})
    lines = os.fdopen(tasks, "rb", closefd=False)
    try:
        while (line := lines.readline()) not in (STOP, b""):
            _write(results, _solve_in_child(json.loads(line), tasks, results, runner, libc))
    except CancelledError:
        line = lines.readline() if os.getppid() == runner else b""
    except BrokenPipeError:
        line = b""
    if line != STOP:
        shutil.rmtree(folder, ignore_errors=True)


def _solve_in_child(task: Mapping[str, Any], tasks: int, results: int, runner: int, libc: Any) -> dict[str, Any]:
    """Fork a child for a task and return its outcome."""
    messages, report = os.pipe()
    errors, stderr = os.pipe()
    pid = os.fork()
    if pid == 0:
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for file in (tasks, results, messages, errors):
            os.close(file)
        os.dup2(stderr, 2)
        os.close(stderr)
        _child(task, report)
    os.close(report)
    os.close(stderr)
    child = Child(pid, messages, errors, float(task["time_limit"]), float(task["memory_limit"]))
    try:
        return _watch(child, tasks, runner)
    finally:
        _kill(child)
        os.close(messages)
        os.close(errors)


def _watch(child: Child, tasks: int, runner: int) -> dict[str, Any]:
    """Wait until a child reports an outcome, exceeds a limit or dies."""
    pipes = {child.messages: child.read_messages, child.errors: child.read_errors}
    while True:
        ready = select.select([tasks, *pipes], [], [], INTERVAL)[0]
        if tasks in ready or os.getppid() != runner:  # the runner sends nothing but STOP before it has the outcome
            raise CancelledError
        for file in ready:
            if not pipes[file]():
                del pipes[file]
        if child.outcome is not None:
            return child.outcome
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        if pid:
            child.reaped = True
            for file, read in pipes.items():  # drain the pipes
                while select.select([file], [], [], 0.0)[0] and read():
                    pass
            return child.outcome or child.crash(status)
        exceeded = child.exceeded()
        if exceeded is not None:
            return exceeded
        if child.messages not in pipes:  # about to end, or hanging with its pipe closed
            time.sleep(INTERVAL / 10)


def _kill(child: Child) -> None:
    """Kill a child and all processes it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    if not child.reaped:
        os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
    end = time.monotonic() + KILL_TIMEOUT
    while (orphans := _children()) and time.monotonic() < end:  # those that left the child's process group
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _children() -> list[int] | None:
    """Child processes of this one; ``None`` if the system does not tell."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return None


def _child(task: Mapping[str, Any], pipe: int) -> NoReturn:
    """Everything that a child does."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core dumps
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
    """Write a line of JSON."""
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(file, data) :]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
