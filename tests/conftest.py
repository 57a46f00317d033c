import os

import pytest
from browser import open_browser
from hypothesis import settings

settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; not for longer than a module, for while it is open nothing else here can run an event loop."""
    with open_browser() as found:
        yield found
