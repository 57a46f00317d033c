"""Speed at scale and against other packages, as ratios within one run: ``make bench-scale``.

A task and its unit are timed alternately, so that a slow phase of the machine affects both; the median of their ratios
counts. There are two kinds of data: ``isotropic`` (standard normal columns, with a Hessian close to the identity, the
best case for L-BFGS-B) and ``correlated`` (mixed and skewed columns with scales from 0.1 to 10). Every solve has a
tolerance of 1e-9 on the certified gap. The other packages are in the dependency group ``peers``; rows of missing ones
say "not installed". ``guard.py`` measures the same rows at smaller sizes.

On a machine that others use, ``--processor`` takes the processor's time instead of the clock's, where all work is in
one process. Threads that wait for others would count, so set ``OPENBLAS_NUM_THREADS=1`` with it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import itertools
import json
import logging
import math
import operator
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from storing import markdown_table, quote, store

import pre_convex as pre

TOL = 1e-9
PASSES = "value-and-gradient passes"
FASTER = "times faster"
#: seconds and pairs of times for one comparison, and whether problems have the full sizes that the goals refer to
BUDGET, REPEATS, FULL = 40.0, 9, True
#: the clock of all times; the guard takes the processor's time, which other processes hardly change
CLOCK: Callable[[], float] = time.perf_counter
SIGNS = {"<=": operator.le, ">=": operator.ge, ">": operator.gt}
Row = dict[str, object]
COLUMNS = ("work", "measured", "unit", "aim", "met", "gap", "notes")


def isotropic(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Target and standard normal features of a problem whose δ has a length of about one."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, k))
    return pre.RatioProblem(np.zeros(k), F).gradient(rng.normal(size=k) / np.sqrt(k)), F


def correlated(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Target and features: mixed, slightly skewed, with scales from 0.1 to 10; ⟨δ,F⟩ has standard deviation 1."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, k))
    F += 0.3 * rng.exponential(size=(n, k))
    F = F @ (rng.normal(size=(k, k)) / np.sqrt(k) * np.geomspace(0.1, 10.0, k))
    delta = rng.normal(size=k) / F.std(axis=0)
    delta /= (F @ delta).std()
    return pre.RatioProblem(np.zeros(k), F).gradient(delta), F


def frozen(b: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, read-only: a pass over larger arrays than are copied would spend a third of its time on a checksum."""
    F.flags.writeable = False
    return b, F


KINDS = {"isotropic": isotropic, "correlated": correlated}


def seconds(task: Callable[[], object]) -> float:
    """Time of one run of the task."""
    start = CLOCK()
    task()
    return CLOCK() - start


