"""What the rows of a run add up to: success, false claims, accuracy, and where each contender stops being right.

A contender is a solver in a formulation. Everything here is a function of rows alone, and every result is a small
record that a table shows as it is. Times have a file of their own, :mod:`pre_convex.benchmark.timing`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..entropy import Array
from .case import Truth
from .metrics import SAYS_NONE, Verdict
from .records import Row
from .sets import SETS

__all__ = [
    "ALL",
    "Accuracy",
    "FalseClaims",
    "Stop",
    "Success",
    "accuracies",
    "condense",
    "contender_of",
    "contenders",
    "false_claims",
    "groups",
    "select",
    "stops",
    "successes",
    "tols",
]

#: name of all sets together
ALL = "all sets"
#: an optimal claim is grossly wrong when the gap is this many tolerances or more
GROSS = 100.0
#: claims of an answer
SAYS_OPTIMAL = ("optimal", "boundary")
FORMULATIONS = ("both", "primal", "dual")


def contender_of(row: Row) -> str:
    """Solver and formulation in words, such as ``"CLARABEL dual"``; the solver alone where it has no two."""
    return row.solver if row.formulation == "both" else f"{row.solver} {row.formulation}"


def contenders(rows: Iterable[Row]) -> tuple[str, ...]:
    """Everybody who took part, solvers in alphabetical order, the primal before the dual."""

    def place(row: Row) -> tuple[str, int, str]:
        known = row.formulation in FORMULATIONS
        return row.solver.lower(), FORMULATIONS.index(row.formulation) if known else 3, row.formulation

    return tuple(dict.fromkeys(map(contender_of, sorted(rows, key=place))))


def groups(rows: Iterable[Row]) -> tuple[str, ...]:
    """Names of the sets, the package's own first and in their order."""
    names = dict.fromkeys(row.group for row in rows)
    return (*(name for name in SETS if name in names), *(name for name in names if name not in SETS))


def tols(rows: Iterable[Row]) -> tuple[float, ...]:
    """Tolerances from loose to tight."""
    return tuple(sorted({row.tol for row in rows}, reverse=True))


def select(
    rows: Iterable[Row], contender: str | None = None, group: str | None = None, tol: float | None = None
) -> tuple[Row, ...]:
    """Rows of a contender, a set and a tolerance; what is ``None``, or all sets, is not asked for."""
    return tuple(
        row
        for row in rows
        if (contender is None or contender_of(row) == contender)
        and (group is None or group == ALL or row.group == group)
        and (tol is None or row.tol == tol)
    )


def sections(rows: Sequence[Row]) -> tuple[str, ...]:
    """The sets, and all of them together if they are more than one."""
    names = groups(rows)
    return (*names, ALL) if len(names) > 1 else names


@dataclass(frozen=True)
class Success:
    """How often a contender was right on a set at a tolerance."""

    contender: str
    group: str
    tol: float
    counts: Mapping[Verdict, int]

    @property
    def rows(self) -> int:
        """Cases it was tried on."""
        return sum(self.counts.values())

    @property
    def solved(self) -> int:
        """Cases it solved, infeasible ones that it named as such included."""
        return self.counts[Verdict.SOLVED]

    @property
    def rate(self) -> float:
        """Share that it solved."""
        return self.solved / self.rows if self.rows else np.nan


def successes(rows: Sequence[Row]) -> tuple[Success, ...]:
    """Verdicts counted for every contender, set and tolerance, and over all sets."""
    found = []
    for contender in contenders(rows):
        own = select(rows, contender)
        for group in sections(rows):
            for tol in tols(rows):
                counts = Counter(row.verdict for row in select(own, None, group, tol))
                found.append(Success(contender, group, tol, {verdict: counts[verdict] for verdict in Verdict}))
    return tuple(found)


