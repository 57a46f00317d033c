"""Compare engine and estimators with other packages on the same problems, as ratios within one run: ``make peers``.

Moment problems are the sets of the solver benchmark and problems that each peer is best at; ratios of two samples have
a known answer. A peer is called in every documented way that applies, each in its own process with a time limit,
alternating with newton. The fastest way that does not fail counts, and if all fail, the fastest. The other packages are
in the dependency groups ``peers`` and ``peers-adapt``; the rows of missing ones say "not installed".

Failures are exceptions, timeouts, numbers that are not finite, a peer's own report that it did not converge, moments
off by more than ``FAR`` standard deviations, and, for a target outside the hull, any claim of an answer.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import logging
import math
import multiprocessing
import os
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from peer_ratios import ESTIMATORS, UNITS, Estimator, Pair, normalised, pairs
from peer_solvers import (  # noqa: F401  contenders of pre-convex bench, named "peers:lbfgs" etc.
    SOLVERS,
    TOL,
    Peer,
    calibration,
    ebal,
    lbfgs,
    logistic,
    newton_ways,
    trust_exact,
)
from pre_convex_lab.solvers.cases import Case, Truth
from pre_convex_lab.solvers.contenders import Answer
from pre_convex_lab.solvers.metrics import judge
from pre_convex_lab.solvers.sets import DEFAULT_SETS, load_set
from scale import isotropic
from stale import RESULTS, checksum, code_files
from storing import markdown_table, quote, store
from threadpoolctl import threadpool_limits

import pre_convex as pre
from pre_convex.penalties.norms import get_norm

#: largest moment error, in standard deviations, that is not a failure
FAR = 1e-3
#: seconds for one call, and for the repeats of one comparison
LIMIT, BUDGET = 20.0, 0.4
#: seconds for work around the timed call: imports, the engine, repeats
OVERHEAD_LIMIT = 120.0
#: seconds for one fit of two samples, cross-validation included
PAIR_LIMIT = 150.0
Row = dict[str, Any]
COLUMNS = ("kind", "problem", "n", "k", "peer", "way", "failure", "time", "moment", "correlation", "gap", "note")


# --- problems


def own_ground(quick: bool) -> Iterator[tuple[Case, np.ndarray]]:
    """Problems that peers are best at, with their known log ratio: many isotropic rows, and entropy balancing."""
    for n, k in ((2_000, 5),) if quick else ((20_000, 5), (200_000, 10), (500_000, 20)):
        b, F = isotropic(n, k)
        rng = np.random.default_rng(0)  # repeats the draws of isotropic(): features first, then delta
        rng.normal(size=(n, k))
        yield case_of(f"isotropic, n = {n:,}, k = {k}", b, F), F @ (rng.normal(size=k) / np.sqrt(k))
    for n in (500,) if quick else (500, 2_000, 20_000):
        for moments in ("means", "means and squares"):
            yield att(n, moments)


def att(n: int, moments: str) -> tuple[Case, np.ndarray]:
    """Controls reweighted to the treated, from the simulation of Kang and Schafer (2007); log ratio = logit."""
    rng = np.random.default_rng(n)
    z = rng.normal(size=(n, 4))
    logit = z @ np.array([-1.0, 0.5, -0.25, -0.1])
    treated = rng.random(n) < 1.0 / (1.0 + np.exp(-logit))
    F = z if moments == "means" else np.column_stack([z, np.square(z)])
    case = case_of(f"ATT, {moments}, n = {n:,}", F[treated].mean(axis=0), F[~treated])
    return case, logit[~treated]


def case_of(name: str, b: np.ndarray, F: np.ndarray) -> Case:
    """A case whose optimal value is newton's dual value at a sharp tolerance."""
    problem = pre.RatioProblem(b, F)
    return Case(name, problem, Truth.OPTIMAL, pre.solve(problem, tol=1e-10, check=False).dual_value)


