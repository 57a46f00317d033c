"""Documents of sections, tables and pictures, written as Markdown, as one HTML file, or as plain text."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pre_convex._internal.escaping import for_html, for_markdown

__all__ = [
    "Part",
    "Picture",
    "Section",
    "Table",
    "as_html",
    "as_markdown",
    "format_count",
    "format_fact",
    "format_number",
    "format_percent",
    "format_tol",
    "plain_table",
]


@dataclass(frozen=True)
class Table:
    """A table of strings.

    Attributes
    ----------
    caption : str
        Text above the table.
    columns : tuple of str
        Names of the columns.
    rows : tuple of tuple of str
        Cells.
    text_columns : int, default 1
        Number of columns, from the left, that hold text; the others hold numbers and are right-aligned.
    bold : frozenset of (int, int)
        Row and column of cells in bold.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1
    bold: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Picture:
    """A figure: name of its PNG file without suffix, text alternative, caption, and the drawing as SVG and PNG."""

    name: str
    alt: str
    caption: str
    svg: bytes
    png: bytes


#: text cells longer than this are wrapped
WRAP = 28

#: a part of a section; a string is a paragraph, with code between backticks
Part = str | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading and the parts below it."""

    title: str
    parts: tuple[Part, ...]


def format_number(value: float, digits: int = 3) -> str:
    """A number for a table; a dash for nan.

    Examples
    --------
    >>> [format_number(x) for x in (0.01234, 1234.5, 3e-9, float("nan"), float("inf"))]
    ['0.0123', '1,230', '3.0e-09', '–', '∞']
    """
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0.0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.1e}"
    rounded = float(f"{value:.{digits}g}")
    places = max(digits - 1 - int(f"{rounded:e}".split("e")[1]), 0) if rounded else 0
    return f"{rounded:,.{places}f}"


def format_percent(share: float) -> str:
    """A share in per cent; 100 % and 0 % only if exact, a dash for nan.

    Examples
    --------
    >>> [format_percent(x) for x in (1.0, 0.9996, 0.5, 0.0004)]
    ['100 %', '99.9 %', '50 %', '0.1 %']
    """
    if np.isnan(share):
        return "–"
    if share in (0.0, 1.0):
        return f"{100.0 * share:.0f} %"
    value = min(max(round(100.0 * share, 1), 0.1), 99.9)
    return f"{value:.0f} %" if value == round(value) or 10.0 <= value < 99.0 else f"{value:.1f} %"


def format_tol(tol: float) -> str:
    """A tolerance in short scientific notation.

    Examples
    --------
    >>> [format_tol(tol) for tol in (1e-4, 2.5e-10)]
    ['1e-4', '2.5e-10']
    """
    digits, _, power = f"{tol:.3e}".partition("e")
    return f"{float(digits):g}e{int(power)}"


def format_count(n: int, noun: str) -> str:
    """A count with its noun.

    Examples
    --------
    >>> format_count(1, "set"), format_count(2000, "set")
    ('1 set', '2,000 sets')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"


