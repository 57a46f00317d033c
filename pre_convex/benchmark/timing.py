"""What a run says about time: shifted geometric means, performance profiles, growth with size, primal against dual.

Two rules hold throughout. The time of a row is that of building, translating and solving together. A row is solved or
it is not: a wrong answer has no time of its own, however quickly it came, and an infeasible problem that was named as
such is solved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import frozen
from ..entropy import Array, exp, log
from .metrics import Verdict
from .records import Row
from .summary import ALL, contender_of, contenders, groups, sections, select, tols

__all__ = [
    "SHIFT",
    "Growth",
    "MeanTime",
    "Profile",
    "Versus",
    "growths",
    "mean_times",
    "profiles",
    "shifted_mean",
    "time_of",
    "versus",
]

#: seconds added before the logarithm, so that a millisecond more or less on a tiny problem weighs nothing
SHIFT = 0.010
#: no time counts as less than this many seconds, which is what a clock can tell
TICK = 1e-6
#: rows that a fit of three coefficients asks for at least
FEWEST = 6
#: bounds of n / k that part problems by shape
SHAPES = (30.0, 300.0)


def time_of(row: Row) -> float:
    """Seconds of a solved row; infinity for any other."""
    seconds = row.numbers.get("time", np.nan)
    return max(seconds, TICK) if row.verdict is Verdict.SOLVED and np.isfinite(seconds) else np.inf


def shifted_mean(values: Iterable[float], shift: float = 0.0) -> float:
    """(∏ (t_i + s))^(1/m) − s, the geometric mean of values shifted by s; nan of none.

    Examples
    --------
    >>> round(shifted_mean([1.0, 7.0], shift=1.0), 12)
    3.0
    """
    t = np.array(list(values), dtype=float)
    return float(exp(log(t + shift).mean())) - shift if t.size else np.nan


@dataclass(frozen=True)
class MeanTime:
    """Shifted geometric mean of a contender's times on a set, unsolved rows at the time limit.

    ``seconds`` and ``ratio``, to the best of the set, are nan for one that was not run on every case of the set.
    """

    contender: str
    group: str
    tol: float
    seconds: float
    ratio: float
    rows: int
    solved: int


def mean_times(rows: Sequence[Row], limit: float, shift: float = SHIFT) -> tuple[MeanTime, ...]:
    """Mean times of every contender, set and tolerance, and over all sets, in Mittelmann's manner."""
    found = []
    for group in sections(rows):
        for tol in tols(rows):
            there = select(rows, None, group, tol)
            cases = {(row.group, row.case) for row in there}
            means = {}
            for name in contenders(rows):
                own = select(there, name)
                times = [min(time_of(row), max(limit, TICK)) for row in own]
                whole = len({(row.group, row.case) for row in own}) == len(cases)
                means[name] = (shifted_mean(times, shift) if whole and cases else np.nan, own)
            best = min((seconds for seconds, _ in means.values() if np.isfinite(seconds)), default=np.nan)
            for name, (seconds, own) in means.items():
                solved = sum(row.verdict is Verdict.SOLVED for row in own)
                found.append(MeanTime(name, group, tol, seconds, seconds / max(best, TICK), len(own), solved))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Profile:
    """Dolan and Moré's performance profile of a contender at a tolerance.

    Attributes
    ----------
    ratios : ndarray
        Time over that of the quickest contender, sorted, for the problems that it solved.
    problems : int
        Problems that anybody solved.
    """

    contender: str
    tol: float
    ratios: Array
    problems: int

    def share(self, tau: float) -> float:
        """ρ(τ), the share of problems solved within τ times the quickest contender's time."""
        return int(np.searchsorted(self.ratios, tau, side="right")) / self.problems if self.problems else np.nan


def profiles(rows: Sequence[Row], tol: float) -> tuple[Profile, ...]:
    """Performance profiles over the problems that at least one contender solved."""
    names = contenders(rows)
    times: dict[tuple[str, str], dict[str, float]] = {}
    for row in select(rows, tol=tol):
        times.setdefault((row.group, row.case), {})[contender_of(row)] = time_of(row)
    best = {case: min(own.values()) for case, own in times.items()}
    anybody = [case for case, seconds in best.items() if np.isfinite(seconds)]
    found = []
    for name in names:
        ratios = np.array([times[case].get(name, np.inf) / best[case] for case in anybody])
        found.append(Profile(name, tol, frozen(np.sort(ratios[np.isfinite(ratios)])), len(anybody)))
    return tuple(found)


