"""Cost of the parts of a solve, as ratios within one run: ``make costs``.

The design choices that README.md explains rest on these ratios.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from types import ModuleType

import numpy as np
from scale import compare, correlated, isotropic, lbfgs
from storing import markdown_table, quote, store
from threadpoolctl import threadpool_limits

import pre_convex as pre
import pre_convex._internal.linear_algebra as linear
import pre_convex.data.passes as passes
import pre_convex.data.rows as data_rows
import pre_convex.solvers.newton as engine
from pre_convex.certificate.certificate import Proof, arithmetic_of, prove
from pre_convex.data.passes import tilt
from pre_convex.data.requests import Alone, Draw, Requests, Tilt
from pre_convex.data.rows import Rows
from pre_convex.penalties import make_penalty

PASS = "plain passes"


def uncentred(rows: Rows, delta: np.ndarray) -> np.ndarray:
    """Covariance as the mean of products minus the product of means."""
    total, mean, second = 0.0, np.zeros(delta.size), np.zeros((delta.size, delta.size))
    for chunk, f in rows.chunks():
        w = np.exp(f @ delta + rows.log_base[chunk])
        total += w.sum()
        mean += w @ f
        g = f * np.sqrt(w)[:, None]
        second += g.T @ g
    return second / total - np.outer(mean, mean) / total**2


def ratio(task: Callable[[], object], unit: Callable[[], object], repeats: int) -> float:
    """Time of a task, divided by the time of another."""
    taken, base = compare(task, unit, most=repeats)
    return taken / base


def in_one_thread(task: Callable[[], object]) -> None:
    """Run a task with BLAS in one thread."""
    with threadpool_limits(1, "blas"):
        task()


@contextmanager
def changed(module: ModuleType, **values: object) -> Iterator[None]:
    """Set some names of a module within a ``with`` block."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def full_passes(problem: pre.RatioProblem, tol: float, subset_rows: int | None = None) -> float:
    """Number of passes over all rows in one solve."""
    trace = pre.solve(problem, settings=pre.Settings(tol=tol, subset_rows=subset_rows)).trace
    return float(sum(stage.passes for stage in trace if stage.rows == problem.n_q))


def certificate_on(problem: pre.RatioProblem, delta: np.ndarray, size: int) -> Proof:
    """The certificate of δ by a lift on some of the rows."""

    def requests() -> Requests[Proof]:
        summary = yield Tilt(delta)
        some = yield Draw(size, at_random=False)
        return (yield from prove(delta, summary, make_penalty(problem), arithmetic_of(problem), some.number))

    return Alone(problem.rows).run(requests())


#: a measured part: its name, cost and unit
Cost = tuple[str, float, str]


