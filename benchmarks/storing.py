"""Results of a benchmark in a file, with the versions and the processor, and in the pages that quote them."""

from __future__ import annotations

import csv
import os
import platform
from importlib.metadata import version
from pathlib import Path

from pre_convex.versions import processor

ROOT = Path(__file__).parents[1]


def store(name: str, rows: list[dict[str, object]], packages: tuple[str, ...]) -> Path:
    """Write ``benchmarks/results/NAME.csv``."""
    facts: dict[str, object] = {"cpu": processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    facts |= {package: version(package) for package in packages}
    path = ROOT / "benchmarks" / "results" / f"{name}.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *facts])
        writer.writeheader()
        writer.writerows({**row, **facts} for row in rows)
    return path


def quote(page: str, mark: str, lines: list[str]) -> None:
    """Put lines between ``<!-- MARK -->`` and ``<!-- /MARK -->`` of a page."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    start, end = text.index(f"<!-- {mark} -->"), text.index(f"<!-- /{mark} -->")
    body = "\n".join([f"<!-- {mark} -->", *lines, ""])
    path.write_text(text[:start] + body + text[end:], encoding="utf-8")
