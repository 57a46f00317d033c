"""The site is built once for all workers."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def build(folder):
    """Build from a copy, so that lessons run anew and the checkout stays as it is; returns the exit code."""
    folder.mkdir()
    generated = shutil.ignore_patterns("_build", "lessons", "__pycache__")
    shutil.copytree(DOCS, folder / "docs", ignore=generated)
    shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=generated)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / "pre_convex").symlink_to(ROOT / "pre_convex")
    (folder / "tests").symlink_to(ROOT / "tests")  # the failure contract is a table of its rows
    cache = DOCS / "_build" / "mathjax"  # fetched once
    cache.mkdir(parents=True, exist_ok=True)
    (folder / "docs" / "_build").mkdir()
    (folder / "docs" / "_build" / "mathjax").symlink_to(cache)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "docs", "html"]
    with (folder / "log").open("w") as log:
        here = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
        return subprocess.run(command, cwd=folder, env=here, stdout=log, stderr=log).returncode


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Folder with the site in ``html``, exit code of the build, what it said."""
    pytest.importorskip("sphinx")
    if shutil.which("npm") is None and not any((DOCS / "_build" / "mathjax").glob("*/*.js")):
        pytest.skip("npm is not installed, which the formulas of the site come from")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = shared / "site", shared / "site-built"
    with (shared / "site-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            done.write_text(str(build(folder)))
    return folder, int(done.read_text()), (folder / "log").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def site(built):
    """Folder of the site."""
    folder, code, _ = built
    assert code == 0, "the site does not build; test_the_site_builds_without_warnings shows why"
    return folder / "html"