def of_passes(b: np.ndarray, F: np.ndarray, repeats: int) -> Iterator[Cost]:
    """Passes over many rows and alternatives to them, in units of a plain pass."""
    problem = pre.RatioProblem(b, F)
    rows, delta = problem.rows, pre.solve(problem).delta
    narrow = pre.RatioProblem.from_blocks(None, F.astype(np.float32), target=b)

    def plain() -> object:
        return tilt(rows, delta, covariance=False)

    tasks: dict[str, Callable[[], object]] = {
        "a pass with covariance": lambda: tilt(rows, delta),
        "a pass with covariance, not centred by block": lambda: uncentred(rows, delta),
        "minimum and maximum of every column": lambda: (F.min(0), F.max(0)),
        "a plain pass in one thread": lambda: in_one_thread(plain),
        "a pass with covariance in one thread": lambda: in_one_thread(lambda: tilt(rows, delta)),
        "a plain pass with BLAS's own threads instead": lambda: passes._unscaled_moments(rows, delta),
        "a copy by columns": lambda: np.asfortranarray(F),
        "a plain pass over float32 numbers, converted to float64 block by block": lambda: narrow.tilt(delta),
        "RatioProblem(b, F), which validates every number": lambda: pre.RatioProblem(b, F),
    }
    for name, task in tasks.items():
        yield name, ratio(task, plain, repeats), PASS
    with changed(data_rows, BLOCK_NUMBERS=500_000):
        small_blocks = compare(plain, lambda: None, most=repeats)[0]
    yield "a plain pass in blocks of 500,000 numbers", small_blocks / compare(plain, plain, most=repeats)[0], PASS
    for size in (40_000, 140_000):
        settings = pre.Settings(tol=1e-9, subset_rows=min(size, len(F) // 4))
        made = full_passes(problem, 1e-9, settings.subset_rows)
        yield f"full passes of a solve to 1e-09, subset of {size:,} rows", made, "passes"
        other = ratio(lambda settings=settings: pre.solve(problem, settings=settings), plain, repeats) - made
        yield f"other work of that solve, subset of {size:,} rows", other, PASS


def of_curvature(b: np.ndarray, F: np.ndarray) -> Iterator[Cost]:
    """Full passes of a solve with and without secant updates and shrinkage of the curvature."""
    problem, mixed = pre.RatioProblem(b, F), pre.RatioProblem(*correlated(*F.shape))
    for tol in (1e-9, 1e-12):
        yield f"full passes of a solve to {tol:g}, with secant updates", full_passes(problem, tol), "passes"
        with changed(engine, update_curvature=lambda H, s, y: H):
            yield f"full passes of a solve to {tol:g}, without secant updates", full_passes(problem, tol), "passes"
    yield "full passes of a solve to 1e-09, correlated", full_passes(mixed, 1e-9), "passes"
    with changed(linear, MAX_SHRINKAGE_FACTOR=1.0):
        yield "full passes, correlated, with correlations always shrunk", full_passes(mixed, 1e-9), "passes"


def of_few_rows(repeats: int) -> Iterator[Cost]:
    """Parts of a solve with 5,000 rows and 10 features."""
    small = pre.RatioProblem(*isotropic(5_000, 10))
    delta = pre.solve(small).delta
    by_rows, by_columns = Rows(small.features_q, small.log_base), small.rows
    yield (
        "n = 5,000, k = 10: a pass with covariance over a copy by columns",
        ratio(lambda: tilt(by_columns, delta), lambda: tilt(by_rows, delta), 20 * repeats),
        "of one by rows",
    )
    tasks: dict[str, Callable[[], object]] = {
        "two passes with covariance": lambda: [tilt(small.rows, delta) for _ in range(2)],
        "three plain passes": lambda: [tilt(small.rows, delta, covariance=False) for _ in range(3)],
        "the certificate on a fifth of the rows, with its pass": lambda: certificate_on(small, delta, 1_000),
        "L-BFGS-B": lbfgs(small),
    }
    for name, task in tasks.items():
        yield f"n = 5,000, k = 10: {name}", ratio(task, lambda: pre.solve(small), 20 * repeats), "of a solve"


def run(n: int, repeats: int) -> list[dict[str, object]]:
    """Measure and print all parts."""
    b, F = isotropic(n, 20)
    rows: list[dict[str, object]] = []
    for part, value, unit in chain(of_passes(b, F, repeats), of_curvature(b, F), of_few_rows(repeats)):
        rows.append({"part": part, "ratio": round(value, 2), "unit": unit})
        print(f"{part:78s} {value:7.2f} {unit}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--store", action="store_true", help="write the results file and the table in README.md")
    arguments = parser.parse_args()
    rows = run(arguments.rows, arguments.repeats)
    if arguments.store:
        path = store("costs", rows, ("pre_convex", "numpy", "scipy"))
        body = [[row["part"], f"{row['ratio']} {row['unit']}"] for row in rows]
        quote("benchmarks/README.md", "costs", markdown_table(["part", "cost"], body))
        print(f"written: {path.name} and the table in README.md")


if __name__ == "__main__":
    main()