def moment_problems(names: list[str], quick: bool) -> Iterator[tuple[str, Case, np.ndarray | None]]:
    """Kind, case and known log ratio, if there is one, of every problem in the named sets."""
    for name in names:
        if name == "own":
            yield from (("peers' own ground", case, known) for case, known in own_ground(quick))
            continue
        for case in load_set(name).cases:
            yield name, case, None if case.delta is None else case.problem.features_q @ case.delta


# --- judging an answer


def correlation(estimate: np.ndarray, known: np.ndarray, weights: np.ndarray) -> float:
    """Weighted correlation over rows where both are finite; nan if one is constant."""
    used = np.isfinite(estimate) & np.isfinite(known) & (weights > 0.0)
    if not used.any():
        return math.nan
    w = weights[used] / weights[used].sum()
    x, y = estimate[used] - w @ estimate[used], known[used] - w @ known[used]
    x, y = (v / (np.abs(v).max() or 1.0) for v in (x, y))
    size = math.sqrt(float(w @ x**2)) * math.sqrt(float(w @ y**2))
    return float(w @ (x * y)) / size if size > 0.0 else math.nan


def moment_error(problem: pre.RatioProblem, weights: np.ndarray) -> float:
    """Largest moment error beyond what the radius allows, in standard deviations under the base weights."""
    base, F = np.exp(problem.log_base), problem.features_q
    mean = base @ F
    spread = np.sqrt(base @ np.square(F - mean))
    size = np.abs(F).max(axis=0)
    spread = np.where(
        spread > 1e-12 * size, spread, np.where(size > 0.0, size, 1.0)
    )  # a constant column is measured by its size
    r = problem.target - (weights / weights.sum()) @ F
    if problem.radius:
        r = r - get_norm(problem.norm).project(r, problem.radius)
    return float(np.max(np.abs(r) / spread))


def judged(case: Case, known: np.ndarray | None, answer: Answer) -> Row:
    """Moment error, correlation, certified gap and failure of an answer to a moment problem."""
    problem = case.problem
    finite = answer.delta is not None and bool(np.all(np.isfinite(answer.delta)))
    if case.truth is Truth.INFEASIBLE:
        return {"failure": "claims an answer where there is none" if answer.claim == "optimal" else ""}
    if not finite:
        return {"failure": answer.claim if answer.claim != "optimal" else "numbers that are not finite"}
    weights = np.exp(problem.log_mu(answer.delta)) if answer.mu is None else answer.mu
    row: Row = {"moment": moment_error(problem, weights), "gap": judge(case, answer, TOL)[1]["gap"]}
    if known is not None:
        row["correlation"] = correlation(problem.features_q @ answer.delta, known, np.exp(problem.log_base))
    if answer.claim != "optimal" and not (case.truth is Truth.BOUNDARY and answer.claim == "boundary"):
        row["failure"] = answer.claim
    elif not row["moment"] <= FAR:
        row["failure"] = "moments far off"
    else:
        row["failure"] = ""
    return row


# --- processes and timing


def in_child(work: Callable[[], Iterator[Row]], limit: float) -> Row:
    """Row from a forked process; an exception, a signal or the time limit makes it a failure.

    ``work`` yields once when it is ready, then, within ``limit`` seconds, its result, and then additions to it.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        devnull = open(os.devnull, "w")  # noqa: SIM115  stays open until the process ends
        os.dup2(devnull.fileno(), 1)
        os.dup2(devnull.fileno(), 2)
        threadpool_limits(1)  # one thread for every peer, as in the solver benchmark
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                for part in work():
                    sender.send(part)
        except Exception as error:
            message = (str(error).strip() or "no message").splitlines()[0]
            sender.send({"failure": type(error).__name__, "note": message[:160]})

    process = context.Process(target=run, daemon=True)
    process.start()
    sender.close()
    row: Row = {}
    with contextlib.suppress(EOFError):
        for step in itertools.count():
            if not receiver.poll(limit if step == 1 else OVERHEAD_LIMIT):
                process.kill()
                row = {"failure": "time limit"} | row
                break
            row |= receiver.recv()
    process.join()
    return row if "failure" in row else {"failure": f"the process ended with {process.exitcode}"}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call takes, or the ``solve_time`` of its answer if that is set, and its result."""
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    return (result.solve_time or seconds if isinstance(result, Answer) else seconds), result