def compare(
    task: Callable[[], object], unit: Callable[[], object], most: int | None = None, budget: float | None = None
) -> tuple[float, float]:
    """Times of the task and of its unit, run alternately as often as a budget of seconds allows: the median ratio.

    A unit that uses up the budget is timed once, between several runs of the task.
    """
    task()
    repeats, budget = most or REPEATS, budget or BUDGET
    if budget < math.inf:
        before, first = [seconds(task) for _ in range(3)], seconds(unit)
        repeats = int(min(repeats, budget / (before[-1] + first)))
        if repeats < 2:
            return statistics.median(before + [seconds(task) for _ in range(3)]), first
    pairs = [(seconds(task), seconds(unit)) for _ in range(repeats)]
    return sorted(pairs, key=lambda pair: pair[0] / pair[1])[len(pairs) // 2]


def ratio(task: Callable[[], object], unit: Callable[[], object], **options: float) -> float:
    """Median ratio of the times of the task and of its unit."""
    taken, base = compare(task, unit, **options)
    return taken / base


def row(work: str, value: float | None, unit: str, aim: str = "", gap: float | None = None, notes: str = "") -> Row:
    """One line of the table, which says whether a goal such as ``<= 4`` is met."""
    met = ""
    if value is not None and aim and FULL:
        sign, bound = aim.split()
        met = "yes" if SIGNS[sign](value, float(bound)) else "no"
    shown = (
        "" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"
    )
    return {"work": work, "measured": shown, "unit": unit, "aim": aim, "met": met,
            "gap": "" if gap is None else f"{gap:.1e}", "notes": notes}  # fmt: skip


def label(n: int, k: int, kind: str = "") -> str:
    """Size and kind of the data in words."""
    return f"n = {n:,}, k = {k}" + (f", {kind}" if kind else "")


def solve(problem: pre.RatioProblem, **terms: object) -> pre.Solution:
    """Solve to the tolerance of this benchmark."""
    return pre.solve(problem, tol=TOL, **terms)


# --- the engine against passes over the data


def passes(quick: bool) -> Iterator[Row]:
    """A solve without penalty."""
    yield from plain_rows(20_000 if quick else 1_000_000)


def plain_rows(n: int) -> Iterator[Row]:
    """A solve without penalty, with 20 and 50 columns."""
    for k, (kind, make) in itertools.product((20, 50), KINDS.items()):
        problem = pre.RatioProblem(*frozen(*make(n, k)))
        found = solve(problem)
        value = ratio(lambda p=problem: solve(p), lambda p=problem, d=found.delta: p.tilt(d))
        aim = "<= 4" if kind == "isotropic" else "<= 4.5"
        yield row(f"solve, {label(n, k, kind)}, R = 0", value, PASSES, aim, found.gap)


def penalties(quick: bool) -> Iterator[Row]:
    """A solve with penalties and constraints, and the work before and after it."""
    n, k = 100_000 if quick else 1_000_000, 20
    yield from penalty_rows(n)
    yield from constraint_rows(n)
    b, F = isotropic(n, k)
    problem = pre.RatioProblem(b, F)
    found = solve(problem)
    unit = partial(problem.tilt, found.delta)
    yield row(f"RatioProblem(b, F), {label(n, k)}", ratio(lambda: pre.RatioProblem(b, F), unit), PASSES)
    yield row(f"solution.mu, {label(n, k)}", ratio(found.weights, unit), PASSES)


def penalty_rows(n: int) -> Iterator[Row]:
    """A solve with a radius in each norm."""
    for k, (kind, make) in itertools.product((20, 50), KINDS.items()):
        plain = pre.RatioProblem(*frozen(*make(n, k)))
        unit = partial(plain.tilt, solve(plain).delta)
        for name, norm in NORMS.items():
            problem = plain.with_radius(0.05, norm=norm)
            value = ratio(partial(solve, problem), unit)
            yield row(f"solve, {label(n, k, kind)}, {name}", value, PASSES, "<= 5", solve(problem).gap)


NORMS = {
    "norm 2, R = 0.05": 2.0,
    "norm inf, R = 0.05 (an l1 penalty)": np.inf,
    "norm 1, R = 0.05 (an l-inf penalty)": 1.0,
}
#: constraints on delta, as a user writes them
CONSTRAINTS = {
    "delta >= 0": lambda delta: [delta >= 0],
    "sum(delta) = 0": lambda delta: [delta.sum() == 0],
}


def constraint_rows(n: int) -> Iterator[Row]:
    """A solve with a constraint on delta."""
    for k, (kind, make) in itertools.product((20, 50), KINDS.items()):
        problem = pre.RatioProblem(*frozen(*make(n, k)))
        unit = partial(problem.tilt, solve(problem).delta)
        for name, constraints in CONSTRAINTS.items():
            task = partial(solve, problem, constraints=constraints)
            yield row(f"solve, {label(n, k, kind)}, {name}", ratio(task, unit), PASSES, "<= 6", task().gap)


def single(quick: bool) -> Iterator[Row]:
    """Features in single precision."""
    yield from float32_rows(100_000 if quick else 1_000_000, 20)


def float32_rows(n: int, k: int) -> Iterator[Row]:
    """A solve with float32 features against one with float64 features, both built beforehand."""
    for kind, make in KINDS.items():
        b, F = make(n, k)
        double, half = pre.RatioProblem(b, F), pre.RatioProblem(b, F.astype(np.float32))
        found = solve(half)
        value = ratio(partial(solve, half), partial(solve, double))
        work = f"solve, float32 features against float64, {label(n, k, kind)}, R = 0"
        yield row(work, value, "x its time", "<= 0.6", found.gap)


def infeasible(quick: bool) -> Iterator[Row]:
    """A problem without solution, with more columns than rows."""
    yield from infeasible_rows(*((100, 200) if quick else (500, 1_000)), in_seconds=True)


#: singular value decompositions in the three seconds that are the goal: with one BLAS thread one took 0.15 s
INFEASIBLE_SVDS = 20


def infeasible_rows(n: int, k: int, in_seconds: bool) -> Iterator[Row]:
    """Proof that a radius of half the distance to the hull is too small, in norm inf.

    The ratio is to a singular value decomposition of the features by NumPy, which is work of the same order on the
    same numbers and does not change with the package.
    """
    rng = np.random.default_rng(0)
    F, b = rng.normal(size=(n, k)), 0.3 * rng.normal(size=k)
    distance = pre.minimal_radius(pre.RatioProblem(b, F, norm=np.inf)).radius
    problem = pre.RatioProblem(b, F, radius=0.5 * distance, norm=np.inf)
    found = solve(problem, check=False)
    if found.status is not pre.Status.INFEASIBLE:
        raise RuntimeError(f"the problem is infeasible, the answer is {found.status.name}")
    taken, unit = compare(partial(solve, problem, check=False), partial(np.linalg.svd, F, full_matrices=False))
    work = f"solve, infeasible, {label(n, k)}, norm inf"
    if in_seconds:
        yield row(work, taken, "s", "<= 3", notes=f"{taken / unit:.1f} singular value decompositions")
    else:
        yield row(work, taken / unit, "singular value decompositions", f"<= {INFEASIBLE_SVDS}")


def after(quick: bool) -> Iterator[Row]:
    """Work after a fit."""
    yield from summary_rows(100_000 if quick else 1_000_000, 20)


def summary_rows(n: int, k: int) -> Iterator[Row]:
    """The summary of a new fit of two samples of n rows each, since a fit keeps what it has computed."""
    rng = np.random.default_rng(0)
    x_p, x_q = 0.1 + rng.normal(size=(n, k)), rng.normal(size=(n, k))
    times = []
    for _ in range(5):
        fit = pre.PosteriorRatio().fit(x_p, x_q)
        unit = partial(fit.problem_.tilt, fit.solution_.delta)
        times.append((seconds(fit.summary), statistics.median(seconds(unit) for _ in range(3))))
    value = statistics.median(t / u for t, u in times)
    yield row(f"summary() of a fit, {label(n, k)}", value, PASSES, "<= 10", fit.solution_.gap)


# --- memory


def memory(quick: bool) -> Iterator[Row]:
    """Memory of a solve in memory."""
    yield from memory_rows(200_000 if quick else 1_000_000, 20)


def memory_rows(n: int, k: int) -> Iterator[Row]:
    """Peak of resident memory during a solve, beyond the data; every target has its own process."""
    for name in POSITIONS:
        found = child("memory", name, str(n), str(k))
        work = f"memory of a solve beyond the data, {label(n, k)}, {name}"
        if found is None:
            yield row(work, None, "failed", "<= 1.5")
        else:
            yield row(work, found["peak"], "x the data", "<= 1.5", notes=found["status"])


#: targets of the memory rows, all with a face of about 1 % of the rows on which the first feature is largest
POSITIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "inside the hull": lambda F, face: 0.9 * F.mean(axis=0) + 0.1 * F[face].mean(axis=0),
    "on a face": lambda F, face: np.append(F[:, 0].max(), F[face, 1:].mean(axis=0)),  # exactly, whatever the round-off
    "on a vertex": lambda F, face: F[np.argmax(F[:, 1])].copy(),
    "outside": lambda F, face: F[face].mean(axis=0) + np.eye(1, F.shape[1])[0],
}


