"""Write problems in the Conic Benchmark Format of CBLIB, for solvers that cvxpy does not know.

Both formulations are written in the original variables, in version 2 of the format. Its exponential cone K is
(x, y, z) with x ≥ y exp(z / y) and y ≥ 0. Rows without base weight are left out, since their μ_j is zero.

[P]    minimise  −⟨b,δ⟩ + t + R s    s.t. Σ u_j ≤ 1, (u_j, 1, a_j + ⟨δ,F_j⟩ − t) ∈ K, ‖δ‖_* ≤ s
[D]    maximise  Σ h_j + a_j μ_j     s.t. (1, μ_j, h_j) ∈ K, Σ μ_j = 1, r = b − F'μ, ‖r‖ ≤ R
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.data.files import as_path, atomic_write, report_write_errors
from pre_convex.errors import DataError
from pre_convex.penalties.norms import get_norm
from pre_convex.problem import RatioProblem

from .case_files import file_name
from .cases import Case, Truth
from .sets import TestSet

__all__ = ["FORMULATIONS", "export_cbf", "write_cbf"]

#: version of the format, the first with exponential cones
VERSION = 2
#: numbers formatted at a time
BLOCK = 1 << 15

#: blocks of a sparse matrix: row indices, column indices and values, broadcast together
Terms = Iterable[tuple[Any, Any, Any]]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Constraints Ax + b ∈ cone × … × cone.

    Attributes
    ----------
    cone : str
        Name of the cone in the format.
    size, count : int
        Rows of one cone, and number of cones.
    terms : callable
        Returns A in blocks, since it may be large; row indices start at zero.
    constant : array of shape (size * count,)
        b.
    """

    cone: str
    size: int
    count: int
    terms: Callable[[], Terms]
    constant: Array


@dataclass(frozen=True, eq=False)
class _Program:
    """A cone program in free variables."""

    sense: str
    variables: dict[str, range]
    objective: Terms
    rows: Sequence[_Rows]


def write_cbf(case: Case | RatioProblem, path: str | os.PathLike[str], formulation: str = "primal") -> Path:
    """Write a problem in one formulation, atomically; compressed if the path ends with ``.gz``.

    Parameters
    ----------
    case : Case or RatioProblem
        The problem; what is known of a case goes into comments.
    path : str or path
        The file; an existing one is replaced.
    formulation : {"primal", "dual"}, default "primal"
        [P] or [D].

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_cbf(RatioProblem([0.5], [[0.0], [1.0]]), Path(folder) / "coin.cbf")
    ...     print(path.read_text().partition("CON")[2].split()[:8])
    ['7', '3', 'L+', '1', 'EXP', '3', 'EXP', '3']
    """
    if formulation not in FORMULATIONS:
        raise DataError("formulation", f"{formulation!r} is not known", f"use {' or '.join(FORMULATIONS)}")
    target = as_path(path, "path")
    problem = (case.problem if isinstance(case, Case) else case).in_memory()
    problem.require_exponential("a CBF file")
    problem.require_one_radius("a CBF file")
    comments = _comments(case, problem, formulation)
    program = FORMULATIONS[formulation](problem)

    def write(temporary: Path) -> None:
        with _open(temporary, packed=target.suffix == ".gz") as file:
            _write(file, program, comments)

    with report_write_errors("path", target):
        return atomic_write(target, write)


def export_cbf(
    test_set: TestSet, folder: str | os.PathLike[str], formulations: Sequence[str] = ("primal", "dual")
) -> list[Path]:
    """Write a set into a folder: ``.cbf.gz`` files, and ``answers.csv`` with the known answers.

    Parameters
    ----------
    test_set : TestSet
        The set.
    folder : str or path
        Created if missing.
    formulations : sequence of {"primal", "dual"}, default both
        Which formulations to write.

    Returns
    -------
    list of Path
        The files, ``answers.csv`` last.
    """
    folder = as_path(folder, "folder")
    with report_write_errors("folder", folder):
        folder.mkdir(parents=True, exist_ok=True)
    paths, lines = [], [("file", "case", "formulation", "n", "k", "status", "value")]
    for i, case in enumerate(test_set.cases):
        for formulation in formulations:
            paths.append(write_cbf(case, folder / f"{file_name(i, case.name)}.{formulation}.cbf.gz", formulation))
            size = (str(case.problem.n_q), str(case.problem.k))
            known = (_status(case, formulation), repr(float(case.value)))
            lines.append((paths[-1].name, case.name, formulation, *size, *known))

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)

    with report_write_errors("folder", folder):
        return [*paths, atomic_write(folder / "answers.csv", write)]


