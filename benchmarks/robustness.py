"""The table of mutation testing on docs/robustness.md, from the counts that ``mutation.py`` stores."""

from __future__ import annotations

import csv

from storing import ROOT, quote


def table(rows: list[dict[str, str]]) -> list[str]:
    """Mutants and how many were noticed, by module."""
    lines = ["| module | mutants | killed | survived | timeout | rate |", "|---|---|---|---|---|---|"]
    names = ("module", "mutants", "killed", "survived", "timeout", "rate")
    return lines + ["| " + " | ".join(row[name] for name in names) + " |" for row in rows]


def main() -> None:
    with (ROOT / "benchmarks" / "results" / "mutation.csv").open(newline="") as file:
        quote("docs/robustness.md", "mutation", table(list(csv.DictReader(file))))


if __name__ == "__main__":
    main()