def memory_child(name: str, n: str, k: str) -> Row:
    """Child process of ``memory_rows``."""
    rng = np.random.default_rng(0)

    def data(n: int, k: int) -> np.ndarray:
        F = rng.standard_normal(size=(n, k))
        np.minimum(F[:, 0], 2.3, out=F[:, 0])
        return F

    def solved(F: np.ndarray) -> pre.Solution:
        target = POSITIONS[name](F, np.flatnonzero(F[:, 0] == 2.3))
        reset_peak()
        return pre.solve(pre.RatioProblem(target, F), tol=TOL, check=False)

    solved(data(2_000, int(k)))  # loads what a solve loads
    F = data(int(n), int(k))
    reset_peak()
    start = resident()
    found = solved(F)
    return {"peak": (resident() - start) / (F.nbytes / 2**20), "status": found.status.name}


def reset_peak() -> None:
    """Make the peak of resident memory what is resident now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def growth(quick: bool) -> Iterator[Row]:
    """Exponent p when the time of a solve grows like the number of rows to the power p."""
    sizes, k = ((3_000, 30_000, 300_000) if quick else (100_000, 1_000_000, 10_000_000)), 10
    for kind, make in KINDS.items():
        b, F = make(sizes[-1], k)
        problems = [pre.RatioProblem(b, F[:n]) for n in sizes]
        gap = max([solve(problem).gap for problem in problems])
        times = [[seconds(lambda p=problem: solve(p)) for problem in problems] for _ in range(9)]
        medians = [statistics.median(column) for column in zip(*times, strict=True)]
        value = float(np.polyfit(np.log(sizes), np.log(medians), 1)[0])
        steps = " and ".join(f"{b / a:.1f}" for a, b in itertools.pairwise(medians))
        work = f"solve, from n = {sizes[0]:,} to {sizes[-1]:,}, k = {k}, {kind}"
        yield row(work, value, "exponent of n", "<= 1.05", gap, f"tenfold rows take {steps} times as long")


# --- against other packages


def objective(problem: pre.RatioProblem) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Value and gradient of [P] without its penalty, in plain NumPy."""
    F, a, b = problem.features_q, problem.log_base, problem.target

    def value_and_gradient(delta: np.ndarray) -> tuple[float, np.ndarray]:
        z = a + F @ delta
        top = z.max()
        w = np.exp(z - top)
        total = w.sum()
        return top + np.log(total) - b @ delta, (w @ F) / total - b

    return value_and_gradient


