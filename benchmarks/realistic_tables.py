"""Tables as users have them: ``make tables``.

A table mixes one-hot columns with rare and absent categories, counts, numbers in all units, timestamps, collinear
copies, constants and indicators, for 50 to 50,000 rows. The means of one sample are the target for the other, in every
norm, with and without a radius. Three things are counted:

- answered: the solve took at most the processor time of 50 passes over the rows, or one second if that is longer;
- settled: the answer is proven, or it is proven that none exists;
- advice: where ``solve`` raises an error, the remedy that its message names first is followed to the letter.

``--tables 200`` for fewer of them, ``--first 1000`` to start at another number, ``--store`` to write the result.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from storing import markdown_table, quote, store

import pre_convex as pre

Rng = np.random.Generator
Columns = tuple[np.ndarray, np.ndarray]
#: limit in passes over the rows, and in seconds if that is longer
PASSES, SECONDS = 50, 1.0
NORMS = (2, np.inf, 1)
#: what is counted
KEYS = ("tables", "answered", "settled", "advice", "advice works")


def one_hot(rng: Rng, n_p: int, n_q: int) -> Columns:
    """A categorical column with rare levels, of which one side may lack some."""
    levels = int(rng.integers(3, 25))
    q = rng.dirichlet(np.full(levels, 0.5))
    p = q * rng.uniform(0.3, 3.0, levels)
    if rng.random() < 0.3:
        p[rng.integers(levels)] = 0.0
    if rng.random() < 0.1:  # then no weights match the target
        q[rng.integers(levels)] = 0.0
    p, q = p / p.sum(), q / q.sum()
    return tuple(
        (rng.choice(levels, n, p=w)[:, None] == np.arange(levels)).astype(float) for n, w in ((n_p, p), (n_q, q))
    )  # type: ignore[return-value]


def counts(rng: Rng, n_p: int, n_q: int) -> Columns:
    """A number of events, with a heavy tail."""
    rate, more = rng.uniform(0.2, 20.0), rng.uniform(0.8, 1.25)
    shape = rng.uniform(0.5, 5.0)
    return tuple(
        rng.poisson(rate * r * rng.gamma(shape, 1.0 / shape, (n, 1))).astype(float)
        for n, r in ((n_p, more), (n_q, 1.0))
    )  # type: ignore[return-value]


def numbers(rng: Rng, n_p: int, n_q: int) -> Columns:
    """Measurements in any unit, some with a skewed distribution."""
    unit, offset = 10.0 ** rng.integers(-6, 7), rng.choice([0.0, rng.normal() * 10.0])
    p, q = rng.normal(rng.normal() * 0.3, rng.uniform(0.7, 1.1), (n_p, 1)), rng.normal(size=(n_q, 1))
    if rng.random() < 0.3:
        p, q = np.exp(p), np.exp(q)
    return (p + offset) * unit, (q + offset) * unit


def timestamps(rng: Rng, n_p: int, n_q: int) -> Columns:
    """Times of a few weeks, in seconds or microseconds since 1970."""
    unit = float(rng.choice([1.0, 1e6]))
    start, length = 1.7e9 + rng.uniform(0.0, 1e7), 2e6
    late = rng.beta(rng.uniform(1.0, 2.0), 1.0, (n_p, 1))
    return np.floor((start + length * late) * unit), np.floor((start + length * rng.random((n_q, 1))) * unit)


def constant(rng: Rng, n_p: int, n_q: int) -> Columns:
    """The same value everywhere."""
    value = float(rng.choice([0.0, 1.0, 0.1, 1e6, -3.7]))
    return np.full((n_p, 1), value), np.full((n_q, 1), value)


def indicator(rng: Rng, n_p: int, n_q: int) -> Columns:
    """Yes or no, often rare."""
    share = 10.0 ** rng.uniform(-3.0, -0.3)
    return tuple(
        (rng.random((n, 1)) < s).astype(float) for n, s in ((n_p, share * rng.uniform(0.5, 1.5)), (n_q, share))
    )  # type: ignore[return-value]


KINDS: tuple[Callable[[Rng, int, int], Columns], ...] = (
    *(one_hot, counts, numbers, numbers, timestamps, constant, indicator),
)


def table(number: int) -> pre.RatioProblem:
    """Table of a given number, always the same one."""
    rng = np.random.default_rng([19, number])
    n_q = int(np.exp(rng.uniform(np.log(50), np.log(50_000))))
    n_p = max(30, int(n_q * rng.uniform(0.2, 1.0)))
    parts = [KINDS[i](rng, n_p, n_q) for i in rng.integers(0, len(KINDS), int(rng.integers(2, 8)))]
    p, q = np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts])
    if rng.random() < 0.25:  # a copy in another unit, as of Celsius in Fahrenheit, perhaps rounded to float32
        i, exact = rng.integers(p.shape[1]), rng.random() < 0.5
        copies = [1.8 * x[:, i : i + 1] + 32.0 for x in (p, q)]
        p, q = (np.hstack([x, c if exact else c.astype(np.float32)]) for x, c in zip((p, q), copies, strict=True))
    problem = pre.RatioProblem.from_samples(p, q, norm=NORMS[number % 3])
    if number % 2 == 0:
        return problem
    missed = float(np.linalg.norm(problem.gradient(np.zeros(problem.k)), problem.norm))
    return problem.with_radius(missed * float(10.0 ** rng.uniform(-3.0, -0.3)))


def pass_seconds(problem: pre.RatioProblem) -> float:
    """Time of one pass over the rows."""
    zero = np.zeros(problem.k)
    problem.gradient(zero)
    started = time.process_time()
    problem.gradient(zero)
    return time.process_time() - started


def follow(problem: pre.RatioProblem, error: pre.SolveError, rounds: int = 3) -> bool:
    """Whether the remedy that the message of an error names first works.

    Without the rows of one category another one may be missing, or the target may be on the boundary, so the advice of
    a second and third error is followed.
    """
    again, settings = problem, {}
    if isinstance(error, pre.InfeasibleError) and error.outside:
        columns = [problem.feature_names.index(name) for name in error.outside]
        low, high = (x[columns] for x in problem.ranges)
        inside = np.all((problem.features_p[:, columns] >= low) & (problem.features_p[:, columns] <= high), axis=1)
        terms = {"radius": problem.radius, "norm": problem.norm}
        again = pre.RatioProblem.from_samples(problem.features_p[inside], problem.features_q, **terms)
    elif isinstance(error, pre.InfeasibleError):
        again = problem.with_radius(error.advised_relaxation or error.advised_radius)
    elif isinstance(error, pre.BoundaryError):
        low, high = problem.ranges
        again = problem.with_radius(1e-3 * float(np.linalg.norm(high - low, problem.norm)))
    else:
        settings = {"tol": 1e-4}
    try:
        pre.solve(again, **settings)
    except (pre.InfeasibleError, pre.BoundaryError) as next_error:
        return rounds > 1 and follow(again, next_error, rounds - 1)
    except pre.SolveError:
        return False
    return True


def lines(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """The table of the page."""
    head = ("problems", "tables", "in time", "settled", "errors", "advice worked")
    return markdown_table(head, ([row[key] for key in ("problems", *KEYS)] for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--store", action="store_true")
    arguments = parser.parse_args()
    counted: dict[str, Counter[str]] = {}
    unsettled, late, bad_advice = [], [], []
    for number in range(arguments.first, arguments.first + arguments.tables):
        problem = table(number)
        row = counted.setdefault(f"norm {problem.norm:g}, {'R > 0' if problem.radius else 'R = 0'}", Counter())
        limit = max(SECONDS, PASSES * pass_seconds(problem))
        started, error = time.process_time(), None
        try:
            solution = pre.solve(problem)
        except pre.SolveError as caught:
            solution, error = caught.solution, caught
        seconds = time.process_time() - started
        settled = solution.ok or solution.status in (pre.Status.BOUNDARY, pre.Status.INFEASIBLE)
        row.update(["tables", solution.status.name])
        row.update(["answered"] * (seconds <= limit) + ["settled"] * settled)
        if error is not None:
            works = follow(problem, error)
            row.update(["advice", *["advice works"] * works])
            bad_advice += [] if works else [(number, solution.status.name)]
        unsettled += [] if settled else [(number, solution.status.name, f"{solution.gap:.1e}")]
        late += [(number, round(seconds, 2))] if seconds > limit else []
    rows: list[dict[str, object]] = [
        {"problems": name, **{key: row[key] for key in KEYS}} for name, row in sorted(counted.items())
    ]
    total = sum((row for row in counted.values()), Counter())
    rows.append({"problems": "all", **{key: total[key] for key in KEYS}})
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    print({status.name: total[status.name] for status in pre.Status if total[status.name]})
    print("not settled:", *unsettled[:20])
    print("late:", *late[:20])
    print("advice that does not work:", *bad_advice[:20])
    if arguments.store:
        print(store("tables", rows, ("pre_convex", "numpy", "scipy")))
        quote("docs/robustness.md", "tables", lines(rows))


if __name__ == "__main__":
    main()
