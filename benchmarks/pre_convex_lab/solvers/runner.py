"""Run every contender on every case, one process per solve; rows are stored as they come, and a run can be resumed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pre_convex._internal.progress import progress_bars
from pre_convex.data.files import report_write_errors
from pre_convex.errors import DataError, PreConvexError
from pre_convex.solvers import find_solver

from .case_files import write_case
from .contenders import contenders_of
from .metrics import Verdict
from .records import FACTS, RERUN, ROWS, Key, Row, RowFile, Run, lock_folder, open_run, read_run
from .sets import DEFAULT_SETS, TestSet
from .settings import available_cores, check_positive, differences, environment, find_sets, set_record, sort_tolerances
from .worker_pool import THREADS, Job, run_jobs

__all__ = ["MEMORY_LIMIT", "TIME_LIMIT", "TOLS", "run"]

TOLS = (1e-4, 1e-6, 1e-8)
#: seconds for one solve
TIME_LIMIT = 10.0
#: MB for one solve, beyond the loaded case
MEMORY_LIMIT = 4096.0
LIMITS = (Verdict.TIME, Verdict.MEMORY)


def run(
    sets: Sequence[str | Path | TestSet] = DEFAULT_SETS,
    solvers: Sequence[str] | None = None,
    formulations: Sequence[str] | None = None,
    tols: Sequence[float] = TOLS,
    *,
    out: Path | str,
    time_limit: float = TIME_LIMIT,
    memory_limit: float = MEMORY_LIMIT,
    jobs: int | None = None,
    show: bool = False,
    fresh: bool = False,
) -> Run:
    """Run the benchmark, or the part of it that is missing in ``out``.

    Parameters
    ----------
    sets : sequence of str, Path or TestSet, default DEFAULT_SETS
        Names of sets, folders of sets, or sets.
    solvers : sequence of str, optional
        Names of solvers, or ``"module:function"``; all installed solvers by default.
    formulations : sequence of str, optional
        ``"primal"``, ``"dual"``; all by default. A solver with only one formulation is run anyway.
    tols : sequence of float, default (1e-4, 1e-6, 1e-8)
        Tolerances, between 0 and 1. After a solve hits a limit, tighter ones are not run and get the same verdict.
    out : str or Path
        Folder of the run. A run in it with the same settings is resumed.
    time_limit : float, default 10
        Seconds for one solve.
    memory_limit : float, default 4096
        MB for one solve, beyond the loaded case.
    jobs : int, optional
        Solves at the same time; two by default, one on a single core.
    show : bool, default False
        Show a progress bar.
    fresh : bool, default False
        Discard the rows in ``out``.

    Returns
    -------
    Run
        All rows, read back from ``out``.
    """
    if not hasattr(os, "fork"):
        raise PreConvexError("the benchmark needs os.fork; use Linux, macOS or WSL")
    tols = sort_tolerances(tols)
    limits = {
        "time_limit": check_positive("time_limit", time_limit),
        "memory_limit": check_positive("memory_limit", memory_limit),
    }
    jobs = min(2, available_cores()) if jobs is None else jobs
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise DataError("jobs", f"{jobs!r} is not a positive integer", "pass at least 1")
    contenders = contenders_of(solvers, formulations)
    test_sets = find_sets(sets)
    facts = {
        "sets": [set_record(test_set) for test_set in test_sets],
        "contenders": [list(pair) for pair in contenders],
        "tolerances": list(tols),
        **limits,
        "jobs": jobs,
        "threads": THREADS,
        **environment(name for name, _ in contenders),
    }
    folder = Path(out)
    with ExitStack() as stack:
        start_bar = stack.enter_context(progress_bars()) if show else None
        stack.enter_context(lock_folder(folder))
        rows = stack.enter_context(open_run(folder, facts, None if fresh else _stored_rows(folder, facts)))
        case_folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pre_convex-")))
        tasks = _write_tasks(test_sets, contenders, tols, case_folder)
        del test_sets  # the cases are on disk now, and large
        advance = start_bar("solves", len(tasks) * len(tols)) if start_bar is not None else lambda: None
        _run_missing(tasks, rows, limits, jobs, case_folder, advance)
    return read_run(folder)


@dataclass(frozen=True)
class Task:
    """One case for one contender in one formulation, at tolerances from loose to tight."""

    row: Row
    path: Path
    tols: tuple[float, ...]


def _write_tasks(
    test_sets: Sequence[TestSet], contenders: Sequence[tuple[str, str]], tols: tuple[float, ...], folder: Path
) -> list[Task]:
    """Write all cases to a folder, and list what is to be run on them."""
    tasks = []
    for i, test_set in enumerate(test_sets):
        for j, case in enumerate(test_set.cases):
            path = write_case(case, folder / f"{i:02d}-{j:04d}.npz")
            start = (test_set.name, case.name, case.problem.n_q, case.problem.k, case.truth.value)
            for solver, formulation in contenders:
                tasks.append(Task(Row(*start, solver, formulation, tols[0], Verdict.FAILED), path, tols))
    return tasks


def _run_missing(
    tasks: Sequence[Task],
    rows: RowFile,
    limits: Mapping[str, float],
    workers: int,
    folder: Path,
    advance: Callable[[], None],
) -> None:
    """Run what ``rows`` does not have, and call ``advance`` once for every row, stored or new."""
    done: dict[Key, Row] = {row.key: row for row in rows.stored}
    for _ in done:
        advance()

    def record(row: Row) -> None:
        rows.append(row)
        advance()

    todo = [task for task in tasks if any(replace(task.row, tol=tol).key not in done for tol in task.tols)]
    todo.sort(key=lambda task: -task.row.n * task.row.k)  # largest first, so that no worker waits at the end
    names = {task.row.solver for task in todo}
    cone = sorted(name for name in names if ":" not in name and find_solver(name) is not None)
    run_jobs([_job(task, done, limits, record) for task in todo], min(workers, len(todo)), folder, cone)


def _job(task: Task, done: Mapping[Key, Row], limits: Mapping[str, float], record: Callable[[Row], None]) -> Job:
    """Record the missing rows of a task; yields what a worker is to solve, and is sent the outcome."""
    last: Row | None = None
    for tol in task.tols:
        row = replace(task.row, tol=tol)
        if row.key in done:
            last = done[row.key]
            continue
        if last is not None and last.verdict in LIMITS:  # a tighter tolerance takes no less
            note = last.note if last.note.startswith("not run") else f"not run: {last.verdict} at {last.tol:g}"
            row = replace(row, verdict=last.verdict, note=note)
        else:
            solve = {"case": str(task.path), "solver": row.solver, "formulation": row.formulation, "tol": tol}
            outcome = yield {**solve, **limits}
            row = replace(row, **{**outcome, "verdict": Verdict(outcome["verdict"])})
        record(row)
        last = row


def _stored_rows(folder: Path, facts: Mapping[str, Any]) -> tuple[Row, ...] | None:
    """Rows of the run in a folder, which must have the same settings; ``None`` if there is no run."""
    with report_write_errors("out", folder):
        if not ((folder / FACTS).exists() or (folder / ROWS).exists()):
            return None
        stored = read_run(folder)
    changes = differences(stored.facts, json.loads(json.dumps(facts)))  # JSON turns tuples into lists
    if changes:
        reason = f"{folder} has a run with different settings ({changes})"
        raise DataError("out", reason, "use another folder, or fresh=True (--fresh) to discard that run")
    cases, contenders = {part["name"]: part["names"] for part in facts["sets"]}, facts["contenders"]
    for row in stored.rows:
        known = row.case in cases.get(row.test_set, ()) and [row.solver, row.formulation] in contenders
        if not known or row.tol not in facts["tolerances"]:
            label = " ".join([row.test_set, row.case, row.solver, row.formulation, f"{row.tol:g}"])
            raise DataError("out", f"{folder / ROWS} has a row that does not belong to this run ({label})", RERUN)
    return stored.rows
