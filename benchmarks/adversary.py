"""Search for false certificates: an evolutionary search that maximises true gap / reported gap: ``make adversary``.

A genome describes data (offsets such as timestamps, Kelvin and years; units; depth of base weights; collinear columns;
a heavy row; where the target lies), the radius and norm, and the way to an answer. Ball arithmetic bounds the true gap
from below. One elite is kept for each way, norm and choice of radius, so that the search goes on elsewhere after its
first success. A ratio above 1 is a false certificate. ``--replay GENOME`` shows one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import cvxpy as cp
import numpy as np
from ball_judge import verdict
from hard_problems import NORMS, WAYS, Answer
from storing import markdown_table, store

import pre_convex as pre

Genome = dict[str, float]
Way = Callable[[pre.RatioProblem, np.random.Generator], list[Answer]]

#: genes and their ranges; a whole-number gene is rounded down
GENES: dict[str, tuple[float, float]] = {
    "seed": (0, 2**20),
    "rows": (0.5, 1.8),  # log10
    "columns": (1, 6),
    "origin": (0, 6),  # zero, years, kelvin, seconds or microseconds since 1970, any
    "offset": (-2, 15),  # log10, for any
    "offset_share": (0, 1),
    "whole": (0, 1),  # above ½: whole numbers before the offset
    "unit": (-6, 6),  # log10
    "unit_spread": (0, 6),
    "depth": (-2, 2.8),  # log10 of the spread of log base weights
    "heavy": (-60, 300),  # log weight of one row above the others
    "collinear": (-16, 6),  # log10 of the difference of two columns; above 0: none
    "constant": (0, 1),  # above 0.9: a constant column
    "close": (-17, 0),  # log10 of the target's distance from a row
    "tilt": (-2, 1.5),  # log10 of the strength of a tilt that makes the target
    "target": (0, 3),  # a mixture close to a row, a tilted mean, a mean of a resample
    "round": (0, 1),  # above 0.7: target rounded to 12 digits
    "radius": (-16, 0),  # log10, relative to the spread
    "relaxed": (0, 2),
    "norm": (0, 3),
    "way": (0, 1),  # scaled by the number of ways
}
ORIGINS = (0.0, 2000.0, 273.15, 1.7e9, 1.7e15)
#: log ratio that stands for an infinite one
ENDLESS = 350.0


def penalised(problem: pre.RatioProblem, rng: np.random.Generator) -> list[Answer]:
    """The user's own norm of δ as a penalty, whose truth is that of a radius in the dual norm."""
    strength = problem.radius or 1e-3 * float(np.ptp(problem.features_q, axis=0).max())
    order = {2.0: 2, np.inf: 1, 1.0: "inf"}[problem.norm]
    plain = problem.with_radius(0.0)
    solution = pre.solve(plain, penalty=lambda d: strength * cp.norm(d, order), check=False)
    status = solution.status.name if solution.status.name != "INFEASIBLE" else "INACCURATE"
    return [Answer(problem.with_radius(strength), solution.delta, solution.certificate, status)]


ALL_WAYS: dict[str, Way] = {**WAYS, "penalty": penalised}


def random_genome(rng: np.random.Generator) -> Genome:
    """Genes drawn from their ranges."""
    return {name: float(rng.uniform(low, high)) for name, (low, high) in GENES.items()}


def child(mother: Genome, father: Genome, rng: np.random.Generator) -> Genome:
    """Crossover of two genomes, then mutation: most genes move a little, some are drawn anew."""
    made = {}
    for name, (low, high) in GENES.items():
        value = (mother if rng.random() < 0.7 else father)[name]
        chance = rng.random()
        if chance < 0.1:
            value = rng.uniform(low, high)
        elif chance < 0.4:
            value += 0.05 * (high - low) * rng.normal()
        made[name] = float(np.clip(value, low, np.nextafter(high, low)))
    return made


