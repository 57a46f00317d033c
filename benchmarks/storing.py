"""Write benchmark results to a file, with versions and processor, and to the pages that show them."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from stale import record

ROOT = Path(__file__).parents[1]


def store(name: str, rows: list[dict[str, object]], packages: tuple[str, ...]) -> Path:
    """Write ``benchmarks/results/NAME.csv``, and the checksum of the code behind it."""
    from pre_convex._internal.versions import processor_name  # only here: other scripts run without the package

    facts: dict[str, object] = {"cpu": processor_name(), "cores": os.cpu_count(), "python": platform.python_version()}
    facts |= {package: version(package) for package in packages}
    path = ROOT / "benchmarks" / "results" / f"{name}.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *facts])
        writer.writeheader()
        writer.writerows({**row, **facts} for row in rows)
    record(name)
    return path


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def quote(page: str, mark: str, lines: list[str]) -> None:
    """Replace the lines between ``<!-- MARK -->`` and ``<!-- /MARK -->`` on a page."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    start, end = text.index(f"<!-- {mark} -->"), text.index(f"<!-- /{mark} -->")
    body = "\n".join([f"<!-- {mark} -->", *lines, ""])
    path.write_text(text[:start] + body + text[end:], encoding="utf-8")
