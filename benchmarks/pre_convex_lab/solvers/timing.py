"""Statistics of times: shifted geometric means, performance profiles, growth with size, primal against dual.

The time of a row includes building, translating and solving. Only solved rows have a time, however quickly a wrong
answer came; an infeasible problem that was recognised counts as solved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pre_convex._internal.typing import Array

from .metrics import Verdict
from .records import Row
from .summary import ALL, contender_name, contenders, select, set_names, sets_and_total, tols

__all__ = [
    "SHIFT",
    "Growth",
    "MeanTime",
    "PrimalDual",
    "Profile",
    "growths",
    "mean_times",
    "primal_dual",
    "profiles",
    "shape_of",
    "shifted_mean",
    "time_of",
]

#: shift of the geometric means in seconds, so that milliseconds on tiny problems do not matter
SHIFT = 0.010
#: resolution of the clock in seconds, the shortest time that counts
TICK = 1e-6
#: minimum number of rows for a fit of three coefficients
MIN_ROWS = 6
#: bounds on n / k that separate shapes of problems
SHAPES = (30.0, 300.0)


def time_of(row: Row) -> float:
    """Seconds of a solved row; infinity for any other."""
    seconds = row.numbers.get("time", np.nan)
    return max(seconds, TICK) if row.verdict is Verdict.SOLVED and np.isfinite(seconds) else np.inf


def shifted_mean(values: Iterable[float], shift: float = 0.0) -> float:
    """(∏ (t_i + s))^(1/m) − s, the geometric mean of values shifted by s; nan if there are none.

    Examples
    --------
    >>> round(shifted_mean([1.0, 7.0], shift=1.0), 12)
    3.0
    """
    t = np.array(list(values), dtype=float)
    return float(np.exp(np.log(t + shift).mean())) - shift if t.size else np.nan


@dataclass(frozen=True)
class MeanTime:
    """Shifted geometric mean of a contender's times on a set, with unsolved rows at the time limit.

    Attributes
    ----------
    contender, test_set : str
        Solver and formulation, and name of the set.
    tol : float
        Requested tolerance.
    seconds, ratio : float
        The mean, and its ratio to the best mean on the set; nan unless the contender was run on every case.
    rows, solved : int
        Number of cases it was run on, and number solved.
    """

    contender: str
    test_set: str
    tol: float
    seconds: float
    ratio: float
    rows: int
    solved: int


def mean_times(rows: Sequence[Row], limit: float, shift: float = SHIFT) -> tuple[MeanTime, ...]:
    """Mean times of every contender by set and tolerance, and over all sets, as in Mittelmann's benchmarks."""
    results = []
    for test_set in sets_and_total(rows):
        for tol in tols(rows):
            there = select(rows, None, test_set, tol)
            cases = {(row.test_set, row.case) for row in there}
            means = {}
            for name in contenders(rows):
                own = select(there, name)
                times = [min(time_of(row), max(limit, TICK)) for row in own]
                complete = len({(row.test_set, row.case) for row in own}) == len(cases)
                means[name] = (shifted_mean(times, shift) if complete and cases else np.nan, own)
            best = min((seconds for seconds, _ in means.values() if np.isfinite(seconds)), default=np.nan)
            for name, (seconds, own) in means.items():
                solved = sum(row.verdict is Verdict.SOLVED for row in own)
                results.append(MeanTime(name, test_set, tol, seconds, seconds / max(best, TICK), len(own), solved))
    return tuple(results)


@dataclass(frozen=True, eq=False)
class Profile:
    """Dolan and Moré's performance profile of a contender at a tolerance.

    Attributes
    ----------
    contender : str
        Solver and formulation.
    tol : float
        Requested tolerance.
    ratios : ndarray
        Sorted ratios of its time to that of the quickest contender, on the problems that it solved.
    problems : int
        Number of problems that at least one contender solved.
    """

    contender: str
    tol: float
    ratios: Array
    problems: int

    def share(self, tau: float) -> float:
        """ρ(τ): share of problems solved within τ times the quickest contender's time."""
        return int(np.searchsorted(self.ratios, tau, side="right")) / self.problems if self.problems else np.nan


def profiles(rows: Sequence[Row], tol: float) -> tuple[Profile, ...]:
    """Performance profiles over the problems that at least one contender solved."""
    names = contenders(rows)
    times: dict[tuple[str, str], dict[str, float]] = {}
    for row in select(rows, tol=tol):
        times.setdefault((row.test_set, row.case), {})[contender_name(row)] = time_of(row)
    best = {case: min(own.values()) for case, own in times.items()}
    solved = [case for case, seconds in best.items() if np.isfinite(seconds)]
    results = []
    for name in names:
        ratios = np.array([times[case].get(name, np.inf) / best[case] for case in solved])
        results.append(Profile(name, tol, np.sort(ratios[np.isfinite(ratios)]), len(solved)))
    return tuple(results)


