"""Guard the speed and memory of the engine in under two minutes: ``make bench-guard``.

The rows are those of ``scale.py`` with its goals, at sizes with ratios close to those at full size. A ratio is the
median of five pairs. So that a busy machine changes little, everything runs in one thread and times are those of the
processor. A row fails if it is beyond twice its goal in five attempts, and so does a row that breaks; a row between
goal and limit is reported only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import scale

#: how far a ratio may be from its goal, for the noise of a busy machine
LIMIT = 2.0
#: rows beyond their limit are measured again, up to this many times in all
ATTEMPTS = 5

ROWS: dict[str, Callable[[], Iterator[scale.Row]]] = {
    "passes": partial(scale.plain_rows, 500_000),
    "penalties": partial(scale.penalty_rows, 500_000),
    "constraints": partial(scale.constraint_rows, 500_000),
    "small": partial(scale.against_lbfgs, 5_000, 10, "<= 1.0", faster=False, same_gap=True),
    "wide": partial(scale.against_lbfgs, 20_000, 300, ">= 1", faster=True, kinds=("isotropic",)),
    "many": partial(scale.many_rows, 200, 20_000, 20),
    "float32": partial(scale.float32_rows, 1_000_000, 20),
    "infeasible": partial(scale.infeasible_rows, 300, 600, in_seconds=False),
    "summary": partial(scale.summary_rows, 300_000, 20),
    "memory": partial(scale.memory_rows, 400_000, 20),
}


def verdict(found: scale.Row) -> str:
    """Say "ok", "missed" if a row misses its goal but is within the limit, or "FAIL"."""
    if not found["measured"]:  # the row broke
        return "FAIL"
    sign, goal = str(found["aim"]).split()
    meets, value, goal = scale.SIGNS[sign], float(str(found["measured"])), float(goal)
    limit = goal * LIMIT if sign == "<=" else goal / LIMIT
    return "ok" if meets(value, goal) else "missed" if meets(value, limit) else "FAIL"


def measure(name: str) -> tuple[int, list[str]]:
    """Measure and print some rows; how many there are, and the names of those that fail."""
    count, beyond = 0, []
    try:
        for found in ROWS[name]():
            count += 1
            outcome = verdict(found)
            figures = f"{found['measured']:>7} {found['unit']:29} {found['aim']:7}"
            print(f"{outcome:6}{figures} {found['work']}", flush=True)
            if outcome == "FAIL":
                beyond.append(str(found["work"]))
    except Exception as error:  # the other rows are still useful
        print(f"FAIL  {name}: {type(error).__name__}: {error}", flush=True)
        beyond.append(name)
    return count, beyond


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=list(ROWS), help=", ".join(ROWS))
    chosen = parser.parse_args().only or list(ROWS)
    scale.BUDGET, scale.REPEATS, scale.FULL, scale.CLOCK = float("inf"), 5, False, time.process_time
    failed, count, started = [], 0, time.perf_counter()
    for name in chosen:
        for _ in range(ATTEMPTS):
            works, beyond = measure(name)
            if not beyond:
                break
        count, failed = count + works, failed + beyond
    print(f"{count} rows in {time.perf_counter() - started:.0f} s, {len(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
