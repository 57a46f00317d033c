"""Run the solver benchmark with its defaults, store the run, and fill the pages that quote it: ``make solvers``."""

from __future__ import annotations

import argparse

from pre_convex_lab.solvers import Run, read_run, run
from pre_convex_lab.solvers.document import Part, Picture, Section, Table, as_markdown
from pre_convex_lab.solvers.report import report_sections
from pre_convex_lab.solvers.summary import false_claims, set_names, sets_and_total, successes, tols
from pre_convex_lab.solvers.timing import mean_times
from stale import record
from storing import ROOT, quote

STORED = ROOT / "benchmarks" / "results" / "solvers"
PAGE, PICTURES = "docs/solvers.md", ROOT / "docs" / "solvers"
#: tolerance of tables that show only one
TOL = "1e-6"


def recommendation(result: Run) -> str:
    """The advice to use ``solver="auto"``, with the figures behind it."""
    rows, names, total = result.rows, set_names(result.rows), sets_and_total(result.rows)[-1]
    own = [s for s in successes(rows) if s.contender == "newton" and s.test_set == total]
    wrong = sum(f.false_optimal + f.false_infeasible for f in false_claims(rows) if f.contender == "newton")
    means = [m for m in mean_times(rows, result.time_limit) if m.test_set in names and m.contender == "newton"]
    quickest = sum(m.ratio <= 1.0 for m in means)
    slower = sorted({m.test_set for m in means if m.ratio > 1.0})
    exceptions = f" (not always on {', '.join(slower)})" if slower else ""
    return (
        f'**Use `solver="auto"`, the Newton engine, in either formulation**: it succeeded in '
        f"{sum(s.solved for s in own)} of {sum(s.rows for s in own)} solves, made {wrong} false claims, and was "
        f"quickest on {quickest} of {len(names) * len(tols(rows))} pairs of set and tolerance{exceptions}."
    )


def tables(result: Run) -> dict[str, list[str]]:
    """Lines of the page by mark."""
    parts = {section.title: section.parts for section in report_sections(result)}
    tables = {title: [part for part in own if isinstance(part, Table)] for title, own in parts.items()}

    def find(title: str, caption: str) -> Table:
        return next(table for table in tables[title] if caption in table.caption)

    return {
        "recommendation": [recommendation(result)],
        "summary": lines(*parts["Summary"]),
        "success": lines(find("Success", f"tolerance {TOL}"), find("Success", "All verdicts")),
        "claims": lines(*tables["False claims"]),
        "times": lines(find("Times", f"Ratio to the best, tolerance {TOL}")),
        "growth": lines(at_one_tolerance(find("Time against size", "Growth"))),
        "primal-dual": lines(*map(at_one_tolerance, tables["Primal against dual"])),
        "unsolved": lines(*tables["Unsolved cases"]),
        "method": lines(*parts["Method"]),
    }


def at_one_tolerance(table: Table) -> Table:
    """The rows of one tolerance, without the column of tolerances."""
    i = table.columns.index("tolerance")
    rows = tuple(row[:i] + row[i + 1 :] for row in table.rows if row[i] == TOL)
    columns = table.columns[:i] + table.columns[i + 1 :]
    return Table(f"{table.caption}, tolerance {TOL}", columns, rows, table.text_columns)


def lines(*parts: Part) -> list[str]:
    """Parts of the report as Markdown."""
    text = as_markdown("", [Section("", parts)])
    return text.split("##", 1)[1].strip().splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quote-only", action="store_true", help="fill the pages from the stored run")
    parser.add_argument("--fresh", action="store_true", help="discard the stored run instead of resuming it")
    arguments = parser.parse_args()
    if arguments.quote_only:
        result = read_run(STORED)
    else:
        result = run(out=STORED, show=True, fresh=arguments.fresh)
        record("solvers")
    PICTURES.mkdir(exist_ok=True)
    for section in report_sections(result):
        for part in section.parts:
            if isinstance(part, Picture):
                (PICTURES / f"{part.name}.png").write_bytes(part.png)
    for mark, body in tables(result).items():
        quote(PAGE, mark, body)
    quote("README.md", "solvers", [recommendation(result)])


if __name__ == "__main__":
    main()
