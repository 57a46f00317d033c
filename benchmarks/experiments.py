"""Run the paper's experiments and fill their pages: ``python benchmarks/experiments.py [NAME...]``.

A full run with seed 0 is stored in ``docs/experiments``. Verdicts rest on several, which ``--seeds`` runs: in a small
version if a full run takes more than a few minutes. They are in ``benchmarks/results/experiment-seeds.json``.
``--quote-only`` only fills the pages from the stored results.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pre_convex_lab.paper import EXPERIMENTS, Setting, perform, read_outcome, summarise, write_outcome
from stale import record as record_checksum
from storing import ROOT, markdown_table, quote

FOLDER = ROOT / "docs" / "experiments"
SEEDS = ROOT / "benchmarks" / "results" / "experiment-seeds.json"
#: seeds that verdicts rest on, and the experiments whose full runs take more than a few minutes
COUNT, LONG = 5, ("keyword", "vibration")


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
        f"**Verdict:** {verdict(record)}",
        "",
        *table(["measured", "here", "paper", "verdict"], rows),
        "",
        f"Seed {record['seed']}, {record['seconds']:.0f} seconds{f' ({times})' if times else ''}; {versions}.",
    ]


def verdict(record: Mapping[str, Any]) -> str:
    """The claims of an experiment over the stored seeds, or in its one full run if there are none."""
    runs = seeds().get(record["experiment"])
    if runs is None:
        return summarise([record["claims"]])
    size = "small" if runs["quick"] else "full"
    return f"{summarise(runs['claims'])} ({len(runs['seeds'])} {size} runs, seeds {', '.join(map(str, runs['seeds']))})"


def seeds() -> dict[str, Any]:
    """What is stored of the runs with several seeds."""
    return dict(json.loads(SEEDS.read_text(encoding="utf-8"))) if SEEDS.exists() else {}


def run_seeds(name: str, mnist: Path | None) -> None:
    """Run one experiment on several seeds, and store what each run says of its claims."""
    quick = name in LONG
    claims = []
    for seed in range(COUNT):
        outcome, _ = perform(name, Setting(quick=quick, seed=seed, show=True, mnist=mnist))
        claims.append({text: bool(holds) for text, holds in outcome.claims.items()})
        print(seed, outcome.verdict, flush=True)
    found = seeds() | {name: {"quick": quick, "seeds": list(range(COUNT)), "claims": claims}}
    ordered = {each: found[each] for each in EXPERIMENTS if each in found}
    SEEDS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def verdicts(records: list[Mapping[str, Any]]) -> list[str]:
    """Lines between the marks on the index page."""
    rows = [[f"[{r['experiment']}]({r['experiment']}.md)", r["title"], verdict(r)] for r in records]
    return table(["experiment", "question", "verdict"], rows)


def stored() -> list[dict[str, Any]]:
    """Stored results, in the order of the paper."""
    paths = [FOLDER / f"{name}.json" for name in EXPERIMENTS]
    return [read_outcome(path)[1] for path in paths if path.exists()]


def main() -> None:
    """Run experiments, store their results, and fill the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="experiments to run (default: all)")
    parser.add_argument("--seeds", action="store_true", help=f"run {COUNT} seeds, for the verdicts")
    parser.add_argument("--quote-only", action="store_true", help="only fill the pages from the stored results")
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's IDX files, for 'digits'")
    arguments = parser.parse_args()
    if not arguments.quote_only:
        for name in arguments.names or EXPERIMENTS:
            print(name, flush=True)
            if arguments.seeds:
                run_seeds(name, arguments.mnist)
                record_checksum(f"experiment-seeds/{name}")
                continue
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
