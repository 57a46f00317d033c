"""Every contender on every case, a process for each solve; rows are stored as they come, and a run can be resumed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from ..errors import DataError, PreConvexError
from ..files import write_text, writing
from ..progress import bar
from ..solvers import find_solver
from .choices import contenders_of, positive, sets_of, tolerances_of
from .differences import differences
from .exchange import checksum, write_case
from .machine import cores, machine
from .metrics import Verdict
from .records import FACTS, ROWS, Key, Row, Run, header, read_run, row_line, write_facts
from .sets import DEFAULT_SETS, TestSet
from .slots import THREADS, Work, perform

__all__ = ["MEMORY_LIMIT", "TIME_LIMIT", "TOLS", "run"]

TOLS = (1e-4, 1e-6, 1e-8)
#: seconds of one solve
TIME_LIMIT = 10.0
#: MB of one solve, beyond those of the loaded case
MEMORY_LIMIT = 4096.0
LIMITS = (Verdict.TIME, Verdict.MEMORY)


@dataclass(frozen=True)
class Group:
    """A case for one contender in one formulation: tolerances are run one after the other, from loose to tight."""

    row: Row
    path: Path
    tols: tuple[float, ...]


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
    """Run the benchmark, or what is missing of it.

    Parameters
    ----------
    sets : sequence of str, Path or TestSet
        Names, folders that hold a set, or sets.
    solvers : sequence of str, optional
        Names, or ``"module:function"``; all that are installed when left out.
    formulations : sequence of str, optional
        Which to run of those a solver has; solvers that have no choice are run anyway.
    tols : sequence of float
        Tolerances. Where a solver runs into a limit, tighter ones are not run and have the same verdict.
    out : Path
        Folder of the run. A run of the same settings that is there is resumed.
    time_limit : float
        Seconds of one solve.
    memory_limit : float
        MB of one solve, beyond those of the loaded case.
    jobs : int, optional
        Solves at the same time: two, or one on a machine of one core.
    show : bool
        Whether to show progress.
    fresh : bool
        Whether to forget the rows that are there.

    Returns
    -------
    Run
        All rows, read back from ``out``.
    """
    if not hasattr(os, "fork"):
        raise PreConvexError("the benchmark needs a system that can fork, such as Linux, macOS or WSL")
    tols = tolerances_of(tols)
    time_limit, memory_limit = positive("time_limit", time_limit), positive("memory_limit", memory_limit)
    jobs = min(2, cores()) if jobs is None else jobs
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise DataError(f"jobs: {jobs!r} is not a positive whole number")
    contenders = contenders_of(solvers, formulations)
    test_sets = sets_of(sets)
    facts = {
        "sets": [_set_facts(test_set) for test_set in test_sets],
        "contenders": [list(pair) for pair in contenders],
        "tolerances": list(tols),
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "jobs": jobs,
        "threads": THREADS,
        **machine(name for name, _ in contenders),
    }
    with ExitStack() as stack:
        start = stack.enter_context(bar()) if show else None
        folder, rows = stack.enter_context(_opened(Path(out), facts, fresh))
        cases = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pre_convex-")))
        groups = _groups(test_sets, contenders, tols, cases)
        del test_sets  # the cases are on disk, and large
        total = len(groups) * len(tols)
        advance = start("solves", total) if start is not None else lambda: None
        done: dict[Key, Row] = {row.key: row for row in rows.kept}
        for _ in done:
            advance()

        def record(row: Row) -> None:
            rows.add(row)
            advance()

        limits = {"time_limit": time_limit, "memory_limit": memory_limit}
        todo = [group for group in groups if any(replace(group.row, tol=tol).key not in done for tol in group.tols)]
        todo.sort(key=lambda group: -group.row.n * group.row.k)  # no slot is left alone with the largest at the end
        cone = sorted({name for name, _ in contenders if ":" not in name and find_solver(name) is not None})
        perform([_work(group, done, limits, record) for group in todo], min(jobs, len(todo)), cases, cone)
    return read_run(folder)


def _work(group: Group, done: Mapping[Key, Row], limits: Mapping[str, float], record: Callable[[Row], None]) -> Work:
    """Rows of a group that are missing; asks for a solve where one is needed."""
    last: Row | None = None
    for tol in group.tols:
        row = replace(group.row, tol=tol)
        if row.key in done:
            last = done[row.key]
            continue
        if last is not None and last.verdict in LIMITS:  # a tighter tolerance takes no less
            note = last.note if last.note.startswith("not run") else f"not run: {last.verdict} at {last.tol:g}"
            row = replace(row, verdict=last.verdict, note=note)
        else:
            task = {"case": str(group.path), "solver": row.solver, "formulation": row.formulation, "tol": tol}
            found = yield {**task, **limits}
            row = replace(row, **{**found, "verdict": Verdict(found["verdict"])})
        record(row)
        last = row


class _Rows:
    """``rows.csv``, to which rows are added one by one."""

    def __init__(self, folder: Path, file: IO[bytes], kept: Sequence[Row]) -> None:
        self.folder, self.file, self.kept = folder, file, kept

    def add(self, row: Row) -> None:
        """Store a row so that no interruption loses it."""
        data = row_line(row).encode()
        with writing("out", self.folder):
            while data:
                data = data[self.file.write(data) :]


@contextmanager
def _opened(folder: Path, facts: Mapping[str, Any], fresh: bool) -> Iterator[tuple[Path, _Rows]]:
    """The folder of a run, held by nobody else, and its rows."""
    import fcntl

    with writing("out", folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is let go whatever ends this process
        except BlockingIOError as error:
            raise DataError(f"out: another run is writing to {folder}; use another --out") from error
        except OSError as error:
            raise DataError(f"out: {folder} cannot be locked ({error.strerror}); use another disk") from error
        kept: Sequence[Row] = ()
        with writing("out", folder):
            if not fresh and ((folder / FACTS).exists() or (folder / ROWS).exists()):
                kept = _kept(folder, facts)
            else:
                (folder / ROWS).unlink(missing_ok=True)
                write_facts(facts, folder)
            _store(folder, kept)  # without a line that was cut off
            file = (folder / ROWS).open("ab", buffering=0)
        with file:
            yield folder, _Rows(folder, file, kept)
        with writing("out", folder):  # in the order of reading, so that two runs differ by their numbers alone
            _store(folder, read_run(folder).rows)
    finally:
        os.close(lock)


def _store(folder: Path, rows: Sequence[Row]) -> None:
    """Write ``rows.csv``, whole or not at all."""
    text = "".join([header(), *map(row_line, rows)])
    write_text(folder / ROWS, text)


def _kept(folder: Path, facts: Mapping[str, Any]) -> tuple[Row, ...]:
    """Rows of the run that is in a folder, if it is the same one."""
    found = read_run(folder)
    differ = differences(found.facts, json.loads(json.dumps(facts)))  # tuples are lists there
    if differ:
        raise DataError(f"out: {folder} has a run of other settings ({differ}); use another --out, or --fresh")
    sets, names = {part["name"]: part["names"] for part in facts["sets"]}, facts["contenders"]
    for row in found.rows:
        known = row.case in sets.get(row.group, ()) and [row.solver, row.formulation] in names
        if not known or row.tol not in facts["tolerances"]:
            words = " ".join([row.group, row.case, row.solver, row.formulation, f"{row.tol:g}"])
            raise DataError(f"out: {folder / ROWS} has a row that is none of this run ({words}); use --fresh")
    return found.rows


def _groups(
    test_sets: Sequence[TestSet], contenders: Sequence[tuple[str, str]], tols: tuple[float, ...], folder: Path
) -> list[Group]:
    """What is to be run, with the cases written to a folder."""
    groups = []
    for i, test_set in enumerate(test_sets):
        for j, case in enumerate(test_set.cases):
            path = write_case(case, folder / f"{i:02d}-{j:04d}.npz")
            n, k = case.problem.n_q, case.problem.k
            for solver, formulation in contenders:
                blank = Row(
                    test_set.name, case.name, n, k, case.truth.value, solver, formulation, tols[0], Verdict.FAILED
                )
                groups.append(Group(blank, path, tols))
    return groups


def _set_facts(test_set: TestSet) -> dict[str, Any]:
    """What ``run.json`` tells of a set."""
    names = [case.name for case in test_set.cases]
    return {
        "name": test_set.name,
        "title": test_set.title,
        "version": test_set.version,
        "checksum": checksum(test_set),
        "cases": len(names),
        "names": names,
    }
