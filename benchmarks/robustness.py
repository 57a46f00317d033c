"""Tables of docs/robustness.md that are made from stored counts alone: mutants, and inputs of the readers of files."""

from __future__ import annotations

import csv

from storing import ROOT, quote

#: result file, whose mark the page has: its columns, and what the page calls them
COLUMNS = {
    "mutation": {name: name for name in ("module", "mutants", "killed", "survived", "timeout", "rate")},
    "fuzz-readers": {"target": "reader", "runs": "inputs", "covered": "branches reached", "broken": "broken"},
}


def table(name: str, rows: list[dict[str, str]]) -> list[str]:
    """The table of one result file."""
    columns = COLUMNS[name]
    lines = ["| " + " | ".join(columns.values()) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(row[column] for column in columns) + " |" for row in rows]


def main() -> None:
    for name in COLUMNS:
        path = ROOT / "benchmarks" / "results" / f"{name}.csv"
        if path.exists():
            with path.open(newline="") as file:
                quote("docs/robustness.md", name, table(name, list(csv.DictReader(file))))


if __name__ == "__main__":
    main()
