"""The report of a run: ``report.md`` with its pictures, and ``report.html`` in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pre_convex.data.files import as_path, atomic_write, report_write_errors
from pre_convex.errors import DataError, MissingExtraError

from .cases import Truth
from .conclusions import conclusions
from .document import (
    Part,
    Picture,
    Section,
    Table,
    as_html,
    as_markdown,
    format_count,
    format_fact,
    format_number,
    format_percent,
    format_tol,
)
from .metrics import CLAIMS_OPTIMAL, METRICS, Verdict
from .plots import draw_gaps, draw_profiles, draw_sizes, render
from .records import Row
from .summary import (
    PARTS,
    QUALITIES,
    accuracies,
    contenders,
    false_claims,
    metric_values,
    select,
    set_names,
    sets_and_total,
    successes,
    tols,
    unsolved_cases,
)
from .timing import MIN_ROWS, SHIFT, growths, mean_times, primal_dual, profiles, time_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .records import Run

__all__ = ["TITLE", "report_sections", "write_report"]

TITLE = "Solver benchmark of pre_convex"
#: the set with a range of sizes, which growth is fitted on
SIZES = "easy"
UNITS = {"time_limit": "s", "memory_limit": "MB"}


def write_report(run: Run, folder: Path | str) -> list[Path]:
    """Write ``report.md``, its pictures, and the self-contained ``report.html``.

    Parameters
    ----------
    run : Run
        A run with at least one row.
    folder : str or path
        Created if missing.

    Returns
    -------
    list of Path
        ``report.md``, ``report.html``, then the pictures. Without matplotlib there are none, and the report says so.
    """
    folder = as_path(folder, "folder")
    sections = report_sections(run)
    pictures = (part for section in sections for part in section.parts if isinstance(part, Picture))
    contents = {
        "report.md": as_markdown(TITLE, sections).encode(),
        "report.html": as_html(TITLE, sections).encode(),
        **{f"{picture.name}.png": picture.png for picture in pictures},
    }
    with report_write_errors("folder", folder):
        folder.mkdir(parents=True, exist_ok=True)
        return [
            atomic_write(folder / name, lambda path, content=content: path.write_bytes(content))  # type: ignore[misc]
            for name, content in contents.items()
        ]


def report_sections(run: Run) -> list[Section]:
    """All sections of the report."""
    rows, limit, missing = run.rows, run.time_limit, run.missing
    if not rows:
        raise DataError("run", "there are no rows to report on", "run the benchmark first")
    total = len(rows) + missing
    unfinished = (
        [f"This run is not finished: {format_count(missing, 'row')} of {total:,} are missing."] if missing else []
    )
    return [
        Section("Summary", (*unfinished, *conclusions(rows, limit))),
        Section("Success", tuple(_success(rows))),
        Section("False claims", tuple(_false_claims(rows))),
        Section("Times", tuple(_times(rows, limit))),
        Section("Performance profiles", tuple(_profiles(rows))),
        Section("Time against size", tuple(_sizes(rows, limit))),
        Section("Gap against tolerance", tuple(_gaps(rows))),
        Section("Memory, iterations and parts of the time", tuple(_costs(rows))),
        Section("Primal against dual", tuple(_primal_dual(rows))),
        Section("Unsolved cases", tuple(_unsolved(rows))),
        Section("Method", tuple(_method(run))),
    ]


def _success(rows: Sequence[Row]) -> Iterator[Part]:
    """Success by set, and all verdicts."""
    yield (
        "A case is solved if the answer is proven: the value of δ, computed in the original variables, is within the "
        "tolerance of a lower bound, which comes from dual-feasible weights near the returned ones or from the known "
        "answer; and the returned weights belong to δ, with moments as close as such a gap allows and a divergence of "
        "at most 100 tolerances. An infeasible problem is solved by saying so."
    )
    names, results = sets_and_total(rows), successes(rows)
    for tol in tols(rows):
        table = {
            name: {s.test_set: s for s in results if s.contender == name and s.tol == tol} for name in contenders(rows)
        }
        best = {test_set: max(own[test_set].solved for own in table.values()) for test_set in names}
        body = tuple((name, *(_of(own[t].solved, own[t].rows) for t in names)) for name, own in table.items())
        bold = frozenset(
            (i, 1 + j)
            for i, own in enumerate(table.values())
            for j, test_set in enumerate(names)
            if own[test_set].solved == best[test_set] > 0
        )
        caption = f"Solved cases, tolerance {format_tol(tol)}; best of each set in bold"
        yield Table(caption, ("contender", *names), body, 1, bold)
    totals = [s for s in results if s.test_set == names[-1]]
    present = [verdict for verdict in Verdict if any(s.counts[verdict] for s in totals)]
    body = tuple(
        (s.contender, format_tol(s.tol), format_percent(s.rate), *(_count(s.counts[v]) for v in present))
        for s in totals
        if s.rows
    )
    yield Table("All verdicts, all sets", ("contender", "tolerance", "success", *present), body)


def _of(part: int, whole: int) -> str:
    """A count out of a count; a dash if the second is zero."""
    return f"{part} of {whole}" if whole else "–"


def _count(n: int) -> str:
    """A count; a dot for zero."""
    return str(n) if n else "·"


def _false_claims(rows: Sequence[Row]) -> Iterator[Part]:
    """False claims of optimality and of infeasibility."""
    yield (
        "A claim of “optimal” is checked by the certificate of the answer, a claim of “infeasible” or “unbounded” "
        "against what is known of the problem. Words such as “optimal_inaccurate” claim nothing. A false claim of "
        "optimality is gross if the gap is more than 100 tolerances or unknown; on an infeasible problem, if the "
        "weights violate the constraints by more than that."
    )
    body = tuple(
        (
            f.contender,
            format_tol(f.tol),
            *map(_count, (f.claimed_optimal, f.false_optimal, f.gross, f.claimed_infeasible, f.false_infeasible)),
        )
        for f in false_claims(rows)
        if select(rows, f.contender, None, f.tol)
    )
    bold = frozenset((i, j) for i, line in enumerate(body) for j in (3, 4, 6) if line[j] != "·")
    columns = (
        "contender",
        "tolerance",
        "claimed optimal",
        "false optimal",
        "gross",
        "claimed infeasible",
        "false infeasible",
    )
    yield Table("Claims, all sets; false ones in bold", columns, body, 1, bold)


def _times(rows: Sequence[Row], limit: float) -> Iterator[Part]:
    """Shifted geometric means."""
    yield (
        f"Shifted geometric means of the time to build, translate and solve: (∏ (t + s))^(1/m) − s with s = "
        f"{1e3 * SHIFT:g} ms. Unsolved cases count with the time limit of {limit:g} s, however they ended. A dash "
        "means that the contender was not run on every case of the set."
    )
    names, results = sets_and_total(rows), mean_times(rows, limit)
    for tol in tols(rows):
        table = {
            name: {m.test_set: m for m in results if m.contender == name and m.tol == tol} for name in contenders(rows)
        }
        bold = frozenset(
            (i, 1 + j) for i, own in enumerate(table.values()) for j, t in enumerate(names) if own[t].ratio <= 1.0
        )
        for title, field in (("Seconds", "seconds"), ("Ratio to the best", "ratio")):
            body = tuple((name, *(format_number(getattr(own[t], field)) for t in names)) for name, own in table.items())
            caption = f"{title}, tolerance {format_tol(tol)}; best of each set in bold"
            yield Table(caption, ("contender", *names), body, 1, bold)


def _profiles(rows: Sequence[Row]) -> Iterator[Part]:
    """Performance profiles, and some of their values."""
    results = {tol: profiles(rows, tol) for tol in tols(rows)}
    ratios = {tol: {p.contender: p.ratios for p in own} for tol, own in results.items()}
    problems = {tol: own[0].problems for tol, own in results.items()}
    yield _picture(
        "profile",
        lambda: draw_profiles(ratios, problems),
        "Performance profiles: share of problems that each contender solved within a multiple of the quickest "
        "contender's time, one panel per tolerance.",
        "The height of a curve at τ is the share of problems that the contender solved within τ times the time of the "
        "quickest (Dolan and Moré). Only problems that at least one contender solved are counted, including infeasible "
        "ones that were recognised. Each curve ends at the contender's success rate on them.",
    )
    body = tuple(
        (p.contender, format_tol(tol), *(format_percent(p.share(tau)) for tau in (1.0, 2.0, 10.0, 100.0, np.inf)))
        for name in contenders(rows)
        for tol, own in results.items()
        for p in own
        if p.contender == name
    )
    columns = ("contender", "tolerance", "quickest", "within 2×", "within 10×", "within 100×", "solved")
    yield Table("Values of the profiles", columns, body)


def _sizes(rows: Sequence[Row], limit: float) -> Iterator[Part]:
    """Growth of time with n and k."""
    test_set = SIZES if SIZES in set_names(rows) else None
    feasible = [row for row in rows if row.truth == Truth.OPTIMAL and test_set in (None, row.test_set)]
    points = {
        tol: {
            name: np.array([[row.n * row.k, time_of(row)] for row in select(feasible, name, None, tol)]).reshape(-1, 2)
            for name in contenders(rows)
        }
        for tol in tols(rows)
    }
    where = f"set `{test_set}`" if test_set else "all sets"
    yield _picture(
        "size",
        lambda: draw_sizes(points, limit),
        "Time against the number of entries of the feature matrix, logarithmic axes, one panel per tolerance.",
        f"Time against size, {where}. Lines join geometric means over half decades; crosses in the shaded area are "
        "unsolved cases.",
    )
    yield (
        f"Exponents of time ≈ c · n^α · k^β, fitted by least squares of logarithms to the solved rows of {where}, with "
        f"one standard error; at least {MIN_ROWS} rows are needed. Unsolved rows are left out, which flatters "
        "contenders that fail on large problems."
    )
    fits = [g for tol in tols(rows) for g in growths(rows, tol, test_set)]
    body = tuple(
        (
            g.contender,
            format_tol(g.tol),
            str(g.rows),
            _with_error(g.n_power, g.n_error),
            _with_error(g.k_power, g.k_error),
            g.note or f"× {format_number(g.spread)}",
        )
        for name in contenders(rows)
        for g in fits
        if g.contender == name
    )
    yield Table(
        "Growth of time", ("contender", "tolerance", "rows", "α (n)", "β (k)", "typical error of the fit"), body
    )


def _with_error(value: float, error: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f} ± {error:.2f}"


def _gaps(rows: Sequence[Row]) -> Iterator[Part]:
    """Accuracy of what was called optimal."""
    claimed = [row for row in rows if row.claim in CLAIMS_OPTIMAL and row.truth != Truth.INFEASIBLE]
    gaps = {
        tol: {name: metric_values(select(claimed, name, None, tol), "gap") for name in contenders(rows)}
        for tol in tols(rows)
    }
    yield _picture(
        "gap",
        lambda: draw_gaps(gaps),
        "Proven duality gap of every answer that was called optimal, by tolerance and contender; points above the line "
        "are less accurate than asked for.",
        "Proven gap against the tolerance asked for. Every point is an answer that was called optimal; points in the "
        "shaded area, above the tolerance, were not. Unknown gaps are drawn at the top edge.",
    )
    body = []
    for a in accuracies(rows):
        if a.rows:
            pairs = [(format_number(a.median[name]), format_number(a.worst[name])) for name in QUALITIES]
            body.append((a.contender, format_tol(a.tol), str(a.rows), *(cell for pair in pairs for cell in pair)))
    columns = [
        f"{name}, {statistic}"
        for name in ("gap", "error of δ", "[P] residual", "[D] residual")
        for statistic in ("median", "worst")
    ]
    yield Table(
        "Accuracy of answers that were called optimal: relative gap; error of the log ratio in standard deviations; "
        "residuals in units of the features' spread",
        ("contender", "tolerance", "answers", *columns),
        tuple(body),
    )


def _costs(rows: Sequence[Row]) -> Iterator[Part]:
    """Memory, iterations, and parts of the time."""
    yield (
        "Memory is the peak beyond the loaded case; memory and iterations are medians over the solved rows. Shares are "
        "of the total time of all solved rows, so large problems dominate: building the program, translating it for "
        "the solver, and solving it."
    )
    body = tuple(
        (
            a.contender,
            format_tol(a.tol),
            format_number(a.median_cost["memory"]),
            f"{a.median_cost['iterations']:g}".replace("nan", "–"),
            *(format_percent(a.time_share[part]) for part in PARTS),
        )
        for a in accuracies(rows)
    )
    yield Table("Cost", ("contender", "tolerance", "memory, MB", "iterations", "build", "translate", "solve"), body)


def _primal_dual(rows: Sequence[Row]) -> Iterator[Part]:
    """Primal against dual, solver by solver."""
    results = [v for tol in tols(rows) for v in primal_dual(rows, tol)]
    if not results:
        yield "No solver was run in both formulations."
        return
    yield (
        "For each solver, on cases that it was run on both ways: the number that each formulation solved and, for "
        "cases that both solved, the geometric mean of primal time over dual time. Below one the primal is quicker."
    )
    columns = (
        *("cases", "tolerance", "primal solved", "dual solved", "both solved"),
        *("time, primal / dual", "primal quicker", "dual quicker"),
    )
    for solver in dict.fromkeys(v.solver for v in results):
        own = [v for v in results if v.solver == solver]
        body = tuple(
            (
                *(v.subset, format_tol(v.tol), _of(v.primal, v.cases), _of(v.dual, v.cases), str(v.both)),
                *(format_number(v.ratio), str(v.primal_wins), str(v.dual_wins)),
            )
            for subset in dict.fromkeys(v.subset for v in own)
            for v in own
            if v.subset == subset
        )
        yield Table(f"{solver}, primal against dual", columns, body)


def _unsolved(rows: Sequence[Row]) -> Iterator[Part]:
    """Cases that each contender does not solve."""
    results = unsolved_cases(rows)
    perfect = [name for name in contenders(rows) if not any(u.contender == name for u in results)]
    if perfect:
        yield f"Contenders that solved every case at every tolerance: {', '.join(perfect)}."
    columns = ("contender", "tolerance", "not solved", "cases", "verdicts")
    for test_set in set_names(rows):
        body = tuple(
            (
                *(u.contender, ", ".join(map(format_tol, u.tols)), _of(u.unsolved, u.rows), u.description),
                ", ".join(f"{count} {verdict}" for verdict, count in u.verdicts.items()),
            )
            for u in results
            if u.test_set == test_set
        )
        if body:
            yield Table(f"Set `{test_set}`: cases not solved", columns, body, len(columns))
        else:
            yield f"Set `{test_set}`: every contender solved every case."


def _method(run: Run) -> Iterator[Part]:
    """Rules, sets, metrics, and all settings of the run."""
    rows = run.rows
    cases = len({(row.test_set, row.case) for row in rows})
    yield (
        f"{format_count(len(rows), 'row')}: {format_count(cases, 'case')} from "
        f"{format_count(len(set_names(rows)), 'set')}, {format_count(len(contenders(rows)), 'contender')}, "
        f"{format_count(len(tols(rows)), 'tolerance')}, at most {run.time_limit:g} s per solve. Every solve has its "
        "own process, so a crash, a hang or running out of memory costs one row. Each solver gets the tolerance "
        "through its own options. There is no warm start, no polishing by the package, and BLAS threads are fixed. "
        "After a solve hits a limit, tighter tolerances of that case are not run and get the same verdict."
    )
    yield from _set_table(run)
    metrics = tuple((name, metric.description, metric.unit) for name, metric in METRICS.items())
    yield Table("Metrics", ("metric", "meaning", "unit"), metrics, 3)
    facts = tuple(
        (name, f"{format_fact(value)} {UNITS.get(name, '')}".strip()) for name, value in run.flat_facts.items()
    )
    if facts:
        yield Table("Settings and environment", ("setting", "value"), facts, 2)
    else:
        yield "The settings of this run are unknown."


def _set_table(run: Run) -> Iterator[Part]:
    """The sets, with what identifies them."""
    columns = ("title", "version", "cases", "checksum")
    body = []
    for name in dict.fromkeys([*set_names(run.rows), *run.sets]):
        record = run.sets.get(name, {})
        tried = str(len({row.case for row in run.rows if row.test_set == name}))
        cells = {column: format_fact(record.get(column, "–")) for column in columns}
        cells["cases"] = tried if cells["cases"] in ("–", tried) else f"{tried} of {cells['cases']}"
        body.append((name, *cells.values()))
    if body:
        yield Table("Sets", ("set", *columns), tuple(body), len(columns) + 1)


def _picture(name: str, draw: Callable[[], Figure], alt: str, caption: str) -> Part:
    """A picture, or a note if matplotlib is missing."""
    try:
        figure = draw()
    except MissingExtraError as error:
        return f"(There is no picture here: {error})"
    return Picture(name, alt, caption, *render(figure))
