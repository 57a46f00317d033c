"""Speed of the Newton engine, as ratios within one run: ``make bench``.

The unit is one value-and-gradient pass over the same data, which no method that certifies its answer can avoid.
Each figure is the median of several runs, taken in turn with the unit so that a slow spell of the machine hits both.
"""

from __future__ import annotations

import argparse
import statistics
import time

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize
from storing import quote, store

import pre_convex as pre
from pre_convex.solvers.newton import newton
from pre_convex.solvers.steps import make_penalty


def planted(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Target and features of a problem with a known answer of length about one."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, k))
    delta = rng.normal(size=k) / np.sqrt(k)
    return pre.RatioProblem(np.zeros(k), F).gradient(delta), F


def seconds(task) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def ratio(task, unit, repeats: int) -> tuple[float, float]:
    """(median time of the task over that of the unit, median time of the unit), taken alternately."""
    task(), unit()
    pairs = [(seconds(task), seconds(unit)) for _ in range(repeats)]
    base = statistics.median(u for _, u in pairs)
    return statistics.median(t for t, _ in pairs) / base, base


def lbfgs(problem: pre.RatioProblem):
    """A plain L-BFGS-B fit of the same objective."""
    F, a, b = problem.features_q, problem.log_base, problem.target

    def value_and_gradient(delta):
        z = a + F @ delta
        top = z.max()
        w = np.exp(z - top)
        total = w.sum()
        return top + np.log(total) - b @ delta, (w @ F) / total - b

    return lambda: minimize(value_and_gradient, np.zeros(problem.k), jac=True, method="L-BFGS-B")


def run(n: int, repeats: int) -> list[dict[str, object]]:
    rows = []

    def record(work: str, target: str, value: float, unit: str, gap: float, passes: object) -> None:
        rows.append({"work": work, "target": target, "ratio": round(value, 2), "unit": unit, "gap": f"{gap:.1e}",
                     "passes": passes})  # fmt: skip
        print(f"{work:52s} {value:7.2f} {unit:26s} target {target:6s} gap {gap:.1e} passes {passes}", flush=True)

    b, F = planted(n, 20)
    plain = pre.RatioProblem(b, F)
    delta = pre.solve(plain).delta
    cases = {
        "R = 0": (plain, {}, "<= 8"),
        "norm 2, R = 0.05": (pre.RatioProblem(b, F, radius=0.05), {}, "<= 8"),
        "norm inf, R = 0.05 (an l1 penalty)": (pre.RatioProblem(b, F, radius=0.05, norm=np.inf), {}, "<= 12"),
        "norm 1, R = 0.05": (pre.RatioProblem(b, F, radius=0.05, norm=1), {}, "<= 12"),
        "penalty 0.05 norm1(delta) in cvxpy": (plain, {"penalty": lambda d: 0.05 * cp.norm1(d)}, "<= 12"),
        "constraint delta >= 0 in cvxpy": (plain, {"constraints": lambda d: [d >= 0]}, "<= 12"),
    }
    for name, (problem, terms, target) in cases.items():
        outcome = newton(problem, make_penalty(problem, **terms), tol=1e-9)
        value, _ = ratio(lambda p=problem, t=terms: pre.solve(p, tol=1e-9, **t), lambda: plain.tilt(delta), repeats)
        gap = outcome.certificate.gap
        record(f"newton, n = {n:,}, k = 20, {name}", target, value, "value-and-gradient passes", gap, outcome.passes)
    b, F = planted(5_000, 10)
    small = pre.RatioProblem(b, F)
    value, _ = ratio(lambda: pre.solve(small), lbfgs(small), 10 * repeats)
    record("newton, n = 5,000, k = 10", "<= 1", value, "x scipy L-BFGS-B", pre.solve(small).gap, "")
    gap = pre.solve(plain, tol=1e-9).gap
    value, _ = ratio(lambda: pre.solve(plain, tol=1e-9), lbfgs(plain), max(3, repeats // 3))
    record(f"newton, n = {n:,}, k = 20", "", value, "x scipy L-BFGS-B", gap, "")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--store", action="store_true", help="write the results file and the tables that quote it")
    arguments = parser.parse_args()
    rows = run(arguments.rows, arguments.repeats)
    if arguments.store:
        path = store("newton", rows, ("pre_convex", "numpy", "scipy", "cvxpy", "clarabel"))
        lines = [f"| {row['work']} | {row['ratio']} {row['unit']} | {row['target']} |" for row in rows]
        for page in ("README.md", "benchmarks/README.md"):
            quote(page, "speed", ["| work | measured | aim |", "|---|---|---|", *lines])
        print(f"written: {path.name} and the tables that quote it")


if __name__ == "__main__":
    main()
