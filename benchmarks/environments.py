"""Run all tests with other versions of the dependencies: ``make test-oldest``, ``test-newest``, ``test-pinned``.

``pins`` prints the constraints for pip; ``test`` runs the tests with the Python that runs this script, and writes
versions and counts to ``benchmarks/results/environments.csv`` and to the page that shows it.
"""

from __future__ import annotations

import argparse
import csv
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from stale import record
from storing import ROOT, markdown_table, quote

TABLE = ROOT / "benchmarks" / "results" / "environments.csv"
PAGE = "docs/reference/environments.md"
KINDS = {
    "oldest": "lower bounds",
    "pinned": "`constraints.txt`",
    "newest": "newest",
}
PACKAGES = ("numpy", "scipy", "cvxpy", "scikit-learn", "narwhals", "pandas", "polars", "matplotlib", "dask", "zarr")
COUNTS = ("passed", "failed", "skipped")
#: old packages use what newer versions of their own dependencies have deprecated, which is not ours to fix
LENIENT = [f"-Wdefault::{kind}" for kind in ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")]


#: tests of the stored table, which this run replaces
TABLE_TESTS = (
    "test_the_environments_on_the_page_are_those_that_were_run",
    "test_oldest_and_newest_dependencies_and_every_python_that_is_named_were_run",
)


def requirements() -> list[str]:
    """Requirements of pyproject.toml with a lower bound: dependencies, extras, and libraries of data frames."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = about["project"]["optional-dependencies"].values()
    found = [*about["project"]["dependencies"], *(r for extra in extras for r in extra)]
    return [r for r in [*found, *about["dependency-groups"]["frames"]] if not r.startswith(about["project"]["name"])]


def pins(kind: str) -> list[str]:
    """Constraints for pip: the lower bounds, those of constraints.txt, or none."""
    if kind == "pinned":
        return (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if kind == "newest":
        return []
    found = []
    for requirement in requirements():
        name, bound, marker = re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\w.]+)(;.*)?", requirement).groups()
        found.append(f"{name}=={bound}{marker or ''}")
    return sorted(set(found))


def counted(report: Path) -> dict[str, int]:
    """Numbers of tests that passed, failed and were skipped, from a JUnit report."""
    suites = ElementTree.parse(report).getroot().iter("testsuite")
    total = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite in suites:
        for key in total:
            total[key] += int(suite.get(key, 0))
    failed = total["failures"] + total["errors"]
    return {
        "passed": total["tests"] - failed - total["skipped"],
        "failed": failed,
        "skipped": total["skipped"],
    }


def rows() -> list[dict[str, str]]:
    """The stored table."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def order(row: dict[str, str]) -> tuple[object, ...]:
    """Sort key of a row: Python version, then kind of dependencies."""
    return [int(n) for n in row["python"].split(".")[:2]], list(KINDS).index(row["dependencies"])


def lines(table: list[dict[str, str]]) -> list[str]:
    """The table in Markdown."""
    shown = ("numpy", "scipy", "cvxpy", "scikit-learn", "narwhals", "pandas", "polars")
    head = ["Python", "dependencies", *shown, *COUNTS, "run on"]
    body = [
        [r["python"], KINDS[r["dependencies"]], *(r[name] for name in shown), *(r[name] for name in COUNTS), r["date"]]
        for r in table
    ]
    return markdown_table(head, body)


def store(kind: str, counts: dict[str, int]) -> None:
    """Replace the row for this Python and these dependencies, and update the page."""
    from pre_convex._internal.versions import installed_versions

    versions = installed_versions(PACKAGES)
    row = {
        "python": platform.python_version(),
        "dependencies": kind,
        **{name: str(counts[name]) for name in COUNTS},
        "date": date.today().isoformat(),
        **{name: versions.get(name, "") for name in PACKAGES},
    }
    table = sorted([*(r for r in rows() if order(r) != order(row)), row], key=order)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerows(table)
    record(f"environments/{kind}-{row['python'].rpartition('.')[0]}")
    quote(PAGE, "environments", lines(table))


def run(kind: str, more: list[str]) -> int:
    """Run the tests, and store the counts if all pass and no further arguments select some of them.

    A test requires that no stored run has failures, so storing a failed run would make the next one fail too.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-n", "2", "--dist", "worksteal", f"--junitxml={report}", *(LENIENT if kind == "oldest" else [])]
        options += [f"--deselect=tests/test_packaging.py::{name}" for name in TABLE_TESTS]
        code = subprocess.run([sys.executable, "-m", "pytest", *options, *more], cwd=ROOT).returncode
        if not more and code == 0:
            store(kind, counted(report))
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["pins", "test"])
    parser.add_argument("kind", choices=list(KINDS))
    chosen, others = parser.parse_known_args()
    if chosen.command == "pins":
        print("\n".join(pins(chosen.kind)))
    else:
        sys.exit(run(chosen.kind, others))
