"""Fill the tables of docs/robustness.md on mutants and fuzzed file readers from the stored counts."""

from __future__ import annotations

import csv

from storing import ROOT, markdown_table, quote

#: columns of each result file, with their headings on the page; the marker on the page has the name of the file
COLUMNS = {
    "mutation": {name: name for name in ("module", "mutants", "killed", "survived", "timeout", "rate")},
    "fuzz-readers": {"target": "reader", "runs": "inputs", "covered": "branches reached", "broken": "broken"},
}


def table(name: str, rows: list[dict[str, str]]) -> list[str]:
    """The table of one result file in Markdown."""
    columns = COLUMNS[name]
    return markdown_table(list(columns.values()), [[row[column] for column in columns] for row in rows])


def main() -> None:
    for name in COLUMNS:
        path = ROOT / "benchmarks" / "results" / f"{name}.csv"
        if path.exists():
            with path.open(newline="") as file:
                quote("docs/robustness.md", name, table(name, list(csv.DictReader(file))))


if __name__ == "__main__":
    main()