def _primal(problem: RatioProblem) -> _Program:
    """[P] with one exponential cone per row."""
    rows = np.flatnonzero(problem.log_base > -np.inf)
    n, k = rows.size, problem.k
    names = {"delta": k, "t": 1}
    ball: list[_Rows] = []
    objective: list[tuple[Any, Any, Any]] = [(0, np.arange(k), -problem.target), (0, k, 1.0)]
    if problem.radius:
        order = get_norm(problem.norm).dual_order
        names |= {"s": 1} | ({"size": k} if order == 1 else {})
        ball = [_ball(order, 0, k, k + 2, bound=k + 1)]
        objective.append((0, k + 1, problem.radius))
    variables = _numbered(names | {"u": n})
    u = np.array(variables["u"])

    def terms() -> Terms:
        yield 3 * np.arange(n), u, 1.0
        yield 3 * np.arange(n) + 2, k, -1.0
        for index, F in _feature_blocks(problem, rows):
            yield 3 * index[:, None] + 2, np.arange(k), F

    constant = np.zeros((n, 3))
    constant[:, 1], constant[:, 2] = 1.0, problem.log_base[rows]
    total = _Rows("L+", 1, 1, lambda: [(0, u, -1.0)], np.ones(1))
    return _Program("MIN", variables, objective, [total, *ball, _Rows("EXP", 3, n, terms, constant.ravel())])


def _dual(problem: RatioProblem) -> _Program:
    """[D] with one exponential cone per row."""
    rows = np.flatnonzero(problem.log_base > -np.inf)
    n, k, R = rows.size, problem.k, problem.radius
    names = {"mu": n, "h": n}
    ball: list[_Rows] = []
    if R:
        names |= {"r": k} | ({"size": k} if problem.norm == 1 else {})
        ball = [_ball(problem.norm, 2 * n, k, 2 * n + k, radius=R)]
    mu, h = np.arange(n), np.arange(n, 2 * n)

    def moment() -> Terms:
        for index, F in _feature_blocks(problem, rows):
            yield np.arange(k), index[:, None], -F
        if R:
            yield np.arange(k), 2 * n + np.arange(k), -1.0

    constant = np.zeros((n, 3))
    constant[:, 0] = 1.0
    cones = _Rows("EXP", 3, n, lambda: [(3 * mu + 1, mu, 1.0), (3 * mu + 2, h, 1.0)], constant.ravel())
    total = _Rows("L=", 1, 1, lambda: [(0, mu, 1.0)], -np.ones(1))
    moments = _Rows("L=", k, 1, moment, problem.target)
    objective = [(0, mu, problem.log_base[rows]), (0, h, 1.0)]
    return _Program("MAX", _numbered(names), objective, [total, moments, *ball, cones])


#: builders of the programs
FORMULATIONS: dict[str, Callable[[RatioProblem], _Program]] = {"primal": _primal, "dual": _dual}


def _ball(order: float, x: int, k: int, size: int, *, bound: int | None = None, radius: float = 0.0) -> _Rows:
    """‖x‖ ≤ s for the k variables from ``x`` on, where s is the variable ``bound`` or the number ``radius``.

    Norm 1 needs auxiliary variables for the absolute values, which start at ``size``.
    """
    i = np.arange(k)

    def s(rows: Any) -> Terms:
        return [] if bound is None else [(rows, bound, 1.0)]

    if order == 2:
        return _Rows("Q", k + 1, 1, lambda: [*s(0), (i + 1, x + i, 1.0)], np.append(radius, np.zeros(k)))
    both = [(i, x + i, -1.0), (k + i, x + i, 1.0)]
    if order == np.inf:
        return _Rows("L+", 2 * k, 1, lambda: [*s(np.arange(2 * k)), *both], np.full(2 * k, radius))
    sizes = [(i, size + i, 1.0), (k + i, size + i, 1.0), (2 * k, size + i, -1.0)]
    return _Rows("L+", 2 * k + 1, 1, lambda: [*s(2 * k), *both, *sizes], np.append(np.zeros(2 * k), radius))


