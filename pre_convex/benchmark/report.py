"""The report of a run, in the order in which a reader asks: ``report.md`` with pictures, and ``report.html`` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, MissingExtraError
from ..files import as_path, write_whole, writing
from ..plots.benchmark import draw_gaps, draw_profiles, draw_sizes, pictures, short
from .case import Truth
from .measured import count, how_it_was_measured, missing, time_limit
from .metrics import Verdict
from .page import Part, Picture, Section, Table, as_html, as_markdown, number, percent
from .records import Row
from .summary import (
    PARTS,
    QUALITIES,
    SAYS_OPTIMAL,
    accuracies,
    column,
    contenders,
    false_claims,
    groups,
    sections,
    select,
    stops,
    successes,
    tols,
)
from .timing import FEWEST, SHIFT, Versus, growths, mean_times, profiles, time_of, versus
from .verdict import in_short

if TYPE_CHECKING:
    from ..plots.canvas import Figure
    from .records import Run

__all__ = ["TITLE", "report_sections", "write_report"]

TITLE = "Solver benchmark of pre_convex"
#: the set whose sizes are spread for the sake of the fit
SIZES = "easy"


def write_report(run: Run, folder: Path | str) -> list[Path]:
    """Write ``report.md``, its pictures, and ``report.html``, which needs no other file; their paths, these two first.

    Without matplotlib the report has a note where the pictures would be.
    """
    folder = as_path(folder, "folder")
    with writing("folder", folder):
        folder.mkdir(parents=True, exist_ok=True)
        return [
            write_whole(folder / name, lambda path, content=content: path.write_bytes(content))  # type: ignore[misc]
            for name, content in _files(report_sections(run)).items()
        ]


def _files(parts: list[Section]) -> dict[str, bytes]:
    """What the files of a report hold, by their names."""
    texts = {"report.md": as_markdown(TITLE, parts), "report.html": as_html(TITLE, parts)}
    images = (part for section in parts for part in section.parts if isinstance(part, Picture))
    return {name: text.encode() for name, text in texts.items()} | {f"{each.name}.png": each.png for each in images}


def report_sections(run: Run) -> list[Section]:
    """All sections of the report."""
    rows = run.rows
    if not rows:
        raise DataError("run: it has no rows to report on; run the benchmark first")
    limit, left = time_limit(run), missing(run)
    unfinished = (f"This run is not finished: {count(left, 'row')} of {len(rows) + left:,} are missing.",) * (left > 0)
    return [
        Section("In short", (*unfinished, *in_short(rows, limit))),
        Section("Success", tuple(_success(rows))),
        Section("False claims", tuple(_false_claims(rows))),
        Section("Times", tuple(_times(rows, limit))),
        Section("Performance profiles", tuple(_profiles(rows))),
        Section("Time against size", tuple(_sizes(rows, limit))),
        Section("Gap against tolerance", tuple(_gaps(rows))),
        Section("Memory, iterations and the parts of the time", tuple(_costs(rows))),
        Section("Primal against dual", tuple(_versus(rows))),
        Section("Where each stops being right", tuple(_stops(rows))),
        Section("How it was measured", tuple(how_it_was_measured(run, limit))),
    ]


def _success(rows: Sequence[Row]) -> Iterator[Part]:
    """Success by set, and every verdict."""
    yield (
        "Solved means proven: the value of δ, computed in the original variables, is within the tolerance of that of a "
        "dual-feasible point, one near the weights that were returned or that of the known answer, and these weights "
        "belong to δ: moments as close as such a gap allows, and a divergence of at most 100 tolerances. A problem "
        "that has no answer is solved by saying so."
    )
    names, found = sections(rows), successes(rows)
    for tol in tols(rows):
        table = {name: {s.group: s for s in found if s.contender == name and s.tol == tol} for name in contenders(rows)}
        best = {group: max(own[group].solved for own in table.values()) for group in names}
        body = tuple((name, *(_of(own[g].solved, own[g].rows) for g in names)) for name, own in table.items())
        strong = frozenset(
            (i, 1 + j)
            for i, own in enumerate(table.values())
            for j, group in enumerate(names)
            if own[group].solved == best[group] > 0
        )
        yield Table(
            f"Solved cases, tolerance {short(tol)}; the most of a set in bold", ("contender", *names), body, 1, strong
        )
    everything = [s for s in found if s.group == names[-1]]
    seen = [verdict for verdict in Verdict if any(s.counts[verdict] for s in everything)]
    body = tuple(
        (s.contender, short(s.tol), percent(s.rate), *(str(s.counts[v]) if s.counts[v] else "·" for v in seen))
        for s in everything
        if s.rows
    )
    yield Table("Every verdict, all sets", ("contender", "tolerance", "success", *seen), body)


def _of(part: int, whole: int) -> str:
    """A count out of a count; a dash out of none."""
    return f"{part} of {whole}" if whole else "–"


def _false_claims(rows: Sequence[Row]) -> Iterator[Part]:
    """Claims that were not true."""
    yield (
        "A solver that says “optimal” is taken at its word, and its answer is then held against the certificate; one "
        "that says “infeasible” or “unbounded” is held against what is known of the problem. Words such as "
        "“optimal_inaccurate” claim nothing. Grossly wrong is a gap of more than 100 tolerances, or none that is "
        "finite; for a problem that has no answer, weights that violate its constraints by more than that."
    )
    body = tuple(
        (
            f.contender,
            short(f.tol),
            *(
                str(v) if v else "·"
                for v in (f.said_optimal, f.not_optimal, f.grossly, f.said_infeasible, f.not_infeasible)
            ),
        )
        for f in false_claims(rows)
        if select(rows, f.contender, None, f.tol)
    )
    strong = frozenset((i, j) for i, line in enumerate(body) for j in (3, 4, 6) if line[j] != "·")
    columns = ("contender", "tolerance", "said optimal", "and was not", "grossly", "said infeasible", "and was not")
    yield Table("Claims, and those that were not true in bold, all sets", columns, body, 1, strong)


def _times(rows: Sequence[Row], limit: float) -> Iterator[Part]:
    """Shifted geometric means."""
    yield (
        f"Shifted geometric means of the time to build, translate and solve: (∏ (t + s))^(1/m) − s with s = "
        f"{1e3 * SHIFT:g} ms. A case that was not solved counts with the time limit of {limit:g} s, whatever "
        "ended it: a wrong answer is not a quick one. A dash stands for a contender that was not run on every case of "
        "the set."
    )
    names, found = sections(rows), mean_times(rows, limit)
    for tol in tols(rows):
        table = {name: {m.group: m for m in found if m.contender == name and m.tol == tol} for name in contenders(rows)}
        strong = frozenset(
            (i, 1 + j) for i, own in enumerate(table.values()) for j, g in enumerate(names) if own[g].ratio <= 1.0
        )
        for what, of in (("Seconds", "seconds"), ("Ratio to the best", "ratio")):
            body = tuple((name, *(number(getattr(own[group], of)) for group in names)) for name, own in table.items())
            yield Table(
                f"{what}, tolerance {short(tol)}; the best of a set in bold", ("contender", *names), body, 1, strong
            )


def _profiles(rows: Sequence[Row]) -> Iterator[Part]:
    """Dolan and Moré's picture, and a few of its points."""
    found = {tol: profiles(rows, tol) for tol in tols(rows)}
    ratios = {tol: {p.contender: p.ratios for p in own} for tol, own in found.items()}
    problems = {tol: own[0].problems for tol, own in found.items()}
    yield _picture(
        "profile",
        lambda: draw_profiles(ratios, problems),
        "Performance profiles: for each contender, the share of problems solved within a multiple of the quickest "
        "contender's time, one panel for each tolerance.",
        "The height of a curve at τ is the share of problems that the contender solved within τ times the time of the "
        "quickest one (Dolan and Moré). Only problems that somebody solved are counted, infeasible ones that were "
        "named included; one that a contender did not solve is never reached, so a curve ends at its success rate "
        "among these.",
    )
    body = tuple(
        (p.contender, short(tol), *(percent(p.share(tau)) for tau in (1.0, 2.0, 10.0, 100.0, np.inf)))
        for name in contenders(rows)
        for tol, own in found.items()
        for p in own
        if p.contender == name
    )
    columns = ("contender", "tolerance", "quickest", "within 2×", "within 10×", "within 100×", "at all")
    yield Table("Points of the profiles", columns, body)