@dataclass(frozen=True)
class FalseClaims:
    """Claims of a contender that were not true.

    Attributes
    ----------
    said_optimal, not_optimal, grossly : int
        Claims of an answer; those that are not certified at the tolerance; of them, those with a gap of more than 100
        tolerances or with no finite gap. Where a problem has no answer there is no gap, and the constraints have to be
        violated by so much: a target that is nearer to the hull than the tolerance looks as if it were inside.
    said_infeasible, not_infeasible : int
        Claims that there is no answer; those where there is one.
    """

    contender: str
    tol: float
    said_optimal: int
    not_optimal: int
    grossly: int
    said_infeasible: int
    not_infeasible: int


def false_claims(rows: Sequence[Row]) -> tuple[FalseClaims, ...]:
    """False claims in both directions, for every contender and tolerance."""
    found = []
    for contender in contenders(rows):
        for tol in tols(rows):
            own = select(rows, contender, None, tol)
            wrong = [row for row in own if row.verdict is Verdict.FALSE_OPTIMAL]
            found.append(
                FalseClaims(
                    contender,
                    tol,
                    sum(row.claim in SAYS_OPTIMAL for row in own),
                    len(wrong),
                    sum(is_gross(row) for row in wrong),
                    sum(row.claim in SAYS_NONE for row in own),
                    sum(row.verdict is Verdict.FALSE_INFEASIBLE for row in own),
                )
            )
    return tuple(found)


def is_gross(row: Row) -> bool:
    """Whether an optimal claim is nowhere near the truth."""
    off = row.numbers.get("dual_residual" if row.truth == Truth.INFEASIBLE else "gap", np.nan)
    return not np.isfinite(off) or off > GROSS * row.tol


@dataclass(frozen=True)
class Accuracy:
    """Quality and cost of what a contender called optimal at a tolerance, over problems that have an answer.

    ``median`` and ``worst`` have ``gap``, ``error``, ``primal_residual`` and ``dual_residual``; ``typical`` the medians
    of ``iterations`` and ``memory``; ``share`` how the time of the solved rows divides into ``setup``, ``compile`` and
    ``solve``.
    """

    contender: str
    tol: float
    rows: int
    median: Mapping[str, float]
    worst: Mapping[str, float]
    typical: Mapping[str, float]
    share: Mapping[str, float]


QUALITIES = ("gap", "error", "primal_residual", "dual_residual")
PARTS = ("setup", "compile", "solve")


def accuracies(rows: Sequence[Row]) -> tuple[Accuracy, ...]:
    """Accuracy of every contender at every tolerance."""
    found = []
    for contender in contenders(rows):
        for tol in tols(rows):
            own = select(rows, contender, None, tol)
            claimed = [row for row in own if row.claim in SAYS_OPTIMAL and row.truth != Truth.INFEASIBLE]
            solved = [row for row in own if row.verdict is Verdict.SOLVED]
            spent = {part: float(np.nansum(column(solved, part))) for part in PARTS}
            total = sum(spent.values())
            found.append(
                Accuracy(
                    contender,
                    tol,
                    len(claimed),
                    {name: middle(column(claimed, name)) for name in QUALITIES},
                    {name: _of_numbers(np.max, column(claimed, name)) for name in QUALITIES},
                    {name: middle(column(solved, name)) for name in ("iterations", "memory")},
                    {part: spent[part] / total if total > 0.0 else np.nan for part in PARTS},
                )
            )
    return tuple(found)


def column(rows: Iterable[Row], name: str) -> Array:
    """A metric of every row, nan where it has none."""
    return np.array([row.numbers.get(name, np.nan) for row in rows], dtype=float)


