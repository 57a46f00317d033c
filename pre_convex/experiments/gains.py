"""Scores of ruptures for pairs of windows: how much better two segments fit than one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..entropy import Array
from ..errors import MissingExtraError
from ..threads import quietly
from .hvac import WINDOW

__all__ = ["load_ruptures", "split_gains"]


def split_gains(variance: float) -> dict[str, Callable[[Array, Array], Array]]:
    """How much better two segments fit than one, by costs of ruptures: the score of its sliding window."""
    costs = load_ruptures().costs
    with quietly(UserWarning):  # CostNormal tells of a change in version 1.1.5
        # the kernel's width by the median of (y_s − y_t)² of background, as ruptures finds it in a series
        made = {"l2": costs.CostL2(), "normal": costs.CostNormal(), "rbf": costs.CostRbf(1.0 / (0.91 * variance))}

    def gains(cost: Any, y_p: Array, y_q: Array) -> Array:
        series = np.concatenate([y_p, y_q], axis=1)
        found = []
        for pair in series:
            cost._gram = None  # CostRbf keeps the kernel of the first signal it sees
            cost.fit(pair[:, None])
            found.append(cost.error(0, 2 * WINDOW) - cost.error(0, WINDOW) - cost.error(WINDOW, 2 * WINDOW))
        return np.array(found)

    return {f"ruptures, {name}": partial(gains, cost) for name, cost in made.items()}


def load_ruptures() -> Any:
    """The package ruptures."""
    try:
        return importlib.import_module("ruptures")
    except ModuleNotFoundError:
        raise MissingExtraError("ruptures", "experiments") from None