def express(genome: Genome) -> tuple[pre.RatioProblem, np.random.Generator]:
    """The problem that a genome describes."""
    rng = np.random.default_rng(int(genome["seed"]))
    k = int(genome["columns"])
    n = max(int(10.0 ** genome["rows"]), k + 1)
    F = rng.normal(size=(n, k))
    if genome["whole"] > 0.5:
        F = np.round(10.0 * F)
    F = F * 10.0 ** (genome["unit"] + genome["unit_spread"] * rng.uniform(-1, 1, k))
    if k > 1 and genome["collinear"] < 0.0:
        F[:, -1] = F[:, 0] + 10.0 ** genome["collinear"] * np.abs(F[:, 0]).max() * rng.normal(size=n)
    origin = int(genome["origin"])
    offset = ORIGINS[origin] if origin < len(ORIGINS) else 10.0 ** genome["offset"]
    F = F + offset * (rng.random(k) < genome["offset_share"])
    if genome["constant"] > 0.9:
        F[:, 0] = F[0, 0]
    a = 10.0 ** genome["depth"] * rng.normal(size=n)
    a[rng.integers(n)] += max(genome["heavy"], 0.0)
    w = _weights(genome, F, a, rng)
    b = w @ (F - F[0]) + F[0]
    if genome["round"] > 0.7:
        b = np.array([float(f"{x:.12g}") for x in b])
    spread = float(np.ptp(F, axis=0).max()) or 1.0
    radius = spread * 10.0 ** genome["radius"] if genome["relaxed"] >= 1.0 else 0.0
    return pre.RatioProblem(b, F, a, radius=radius, norm=NORMS[int(genome["norm"])]), rng


