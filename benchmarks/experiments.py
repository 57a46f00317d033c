"""All experiments of the paper in full, and the pages that quote them: ``python benchmarks/experiments.py [NAME...]``.

Results go to ``docs/experiments``. ``--quote-only`` runs nothing and fills the pages from the stored files.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storing import ROOT, quote

from pre_convex.experiments import EXPERIMENTS, Setting, perform, read_outcome, write_outcome

FOLDER = ROOT / "docs" / "experiments"


def cell(text: str) -> str:
    """Text as one cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *([cell(text) for text in row] for row in rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def findings(record: Mapping[str, Any]) -> list[str]:
    """What the page of an experiment says between its marks."""
    rows = [[entry[name] for name in ("question", "ours", "paper", "verdict")] for entry in record["findings"]]
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    times = "; ".join(f"{what}: {seconds:.0f}" for what, seconds in record.get("times", {}).items())
    return [
        f"**Verdict:** {record['verdict']}",
        "",
        *table(["figure", "here", "paper", "verdict"], rows),
        "",
        f"Seed {record['seed']}, {record['seconds']:.0f} seconds{f' ({times})' if times else ''}; {versions}.",
    ]


def verdicts(records: list[Mapping[str, Any]]) -> list[str]:
    """What the index says between its marks."""
    rows = [[f"[{r['experiment']}]({r['experiment']}.md)", r["title"], r["verdict"]] for r in records]
    return table(["experiment", "decides", "verdict"], rows)


def stored() -> list[dict[str, Any]]:
    """Everything that has been run, in the order of the paper."""
    paths = [FOLDER / f"{name}.json" for name in EXPERIMENTS]
    return [read_outcome(path)[1] for path in paths if path.exists()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="experiments to run; all when none is named")
    parser.add_argument("--quote-only", action="store_true", help="fill the pages from the stored files")
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's IDX files, for 'digits'")
    arguments = parser.parse_args()
    if not arguments.quote_only:
        for name in arguments.names or EXPERIMENTS:
            print(name, flush=True)
            outcome, record = perform(name, Setting(show=True, mnist=arguments.mnist))
            for path in write_outcome(record, FOLDER):
                print(f"written: {path.relative_to(ROOT)}")
            print(outcome.verdict, flush=True)
    records = stored()
    for record in records:
        quote(f"docs/experiments/{record['experiment']}.md", record["experiment"], findings(record))
    quote("docs/experiments/README.md", "verdicts", verdicts(records))


if __name__ == "__main__":
    main()
