"""Run the properties of ``tests/test_properties.py`` on many thousands of random examples, and count them.

Hypothesis draws new examples in every run and keeps failing ones in ``.hypothesis``; the next run tries those first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from storing import ROOT, markdown_table, quote, store


def run(profile: str, workers: int, more: list[str]) -> tuple[int, dict[str, int]]:
    """Exit code of pytest, and the number of completed examples of each property."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment = {**os.environ, **threads, "HYPOTHESIS_PROFILE": profile, "FUZZ_COUNTS": str(counts)}
        command = [sys.executable, "-m", "pytest", "-q", "tests/test_properties.py", "-p", "no:cacheprovider"]
        command += ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
        code = subprocess.run([*command, *more], cwd=ROOT, env=environment, check=False).returncode
        return code, json.loads(counts.read_text(encoding="utf-8"))


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table of docs/robustness.md."""
    body = []
    for row in rows:
        mark = "**" if row["property"] == "all" else ""
        body.append([f"{mark}{row['property']}{mark}", f"{mark}{int(str(row['examples'])):,}{mark}"])
    return markdown_table(["property", "examples"], body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="long", help="Hypothesis profile, from tests/conftest.py")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--store", action="store_true", help="write the results file and the table on the page")
    arguments, more = parser.parse_known_args()
    code, counts = run(arguments.profile, arguments.workers, more)
    names = {name.removeprefix("test_").replace("_", " "): count for name, count in sorted(counts.items())}
    rows: list[dict[str, object]] = [{"property": name, "examples": count} for name, count in names.items()]
    rows.append({"property": "all", "examples": sum(counts.values())})
    print("\n".join(table(rows)))
    if code:
        sys.exit(code)
    if arguments.store:
        path = store("fuzz", rows, ("pre_convex", "hypothesis", "numpy"))
        quote("docs/robustness.md", "fuzz", table(rows))
        print(f"written: {path.name} and the table of docs/robustness.md")


if __name__ == "__main__":
    main()
