"""A headless Chromium, to test pages as readers see them."""

import shutil
from contextlib import contextmanager

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextmanager
def open_browser():
    """Playwright's browser; skips the test, with a reason, if it is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """Console errors, exceptions and requests of a page since it was opened."""

    def __init__(self, page):
        self.complaints, self.requests = [], []
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        page.on("request", lambda request: self.requests.append(request.url))