def lbfgs(problem: pre.RatioProblem, **options: float) -> Callable[[], object]:
    """L-BFGS-B on the same objective."""
    from scipy.optimize import minimize

    fun, start = objective(problem), np.zeros(problem.k)
    return lambda: minimize(fun, start, jac=True, method="L-BFGS-B", options=options)


#: options of L-BFGS-B: its defaults, and tolerances that reach the gap of the engine
DEFAULTS: dict[str, float] = {}
SHARP = {"ftol": 1e-15, "gtol": 1e-7, "maxiter": 5_000, "maxfun": 10_000}


def standardised(problem: pre.RatioProblem) -> pre.RatioProblem:
    """The same problem with columns of mean 0 and variance 1; constant columns are only centred."""
    mean, spread = problem.features_q.mean(axis=0), spreads(problem)
    return pre.RatioProblem((problem.target - mean) / spread, (problem.features_q - mean) / spread, problem.log_base)


def spreads(problem: pre.RatioProblem) -> np.ndarray:
    """Standard deviations of the columns, 1 for constant columns."""
    spread = problem.features_q.std(axis=0)
    return np.where(spread > 0.0, spread, 1.0)


def against_lbfgs(
    n: int, k: int, aim: str, faster: bool, most: int | None = None, kinds: tuple[str, ...] = tuple(KINDS),
    extra: str = "", same_gap: bool = False,
) -> Iterator[Row]:  # fmt: skip
    """Rows against L-BFGS-B with its defaults and with tolerances that reach the same gap.

    For the latter, correlated columns are standardised first, which is not timed. ``same_gap`` leaves out the former.
    """
    for kind in kinds:
        problem = pre.RatioProblem(*KINDS[kind](n, k))
        found, floor = solve(problem), pre.solve(problem, tol=1e-12, check=False).dual_value
        settings = {"scipy's defaults": (problem, DEFAULTS), "asked for 1e-9": (problem, SHARP)}
        if kind != "isotropic":  # without standardising it would take minutes
            settings.pop("asked for 1e-9")
            settings["asked for 1e-9, columns standardised"] = (standardised(problem), SHARP)
        if same_gap:
            settings.pop("scipy's defaults")
        for name, (theirs, options) in settings.items():
            fit, results = lbfgs(theirs, **options), []
            ours, peer = compare(partial(solve, problem), lambda fit=fit, r=results: r.append(fit()), most)
            result = results[0]
            notes = "timed once, " if len(results) == 1 else ""
            notes += f"it made {result.nfev} evaluations and left a gap of {theirs.value(result.x) - floor:.1e}"
            if not result.success:
                notes += f", and said {str(result.message).strip().rstrip(':').lower()!r}"
            value, unit = (peer / ours, FASTER) if faster else (ours / peer, "x its time")
            yield row(
                f"solve against L-BFGS-B ({name}), {label(n, k, kind)}{extra}", value, unit, aim, found.gap, notes
            )


