"""How a run was measured: rules, limits, sets with their checksums, versions, machine; all facts that the run has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plots.benchmark import short
from .metrics import METRICS
from .page import Part, Table
from .summary import column, contenders, groups, tols

if TYPE_CHECKING:
    from .records import Run

UNITS = {"time_limit": "s", "memory_limit": "MB"}
#: facts of a set that have a place in its table, or are its rows
SEEN = ("name", "names", "title", "version", "cases", "checksum")

__all__ = ["count", "flat", "how_it_was_measured", "missing", "sets_of", "time_limit"]


def time_limit(run: Run) -> float:
    """Seconds that a solve was given; the longest time of the run if its facts do not tell."""
    for name, value in flat(run.facts).items():
        if name.rpartition(".")[2] == "time_limit" and isinstance(value, (int, float)):
            return float(value)
    times = column(run.rows, "time")
    return float(np.nanmax(times)) if np.isfinite(times).any() else 1.0


def flat(facts: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Facts within facts by dotted names, the sets left out, for they have a table of their own.

    Examples
    --------
    >>> flat({"cpu": "x", "versions": {"numpy": "2.0"}, "tols": [1e-4]})
    {'cpu': 'x', 'versions.numpy': '2.0', 'tols': [0.0001]}
    """
    found: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping) and name != "sets":
            found |= flat(value, f"{before}{name}.")
        elif name != "sets" or before:
            found[before + name] = value
    return found


def sets_of(facts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Facts about each set by its name, whether they are kept as a list or by name."""
    kept = facts.get("sets", ())
    if isinstance(kept, Mapping):
        return {str(name): dict(value) if isinstance(value, Mapping) else {"is": value} for name, value in kept.items()}
    return {str(part.get("name", i)): dict(part) for i, part in enumerate(kept) if isinstance(part, Mapping)}


def missing(run: Run) -> int:
    """Rows that the run is to have by its facts and has not, for it was interrupted or goes on."""
    cases = sum(int(facts["cases"]) for facts in sets_of(run.facts).values() if isinstance(facts.get("cases"), int))
    asked = [run.facts.get("contenders"), run.facts.get("tolerances")]
    pairs, few = (len(part) if isinstance(part, Sequence) else 0 for part in asked)
    return max(cases * pairs * few - len(run.rows), 0)


def count(n: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1, "set"), count(2000, "set")
    ('1 set', '2,000 sets')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"


def how_it_was_measured(run: Run, limit: float) -> Iterator[Part]:
    """Rules, then everything that the run knows about itself."""
    rows = run.rows
    cases = len({(row.group, row.case) for row in rows})
    yield (
        f"{count(len(rows), 'row')}: {count(cases, 'case')} of {count(len(groups(rows)), 'set')}, "
        f"{count(len(contenders(rows)), 'contender')}, {count(len(tols(rows)), 'tolerance')}, {limit:g} s at most. "
        "Every solve is a process of its own, so that a crash, a hang or a want of memory is one row. One tolerance is "
        "given to each solver under the names of its own options; there is no warm start and no polishing by the "
        "package; threads of BLAS are fixed. Where a solve ran into a limit, tighter tolerances of the same case are "
        "not tried and count the same."
    )
    yield from _sets(run)
    yield Table(
        "What is measured", ("metric", "what it is", "unit"), tuple((n, m.words, m.unit) for n, m in METRICS.items()), 3
    )
    facts = tuple((name, f"{show(value)} {UNITS.get(name, '')}".strip()) for name, value in flat(run.facts).items())
    if facts:
        yield Table("Facts of the run", ("fact", "value"), facts, 2)
    else:
        yield "The run has kept no facts about itself."


def _sets(run: Run) -> Iterator[Part]:
    """The sets, with what identifies them."""
    known = sets_of(run.facts)
    columns = ["title", "version", "cases", "checksum"]
    columns += [key for key in dict.fromkeys(key for facts in known.values() for key in facts) if key not in SEEN]
    body = []
    for name in dict.fromkeys([*groups(run.rows), *known]):
        facts = known.get(name, {})
        tried = len({row.case for row in run.rows if row.group == name})
        cells = [show(facts.get(key, "–")) for key in columns]
        cells[2] = str(tried) if cells[2] in ("–", str(tried)) else f"{tried} of {cells[2]}"
        body.append((name, *cells))
    if body:
        yield Table("Sets", ("set", *columns), tuple(body), len(columns) + 1)


def show(value: Any) -> str:
    """A fact in words."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:g}" if value >= 1e-2 or value <= 0.0 else short(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {show(part)}" for name, part in value.items())
    if isinstance(value, Sequence):
        whole = all(isinstance(part, (str, int, float)) for part in value)
        return (", " if whole else "; ").join(
            " ".join(map(show, part)) if isinstance(part, (list, tuple)) else show(part) for part in value
        )
    return str(value)
