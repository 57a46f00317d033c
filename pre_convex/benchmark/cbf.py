"""Problems as files in the Conic Benchmark Format of CBLIB, for solvers that this package does not know.

Both formulations are written in original variables, in version 2 of the format, whose exponential cone K has its bound
first: (x, y, z) with x ≥ y exp(z / y) and y ≥ 0. A row j without base weight is left out, since μ_j = 0.

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

from ..entropy import Array
from ..errors import DataError
from ..files import as_path, write_whole, writing
from ..norms import get_norm
from ..problem import RatioProblem
from .case import Case, Truth
from .exchange import file_name
from .sets import TestSet

__all__ = ["FORMULATIONS", "export_cbf", "write_cbf"]

#: of the format; the first with exponential cones
VERSION = 2
#: numbers that become text at a time
NUMBERS = 1 << 15

#: parts of a sparse matrix: rows, columns and numbers, which are broadcast together
Terms = Iterable[tuple[Any, Any, Any]]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Constraints Ax + b of one kind.

    Attributes
    ----------
    cone : str
        As the format names it.
    size, count : int
        Rows of one cone, and how many such cones there are.
    terms : function that returns an iterable
        A, in parts, since it may be long; rows are counted from zero.
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
    """Write a problem in one formulation, whole or not at all; compressed if the path ends with ``.gz``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_cbf(RatioProblem([0.5], [[0.0], [1.0]]), Path(folder) / "coin.cbf")
    ...     print(path.read_text().partition("CON")[2].split()[:8])
    ['7', '3', 'L+', '1', 'EXP', '3', 'EXP', '3']
    """
    if formulation not in FORMULATIONS:
        raise DataError(f"formulation: {formulation!r} is not known; use one of {', '.join(FORMULATIONS)}")
    target = as_path(path, "path")
    problem = (case.problem if isinstance(case, Case) else case).in_memory()
    comments = _comments(case, problem, formulation)
    program = FORMULATIONS[formulation](problem)

    def write(place: Path) -> None:
        with _open(place, packed=target.suffix == ".gz") as file:
            _write(file, program, comments)

    with writing("path", target):
        return write_whole(target, write)


def export_cbf(
    test_set: TestSet, folder: str | os.PathLike[str], formulations: Sequence[str] = ("primal", "dual")
) -> list[Path]:
    """Write a set into a folder: ``.cbf.gz`` files, and ``answers.csv`` with what is known of each."""
    place = as_path(folder, "folder")
    with writing("folder", place):
        place.mkdir(parents=True, exist_ok=True)
    paths, lines = [], [("file", "case", "formulation", "n", "k", "status", "value")]
    for i, case in enumerate(test_set.cases):
        for formulation in formulations:
            paths.append(write_cbf(case, place / f"{file_name(i, case.name)}.{formulation}.cbf.gz", formulation))
            size = (str(case.problem.n_q), str(case.problem.k))
            known = (_status(case, formulation), repr(float(case.value)))
            lines.append((paths[-1].name, case.name, formulation, *size, *known))

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)

    with writing("folder", place):
        return [*paths, write_whole(place / "answers.csv", write)]


def _primal(problem: RatioProblem) -> _Program:
    """[P] with an exponential cone for every row."""
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
        for part, F in _features(problem, rows):
            yield 3 * part[:, None] + 2, np.arange(k), F

    constant = np.zeros((n, 3))
    constant[:, 1], constant[:, 2] = 1.0, problem.log_base[rows]
    total = _Rows("L+", 1, 1, lambda: [(0, u, -1.0)], np.ones(1))
    return _Program("MIN", variables, objective, [total, *ball, _Rows("EXP", 3, n, terms, constant.ravel())])


def _dual(problem: RatioProblem) -> _Program:
    """[D] with an exponential cone for every row."""
    rows = np.flatnonzero(problem.log_base > -np.inf)
    n, k, R = rows.size, problem.k, problem.radius
    names = {"mu": n, "h": n}
    ball: list[_Rows] = []
    if R:
        names |= {"r": k} | ({"size": k} if problem.norm == 1 else {})
        ball = [_ball(problem.norm, 2 * n, k, 2 * n + k, radius=R)]
    mu, h = np.arange(n), np.arange(n, 2 * n)

    def moment() -> Terms:
        for part, F in _features(problem, rows):
            yield np.arange(k), part[:, None], -F
        if R:
            yield np.arange(k), 2 * n + np.arange(k), -1.0

    constant = np.zeros((n, 3))
    constant[:, 0] = 1.0
    cones = _Rows("EXP", 3, n, lambda: [(3 * mu + 1, mu, 1.0), (3 * mu + 2, h, 1.0)], constant.ravel())
    total = _Rows("L=", 1, 1, lambda: [(0, mu, 1.0)], -np.ones(1))
    moments = _Rows("L=", k, 1, moment, problem.target)
    objective = [(0, mu, problem.log_base[rows]), (0, h, 1.0)]
    return _Program("MAX", _numbered(names), objective, [total, moments, *ball, cones])


#: programs that can be written
FORMULATIONS: dict[str, Callable[[RatioProblem], _Program]] = {"primal": _primal, "dual": _dual}


def _ball(order: float, x: int, k: int, size: int, *, bound: int | None = None, radius: float = 0.0) -> _Rows:
    """‖x‖ ≤ s for the variables from ``x`` on; s is the variable ``bound``, or the number ``radius``.

    The sum of absolute values has variables of its own for them, from ``size`` on.
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


