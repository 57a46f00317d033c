"""Documents: numbers are readable, and cells cannot break out of their table or page."""

import numpy as np
import pytest
from pre_convex_lab.solvers.document import (
    Section,
    Table,
    as_html,
    as_markdown,
    format_number,
    format_percent,
    format_tol,
    plain_table,
)


def test_markup_in_cells_is_escaped():
    table = Table("a `b` <c>", ("x|y", "z"), (("p|q*r*", "<i>"),), 1, frozenset({(0, 1)}))
    sections = [Section("<t>", (table, "text with `code` & <b>"))]
    markdown = as_markdown("t", sections)
    assert r"| p\|q\*r\* | **\<i\>** |" in markdown
    for part in (r"## \<t\>", r"**a `b` \<c\>**", r"| x\|y | z |", r"text with `code` \& \<b\>"):
        assert part in markdown
    text = as_html("t", sections)
    assert "<strong>&lt;i&gt;</strong>" in text
    assert "<code>code</code> &amp; &lt;b&gt;" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1.00"), (9.999, "10.0"), (99.96, "100"), (-2.5, "-2.50"), (1e-4, "1.0e-04"), (2e7, "2.0e+07")],
)
def test_numbers(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(("tol", "text"), [(1e-4, "1e-4"), (3.5e-9, "3.5e-9"), (0.5, "5e-1"), (1e-12, "1e-12")])
def test_tolerances(tol, text):
    assert format_tol(tol) == text


def test_shares_are_never_rounded_to_all_or_nothing():
    shares = (0.0, 1e-9, 0.123, 1 - 1e-9, 1.0, np.nan)
    assert [format_percent(x) for x in shares] == ["0 %", "0.1 %", "12 %", "99.9 %", "100 %", "–"]


def test_plain_tables_fit_the_terminal():
    lines = plain_table(Table("c", ("name", "figure"), (("x" * 90, "1"), ("y", "22"))), 80)
    assert all(len(line) <= 80 for line in lines)