def _sizes(rows: Sequence[Row], limit: float) -> Iterator[Part]:
    """Growth with n and k."""
    group = SIZES if SIZES in groups(rows) else None
    there = [row for row in rows if row.truth == Truth.OPTIMAL and group in (None, row.group)]
    points = {
        tol: {
            name: np.array([[row.n * row.k, time_of(row)] for row in select(there, name, None, tol)]).reshape(-1, 2)
            for name in contenders(rows)
        }
        for tol in tols(rows)
    }
    where = f"set `{group}`" if group else "all sets"
    yield _picture(
        "size",
        lambda: draw_sizes(points, limit),
        "Time against the number of entries of the feature matrix, axes logarithmic, one panel for each tolerance.",
        f"Time against size, {where}. Lines join geometric means over half decades; crosses in the shaded part were "
        "not solved.",
    )
    yield (
        f"Exponents of time ≈ c · n^α · k^β by least squares of logarithms over the solved rows of {where}, with one "
        f"standard error. Fewer than {FEWEST} solved rows give no fit. Rows that were not solved are left out, which "
        "flatters those that stop at large sizes."
    )
    fits = [g for tol in tols(rows) for g in growths(rows, tol, group)]
    body = tuple(
        (
            g.contender,
            short(g.tol),
            str(g.rows),
            _with_error(g.n_power, g.n_error),
            _with_error(g.k_power, g.k_error),
            g.note or f"× {number(g.spread)}",
        )
        for name in contenders(rows)
        for g in fits
        if g.contender == name
    )
    yield Table("Growth of time", ("contender", "tolerance", "rows", "α, of n", "β, of k", "typically off by"), body)


