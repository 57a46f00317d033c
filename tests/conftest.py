import json
import os
from pathlib import Path

import pytest
from browser import open_browser
from hypothesis import settings

settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_sessionfinish(session):
    """Examples of properties that ran to their end: a worker hands them over, a single process writes them."""
    from strategies import FINISHED

    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["finished"] = dict(FINISHED)
    elif "FUZZ_COUNTS" in os.environ:
        Path(os.environ["FUZZ_COUNTS"]).write_text(json.dumps(FINISHED), encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take in what a worker has counted."""
    from strategies import FINISHED

    FINISHED.update(getattr(node, "workeroutput", {}).get("finished", {}))


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; not for longer than a module, for while it is open nothing else here can run an event loop."""
    with open_browser() as found:
        yield found
