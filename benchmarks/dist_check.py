"""Wheel and sdist in ``dist``, as a stranger meets them: ``make dist-check``.

The wheel goes into an empty environment, without extras. There README's example has to print what README shows, and
whatever needs an extra has to say which. From the unpacked sdist all tests have to be found.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EMPTY = ROOT / ".venv-empty"

#: what needs an extra, as a user asks for it
ASKS = {
    "plot": "from pre_convex.plots import plot_weights; plot_weights(fit)",
    "cli": "fit.bootstrap(2, progress=True)",
    "diagnostics": "from pre_convex.diagnostics import pareto_k; pareto_k(x)",
    "files": "pre.RatioProblem.from_blocks(x, 'rows.zarr')",
    "dask": "pre.RatioProblem.from_blocks(x, y, dask=True)",
}
ASK_ALL = """
import pathlib, sys
import numpy as np, pre_convex as pre
x, y = np.random.default_rng(0).normal(size=(2, 50, 1))
fit = pre.KLIEP().fit(x, y)
pathlib.Path("rows.zarr").mkdir()
for ask in sys.argv[1:]:
    try:
        exec(ask)
    except pre.MissingExtraError as error:
        print(error)
"""


def call(*command: object, cwd: Path | None = None, code: int = 0, **more: str) -> str:
    """What a command prints; it has to end with the code, and without a traceback."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, env={**os.environ, **more}
    )
    said = done.stdout + done.stderr
    if done.returncode != code or (code and "Traceback" in said):
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{said}")
    return said


def example() -> tuple[str, str]:
    """First python block of README, and the block of what it prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"^```\w*\n(.*?)^```$", text[text.index("```python") :], re.M | re.S)[:2]
    return code, printed


def without_tails(summary: str) -> list[str]:
    """Words of a summary, less the line that needs the extra diagnostics."""
    return [word for line in summary.splitlines() if not line.startswith("Pareto k") for word in line.split()]


def check_without_extras(python: Path, folder: Path) -> list[str]:
    """What is said by a Python that has the wheel and its dependencies and nothing else."""
    code, expected = example()
    printed = call(python, "-I", "-W", "error", "-c", code, cwd=folder)
    if without_tails(printed) != without_tails(expected):
        sys.exit(f"the example of README prints\n{printed}")
    said = call(python, "-I", "-W", "error", "-c", ASK_ALL, *ASKS.values(), cwd=folder).splitlines()
    said.append(call(python, "-I", "-m", "pre_convex", "demo", cwd=folder, code=1).strip())
    for extra, answer in zip([*ASKS, "cli"], said, strict=True):
        if not answer.endswith(f" is not installed; run: pip install 'pre_convex[{extra}]'"):
            sys.exit(f"of the extra {extra} it is said: {answer}")
    return said


def check_wheel(wheel: Path, folder: Path) -> None:
    call(sys.executable, "-m", "venv", "--clear", EMPTY)
    python = EMPTY / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    call(python, "-m", "pip", "check")
    print("README's example prints what README shows", *check_without_extras(python, folder), sep="\n")
    print(call(EMPTY / "bin" / "pre-convex", cwd=folder, code=1).strip())


def check_sdist(sdist: Path, folder: Path) -> None:
    with tarfile.open(sdist) as file:
        file.extractall(folder, filter="data")
    (source,) = folder.glob("pre_convex-*")
    where = "import pre_convex; print(pre_convex.__file__)"
    if str(source) not in call(sys.executable, "-c", where, cwd=source, PYTHONPATH=str(source)):
        sys.exit("the sdist's own package is not the one that is found")
    found = [
        call(
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "-p",
            "no:cacheprovider",
            cwd=place,
            PYTHONPATH=str(place),
        )
        for place in (source, ROOT)
    ]
    here, there = ([line for line in text.splitlines() if "::" in line] for text in found)
    if here != there:
        sys.exit(f"the sdist has {len(here)} tests, the tree {len(there)}: {sorted(set(here) ^ set(there))[:5]}")
    print(f"the sdist has the same {len(here)} tests")


if __name__ == "__main__":
    (wheel,) = (ROOT / "dist").glob("*.whl")
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        check_wheel(wheel, Path(folder))
        check_sdist(sdist, Path(folder))