@dataclass(frozen=True)
class Growth:
    """Least squares of log time = c + α log n + β log k over solved rows.

    Attributes
    ----------
    n_power, k_power, n_error, k_error : float
        α and β with their standard errors; nan where there is no fit.
    spread : float
        Factor by which a time is typically off the fit.
    rows : int
    note : str
        Why there is no fit.
    """

    contender: str
    tol: float
    rows: int
    n_power: float = np.nan
    n_error: float = np.nan
    k_power: float = np.nan
    k_error: float = np.nan
    spread: float = np.nan
    note: str = ""


def growths(rows: Sequence[Row], tol: float, group: str | None = "easy") -> tuple[Growth, ...]:
    """Growth of every contender's time with n and k on a set; on all sets if it is ``None``."""
    found = []
    for name in contenders(rows):
        own = [row for row in select(rows, name, group, tol) if np.isfinite(time_of(row))]
        found.append(_growth(name, tol, own))
    return tuple(found)


def _growth(name: str, tol: float, rows: Sequence[Row]) -> Growth:
    """The fit of one contender."""
    if len(rows) < FEWEST:
        return Growth(name, tol, len(rows), note=f"{len(rows)} solved rows; a fit asks for {FEWEST}")
    y = log(np.array([time_of(row) for row in rows]))
    sizes = np.array([[row.n, row.k] for row in rows], dtype=float)
    X = np.column_stack([np.ones(len(rows)), log(sizes)])
    X[:, 1:] -= X[:, 1:].mean(axis=0)  # leaves the slopes, and their accuracy no longer depends on the units
    values, _, rank, _ = np.linalg.lstsq(X, y, rcond=1e-9)
    if rank < 3:
        return Growth(name, tol, len(rows), note="n and k do not vary apart from each other")
    rest = y - X @ values
    variance = float(rest @ rest) / (len(rows) - 3)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(X.T @ X)))
    spread = float(exp(np.sqrt(np.array(variance))))
    (_, alpha, beta), (_, of_alpha, of_beta) = values.tolist(), errors.tolist()
    return Growth(name, tol, len(rows), alpha, of_alpha, beta, of_beta, spread)


@dataclass(frozen=True)
class Versus:
    """Primal against dual of one solver at one tolerance, on cases that have rows of both.

    Attributes
    ----------
    where : str
        Name of a set, a shape in words, or all sets.
    cases, primal, dual, both : int
        Cases; those solved by the primal, by the dual, by both.
    ratio : float
        Geometric mean of primal over dual time where both solved: below one the primal is quicker.
    primal_wins, dual_wins : int
        Of the cases solved by both, how often each was quicker.
    """

    solver: str
    tol: float
    where: str
    cases: int
    primal: int
    dual: int
    both: int
    ratio: float
    primal_wins: int
    dual_wins: int


def versus(rows: Sequence[Row], tol: float) -> tuple[Versus, ...]:
    """Primal against dual for every solver that has both: over all sets, by set, and by shape."""
    found = []
    there = select(rows, tol=tol)
    for solver in dict.fromkeys(row.solver for row in there):
        sides = {
            side: {(row.group, row.case): row for row in there if (row.solver, row.formulation) == (solver, side)}
            for side in ("primal", "dual")
        }
        pairs = [(row, sides["dual"][case]) for case, row in sides["primal"].items() if case in sides["dual"]]
        if not pairs:
            continue
        places = [(ALL, pairs)]
        places += [(name, [pair for pair in pairs if pair[0].group == name]) for name in groups(there)]
        places += [(name, [pair for pair in pairs if shape_of(pair[0]) == name]) for name in _shapes()]
        found += [_versus(solver, tol, where, chosen) for where, chosen in places if chosen]
    return tuple(found)


def _versus(solver: str, tol: float, where: str, pairs: Sequence[tuple[Row, Row]]) -> Versus:
    """Primal against dual on some cases."""
    times = np.array([[time_of(primal), time_of(dual)] for primal, dual in pairs])
    solved = np.isfinite(times)
    primal, dual = times[solved.all(axis=1)].T
    return Versus(
        solver,
        tol,
        where,
        len(pairs),
        int(solved[:, 0].sum()),
        int(solved[:, 1].sum()),
        len(primal),
        shifted_mean(primal / dual),
        int((primal < dual).sum()),
        int((dual < primal).sum()),
    )


def _shapes() -> tuple[str, ...]:
    """Shapes in words, from square to tall."""
    low, high = SHAPES
    return f"n/k ≤ {low:g}", f"{low:g} < n/k ≤ {high:g}", f"n/k > {high:g}"


def shape_of(row: Row) -> str:
    """Shape of a row's problem in words.

    Examples
    --------
    >>> shape_of(Row("easy", "tall", 5000, 2, "optimal", "SCS", "dual", 1e-6, Verdict.SOLVED))
    'n/k > 300'
    """
    return _shapes()[int(np.searchsorted(SHAPES, row.n / max(row.k, 1)))]
