"""Statistics of a run: success rates, false claims, accuracy, and the cases that each contender fails on.

A contender is a solver in a formulation. Statistics of times are in :mod:`pre_convex_lab.solvers.timing`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pre_convex._internal.typing import Array

from .cases import Truth
from .metrics import CLAIMS_INFEASIBLE, CLAIMS_OPTIMAL, Verdict
from .records import Row
from .sets import SETS

__all__ = [
    "ALL",
    "Accuracy",
    "FalseClaims",
    "Success",
    "Unsolved",
    "accuracies",
    "contender_name",
    "contenders",
    "describe_subset",
    "false_claims",
    "median",
    "metric_values",
    "select",
    "set_names",
    "sets_and_total",
    "successes",
    "tols",
    "unsolved_cases",
]

#: name of the total over all sets
ALL = "all sets"
#: a false claim of optimality is gross if the gap is more than this many tolerances
GROSS = 100.0
FORMULATIONS = ("both", "primal", "dual")


def contender_name(row: Row) -> str:
    """Solver and formulation, such as ``"CLARABEL dual"``; just the solver if it has only one formulation."""
    return row.solver if row.formulation == "both" else f"{row.solver} {row.formulation}"


def contenders(rows: Iterable[Row]) -> tuple[str, ...]:
    """Names of all contenders, solvers in alphabetical order, primal before dual."""

    def position(row: Row) -> tuple[str, int, str]:
        known = row.formulation in FORMULATIONS
        return row.solver.lower(), FORMULATIONS.index(row.formulation) if known else 3, row.formulation

    return tuple(dict.fromkeys(map(contender_name, sorted(rows, key=position))))


def set_names(rows: Iterable[Row]) -> tuple[str, ...]:
    """Names of the sets, those of the package first."""
    names = dict.fromkeys(row.test_set for row in rows)
    return (*(name for name in SETS if name in names), *(name for name in names if name not in SETS))


def tols(rows: Iterable[Row]) -> tuple[float, ...]:
    """Tolerances from loose to tight."""
    return tuple(sorted({row.tol for row in rows}, reverse=True))


def select(
    rows: Iterable[Row], contender: str | None = None, test_set: str | None = None, tol: float | None = None
) -> tuple[Row, ...]:
    """Rows of a contender, a set and a tolerance; ``None`` selects all, and so does the set ``ALL``."""
    return tuple(
        row
        for row in rows
        if (contender is None or contender_name(row) == contender)
        and (test_set is None or test_set == ALL or row.test_set == test_set)
        and (tol is None or row.tol == tol)
    )


def sets_and_total(rows: Sequence[Row]) -> tuple[str, ...]:
    """Names of the sets, followed by ``ALL`` if there is more than one."""
    names = set_names(rows)
    return (*names, ALL) if len(names) > 1 else names


@dataclass(frozen=True)
class Success:
    """Verdicts of a contender on a set at a tolerance."""

    contender: str
    test_set: str
    tol: float
    counts: Mapping[Verdict, int]

    @property
    def rows(self) -> int:
        """Number of cases it was run on."""
        return sum(self.counts.values())

    @property
    def solved(self) -> int:
        """Number of cases it solved, including those it correctly called infeasible."""
        return self.counts[Verdict.SOLVED]

    @property
    def rate(self) -> float:
        """Share of cases it solved; nan if it was run on none."""
        return self.solved / self.rows if self.rows else np.nan


def successes(rows: Sequence[Row]) -> tuple[Success, ...]:
    """Verdicts of every contender by set and tolerance, and over all sets."""
    results = []
    for contender in contenders(rows):
        own = select(rows, contender)
        for test_set in sets_and_total(rows):
            for tol in tols(rows):
                counts = Counter(row.verdict for row in select(own, None, test_set, tol))
                results.append(Success(contender, test_set, tol, {verdict: counts[verdict] for verdict in Verdict}))
    return tuple(results)


@dataclass(frozen=True)
class FalseClaims:
    """Claims of a contender at a tolerance, and how many were false.

    Attributes
    ----------
    contender : str
        Solver and formulation.
    tol : float
        Requested tolerance.
    claimed_optimal, false_optimal, gross : int
        Claims of optimality; those not certified at the tolerance; those off by more than 100 tolerances. What counts
        is the gap or, for an infeasible problem, the violation of the constraints of [D]: a target closer to the hull
        than the tolerance looks feasible.
    claimed_infeasible, false_infeasible : int
        Claims of infeasibility; those on problems that have an answer.
    """

    contender: str
    tol: float
    claimed_optimal: int
    false_optimal: int
    gross: int
    claimed_infeasible: int
    false_infeasible: int


def false_claims(rows: Sequence[Row]) -> tuple[FalseClaims, ...]:
    """Claims of every contender at every tolerance."""
    results = []
    for contender in contenders(rows):
        for tol in tols(rows):
            own = select(rows, contender, None, tol)
            wrong = [row for row in own if row.verdict is Verdict.FALSE_OPTIMAL]
            results.append(
                FalseClaims(
                    contender,
                    tol,
                    sum(row.claim in CLAIMS_OPTIMAL for row in own),
                    len(wrong),
                    sum(is_gross(row) for row in wrong),
                    sum(row.claim in CLAIMS_INFEASIBLE for row in own),
                    sum(row.verdict is Verdict.FALSE_INFEASIBLE for row in own),
                )
            )
    return tuple(results)


def is_gross(row: Row) -> bool:
    """Whether a claim of optimality is off by more than 100 tolerances, or by an unknown amount."""
    error = row.numbers.get("dual_residual" if row.truth == Truth.INFEASIBLE else "gap", np.nan)
    return not np.isfinite(error) or error > GROSS * row.tol


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of what a contender called optimal at a tolerance, and the cost of what it solved.

    Attributes
    ----------
    contender : str
        Solver and formulation.
    tol : float
        Requested tolerance.
    rows : int
        Claims of optimality on problems that have an answer.
    median, worst : mapping
        Of ``gap``, ``error``, ``primal_residual`` and ``dual_residual`` over these rows.
    median_cost : mapping
        Of ``iterations`` and ``memory`` over the solved rows.
    time_share : mapping
        Shares of ``setup``, ``compile`` and ``solve`` in the total time of the solved rows.
    """

    contender: str
    tol: float
    rows: int
    median: Mapping[str, float]
    worst: Mapping[str, float]
    median_cost: Mapping[str, float]
    time_share: Mapping[str, float]


