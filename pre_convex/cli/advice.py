"""Infeasible fits on the command line: the advice of the error as options."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import InfeasibleError, PreConvexWarning, SolveError

__all__ = ["advising_options", "without_warnings"]


@contextmanager
def without_warnings() -> Iterator[None]:
    """No Python warnings inside: the summary prints them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreConvexWarning)
        yield


@contextmanager
def advising_options() -> Iterator[None]:
    """Turn an :class:`InfeasibleError` inside into one whose remedies are options of a command."""
    try:
        yield
    except InfeasibleError as error:
        facts, _, remedies = str(error).partition(" Remedies: ")
        radii = [one["radius"] for one in error.advice if isinstance(one["radius"], str | float)]
        options = [f"--radius {radius}" for radius in radii]
        texts = [f"pass {' or '.join(options)}"] if options else []
        if error.drop and f"drop {error.drop[0]}" in remedies:  # several columns may belong to one of categories
            names = dict.fromkeys(name.split("=")[0] for name in error.drop)
            texts.append(f"pass --exclude {','.join(names)}")
        texts.append("add rows of Q where those of P are")
        raise SolveError(f"{facts} Remedies: {'; '.join(texts)}.", error.solution) from error
