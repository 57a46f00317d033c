"""compare(): one problem, every solver and formulation, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np

from .._internal.validation import as_choice, as_names, check_tol
from ..data.tables import as_frame
from ..errors import DataError, renamed_arguments
from ..problem import RatioProblem, as_problem
from ..solution import Solution, Status
from .registry import find_solver, installed_solvers
from .solve import solve

__all__ = ["Comparison", "ComparisonRow", "aligned", "compare"]

#: width of the printed table's footer
WIDTH = 80


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """One solver's answer in one formulation.

    Attributes
    ----------
    solver : str
        Name of the solver, as in :func:`~pre_convex.installed_solvers`.
    formulation : str
        ``"primal"`` or ``"dual"``; ``"both"`` for the Newton engine, which solves them together.
    solution : Solution
        The answer, polished by Newton steps, with its certificate.
    """

    solver: str
    formulation: str
    solution: Solution

    @property
    def status(self) -> Status:
        """What the certificate proves."""
        return self.solution.status

    @property
    def own_gap(self) -> float:
        """Certified duality gap of the solver's own answer, before polishing; inf if nothing bounds it."""
        own = self.solution.raw
        return self.solution.gap if own is None else own.gap

    @property
    def gap(self) -> float:
        """Certified duality gap after polishing; inf if nothing bounds it."""
        return self.solution.gap

    @property
    def value(self) -> float:
        """Primal value ℓ_R(δ) of the polished answer; nan if the solver returned none."""
        return self.solution.primal_value

    @property
    def seconds(self) -> float:
        """Time to build, compile, solve, polish and certify."""
        s = self.solution
        return s.setup_time + s.compile_time + s.solve_time

    @property
    def claim(self) -> str:
        """The status that the solver itself reported; empty for the Newton engine."""
        return self.solution.claim


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Answers of several solvers to one problem; prints as a table.

    Iterating yields one :class:`ComparisonRow` for each solver and formulation.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        One row for each solver and formulation.
    tol : float
        Tolerance passed to the solvers.
    """

    rows: tuple[ComparisonRow, ...]
    tol: float

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ComparisonRow]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> ComparisonRow:
        return self.rows[index]

    def columns(self) -> dict[str, list[str]]:
        """The printed columns, as text; the value is left out where no gap bounds its error."""
        return {
            "solver": [row.solver for row in self.rows],
            "formulation": [row.formulation for row in self.rows],
            "status": [row.status.name.lower() for row in self.rows],
            "own gap": [f"{row.own_gap:.1e}" for row in self.rows],
            "gap": [f"{row.gap:.1e}" for row in self.rows],
            "value": [f"{row.value:.6g}" if np.isfinite(row.gap) else "-" for row in self.rows],
            "seconds": [f"{row.seconds:.3f}" for row in self.rows],
        }

    def claims(self) -> str:
        """What solvers reported other than ``optimal``, as a line of text; empty if there is nothing."""
        unusual = [row for row in self.rows if row.claim not in ("", "optimal")]
        reports = "; ".join(f"{row.solver} {row.formulation}: {row.claim}" for row in unusual)
        return fill(f"Reported by the solvers: {reports}", WIDTH) if unusual else ""

    def __str__(self) -> str:
        return "\n".join(filter(None, [aligned(self.columns()), self.claims()]))

    __repr__ = __str__

    def to_frame(self, backend: str = "pandas") -> Any:
        """The table as a data frame, one row for each solver and formulation.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default "pandas"
            Library of the data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Columns ``solver``, ``formulation``, ``status``, ``own_gap``, ``gap``, ``value``, ``seconds``, ``claim``.
        """
        names = ("solver", "formulation", "status", "own_gap", "gap", "value", "seconds", "claim")
        data = {name: [getattr(row, name) for row in self.rows] for name in names}
        return as_frame(data | {"status": [row.status.name for row in self.rows]}, backend)


def aligned(columns: Mapping[str, Sequence[str]], left: int = 3) -> str:
    """Columns of text under their headers; the first ``left`` are flush left, the others flush right.

    Examples
    --------
    >>> print(aligned({"solver": ["newton", "SCS"], "gap": ["1e-16", "2e-9"]}, left=1))
    solver    gap
    -------------
    newton  1e-16
    SCS      2e-9
    """
    widths = [max(map(len, (name, *cells))) for name, cells in columns.items()]
    lines = []
    for cells in (tuple(columns), *zip(*columns.values(), strict=True)):
        padded = [f"{c:<{w}}" if i < left else f"{c:>{w}}" for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)


def compare(
    problem: RatioProblem,
    solvers: Sequence[str] | None = None,
    formulations: Sequence[str] = ("primal", "dual"),
    tol: float = 1e-8,
) -> Comparison:
    """Solve one problem with several solvers and certify each answer.

    A solver that fails, or a problem without a solution, raises no error; read the status.

    Parameters
    ----------
    problem : RatioProblem
        The problem, in memory if a cone solver takes part.
    solvers : sequence of str, default None
        Names from :func:`installed_solvers`; ``None`` takes all of them.
    formulations : sequence of {"primal", "dual"}, default ("primal", "dual")
        Which program the cone solvers get. The Newton engine solves both together and appears once.
    tol : float, default 1e-8
        Tolerance between 0 and 1, passed to each solver; a gap of at most ``tol · (1 + |value|)`` counts as optimal.

    Returns
    -------
    Comparison
        One row for each solver and formulation: status, certified gap of the solver's own answer, gap after
        polishing, value, time in seconds, and the :class:`Solution`. It prints as a table; ``to_frame()`` makes a
        data frame.

    Raises
    ------
    DataError
        An argument cannot be used, such as a solver that is not installed.

    Examples
    --------
    >>> problem = RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> result = compare(problem, solvers=["newton", "CLARABEL"])
    >>> for row in result:
    ...     print(row.solver, row.formulation, row.status.name, row.gap < 1e-12, row.solution.delta.round(6))
    newton both OPTIMAL True [-1.098612]
    CLARABEL primal OPTIMAL True [-1.098612]
    CLARABEL dual OPTIMAL True [-1.098612]
    """
    problem, tol = as_problem(problem), check_tol(tol)
    names = _checked_solvers(problem, solvers)
    given = _one_or_more_names(formulations, "formulations")
    chosen = tuple(dict.fromkeys(as_choice(f, "formulations", ("primal", "dual")) for f in given))
    if not chosen:
        raise DataError("formulations", "is empty", "pass 'primal', 'dual' or both")
    rows = []
    for name in names:
        for formulation in chosen[:1] if name == "newton" else chosen:
            solution = solve(problem, formulation, name, tol=tol, check=False)
            rows.append(ComparisonRow(name, "both" if name == "newton" else formulation, solution))
    return Comparison(tuple(rows), tol)


def _one_or_more_names(x: Any, argument: str) -> tuple[str, ...]:
    """Names from a sequence, or a single name."""
    return (x,) if isinstance(x, str) else as_names(x, argument)


def _checked_solvers(problem: RatioProblem, solvers: Any) -> tuple[str, ...]:
    """Names of installed solvers without repetitions, as cvxpy spells them."""
    if solvers is None:
        names = installed_solvers()
    else:
        with renamed_arguments({"solver": "solvers"}):
            entries = [find_solver(name) for name in _one_or_more_names(solvers, "solvers")]
        names = tuple(dict.fromkeys("newton" if entry is None else entry.name for entry in entries))
    if not names:
        raise DataError("solvers", "is empty", "pass names from installed_solvers(), or None for all of them")
    if not problem.rows.in_memory and names != ("newton",):
        reason = "is read block by block, but cone solvers need all rows"
        raise DataError("problem", reason, "use problem.in_memory() or solvers='newton'")
    return names