def _features(problem: RatioProblem, rows: Any) -> Iterator[tuple[Any, Array]]:
    """Rows of F that carry weight, in parts, with their numbers among those."""
    step = max(1, NUMBERS // problem.k)
    for first in range(0, rows.size, step):
        part = np.arange(first, min(first + step, rows.size))
        yield part, problem.features_q[rows[part]]


def _numbered(counts: dict[str, int]) -> dict[str, range]:
    """Numbers of the variables, kind after kind."""
    ends = np.cumsum(list(counts.values())).tolist()
    return {name: range(end - count, end) for (name, count), end in zip(counts.items(), ends, strict=True)}


def _status(case: Case, formulation: str) -> str:
    """What is true of a program, in the words of solvers."""
    if case.truth is Truth.OPTIMAL:
        return "optimal"
    if case.truth is Truth.BOUNDARY:
        return "not attained" if formulation == "primal" else "optimal"
    return "unbounded" if formulation == "primal" else "infeasible"


def _comments(case: Case | RatioProblem, problem: RatioProblem, formulation: str) -> Iterator[str]:
    """What the file is, for those who open it."""
    name = f" {case.name!a}" if isinstance(case, Case) else ""
    yield f"Posterior ratio problem{name:.200}, {formulation} formulation"
    yield f"{problem.n_q} rows, {problem.k} features, radius {problem.radius!r}, norm {problem.norm:g}"
    if isinstance(case, Case):
        status = _status(case, formulation)
        yield f"truth: {case.truth.value}; this program {'has an optimum that is ' if ' ' in status else 'is '}{status}"
        yield f"optimal value: {float(case.value)!r}"
    left_out = int(np.isneginf(problem.log_base).sum())
    if left_out:
        yield f"rows without base weight, which are left out: {left_out}"


@contextmanager
def _open(path: Path, *, packed: bool) -> Iterator[TextIO]:
    """A file for text; a compressed one has no date and no name in it, so that its bytes are always the same."""
    with path.open("wb") as raw:
        out = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) if packed else raw
        with io.TextIOWrapper(out, encoding="ascii", newline="\n") as file:
            yield file


def _write(file: TextIO, program: _Program, comments: Iterable[str]) -> None:
    """The sections in the order that the format asks for."""
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
    """Terms of all rows, which are numbered from the first to the last."""
    first = 0
    for each in rows:
        for i, j, numbers in each.terms():
            yield first + i, j, numbers
        first += each.size * each.count


def _write_terms(file: TextIO, keyword: str, terms: Callable[[], Terms], columns: slice = slice(None)) -> None:
    """A section of coordinates: how many there are, then one line for each that is not zero."""
    count = 0
    for i, j, numbers in terms():
        shape = np.broadcast_shapes(np.shape(i), np.shape(j), np.shape(numbers))
        count += int(np.count_nonzero(np.broadcast_to(numbers, shape)))
    file.write(f"\n{keyword}\n{count}\n")
    form = " ".join(["%r", "%r", "%r"][columns]) + "\n"
    for term in terms():
        parts = [x.ravel() for x in np.broadcast_arrays(*term)]
        carries = np.flatnonzero(parts[2])
        for first in range(0, carries.size, NUMBERS):
            part = carries[first : first + NUMBERS]
            lines = zip(*(x[part].tolist() for x in parts[columns]), strict=True)
            file.writelines(form % line for line in lines)
