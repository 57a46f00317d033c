"""Coverage of the intervals of local explanations, as stored and as quoted."""

import csv
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_quotes_the_stored_coverage():
    text = (ROOT / "docs" / "explanation.md").read_text(encoding="utf-8")
    with (ROOT / "benchmarks" / "results" / "explanation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    for row in rows:
        cells = [row[key] for key in row if key.endswith(("hc3", "centred", "at x"))]
        line = f"| {row['points']} | {float(row['sd']):g} | {float(row['steepness']):g} | {int(row['n']):,} | "
        assert line + " | ".join(f"{cell} %" for cell in cells) + " |" in text
    with (ROOT / "benchmarks" / "results" / "explanation-on-off.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    for row in rows:
        cells = [row[key] for key in ("least covered", "most covered", "log-odds at x", "warned", "refused")]
        line = f"| {float(row['keep']):g} | {int(row['n']):,} | "
        assert line + " | ".join(f"{cell} %" for cell in cells) + " |" in text
        # where intervals are too short, explain warns
        if min(float(row["least covered"]), float(row["log-odds at x"])) < 90.0:
            assert float(row["warned"]) > 95.0


def test_the_benchmark_runs():
    command = [sys.executable, ROOT / "benchmarks" / "explanation_coverage.py", "--runs", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == 24 + 12
