"""A run as a folder: ``run.json`` tells what it was made with, ``rows.csv`` has a line for every solve."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..files import DAMAGE, as_path, check_plain, write_text
from .metrics import METRICS, Verdict

__all__ = ["FACTS", "ROWS", "Key", "Row", "Run", "header", "one_line", "read_run", "row_line", "write_facts"]

#: set, case, solver, formulation, tolerance
Key = tuple[str, str, str, str, float]

#: the two files of a run
FACTS, ROWS = "run.json", "rows.csv"
FORMAT = 1
#: columns that are no metric
WORDS = ("set", "case", "n", "k", "truth", "solver", "formulation", "tol", "verdict", "claim", "note")
#: significant digits of stored metrics
DIGITS = 4
#: longest claim or note
LONG = 200


@dataclass(frozen=True)
class Row:
    """One solve.

    Attributes
    ----------
    group, case : str
        Name of the set and of the case in it.
    n, k : int
        Size of the problem.
    truth : str
        As in :class:`Truth`.
    solver, formulation : str
    tol : float
    verdict : Verdict
    claim : str
        The solver's own word.
    note : str
        What ended it, where that was no answer: a signal, an exception, a limit.
    numbers : mapping
        Metrics by name; nan or absent where there is none.
    """

    group: str
    case: str
    n: int
    k: int
    truth: str
    solver: str
    formulation: str
    tol: float
    verdict: Verdict
    claim: str = ""
    note: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What a run has one row of."""
        return self.group, self.case, self.solver, self.formulation, self.tol


@dataclass(frozen=True, eq=False)
class Run:
    """All rows of a run, in a fixed order, and what it was made with.

    Attributes
    ----------
    folder : Path or None
        Where it was read from.
    facts : mapping
        Content of ``run.json``: settings, sets and their checksums, versions, processor.
    rows : tuple of Row
        By set, case, solver and formulation in the order of ``facts``, then from loose to tight tolerances.
    """

    folder: Path | None
    facts: Mapping[str, Any]
    rows: tuple[Row, ...]


