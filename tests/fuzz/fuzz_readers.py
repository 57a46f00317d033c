"""Fuzz every reader of files with atheris, each in its own process: ``make fuzz-readers``.

Inputs that crash a reader are kept in ``tests/fuzz/crashes`` and read by ``tests/fuzz/test_crashes.py`` from then on.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import atheris
import numpy as np  # noqa: F401  imported first, so that it is not instrumented
import sklearn.base  # noqa: F401

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "benchmarks")]
with atheris.instrument_imports(include=["pre_convex", "zipfile"]):  # coverage of these guides the search
    from targets import TARGETS, attempt

import robustness  # noqa: E402
from storing import store  # noqa: E402

#: limits of one input
SECONDS, MEGABYTES = 10, 2048
#: RAM disk, if there is one, because every input is a file
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def campaign(name: str, runs: int, seed: int) -> dict[str, object]:
    """Fuzz one reader and return a row of results."""
    folder, parent = tempfile.mkdtemp(prefix="fuzz-", dir=MEMORY), os.getpid()
    try:
        corpus, log = Path(folder) / "corpus", Path(folder) / "log"
        corpus.mkdir()
        for i, data in enumerate(TARGETS[name].seeds()):
            (corpus / f"seed{i}").write_bytes(data)
        size = max(2 * max(path.stat().st_size for path in corpus.iterdir()), 1024)
        limits = [f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}", f"-max_len={size}"]
        call = [f"-runs={runs}", f"-seed={seed}", f"-artifact_prefix={folder}/", *limits, "-print_final_stats=1"]
        code = _in_child(name, [*call, str(corpus)], Path(folder), log)
        text = log.read_text(encoding="utf-8", errors="replace")
        done = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
        covered = re.findall(r"cov: (\d+)", text)
        broken = [path for kind in ("crash", "timeout", "oom") for path in Path(folder).glob(f"{kind}-*")]
        for path in broken:
            shutil.copy(path, HERE / "crashes" / f"{name}--{path.name[-12:]}")
        if code or done is None:
            print(text[-3000:], file=sys.stderr)
        row = {"target": name, "seed": seed, "runs": int(done[1]) if done else 0}
        row |= {"covered": int(covered[-1]) if covered else 0, "inputs_kept": len(list(corpus.iterdir()))}
        return row | {"ended": "whole" if not code else f"code {code}", "broken": len(broken)}
    finally:
        if os.getpid() == parent:
            shutil.rmtree(folder)


def _in_child(name: str, options: list[str], folder: Path, log: Path) -> int:
    """Exit code of a child process that fuzzes one reader and writes a log."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    handle = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    target, place = TARGETS[name], folder / "place"
    place.mkdir()

    def one(data: bytes) -> None:
        attempt(target, data, place)

    atheris.Setup([sys.argv[0], *options], one)
    atheris.Fuzz()  # exits the process, after writing a crashing input to disk
    raise AssertionError("atheris did not exit the process")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50_000, help="inputs per reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(TARGETS), choices=list(TARGETS), help="readers to fuzz")
    parser.add_argument("--store", action="store_true", help="write the results file and the table that quotes it")
    chosen = parser.parse_args()
    rows = []
    for name in chosen.only:
        rows.append(campaign(name, chosen.runs, chosen.seed))
        words = "{target:12} {runs:7} inputs, {covered:5} places reached, {broken} broken, ended {ended}"
        print(words.format(**rows[-1]), flush=True)
    if chosen.store:
        print(f"stored: {store('fuzz-readers', rows, ('atheris', 'numpy', 'pyarrow', 'scipy')).name}")
        robustness.main()
    if any(row["broken"] or row["ended"] != "whole" for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
