"""Soak test: memory must stay flat and every answer must be certified over minutes of random problems.

For the given time, problems of ``random_problems.py`` go through the Newton engine, ``solve_many``, ``radius_path``,
blocks, the cone solvers, the estimators and files. A thread records the resident memory once a second. A leak would
show as a slope of the memory over the second half of the run, which is reported with its standard error.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from random_problems import Drawn, feasible, infeasible
from storing import markdown_table, quote, store

import pre_convex as pre

#: slope in MB per minute below which memory counts as flat
FLAT = 0.5
#: statuses of a solved problem
SOLVED = (pre.Status.OPTIMAL, pre.Status.BOUNDARY)


def resident() -> float:
    """Resident memory of this process in MB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _newton(drawn: Drawn, number: int) -> list[pre.Solution]:
    return [pre.solve(drawn.problem, check=False)]


def _many(drawn: Drawn, number: int) -> list[pre.Solution]:
    targets = np.vstack([drawn.problem.target] * 3)
    return list(pre.solve_many(drawn.problem, targets))


def _path(drawn: Drawn, number: int) -> list[pre.Solution]:
    R = drawn.problem.radius or 0.1
    return pre.radius_path(drawn.problem, [10 * R, 3 * R, drawn.problem.radius or R])


def _blocks(drawn: Drawn, number: int) -> list[pre.Solution]:
    p = drawn.problem
    half = (p.n_q + 1) // 2
    blocks = [block for block in (slice(0, half), slice(half, None)) if len(p.features_q[block])]
    problem = pre.RatioProblem.from_blocks(
        None, [lambda block=block: p.features_q[block] for block in blocks], None,
        [lambda block=block: p.log_base[block] for block in blocks], target=p.target, radius=p.radius, norm=p.norm,
    )  # fmt: skip
    return [pre.solve(problem.in_memory(), check=False)]


def _cone(solver: str) -> Callable[[Drawn, int], list[pre.Solution]]:
    def run(drawn: Drawn, number: int) -> list[pre.Solution]:
        formulation = ("primal", "dual")[number % 2]
        return [pre.solve(drawn.problem, formulation, solver, check=False)]

    return run


def _estimator(drawn: Drawn, number: int) -> list[pre.Solution]:
    rng = np.random.default_rng(number)
    x_p, x_q = rng.normal(0.2, 0.6, (40, 2)), rng.normal(size=(80, 2))
    fit = pre.PosteriorRatio(features=("linear", "polynomial")[number % 2], radius=("auto", 0.05)[number % 2])
    fit.fit(x_p, x_q, pre.Gaussian([0.3, 0.0]), pre.Gaussian([0.0, 0.0]))
    fit.log_ratio(x_q), fit.diagnostics()
    with tempfile.TemporaryDirectory() as folder:
        loaded = pre.load(pre.save(fit, Path(folder) / "fit.npz"))
    return [fit.solution_, loaded.solution_, pre.KLIEP(radius=0.05).fit(x_p, x_q).solution_]


#: for each engine its function, and the interval between problems that go through it
ENGINES: dict[str, tuple[Callable[[Drawn, int], list[pre.Solution]], int]] = {
    "newton": (_newton, 1), "solve_many": (_many, 4), "radius_path": (_path, 8), "from_blocks": (_blocks, 8),
    "estimators and files": (_estimator, 20),
    **{solver: (_cone(solver), 40) for solver in ("CLARABEL", "ECOS", "SCS", "MOREAU")
       if solver in pre.installed_solvers()},
}  # fmt: skip