QUALITIES = ("gap", "error", "primal_residual", "dual_residual")
PARTS = ("setup", "compile", "solve")


def accuracies(rows: Sequence[Row]) -> tuple[Accuracy, ...]:
    """Accuracy of every contender at every tolerance."""
    results = []
    for contender in contenders(rows):
        for tol in tols(rows):
            own = select(rows, contender, None, tol)
            claimed = [row for row in own if row.claim in CLAIMS_OPTIMAL and row.truth != Truth.INFEASIBLE]
            solved = [row for row in own if row.verdict is Verdict.SOLVED]
            spent = {part: float(np.nansum(metric_values(solved, part))) for part in PARTS}
            total = sum(spent.values())
            results.append(
                Accuracy(
                    contender,
                    tol,
                    len(claimed),
                    {name: median(metric_values(claimed, name)) for name in QUALITIES},
                    {name: _skip_nan(np.max, metric_values(claimed, name)) for name in QUALITIES},
                    {name: median(metric_values(solved, name)) for name in ("iterations", "memory")},
                    {part: spent[part] / total if total > 0.0 else np.nan for part in PARTS},
                )
            )
    return tuple(results)


def metric_values(rows: Iterable[Row], name: str) -> Array:
    """A metric of every row; nan if unknown."""
    return np.array([row.numbers.get(name, np.nan) for row in rows], dtype=float)


