"""Random problems without end, through every engine: memory has to stay flat, and every answer has to be proven.

For the time that is given, problems of ``random_problems.py`` go through the Newton engine, ``solve_many``,
``radius_path``, blocks, the cone solvers, the estimators and files. A thread notes the resident memory once a second.
The slope of the memory over the second half of the run, with its standard error, is what a leak would show in.
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
from storing import quote, store

import pre_convex as pre

#: a slope, in MB a minute, that no run of any length would mind
FLAT = 0.5
#: solutions that are no failures
FINE = (pre.Status.OPTIMAL, pre.Status.BOUNDARY)


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
    parts = [part for part in (slice(0, half), slice(half, None)) if len(p.features_q[part])]
    blocks = pre.RatioProblem.from_blocks(
        None, [lambda part=part: p.features_q[part] for part in parts], None,
        [lambda part=part: p.log_base[part] for part in parts], target=p.target, radius=p.radius, norm=p.norm,
    )  # fmt: skip
    return [pre.solve(blocks.in_memory(), check=False)]


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
        again = pre.load(pre.save(fit, Path(folder) / "fit.npz"))
    return [fit.solution_, again.solution_, pre.KLIEP(radius=0.05).fit(x_p, x_q).solution_]


#: how to solve, and one in how many problems
ENGINES: dict[str, tuple[Callable[[Drawn, int], list[pre.Solution]], int]] = {
    "newton": (_newton, 1), "solve_many": (_many, 4), "radius_path": (_path, 8), "from_blocks": (_blocks, 8),
    "estimators and files": (_estimator, 20),
    **{solver: (_cone(solver), 40) for solver in ("CLARABEL", "ECOS", "SCS") if solver in pre.installed_solvers()},
}  # fmt: skip
#: engines that answer by themselves; a cone solver may give up on a vicious problem, and says so
OWN = ("newton", "solve_many", "radius_path", "from_blocks", "estimators and files")


def soak(minutes: float) -> tuple[list[tuple[float, float, int]], Counter[str], Counter[str], list[str]]:
    """(seconds, MB, solves) once a second; solves and unproven answers by engine; what to look at."""
    series: list[tuple[float, float, int]] = []
    solves: Counter[str] = Counter()
    unproven: Counter[str] = Counter()
    looks: list[str] = []
    end = time.monotonic() + 60.0 * minutes
    started, done = time.monotonic(), threading.Event()

    def watch() -> None:
        while not done.wait(1.0):
            series.append((time.monotonic() - started, resident(), solves.total()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for number in itertools.count():
            drawn = infeasible(number) if number % 5 == 4 else feasible(number)
            for engine, (run, every) in ENGINES.items():
                if number % every or time.monotonic() > end:
                    continue
                found = run(drawn, number)
                solves[engine] += len(found)
                good = FINE if drawn.feasible else (pre.Status.INFEASIBLE,)
                own = engine == "estimators and files"
                bad = [s for s in found if s.status not in (FINE if own else (*FINE, *good))]
                if bad:
                    unproven[engine] += len(bad)
                    looks.append(f"{engine}: problem {number} ({drawn.kind}): {bad[0].status.name}")
            if time.monotonic() > end:
                return series, solves, unproven, looks
    finally:
        done.set()
        watcher.join()


def slope(series: list[tuple[float, float, int]]) -> tuple[float, float]:
    """Slope of the memory over the second half, in MB a minute, and its standard error from means of ten stretches.

    Memory of neighbouring seconds is nearly the same, so that seconds are no independent measurements.
    """
    half = np.array([(t / 60.0, mb) for t, mb, _ in series if t >= series[-1][0] / 2])
    points = np.array([part.mean(axis=0) for part in np.array_split(half, 10) if len(part)])
    t = points[:, 0] - points[:, 0].mean()
    rate = float(t @ points[:, 1] / (t @ t))
    left = points[:, 1] - points[:, 1].mean() - rate * t
    return rate, float(np.sqrt(left @ left / max(len(t) - 2, 1) / (t @ t)))


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table of docs/robustness.md, from what is stored."""
    lines = ["| engine | answers | not proven |", "|---|---|---|"]
    lines += [f"| {r['name']} | {int(str(r['value'])):,} | {r['unproven']} |" for r in rows if r["row"] == "engine"]
    facts = {str(r["name"]): r["value"] for r in rows if r["row"] == "fact"}
    return [
        *lines,
        "",
        f"In {facts['minutes']} minutes memory went from {facts['first MB']} MB, after the first quarter or minute, to "
        f"{facts['last MB']} MB; over the second half its slope is {facts['slope']} MB a minute, with a standard error "
        f"of {facts['standard error']}: {facts['verdict']}.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--store", action="store_true", help="write the results file and the table that quotes it")
    arguments = parser.parse_args()
    series, solves, unproven, looks = soak(arguments.minutes)
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
    for line in looks:
        print("look at", line)
    print("\n".join(table(rows)))
    if arguments.store:
        path = store("soak", rows, ("pre_convex", "numpy", "scipy", "cvxpy"))
        quote("docs/robustness.md", "soak", table(rows))
        print(f"written: {path.name} and the table of docs/robustness.md")


if __name__ == "__main__":
    main()
