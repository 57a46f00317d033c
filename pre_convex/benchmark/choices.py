"""What to run: sets, contenders and tolerances as they were asked for, checked before anything is run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..solvers import find_solver, installed_solvers
from .contenders import formulations_of
from .exchange import read_set
from .records import one_line
from .sets import TestSet, load_set

__all__ = ["contenders_of", "positive", "sets_of", "tolerances_of"]


def sets_of(sets: Sequence[str | Path | TestSet]) -> list[TestSet]:
    """The sets themselves, of different names."""
    if isinstance(sets, str | Path | TestSet):
        sets = (sets,)
    found = [_set(given) for given in sets]
    if not found:
        raise DataError("sets: there is none; name at least one")
    for what, names in (
        ("sets", [test_set.name for test_set in found]),
        *((f"sets: in {test_set.name}", [case.name for case in test_set.cases]) for test_set in found),
    ):
        for name in names:
            if names.count(name) > 1:
                raise DataError(f"{what}: {name!r} is there twice")
            if name != one_line(name) or not name:
                raise DataError(f"{what}: {name!r} is not a name of one short line")
    return found


def _set(given: str | Path | TestSet) -> TestSet:
    """A set that was given itself, by its folder or by its name."""
    if isinstance(given, TestSet):
        return given
    if isinstance(given, Path) or os.sep in given:
        return read_set(given)
    return load_set(given)


def contenders_of(solvers: Sequence[str] | None, formulations: Sequence[str] | None) -> list[tuple[str, str]]:
    """Pairs of solver and formulation, each once."""
    if isinstance(solvers, str):
        solvers = (solvers,)
    if isinstance(formulations, str):
        formulations = (formulations,)
    pairs: list[tuple[str, str]] = []
    offered: set[str] = set()
    for given in installed_solvers() if solvers is None else solvers:
        entry = None if isinstance(given, str) and ":" in given else find_solver(given)
        name = given if ":" in given else "newton" if entry is None else entry.name
        choice = formulations_of(name)
        offered |= set(choice)
        kept = choice if formulations is None or len(choice) == 1 else [one for one in choice if one in formulations]
        pairs += [(name, one) for one in kept]
    unknown = sorted(set(formulations or ()) - offered - {"primal", "dual", "both"})
    if unknown:
        raise DataError(f"formulations: {unknown[0]!r} is not known; use {', '.join(sorted(offered))}")
    if not pairs:
        raise DataError("solvers: none is left to run; name at least one, and a formulation it has")
    return list(dict.fromkeys(pairs))


def tolerances_of(tols: Sequence[float]) -> tuple[float, ...]:
    """Tolerances from loose to tight, each once."""
    found = sorted({positive("tols", tol) for tol in ([tols] if isinstance(tols, int | float) else tols)})
    if not found or found[-1] >= 1.0:
        raise DataError("tols: must be numbers between 0 and 1, at least one")
    return tuple(reversed(found))


def positive(name: str, value: Any) -> float:
    """A positive number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DataError(f"{name}: {value!r} is not a number") from None
    if not (isfinite(number) and number > 0.0):
        raise DataError(f"{name}: {value!r} is not a positive number")
    return number