def in_turn(call: Callable[[], Any], unit: Callable[[], Any], first: float, budget: float) -> float:
    """Ratio of median times of a call and its unit, run alternately; a call longer than the budget is timed once."""
    units = [timed(unit)[0]]
    if max(first, units[0]) > budget:
        return first / statistics.median(units + [timed(unit)[0] for _ in range(2)])
    repeats = max(3, min(25, int(budget / max(first, units[0], 1e-3))))
    both = [(timed(call)[0], timed(unit)[0]) for _ in range(repeats)]
    return statistics.median(a for a, _ in both) / statistics.median(b for _, b in both)


def solve_once(case: Case, known: np.ndarray | None, peer: Peer, way: str, budget: float) -> Iterator[Row]:
    """Call a peer in one way on a case; runs in a child process."""
    call, unit = peer.ways(case.problem)[way], newton_ways(case.problem)[""]
    unit_time, _ = timed(unit)
    yield {}
    first, answer = timed(call)
    yield judged(case, known, answer) | {"time": first / unit_time}
    yield {"time": in_turn(call, unit, first, budget)}


def estimate_once(pair: Pair, kind: str, estimator: Estimator, budget: float) -> Iterator[Row]:
    """Run an estimator on two samples; runs in a child process."""
    import_module(estimator.module)
    unit = partial(UNITS[kind], pair)
    unit_time, _ = timed(unit)
    yield {}
    first, log_ratio = timed(partial(estimator.fit, pair))
    n = len(pair.x_q)
    base = np.full(n, 1.0 / n) if pair.log_lik_q is None else normalised(pair.log_lik_q)
    w = None if pair.log_lik_p is None else normalised(pair.log_lik_p)
    b = np.average(pair.x_p, axis=0, weights=w)
    zero = np.mean(log_ratio == -np.inf)
    row: Row = {"failure": "", "time": first / unit_time, "note": f"ratio 0 at {zero:.1%} of the rows" if zero else ""}
    if np.any(np.isnan(log_ratio) | (log_ratio == np.inf)):
        row["failure"] = "numbers that are not finite"
    else:
        weights = base * np.exp(log_ratio - log_ratio.max())
        row["moment"] = moment_error(pre.RatioProblem(b, pair.x_q, pair.log_lik_q), weights)
        row["correlation"] = correlation(log_ratio, pair.log_ratio, base)
        if math.isnan(row["correlation"]):
            row["note"] = "finds no difference: a constant ratio"
            row["correlation"] = 0.0
    yield row
    yield {"time": in_turn(partial(estimator.fit, pair), unit, first, budget)}


# --- the run


