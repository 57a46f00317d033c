import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from browser import open_browser
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; some tests need it
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


@pytest.fixture
def run_here(monkeypatch, capsys):
    """The command line in this process, which spares its imports: returncode, stdout and stderr of a call."""
    from pre_convex.cli.app import run

    def called(*arguments, cwd=".", columns=80):
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.setenv("COLUMNS", str(columns))
            patch.setattr(sys, "argv", ["pre-convex", *map(str, arguments)])
            with pytest.raises(SystemExit) as ended:
                run()
        printed = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code or 0, stdout=printed.out, stderr=printed.err)

    return called