def median(values: Array) -> float:
    """Median of the values that are not nan, infinite ones included; nan if there are none.

    Examples
    --------
    >>> median(np.array([3.0, np.nan, np.inf, 2.0]))
    3.0
    """
    return _skip_nan(lambda numbers: np.sort(numbers)[(len(numbers) - 1) // 2 : len(numbers) // 2 + 1].mean(), values)


def _skip_nan(statistic: Callable[[Array], float], values: Array) -> float:
    """A statistic of the values that are not nan."""
    numbers = values[~np.isnan(values)]
    return float(statistic(numbers)) if numbers.size else np.nan


@dataclass(frozen=True)
class Unsolved:
    """Cases of a set that a contender does not solve.

    Attributes
    ----------
    test_set, contender : str
        Name of the set, and solver and formulation.
    tols : tuple of float
        Tolerances at which the same cases end in the same way.
    unsolved, rows : int
        Number of cases not solved, and number of cases.
    description : str
        The cases, as :func:`describe_subset` names them.
    verdicts : mapping
        Number of cases by verdict.
    """

    test_set: str
    contender: str
    tols: tuple[float, ...]
    unsolved: int
    rows: int
    description: str
    verdicts: Mapping[Verdict, int]


def unsolved_cases(rows: Sequence[Row]) -> tuple[Unsolved, ...]:
    """Unsolved cases by set and contender; nothing for a contender that solves a whole set."""
    results = []
    for test_set in set_names(rows):
        for contender in contenders(rows):
            tols_by_failure: dict[tuple[tuple[str, ...], tuple[Verdict, ...]], list[float]] = {}
            own = select(rows, contender, test_set)
            for tol in tols(own):
                wrong = [row for row in select(own, tol=tol) if row.verdict is not Verdict.SOLVED]
                if wrong:
                    failure = tuple(row.case for row in wrong), tuple(sorted(row.verdict for row in wrong))
                    tols_by_failure.setdefault(failure, []).append(tol)
            for (names, verdicts), where in tols_by_failure.items():
                cases = [row.case for row in select(own, tol=where[0])]
                counts = {verdict: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}
                description = describe_subset(names, cases)
                results.append(Unsolved(test_set, contender, tuple(where), len(names), len(cases), description, counts))
    return tuple(results)


#: a number in the name of a case
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


def describe_subset(names: Sequence[str], every: Sequence[str]) -> str:
    """A short description of some of the cases of a set.

    Cases that differ in one number only are joined: by a bound on that number if it separates them from the rest,
    otherwise as a list. If names have several numbers, the one that gives the shortest description is chosen.

    Examples
    --------
    >>> every = ["inside-k2-1e-1", "inside-k2-1e-2", "inside-k2-1e-3", "on-k2", "outside"]
    >>> describe_subset(["inside-k2-1e-2", "inside-k2-1e-3", "on-k2"], every)
    'inside-k2 ≤ 1e-2 (2 of 3); on-k2'
    >>> describe_subset(every, every)
    'all 5'
    """
    if set(names) == set(every) and len(every) > 1:
        return f"all {len(every)}"
    families: dict[str, list[str]] = {}
    for name in dict.fromkeys(every):
        families.setdefault(NUMBER.sub("#", name), []).append(name)
    descriptions = []
    for pattern, family in families.items():
        chosen = [name for name in family if name in names]
        if chosen:
            options = (_join_on_number(place, chosen, family) for place in range(max(pattern.count("#"), 1)))
            descriptions.append(min(options, key=lambda text: (text.count(";"), len(text))))
    return "; ".join(descriptions)


def _join_on_number(place: int, names: Sequence[str], family: Sequence[str]) -> str:
    """Join names that differ only in their number at a place."""
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for name in family:
        numbers = list(NUMBER.finditer(name))
        if len(numbers) <= place:  # a name without a number
            return name
        number = numbers[place]
        lines.setdefault((name[: number.start()], name[number.end() :]), {})[number.group()] = name
    descriptions = []
    for (before, after), line in lines.items():
        chosen = [number for number, name in line.items() if name in names]
        if len(line) < 3 or len(chosen) < 2:
            descriptions += [line[number] for number in chosen]
        else:
            rest = "".join(f", {part}" for part in (after.strip(" -_,"),) if part)
            descriptions.append(f"{before.rstrip(' -_=')} {_bound(chosen, list(line))}{rest}".strip())
    return "; ".join(descriptions)


def _bound(chosen: Sequence[str], line: Sequence[str]) -> str:
    """Some of the numbers of a line: as a bound if one separates them from the rest, otherwise as a list."""
    if len(chosen) == len(line):
        return f"(all {len(line)})"
    others = [float(number) for number in line if number not in chosen]
    low, high = (which(chosen, key=float) for which in (min, max))
    if float(high) < min(others):
        text = f"≤ {high}"
    elif float(low) > max(others):
        text = f"≥ {low}"
    else:
        text = ", ".join(chosen)
    return f"{text} ({len(chosen)} of {len(line)})"
