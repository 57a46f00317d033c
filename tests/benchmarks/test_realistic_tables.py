"""Tables as users have them: nearly all are settled, and the advice of errors is followed."""

import csv
from pathlib import Path

import numpy as np
import pytest
import realistic_tables
from quotes import quoted

import pre_convex as pre

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("first", [0, 5000])
def test_nearly_all_tables_are_settled(first):
    unsettled = []
    for number in range(first, first + 60):
        solution = pre.solve(realistic_tables.table(number), check=False)
        if not (solution.ok or solution.status in (pre.Status.BOUNDARY, pre.Status.INFEASIBLE)):
            unsettled.append(number)
    assert len(unsettled) <= 2, unsettled


def test_a_table_is_always_the_same():
    one, other = realistic_tables.table(7), realistic_tables.table(7)
    assert np.array_equal(one.features_q, other.features_q)
    assert (one.radius, one.norm) == (other.radius, other.norm)


def test_the_page_shows_the_stored_results():
    with (ROOT / "benchmarks" / "results" / "tables.csv").open(newline="") as file:
        assert quoted(ROOT / "docs" / "robustness.md", "tables") == realistic_tables.lines(list(csv.DictReader(file)))