def soak(minutes: float) -> tuple[list[tuple[float, float, int]], Counter[str], Counter[str], list[str]]:
    """(seconds, MB, solves) once a second; solves and uncertified answers by engine; problems to check."""
    series: list[tuple[float, float, int]] = []
    solves: Counter[str] = Counter()
    unproven: Counter[str] = Counter()
    to_check: list[str] = []
    end = time.monotonic() + 60.0 * minutes
    started, done = time.monotonic(), threading.Event()

    def record_memory() -> None:
        while not done.wait(1.0):
            series.append((time.monotonic() - started, resident(), solves.total()))

    recorder = threading.Thread(target=record_memory)
    recorder.start()
    try:
        for number in itertools.count():
            drawn = infeasible(number) if number % 5 == 4 else feasible(number)
            for engine, (run, every) in ENGINES.items():
                if number % every or time.monotonic() > end:
                    continue
                solutions = run(drawn, number)
                solves[engine] += len(solutions)
                own_data = engine == "estimators and files"  # its data are feasible whatever was drawn
                allowed = SOLVED if drawn.feasible or own_data else (*SOLVED, pre.Status.INFEASIBLE)
                bad = [s for s in solutions if s.status not in allowed]
                if bad:
                    unproven[engine] += len(bad)
                    to_check.append(f"{engine}: problem {number} ({drawn.kind}): {bad[0].status.name}")
            if time.monotonic() > end:
                return series, solves, unproven, to_check
    finally:
        done.set()
        recorder.join()


def slope(series: list[tuple[float, float, int]]) -> tuple[float, float]:
    """Slope of the memory over the second half, in MB per minute, and its standard error.

    Both come from the means of ten intervals, because memory in successive seconds is far from independent.
    """
    half = np.array([(t / 60.0, mb) for t, mb, _ in series if t >= series[-1][0] / 2])
    points = np.array([interval.mean(axis=0) for interval in np.array_split(half, 10) if len(interval)])
    t = points[:, 0] - points[:, 0].mean()
    rate = float(t @ points[:, 1] / (t @ t))
    residual = points[:, 1] - points[:, 1].mean() - rate * t
    return rate, float(np.sqrt(residual @ residual / max(len(t) - 2, 1) / (t @ t)))


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table of docs/robustness.md, from the stored rows."""
    engines = [[r["name"], f"{int(str(r['value'])):,}", r["unproven"]] for r in rows if r["row"] == "engine"]
    facts = {str(r["name"]): r["value"] for r in rows if r["row"] == "fact"}
    return [
        *markdown_table(["engine", "answers", "not proven"], engines),
        "",
        f"The run took {facts['minutes']} minutes. Memory was {facts['first MB']} MB after warm-up (a quarter of the "
        f"run, at most one minute) and {facts['last MB']} MB at the end. Its slope over the second half is "
        f"{facts['slope']} MB per minute, with a standard error of {facts['standard error']}: {facts['verdict']}.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--store", action="store_true", help="write the results file and the table on the page")
    arguments = parser.parse_args()
    series, solves, unproven, to_check = soak(arguments.minutes)
    rate, error = slope(series)
    flat = rate - 2.0 * error <= 0.0 or rate <= FLAT
    after = next((mb for t, mb, _ in series if t >= min(60.0, series[-1][0] / 4)), series[0][1])
    rows: list[dict[str, object]] = [
        {"row": "engine", "name": engine, "value": solves[engine], "unproven": unproven[engine]} for engine in ENGINES
    ]
    facts = {
        "minutes": f"{arguments.minutes:g}",
        "first MB": f"{after:.0f}",
        "last MB": f"{series[-1][1]:.0f}",
        "slope": f"{rate:.2f}",
        "standard error": f"{error:.2f}",
        "verdict": "flat" if flat else "growing",
    }
    rows += [{"row": "fact", "name": name, "value": value, "unproven": ""} for name, value in facts.items()]
    rows += [{"row": "second", "name": f"{t:.0f}", "value": f"{mb:.1f}", "unproven": ""} for t, mb, _ in series[::10]]
    for line in to_check:
        print("check", line)
    print("\n".join(table(rows)))
    if arguments.store:
        path = store("soak", rows, ("pre_convex", "numpy", "scipy", "cvxpy"))
        quote("docs/robustness.md", "soak", table(rows))
        print(f"written: {path.name} and the table of docs/robustness.md")


if __name__ == "__main__":
    main()