def both_threadings(rows: Callable[..., Iterator[Row]]) -> Iterator[Row]:
    """Rows with BLAS threads and without: its threads waste time on small arrays and on a busy machine."""
    from threadpoolctl import threadpool_limits

    yield from rows()
    with threadpool_limits(1, "blas"):
        yield from rows(kinds=("isotropic",), extra=", one thread")


def small(quick: bool) -> Iterator[Row]:
    """Few rows against L-BFGS-B."""
    most = 5 if quick else 201
    yield from both_threadings(partial(against_lbfgs, 5_000, 10, "<= 1.0", faster=False, most=most))


def large(quick: bool) -> Iterator[Row]:
    """Many rows against L-BFGS-B."""
    n = 20_000 if quick else 1_000_000
    yield from both_threadings(partial(against_lbfgs, n, 20, ">= 2", faster=True))


def calibrations(problem: pre.RatioProblem) -> dict[str, Callable[[], tuple[np.ndarray, bool]]]:
    """Ways to call empirical_calibration for the same weights; equal base weights give it a better start."""
    import empirical_calibration as ec

    call = partial(
        ec.calibrate, problem.features_q, problem.target[None, :], objective=ec.Objective.ENTROPY,
        l2_norm=problem.radius,
    )  # fmt: skip
    base = np.exp(problem.log_base)
    ways = {"baseline_weights": partial(call, baseline_weights=base)}
    if np.ptp(problem.log_base) == 0.0:  # equal base weights are the default
        ways["as it is"] = call
    if problem.radius == 0.0:  # scaling the columns would change the ball
        ways |= {f"{name}, autoscale": partial(way, autoscale=True) for name, way in ways.items()}
    return ways


def against_calibration(n: int, k: int, aim: str) -> Iterator[Row]:
    """Rows against the fastest call that succeeds, or the fastest of all if none does."""
    work = "solve against empirical_calibration"
    if find_spec("empirical_calibration") is None:
        yield row(f"{work}, {label(n, k)}", None, "not installed", aim)
        return
    for kind, make in KINDS.items():
        problem = pre.RatioProblem(*make(n, k))
        found, spread = solve(problem), problem.features_q.std(axis=0)
        tried = []
        for name, call in calibrations(problem).items():
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                start = time.perf_counter()
                weights, success = call()
                taken = time.perf_counter() - start
            with np.errstate(all="ignore"):
                off = float(np.max(np.abs(weights @ problem.features_q - problem.target) / spread))
            tried.append((not (success and off < 1e-3), taken, name, off, call))
        failed, _, name, off, call = min(tried, key=lambda one: one[:2])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            ours, theirs = compare(lambda p=problem: solve(p), call, most=3)
        good = [one[2] for one in tried if not one[0]]
        notes = f"called {name}" if name.startswith("as it is") else f"called with {name}"
        notes += f", moments off by {off:.0e} standard deviations" if np.isfinite(off) else ""
        notes += ": every way to call it failed, this is the time until it gave up" if failed else ""
        notes += f"; {len(good)} of {len(tried)} ways to call it succeed" if good else ""
        yield row(f"{work}, {label(n, k, kind)}", theirs / ours, FASTER, aim, found.gap, notes)


def calibration(quick: bool) -> Iterator[Row]:
    """Many rows against empirical_calibration."""
    yield from against_calibration(20_000 if quick else 1_000_000, 20, ">= 30")


def wide(quick: bool) -> Iterator[Row]:
    """Many features against L-BFGS-B and empirical_calibration."""
    n, k = (1_000, 20) if quick else (20_000, 300)
    yield from both_threadings(partial(against_lbfgs, n, k, ">= 1", faster=True))
    yield from against_calibration(n, k, "> 1")


def cone(quick: bool) -> Iterator[Row]:
    """The same problem by CLARABEL, in its own process; with fewer rows if ten minutes are not enough."""
    for n in (2_000,) if quick else (100_000, 50_000, 20_000):
        found = child("cone", str(n), limit=600.0)
        if found is None:
            continue
        notes = f"{found['iterations']} iterations, {found['claim']}, gap {found['their_gap']:.1e}; "
        notes += f"translating the program for it takes {found['compile'] / found['ours']:.0f} solves more"
        if not quick and n < 100_000:
            notes += "; more rows took longer than ten minutes or ran out of memory"
        work = f"solve against CLARABEL, {label(n, 20, 'isotropic')}"
        yield row(work, found["theirs"] / found["ours"], FASTER, ">= 500", found["gap"], notes)
        return
    yield row("solve against CLARABEL", None, "no answer in ten minutes", ">= 500")


