"""mutmut with one test collection for all mutants: collecting takes longer than most mutants run.

Every mutant is a fork of this process that runs its tests: first those that killed another mutant of the same function,
then those of its own module, fast ones first. It exits at the first failing test. Doctests run once, not in the copies
that mutmut makes of a function. Mutants run module by module, so that an interrupted run has some modules complete.
"""

from __future__ import annotations

import os
import sys
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
    """Plugin that exits at the first failing test, before pytest reports it."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Exit unless the test passed or was skipped."""
        if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
            with kept["failed"].open("a", encoding="utf-8") as file:
                file.write(f"{item.nodeid}\n")
            os._exit(1)


#: modules, those with the fastest tests first
ORDER = ("weighted_chi2", "inference", "problem", "certificate")
#: folder with the names of tests that failed, one file for each function
FAILED = Path("failed").absolute()
kept: dict[str, Any] = {}
whole_run, startup, time_of = PytestRunner.run_tests, ForkRunner.startup, mutmut.estimated_worst_case_time


def collect(self: ForkRunner) -> None:
    """Collect the tests, with no mutant active."""
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


def forget_results() -> None:
    """Clear what rows of the failure contract have cached in the parent process, without a mutant."""
    for row in getattr(sys.modules.get("contract.parts"), "ROWS", ()):
        row.__dict__.pop("raised", None)


def run_tests(self: PytestRunner, *, mutant_name: str | None, tests: Iterable[str]) -> int:
    """Run the collected tests of a mutant; 0 if none fails, 5 if there are none."""
    if mutant_name is None:  # pytest cannot select a test by a name that contains a backslash
        return whole_run(self, mutant_name=None, tests=[test for test in tests if "\\" not in test])
    own = f"test_{mutant_name.rpartition('.')[0].rpartition('.')[2]}.py"
    session = kept["session"]
    forget_results()
    kept["failed"] = FAILED / mutant_name.rpartition("__mutmut_")[0]
    try:
        failed = Counter(kept["failed"].read_text(encoding="utf-8").splitlines() if kept["failed"].exists() else [])
        some = [test for test in tests if test in kept["items"] and "__mutmut_" not in test]
        some.sort(key=lambda test: (-failed[test], own not in test))
        session.items = [kept["items"][test] for test in some]
        with change_cwd("mutants"):
            session.config.hook.pytest_runtestloop(session=session)
    except BaseException:  # no test has failed, so the mutant survived
        (FAILED / "errors").write_text(f"{mutant_name}\n{traceback.format_exc()}", encoding="utf-8")
        return 35
    return 0 if session.items else 5


def sort_key(name: str) -> tuple[int, float]:
    """Order of the mutants: modules with fast tests first, and within them functions with fast tests."""
    return ORDER.index(name.rpartition(".")[0].rpartition(".")[2]), time_of(name)


PytestRunner.run_tests, ForkRunner.startup, mutmut.estimated_worst_case_time = run_tests, collect, sort_key
if __name__ == "__main__":
    mutmut.cli()
