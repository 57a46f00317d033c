"""Mutation testing: change the code in one place at a time, and count the changes that the fast tests detect.

``make mutate`` runs mutmut on the modules named in ``[tool.mutmut]`` of ``pyproject.toml`` and the tests that reach
them. It writes ``benchmarks/results/mutation.csv``, counts by module, and ``mutation-survivors.csv``, the mutants
that no test killed. ``benchmarks/mutation_reasons.csv`` says, by hand, why a survivor is acceptable: a function, a
part of the line or of the change, and the reason. The command fails if fewer than nine in ten mutants of a module are
killed, or if a reason is missing. A timeout counts as killed.

Everything runs on a copy in ``mutants/``, without ``@single_threaded_blas()``: mutmut skips decorated functions, and
here everything runs in one thread anyway. Of other decorated functions, mutmut changes static and class methods, but
not properties.

``--keep`` continues the run in ``mutants/``. ``--again`` runs survivors and timeouts there once more, with the
current tests; a busy machine may have caused a timeout. A module with mutants left to run is not in the table. Names
of mutants, with ``*``, run those again and store nothing; ``--store`` runs nothing and stores the current results.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from storing import store

ROOT = Path(__file__).parents[1]
WORK = ROOT / "mutants"
RESULTS = ROOT / "benchmarks" / "results"
REASONS = ROOT / "benchmarks" / "mutation_reasons.csv"
GOAL = 0.9
#: memory limit of a mutant in bytes, since a mutant may allocate a huge array
MEMORY = 8 << 30


def copy() -> None:
    """Update the copy; an unchanged file is not touched, so that its mutants keep their results."""
    for part in ("pre_convex", "tests", "pyproject.toml"):
        files = (ROOT / part).rglob("*") if (ROOT / part).is_dir() else [ROOT / part]
        for path in (p for p in files if p.is_file() and "__pycache__" not in p.parts):
            content, goal = path.read_bytes(), WORK / path.relative_to(ROOT)
            if path.suffix == ".py":
                content = re.sub(rb"(?m)^ *@single_threaded_blas\(\)\n", b"", content)
            if not goal.exists() or goal.read_bytes() != content:
                goal.parent.mkdir(parents=True, exist_ok=True)
                goal.write_bytes(content)


def run(names: list[str], children: int) -> None:
    """Run mutmut on the named mutants, or on all without a result."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    with Path("log.txt").open("w+", encoding="utf-8") as log:
        done = subprocess.run(
            [
                sys.executable,
                "-P",
                ROOT / "benchmarks" / "mutmut_once.py",
                "run",
                "--max-children",
                str(children),
                *names,
            ],
            env=os.environ | one,
            stdout=None if sys.stdout.isatty() else log,  # mutmut shows a spinner
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
        if done.returncode:
            log.seek(0)
            sys.exit(log.read()[-3000:] + "\nmutmut failed")


def outcomes() -> dict[Path, dict[str, str]]:
    """Status of every mutant, by file and name."""
    from mutmut.stats import status_by_exit_code

    found = {}
    for meta in sorted((WORK / "mutants").rglob("*.py.meta")):
        path = meta.relative_to(WORK / "mutants").with_suffix("")
        codes = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
        found[path] = {name: status_by_exit_code[code] for name, code in codes.items()}
    return found


def counts(path: Path, statuses: dict[str, str]) -> dict[str, object]:
    """Row of the table for one module."""
    number = Counter(statuses.values())
    killed = number["killed"] + number["timeout"]
    return {
        "module": path.with_suffix("").as_posix().replace("/", "."),
        "mutants": len(statuses),
        "killed": number["killed"],
        "survived": len(statuses) - killed,
        "timeout": number["timeout"],
        "rate": round(killed / len(statuses), 4),
    }


def change(path: Path, name: str) -> dict[str, str]:
    """Module, function and changed lines of a mutant, without line numbers, which would change with every edit."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    lines = get_diff_for_mutant(name, path=path).splitlines()[2:]
    before, after = (" ".join(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")
    module, _, function = name.rpartition("__mutmut_")[0].rpartition(".")
    return {
        "module": module,
        "function": function.removeprefix("xǁ").removeprefix("x_").replace("ǁ", "."),
        "change": f"{before}  ->  {after}",
    }


def reason(row: dict[str, str], known: list[dict[str, str]]) -> str:
    """The first reason whose function and line match this change; empty if there is none."""
    fitting = (k for k in known if (k["module"], k["function"]) == (row["module"], row["function"]))
    return next((k["reason"] for k in fitting if k["line"] in row["change"]), "")


def survivors(found: dict[Path, dict[str, str]]) -> list[dict[str, str]]:
    """Mutants that no test killed, with the reasons."""
    with REASONS.open(newline="", encoding="utf-8") as file:
        known = list(csv.DictReader(file))
    left = [
        change(path, name)
        for path, statuses in found.items()
        for name, status in statuses.items()
        if status not in ("killed", "timeout")
    ]
    return [{**row, "reason": reason(row, known)} for row in left]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="mutants to run again, such as 'pre_convex.certificate.lift.*'")
    parser.add_argument("--keep", action="store_true", help="continue the run in mutants/")
    parser.add_argument("--again", action="store_true", help="run survivors and timeouts in mutants/ again")
    parser.add_argument("--store", action="store_true", help="store the results in mutants/, and run nothing")
    parser.add_argument("--children", type=int, default=os.cpu_count(), help="mutants to run in parallel")
    given = parser.parse_args()
    if not (given.keep or given.again or given.store or given.names):
        shutil.rmtree(WORK, ignore_errors=True)
    if not given.store:
        copy()
    os.chdir(WORK)  # mutmut works in the current folder
    again = [n for statuses in outcomes().values() for n, status in statuses.items() if status != "killed"]
    if not given.store:
        run(given.names or (again if given.again else []), given.children)
    if given.names:
        return 0
    found = outcomes()
    unfinished = [path for path, statuses in found.items() if "not checked" in statuses.values()]
    for path in unfinished:
        print(f"{path}: incomplete; continue with --keep")
        del found[path]
    rows = [counts(path, statuses) for path, statuses in found.items()]
    every = {name: status for statuses in found.values() for name, status in statuses.items()}
    rows.append({**counts(Path("all"), every), "module": "those above" if unfinished else "all"})
    left = survivors(found)
    store("mutation", rows, ("mutmut", "pytest"))
    with (RESULTS / "mutation-survivors.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["module", "function", "change", "reason"])
        writer.writeheader()
        writer.writerows(left)
    line = "{module:28} {mutants:5} mutants, {survived:4} survived, {timeout:3} timeouts, {rate:.1%} killed"
    for row in rows:
        print(line.format(**row))
    unknown = [row for row in left if not row["reason"]]
    for row in unknown:
        print("no reason for {module} {function}: {change}".format(**row))
    low = [row for row in rows if float(str(row["rate"])) < GOAL]
    for row in low:
        print("{module}: {rate:.1%} of the mutants were killed".format(**row) + f"; the goal is {GOAL:.0%}")
    return int(bool(low or unknown or unfinished))


if __name__ == "__main__":
    sys.exit(main())