def cone_child(rows: str) -> Row:
    """Child process of ``cone``."""
    problem = pre.RatioProblem(*isotropic(int(rows), 20))
    fit = partial(solve, problem)
    found = fit()
    before = [seconds(fit) for _ in range(5)]
    theirs = pre.solve(problem, solver="CLARABEL", polish=False, check=False)
    ours = statistics.median(before + [seconds(fit) for _ in range(5)])
    return {
        "ours": ours, "theirs": theirs.solve_time, "compile": theirs.compile_time + theirs.setup_time,
        "gap": found.gap, "their_gap": theirs.gap, "iterations": theirs.iterations, "claim": theirs.claim,
    }  # fmt: skip


# --- many problems, files, clusters


def many(quick: bool) -> Iterator[Row]:
    """Problems with the same features, solved together and one by one."""
    yield from many_rows(*((10, 20_000, 20) if quick else (200, 100_000, 20)))


def many_rows(count: int, n: int, k: int) -> Iterator[Row]:
    """Problems with the same features and with uneven or flat base weights."""
    rng = np.random.default_rng(1)
    _, F = isotropic(n, k)
    likelihoods = [pre.Gaussian(y, precision=3.0) for y in 0.5 * rng.normal(size=(count, 3))]
    uneven = np.array([likelihood(F[:, :3]) for likelihood in likelihoods])
    share = np.exp(uneven).sum(axis=1) ** 2 / np.exp(2.0 * uneven).sum(axis=1) / n
    planted = rng.normal(size=(count, k)) / np.sqrt(k)
    cases = {
        "uneven base weights": (uneven, f"effective share of the rows {np.median(share):.2f}"),
        "flat base weights": (None, ""),
    }
    for name, (bases, notes) in cases.items():
        own = [None] * count if bases is None else list(bases)
        zero = np.zeros(k)
        targets = np.array([pre.RatioProblem(zero, F, a).gradient(d) for a, d in zip(own, planted, strict=True)])
        problems = [pre.RatioProblem(b, F, a) for b, a in zip(targets, own, strict=True)]
        together = partial(pre.solve_many, F, targets, bases, tol=TOL)

        def one_by_one(problems: list[pre.RatioProblem] = problems) -> list[pre.Solution]:
            return [solve(problem) for problem in problems]

        found, single = together(), one_by_one()
        away = max(float(np.abs(a - b.delta).max()) for a, b in zip(found.delta, single, strict=True))
        notes = [f"{int(np.sum(found.ok))} of {count} proven, delta within {away:.0e} of the single ones", notes]
        value = 1.0 / ratio(together, one_by_one, most=5)
        work = f"solve_many against a loop, {count} problems, {label(n, k)}, {name}"
        yield row(work, value, FASTER, ">= 4", float(np.max(found.gap)), "; ".join(filter(None, notes)))


def mapped(quick: bool, big: str | None) -> Iterator[Row]:
    """A file larger than the memory it may use."""
    shape = (300_000, 10) if quick else (50_000_000, 10)
    with tempfile.TemporaryDirectory() if big is None else contextlib.nullcontext() as folder:
        path = big or os.path.join(str(folder), "big.npy")
        if big is None:
            write(path, shape)
        shape = np.load(path, mmap_mode="r").shape
        found = child("mapped", path)
    name = f"a file of {label(*shape)}"
    if found is None:
        yield row(f"from_blocks and solve, {name}", None, "failed")
        return
    work = f"from_blocks and solve, {name}"
    notes = f"resident memory at its peak; {found['start']:.0f} MB after the imports"
    yield row(work, found["peak"], "MB", "<= 600", found["gap"], notes)
    notes = f"{found['reads']} reads of the file, the survey included, from the system's cache"
    yield row(work, found["ratio"], "of the passes it needs", "<= 1.5", found["gap"], notes)


