"""Run the paper's experiments in full and fill their pages: ``python benchmarks/experiments.py [NAME...]``.

Results are stored in ``docs/experiments``. ``--quote-only`` only fills the pages from the stored results.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pre_convex_lab.paper import EXPERIMENTS, Setting, perform, read_outcome, write_outcome
from stale import record as record_checksum
from storing import ROOT, markdown_table, quote

FOLDER = ROOT / "docs" / "experiments"


def cell(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a Markdown table."""
    return markdown_table(head, [[cell(text) for text in row] for row in rows])


def findings(record: Mapping[str, Any]) -> list[str]:
    """Lines between the marks on the page of an experiment."""
    rows = [[entry[name] for name in ("question", "ours", "paper", "verdict")] for entry in record["findings"]]
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    times = "; ".join(f"{what}: {seconds:.0f}" for what, seconds in record.get("times", {}).items())
    return [
        f"**Verdict:** {record['verdict']}",
        "",
        *table(["measured", "here", "paper", "verdict"], rows),
        "",
        f"Seed {record['seed']}, {record['seconds']:.0f} seconds{f' ({times})' if times else ''}; {versions}.",
    ]


def verdicts(records: list[Mapping[str, Any]]) -> list[str]:
    """Lines between the marks on the index page."""
    rows = [[f"[{r['experiment']}]({r['experiment']}.md)", r["title"], r["verdict"]] for r in records]
    return table(["experiment", "question", "verdict"], rows)


def stored() -> list[dict[str, Any]]:
    """Stored results, in the order of the paper."""
    paths = [FOLDER / f"{name}.json" for name in EXPERIMENTS]
    return [read_outcome(path)[1] for path in paths if path.exists()]


def main() -> None:
    """Run experiments, store their results, and fill the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="experiments to run (default: all)")
    parser.add_argument("--quote-only", action="store_true", help="only fill the pages from the stored results")
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's IDX files, for 'digits'")
    arguments = parser.parse_args()
    if not arguments.quote_only:
        for name in arguments.names or EXPERIMENTS:
            print(name, flush=True)
            outcome, record = perform(name, Setting(show=True, mnist=arguments.mnist))
            for path in write_outcome(record, FOLDER):
                print(f"written: {path.relative_to(ROOT)}")
            record_checksum(f"experiments/{name}")
            print(outcome.verdict, flush=True)
    records = stored()
    for record in records:
        quote(f"docs/experiments/{record['experiment']}.md", record["experiment"], findings(record))
    quote("docs/experiments/README.md", "verdicts", verdicts(records))


if __name__ == "__main__":
    main()