@dataclass(frozen=True)
class Growth:
    """Least squares of log time = c + α log n + β log k over solved rows.

    Attributes
    ----------
    contender : str
        Solver and formulation.
    tol : float
        Requested tolerance.
    rows : int
        Number of solved rows.
    n_power, n_error, k_power, k_error : float
        α and β with their standard errors; nan without a fit.
    spread : float
        exp of the residual standard deviation: the factor by which times typically differ from the fit.
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


def growths(rows: Sequence[Row], tol: float, test_set: str | None = "easy") -> tuple[Growth, ...]:
    """Growth of every contender's time with n and k on a set; on all sets if ``None``."""
    results = []
    for name in contenders(rows):
        own = [row for row in select(rows, name, test_set, tol) if np.isfinite(time_of(row))]
        results.append(_growth(name, tol, own))
    return tuple(results)


def _growth(name: str, tol: float, rows: Sequence[Row]) -> Growth:
    """Fit the times of one contender."""
    if len(rows) < MIN_ROWS:
        return Growth(name, tol, len(rows), note=f"{len(rows)} solved rows, a fit needs {MIN_ROWS}")
    y = np.log(np.array([time_of(row) for row in rows]))
    sizes = np.array([[row.n, row.k] for row in rows], dtype=float)
    X = np.column_stack([np.ones(len(rows)), np.log(sizes)])
    X[:, 1:] -= X[:, 1:].mean(axis=0)  # same slopes, and better conditioned
    coefficients, _, rank, _ = np.linalg.lstsq(X, y, rcond=1e-9)
    if rank < 3:
        return Growth(name, tol, len(rows), note="n and k do not vary independently")
    residual = y - X @ coefficients
    variance = float(residual @ residual) / (len(rows) - 3)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(X.T @ X)))
    spread = float(np.exp(np.sqrt(variance)))
    (_, alpha, beta), (_, alpha_error, beta_error) = coefficients.tolist(), errors.tolist()
    return Growth(name, tol, len(rows), alpha, alpha_error, beta, beta_error, spread)


@dataclass(frozen=True)
class PrimalDual:
    """Primal against dual of a solver at a tolerance, on cases that were run both ways.

    Attributes
    ----------
    solver : str
        Name of the solver.
    tol : float
        Requested tolerance.
    subset : str
        Which cases: the name of a set, a shape such as ``"n/k ≤ 30"``, or ``ALL``.
    cases, primal, dual, both : int
        Number of cases, and of those solved by the primal, by the dual, by both.
    ratio : float
        Geometric mean of primal time over dual time on cases solved by both; below one the primal is quicker.
    primal_wins, dual_wins : int
        Number of cases solved by both on which the primal, or the dual, was quicker.
    """

    solver: str
    tol: float
    subset: str
    cases: int
    primal: int
    dual: int
    both: int
    ratio: float
    primal_wins: int
    dual_wins: int


def primal_dual(rows: Sequence[Row], tol: float) -> tuple[PrimalDual, ...]:
    """Primal against dual for every solver that has both: over all sets, by set, and by shape."""
    results = []
    there = select(rows, tol=tol)
    for solver in dict.fromkeys(row.solver for row in there):
        sides = {
            side: {(row.test_set, row.case): row for row in there if (row.solver, row.formulation) == (solver, side)}
            for side in ("primal", "dual")
        }
        pairs = [(row, sides["dual"][case]) for case, row in sides["primal"].items() if case in sides["dual"]]
        if not pairs:
            continue
        subsets = [(ALL, pairs)]
        subsets += [(name, [pair for pair in pairs if pair[0].test_set == name]) for name in set_names(there)]
        subsets += [(name, [pair for pair in pairs if shape_of(pair[0]) == name]) for name in _shapes()]
        results += [_primal_dual(solver, tol, name, chosen) for name, chosen in subsets if chosen]
    return tuple(results)


def _primal_dual(solver: str, tol: float, subset: str, pairs: Sequence[tuple[Row, Row]]) -> PrimalDual:
    """Primal against dual on a subset of the cases."""
    times = np.array([[time_of(primal), time_of(dual)] for primal, dual in pairs])
    solved = np.isfinite(times)
    primal, dual = times[solved.all(axis=1)].T
    return PrimalDual(
        solver,
        tol,
        subset,
        len(pairs),
        int(solved[:, 0].sum()),
        int(solved[:, 1].sum()),
        len(primal),
        shifted_mean(primal / dual),
        int((primal < dual).sum()),
        int((dual < primal).sum()),
    )


def _shapes() -> tuple[str, ...]:
    """Descriptions of the shapes, from square to tall."""
    low, high = SHAPES
    return f"n/k ≤ {low:g}", f"{low:g} < n/k ≤ {high:g}", f"n/k > {high:g}"


def shape_of(row: Row) -> str:
    """Shape of a row's problem.

    Examples
    --------
    >>> shape_of(Row("easy", "tall", 5000, 2, "optimal", "SCS", "dual", 1e-6, Verdict.SOLVED))
    'n/k > 300'
    """
    return _shapes()[int(np.searchsorted(SHAPES, row.n / max(row.k, 1)))]