def write(path: str, shape: tuple[int, int], rows: int = 500_000) -> None:
    """Write a file of standard normal numbers."""
    data = np.lib.format.open_memmap(path, mode="w+", dtype=float, shape=shape)
    rng = np.random.default_rng(0)
    for start in range(0, shape[0], rows):
        data[start : start + rows] = rng.normal(size=(min(rows, shape[0] - start), shape[1]))
    data.flush()


def mapped_child(path: str) -> Row:
    """Child process of ``mapped``."""
    from pre_convex.data.blocks import LocalBlocks

    with open(path, "rb") as file:  # fills the page cache
        while file.read(1 << 22):
            pass
    reads, map_reduce = [], LocalBlocks.map_reduce

    def counted(self: LocalBlocks, task: object, merge: object, which: list[int] | None = None) -> object:
        if which is None:
            reads.append(1)
        return map_reduce(self, task, merge, which)

    LocalBlocks.map_reduce = counted
    target = np.full(np.load(path, mmap_mode="r").shape[1], 0.25)

    def fit() -> tuple[pre.RatioProblem, pre.Solution]:
        problem = pre.RatioProblem.from_blocks(None, path, target=target)
        return problem, solve(problem)

    start = resident()
    problem, found = fit()
    peak, count = resident(), len(reads)
    task, unit = compare(fit, lambda: problem.tilt(found.delta), most=3, budget=120.0)
    return {"start": start, "peak": peak, "reads": count, "ratio": task / (count * unit), "gap": found.gap}


