"""What the parts of a solve cost, as ratios within one run: ``make costs``. The choices in README.md rest on it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
from scale import compare, correlated, isotropic, lbfgs
from storing import quote, store
from threadpoolctl import threadpool_limits

import pre_convex as pre
import pre_convex.linear as linear
import pre_convex.passes as passes
import pre_convex.solvers.newton as engine
from pre_convex.passes import Rows, tilt
from pre_convex.solution import certificate
from pre_convex.solvers.steps import make_penalty

PASS = "plain passes"


def uncentred(rows: Rows, delta: np.ndarray) -> np.ndarray:
    """Covariance as a sum of products less the product of the means."""
    total, mean, second = 0.0, np.zeros(delta.size), np.zeros((delta.size, delta.size))
    for block, f in rows.blocks():
        w = np.exp(f @ delta + rows.log_base[block])
        total += w.sum()
        mean += w @ f
        g = f * np.sqrt(w)[:, None]
        second += g.T @ g
    return second / total - np.outer(mean, mean) / total**2


def ratio(task: Callable[[], object], unit: Callable[[], object], repeats: int) -> float:
    taken, base = compare(task, unit, most=repeats)
    return taken / base


def alone(task: Callable[[], object]) -> None:
    with threadpool_limits(1, "blas"):
        task()


@contextmanager
def changed(module: ModuleType, **values: object) -> Iterator[None]:
    """While inside, some names of a module stand for something else."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def full_passes(problem: pre.RatioProblem, tol: float) -> float:
    return float(engine.newton(problem, make_penalty(problem), tol=tol).passes)


def run(n: int, repeats: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []

    def record(part: str, value: float, unit: str) -> None:
        rows.append({"part": part, "ratio": round(value, 2), "unit": unit})
        print(f"{part:70s} {value:7.2f} {unit}", flush=True)

    b, F = isotropic(n, 20)
    problem = pre.RatioProblem(b, F)
    data, delta = problem.rows, pre.solve(problem).delta
    plain = lambda: tilt(data, delta, covariance=False)  # noqa: E731
    record("a pass with covariance", ratio(lambda: tilt(data, delta), plain, repeats), PASS)
    record("a pass with covariance, not centred by block", ratio(lambda: uncentred(data, delta), plain, repeats), PASS)
    record("minimum and maximum of every column", ratio(lambda: (F.min(0), F.max(0)), plain, repeats), PASS)
    record("a plain pass in one thread", ratio(lambda: alone(plain), plain, repeats), PASS)
    covariance = lambda: tilt(data, delta)  # noqa: E731
    record("a pass with covariance in one thread", ratio(lambda: alone(covariance), plain, repeats), PASS)
    whole = lambda: passes._without_covariance(data, delta)  # noqa: E731
    record("a plain pass with BLAS's own threads instead", ratio(whole, plain, repeats), PASS)
    with changed(passes, PART_NUMBERS=500_000):
        small_parts = compare(plain, lambda: None, most=repeats)[0]
    record("a plain pass in parts of 500,000 numbers", small_parts / compare(plain, plain, most=repeats)[0], PASS)
    record("a copy by columns", ratio(lambda: np.asfortranarray(F), plain, repeats), PASS)
    narrow = pre.RatioProblem.from_blocks(None, F.astype(np.float32), target=b)
    record(
        "a plain pass over float32 numbers, each block turned into float64",
        ratio(lambda: narrow.tilt(delta), plain, repeats),
        PASS,
    )
    record("RatioProblem(b, F): every number looked at", ratio(lambda: pre.RatioProblem(b, F), plain, repeats), PASS)
    solve = lambda p=problem: pre.solve(p, tol=1e-9)  # noqa: E731
    for size in (40_000, 140_000):
        with changed(engine, _size_of_subset=lambda *_, size=size: min(size, n // 4)):
            made = full_passes(problem, 1e-9)
            record(f"full passes of a solve to 1e-09, subset of {size:,} rows", made, "passes")
            record(f"what comes on top of them, subset of {size:,} rows", ratio(solve, plain, repeats) - made, PASS)
    for tol in (1e-9, 1e-12):
        record(f"full passes of a solve to {tol:g}, with secant updates", full_passes(problem, tol), "passes")
        with changed(engine, _secant=lambda H, s, y: H):
            record(f"full passes of a solve to {tol:g}, without secant updates", full_passes(problem, tol), "passes")
    mixed = pre.RatioProblem(*correlated(n, 20))
    record("full passes of a solve to 1e-09, correlated", full_passes(mixed, 1e-9), "passes")
    with changed(linear, MOSTLY_NOISE=1.0):
        record("full passes, correlated, curvature shrunk all the same", full_passes(mixed, 1e-9), "passes")
    small = pre.RatioProblem(*isotropic(5_000, 10))
    at, fit = pre.solve(small).delta, lambda: pre.solve(small)
    some = small.rows.take(slice(None, None, 5))
    by_rows, by_columns = Rows(small.features_q, small.log_base), small.rows
    record(
        "n = 5,000, k = 10: a pass with covariance over a copy by columns",
        ratio(lambda: tilt(by_columns, at), lambda: tilt(by_rows, at), 20 * repeats),
        "of one by rows",
    )
    parts = {
        "two passes with covariance": lambda: [tilt(small.rows, at) for _ in range(2)],
        "three plain passes": lambda: [tilt(small.rows, at, covariance=False) for _ in range(3)],
        "the certificate on a fifth of the rows, its own pass included": lambda: certificate(small, at, rows=some),
        "L-BFGS-B": lbfgs(small),
    }
    for name, part in parts.items():
        record(f"n = 5,000, k = 10: {name}", ratio(part, fit, 20 * repeats), "of a solve")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--store", action="store_true", help="write the results file and the table that quotes it")
    arguments = parser.parse_args()
    rows = run(arguments.rows, arguments.repeats)
    if arguments.store:
        path = store("costs", rows, ("pre_convex", "numpy", "scipy"))
        lines = [f"| {row['part']} | {row['ratio']} {row['unit']} |" for row in rows]
        quote("benchmarks/README.md", "costs", ["| part | cost |", "|---|---|", *lines])
        print(f"written: {path.name} and the table that quotes it")


if __name__ == "__main__":
    main()
