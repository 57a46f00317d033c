"""What changed between two runs: rows, verdicts, success, times, settings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .document import Part, Section, Table, as_markdown, format_fact, format_number, format_tol, plain_table
from .metrics import Verdict
from .records import Key, Row
from .summary import contender_name, contenders, tols
from .timing import shifted_mean, time_of

if TYPE_CHECKING:
    from .records import Run

__all__ = ["Change", "Comparison", "ContenderChange", "compare"]

#: rows whose time changed by more than this factor are listed
FACTOR = 2.0
#: rows of a list that a terminal shows
MAX_LISTED = 12
#: columns that identify a row
ROW_COLUMNS = ("set", "case", "contender", "tolerance")


@dataclass(frozen=True)
class Change:
    """A row in the first run and the same row in the second."""

    before: Row
    now: Row

    @property
    def ratio(self) -> float:
        """Time now over time before; nan unless both are solved."""
        before, now = time_of(self.before), time_of(self.now)
        return now / before if np.isfinite(before) and np.isfinite(now) else np.nan


@dataclass(frozen=True)
class ContenderChange:
    """Success and time of a contender at a tolerance, over the rows of both runs.

    Attributes
    ----------
    contender : str
        Solver and formulation.
    tol : float
        Requested tolerance.
    rows : int
        Number of rows in both runs.
    solved_before, solved_now : int
        Number solved in the first run, and in the second.
    ratio : float
        Geometric mean of time now over time before, on rows solved in both; below one it became quicker.
    """

    contender: str
    tol: float
    rows: int
    solved_before: int
    solved_now: int
    ratio: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """What changed from one run to another.

    Attributes
    ----------
    shared : int
        Number of rows in both.
    only_before, only_now : tuple of Key
        Rows of one run only.
    verdicts : tuple of Change
        Rows whose verdict changed.
    contenders : tuple of ContenderChange
        Success and time by contender and tolerance.
    times : tuple of Change
        Rows solved in both that became more than two times slower or quicker, largest change first.
    facts : tuple of (str, str, str)
        Settings and versions that differ: name, before, now.
    sets : tuple of (str, str, str)
        Sets whose problems differ: name and both checksums.
    """

    shared: int
    only_before: tuple[Key, ...]
    only_now: tuple[Key, ...]
    verdicts: tuple[Change, ...]
    contenders: tuple[ContenderChange, ...]
    times: tuple[Change, ...]
    facts: tuple[tuple[str, str, str], ...]
    sets: tuple[tuple[str, str, str], ...]

    @property
    def same_verdicts(self) -> bool:
        """Whether the runs share rows and all of these have the same verdict."""
        return self.shared > 0 and not self.verdicts

    def to_markdown(self) -> str:
        """The comparison as Markdown."""
        return as_markdown("Two runs of the solver benchmark", [Section(t, tuple(p)) for t, p in self._sections(None)])

    def lines(self, width: int = 80) -> list[str]:
        """The comparison for a terminal, with long lists cut.

        Parameters
        ----------
        width : int, default 80
            Columns of the terminal.
        """
        lines: list[str] = []
        for title, parts in self._sections(MAX_LISTED):
            lines += ["", title] if lines else [title]
            for part in parts:
                if isinstance(part, Table):
                    lines += [*textwrap.wrap(f"{part.caption}:", width), *plain_table(part, width)]
                else:
                    lines += textwrap.wrap(str(part).replace("`", ""), width)
        return lines

    def _sections(self, max_rows: int | None) -> Iterator[tuple[str, list[Part]]]:
        """Titles and parts; lists are cut to ``max_rows`` rows, if given."""
        yield "What changed", list(self._overview())
        yield "Success and time", [self._contender_table()]
        if self.verdicts:
            verdicts = [(*_labels(c.before), c.before.verdict.value, c.now.verdict.value) for c in self.verdicts]
            yield "Verdicts", _cut("Rows whose verdict changed", (*ROW_COLUMNS, "before", "now"), verdicts, 6, max_rows)
        if self.times:
            times = [
                (*_labels(c.before), *map(format_number, (time_of(c.before), time_of(c.now), c.ratio)))
                for c in self.times
            ]
            columns = (*ROW_COLUMNS, "before, s", "now, s", "ratio")
            yield "Times", _cut("Rows that became more than two times slower or quicker", columns, times, 4, max_rows)
        for title, keys in (("Only in the first run", self.only_before), ("Only in the second run", self.only_now)):
            if keys:
                names = [(*key[:2], " ".join(key[2:4]).removesuffix(" both"), format_tol(key[4])) for key in keys]
                yield title, _cut("Rows of this run only", ROW_COLUMNS, names, 4, max_rows)
        if self.facts:
            yield "Settings and environment", [Table("What differs", ("setting", "before", "now"), self.facts, 3)]

    def _overview(self) -> Iterator[str]:
        """The result in a few lines."""
        same = "yes" if self.same_verdicts else "no"
        yield f"same verdicts: {same} ({len(self.verdicts)} of {self.shared} rows of both runs differ)"
        if self.sets:
            names = "; ".join(f"{name}: {before[:12]} before, {now[:12]} now" for name, before, now in self.sets)
            yield f"WARNING: these sets have different problems and cannot be compared: {names}"
        better = sum(c.now.verdict is Verdict.SOLVED for c in self.verdicts)
        worse = sum(c.before.verdict is Verdict.SOLVED for c in self.verdicts)
        if self.verdicts:
            other = len(self.verdicts) - better - worse
            yield f"newly solved: {better}, no longer solved: {worse}, unsolved in another way: {other}"
        if self.only_before or self.only_now:
            yield f"rows of the first run only: {len(self.only_before)}, of the second: {len(self.only_now)}"
        machine = [name for name, _, _ in self.facts if name.rpartition(".")[2] in ("cpu", "cores", "threads", "jobs")]
        if machine:
            yield f"times are not comparable, because these differ: {', '.join(machine)}"

    def _contender_table(self) -> Part:
        """Success and time by contender."""
        rows = tuple(
            (
                *(c.contender, format_tol(c.tol), f"{c.solved_before} of {c.rows}", f"{c.solved_now} of {c.rows}"),
                format_number(c.ratio),
            )
            for c in self.contenders
        )
        caption = "Rows of both runs; time is the geometric mean of now over before on rows solved in both"
        return Table(caption, ("contender", "tolerance", "solved before", "solved now", "time"), rows)


def compare(a: Run, b: Run) -> Comparison:
    """Compare two runs row by row.

    Parameters
    ----------
    a, b : Run
        The earlier run and the later one.

    Returns
    -------
    Comparison
    """
    before, now = ({row.key: row for row in run.rows} for run in (a, b))
    pairs = [Change(row, now[key]) for key, row in before.items() if key in now]
    large = [c for c in pairs if np.isfinite(c.ratio) and max(c.ratio, 1.0 / c.ratio) > FACTOR]
    return Comparison(
        shared=len(pairs),
        only_before=tuple(key for key in before if key not in now),
        only_now=tuple(key for key in now if key not in before),
        verdicts=tuple(c for c in pairs if c.before.verdict is not c.now.verdict),
        contenders=tuple(_contender_changes(pairs)),
        times=tuple(sorted(large, key=lambda c: -max(c.ratio, 1.0 / c.ratio))),
        facts=tuple(_changed_facts(a, b)),
        sets=tuple(_changed_sets(a, b)),
    )


def _contender_changes(pairs: Sequence[Change]) -> Iterator[ContenderChange]:
    """Success and time by contender and tolerance."""
    rows = [pair.before for pair in pairs]
    for contender in contenders(rows):
        for tol in tols(rows):
            own = [c for c in pairs if c.before.tol == tol and contender_name(c.before) == contender]
            if own:
                before = sum(c.before.verdict is Verdict.SOLVED for c in own)
                now = sum(c.now.verdict is Verdict.SOLVED for c in own)
                ratios = [c.ratio for c in own if np.isfinite(c.ratio)]
                yield ContenderChange(contender, tol, len(own), before, now, shifted_mean(ratios))


def _changed_facts(a: Run, b: Run) -> Iterator[tuple[str, str, str]]:
    """Settings and versions that differ."""
    before, now = a.flat_facts, b.flat_facts
    for name in dict.fromkeys([*before, *now]):
        pair = tuple(format_fact(facts[name]) if name in facts else "–" for facts in (before, now))
        if pair[0] != pair[1]:
            yield name, pair[0], pair[1]


def _changed_sets(a: Run, b: Run) -> Iterator[tuple[str, str, str]]:
    """Sets of both runs whose checksums differ."""
    for name in a.sets:
        if name in b.sets:
            before, now = (str(run.sets[name].get("checksum", "unknown")) for run in (a, b))
            if before != now:
                yield name, before, now


def _labels(row: Row) -> tuple[str, str, str, str]:
    """Cells that identify a row."""
    return row.test_set, row.case, contender_name(row), format_tol(row.tol)


def _cut(
    caption: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], text_columns: int, max_rows: int | None
) -> list[Part]:
    """A table of the first rows, and the number of the others."""
    shown = rows[:max_rows]
    table = Table(f"{caption} ({len(rows)})", columns, tuple(shown), text_columns)
    return [table] if len(shown) == len(rows) else [table, f"… and {len(rows) - len(shown)} more"]
