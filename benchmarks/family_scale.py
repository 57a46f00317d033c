"""Passes of solves of the convex family at scale: ``python benchmarks/family_scale.py`` [--rows 1000000] [--store].

The time of a solve in units of one pass for value and gradient of the same problem, as in ``scale.py``, whose data this
takes, and the passes over all rows that the trace counts. Every solve has a tolerance of 1e-9 on the certified gap.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scale
from scale import KINDS, TOL, ratio
from storing import markdown_table, quote, store

import pre_convex as pre
from pre_convex.data.linked import linked_tilt

MEMBERS: dict[str, dict[str, object]] = {
    "χ²": {"divergence": "chi2"},
    "KL, ratio at most 5": {"bounds": (0.0, 5.0)},
    "χ², ratio from 0.1 to 5": {"divergence": "chi2", "bounds": (0.1, 5.0)},
    "reverse KL": {"divergence": "reverse-kl"},
}


def measure(kind: str, member: str, n: int, k: int) -> dict[str, object]:
    """One row of the table."""
    target, F = KINDS[kind](n, k)
    problem = pre.RatioProblem(target, F, **MEMBERS[member])
    solution = pre.solve(problem, tol=TOL)
    theta = np.append(solution.intercept + float(target @ solution.delta), solution.delta)
    passes = ratio(
        lambda: pre.solve(problem, tol=TOL),
        lambda: linked_tilt(problem.rows, problem.link, theta, covariance=False),
        budget=4.0,
    )
    counted = sum(stage.passes for stage in solution.trace if stage.rows == n)
    return {"data": kind, "member": member, "rows": n, "columns": k, "passes": f"{passes:.2f}",
            "counted": counted, "gap": f"{solution.gap:.1e}", "status": solution.status.name}  # fmt: skip


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table of docs/scale.md."""
    head = ["data", "member", "time of a solve, in passes", "passes over all rows", "certified gap"]
    return markdown_table(
        head, [[row[name] for name in ("data", "member", "passes", "counted", "gap")] for row in rows]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--store", action="store_true", help="write the results file and the table on the page")
    given = parser.parse_args()
    scale.CLOCK = time.process_time  # one thread, whose time other processes hardly change
    rows = []
    for kind in KINDS:
        for member in MEMBERS:
            rows.append(measure(kind, member, given.rows, given.columns))
            print(rows[-1], flush=True)
    if given.store:
        path = store("family-scale", rows, ("pre_convex", "numpy", "scipy"))
        quote("docs/scale.md", "family-scale", table(rows))
        print(f"written: {path.name} and the table of docs/scale.md")


if __name__ == "__main__":
    main()