def _weights(genome: Genome, F: np.ndarray, a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Weights of the rows in the target."""
    n, kind = len(F), int(genome["target"])
    if kind == 0:
        share = 10.0 ** genome["close"]
        w = share * rng.dirichlet(np.ones(n))
        w[rng.integers(n)] += 1.0 - share
    elif kind == 1:
        scale = np.where(F.std(axis=0) > 0.0, F.std(axis=0), 1.0)
        z = a + ((F - F.mean(axis=0)) / scale) @ (10.0 ** genome["tilt"] * rng.normal(size=F.shape[1]))
        w = np.exp(z - z.max())
    else:
        w = np.bincount(rng.integers(0, n, n), minlength=n).astype(float)
    return w / w.sum()


@dataclass
class Found:
    """What a search has found so far: counts by way, the elite of each cell, errors with their genomes."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    elites: dict[tuple[str, int, bool], tuple[float, float, Genome]] = field(default_factory=dict)
    errors: dict[str, Genome] = field(default_factory=dict)

    def merge(self, other: Found) -> None:
        """Take over what another search has found."""
        for way, counts in other.counts.items():
            self.counts[way] = self.counts.get(way, Counter()) + counts
        for cell, elite in other.elites.items():
            if cell not in self.elites or elite[0] > self.elites[cell][0]:
                self.elites[cell] = elite
        self.errors |= other.errors


def way_of(genome: Genome, ways: dict[str, Way]) -> str:
    """Name of the way that a genome takes."""
    return list(ways)[int(genome["way"] * len(ways))]


def evaluate(genome: Genome, ways: dict[str, Way], found: Found) -> tuple[float, float]:
    """(log10 of the worst true / reported gap, largest true − reported gap) over the answers; −inf without a claim."""
    way = way_of(genome, ways)
    counts = found.counts.setdefault(way, Counter())
    counts["problems"] += 1
    worst, excess = -math.inf, -math.inf
    try:
        problem, rng = express(genome)
        answers = ways[way](problem, rng)
    except pre.DataError:  # not a problem: refused when it was made
        counts["refused"] += 1
        return worst, excess
    except Exception as error:  # a bug, whatever it is
        counts["errors"] += 1
        found.errors.setdefault(f"{way}: {type(error).__name__}: {str(error)[:80]}", genome)
        return worst, excess
    for answer in answers:
        judged = verdict(answer)
        counts["answers"] += 1
        counts["proven"] += bool(answer.certificate.proves(1e-8))
        counts["false"] += judged.false
        counts["rounding"] += judged.rounding
        counts["undecided"] += judged.undecided
        if not np.isfinite(judged.reported):
            continue
        if judged.ratio > 0.0:
            worst = max(worst, min(math.log10(judged.ratio), ENDLESS) if judged.ratio < np.inf else ENDLESS)
        excess = max(excess, judged.least - judged.reported)
    return worst, excess


def search(seconds: float, seed: int, ways: dict[str, Way] | None = None, most: float = math.inf) -> Found:
    """Search until the time or the number of problems is used up."""
    ways = ways or ALL_WAYS
    rng, found, end, made = np.random.default_rng(seed), Found(), time.monotonic() + seconds, 0
    while time.monotonic() < end and made < most:
        parents = [genome for _, _, genome in found.elites.values()]
        if len(parents) < 2 or rng.random() < 0.2:
            genome = random_genome(rng)
        else:
            genome = child(parents[rng.integers(len(parents))], parents[rng.integers(len(parents))], rng)
        made += 1
        worst, excess = evaluate(genome, ways, found)
        cell = (way_of(genome, ways), int(genome["norm"]), genome["relaxed"] >= 1.0)
        if worst > found.elites.get(cell, (-math.inf,))[0]:
            found.elites[cell] = (worst, excess, genome)
    return found


def summary(found: Found) -> list[dict[str, object]]:
    """One row for each way: its counts, the worst ratio, and the genome that has it."""
    rows = []
    for way, counts in found.counts.items():
        elites = [elite for (name, _, _), elite in found.elites.items() if name == way]
        worst, excess, genome = max(elites, key=lambda elite: elite[0], default=(-math.inf, -math.inf, {}))
        columns = ("problems", "answers", "proven", "false", "rounding", "undecided", "refused", "errors")
        rows.append({
            "way": way,
            **{column: counts[column] for column in columns},
            "worst_ratio": "inf" if worst >= ENDLESS else f"{10.0**worst:.3g}",
            "excess": f"{excess:.1e}",
            "genome": json.dumps(genome),
        })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--replay", help="genome to show, as JSON")
    parser.add_argument("--store", action="store_true", help="write the results file")
    arguments = parser.parse_args()
    if arguments.replay:
        genome = json.loads(arguments.replay)
        problem, rng = express(genome)
        print(way_of(genome, ALL_WAYS), problem, problem.features_q, problem.target, problem.log_base, sep="\n")
        for answer in ALL_WAYS[way_of(genome, ALL_WAYS)](problem, rng):
            print(answer.status, answer.certificate)
            print(" ", verdict(answer))
            if np.all(np.isfinite(answer.delta)):
                print(" ", pre.verify(answer.problem, answer.delta))
        return
    found, workers = Found(), arguments.workers
    seeds = [1000 * arguments.seed + i for i in range(workers)]
    with ProcessPoolExecutor(workers) as pool:
        for part in pool.map(search, [60.0 * arguments.minutes] * workers, seeds):
            found.merge(part)
    rows = summary(found)
    for message, genome in found.errors.items():
        print("error", message, json.dumps(genome))
    for row in rows:
        if float(row["worst_ratio"]) > 1.0:
            print("worst", row["way"], row["worst_ratio"], row["genome"])
    shown = [name for name in rows[0] if name != "genome"]
    print("\n".join(markdown_table(shown, [[row[name] for name in shown] for row in rows])))
    if arguments.store:
        print(f"written: {store('adversary', rows, ('pre_convex', 'numpy', 'scipy', 'python-flint')).name}")


if __name__ == "__main__":
    main()
