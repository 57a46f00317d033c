"""Fuzz every reader of files with atheris, each in a process of its own: ``make fuzz-readers``.

What breaks one is kept in ``tests/fuzz/crashes``, where ``tests/test_fuzz_crashes.py`` reads it from then on.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "benchmarks")]
#: seconds and megabytes that one input may take
SECONDS, MEGABYTES = 10, 2048


def fuzz(name: str, options: list[str]) -> None:
    """Run one target; ends the process."""
    import atheris

    with atheris.instrument_imports(include=["pre_convex", "numpy.lib", "zipfile", "json", "csv", "ast", "tokenize"]):
        from targets import TARGETS, attempt

    target, folder = TARGETS[name], Path(tempfile.mkdtemp(prefix="fuzz-"))
    atheris.Setup([sys.argv[0], *options], lambda data: attempt(target, data, folder) and None)
    atheris.Fuzz()


def campaign(name: str, runs: int, seed: int) -> dict[str, object]:
    """Fuzz one target; what was done, and the input that broke it, if there is one."""
    from targets import TARGETS

    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for i, data in enumerate(TARGETS[name].seeds()):
            (corpus / f"seed{i}").write_bytes(data)
        size = max(2 * max(path.stat().st_size for path in corpus.iterdir()), 1024)
        limits = [f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}", f"-max_len={size}"]
        call = [f"-runs={runs}", f"-seed={seed}", f"-artifact_prefix={folder}/", *limits, "-print_final_stats=1"]
        found = subprocess.run(
            [sys.executable, __file__, "--target", name, *call, str(corpus)],
            capture_output=True,
            text=True,
            check=False,
        )
        done = re.search(r"stat::number_of_executed_units:\s*(\d+)", found.stderr)
        covered = re.findall(r"cov: (\d+)", found.stderr)
        broken = [path for kind in ("crash", "timeout", "oom") for path in Path(folder).glob(f"{kind}-*")]
        for path in broken:
            shutil.copy(path, HERE / "crashes" / f"{name}--{path.name[-12:]}")
        if found.returncode or done is None:
            print(found.stderr[-3000:], file=sys.stderr)
        row = {"target": name, "seed": seed, "runs": int(done[1]) if done else 0}
        row |= {"covered": int(covered[-1]) if covered else 0, "inputs_kept": len(list(corpus.iterdir()))}
        return row | {"ended": "whole" if not found.returncode else f"code {found.returncode}", "broken": len(broken)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", help="one reader alone, with options of libFuzzer behind it")
    parser.add_argument("--runs", type=int, default=50_000, help="inputs of each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="some readers")
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/fuzz-readers.csv")
    chosen, rest = parser.parse_known_args()
    if chosen.target:
        fuzz(chosen.target, rest)
        return
    from storing import store
    from targets import TARGETS

    rows = []
    for name in chosen.only or TARGETS:
        rows.append(campaign(name, chosen.runs, chosen.seed))
        print(
            "{target:12} {runs:7} inputs, {covered:5} places reached, {broken} broken, ended {ended}".format(
                **rows[-1]
            ),
            flush=True,
        )
    if chosen.store:
        print(f"stored: {store('fuzz-readers', rows, ('atheris', 'numpy', 'pyarrow', 'scipy'))}")
    if any(row["broken"] or row["ended"] != "whole" for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
