"""The report's first section, composed from its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..plots.benchmark import short
from .measured import count
from .page import number, percent
from .records import Row
from .summary import contenders, false_claims, groups, sections, select, successes, tols
from .timing import mean_times, versus

__all__ = ["in_short"]


def in_short(rows: Sequence[Row], limit: float) -> list[str]:
    """Who was right, who said so falsely, who was quick, and which formulation: a few paragraphs."""
    parts = [[*_size(rows), *_success(rows)], _claims(rows), _times(rows, limit), _formulation(rows)]
    return [paragraph for part in parts if (paragraph := " ".join(part))]


def _size(rows: Sequence[Row]) -> Iterator[str]:
    cases = {(row.group, row.case) for row in rows}
    few = list(map(short, tols(rows)))
    yield (
        f"{count(len(contenders(rows)), 'contender')} on {count(len(cases), 'problem')} of "
        f"{count(len(groups(rows)), 'set')} at {'tolerance' if len(few) == 1 else 'tolerances'} {_list(few)}."
    )


def _success(rows: Sequence[Row]) -> Iterator[str]:
    """The best, those next to it, and the last."""
    everything = sections(rows)[-1]
    found = [s for s in successes(rows) if s.group == everything and s.rows]
    share = {
        name: np.mean([s.rate for s in found if s.contender == name])
        for name in contenders(rows)
        if any(s.contender == name for s in found)
    }

    def rates(name: str) -> str:
        own = [percent(s.rate) for s in found if s.contender == name]
        return own[0] if len(set(own)) == 1 else _list(own)

    order = sorted(share, key=lambda name: -share[name])
    if not share[order[0]]:
        yield "Nobody solved any of them."
        return
    best = [name for name in order if rates(name) == rates(order[0])]
    several = len(tols(rows)) > 1
    whole = " at every tolerance" if several and share[order[0]] == 1.0 else ""
    yield f"{_list(best)} {'each ' if len(best) > 1 else ''}solved {rates(order[0])} of them{whole}."
    rest = [name for name in order if name not in best]
    if rest:
        varied = next((name for name in rest[:2] if " and " in rates(name)), None)
        near = [f"{name} ({rates(name)}{', from loose to tight' * (name == varied)})" for name in rest[:2]]
        last = f"; last is {rest[-1]} ({rates(rest[-1])})" if len(rest) > 2 else ""
        yield f"Next {'come' if len(rest) > 1 else 'comes'} {_list(near)}{last}."


def _claims(rows: Sequence[Row]) -> Iterator[str]:
    """Who claims what is not so."""
    false = dict.fromkeys(contenders(rows), (0, 0, 0))
    for f in false_claims(rows):
        own = false[f.contender]
        false[f.contender] = (own[0] + f.not_optimal, own[1] + f.grossly, own[2] + f.not_infeasible)
    honest = [name for name, (optimal, _, none) in false.items() if optimal + none == 0]
    if len(honest) == len(false):
        yield "Nobody made a false claim."
        return
    total, gross, none = (sum(own[i] for own in false.values()) for i in range(3))
    made = {name: optimal + none for name, (optimal, _, none) in false.items() if optimal + none}
    most = max(made.values())
    worst = [name for name, times in made.items() if times == most]
    who = f"{_list(worst)} made {'all' if len(made) == 1 else 'the most'} ({most}{' each' * (len(worst) > 1)})"
    said = [
        f"{count(total, 'claim')} of an optimum {'was' if total == 1 else 'were'} false, {gross} of them grossly",
        f"{count(none, 'claim')} that there is none {'was' if none == 1 else 'were'} false",
    ]
    yield (f"{', and '.join(part for part, times in zip(said, (total, none), strict=True) if times)}; {who}.")
    if honest:
        yield f"{_list(honest)} made no false claim."


def _times(rows: Sequence[Row], limit: float) -> Iterator[str]:
    """The quickest at the middle tolerance, and those after it."""
    asked = tols(rows)
    tol, everything = asked[len(asked) // 2], sections(rows)[-1]
    found = [m for m in mean_times(rows, limit) if (m.tol, m.group) == (tol, everything) and np.isfinite(m.seconds)]
    if len(found) < 2 or not any(m.solved for m in found):
        return
    first, *rest = sorted(found, key=lambda m: m.seconds)
    following = "; ".join(f"{m.contender} takes {number(m.ratio)} times as long" for m in rest[:2])
    last = f"; {rest[-1].contender}, the slowest, {number(rest[-1].ratio)} times" if len(rest) > 2 else ""
    yield (
        f"At {short(tol)} {first.contender} is quickest in the shifted geometric mean, with unsolved cases at the "
        f"limit of {limit:g} s; {following}{last}."
    )


def _formulation(rows: Sequence[Row]) -> Iterator[str]:
    """Primal or dual, for each solver at the middle tolerance."""
    asked = tols(rows)
    tol = asked[len(asked) // 2]
    said = []
    for solver in dict.fromkeys(row.solver for row in select(rows, tol=tol)):
        own = [v for v in versus(rows, tol) if v.solver == solver]
        if own:
            v = own[0]  # over all sets
            quicker = "primal" if v.ratio < 1.0 else "dual"
            factor = number(max(v.ratio, 1.0 / v.ratio)) if v.both else ""
            speed = f", and where both do the {quicker} is {factor} times as quick" if v.both else ""
            speed = ", and where both do they take the same time" if factor == "1.00" else speed
            said.append(f"with {solver} the primal solves {v.primal} and the dual {v.dual} of {v.cases}{speed}")
    if said:
        yield f"At {short(tol)} {'; '.join(said)}."


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
