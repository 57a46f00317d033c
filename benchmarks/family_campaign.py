"""Solve thousands of random problems of the convex family; check that every answer is proven and every proof true.

Divergences, bounds on the ratio (one for all rows, one for each, the largest weight), one radius or one for each
feature. Problems that are feasible by construction have to be certified as optimal, infeasible ones reported as
infeasible with a direction that separates. ``family_judge.py`` judges every finite gap, also of answers that are not
certified, by further minimisation and ball arithmetic. A target may be exactly on the edge of what weights within the
bounds reach; there the solution has to say so, and its weights have to match. The number of a problem is its seed:
``python benchmarks/family_campaign.py --only 1234`` (or ``--only-infeasible``) shows one problem.
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
from family_judge import judge, separates, wrong_weights
from family_problems import feasible, infeasible
from storing import markdown_table, quote, store

import pre_convex as pre

#: residual of weights on the edge of what can be reached, relative to the features' ranges
RESIDUAL = 1e-10


def outcome(number: int, outside: bool) -> dict[str, object]:
    """Draw, solve and judge the problem with this number."""
    drawn = infeasible(number) if outside else feasible(number)
    problem, started = drawn.problem, time.perf_counter()
    row = {"number": number, "kind": drawn.kind, "good": False, "false": False, "edge": False}
    row |= {"gap": np.nan, "excess": -np.inf}
    try:
        solution = pre.solve(problem, check=False)
    except Exception as error:  # a bug; main prints the number of the problem
        return row | {"status": f"{type(error).__name__}: {error}"[:80], "seconds": 0.0, "note": ""}
    row |= {"status": solution.status.name, "seconds": time.perf_counter() - started, "note": ""}
    if solution.status is pre.Status.INFEASIBLE:
        hull = solution.hull
        directions = [solution.delta] if hull is None else [hull.direction, solution.delta, hull.proof]
        proven = any(np.all(np.isfinite(v)) and np.any(v) and separates(problem, v) for v in directions)
        return row | {"good": proven and outside, "false": not outside, "note": "" if proven else "no direction"}
    judgement = judge(problem, solution)
    optimal = solution.status is pre.Status.OPTIMAL
    hull, note = solution.hull, wrong_weights(problem, solution.mu) if optimal else ""
    on_edge = not optimal and hull is not None and hull.position is pre.Position.BOUNDARY
    edge = on_edge and not wrong_weights(problem, solution.mu, RESIDUAL)
    return row | {
        "good": optimal and judgement.certified and not note and not outside,
        "false": judgement.false or bool(note) or (outside and optimal),
        "gap": judgement.gap, "excess": judgement.excess, "note": note, "edge": edge,
    }  # fmt: skip


def run(count: int, outside: bool, workers: int, first: int = 0) -> list[dict[str, object]]:
    """Outcomes of ``count`` problems, in the order of their numbers."""
    numbers = range(first, first + count)
    if workers == 1:
        return [outcome(i, outside) for i in numbers]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(partial(outcome, outside=outside), numbers, chunksize=20))


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
            "edge": sum(bool(row["edge"]) for row in group),
            "false": sum(bool(row["false"]) for row in group),
            "worst_gap": f"{max(gaps):.1e}" if gaps else "",
            "worst_excess": f"{max([row['excess'] for row in group]):.1e}" if not outside else "",
        })  # fmt: skip
    return rows


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table of docs/robustness.md."""
    body = []
    for row in rows:
        mark = "**" if str(row["kind"]).startswith("all ") else ""
        cells = [row["kind"], *(f"{int(row[name]):,}" for name in ("problems", "proven", "edge", "false"))]
        cells.append(row["worst_gap"])
        body.append([f"{mark}{cell}{mark}" if cell != "" else "" for cell in cells])
    head = ["kind", "problems", "proven", "on the edge, named", "false certificates", "largest gap"]
    return markdown_table(head, body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feasible", type=int, default=10_000, help="number of feasible problems")
    parser.add_argument("--infeasible", type=int, default=2_500, help="number of infeasible problems")
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--workers", type=int, default=1)
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
            outcomes = run(count, outside, arguments.workers, arguments.first)
            for row in outcomes:
                if not (row["good"] or row["edge"]) or row["false"] or row["seconds"] > 5.0:
                    print("check", {**row, "seconds": round(row["seconds"], 2)}, flush=True)
            rows += summary(outcomes, outside)
            print(f"{sum(row['seconds'] for row in outcomes):.0f} s of solves, longest "
                  f"{max(row['seconds'] for row in outcomes):.1f} s")  # fmt: skip
    print("\n".join(table(rows)))
    if arguments.store:
        path = store("family-campaign", rows, ("pre_convex", "numpy", "scipy"))
        quote("docs/robustness.md", "family-campaign", table(rows))
        print(f"written: {path.name} and the table of docs/robustness.md")


if __name__ == "__main__":
    main()
