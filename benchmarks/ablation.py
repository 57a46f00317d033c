"""Switch off one special case of the Newton engine at a time, and count the answers that are lost.

Three sources of problems: a slice of the campaign's random problems, the sets of the solver benchmark, and realistic
problems (``realistic.py`` and ``realistic_tables.py``). An answer is proven if its status is OPTIMAL, BOUNDARY with a
gap within the tolerance, or INFEASIBLE. A special case is switched off only on the problems that reach it; on the
others nothing would change.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import numpy as np
from pre_convex_lab.solvers.sets import DEFAULT_SETS, load_set
from random_problems import feasible, infeasible
from realistic import realistic
from realistic_tables import table as table_of_users
from special_cases import SPECIAL_CASES, SpecialCase, off, watch
from storing import markdown_table, quote, store

import pre_convex as pre

TOL = 1e-8
#: the benchmark's larger problems differ from the smaller ones in their size only
MAX_SIZE = 1_000_000
#: solves are timed again, this number of times, before they count as slower
REPEATS = 3
#: slower means more than this factor
SLOWER = 2.0
SOURCES = ("campaign", "benchmark", "realistic")
#: tables as users have them, for each draw of the realistic problems
TABLES = 300

#: other counts that the table shows where they are not zero
MORE = {"other_status": "with another status", "fewer_zeros": "less sparse", "slower": "slower"}


@dataclass(frozen=True)
class Named:
    """A problem, its source and its family."""

    source: str
    family: str
    problem: pre.RatioProblem


@dataclass(frozen=True)
class Outcome:
    """Status of an answer, whether it is proven, and the seconds it took."""

    status: str
    proven: bool
    seconds: float
    zeros: int = 0


@dataclass
class Count:
    """What switching off a special case changed on the problems of one source."""

    problems: int = 0
    reached: int = 0
    lost: int = 0
    other_status: int = 0
    fewer_zeros: int = 0
    slower: int = 0


def problems(every: int, sources: tuple[str, ...] = SOURCES, draws: int = 1) -> Iterator[Named]:
    """All problems: every n-th of the campaign, the benchmark's up to a size, ``draws`` times the realistic ones."""
    if "campaign" in sources:
        for draw, count in ((feasible, 20_000), (infeasible, 5_000)):
            # a step that has no factor in common with the number of kinds, so that all kinds come up
            for number in range(0, count, every + 1 - every % 2):
                drawn = draw(number)
                yield Named("campaign", drawn.kind, drawn.problem)
    if "benchmark" in sources:
        for name in DEFAULT_SETS:
            for case in load_set(name).cases:
                if case.problem.n_q * case.problem.k <= MAX_SIZE:
                    yield Named("benchmark", f"{name}: {case.name}", case.problem)
    if "realistic" in sources:
        for family, problem in realistic(draws):
            yield Named("realistic", family, problem)
        for number in range(draws * TABLES):
            yield Named("realistic", "tables", table_of_users(number))


def fresh(problem: pre.RatioProblem) -> pre.RatioProblem:
    """The problem built again, without anything that a solve may have cached."""
    log_base = None if problem.rows.uniform else problem.log_base
    return pre.RatioProblem(problem.target, problem.features_q, log_base, problem.radius, problem.norm)


def outcome(item: Named) -> Outcome:
    """Solve a problem."""
    problem = fresh(item.problem)
    started = time.perf_counter()
    try:
        solution = pre.solve(problem, check=False, tol=TOL)
    except Exception as error:  # without a special case anything may happen
        return Outcome(type(error).__name__, False, time.perf_counter() - started)
    seconds = time.perf_counter() - started
    status = solution.status
    proven = status in (pre.Status.OPTIMAL, pre.Status.INFEASIBLE)
    proven |= status is pre.Status.BOUNDARY and solution.certificate.proves(TOL)
    return Outcome(status.name, proven, seconds, int(np.count_nonzero(solution.delta == 0.0)))


def is_slower(item: Named, cases: tuple[SpecialCase, ...]) -> bool:
    """Whether the fastest of several solves is slower than the fastest with the special cases."""
    before = min(outcome(item).seconds for _ in range(REPEATS))
    with off(*cases):
        after = min(outcome(item).seconds for _ in range(REPEATS))
    return after > SLOWER * before