class Kept:
    """Rows of a run that was interrupted, and the file that new ones are added to; they are rows of this very code."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.rows = path, {}
        code = checksum(code_files(RESULTS["peers"].code))
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        if lines and json.loads(lines[0]) != code:
            raise SystemExit(f"{path}: rows of other code; delete the file")
        if path and not lines:
            self._add(code)
        for row in map(json.loads, lines[1:]):
            self.rows[row["kind"], row["problem"], row["peer"]] = row

    def get(self, facts: Row) -> Row | None:
        """The row of a problem and a peer, if an earlier run has it."""
        return self.rows.get((facts["kind"], facts["problem"], facts["peer"]))

    def add(self, row: Row) -> None:
        """Keep a new row."""
        if self.path and self.get(row) is None:
            self._add(row)

    def _add(self, line: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, default=float) + "\n")


def solver_rows(peers: list[Peer], names: list[str], quick: bool, kept: Kept) -> Iterator[Row]:
    """One row for every moment problem and peer: its best way."""
    for kind, case, known in moment_problems(names, quick):
        for peer in peers:
            facts = {"kind": kind, "problem": case.name, "n": case.problem.n_q, "k": case.problem.k, "peer": peer.name}
            if (before := kept.get(facts)) is not None:
                yield before
                continue
            if find_spec(peer.module) is None:
                yield facts | {"failure": "not installed"}
                continue
            ways = peer.ways(case.problem)
            if not ways:
                yield facts | {"failure": "cannot state it"}
                continue
            tried = []
            for way in list(ways)[: 2 if quick else None]:
                work = partial(solve_once, case, known, peer, way, 0.1 if quick else BUDGET)
                tried.append({"way": way} | in_child(work, LIMIT))
            best = min(tried, key=lambda row: (bool(row["failure"]), row.get("time", math.inf)))
            yield facts | best


def pair_rows(estimators: list[Estimator], quick: bool, kept: Kept) -> Iterator[Row]:
    """One row for every pair of samples and estimator."""
    for kind, pair in pairs(quick):
        for estimator in estimators:
            if kind not in estimator.kinds:
                continue
            n, d = pair.x_q.shape
            facts = {"kind": pair.kind, "problem": pair.name, "n": n, "k": d, "peer": estimator.name}
            if (before := kept.get(facts)) is not None:
                yield before
                continue
            if find_spec(estimator.module) is None:
                yield facts | {"failure": "not installed"}
                continue
            work = partial(estimate_once, pair, kind, estimator, 0.1 if quick else BUDGET)
            yield facts | in_child(work, PAIR_LIMIT)


#: reasons for not running a peer, which are not failures
NOT_RUN = ("not installed", "cannot state it")


def summary(rows: list[Row]) -> list[dict[str, str]]:
    """A line for every kind of problem and peer; times are over the runs without a failure, the rest over all runs."""
    lines = []
    for kind, peer in dict.fromkeys((row["kind"], row["peer"]) for row in rows):
        own = [row for row in rows if (row["kind"], row["peer"]) == (kind, peer)]
        run = [row for row in own if row["failure"] not in NOT_RUN]
        failed = Counter(row["failure"] for row in run if row["failure"])
        notes = [f"{words} ({count})" for words, count in failed.most_common(3)]
        notes += [f"{words}: {count}" for words in NOT_RUN if (count := sum(r["failure"] == words for r in own))]
        notes += sorted({row["note"] for row in run if row.get("note")})[:2]
        good = [row for row in run if not row["failure"]]
        lines.append({
            "problems": kind, "peer": peer, "run": str(len(run)), "failures": str(sum(failed.values())) if run else "",
            "time / newton": shown(median(good, "time")),
            "moment error": shown(worst(run, "moment", max), "e"),
            "correlation, median": shown(median(run, "correlation"), "c"),
            "worst": shown(worst(run, "correlation", min), "c"),
            "gap": shown(worst(run, "gap", max), "e"),
            "note": "; ".join(notes),
        })  # fmt: skip
    return lines


def summaries(rows: list[Row]) -> dict[str, list[dict[str, str]]]:
    """The two tables by their markers: moment problems, and ratios of two samples, which have no gap."""
    names = {one.name for one in ESTIMATORS}
    ratios = summary([row for row in rows if row["peer"] in names])
    for line in ratios:
        del line["gap"]
    return {"peers": summary([row for row in rows if row["peer"] not in names]), "peer-ratios": ratios}


def known(row: Row, name: str) -> bool:
    """Whether a row has a number in this column."""
    value = row.get(name, "")
    return value != "" and not math.isnan(value)


def worst(rows: list[Row], name: str, pick: Callable[..., float]) -> float | None:
    """``pick`` (max or min) of a column."""
    return pick((row[name] for row in rows if known(row, name)), default=None)


def median(rows: list[Row], name: str) -> float | None:
    """Median of a column."""
    values = [row[name] for row in rows if known(row, name)]
    return statistics.median(values) if values else None


def shown(value: float | None, kind: str = "t") -> str:
    """Format a time ("t"), an error ("e") or a correlation ("c")."""
    if value is None:
        return ""
    if kind == "e":
        return f"{value:.0e}"
    if kind == "c":
        return f"{value:.4f}" if value > 0.99 else f"{value:.2f}"
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def markdown(lines: list[dict[str, str]]) -> list[str]:
    """A table in Markdown."""
    head = list(lines[0])
    cells = [[line[c].replace("|", "/") for c in head] for line in lines]
    return markdown_table(head, cells)


def show(row: Row) -> None:
    """Print a row."""
    cells = [f"{shown(row.get('time')):>6}"]
    cells += [
        f"{shown(row.get(name), kind):>7}" for name, kind in (("moment", "e"), ("correlation", "c"), ("gap", "e"))
    ]
    words = "; ".join(filter(None, (row["failure"], row.get("note", ""), row.get("way", ""))))
    print(f"{row['kind'] + ': ' + row['problem']:56} {row['peer']:32} {' '.join(cells)}  {words}", flush=True)


def preload() -> None:
    """Import the peers, and what the engine imports lazily, once before forking."""
    logging.getLogger("absl").setLevel(logging.ERROR)
    for module in ("pandas", "sklearn.linear_model", "scipy.optimize", "empirical_calibration", "ebal", "densratio"):
        if find_spec(module.split(".")[0]):
            import_module(module)
    for case in load_set("smoke").cases:
        newton_ways(case.problem)[""]()


def store_tables(rows: list[Row], tables: dict[str, list[dict[str, str]]]) -> None:
    """Write the results file and the tables in README.md."""
    packages = ["pre_convex", "numpy", "scipy", "scikit-learn"]
    packages += [name for name in ("empirical_calibration", "ebal", "densratio", "adapt") if find_spec(name)]
    path = store("peers", rows, tuple(packages))
    for mark, lines in tables.items():
        quote("benchmarks/README.md", mark, markdown(lines))
    print(f"written: {path.name} and the tables in README.md")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", nargs="+", choices=[*DEFAULT_SETS, "smoke", "own", "pairs"], dest="sets", default=[])
    parser.add_argument(
        "--peer", nargs="+", metavar="WORD", default=[], help="only peers with one of these words in their names"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, as a smoke test")
    parser.add_argument("--keep", type=Path, help="file of rows, so that a run that was interrupted can go on")
    parser.add_argument("--store", action="store_true", help="write the results file and the tables in README.md")
    arguments = parser.parse_args()
    if arguments.store and (arguments.quick or arguments.sets or arguments.peer):
        parser.error("--store cannot be combined with --quick, --set or --peer")
    preload()
    sets = arguments.sets or (["smoke", "own", "pairs"] if arguments.quick else [*DEFAULT_SETS, "own", "pairs"])
    chosen = [[p for p in group if not arguments.peer or any(word in p.name for word in arguments.peer)]
              for group in (SOLVERS, ESTIMATORS)]  # fmt: skip
    rows: list[Row] = []
    kept = Kept(arguments.keep)
    parts = [solver_rows(chosen[0], [name for name in sets if name != "pairs"], arguments.quick, kept)]
    parts += [pair_rows(chosen[1], arguments.quick, kept)] if "pairs" in sets else []
    for part in parts:
        for row in part:
            kept.add(row)
            rows.append({name: row.get(name, "") for name in COLUMNS})
            show(row)
    tables = summaries(rows)
    for lines in tables.values():
        print("\n".join(["", *markdown(lines)]) if lines else "")
    if arguments.store:
        store_tables(rows, tables)


if __name__ == "__main__":
    main()