def _with_error(value: float, error: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f} ± {error:.2f}"


def _gaps(rows: Sequence[Row]) -> Iterator[Part]:
    """What was asked and what was got."""
    claimed = [row for row in rows if row.claim in SAYS_OPTIMAL and row.truth != Truth.INFEASIBLE]
    gaps = {
        tol: {name: column(select(claimed, name, None, tol), "gap") for name in contenders(rows)} for tol in tols(rows)
    }
    yield _picture(
        "gap",
        lambda: draw_gaps(gaps),
        "Proven duality gap of every answer that was called optimal, for each tolerance and contender; points above "
        "the line are less accurate than asked for.",
        "Asked and got. Every point is an answer that was called optimal; what lies in the shaded region, above the "
        "tolerance, was not. Gaps without bound are drawn at the top edge.",
    )
    body = []
    for a in accuracies(rows):
        if a.rows:
            pairs = [(number(a.median[name]), number(a.worst[name])) for name in QUALITIES]
            body.append((a.contender, short(a.tol), str(a.rows), *(word for pair in pairs for word in pair)))
    columns = [
        f"{name}, {what}"
        for name in ("gap", "error of δ", "[P] residual", "[D] residual")
        for what in ("median", "worst")
    ]
    yield Table(
        "Accuracy of answers that were called optimal: relative gap; error of the log ratio in standard deviations; "
        "residuals in units of the features' spread",
        ("contender", "tolerance", "answers", *columns),
        tuple(body),
    )


def _costs(rows: Sequence[Row]) -> Iterator[Part]:
    """Medians over the solved rows."""
    yield (
        "Medians over the rows that were solved. Memory is the peak beyond that of the loaded case. The time divides "
        "into building the program, translating it for the solver, and the solver itself; shares are of the sum over "
        "all solved rows, so large problems weigh most."
    )
    body = tuple(
        (
            a.contender,
            short(a.tol),
            number(a.typical["memory"]),
            f"{a.typical['iterations']:g}".replace("nan", "–"),
            *(percent(a.share[part]) for part in PARTS),
        )
        for a in accuracies(rows)
    )
    yield Table("Cost", ("contender", "tolerance", "memory, MB", "iterations", "build", "translate", "solve"), body)


def _versus(rows: Sequence[Row]) -> Iterator[Part]:
    """Which formulation, for each solver."""
    found = [v for tol in tols(rows) for v in versus(rows, tol)]
    if not found:
        yield "No solver was run in both formulations."
        return
    yield (
        "For each solver that was run both ways, on the same cases: how many each formulation solved, and where both "
        "did, the geometric mean of primal over dual time. Below one the primal is quicker."
    )
    for solver in dict.fromkeys(v.solver for v in found):
        own = [v for v in found if v.solver == solver]
        body = tuple(
            (v.where, short(v.tol), *_against(v))
            for where in dict.fromkeys(v.where for v in own)
            for v in own
            if v.where == where
        )
        columns = (
            "where",
            "tolerance",
            "primal solved",
            "dual solved",
            "both",
            "time, primal / dual",
            "primal quicker",
            "dual quicker",
        )
        yield Table(f"{solver}, primal against dual", columns, body)


def _against(v: Versus) -> tuple[str, ...]:
    return (
        _of(v.primal, v.cases),
        _of(v.dual, v.cases),
        str(v.both),
        number(v.ratio),
        str(v.primal_wins),
        str(v.dual_wins),
    )


def _stops(rows: Sequence[Row]) -> Iterator[Part]:
    """What each does not solve."""
    found = stops(rows)
    clean = [name for name in contenders(rows) if not any(s.contender == name for s in found)]
    if clean:
        yield f"Every case at every tolerance was solved by {', '.join(clean)}."
    for group in groups(rows):
        body = tuple(
            (
                s.contender,
                ", ".join(map(short, s.tols)),
                _of(s.unsolved, s.rows),
                s.words,
                ", ".join(f"{count} {verdict}" for verdict, count in s.verdicts.items()),
            )
            for s in found
            if s.group == group
        )
        columns = ("contender", "tolerance", "not solved", "which", "how it ended")
        if body:
            yield Table(f"Set `{group}`: cases not solved", columns, body, len(columns))
        else:
            yield f"Set `{group}`: every contender solved every case."


def _picture(name: str, draw: Any, alt: str, caption: str) -> Part:
    """A picture, or a note where it cannot be drawn."""
    try:
        figure: Figure = draw()
    except MissingExtraError as error:
        return f"(There is no picture here: {error})"
    return Picture(name, alt, caption, *pictures(figure))