def format_fact(value: Any) -> str:
    """An entry of ``run.json`` as text.

    Examples
    --------
    >>> format_fact([["SCS", "dual"], ["newton", "both"]]), format_fact(1e-6), format_fact(True)
    ('SCS dual; newton both', '1e-6', 'yes')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:g}" if value >= 1e-2 or value <= 0.0 else format_tol(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {format_fact(part)}" for name, part in value.items())
    if isinstance(value, Sequence):
        is_flat = all(isinstance(part, (str, int, float)) for part in value)
        return (", " if is_flat else "; ").join(
            " ".join(map(format_fact, part)) if isinstance(part, (list, tuple)) else format_fact(part) for part in value
        )
    return str(value)


def as_markdown(title: str, sections: Iterable[Section]) -> str:
    """The document as Markdown; pictures are links to their PNG files."""
    blocks = [f"# {for_markdown(title)}"]
    for section in sections:
        blocks.append(f"## {for_markdown(section.title)}")
        for part in section.parts:
            if isinstance(part, Table):
                blocks += [f"**{_markdown_inline(part.caption)}**", _markdown_table(part)]
            elif isinstance(part, Picture):
                blocks += [f"![{for_markdown(part.alt)}]({part.name}.png)", _markdown_inline(part.caption)]
            else:
                blocks.append(_markdown_inline(part))
    return "\n\n".join(blocks) + "\n"


def _markdown_table(table: Table) -> str:
    """A Markdown table."""
    lines = [
        _pipes(map(for_markdown, table.columns)),
        _pipes(["---" if i < table.text_columns else "--:" for i in range(len(table.columns))]),
    ]
    for i, row in enumerate(table.rows):
        cells = map(for_markdown, row)
        lines.append(_pipes(f"**{cell}**" if (i, j) in table.bold else cell for j, cell in enumerate(cells)))
    return "\n".join(lines)


def _pipes(cells: Iterable[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def _markdown_inline(text: str) -> str:
    """Escape a paragraph except for code between backticks."""
    parts = re.split(r"(`[^`]+`)", text)  # every second part is code
    return "".join(part if i % 2 else for_markdown(part) for i, part in enumerate(parts))


def plain_table(table: Table, width: int = 80) -> list[str]:
    """A table for a terminal, with the widest columns cut until a line fits.

    Examples
    --------
    >>> plain_table(Table("", ("name", "s"), (("a long name", "12"),)), 10)
    ['name     s', 'a lon…  12']
    """
    cells = [table.columns, *table.rows]
    sizes = [max(len(row[j]) for row in cells) for j in range(len(table.columns))]
    while sum(sizes) + 2 * (len(sizes) - 1) > width and max(sizes) > 4:
        sizes[sizes.index(max(sizes))] -= 1
    lines = []
    for row in cells:
        cut = [word if len(word) <= size else word[: size - 1] + "…" for word, size in zip(row, sizes, strict=True)]
        words = [
            w.ljust(s) if j < table.text_columns else w.rjust(s)
            for j, (w, s) in enumerate(zip(cut, sizes, strict=True))
        ]
        lines.append("  ".join(words).rstrip())
    return lines


def as_html(title: str, sections: Sequence[Section]) -> str:
    """The document as one HTML page, with style and pictures embedded."""
    names = [_anchor(section.title) for section in sections]
    contents = "".join(
        f'<li><a href="#{name}">{for_html(section.title)}</a></li>'
        for name, section in zip(names, sections, strict=True)
    )
    body = "\n".join(
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{for_html(section.title)}</h2>\n'
        + "\n".join(_html_part(part) for part in section.parts)
        + "\n</section>"
        for name, section in zip(names, sections, strict=True)
    )
    return PAGE.format(title=for_html(title), style=STYLE, contents=contents, body=body)


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _html_part(part: Part) -> str:
    """One part as HTML."""
    if isinstance(part, Table):
        return _html_table(part)
    if isinstance(part, Picture):
        data = base64.b64encode(part.svg).decode("ascii")
        return (
            f'<figure>\n<div class="box picture" role="region" tabindex="0" aria-label="{for_html(part.name)}">'
            f'<img alt="{for_html(part.alt)}" src="data:image/svg+xml;base64,{data}"></div>\n'
            f"<figcaption>{_inline(part.caption)}</figcaption>\n</figure>"
        )
    return f"<p>{_inline(part)}</p>"


def _html_table(table: Table) -> str:
    """A table in a box that scrolls; consecutive rows with the same first cell are grouped."""
    kinds = [_cell_class(table, j) for j in range(len(table.columns))]
    head = "".join(
        f'<th scope="col"{kind}>{for_html(name)}</th>' for name, kind in zip(table.columns, kinds, strict=True)
    )
    lines, first = [], ""
    for i, row in enumerate(table.rows):
        cells = []
        for j, (word, kind) in enumerate(zip(row, kinds, strict=True)):
            tag, scope = ("th", ' scope="row"') if j == 0 else ("td", "")
            inside = f"<strong>{for_html(word)}</strong>" if (i, j) in table.bold else for_html(word)
            cells.append(f"<{tag}{scope}{kind}>{inside}</{tag}>")
        lines.append(f"<tr{' class=again' if i and row[0] == first else ''}>{''.join(cells)}</tr>")
        first = row[0]
    label = for_html(table.caption.replace("`", ""))
    return (
        f'<p class="caption" aria-hidden="true">{_inline(table.caption)}</p>\n'
        f'<div class="box" role="region" tabindex="0" aria-label="{label}"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>"
    )


def _cell_class(table: Table, column: int) -> str:
    """CSS class of a column: numbers are right-aligned, long text is wrapped."""
    if column >= table.text_columns:
        return ' class="figure"'
    return ' class="long"' if max((len(row[column]) for row in table.rows), default=0) > WRAP else ""


def _inline(text: str) -> str:
    """Escape a paragraph, turn backticks into code, and keep numbers and % together."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", for_html(text)).replace(" %", "&nbsp;%")


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><h1>{title}</h1>
<nav aria-label="Contents"><ol>{contents}</ol></nav></header>
<main id="main">
{body}
</main>
</body>
</html>
"""

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #ffffff; --soft: #5a6068; --line: #d5d9de; --band: #f4f6f8;
  --link: #005b94; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6e9; --paper: #16181b; --soft: #a5acb5; --line: #3a3f46; --band: #1f2226; --link: #7cc3f2; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 68rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
p, figcaption, nav { max-width: 46rem; overflow-wrap: anywhere; }
a { color: var(--link); }
a:focus-visible, .box:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .3rem .6rem; }
nav ol { margin: 0; padding-left: 1.9rem; columns: 2 18rem; }
.box { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
.caption { color: var(--soft); font-size: .9rem; margin: 1.2rem 0 .3rem; }
.caption + .box { margin-top: 0; }
th, td { padding: .28rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  white-space: nowrap; }
td.long { white-space: normal; min-width: 14rem; overflow-wrap: anywhere; }
tbody tr.again th { color: var(--soft); font-weight: 400; }
tbody tr:has(+ .again) > * { border-bottom: 0; }
th.figure, td.figure { text-align: right; }
thead th { background: var(--band); border-bottom: 2px solid var(--line); }
tbody th { font-weight: 500; background: var(--paper); }
thead th:first-child, tbody th { position: sticky; left: 0; }
tbody tr:hover, tbody tr:hover th { background: var(--band); }
figure { margin: 1rem 0; }
.picture { background: #ffffff; border: 1px solid var(--line); border-radius: 6px; padding: .4rem; margin: 0 0 .4rem; }
.picture img { display: block; width: 100%; min-width: 44rem; height: auto; }
figcaption { color: var(--soft); font-size: .9rem; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em; background: var(--band);
  padding: 0 .2em; border-radius: 3px; }
@media print { .box { overflow: visible; } nav { display: none; } }
"""
