"""Where random numbers come from: ``rng=``, as the scientific Python packages agreed on (SPEC 7).

No function of the package reads or moves the global state of ``np.random``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .arrays import shown
from .errors import DataError

__all__ = ["Rng", "as_generator", "as_seed", "plain_seed", "spawned"]

#: what ``rng=`` takes; ``None`` asks the operating system for numbers that no other run has
Rng: TypeAlias = int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None

TAKEN = "pass a whole number of at least 0, several of them, None, or a numpy.random.Generator"


def as_generator(rng: Any, name: str = "rng") -> np.random.Generator:
    """The generator that ``rng`` stands for; one that is passed is used itself, so that it moves on.

    Examples
    --------
    >>> as_generator(3).integers(100) == as_generator(np.random.default_rng(3)).integers(100)
    np.True_
    >>> as_generator(np.random.RandomState(3))
    Traceback (most recent call last):
    pre_convex.errors.DataError: rng: RandomState is NumPy's old interface; pass numpy.random.default_rng(seed)
    """
    if isinstance(rng, np.random.RandomState) or rng is np.random:
        raise DataError(f"{name}: RandomState is NumPy's old interface; pass numpy.random.default_rng(seed)")
    known = (np.random.SeedSequence, np.random.BitGenerator, np.random.Generator)
    if not (rng is None or isinstance(rng, known) or _whole(rng)):
        several = isinstance(rng, (Sequence, np.ndarray)) and not isinstance(rng, (str, bytes)) and np.ndim(rng) == 1
        if not several or len(rng) == 0 or not all(map(_whole, rng)):
            raise DataError(f"{name}: {shown(rng)} is no seed; {TAKEN}")
    return np.random.default_rng(rng)


def as_seed(rng: Any, name: str = "rng") -> Any:
    """A seed for work whose parts all start from it: the one that is passed, or one drawn from a generator.

    Examples
    --------
    >>> as_seed(3), as_seed(np.random.default_rng(3)) == as_seed(np.random.default_rng(3))
    (3, True)
    """
    generator = as_generator(rng, name)
    if rng is None or isinstance(rng, (np.random.BitGenerator, np.random.Generator)):
        return int(generator.integers(2**63))
    return rng


def spawned(rng: Any, count: int, name: str = "rng") -> list[np.random.Generator]:
    """Generators for parts of the work, by their number, whoever does them and in whatever order."""
    generator = as_generator(rng, name)
    try:
        return list(generator.spawn(count))
    except TypeError:  # its bit generator was not made from a seed sequence
        return [np.random.default_rng(seed) for seed in generator.integers(2**63, size=(count, 2))]


def plain_seed(rng: Any) -> Any:
    """The seed as plain data, or ``None`` where it is more than whole numbers and cannot be written down."""
    if rng is None or isinstance(rng, (np.random.SeedSequence, np.random.BitGenerator, np.random.Generator)):
        return None
    return int(rng) if isinstance(rng, (int, np.integer)) else [int(part) for part in rng]


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 0)
