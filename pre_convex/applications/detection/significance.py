"""Significance of a score: what background alone would give, by simulation from the p prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import frozen
from ...entropy import Array
from ...errors import DataError

__all__ = ["Background"]


@dataclass(frozen=True, eq=False)
class Background:
    """Scores of simulated background pairs, sorted from the lowest.

    Examples
    --------
    >>> background = Background(np.arange(99.0))
    >>> background.p_values([98.5, 50.0]), background.threshold(0.05)
    (array([0.01, 0.5 ]), 94.0)
    """

    scores: Array

    def __post_init__(self) -> None:
        values = np.asarray(self.scores, dtype=float)
        if values.ndim != 1 or values.size == 0 or np.isnan(values).any():
            raise DataError("scores: must be numbers, at least one of them; nan cannot be ranked")
        object.__setattr__(self, "scores", frozen(np.sort(values)))

    def p_values(self, scores: Any) -> Array:
        """(1 + number of background scores at least as large) / (1 + number of background scores).

        Counting the score itself keeps the false-alarm rate right for every number of simulations.
        """
        values = np.asarray(scores, dtype=float)
        larger = len(self.scores) - np.searchsorted(self.scores, values, side="left")
        return np.where(np.isnan(values), np.nan, (1.0 + larger) / (1.0 + len(self.scores)))

    def threshold(self, rate: float = 0.05) -> float:
        """The score above which, and only above which, the p-value is at most ``rate``."""
        if not 0.0 < rate < 1.0:
            raise DataError(f"rate: {rate!r} is not between 0 and 1")
        allowed = int(np.floor(rate * (len(self.scores) + 1) * (1.0 + 1e-12))) - 1
        if allowed < 0:
            raise DataError(
                f"rate: {rate:g} is below 1/{len(self.scores) + 1}, the smallest p-value of {len(self.scores)} "
                f"simulations; use at least {int(np.ceil(1.0 / rate)) - 1} replicates"
            )
        return float(self.scores[-1 - allowed])
