"""The test sets, each one file; adding one is a file and its name here.

A set is a module with ``TITLE``, a line that says what it tries, ``VERSION``, which changes whenever a case does, and
``cases()``, a generator of :class:`Case` that gives the same problems every time.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from ...errors import DataError
from ..case import Case

__all__ = ["DEFAULT_SETS", "SETS", "TestSet", "load_set"]

DEFAULT_SETS = ("easy", "peaked", "boundary", "scaling", "heavy", "sparse", "radius", "real")
SETS = (*DEFAULT_SETS, "smoke")


@dataclass(frozen=True, eq=False)
class TestSet:
    """A named collection of cases."""

    __test__ = False  # for pytest, which collects classes of such names

    name: str
    title: str
    version: int
    cases: tuple[Case, ...]


def load_set(name: str) -> TestSet:
    """Make the set of a name.

    Examples
    --------
    >>> [case.truth.value for case in load_set("smoke").cases]
    ['optimal', 'optimal', 'boundary', 'infeasible']
    """
    if name not in SETS:
        raise DataError(f"set: {name!r} is not known; use {', '.join(SETS)}, or a folder that holds a set")
    module = import_module(f"{__name__}.{name}")
    return TestSet(name, module.TITLE, module.VERSION, tuple(module.cases()))
