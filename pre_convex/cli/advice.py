"""Infeasible fits on the command line: the advice of the error as options."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import InfeasibleError, PreConvexWarning, SolveError

if TYPE_CHECKING:
    from ..estimators.report import Report

__all__ = ["advising_options", "without_python", "without_warnings"]


@contextmanager
def without_warnings() -> Iterator[None]:
    """No Python warnings inside: the summary prints them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreConvexWarning)
        yield


def without_python(report: Report) -> Report:
    """A summary without advice that only Python users can follow."""
    notes = tuple((name, text.removesuffix(", or fit.debiased()")) for name, text in report.notes)
    return replace(report, notes=notes)


@contextmanager
def advising_options(*others: str, each: bool = False) -> Iterator[None]:
    """Turn an :class:`InfeasibleError` inside into one whose remedies are options of a command.

    Parameters
    ----------
    *others : str
        Remedies that do not depend on the error.
    each : bool, default False
        Whether the command applies its radius to each feature, so that the largest of several advised ones is enough.
    """
    try:
        yield
    except InfeasibleError as error:
        facts, _, remedies = str(error).partition(" Remedies: ")
        advised = [one["radius"] for one in error.advice if "radius" in one]
        radii = [max(radius.values()) if each and isinstance(radius, dict) else radius for radius in advised]
        options = [f"--radius {radius}" for radius in radii if isinstance(radius, str | float)]
        options += [f"--max-weight {one['max_weight']:g}" for one in error.advice if "max_weight" in one]
        texts = [f"pass {' or '.join(options)}"] if options else []
        if error.drop and f"drop {error.drop[0]}" in remedies:  # several columns may belong to one of categories
            names = dict.fromkeys(name.split("=")[0] for name in error.drop)
            texts.append(f"pass --exclude {','.join(names)}")
        raise SolveError(f"{facts} Remedies: {'; '.join([*texts, *others])}.", error.solution) from error
