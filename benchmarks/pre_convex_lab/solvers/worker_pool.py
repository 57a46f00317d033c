"""A pool of worker processes that solve at the same time."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from pre_convex.errors import PreConvexError

from .metrics import Verdict

__all__ = ["STOP", "THREADS", "Job", "Worker", "run_jobs"]

#: threads of BLAS and of the solvers
THREADS = 1
THREAD_VARIABLES = (
    *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS"),
)

#: program of a worker; its first argument is sys.path
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from pre_convex_lab.solvers.worker import main; main()"
)

#: the line that tells a worker to stop
STOP = b"stop\n"

#: a sequence of solves: yields tasks, and is sent their outcomes
Job = Generator[dict[str, Any], dict[str, Any], None]


class Worker:
    """A worker process and the job it is busy with."""

    def __init__(self, folder: Path, cone: Sequence[str]) -> None:
        self.arguments = [str(folder), *cone]
        self.job: Job | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process and wait until its libraries are loaded."""
        self.stop()
        path = json.dumps([os.path.abspath(place) for place in sys.path])  # the same modules can be imported there
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, path, *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(THREADS))},
            start_new_session=True,  # Ctrl-C is handled by the runner alone
        )
        if not self.output.readline():
            raise PreConvexError("a worker process of the benchmark cannot start; see its error above")

    @property
    def output(self) -> IO[bytes]:
        """Pipe that outcomes come from."""
        assert self.process is not None
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, line: bytes) -> None:
        """Write a line to the process; if it is dead, reading the outcome will tell."""
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(line)
            self.process.stdin.flush()

    def ask(self, task: Mapping[str, Any]) -> None:
        """Hand over a task."""
        self.send(json.dumps(task).encode() + b"\n")

    def outcome(self) -> dict[str, Any]:
        """Read the outcome of the task; a worker that died is started again."""
        line = self.output.readline()
        if line.endswith(b"\n"):
            outcome: dict[str, Any] = json.loads(line)
            if "fault" in outcome:
                raise PreConvexError(f"the run cannot continue; {outcome['fault']}")
            return outcome
        self.start()
        return {"verdict": Verdict.CRASH.value, "claim": "", "note": "killed its worker process", "numbers": {}}

    def stop(self) -> None:
        """End the process and with it the solve it is busy with."""
        if self.process is None:
            return
        self.send(STOP)
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()
        self.process = None


def run_jobs(jobs: Sequence[Job], count: int, folder: Path, cone: Sequence[str]) -> None:
    """Run all jobs on a number of workers.

    Parameters
    ----------
    jobs : sequence of Job
        Started in this order.
    count : int
        Number of workers.
    folder : Path
        Folder of the cases, which workers remove if the runner is killed.
    cone : sequence of str
        Cone solvers whose packages workers load before the first solve.
    """
    waiting = iter(jobs)
    workers = [Worker(folder, cone) for _ in range(count)]
    with selectors.DefaultSelector() as selector:
        try:
            for worker in workers:
                worker.start()
                _next_task(worker, waiting, selector)
            while selector.get_map():
                for key, _ in selector.select():
                    selector.unregister(key.fileobj)
                    _next_task(key.data, waiting, selector, key.data.outcome())
        finally:
            for worker in workers:
                worker.stop()


def _next_task(
    worker: Worker, waiting: Iterator[Job], selector: selectors.BaseSelector, outcome: dict[str, Any] | None = None
) -> None:
    """Give a worker the next task of its job, or the first of the next job; nothing if no job is left."""
    while True:
        if worker.job is None:
            worker.job = next(waiting, None)
            if worker.job is None:
                return
        try:
            task = next(worker.job) if outcome is None else worker.job.send(outcome)
        except StopIteration:
            worker.job, outcome = None, None
            continue
        worker.ask(task)
        selector.register(worker.output, selectors.EVENT_READ, worker)
        return