def read_run(folder: Path | str) -> Run:
    """Read a run from its folder, finished or not; a last line that was cut off is left out."""
    folder = as_path(folder, "folder")
    facts = _read_facts(folder / FACTS)
    path = folder / ROWS
    try:
        check_plain(path)
        text = path.read_text(encoding="utf-8", errors="strict")
    except FileNotFoundError:
        text = ""  # interrupted before its first row
    except OSError as error:
        raise DataError(f"run: cannot read {path} ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"run: {path} is not a text; run the benchmark again with fresh=True") from error
    return Run(folder, facts, tuple(_in_order(_read_rows(text, path), facts)))


def _in_order(rows: Iterable[Row], facts: Mapping[str, Any]) -> list[Row]:
    """Rows in the order of the sets, cases and contenders of a run, tolerances from loose to tight."""
    groups = {part.get("name"): i for i, part in enumerate(facts.get("sets", ()))}
    names = {
        (part.get("name"), name): i for part in facts.get("sets", ()) for i, name in enumerate(part.get("names", ()))
    }
    pairs = {tuple(pair): i for i, pair in enumerate(facts.get("contenders", ()))}

    def place(row: Row) -> tuple[Any, ...]:
        """Those that the facts do not name come last, by their names."""
        return (
            *(groups.get(row.group, inf), row.group),
            *(names.get((row.group, row.case), inf), row.case),
            *(pairs.get((row.solver, row.formulation), inf), row.solver, row.formulation),
            -row.tol,
        )

    return sorted(rows, key=place)


def write_facts(facts: Mapping[str, Any], folder: Path) -> Path:
    """Write ``run.json``, whole or not at all."""
    text = json.dumps({"format": FORMAT, **facts}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return write_text(folder / FACTS, text)


def header() -> str:
    """First line of ``rows.csv``."""
    return _line([*WORDS, *METRICS])


def row_line(row: Row, metrics: Sequence[str] = tuple(METRICS)) -> str:
    r"""A row as a line of ``rows.csv``.

    Examples
    --------
    >>> row_line(Row("smoke", "plain", 60, 2, "optimal", "SCS", "dual", 1e-6, Verdict.SOLVED), ["gap"])
    'smoke,plain,60,2,optimal,SCS,dual,1e-06,solved,,,\n'
    """
    words = (row.group, row.case, row.n, row.k, row.truth, row.solver, row.formulation, repr(row.tol), row.verdict)
    numbers = (row.numbers.get(name, nan) for name in metrics)
    return _line([*words, one_line(row.claim), one_line(row.note), *(_number(value) for value in numbers)])


def one_line(text: str) -> str:
    r"""A text that fits a line of a table.

    Examples
    --------
    >>> one_line(" one\n two ")
    'one two'
    """
    text = text[: 10 * LONG]  # whoever wrote it, and however much
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def _number(value: float) -> str:
    """A metric with four digits; nothing where there is none."""
    return "" if value != value else f"{value:.{DIGITS}g}"


def _line(cells: Sequence[Any]) -> str:
    """A line of CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _read_facts(path: Path) -> dict[str, Any]:
    """Content of ``run.json``."""
    try:
        check_plain(path)
        facts = json.loads(path.read_text(encoding="utf-8"))
        kind = facts.pop("format")
    except OSError as error:
        raise DataError(f"run: {path.parent} holds no run, {FACTS} cannot be read ({error.strerror})") from error
    except DAMAGE as error:
        raise DataError(f"run: {path} is damaged, or not one that the benchmark wrote") from error
    if kind != FORMAT:
        raise DataError(f"run: {path} has format {kind}, this version reads {FORMAT}")
    sets, contenders = facts.get("sets"), facts.get("contenders")
    if not (isinstance(sets, list) and all(isinstance(part, dict) and _is_named(part) for part in sets)):
        raise DataError(f"run: {path} names no sets; it is damaged, or not one that the benchmark wrote")
    if not (isinstance(contenders, list) and all(_are_words(pair) for pair in contenders)):
        raise DataError(f"run: {path} names no contenders; it is damaged, or not one that the benchmark wrote")
    return dict(facts)


def _is_named(part: dict[str, Any]) -> bool:
    """Whether a set and its cases have names."""
    return isinstance(part.get("name"), str) and _are_words(part.get("names", []))


def _are_words(x: Any) -> bool:
    return isinstance(x, list) and all(isinstance(word, str) for word in x)


def _read_rows(text: str, path: Path) -> list[Row]:
    """Rows of the whole lines of a text."""
    text = text[: text.rfind("\n") + 1]  # what follows was cut off while it was written
    if not text:
        return []
    try:
        columns, *cells = csv.reader(io.StringIO(text))
    except csv.Error as error:
        raise DataError(f"run: {path} is damaged ({error})") from error
    if tuple(columns[: len(WORDS)]) != WORDS or len(set(columns)) != len(columns):
        raise DataError(f"run: {path} has columns that the benchmark does not write")
    rows: dict[Key, Row] = {}
    for number, values in enumerate(cells, start=2):
        try:
            row = _row(dict(zip(columns, values, strict=True)))
        except ValueError as error:
            raise DataError(f"run: line {number} of {path} cannot be read ({error})") from error
        if row.key in rows:
            raise DataError(f"run: line {number} of {path} is there twice")
        rows[row.key] = row
    return list(rows.values())


def _row(cells: Mapping[str, str]) -> Row:
    """The row that a line tells of; metrics that this version does not know are kept."""
    numbers = {name: float(value) if value else nan for name, value in cells.items() if name not in WORDS}
    tol = float(cells["tol"])
    if not (isfinite(tol) and tol > 0.0):
        raise ValueError(f"tol is {cells['tol']}")
    return Row(
        cells["set"],
        cells["case"],
        int(cells["n"]),
        int(cells["k"]),
        cells["truth"],
        cells["solver"],
        cells["formulation"],
        tol,
        Verdict(cells["verdict"]),
        cells["claim"],
        cells["note"],
        numbers,
    )
