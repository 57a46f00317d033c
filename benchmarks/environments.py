"""All tests in an environment of its own: ``make test-oldest``, ``make test-newest``, ``make test-pinned``.

``pins`` prints the constraints of an environment; ``test`` runs the tests in the environment whose Python runs it, and
puts versions and counts into ``benchmarks/results/environments.csv`` and the page that quotes it.
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

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "benchmarks" / "results" / "environments.csv"
PAGE = "docs/reference/environments.md"
KINDS = {
    "oldest": "lower bounds",
    "pinned": "`constraints.txt`",
    "newest": "newest",
}
PACKAGES = ("numpy", "scipy", "cvxpy", "scikit-learn", "narwhals", "pandas", "polars", "matplotlib", "dask", "zarr")
COUNTS = ("passed", "failed", "skipped")
#: old packages on new ones of their own dependencies use what these have deprecated; it is not ours to mend
LENIENT = [f"-Wdefault::{kind}" for kind in ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")]


#: tests of the stored table, which is what a run is about to write anew
OF_THE_TABLE = (
    "test_the_environments_on_the_page_are_those_that_were_run",
    "test_oldest_and_newest_dependencies_and_every_python_that_is_named_were_run",
)


def requirements() -> list[str]:
    """What pyproject.toml asks for with a lower bound: dependencies, extras, and the frames that users pass in."""
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
    """Tests that passed, failed and were skipped, from a report in JUnit's format."""
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
    """What is stored."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def order(row: dict[str, str]) -> tuple[object, ...]:
    return [int(n) for n in row["python"].split(".")[:2]], list(KINDS).index(row["dependencies"])


def lines(table: list[dict[str, str]]) -> list[str]:
    """The table as the page shows it."""
    shown = ("numpy", "scipy", "cvxpy", "scikit-learn", "narwhals", "pandas", "polars")
    head = ["Python", "dependencies", *shown, *COUNTS, "run on"]
    body = [
        [r["python"], KINDS[r["dependencies"]], *(r[name] for name in shown), *(r[name] for name in COUNTS), r["date"]]
        for r in table
    ]
    return [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body]]


def store(kind: str, counts: dict[str, int]) -> None:
    """Replace the row of this Python and these dependencies, and the page's table."""
    from storing import quote

    from pre_convex.versions import versions_of

    found = versions_of(PACKAGES)
    row = {
        "python": platform.python_version(),
        "dependencies": kind,
        **{name: str(counts[name]) for name in COUNTS},
        "date": date.today().isoformat(),
        **{name: found.get(name, "") for name in PACKAGES},
    }
    table = sorted([*(r for r in rows() if order(r) != order(row)), row], key=order)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerows(table)
    quote(PAGE, "environments", lines(table))


def run(kind: str, more: list[str]) -> int:
    """Run the tests; nothing is stored where one fails, or with arguments of one's own, which may select some.

    A test asks that no stored run has failures: a line of a run that failed would have the next one fail by that alone.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-n", "2", "--dist", "worksteal", f"--junitxml={report}", *(LENIENT if kind == "oldest" else [])]
        options += [f"--deselect=tests/test_packaging.py::{name}" for name in OF_THE_TABLE]
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
