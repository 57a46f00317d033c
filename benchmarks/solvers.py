"""The default run of the solver benchmark, stored, and the page that quotes it: ``make solvers``."""

from __future__ import annotations

import argparse

from storing import ROOT, quote

from pre_convex.benchmark import Run, read_run, run
from pre_convex.benchmark.page import Part, Picture, Section, Table, as_markdown
from pre_convex.benchmark.report import report_sections
from pre_convex.benchmark.summary import false_claims, groups, sections, successes, tols
from pre_convex.benchmark.timing import mean_times

STORED = ROOT / "benchmarks" / "results" / "solvers"
PAGE, PICTURES = "docs/solvers.md", ROOT / "docs" / "solvers"
#: the tolerance that the page shows where it shows one
TOL = "1e-6"
LIMIT = "time_limit"


def recommendation(found: Run) -> str:
    """The line that ``solver="auto"`` follows, with the figures it rests on."""
    rows, whole = found.rows, sections(found.rows)[-1]
    own = [s for s in successes(rows) if s.contender == "newton" and s.group == whole]
    wrong = sum(f.not_optimal + f.not_infeasible for f in false_claims(rows) if f.contender == "newton")
    means = [m for m in mean_times(rows, found.facts[LIMIT]) if m.group in groups(rows)]
    first = {(m.group, m.tol) for m in means if m.contender == "newton" and m.ratio <= 1.0}
    slower = sorted({m.group for m in means if m.contender == "newton" and m.ratio > 1.0})
    quick = f"quickest on {len(first)} of {len(groups(rows)) * len(tols(rows))} pairs of set and tolerance"
    but = f" (not always on {', '.join(slower)})" if slower else ""
    return (
        f'**Take `solver="auto"`, the Newton engine, in either formulation**: it solved '
        f"{sum(s.solved for s in own)} of {sum(s.rows for s in own)}, made {wrong} false claims, and was {quick}{but}."
    )


def tables(found: Run) -> dict[str, list[str]]:
    """Marks of the page, and what stands between them."""
    parts = {section.title: section.parts for section in report_sections(found)}
    of = {title: [part for part in own if isinstance(part, Table)] for title, own in parts.items()}

    def one(title: str, words: str) -> Table:
        return next(table for table in of[title] if words in table.caption)

    versus = [at_one_tolerance(table) for table in of["Primal against dual"]]
    return {
        "recommendation": [recommendation(found)],
        "in-short": lines(*parts["In short"]),
        "success": lines(one("Success", f"tolerance {TOL}"), one("Success", "Every verdict")),
        "claims": lines(*of["False claims"]),
        "times": lines(one("Times", f"Ratio to the best, tolerance {TOL}")),
        "growth": lines(at_one_tolerance(one("Time against size", "Growth"))),
        "versus": lines(*versus),
        "stops": lines(*of["Where each stops being right"]),
        "measured": lines(*parts["How it was measured"]),
    }


def at_one_tolerance(table: Table) -> Table:
    """The rows of one tolerance, without the column that says so."""
    at = table.columns.index("tolerance")
    rows = tuple(row[:at] + row[at + 1 :] for row in table.rows if row[at] == TOL)
    columns = table.columns[:at] + table.columns[at + 1 :]
    return Table(f"{table.caption}, tolerance {TOL}", columns, rows, table.words)


def lines(*found: Part) -> list[str]:
    """Parts of the report as Markdown."""
    text = as_markdown("", [Section("", found)])
    return text.split("##", 1)[1].strip().splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quote-only", action="store_true", help="fill the page from the stored run")
    parser.add_argument("--fresh", action="store_true", help="forget the stored run instead of continuing it")
    arguments = parser.parse_args()
    found = read_run(STORED) if arguments.quote_only else run(out=STORED, show=True, fresh=arguments.fresh)
    PICTURES.mkdir(exist_ok=True)
    for section in report_sections(found):
        for part in section.parts:
            if isinstance(part, Picture):
                (PICTURES / f"{part.name}.png").write_bytes(part.png)
    for mark, body in tables(found).items():
        quote(PAGE, mark, body)
    quote("README.md", "solvers", [recommendation(found)])


if __name__ == "__main__":
    main()
