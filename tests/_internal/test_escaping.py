"""Escaping of names for the terminal, HTML, Markdown, CSV and LaTeX."""

import csv
import html
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pre_convex._internal.escaping import for_csv, for_html, for_latex, for_markdown, for_terminal

TEXT = st.text(max_size=30) | st.text("[]<>|\\`*_&$#{}~^%\"'=+-@ \x1b\x07\n\t\u202eaé", max_size=30)


@given(TEXT)
def test_a_terminal_gets_printable_text_on_one_line(text):
    shown = for_terminal(text)
    assert all(c.isprintable() or c in "\u200c\u200d" for c in shown)
    assert not text.isprintable() or shown == text


@pytest.mark.parametrize("bad", ["\x1b[31m", "\x9b31m", "a\nb", "\x07", "a\rb", "\u202eabc", "\u2028"])
def test_control_characters_are_made_visible(bad):
    assert "\\" in for_terminal(bad)
    assert for_terminal("größe 大 a\u200cb") == "größe 大 a\u200cb"


@given(TEXT)
def test_html_holds_no_tag_and_reads_back(text):
    assert not re.search(r"[<>\"']", for_html(text))
    assert html.unescape(for_html(text)) == for_terminal(text)


@given(TEXT)
def test_markdown_holds_no_unescaped_markup(text):
    plain = re.sub(r"\\[\\`*_\]<>|&$]", "", for_markdown(text))
    assert not set(plain) & set("\\`*_<>|&$\n")
    assert "](" not in plain
    assert "][" not in plain


@pytest.mark.parametrize("formula", ["=1+2", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1", "＝1"])
def test_a_spreadsheet_sees_no_formula(formula):
    assert for_csv(formula) == f"'{formula}"


@given(TEXT)
def test_cells_keep_their_text(text):
    file = io.StringIO()
    csv.writer(file).writerow([for_csv(text), "end"])
    (row,) = csv.reader(io.StringIO(file.getvalue(), newline=""))
    assert row[0].removeprefix("'") == text.removeprefix("'")


@given(TEXT)
def test_latex_holds_no_active_character_and_no_bracket_that_starts_a_row(text):
    shown = for_latex(text)
    assert not shown.startswith(("[", "*"))
    bare = re.sub(r"\\(textbackslash|\^|~)\{\}|\$(\\cdot|[<>|])\$|\\[&%_#${}]|\{[\[\]]\}", "", shown)
    assert not set(bare) & set("&%_#${}~^\\[]<>|*\n")