def _feature_blocks(problem: RatioProblem, rows: Any) -> Iterator[tuple[Any, Array]]:
    """Blocks of the given rows of F, with their positions among them."""
    step = max(1, BLOCK // problem.k)
    for first in range(0, rows.size, step):
        index = np.arange(first, min(first + step, rows.size))
        yield index, problem.features_q[rows[index]]


def _numbered(counts: dict[str, int]) -> dict[str, range]:
    """Indices of the variables, by name."""
    ends = np.cumsum(list(counts.values())).tolist()
    return {name: range(end - count, end) for (name, count), end in zip(counts.items(), ends, strict=True)}


def _status(case: Case, formulation: str) -> str:
    """The true status of a program, in solvers' words."""
    if case.truth is Truth.OPTIMAL:
        return "optimal"
    if case.truth is Truth.BOUNDARY:
        return "not attained" if formulation == "primal" else "optimal"
    return "unbounded" if formulation == "primal" else "infeasible"


def _comments(case: Case | RatioProblem, problem: RatioProblem, formulation: str) -> Iterator[str]:
    """Comments at the top of a file."""
    name = f" {case.name!a}" if isinstance(case, Case) else ""
    yield f"Posterior ratio problem{name:.200}, {formulation} formulation"
    yield f"{problem.n_q} rows, {problem.k} features, radius {problem.radius!r}, norm {problem.norm:g}"
    if isinstance(case, Case):
        status = _status(case, formulation)
        yield f"truth: {case.truth.value}; this program {'has an optimum that is ' if ' ' in status else 'is '}{status}"
        yield f"optimal value: {float(case.value)!r}"
    left_out = int(np.isneginf(problem.log_base).sum())
    if left_out:
        yield f"rows left out because their base weight is zero: {left_out}"


@contextmanager
def _open(path: Path, *, packed: bool) -> Iterator[TextIO]:
    """Open a text file; a compressed one stores no date and no name, so that its bytes are reproducible."""
    with path.open("wb") as raw:
        out = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) if packed else raw
        with io.TextIOWrapper(out, encoding="ascii", newline="\n") as file:
            yield file


def _write(file: TextIO, program: _Program, comments: Iterable[str]) -> None:
    """Write the sections in the order of the format."""
    for comment in comments:
        file.write(f"# {comment}\n")
    for name, numbers in program.variables.items():
        file.write(f"# variables {numbers.start} to {numbers.stop - 1}: {name}\n")
    count = list(program.variables.values())[-1].stop
    file.write(f"\nVER\n{VERSION}\n\nOBJSENSE\n{program.sense}\n\nVAR\n{count} 1\nF {count}\n")
    height = sum(rows.size * rows.count for rows in program.rows)
    file.write(f"\nCON\n{height} {sum(rows.count for rows in program.rows)}\n")
    for rows in program.rows:
        file.writelines(f"{rows.cone} {rows.size}\n" for _ in range(rows.count))
    _write_terms(file, "OBJACOORD", lambda: program.objective, columns=slice(1, 3))
    _write_terms(file, "ACOORD", lambda: _stacked(program.rows))
    constant = np.concatenate([rows.constant for rows in program.rows])
    _write_terms(file, "BCOORD", lambda: [(np.arange(height), 0, constant)], columns=slice(0, 3, 2))


def _stacked(rows: Sequence[_Rows]) -> Terms:
    """Terms of all constraints, with row indices of the whole matrix."""
    first = 0
    for each in rows:
        for i, j, numbers in each.terms():
            yield first + i, j, numbers
        first += each.size * each.count


def _write_terms(file: TextIO, keyword: str, terms: Callable[[], Terms], columns: slice = slice(None)) -> None:
    """Write a section of coordinates: the number of nonzeros, then one line for each."""
    count = 0
    for i, j, numbers in terms():
        shape = np.broadcast_shapes(np.shape(i), np.shape(j), np.shape(numbers))
        count += int(np.count_nonzero(np.broadcast_to(numbers, shape)))
    file.write(f"\n{keyword}\n{count}\n")
    form = " ".join(["%r", "%r", "%r"][columns]) + "\n"
    for term in terms():
        arrays = [x.ravel() for x in np.broadcast_arrays(*term)]
        nonzero = np.flatnonzero(arrays[2])
        for first in range(0, nonzero.size, BLOCK):
            block = nonzero[first : first + BLOCK]
            lines = zip(*(x[block].tolist() for x in arrays[columns]), strict=True)
            file.writelines(form % line for line in lines)
