"""Random numbers from ``rng=``, as agreed by the scientific Python packages (SPEC 7).

No function of the package reads or changes the global state of ``np.random``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ..errors import DataError
from .validation import preview

__all__ = ["Rng", "as_generator", "as_seed", "spawn_generators", "storable_seed"]

#: what ``rng=`` accepts; ``None`` takes fresh entropy from the operating system
Rng: TypeAlias = int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None


def as_generator(rng: Any, name: str = "rng") -> np.random.Generator:
    """Generator seeded by ``rng``; a generator is returned itself, so that drawing advances it.

    Examples
    --------
    >>> as_generator(3).integers(100) == as_generator(np.random.default_rng(3)).integers(100)
    np.True_
    >>> as_generator(np.random.RandomState(3))
    Traceback (most recent call last):
    pre_convex.errors.DataError: rng: RandomState is NumPy's legacy interface; pass numpy.random.default_rng(seed)
    """
    if isinstance(rng, np.random.RandomState) or rng is np.random:
        raise DataError(name, "RandomState is NumPy's legacy interface", "pass numpy.random.default_rng(seed)")
    known = (np.random.SeedSequence, np.random.BitGenerator, np.random.Generator)
    if not (rng is None or isinstance(rng, known) or _is_seed(rng)):
        several = isinstance(rng, (Sequence, np.ndarray)) and not isinstance(rng, (str, bytes)) and np.ndim(rng) == 1
        if not several or len(rng) == 0 or not all(map(_is_seed, rng)):
            raise DataError(
                name,
                f"{preview(rng)} is not a seed",
                "pass an int of at least 0, a sequence of them, None, or a numpy.random.Generator",
            )
    return np.random.default_rng(rng)


def as_seed(rng: Any, name: str = "rng") -> Any:
    """Seed that several tasks can start from: the one that is passed, or one drawn from a generator.

    Examples
    --------
    >>> as_seed(3), as_seed(np.random.default_rng(3)) == as_seed(np.random.default_rng(3))
    (3, True)
    """
    generator = as_generator(rng, name)
    if rng is None or isinstance(rng, (np.random.BitGenerator, np.random.Generator)):
        return int(generator.integers(2**63))
    return rng


def spawn_generators(rng: Any, count: int, name: str = "rng") -> list[np.random.Generator]:
    """One independent generator per task; it does not depend on which worker runs the task, or when."""
    generator = as_generator(rng, name)
    try:
        return list(generator.spawn(count))
    except TypeError:  # its bit generator was not made from a seed sequence
        return [np.random.default_rng(seed) for seed in generator.integers(2**63, size=(count, 2))]


def storable_seed(rng: Any) -> Any:
    """Seed as an int or a list of ints, for files; ``None`` for generators and other states."""
    if rng is None or isinstance(rng, (np.random.SeedSequence, np.random.BitGenerator, np.random.Generator)):
        return None
    return int(rng) if isinstance(rng, (int, np.integer)) else [int(entry) for entry in rng]


def _is_seed(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 0)
