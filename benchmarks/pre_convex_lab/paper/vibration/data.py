"""The ``hvac_system`` data of skchange: vibrations of two ventilation units, cut into runs and pairs of windows."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from itertools import pairwise

import numpy as np

from pre_convex._internal.typing import Array, Index
from pre_convex.errors import MissingExtraError

__all__ = ["MINUTES", "WINDOW", "Pairs", "Regime", "cut_pairs", "find_runs", "read_unit"]

#: time points of a window; a run of unit 0 at its high level has 24 time points
WINDOW = 8
#: time points dropped at the start of a run, while the unit warms up, and at its end
WARM, END = 5, 1
#: minutes between time points; a longer gap ends a run
MINUTES = 10


@dataclass(frozen=True)
class Regime:
    """A level at which a unit runs, between two bounds."""

    name: str
    unit: int
    low: float
    high: float


def read_unit(unit: int) -> tuple[Array, Array]:
    """Time in days since the first measurement, and vibration, of one unit."""
    try:
        path = files("skchange") / "datasets" / "data" / "hvac_system" / "data.csv"
    except ModuleNotFoundError:
        raise MissingExtraError("skchange", "experiments") from None
    with path.open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if int(row["unit_id"]) == unit]
    times = [datetime.fromisoformat(row["time"]) for row in rows]
    days = np.array([(time - times[0]).total_seconds() / 86_400.0 for time in times])
    return days, np.array([float(row["vibration"]) for row in rows])


def find_runs(regime: Regime, days: Array, vibration: Array) -> list[slice]:
    """Uninterrupted runs within a regime, without warm-up and end, that are long enough for two windows."""
    inside = (vibration > regime.low) & (vibration < regime.high)
    broken = (np.diff(inside.astype(int)) != 0) | (np.diff(days) > 1.5 * MINUTES / 1440.0)
    edges = [0, *(np.flatnonzero(broken) + 1), len(days)]
    runs = [slice(a + WARM, b - END) for a, b in pairwise(edges) if inside[a]]
    return [run for run in runs if run.stop - run.start >= 2 * WINDOW]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of successive windows within a run, and the number of the run."""

    before: Array
    after: Array
    run: Index

    def other_day(self, rng: np.random.Generator) -> Index:
        """For each pair, the index of a random pair from another day."""
        # runs with successive numbers may be of the same day
        return np.array([rng.choice(np.flatnonzero(np.abs(self.run - run) > 1)) for run in self.run])


def cut_pairs(runs: Sequence[Array], step: int) -> Pairs:
    """Pairs of successive windows of every run, starting every ``step`` time points."""
    by_run = [np.lib.stride_tricks.sliding_window_view(run, 2 * WINDOW)[::step] for run in runs]
    both = np.concatenate(by_run)
    return Pairs(both[:, :WINDOW], both[:, WINDOW:], np.repeat(np.arange(len(by_run)), list(map(len, by_run))))