def middle(values: Array) -> float:
    """Median of those that are numbers, infinity among them; nan if none is.

    Examples
    --------
    >>> middle(np.array([3.0, np.nan, np.inf, 2.0]))
    3.0
    """
    return _of_numbers(lambda numbers: np.sort(numbers)[(len(numbers) - 1) // 2 : len(numbers) // 2 + 1].mean(), values)


def _of_numbers(what: Callable[[Array], float], values: Array) -> float:
    """A statistic of those values that are not nan."""
    numbers = values[~np.isnan(values)]
    return float(what(numbers)) if numbers.size else np.nan


@dataclass(frozen=True)
class Stop:
    """Cases of a set that a contender does not solve, in few words, at tolerances where they are the same."""

    group: str
    contender: str
    tols: tuple[float, ...]
    unsolved: int
    rows: int
    words: str
    verdicts: Mapping[Verdict, int]


def stops(rows: Sequence[Row]) -> tuple[Stop, ...]:
    """Where each contender stops being right; nothing for those that solve a whole set."""
    found = []
    for group in groups(rows):
        for contender in contenders(rows):
            alike: dict[tuple[tuple[str, ...], tuple[Verdict, ...]], list[float]] = {}
            own = select(rows, contender, group)
            for tol in tols(own):
                wrong = [row for row in select(own, tol=tol) if row.verdict is not Verdict.SOLVED]
                if wrong:
                    what = tuple(row.case for row in wrong), tuple(sorted(row.verdict for row in wrong))
                    alike.setdefault(what, []).append(tol)
            for (names, verdicts), where in alike.items():
                every = [row.case for row in select(own, tol=where[0])]
                counts = {verdict: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}
                words = condense(names, every)
                found.append(Stop(group, contender, tuple(where), len(names), len(every), words, counts))
    return tuple(found)


#: a number in a name
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


def condense(names: Sequence[str], every: Sequence[str]) -> str:
    """Some of the cases of a set in few words.

    Those that differ in one number only are named together: by a bound where they lie on one side of it, one after the
    other where they do not. Which number that is, is chosen so that there are fewest of them.

    Examples
    --------
    >>> every = ["inside-k2-1e-1", "inside-k2-1e-2", "inside-k2-1e-3", "on-k2", "outside"]
    >>> condense(["inside-k2-1e-2", "inside-k2-1e-3", "on-k2"], every)
    'inside-k2 ≤ 1e-2 (2 of 3); on-k2'
    >>> condense(every, every)
    'all 5'
    """
    if set(names) == set(every) and len(every) > 1:
        return f"all {len(every)}"
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(every):
        alike.setdefault(NUMBER.sub("#", name), []).append(name)
    found = []
    for form, family in alike.items():
        chosen = [name for name in family if name in names]
        if chosen:
            ways = (_condense_along(place, chosen, family) for place in range(max(form.count("#"), 1)))
            found.append(min(ways, key=lambda words: (words.count(";"), len(words))))
    return "; ".join(found)


def _condense_along(place: int, names: Sequence[str], family: Sequence[str]) -> str:
    """Names of one form, those together that differ in the number at a place only."""
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for name in family:
        numbers = list(NUMBER.finditer(name))
        if len(numbers) <= place:  # a name without a number
            return name
        number = numbers[place]
        lines.setdefault((name[: number.start()], name[number.end() :]), {})[number.group()] = name
    found = []
    for (before, after), line in lines.items():
        chosen = [number for number, name in line.items() if name in names]
        if len(line) < 3 or len(chosen) < 2:
            found += [line[number] for number in chosen]
        else:
            rest = "".join(f", {part}" for part in (after.strip(" -_,"),) if part)
            found.append(f"{before.rstrip(' -_=')} {_bound(chosen, list(line))}{rest}".strip())
    return "; ".join(found)


def _bound(chosen: Sequence[str], line: Sequence[str]) -> str:
    """Some of the numbers of a line: all, those on one side of a bound, or a list."""
    if len(chosen) == len(line):
        return f"(all {len(line)})"
    others = [float(number) for number in line if number not in chosen]
    low, high = (which(chosen, key=float) for which in (min, max))
    if float(high) < min(others):
        words = f"≤ {high}"
    elif float(low) > max(others):
        words = f"≥ {low}"
    else:
        words = ", ".join(chosen)
    return f"{words} ({len(chosen)} of {len(line)})"
