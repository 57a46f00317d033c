"""Vibrations of two ventilation units (the ``hvac_system`` data of skchange): their runs, and pairs of windows."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from itertools import pairwise

import numpy as np

from ..entropy import Array, Index
from ..errors import MissingExtraError

__all__ = ["MINUTES", "WINDOW", "Pairs", "Regime", "cut_pairs", "find_runs", "read_unit"]

#: time points of a window; a run of unit 0 at its high level has 24
WINDOW = 8
#: time points left out at the start of a run, where the unit warms up, and at its end
WARM, END = 5, 1
#: minutes between time points; a longer gap ends a run
MINUTES = 10


@dataclass(frozen=True)
class Regime:
    """A level that a unit runs at, between two bounds."""

    name: str
    unit: int
    low: float
    high: float


def read_unit(unit: int) -> tuple[Array, Array]:
    """Days since the first measurement, and vibration, of one unit."""
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
    """Uninterrupted stretches within a regime, warm-up and end left out, long enough for two windows."""
    inside = (vibration > regime.low) & (vibration < regime.high)
    broken = (np.diff(inside.astype(int)) != 0) | (np.diff(days) > 1.5 * MINUTES / 1440.0)
    edges = [0, *(np.flatnonzero(broken) + 1), len(days)]
    runs = [slice(a + WARM, b - END) for a, b in pairwise(edges) if inside[a]]
    return [run for run in runs if run.stop - run.start >= 2 * WINDOW]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of windows that follow each other within a run, and the run of each."""

    before: Array
    after: Array
    run: Index

    def other_day(self, rng: np.random.Generator) -> Index:
        """For each pair, the number of a pair of another run: its second window is the other day's."""
        # runs of one day stand next to each other where a unit runs twice a day
        return np.array([rng.choice(np.flatnonzero(np.abs(self.run - run) > 1)) for run in self.run])


def cut_pairs(runs: Sequence[Array], step: int) -> Pairs:
    """All pairs of neighbouring windows of every run, ``step`` time points apart."""
    parts = [np.lib.stride_tricks.sliding_window_view(run, 2 * WINDOW)[::step] for run in runs]
    both = np.concatenate(parts)
    return Pairs(both[:, :WINDOW], both[:, WINDOW:], np.repeat(np.arange(len(parts)), list(map(len, parts))))
