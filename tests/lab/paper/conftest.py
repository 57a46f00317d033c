"""Quick runs of the experiments, shared by all tests of this folder."""

from functools import cache

import pytest
from pre_convex_lab.paper import Setting, perform


@pytest.fixture(scope="session")
def quick_run():
    """A function that returns outcome and record of an experiment's quick version, computed once."""

    @cache
    def run(name):
        if name == "vibration":
            pytest.importorskip("ruptures")
            pytest.importorskip("skchange")
        return perform(name, Setting(quick=True))

    return run
