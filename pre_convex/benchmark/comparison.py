"""What changed between two runs: rows, verdicts, success, times, and what they were made with."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..plots.benchmark import short
from .measured import flat, sets_of, show
from .metrics import Verdict
from .page import Part, Section, Table, as_markdown, number, plain_table
from .records import Key, Row
from .summary import contender_of, contenders, tols
from .timing import shifted_mean, time_of

if TYPE_CHECKING:
    from .records import Run

__all__ = ["Change", "Comparison", "TimeChange", "compare"]

#: a row that became this many times slower or quicker is listed
FAR = 2.0
#: rows of a list that a terminal shows
SHOWN = 12
#: columns that name a row
WORDS = ("set", "case", "contender", "tolerance")


@dataclass(frozen=True)
class Change:
    """A row of both runs whose verdict, or whose time by more than a factor of two, is another."""

    row: Row
    now: Row

    @property
    def ratio(self) -> float:
        """Time now over time before; nan unless both are solved."""
        before, now = time_of(self.row), time_of(self.now)
        return now / before if np.isfinite(before) and np.isfinite(now) else np.nan


@dataclass(frozen=True)
class TimeChange:
    """Success and time of a contender at a tolerance, over the rows of both runs.

    ``ratio`` is the geometric mean of time now over time before, where both are solved: below one it became quicker.
    """

    contender: str
    tol: float
    rows: int
    solved_before: int
    solved_now: int
    both: int
    ratio: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """What changed from a first run to a second.

    Attributes
    ----------
    shared : int
        Rows of both.
    only_before, only_now : tuple of Key
        Rows of one run alone.
    verdicts : tuple of Change
        Rows with another verdict.
    contenders : tuple of TimeChange
    times : tuple of Change
        Rows solved in both that became more than two times slower or quicker, the furthest first.
    facts : tuple of (str, str, str)
        Name, before and now of settings, versions and the machine, where they differ.
    sets : tuple of (str, str, str)
        Name and checksums of sets that are not the same.
    """

    shared: int
    only_before: tuple[Key, ...]
    only_now: tuple[Key, ...]
    verdicts: tuple[Change, ...]
    contenders: tuple[TimeChange, ...]
    times: tuple[Change, ...]
    facts: tuple[tuple[str, str, str], ...]
    sets: tuple[tuple[str, str, str], ...]

    @property
    def same_verdicts(self) -> bool:
        """Whether there are rows of both runs, and every one has the same verdict in both."""
        return self.shared > 0 and not self.verdicts

    @property
    def comparable(self) -> bool:
        """Whether no set has changed between the runs."""
        return not self.sets

    def to_markdown(self) -> str:
        """Everything that changed, as Markdown."""
        return as_markdown("Two runs of the solver benchmark", [Section(t, tuple(p)) for t, p in self._sections(None)])

    def lines(self, width: int = 80) -> list[str]:
        """The same for a terminal, long lists cut."""
        found: list[str] = []
        for title, parts in self._sections(SHOWN):
            found += ["", title] if found else [title]
            for part in parts:
                if isinstance(part, Table):
                    found += [*textwrap.wrap(f"{part.caption}:", width), *plain_table(part, width)]
                else:
                    found += textwrap.wrap(str(part).replace("`", ""), width)
        return found

    def _sections(self, most: int | None) -> Iterator[tuple[str, list[Part]]]:
        """Sections; lists have at most so many rows."""
        yield "What changed", list(self._summary())
        yield "Success and time", [self._contenders()]
        if self.verdicts:
            verdicts = [(*_words(c.row), c.row.verdict.value, c.now.verdict.value) for c in self.verdicts]
            yield "Verdicts", _cut("Rows with another verdict", (*WORDS, "before", "now"), verdicts, 6, most)
        if self.times:
            times = [
                (*_words(c.row), number(time_of(c.row)), number(time_of(c.now)), number(c.ratio)) for c in self.times
            ]
            columns = (*WORDS, "before, s", "now, s", "ratio")
            yield "Times", _cut("Rows more than two times slower or quicker", columns, times, 4, most)
        for title, keys in (("Only in the first run", self.only_before), ("Only in the second run", self.only_now)):
            if keys:
                names = [(*key[:2], " ".join(key[2:4]).removesuffix(" both"), short(key[4])) for key in keys]
                yield title, _cut("Rows without a counterpart", WORDS, names, 4, most)
        if self.facts:
            yield "Made with", [Table("Facts that differ", ("fact", "before", "now"), self.facts, 3)]

    def _summary(self) -> Iterator[str]:
        """The answer in a few lines."""
        same = "yes" if self.same_verdicts else "no"
        yield f"same verdicts: {same} ({len(self.verdicts)} of {self.shared} rows of both runs differ)"
        if self.sets:
            names = "; ".join(f"{name}: {before[:12]} before, {now[:12]} now" for name, before, now in self.sets)
            yield f"WARNING: sets with other problems in them, so the runs cannot be compared on these: {names}"
        better = sum(c.now.verdict is Verdict.SOLVED for c in self.verdicts)
        worse = sum(c.row.verdict is Verdict.SOLVED for c in self.verdicts)
        if self.verdicts:
            other = len(self.verdicts) - better - worse
            yield f"newly solved: {better}, no longer solved: {worse}, wrong in another way: {other}"
        if self.only_before or self.only_now:
            yield f"rows of the first run alone: {len(self.only_before)}, of the second: {len(self.only_now)}"
        machine = [name for name, _, _ in self.facts if name.rpartition(".")[2] in ("cpu", "cores", "threads", "jobs")]
        if machine:
            yield f"times are not those of one machine and setting; these differ: {', '.join(machine)}"

    def _contenders(self) -> Part:
        """Before and now, contender by contender."""
        rows = tuple(
            (
                c.contender,
                short(c.tol),
                f"{c.solved_before} of {c.rows}",
                f"{c.solved_now} of {c.rows}",
                number(c.ratio),
            )
            for c in self.contenders
        )
        caption = "Rows of both runs; time is now over before where both solved, in the geometric mean"
        return Table(caption, ("contender", "tolerance", "solved before", "solved now", "time"), rows)


def compare(a: Run, b: Run) -> Comparison:
    """Compare a run with a later one, row by row."""
    before, now = ({row.key: row for row in run.rows} for run in (a, b))
    pairs = [Change(row, now[key]) for key, row in before.items() if key in now]
    far = [c for c in pairs if np.isfinite(c.ratio) and max(c.ratio, 1.0 / c.ratio) > FAR]
    return Comparison(
        shared=len(pairs),
        only_before=tuple(key for key in before if key not in now),
        only_now=tuple(key for key in now if key not in before),
        verdicts=tuple(c for c in pairs if c.row.verdict is not c.now.verdict),
        contenders=tuple(_changes(pairs)),
        times=tuple(sorted(far, key=lambda c: -max(c.ratio, 1.0 / c.ratio))),
        facts=tuple(_facts(a, b)),
        sets=tuple(_sets(a, b)),
    )


def _changes(pairs: Sequence[Change]) -> Iterator[TimeChange]:
    """Success and time by contender and tolerance."""
    rows = [pair.row for pair in pairs]
    for contender in contenders(rows):
        for tol in tols(rows):
            own = [c for c in pairs if c.row.tol == tol and contender_of(c.row) == contender]
            if own:
                was = sum(c.row.verdict is Verdict.SOLVED for c in own)
                now = sum(c.now.verdict is Verdict.SOLVED for c in own)
                ratios = [c.ratio for c in own if np.isfinite(c.ratio)]
                yield TimeChange(contender, tol, len(own), was, now, len(ratios), shifted_mean(ratios))


def _facts(a: Run, b: Run) -> Iterator[tuple[str, str, str]]:
    """Facts that differ, those of sets left out."""
    before, now = flat(a.facts), flat(b.facts)
    for name in dict.fromkeys([*before, *now]):
        pair = tuple(show(facts[name]) if name in facts else "–" for facts in (before, now))
        if pair[0] != pair[1]:
            yield name, pair[0], pair[1]


def _sets(a: Run, b: Run) -> Iterator[tuple[str, str, str]]:
    """Sets of both runs that are not the same."""
    before, now = sets_of(a.facts), sets_of(b.facts)
    for name in before:
        if name in now:
            sums = [str(facts[name].get("checksum", "unknown")) for facts in (before, now)]
            if sums[0] != sums[1]:
                yield name, sums[0], sums[1]


def _words(row: Row) -> tuple[str, str, str, str]:
    return row.group, row.case, contender_of(row), short(row.tol)


def _cut(
    caption: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], words: int, most: int | None
) -> list[Part]:
    """A table of the first rows, and how many more there are."""
    shown = rows if most is None else rows[:most]
    table = Table(f"{caption} ({len(rows)})", columns, tuple(shown), words)
    return [table] if len(shown) == len(rows) else [table, f"… and {len(rows) - len(shown)} more"]
