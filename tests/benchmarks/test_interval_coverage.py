"""Simulated coverage of the confidence intervals: stored results, the page that quotes them, and the command."""

import csv
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def stored():
    with (ROOT / "benchmarks" / "results" / "coverage.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_shows_the_stored_coverage():
    lines = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines()
    for row in stored():
        own = [line for line in lines if line.startswith(f"| {row['scenario']} |")]
        assert any(f"| {row['coverage']} % |" in line for line in own), row


def test_the_stored_coverage_meets_its_goals():
    for row in stored():
        assert int(row["runs"]) >= 2000
        if row["aim"].startswith("9"):
            low, high = (float(word) for word in row["aim"].split(" to "))
            assert low <= float(row["coverage"]) <= high, row
        elif row["aim"]:
            assert abs(float(row["coverage"]) - 5.0) < 1.0, row


def test_the_simulation_runs():
    command = [sys.executable, "-W", "error", ROOT / "benchmarks" / "interval_coverage.py", "--runs", "2"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == len(stored())
    assert "set-up of the paper" in result.stdout