def compare(
    named: list[Named],
    baseline: list[tuple[Outcome, set[str]]],
    cases: tuple[SpecialCase, ...],
    lost: list[str] | None = None,
) -> dict[str, Count]:
    """Counts for each source, with the special cases switched off on the problems that reach one of them."""
    names = {case.name for case in cases}
    counts = {source: Count() for source in dict.fromkeys(item.source for item in named)}
    for item, (before, reached) in zip(named, baseline, strict=True):
        count = counts[item.source]
        count.problems += 1
        if not reached & names:
            continue
        with off(*cases):
            after = outcome(item)
        count.reached += 1
        count.lost += before.proven and not after.proven
        count.other_status += before.proven and after.proven and before.status != after.status
        count.fewer_zeros += after.proven and after.zeros < before.zeros
        if after.proven and after.seconds > SLOWER * before.seconds:
            count.slower += is_slower(item, cases)
        if lost is not None and before.proven and (not after.proven or before.status != after.status):
            lost.append(f"{item.source}: {item.family}: {before.status} -> {after.status} {item.problem}")
    return counts


def solve_all(named: list[Named]) -> list[tuple[Outcome, set[str]]]:
    """Outcome of each problem, and the special cases that it reaches."""
    found = []
    for item in named:
        with watch(SPECIAL_CASES) as reached:
            before = outcome(item)
        found.append((before, reached))
    return found


def rows_of(name: str, counts: dict[str, Count]) -> list[dict[str, object]]:
    """Rows of the results file for one special case."""
    return [{"special_case": name, "source": source, **vars(count)} for source, count in counts.items()]


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table of docs/ablation.md: answers lost of problems that reach the special case, and what else changes."""
    body: dict[str, list[str]] = {}
    for row in rows:
        more = [f", {row[name]} {word}" for name, word in MORE.items() if int(str(row[name]))]
        cell = f"{row['lost']} of {row['reached']}{''.join(more)}" if int(str(row["reached"])) else "–"
        body.setdefault(str(row["special_case"]), []).append(cell)
    sources = dict.fromkeys(f"{row['source']} ({row['problems']})" for row in rows)
    return markdown_table(["switched off", *sources], [[name, *cells] for name, cells in body.items()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=20, help="take every n-th problem of the campaign")
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES)
    parser.add_argument("--draws", type=int, default=1, help="multiply the draws of each realistic family by this")
    parser.add_argument("--only", nargs="+", help="parts of the names of special cases")
    parser.add_argument("--show", action="store_true", help="list the answers that are lost or change")
    parser.add_argument("--text", type=Path, help="write the table to this file after every special case")
    parser.add_argument("--store", action="store_true", help="write the results file and the table on the page")
    arguments = parser.parse_args()
    started = time.perf_counter()
    named = list(problems(arguments.every, tuple(arguments.sources), arguments.draws))
    print(f"{len(named)} problems built in {time.perf_counter() - started:.0f} s", flush=True)
    baseline = solve_all(named)
    print(f"solved after {time.perf_counter() - started:.0f} s", flush=True)
    for item, (before, _) in zip(named, baseline, strict=True):
        if not before.proven or before.seconds > 2.0:
            print("check", item, before)
    rows: list[dict[str, object]] = []

    def add(name: str, cases: tuple[SpecialCase, ...]) -> None:
        """Measure, and show the row at once."""
        lost: list[str] = []
        new = rows_of(name, compare(named, baseline, cases, lost))
        rows.extend(new)
        print(f"{time.perf_counter() - started:4.0f} s", *table(new)[2:], flush=True)
        if arguments.show:
            print(*lost, sep="\n", flush=True)
        if arguments.text:
            arguments.text.write_text("\n".join(table(rows)) + "\n", encoding="utf-8")

    for case in SPECIAL_CASES:
        if not arguments.only or any(part in case.name for part in arguments.only):
            add(case.name, (case,))
    print("\n".join(table(rows)))
    if arguments.store:
        path = store("ablation", rows, ("pre_convex", "numpy", "scipy"))
        quote("docs/ablation.md", "ablation", table(rows))
        print(f"written: {path.name} and the table of docs/ablation.md")


if __name__ == "__main__":
    main()
