r"""Escape the user's text, such as names of columns and files, for terminal, HTML, Markdown, CSV or LaTeX.

Examples
--------
>>> for_terminal("\x1b[31mred"), for_markdown("<b>|_x_"), for_csv("=1+2"), for_latex("[10, 20)")
('\\x1b[31mred', '\\<b\\>\\|\\_x\\_', "'=1+2", '{[}10, 20)')
"""

from __future__ import annotations

import html
import re

__all__ = ["for_csv", "for_html", "for_latex", "for_markdown", "for_terminal"]

#: invisible characters that are part of words in some scripts
JOINERS = "\u200c\u200d"
#: a cell that starts like this may be read as a formula by a spreadsheet, blanks before it ignored
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
#: markup, except for the brackets of a tag such as [P], which the site links
MARKDOWN = re.compile(r"([\\`*_<>|&$]|\](?=[(\[]))")
LATEX = {
    **{c: f"\\{c}" for c in "&%_#${}"},
    **{c: f"{{{c}}}" for c in "[]"},  # at the start of a row they would be an argument of the line break before
    **{c: f"${c}$" for c in "<>|"},
    **{"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}", "*": r"$\cdot$"},
}


def for_terminal(text: str) -> str:
    r"""One line without control characters: they show as Python escapes, such as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text)


def for_html(text: str) -> str:
    """Text of an HTML element or attribute."""
    return html.escape(for_terminal(text))


def for_markdown(text: str) -> str:
    """Text of a paragraph or table cell, without markup or HTML, on one line."""
    return MARKDOWN.sub(r"\\\1", for_terminal(re.sub(r"\s+", " ", text)))


def for_csv(text: str) -> str:
    """A cell of text; an apostrophe goes before what a spreadsheet would take for a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def for_latex(text: str) -> str:
    """Text of LaTeX's text mode, on one line."""
    return "".join(LATEX.get(c, c) for c in for_terminal(text))
