"""Simulated background: pairs of windows without a signal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import called
from ...entropy import Array, Index
from ...errors import DataError
from ...rng import as_generator
from .posteriors import Priors
from .windows import same_shape

__all__ = ["Draw", "Simulated", "draw_pairs", "halve_pairs"]

#: (x, rng) → observations of the sequences x
Draw = Callable[[Array, np.random.Generator], Any]


@dataclass(frozen=True, eq=False)
class Simulated:
    """Pairs of windows as flat rows, and the rows of the p prior that they come from, if they do."""

    Y_p: Array
    Y_q: Array
    left_out: Index | None


def draw_pairs(priors: Priors, draw: Draw | None, replicates: int, rng: Any, reference: Array | None) -> Simulated:
    """Observations of two sequences of the p prior for each pair, or of one beside the reference."""
    x, rng = priors.p.x, as_generator(rng)
    if len(x) < 4:
        raise DataError("prior_p: at least 4 rows are needed to simulate from")
    first = rng.integers(0, len(x), replicates)
    second = (first + rng.integers(1, len(x), replicates)) % len(x)
    Y_p, Y_q = (_observe(priors, draw, x[rows], rng) for rows in (first, second))
    if reference is None:
        return Simulated(Y_p, Y_q, np.column_stack([first, second]))
    return Simulated(np.broadcast_to(reference, Y_p.shape), Y_q, second[:, None])


def halve_pairs(priors: Priors, draw: Draw | None, replicates: int, rng: Any, pairs: Any) -> Simulated:
    """Observations of both halves of sequences that are two windows long; each is used before one is used again."""
    doubled, rng = replace(priors.shape, window=2 * priors.shape.window), as_generator(rng)
    x = same_shape(pairs, "pairs", doubled, "a pair of windows")
    x = x[np.resize(rng.permutation(len(x)), replicates)]
    Y_p, Y_q = (_observe(priors, draw, half, rng) for half in np.split(x, 2, axis=1))
    return Simulated(Y_p, Y_q, None)


def _observe(priors: Priors, draw: Draw | None, x: Array, rng: np.random.Generator) -> Array:
    """Noisy observations of sequences."""
    if draw is None:
        return priors.observation.draw(x, rng)
    made = same_shape(called(draw, "draw", priors.shape.full(x), rng), "draw", priors.shape, "prior_p")
    if len(made) != len(x):
        raise DataError(f"draw: returned {len(made)} observations of {len(x)} sequences; return one of each")
    return made
