"""Solve thousands of random problems; check that every answer is certified and every certificate is true.

Problems that are feasible by construction must all be certified: optimal, or on the boundary of the hull with weights
that reach the target. Infeasible ones must all be reported as infeasible, with a separating direction.
``independent.py`` checks every certificate in extended precision, and one in a hundred in 50 digits as well;
``ball_judge.py`` judges one in ten by ball arithmetic (``pre.verify``). The number of a problem is its seed:
``python benchmarks/campaign.py --only 1234`` (or ``--only-infeasible``) shows one problem.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from ball_judge import verdict
from hard_problems import solved
from independent import Judgement, judge, separates
from random_problems import feasible, infeasible
from storing import markdown_table, quote, store

import pre_convex as pre

#: every hundredth certificate is also checked in 50 digits
DIGITS_EVERY = 100
#: every tenth certificate is also judged by ball arithmetic
BALLS_EVERY = 10


def outcome(number: int, outside: bool) -> dict[str, object]:
    """Draw, solve and judge the problem with this number."""
    drawn = infeasible(number) if outside else feasible(number)
    started = time.perf_counter()
    try:
        solution = pre.solve(drawn.problem, check=False)
        status = solution.status
    except Exception as error:  # a bug; main prints the number of the problem
        return {"number": number, "kind": drawn.kind, "status": type(error).__name__, "good": False, "false": False,
                "excess": -np.inf, "gap": np.nan, "digits": False, "balls": False, "seconds": 0.0}  # fmt: skip
    seconds = time.perf_counter() - started
    digits, balls = number % DIGITS_EVERY == 0, number % BALLS_EVERY == 0
    if status is pre.Status.INFEASIBLE:
        assert solution.hull is not None
        proven = separates(drawn.problem, solution.hull.direction)
        judgement = Judgement(proven, not proven or drawn.feasible)
    else:
        judgement = judge(drawn.problem, solution, digits=digits)
    doubtful = judgement.false and status is not pre.Status.INFEASIBLE
    balls = balls or doubtful  # ball arithmetic decides
    verdicts = [verdict(answer) for answer in solved(drawn.problem, solution)] if balls else []
    refuted = any(found.false or (doubtful and found.undecided) for found in verdicts)
    good = judgement.certified and (status is pre.Status.INFEASIBLE) == outside
    false = (
        (judgement.false and not doubtful)
        or refuted
        or (outside and status in (pre.Status.OPTIMAL, pre.Status.BOUNDARY))
    )
    return {"number": number, "kind": drawn.kind, "status": status.name, "good": good, "false": false,
            "excess": judgement.excess, "gap": judgement.gap, "digits": digits and status is pre.Status.OPTIMAL,
            "balls": balls, "seconds": seconds}  # fmt: skip


def run(count: int, outside: bool, workers: int, first: int = 0, keep: Path | None = None) -> list[dict[str, object]]:
    """Outcomes of ``count`` problems, in the order of their numbers; those in the file ``keep`` are not drawn again."""
    lines = keep.read_text().splitlines() if keep and keep.exists() else []
    known = {row["number"]: row for row in map(json.loads, lines) if row["outside"] == outside}
    numbers = [i for i in range(first, first + count) if i not in known]
    with ProcessPoolExecutor(workers) as pool:
        for row in pool.map(partial(outcome, outside=outside), numbers, chunksize=20):
            known[row["number"]] = row
            if keep:
                with keep.open("a") as file:
                    file.write(json.dumps({**row, "outside": outside}, default=float) + "\n")
    return [known[i] for i in range(first, first + count)]


def summary(outcomes: list[dict[str, object]], outside: bool) -> list[dict[str, object]]:
    """One row for each kind of problem, and one for all."""
    kinds = defaultdict(list)
    for row in outcomes:
        kinds[row["kind"]].append(row)
    kinds["all infeasible" if outside else "all feasible"] = outcomes
    rows = []
    for kind, group in kinds.items():
        gaps = [row["gap"] for row in group if row["good"] and np.isfinite(row["gap"])]
        rows.append({
            "truth": "infeasible" if outside else "feasible",
            "kind": kind,
            "problems": len(group),
            "proven": sum(bool(row["good"]) for row in group),
            "boundary": sum(row["status"] == "BOUNDARY" for row in group),
            "false": sum(bool(row["false"]) for row in group),
            "in_50_digits": sum(bool(row["digits"]) for row in group),
            "in_balls": sum(bool(row["balls"]) for row in group),
            "worst_gap": f"{max(gaps):.1e}" if gaps else "",
            "worst_excess": f"{max([row['excess'] for row in group]):.1e}" if not outside else "",
        })  # fmt: skip
    return rows


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table of docs/robustness.md."""
    body = []
    for row in rows:
        mark = "**" if str(row["kind"]).startswith("all ") else ""
        cells = [row["kind"], f"{int(row['problems']):,}", f"{int(row['proven']):,}", row["false"], row["worst_gap"]]
        body.append([f"{mark}{cell}{mark}" if cell != "" else "" for cell in cells])
    return markdown_table(["kind", "problems", "proven", "false certificates", "largest gap"], body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feasible", type=int, default=20_000, help="number of feasible problems")
    parser.add_argument("--infeasible", type=int, default=5_000, help="number of infeasible problems")
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="file of outcomes, so that a run that was interrupted can go on")
    parser.add_argument("--only", type=int, help="solve and show only this feasible problem")
    parser.add_argument("--only-infeasible", type=int, help="solve and show only this infeasible problem")
    parser.add_argument("--store", action="store_true", help="write the results file and the table on the page")
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
            outcomes = run(count, outside, arguments.workers, arguments.first, arguments.keep)
            for row in outcomes:
                if not row["good"] or row["false"] or row["seconds"] > 5.0:
                    print("check", {**row, "seconds": round(row["seconds"], 2)}, flush=True)
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