def resident() -> float:
    """Peak resident memory so far, in megabytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def dask(quick: bool) -> Iterator[Row]:
    """A pass by two workers of a local cluster, against a pass in threads over the same amount of data in memory."""
    n, k = (400_000 if quick else 10_000_000), 20
    work = f"a pass over a Dask array in two workers, {label(n, k)}"
    if find_spec("distributed") is None:
        yield row(work, None, "not installed", "<= 1.3")
        return
    import dask.array as da
    from dask.distributed import Client, LocalCluster, wait

    logging.getLogger("distributed").setLevel(logging.ERROR)
    target = np.full(k, 0.15)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    with LocalCluster(**options) as cluster, Client(cluster):
        x = da.random.default_rng(0).normal(size=(n, k), chunks=(min(n // 2, 500_000), k)).persist()
        wait(x)
        spread = pre.RatioProblem.from_blocks(None, x, target=target)
        found = solve(spread)
        local = pre.RatioProblem(target, np.random.default_rng(0).normal(size=(n, k)))
        value = ratio(lambda: spread.tilt(found.delta), lambda: local.tilt(found.delta), most=15)
    yield row(work, value, "passes in threads", "<= 1.3", found.gap)


def imports(quick: bool) -> Iterator[Row]:
    """Import times, in fresh interpreters."""
    unit = "import numpy, scipy.special, scipy.linalg"
    tasks = ["import pre_convex", "from pre_convex import RatioProblem, solve"]
    code = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"

    def once(what: str) -> float:
        done = subprocess.run([sys.executable, "-c", code.format(what)], capture_output=True, text=True, check=True)
        return float(done.stdout)

    times = [[once(what) for what in (*tasks, unit)] for _ in range(5 if quick else 15)]
    *medians, base = [statistics.median(column) for column in zip(*times, strict=True)]
    yield row(tasks[0], medians[0] / base, f"x {unit}", "<= 1.3", notes="names are loaded on first use")
    yield row(tasks[1], medians[1] / base, f"x {unit}")


ROWS = (
    *(passes, penalties, single, infeasible, after, memory, growth, small, calibration, large, cone, wide, many),
    *(mapped, dask, imports),
)
CHILDREN = {"cone": cone_child, "mapped": mapped_child, "memory": memory_child}


def child(name: str, *arguments: str, limit: float | None = None) -> Row | None:
    """Result of a fresh process; None if it exceeds the limit or fails."""
    command = [sys.executable, __file__, "--child", name, *arguments]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=limit, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return json.loads(done.stdout)


def run(names: list[str], quick: bool, big: str | None, processor: bool = False) -> list[Row]:
    """Measure the named rows, or all, and print them."""
    global CLOCK
    rows: list[Row] = []
    for make in ROWS:
        if names and make.__name__ not in names:
            continue
        CLOCK = time.process_time if processor and make not in (mapped, dask, imports) else time.perf_counter
        try:
            for found in make(quick, big) if make is mapped else make(quick):
                rows.append(found)
                show(found)
        except Exception as error:  # the other rows are still useful
            rows.append(row(make.__name__, None, f"failed: {type(error).__name__}: {str(error).splitlines()[0]}"))
            show(rows[-1])
    return rows


def headline(found: Row) -> bool:
    """Whether a row is shown in docs/scale.md: it has a goal, and L-BFGS-B has its best setting.

    That is its defaults on isotropic columns, and standardised columns on correlated ones.
    """
    work = str(found["work"])
    left_out = ("one thread", "(asked for 1e-9)", "(scipy's defaults), n = ") if "correlated" in work else (
        "one thread", "(asked for 1e-9)")  # fmt: skip
    return bool(found["aim"]) and not any(words in work for words in left_out)


def table(rows: list[Row], *columns: str) -> list[str]:
    """A table in Markdown, with the unit after each measured value."""
    cells = [[f"{r[c]} {r['unit']}" if c == "measured" else str(r[c]) for c in columns] for r in rows]
    return markdown_table(columns, cells)


def show(found: Row) -> None:
    """Print a row."""
    figures = f"{found['measured']:>7} {found['unit']:26} {found['aim']:8} {found['met']:3} {found['gap']:8}"
    print(f"{found['work']:78} {figures} {found['notes']}", flush=True)


#: mark of stored rows that a run did not reach
EARLIER = " (earlier engine)"


def taken(output: str, stored: list[Row]) -> list[Row]:
    """Stored rows with the figures that an interrupted run has printed; those that it did not reach are marked.

    ``output`` is what :func:`show` printed.
    """
    rows: list[Row] = []
    for old in stored:
        work = str(old["work"]).removesuffix(EARLIER)
        lines = [x for x in output.splitlines() if x.startswith(work + " ") and f" {old['unit']}" in x]
        line = lines[0] if lines else None
        if line is None:
            rows.append({**old, "work": work + EARLIER})
            continue
        measured, rest = line.removeprefix(work).strip().split(" ", 1)
        rest = rest.removeprefix(str(old["unit"])).strip().removeprefix(str(old["aim"])).strip()
        fields = {"met": r"(?:yes|no)\b", "gap": r"\d\.\de[-+]\d+"}
        new = {**old, "work": work, "measured": measured}
        for name, pattern in fields.items():
            found = re.match(pattern, rest)
            new[name] = found[0] if found else ""
            rest = rest[len(str(new[name])) :].strip()
        rows.append({**new, "notes": rest})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [make.__name__ for make in ROWS]
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=names, default=[], help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="small sizes, as a smoke test")
    parser.add_argument("--processor", action="store_true", help="the processor's time instead of the clock's")
    parser.add_argument("--big", metavar="FILE", help="a large .npy file of standard normal rows, instead of a new one")
    parser.add_argument("--store", action="store_true", help="write the results file and the tables on the pages")
    parser.add_argument("--take", metavar="FILE", type=Path, help="store what an interrupted run printed to this file")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(CHILDREN[arguments.child[0]](*arguments.child[1:])))
        return
    if arguments.store and (arguments.only or arguments.quick):
        parser.error("--store cannot be combined with --only or --quick")
    if arguments.quick:
        globals().update(BUDGET=1.0, FULL=False)
    if os.getloadavg()[0] > 0.3:
        print(
            f"the machine is busy (load {os.getloadavg()[0]:.1f}): figures are provisional, mainly for small problems"
        )
    if arguments.take:
        with (Path(__file__).parent / "results" / "scale.csv").open(newline="") as file:
            stored = [{name: line[name] for name in COLUMNS} for line in csv.DictReader(file)]
        rows = taken(arguments.take.read_text(encoding="utf-8"), stored)
    else:
        rows = run(arguments.only, arguments.quick, arguments.big, arguments.processor)
    if arguments.store or arguments.take:
        packages = ["pre_convex", "numpy", "scipy", "cvxpy", "clarabel", "dask"]
        packages += ["empirical_calibration"] if find_spec("empirical_calibration") else []
        path = store("scale", rows, tuple(packages))
        quote("benchmarks/README.md", "scale", table(rows, "work", "measured", "aim", "met", "gap", "notes"))
        quote("docs/scale.md", "scale", table([r for r in rows if headline(r)], "work", "measured", "aim", "met"))
        print(f"written: {path.name} and the tables on the pages")


if __name__ == "__main__":
    main()
