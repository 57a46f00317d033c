"""mutmut, with the tests collected once for all mutants: collecting them takes longer than most mutants live.

A mutant is a copy of this process, in which its tests run: first those of its own module's file, quick ones first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.config import _prepareconfig
from mutmut.__main__ import cli
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.runners.harness import PytestRunner, change_cwd
from mutmut.workers.isolation import ForkRunner

if not hasattr(pytest.Item, "_nodeid"):  # mutmut 3.8 reads an attribute of a test that pytest 9.2 no longer has
    pytest.Item._nodeid = property(lambda item: item.nodeid)

kept: dict[str, Any] = {}
whole_run, startup = PytestRunner.run_tests, ForkRunner.startup


def collect(self: ForkRunner) -> None:
    """Collect the tests, with no mutant in place."""
    set_mutant_under_test("")
    runner: Any = self.test_runner
    options = ["--rootdir=.", "-x", "-q", "-s", *runner._pytest_add_cli_args_test_selection]
    with change_cwd("mutants"):
        config = _prepareconfig([*options, *runner._pytest_add_cli_args])
        config._do_configure()
        config.pluginmanager.unregister(name="terminalreporter")
        session = pytest.Session.from_config(config)
        config.hook.pytest_sessionstart(session=session)
        config.hook.pytest_collection(session=session)
    kept.update(session=session, items={item.nodeid: item for item in session.items})
    startup(self)


def run_tests(self: PytestRunner, *, mutant_name: str | None, tests: Iterable[str]) -> int:
    """Run the tests of a mutant, of those that were collected; 1 if one fails, 0 if none does, 5 if there is none."""
    if mutant_name is None or not kept:
        return whole_run(self, mutant_name=mutant_name, tests=tests)
    own = f"tests/test_{mutant_name.rpartition('.')[0].rpartition('.')[2]}.py"
    session = kept["session"]
    session.items = [kept["items"][test] for test in sorted(tests, key=lambda test: not test.startswith(own))]
    with change_cwd("mutants"):
        try:
            session.config.hook.pytest_runtestloop(session=session)
        except session.Failed:
            return 1
    return 1 if session.testsfailed else 0 if session.items else 5


PytestRunner.run_tests, ForkRunner.startup = run_tests, collect
if __name__ == "__main__":
    cli()
