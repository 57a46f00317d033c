"""Thousands of random problems, and whether every answer is proven and every proof is true.

Feasible problems, by construction, must all be certified: optimal, or on the boundary of the hull with weights that
reach the target. Infeasible ones must all be named so, with a direction that separates. Every certificate is judged
by ``independent.py`` in extended precision, one in a hundred in 50 digits as well. A problem is made from its number:
``python benchmarks/campaign.py --only 1234`` (and ``--infeasible``) shows a single one.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from independent import Judgement, judge, separates
from random_problems import feasible, infeasible
from storing import quote, store

import pre_convex as pre

#: one certificate in so many is judged in 50 digits
DIGITS = 100


def outcome(number: int, outside: bool) -> dict[str, object]:
    """What became of the problem of this number."""
    drawn = infeasible(number) if outside else feasible(number)
    started = time.perf_counter()
    try:
        solution = pre.solve(drawn.problem, check=False)
        status = solution.status
    except Exception as error:  # a bug, and its number is printed
        return {"number": number, "kind": drawn.kind, "status": type(error).__name__, "good": False, "false": False,
                "excess": -np.inf, "gap": np.nan, "digits": False, "seconds": 0.0}  # fmt: skip
    seconds = time.perf_counter() - started
    digits = number % DIGITS == 0
    if status is pre.Status.INFEASIBLE:
        assert solution.hull is not None
        proven = separates(drawn.problem, solution.hull.direction)
        found = Judgement(proven, not proven or drawn.feasible)
    else:
        found = judge(drawn.problem, solution, digits=digits)
    good = found.certified and (status is pre.Status.INFEASIBLE) == outside
    false = found.false or (outside and status in (pre.Status.OPTIMAL, pre.Status.BOUNDARY))
    return {"number": number, "kind": drawn.kind, "status": status.name, "good": good, "false": false,
            "excess": found.excess, "gap": found.gap, "digits": digits and status is pre.Status.OPTIMAL,
            "seconds": seconds}  # fmt: skip


def run(count: int, outside: bool, workers: int, first: int = 0) -> list[dict[str, object]]:
    """Outcomes of so many problems, in the order of their numbers."""
    numbers = range(first, first + count)
    if workers == 1:
        return [outcome(i, outside) for i in numbers]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(partial(outcome, outside=outside), numbers, chunksize=20))


def summary(outcomes: list[dict[str, object]], outside: bool) -> list[dict[str, object]]:
    """One row for each kind, and one for all."""
    kinds = defaultdict(list)
    for row in outcomes:
        kinds[row["kind"]].append(row)
    kinds["all infeasible" if outside else "all feasible"] = outcomes
    rows = []
    for kind, some in kinds.items():
        gaps = [row["gap"] for row in some if row["good"] and np.isfinite(row["gap"])]
        rows.append({
            "truth": "infeasible" if outside else "feasible",
            "kind": kind,
            "problems": len(some),
            "proven": sum(bool(row["good"]) for row in some),
            "boundary": sum(row["status"] == "BOUNDARY" for row in some),
            "false": sum(bool(row["false"]) for row in some),
            "in_50_digits": sum(bool(row["digits"]) for row in some),
            "worst_gap": f"{max(gaps):.1e}" if gaps else "",
            "worst_excess": f"{max([row['excess'] for row in some]):.1e}" if not outside else "",
        })  # fmt: skip
    return rows


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table of docs/robustness.md."""
    lines = ["| kind | problems | proven | false certificates | largest gap |", "|---|---|---|---|---|"]
    for row in rows:
        mark = "**" if str(row["kind"]).startswith("all ") else ""
        cells = [row["kind"], f"{int(row['problems']):,}", f"{int(row['proven']):,}", row["false"], row["worst_gap"]]
        lines.append("| " + " | ".join(f"{mark}{cell}{mark}" if cell != "" else "" for cell in cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feasible", type=int, default=20_000, help="how many feasible problems")
    parser.add_argument("--infeasible", type=int, default=5_000, help="how many infeasible problems")
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", type=int, help="number of a single feasible problem to look at")
    parser.add_argument("--only-infeasible", type=int, help="number of a single infeasible problem to look at")
    parser.add_argument("--store", action="store_true", help="write the results file and the table that quotes it")
    arguments = parser.parse_args()
    for number, outside in ((arguments.only, False), (arguments.only_infeasible, True)):
        if number is not None:
            drawn = infeasible(number) if outside else feasible(number)
            print(drawn)
            print(pre.solve(drawn.problem, check=False))
            print(outcome(number, outside))
            return
    rows: list[dict[str, object]] = []
    for count, outside in ((arguments.feasible, False), (arguments.infeasible, True)):
        if count:
            outcomes = run(count, outside, arguments.workers, arguments.first)
            for row in outcomes:
                if not row["good"] or row["false"] or row["seconds"] > 5.0:
                    print("look at", {**row, "seconds": round(row["seconds"], 2)}, flush=True)
            rows += summary(outcomes, outside)
            print(f"{sum(row['seconds'] for row in outcomes):.0f} s of solves, longest "
                  f"{max(row['seconds'] for row in outcomes):.1f} s")  # fmt: skip
    print("\n".join(table(rows)))
    if arguments.store:
        path = store("campaign", rows, ("pre_convex", "numpy", "scipy"))
        quote("docs/robustness.md", "campaign", table(rows))
        print(f"written: {path.name} and the table of docs/robustness.md")


if __name__ == "__main__":
    main()
