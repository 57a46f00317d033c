"""Judge every certificate of thousands of hard problems by ball arithmetic: ``make rigour``.

The problems are those of ``hard_problems.py``; ``ball_judge.py`` judges every certificate with a finite gap, whatever
the status. The number of a problem is its seed: ``python benchmarks/rigour.py --only 1234`` shows one.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from ball_judge import verdict
from hard_problems import KINDS, WAYS, draw
from storing import markdown_table, quote, store

import pre_convex as pre

COUNTS = ("false", "to_last_digit", "undecided", "wrong_weights")
COLUMNS = ("answers", "proven", "boundary", "infeasible", "unproven", *COUNTS, "errors")


def outcome(number: int) -> dict[str, object]:
    """Counts of one problem, and what is to be looked at."""
    drawn, counts, notes = draw(number), Counter(), []
    found: dict[str, object] = {"number": number, "kind": drawn.kind, "way": drawn.way}
    started = time.perf_counter()
    try:
        answers = drawn.answers()
    except Exception as error:  # a bug, whatever it is
        answers = []
        counts["errors"] += 1
        notes.append(f"{type(error).__name__}: {error}")
    found["seconds"] = time.perf_counter() - started
    worst = 0.0
    for answer in answers:
        judged = verdict(answer)
        proven = answer.certificate.proves(1e-8)
        counts["answers"] += 1
        named = answer.status in ("BOUNDARY", "INFEASIBLE")
        counts[answer.status.lower() if named else "proven" if proven else "unproven"] += 1
        for name in COUNTS:
            counts[name] += getattr(judged, name)
        if proven:
            worst = max(worst, judged.ratio)
        if judged.false or judged.wrong_weights or judged.undecided:
            what = "FALSE" if judged.false else "undecided" if judged.undecided else "wrong weights"
            size = (
                f"n {answer.problem.n_q} k {answer.problem.k} R {answer.problem.radius:.1e} norm {answer.problem.norm}"
            )
            notes.append(f"{what} {answer.status} reported {judged.reported:.2e} true {judged.least:.2e} {size}")
    return {**found, "counts": counts, "notes": notes, "worst": worst, "judging": time.perf_counter() - started}


def run(first: int, count: int, workers: int) -> list[dict[str, object]]:
    """Outcomes of ``count`` problems, in the order of their numbers."""
    numbers = range(first, first + count)
    if workers == 1:
        return [outcome(i) for i in numbers]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(outcome, numbers, chunksize=25))


def summary(outcomes: list[dict[str, object]]) -> list[dict[str, object]]:
    """One row for each kind of problem and each way to an answer, and one for all."""
    groups: dict[str, list[dict[str, object]]] = defaultdict(list)
    for name in (*KINDS, *WAYS):
        groups[name] = [row for row in outcomes if name in (row["kind"], row["way"])]
    groups["all"] = outcomes
    rows = []
    for name, group in groups.items():
        total: Counter[str] = sum((row["counts"] for row in group), Counter())
        worst = max((row["worst"] for row in group), default=0.0)
        counts = {column: total[column] for column in COLUMNS}
        rows.append({"group": name, "problems": len(group), **counts, "worst_ratio": f"{worst:.1e}"})
    return rows


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table that is printed."""
    head = ["", "problems", *(column.replace("_", " ") for column in COLUMNS), "true / reported gap"]
    keys = ("group", "problems", *COLUMNS, "worst_ratio")
    return markdown_table(head, [[row[key] for key in keys] for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="number of problems")
    parser.add_argument("--first", type=int, default=1_000_000, help="number of the first problem")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--notes", type=int, default=40, help="how many false certificates and errors to show")
    parser.add_argument("--only", type=int, help="solve and judge only this problem")
    parser.add_argument("--store", action="store_true", help="write the results file and the table on the page")
    arguments = parser.parse_args()
    if arguments.only is not None:
        drawn = draw(arguments.only)
        print(drawn.kind, drawn.way, drawn.problem)
        for answer in drawn.answers():
            print(answer.status, answer.certificate)
            if np.all(np.isfinite(answer.delta)):
                print(" ", pre.verify(answer.problem, answer.solution or answer.delta))
            print(" ", verdict(answer))
        return
    outcomes = run(arguments.first, arguments.count, arguments.workers)
    noted = [(row["number"], row["kind"], row["way"], note) for row in outcomes for note in row["notes"]]
    for note in noted[: arguments.notes]:
        print("check", *note)
    print(f"{sum(row['seconds'] for row in outcomes):.0f} s of solves, "
          f"{sum(row['judging'] for row in outcomes):.0f} s with judging")  # fmt: skip
    rows = summary(outcomes)
    print("\n".join(table(rows)))
    if arguments.store:
        path = store("rigour", rows, ("pre_convex", "numpy", "scipy", "python-flint"))
        quote("docs/robustness.md", "rigour", table(rows))
        print(f"written: {path.name} and the table of docs/robustness.md")


if __name__ == "__main__":
    main()
