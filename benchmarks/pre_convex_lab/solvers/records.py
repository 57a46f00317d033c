"""A run on disk: ``run.json`` records its settings, ``rows.csv`` has a line for every solve."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isfinite, nan
from pathlib import Path
from typing import IO, Any

from pre_convex.data.files import CORRUPT_FILE_ERRORS, as_path, check_regular_file, report_write_errors, write_text
from pre_convex.errors import DataError

from .metrics import METRICS, Verdict

__all__ = [
    "FACTS",
    "RERUN",
    "ROWS",
    "Key",
    "Row",
    "RowFile",
    "Run",
    "header",
    "lock_folder",
    "one_line",
    "open_run",
    "read_run",
    "row_line",
]

#: what a run has one row for: set, case, solver, formulation, tolerance
Key = tuple[str, str, str, str, float]

#: the two files of a run
FACTS, ROWS = "run.json", "rows.csv"
FORMAT = 1
#: columns before the metrics
COLUMNS = ("set", "case", "n", "k", "truth", "solver", "formulation", "tol", "verdict", "claim", "note")
#: significant digits of stored metrics
DIGITS = 4
#: longest claim or note, in characters
MAX_TEXT = 200

#: remedy for a damaged run
RERUN = "run the benchmark again with fresh=True (--fresh)"


@dataclass(frozen=True)
class Row:
    """One solve.

    Attributes
    ----------
    test_set, case : str
        Name of the set, and of the case in it.
    n, k : int
        Rows and columns of the feature matrix.
    truth : str
        As in :class:`Truth`.
    solver, formulation : str
        Such as ``"CLARABEL"`` and ``"dual"``; ``"both"`` if the solver has only one formulation.
    tol : float
        Requested tolerance.
    verdict : Verdict
        The benchmark's judgement.
    claim : str
        The solver's own word.
    note : str
        What ended the solve if it returned no answer: a signal, an exception, a limit.
    numbers : mapping
        Metrics by name; nan or absent if unknown.
    """

    test_set: str
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
        """What identifies the row in its run."""
        return self.test_set, self.case, self.solver, self.formulation, self.tol


@dataclass(frozen=True, eq=False)
class Run:
    """All rows of a run, and its settings.

    Attributes
    ----------
    folder : Path or None
        Where it was read from.
    facts : mapping
        Content of ``run.json``: settings, sets and their checksums, versions, processor.
    rows : tuple of Row
        Ordered by set, case, solver and formulation as in ``facts``, then from loose to tight tolerances.
    """

    folder: Path | None
    facts: Mapping[str, Any]
    rows: tuple[Row, ...]

    @cached_property
    def sets(self) -> dict[str, dict[str, Any]]:
        """What ``facts`` says about each set, by name."""
        return {str(part["name"]): dict(part) for part in self.facts.get("sets", ())}

    @cached_property
    def flat_facts(self) -> dict[str, Any]:
        """Nested entries of ``facts`` by dotted names, such as ``"versions.numpy"``, without the sets."""
        return _flatten({name: value for name, value in self.facts.items() if name != "sets"})

    @property
    def missing(self) -> int:
        """Number of rows still to come; zero if the run is finished."""
        cases = sum(int(part.get("cases", 0)) for part in self.sets.values())
        pairs, tols = (len(self.facts.get(name, ())) for name in ("contenders", "tolerances"))
        return max(cases * pairs * tols - len(self.rows), 0)

    @property
    def time_limit(self) -> float:
        """Seconds allowed for one solve; the longest time in the run if unknown."""
        if "time_limit" in self.facts:
            return float(self.facts["time_limit"])
        times = [row.numbers.get("time", nan) for row in self.rows]
        return max((seconds for seconds in times if isfinite(seconds)), default=1.0)


def _flatten(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        flat |= _flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flat


def read_run(folder: Path | str) -> Run:
    """Read a run from its folder, finished or not. An incomplete last line is ignored.

    Parameters
    ----------
    folder : str or path
        The folder that was ``out`` of the run.

    Returns
    -------
    Run
    """
    folder = as_path(folder, "folder")
    facts = _read_facts(folder / FACTS)
    path = folder / ROWS
    try:
        check_regular_file(path)
        text = path.read_text(encoding="utf-8", errors="strict")
    except FileNotFoundError:
        text = ""  # interrupted before its first row
    except OSError as error:
        raise DataError("run", f"cannot read {path} ({error.strerror})", "check the permissions") from error
    except UnicodeDecodeError as error:
        raise DataError("run", f"{path} is not a text file", RERUN) from error
    return Run(folder, facts, tuple(_in_order(_read_rows(text, path), facts)))


def _in_order(rows: Iterable[Row], facts: Mapping[str, Any]) -> list[Row]:
    """Rows in the order of the sets, cases and contenders in ``facts``, tolerances from loose to tight."""
    sets = {part.get("name"): i for i, part in enumerate(facts.get("sets", ()))}
    cases = {
        (part.get("name"), name): i for part in facts.get("sets", ()) for i, name in enumerate(part.get("names", ()))
    }
    pairs = {tuple(pair): i for i, pair in enumerate(facts.get("contenders", ()))}

    def position(row: Row) -> tuple[Any, ...]:
        """Rows that the facts do not list come last, by name."""
        return (
            *(sets.get(row.test_set, inf), row.test_set),
            *(cases.get((row.test_set, row.case), inf), row.case),
            *(pairs.get((row.solver, row.formulation), inf), row.solver, row.formulation),
            -row.tol,
        )

    return sorted(rows, key=position)


@dataclass(frozen=True, eq=False)
class RowFile:
    """``rows.csv``, open for appending, and the rows that it had before."""

    folder: Path
    file: IO[bytes]
    stored: Sequence[Row]

    def append(self, row: Row) -> None:
        """Write a row, unbuffered, so that an interruption loses nothing."""
        data = row_line(row).encode()
        with report_write_errors("out", self.folder):
            while data:
                data = data[self.file.write(data) :]


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Create the folder of a run if needed, and keep other runs from writing to it."""
    import fcntl

    with report_write_errors("out", folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # released however this process ends
        except BlockingIOError as error:
            raise DataError(
                "out", f"another run is writing to {folder}", "use another folder, or wait until it ends"
            ) from error
        except OSError as error:
            raise DataError(
                "out",
                f"{folder} cannot be locked ({error.strerror})",
                "use a folder on a file system that supports locks",
            ) from error
        yield
    finally:
        os.close(lock)


@contextmanager
def open_run(folder: Path, facts: Mapping[str, Any], stored: Sequence[Row] | None) -> Iterator[RowFile]:
    """Write ``run.json`` if the run is new, and open ``rows.csv`` for appending; rows are sorted at the end.

    Parameters
    ----------
    folder : Path
        Folder of the run.
    facts : mapping
        Content of ``run.json``.
    stored : sequence of Row, or None
        Rows to keep; ``None`` for a new run.
    """
    with report_write_errors("out", folder):
        if stored is None:
            (folder / ROWS).unlink(missing_ok=True)
            text = json.dumps({"format": FORMAT, **facts}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            write_text(folder / FACTS, text)
        _write_rows(folder, stored or ())  # drops an incomplete last line
        file = (folder / ROWS).open("ab", buffering=0)
    with file:
        yield RowFile(folder, file, stored or ())
    with report_write_errors("out", folder):  # sorted, so that two runs differ only in their numbers
        _write_rows(folder, read_run(folder).rows)


def _write_rows(folder: Path, rows: Sequence[Row]) -> None:
    """Replace ``rows.csv`` atomically."""
    write_text(folder / ROWS, "".join([header(), *map(row_line, rows)]))


def header() -> str:
    """First line of ``rows.csv``."""
    return _line([*COLUMNS, *METRICS])


def row_line(row: Row, metrics: Sequence[str] = tuple(METRICS)) -> str:
    r"""A row as a line of ``rows.csv``.

    Examples
    --------
    >>> row_line(Row("smoke", "plain", 60, 2, "optimal", "SCS", "dual", 1e-6, Verdict.SOLVED), ["gap"])
    'smoke,plain,60,2,optimal,SCS,dual,1e-06,solved,,,\n'
    """
    start = (row.test_set, row.case, row.n, row.k, row.truth, row.solver, row.formulation, repr(row.tol), row.verdict)
    numbers = (row.numbers.get(name, nan) for name in metrics)
    return _line([*start, one_line(row.claim), one_line(row.note), *(_number(value) for value in numbers)])


def one_line(text: str) -> str:
    r"""A text cut to one printable line of at most 200 characters.

    Examples
    --------
    >>> one_line(" one\n two ")
    'one two'
    """
    text = text[: 10 * MAX_TEXT]  # it may come from a solver and be huge
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _number(value: float) -> str:
    """A metric with four significant digits; empty for nan."""
    return "" if value != value else f"{value:.{DIGITS}g}"


def _line(cells: Sequence[Any]) -> str:
    """A line of CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _read_facts(path: Path) -> dict[str, Any]:
    """Content of ``run.json``, with what other code relies on checked."""
    try:
        check_regular_file(path)
        facts = json.loads(path.read_text(encoding="utf-8"))
        kind = facts.pop("format")
    except OSError as error:
        reason = f"there is no run in {path.parent} (cannot read {FACTS}: {error.strerror})"
        raise DataError("run", reason, "pass the folder of a run") from error
    except CORRUPT_FILE_ERRORS as error:
        raise DataError("run", f"{path} is damaged, or not the record of a run", RERUN) from error
    if kind != FORMAT:
        raise DataError("run", f"{path} has format {kind}, this version reads {FORMAT}", RERUN)
    checks = {
        "sets": lambda sets: isinstance(sets, list) and all(isinstance(part, dict) and _is_set(part) for part in sets),
        "contenders": lambda pairs: isinstance(pairs, list) and all(map(_is_strings, pairs)),
        "tolerances": lambda tols: isinstance(tols, list) and all(map(_is_number, tols)),
        "time_limit": _is_number,
    }
    required = ("sets", "contenders")
    for name, check in checks.items():
        if (name in facts or name in required) and not check(facts.get(name)):
            raise DataError("run", f"{path} is damaged: {name!r} is missing or wrong", RERUN)
    return dict(facts)


def _is_set(part: dict[str, Any]) -> bool:
    """Whether the entry of a set has names for it and its cases."""
    return isinstance(part.get("name"), str) and _is_strings(part.get("names", [])) and _is_number(part.get("cases", 0))


def _is_strings(x: Any) -> bool:
    return isinstance(x, list) and all(isinstance(word, str) for word in x)


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and abs(x) < 1e300


def _read_rows(text: str, path: Path) -> list[Row]:
    """Rows of the complete lines of a text."""
    text = text[: text.rfind("\n") + 1]  # the rest is a line that was being written
    if not text:
        return []
    try:
        columns, *lines = csv.reader(io.StringIO(text))
    except csv.Error as error:
        raise DataError("run", f"{path} is damaged ({error})", RERUN) from error
    if tuple(columns[: len(COLUMNS)]) != COLUMNS or len(set(columns)) != len(columns):
        raise DataError("run", f"{path} does not have the columns of a run", RERUN)
    rows: dict[Key, Row] = {}
    for number, values in enumerate(lines, start=2):
        try:
            row = _parse_row(dict(zip(columns, values, strict=True)))
        except ValueError as error:
            raise DataError("run", f"line {number} of {path} cannot be read ({error})", RERUN) from error
        if row.key in rows:
            raise DataError("run", f"line {number} of {path} is a duplicate", RERUN)
        rows[row.key] = row
    return list(rows.values())


def _parse_row(cells: Mapping[str, str]) -> Row:
    """The row of a line; metrics that this version does not know are kept."""
    numbers = {name: float(value) if value else nan for name, value in cells.items() if name not in COLUMNS}
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
