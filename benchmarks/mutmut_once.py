"""mutmut, with the tests collected once for all mutants: collecting them takes longer than most mutants live.

A mutant is a copy of this process, in which its tests run: first those that failed for another mutant of the same
function, then those of its own module's file, quick ones first. It ends with the first test that fails. Examples in
docstrings run once, not also in the copies of them that mutants have. Mutants come module by module, so that a run that
is cut short has some of the modules whole.
"""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mutmut.__main__ as mutmut
import pytest
from _pytest.config import _prepareconfig
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.runners.harness import PytestRunner, change_cwd
from mutmut.workers.isolation import ForkRunner

if not hasattr(pytest.Item, "_nodeid"):  # mutmut 3.8 reads an attribute of a test that pytest 9.2 no longer has
    pytest.Item._nodeid = property(lambda item: item.nodeid)


class Stop:
    """Ends a mutant with the first test that fails, before anything is written about it."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Leave, unless the test was skipped."""
        if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
            with kept["failed"].open("a", encoding="utf-8") as file:
                file.write(f"{item.nodeid}\n")
            os._exit(1)


#: modules, those with the quickest tests first
ORDER = ("inference", "feasibility", "problem", "solution", "passes", "newton")
#: names of tests that failed, by function
FAILED = Path("failed").absolute()
kept: dict[str, Any] = {}
whole_run, startup, time_of = PytestRunner.run_tests, ForkRunner.startup, mutmut.estimated_worst_case_time


def collect(self: ForkRunner) -> None:
    """Collect the tests, with no mutant in place."""
    set_mutant_under_test("")
    FAILED.mkdir(exist_ok=True)
    runner: Any = self.test_runner
    options = ["--rootdir=.", "-x", "-q", "-s", *runner._pytest_add_cli_args_test_selection]
    with change_cwd("mutants"):
        config = _prepareconfig([*options, *runner._pytest_add_cli_args])
        config._do_configure()
        config.pluginmanager.unregister(name="terminalreporter")
        session = pytest.Session.from_config(config)
        config.pluginmanager.register(Stop())
        config.hook.pytest_sessionstart(session=session)
        config.hook.pytest_collection(session=session)
    kept.update(session=session, items={item.nodeid: item for item in session.items})
    startup(self)


def run_tests(self: PytestRunner, *, mutant_name: str | None, tests: Iterable[str]) -> int:
    """Run the tests of a mutant, of those that were collected; 0 if none fails, 5 if there is none."""
    if mutant_name is None:  # pytest finds no test by a name with a backslash in it
        return whole_run(self, mutant_name=None, tests=[test for test in tests if "\\" not in test])
    own = f"tests/test_{mutant_name.rpartition('.')[0].rpartition('.')[2]}.py"
    session = kept["session"]
    kept["failed"] = FAILED / mutant_name.rpartition("__mutmut_")[0]
    try:
        failed = Counter(kept["failed"].read_text(encoding="utf-8").splitlines() if kept["failed"].exists() else [])
        some = [test for test in tests if test in kept["items"] and "__mutmut_" not in test]
        some.sort(key=lambda test: (-failed[test], not test.startswith(own)))
        session.items = [kept["items"][test] for test in some]
        with change_cwd("mutants"):
            session.config.hook.pytest_runtestloop(session=session)
    except BaseException:  # no test has failed, so that nothing was noticed
        (FAILED / "errors").write_text(f"{mutant_name}\n{traceback.format_exc()}", encoding="utf-8")
        return 35
    return 0 if session.items else 5


def place(name: str) -> tuple[int, float]:
    """When the turn of a mutant is: after those of modules with quicker tests, and of functions with quicker ones."""
    return ORDER.index(name.rpartition(".")[0].rpartition(".")[2]), time_of(name)


PytestRunner.run_tests, ForkRunner.startup, mutmut.estimated_worst_case_time = run_tests, collect, place
if __name__ == "__main__":
    mutmut.cli()
