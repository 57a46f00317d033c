"""Conclusions of a run in a few paragraphs, composed from its figures: the first section of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .document import format_count, format_number, format_percent, format_tol
from .records import Row
from .summary import contenders, false_claims, select, set_names, sets_and_total, successes, tols
from .timing import mean_times, primal_dual

__all__ = ["conclusions"]


def conclusions(rows: Sequence[Row], limit: float) -> list[str]:
    """Paragraphs on success rates, false claims, times, and primal against dual.

    Parameters
    ----------
    rows : sequence of Row
        Rows of a run.
    limit : float
        Time limit in seconds, which unsolved cases count with.
    """
    parts = [[_size(rows), *_success(rows)], _claims(rows), _times(rows, limit), _formulations(rows)]
    return [paragraph for part in parts if (paragraph := " ".join(part))]


def _size(rows: Sequence[Row]) -> str:
    """What was run."""
    cases = {(row.test_set, row.case) for row in rows}
    tolerances = list(map(format_tol, tols(rows)))
    return (
        f"{format_count(len(contenders(rows)), 'contender')} on {format_count(len(cases), 'problem')} from "
        f"{format_count(len(set_names(rows)), 'set')} at {'tolerance' if len(tolerances) == 1 else 'tolerances'} "
        f"{_join(tolerances)}."
    )


def _success(rows: Sequence[Row]) -> Iterator[str]:
    """Success rates of the best, the next two and the last."""
    total = sets_and_total(rows)[-1]
    results = [s for s in successes(rows) if s.test_set == total and s.rows]
    mean_rate = {
        name: np.mean([s.rate for s in results if s.contender == name])
        for name in contenders(rows)
        if any(s.contender == name for s in results)
    }

    def rates(name: str) -> str:
        own = [format_percent(s.rate) for s in results if s.contender == name]
        return own[0] if len(set(own)) == 1 else _join(own)

    order = sorted(mean_rate, key=lambda name: -mean_rate[name])
    if not mean_rate[order[0]]:
        yield "No contender solved any of them."
        return
    best = [name for name in order if rates(name) == rates(order[0])]
    every = " at every tolerance" if len(tols(rows)) > 1 and mean_rate[order[0]] == 1.0 else ""
    yield f"{_join(best)} {'each ' if len(best) > 1 else ''}solved {rates(order[0])} of them{every}."
    rest = [name for name in order if name not in best]
    if rest:
        varied = next((name for name in rest[:2] if " and " in rates(name)), None)
        second = [f"{name} ({rates(name)}{', from loose to tight' * (name == varied)})" for name in rest[:2]]
        last = f"; {rest[-1]} is last ({rates(rest[-1])})" if len(rest) > 2 else ""
        yield f"Next {'are' if len(rest) > 1 else 'is'} {_join(second)}{last}."


def _claims(rows: Sequence[Row]) -> Iterator[str]:
    """How many claims were false, and whose."""
    claims = false_claims(rows)
    optimal, gross, infeasible = (
        sum(getattr(f, name) for f in claims) for name in ("false_optimal", "gross", "false_infeasible")
    )
    made = {
        name: sum(f.false_optimal + f.false_infeasible for f in claims if f.contender == name)
        for name in contenders(rows)
    }
    honest = [name for name, count in made.items() if not count]
    if len(honest) == len(made):
        yield "There were no false claims."
        return
    most = max(made.values())
    worst = [name for name, count in made.items() if count == most]
    share = "all" if len(honest) == len(made) - 1 else "the most"
    sentences = []
    if optimal:
        was = "was" if optimal == 1 else "were"
        sentences.append(f"{format_count(optimal, 'claim')} of optimality {was} false, {gross} of them grossly")
    if infeasible:
        was = "was" if infeasible == 1 else "were"
        sentences.append(f"{format_count(infeasible, 'claim')} of infeasibility {was} false")
    yield f"{', and '.join(sentences)}; {_join(worst)} made {share} ({most}{' each' * (len(worst) > 1)})."
    if honest:
        yield f"{_join(honest)} made no false claim."


def _times(rows: Sequence[Row], limit: float) -> Iterator[str]:
    """The quickest contender at the middle tolerance, the next two, and the slowest."""
    tol, total = _middle_tol(rows), sets_and_total(rows)[-1]
    means = [m for m in mean_times(rows, limit) if (m.tol, m.test_set) == (tol, total) and np.isfinite(m.seconds)]
    if len(means) < 2 or not any(m.solved for m in means):
        return
    first, *rest = sorted(means, key=lambda m: m.seconds)
    following = "; ".join(f"{m.contender} takes {format_number(m.ratio)} times as long" for m in rest[:2])
    last = f"; {rest[-1].contender}, the slowest, {format_number(rest[-1].ratio)} times" if len(rest) > 2 else ""
    yield (
        f"At {format_tol(tol)} {first.contender} is quickest in the shifted geometric mean, with unsolved cases at the "
        f"limit of {limit:g} s; {following}{last}."
    )


def _formulations(rows: Sequence[Row]) -> Iterator[str]:
    """Primal against dual for each solver at the middle tolerance."""
    tol = _middle_tol(rows)
    sentences = []
    for solver in dict.fromkeys(row.solver for row in select(rows, tol=tol)):
        own = [v for v in primal_dual(rows, tol) if v.solver == solver]
        if own:
            v = own[0]  # over all sets
            sentences.append(f"with {solver} the primal solves {v.primal} and the dual {v.dual} of {v.cases}")
            if v.both:
                quicker, factor = ("primal", 1.0 / v.ratio) if v.ratio < 1.0 else ("dual", v.ratio)
                sentences[-1] += (
                    f", and the {quicker} is {format_number(factor)} times as quick on cases that both solve"
                    if format_number(factor) != "1.00"
                    else ", and both are equally quick on cases that both solve"
                )
    if sentences:
        yield f"At {format_tol(tol)} {'; '.join(sentences)}."


def _middle_tol(rows: Sequence[Row]) -> float:
    tolerances = tols(rows)
    return tolerances[len(tolerances) // 2]


def _join(words: Sequence[str]) -> str:
    """Words joined by commas and "and"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
