"""Check the wheel and the sdist in ``dist``: ``make dist-check``.

The wheel is installed into an empty environment, without extras. There the example of README must print what README
shows, and everything that needs an extra must name that extra. The unpacked sdist must contain all tests.
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

#: for each extra, code that needs it
NEEDS_EXTRA = {
    "plot": "from pre_convex.plots import plot_weights; plot_weights(fit)",
    "cli": "fit.bootstrap(2, progress=True)",
    "diagnostics": "from pre_convex.statistics.diagnostics import pareto_k; pareto_k(x)",
    "formula": "pre.Balance(formula='x0').fit(x, y)",
    "widget": "pre.explore()",
    "verify": "pre.verify(fit.problem_, fit.solution_)",
    "files": "pre.RatioProblem.from_blocks(x, 'rows.zarr')",
    "dask": "pre.RatioProblem.from_blocks(x, y, dask=True)",
}
SHOW_ERRORS = """
import pathlib, sys
import numpy as np, pre_convex as pre
x, y = np.random.default_rng(0).normal(size=(2, 50, 1))
fit = pre.KLIEP().fit(x, y)
pathlib.Path("rows.zarr").mkdir()
for code in sys.argv[1:]:
    try:
        exec(code)
    except pre.MissingExtraError as error:
        print(error)
"""


def call(*command: object, cwd: Path | None = None, code: int = 0, **more: str) -> str:
    """Output of a command, which must exit with ``code``; a failing one must not print a traceback."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, env={**os.environ, **more}
    )
    output = done.stdout + done.stderr
    if done.returncode != code or (code and "Traceback" in output):
        sys.exit(f"{' '.join(map(str, command))}\nexited with {done.returncode}:\n{output}")
    return output


def example() -> tuple[str, str]:
    """First Python block of README, and the block with its output."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"^```\w*\n(.*?)^```$", text[text.index("```python") :], re.M | re.S)[:2]
    return code, printed


def without_tails(summary: str) -> list[str]:
    """Words of a summary, except the line that needs the extra ``diagnostics``."""
    return [word for line in summary.splitlines() if not line.startswith("Pareto k") for word in line.split()]


def check_without_extras(python: Path, folder: Path) -> list[str]:
    """Run the example and return the messages about missing extras; ``python`` has no extra installed."""
    code, expected = example()
    printed = call(python, "-I", "-W", "error", "-c", code, cwd=folder)
    if without_tails(printed) != without_tails(expected):
        sys.exit(f"the example of README does not print what README shows, but\n{printed}")
    command = (python, "-I", "-W", "error", "-c", SHOW_ERRORS, *NEEDS_EXTRA.values())
    messages = call(*command, cwd=folder).splitlines()
    messages.append(call(python, "-I", "-m", "pre_convex", "demo", cwd=folder, code=1).strip())
    for extra, message in zip([*NEEDS_EXTRA, "cli"], messages, strict=True):
        if not message.endswith(f" is not installed; run: pip install 'pre_convex[{extra}]'"):
            sys.exit(f"wrong message for the missing extra {extra}: {message}")
    return messages


def check_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment and use it there."""
    call(sys.executable, "-m", "venv", "--clear", EMPTY)
    python = EMPTY / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    call(python, "-m", "pip", "check")
    print("the example of README prints what README shows", *check_without_extras(python, folder), sep="\n")
    print(call(EMPTY / "bin" / "pre-convex", cwd=folder, code=1).strip())


def check_sdist(sdist: Path, folder: Path) -> None:
    """Compare the tests in the unpacked sdist with those in the repository."""
    with tarfile.open(sdist) as file:
        file.extractall(folder, filter="data")
    (source,) = folder.glob("pre_convex-*")
    where = "import pre_convex; print(pre_convex.__file__)"
    if str(source) not in call(sys.executable, "-c", where, cwd=source, PYTHONPATH=str(source)):
        sys.exit("pre_convex is not imported from the unpacked sdist")
    collect = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider")
    listings = [call(*collect, cwd=root, PYTHONPATH=str(root)) for root in (source, ROOT)]
    packed, tree = ([line for line in text.splitlines() if "::" in line] for text in listings)
    if packed != tree:
        difference = sorted(set(packed) ^ set(tree))[:5]
        sys.exit(f"the sdist has {len(packed)} tests, the repository {len(tree)}: {difference}")
    print(f"the sdist has all {len(packed)} tests")


if __name__ == "__main__":
    (wheel,) = (ROOT / "dist").glob("*.whl")
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        check_wheel(wheel, Path(folder))
        check_sdist(sdist, Path(folder))
