"""The test sets, one module each. To add one, write the module and add its name to ``DEFAULT_SETS`` or ``SETS``.

A module has ``TITLE``, one line on what the set tests; ``VERSION``, to be raised whenever a case changes; and
``cases()``, a generator of :class:`Case` that yields the same problems every time.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from pre_convex.errors import DataError

from ..cases import Case

__all__ = ["DEFAULT_SETS", "SETS", "TestSet", "load_set"]

DEFAULT_SETS = ("easy", "peaked", "boundary", "scaling", "heavy", "sparse", "radius", "real")
SETS = (*DEFAULT_SETS, "smoke")


@dataclass(frozen=True, eq=False)
class TestSet:
    """A named collection of cases.

    Attributes
    ----------
    name : str
        Name that ``--set`` and the report use.
    title : str
        One line on what the set tests.
    version : int
        Raised whenever a case changes.
    cases : tuple of Case
        The problems, with unique names.
    """

    __test__ = False  # or pytest would collect it

    name: str
    title: str
    version: int
    cases: tuple[Case, ...]


def load_set(name: str) -> TestSet:
    """Build one of the sets in ``SETS``.

    Parameters
    ----------
    name : str
        Such as ``"boundary"``. For a set on disk use :func:`read_set`.

    Returns
    -------
    TestSet

    Examples
    --------
    >>> [case.truth.value for case in load_set("smoke").cases]
    ['optimal', 'optimal', 'boundary', 'infeasible']
    """
    if name not in SETS:
        raise DataError("set", f"{name!r} is not a known set", f"use {', '.join(SETS)}, or the folder of a set")
    module = import_module(f"{__name__}.{name}")
    return TestSet(name, module.TITLE, module.VERSION, tuple(module.cases()))
