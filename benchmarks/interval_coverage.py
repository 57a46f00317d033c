"""Simulated coverage of regions, intervals and tests: ``python benchmarks/interval_coverage.py``.

The settings and their true values are those of ``interval_settings.py``. The default was chosen on the first of them;
``--held-back`` judges it on the others. ``--store`` writes ``results/coverage.csv`` and the tables of
``docs/coverage.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable

import numpy as np
from interval_settings import Setting, settings
from storing import markdown_table, quote, store

import pre_convex as pre
from pre_convex.statistics.debias import debiased
from pre_convex.statistics.inference import Inference, Interval, infer
from pre_convex.statistics.selection import automatic_radius

#: quantities that are judged, with their kinds; the first of each is the default
KINDS: dict[str, tuple[str, ...]] = {
    "joint region": ("auto", "score", "hc3", "centred", "paper"),
    "coefficients": ("auto", "score", "hc3", "centred"),
    "log r": ("auto", "centred"),
    "divergence": ("auto", "centred"),
    "debiased coefficients": ("auto",),
    "automatic radius": ("auto",),
    "test of delta = 0 rejects": ("score", "Wald, auto", "Wald, centred"),
}
DEFAULTS = {"joint region", "coefficients", "log r", "divergence"}
GOAL, LEAST = (93.0, 97.0), 92.0
#: feature entries of a setting above which it is repeated less often, and by what factor
LARGE, FEWER = 100_000, 5
#: one in so many runs has all kinds
QUARTER = 4

Outcomes = dict[tuple[str, str], np.ndarray]


def inside(interval: Interval, truth: np.ndarray | float) -> np.ndarray:
    """Which intervals hold the true values."""
    return (interval.lower <= truth) & (truth <= interval.upper)


def outcomes(setting: Setting, rng: np.random.Generator, everything: bool) -> Outcomes | None:
    """What holds the truth in one run, by quantity and kind; ``None`` if the problem has no finite solution.

    ``everything`` includes other kinds than the default, and fits with a radius. Whether an interval of a coefficient
    holds a value is judged by the p-value of that value, which costs less than finding the limits.
    """
    problem, truth = setting.problem(rng), setting.truth
    solution = pre.solve(problem, check=False)
    if not solution.ok or solution.recession:
        return None
    found: Outcomes = {}
    for kind in ("auto", "score", "hc3", "centred", "paper") if everything else ("auto",):
        fit = Inference(problem, solution.delta, kind=kind)
        found["joint region", kind] = np.array([fit.contains(truth.delta)])
        if kind != "paper":
            found["coefficients", kind] = fit.p_values(truth.delta) >= 0.05
        if kind in KINDS["log r"]:
            found["log r", kind] = inside(fit.log_ratio(truth.points), truth.log_ratio)
            found["divergence", kind] = inside(fit.divergence(), truth.divergence)
            if setting.null:
                name = "test of delta = 0 rejects"
                found[name, f"Wald, {kind}"] = np.array([fit.wald_test().p_value < 0.05])
                found[name, "score"] = np.array([fit.score_test().p_value < 0.05])
    if everything:
        radius = automatic_radius(problem, draws=2000).radius
        score = np.linalg.norm(problem.gradient(truth.delta))
        found["automatic radius", "auto"] = np.array([score <= radius])
        one_step, _ = debiased(problem, pre.solve(problem.with_radius(radius)).delta)
        found["debiased coefficients", "auto"] = infer(one_step).p_values(truth.delta) >= 0.05
    return found


def run(runs: int, held_back: bool, only: str = "") -> list[dict[str, object]]:
    """Coverage in every setting, over ``runs`` samples each."""
    rows: list[dict[str, object]] = []
    for number, setting in enumerate(settings()):
        if setting.held_back != held_back or only not in setting.name:
            continue
        started, none = time.perf_counter(), 0
        hits: dict[tuple[str, str], list[np.ndarray]] = {}
        large = max(setting.n) * setting.truth.delta.size > LARGE
        count = max(runs // FEWER, 1) if large else runs
        for i in range(count):
            found = outcomes(setting, np.random.default_rng([2026, number, i]), i % QUARTER == 0)
            if found is None:
                none += 1
                continue
            for key, hit in found.items():
                hits.setdefault(key, []).append(hit)
        for (quantity, kind), found_in in hits.items():
            shares = 100.0 * np.mean(found_in, axis=0)
            rows.append({"setting": setting.name, "held_back": int(held_back), "quantity": quantity, "kind": kind,
                         "runs": len(found_in), "no_solution": none, "lowest": f"{shares.min():.2f}",
                         "mean": f"{shares.mean():.2f}", "highest": f"{shares.max():.2f}"})  # fmt: skip
        default = ", ".join(
            f"{row['quantity']} {span(row)}"
            for row in rows
            if row["setting"] == setting.name and row["kind"] == KINDS[str(row["quantity"])][0]
        )
        print(f"{setting.name}: {default}; no solution {none}, {time.perf_counter() - started:.0f} s", flush=True)
    return rows


def span(row: dict[str, object] | None) -> str:
    """Coverage as text: one number, or the lowest and highest of several intervals."""
    if row is None:
        return ""
    low, high = (f"{float(str(row[key])):.1f}" for key in ("lowest", "highest"))
    return low if low == high else f"{low}–{high}"


def outside(rows: Iterable[dict[str, object]]) -> list[str]:
    """Sentences about default intervals outside the goal."""
    low, high = GOAL
    found = []
    for row in rows:
        if row["quantity"] in DEFAULTS and row["kind"] == "auto":
            least, most = float(str(row["lowest"])), float(str(row["highest"]))
            if least < low or most > high:
                found.append(f"- {row['setting']}, {row['quantity']}: {span(row)} %")
    return found


def tables(rows: list[dict[str, object]]) -> list[str]:
    """The defaults in every setting; what is outside the goal; the other kinds."""
    found = {(row["setting"], row["quantity"], row["kind"]): row for row in rows}
    names = list(dict.fromkeys(str(row["setting"]) for row in rows))
    marks = {str(row["setting"]): " (held back)" if str(row["held_back"]) == "1" else "" for row in rows}
    nulls = {setting.name for setting in settings() if setting.null}

    def table(head: list[str], keys: list[tuple[str, str]], chosen: list[str]) -> list[str]:
        body = [[name + marks[name], *(span(found.get((name, *key))) for key in keys)] for name in chosen]
        return markdown_table(["setting", *head], body)

    ordinary = ["joint region", "coefficients", "log r", "divergence", "debiased coefficients", "automatic radius"]
    others = [(q, kind) for q in ("joint region", "coefficients") for kind in KINDS[q][1:]]
    tests = [("test of delta = 0 rejects", kind) for kind in KINDS["test of delta = 0 rejects"]]
    runs = max(int(str(row["runs"])) for row in rows)
    misses = outside(rows)
    return [
        f"Coverage in % of the defaults, {runs:,} runs for each setting and {runs // FEWER:,} for the largest;",
        "a quarter of them for the last two columns. A range is of the coefficients, or of log r at five points:",
        "",
        *table(ordinary, [(q, "auto") for q in ordinary], names),
        "",
        f"Outside {GOAL[0]:.0f}–{GOAL[1]:.0f} %, among the first four columns:",
        "",
        *(misses or ["none"]),
        "",
        "The other kinds, from a quarter of the runs:",
        "",
        *table([f"{kind}: {q}" for q, kind in others], others, names),
        "",
        "How often tests of δ = 0 at 5 % reject where δ = 0:",
        "",
        *table([kind for _, kind in tests], tests, [name for name in names if name in nulls]),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="settings whose names contain this")
    parser.add_argument("--held-back", action="store_true", help="run the settings that were held back too")
    parser.add_argument("--store", action="store_true", help="write the results file and the tables on the page")
    arguments = parser.parse_args()
    rows = run(arguments.runs, False, arguments.only)
    if arguments.held_back or arguments.store:
        rows += run(arguments.runs, True, arguments.only)
    print("\n".join(tables(rows)))
    if arguments.store:
        path = store("coverage", rows, ("pre_convex", "numpy", "scipy"))
        quote("docs/coverage.md", "coverage", tables(rows))
        print(f"written: {path.name} and the tables of docs/coverage.md")


if __name__ == "__main__":
    main()
