"""The site is built once for all workers, and one browser opens its pages."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def build(folder):
    """Build from a copy, so that lessons run anew and the checkout stays as it is; returns the exit code."""
    folder.mkdir()
    generated = shutil.ignore_patterns("_build", "lessons", "__pycache__")
    shutil.copytree(DOCS, folder / "docs", ignore=generated)
    for name in ("benchmarks", "pre_convex", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"):
        (folder / name).symlink_to(ROOT / name)
    cache = DOCS / "_build" / "mathjax"  # fetched once
    cache.mkdir(parents=True, exist_ok=True)
    (folder / "docs" / "_build").mkdir()
    (folder / "docs" / "_build" / "mathjax").symlink_to(cache)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "docs", "html"]
    with (folder / "log").open("w") as log:
        here = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
        return subprocess.run(command, cwd=folder, env=here, stdout=log, stderr=log).returncode


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Folder of the built site."""
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
    log = (folder / "log").read_text(encoding="utf-8")
    assert done.read_text() == "0", f"the site does not build without warnings:\n{log}"
    return folder / "html"


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()
