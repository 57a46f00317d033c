"""Convert a lesson's script to a Jupyter notebook, and strip the solutions of its exercises.

A lesson is Python with text in reStructuredText: its docstring, and comments after ``# %%``. Only the markup that
lessons use is supported. sphinx-gallery, which renders the lessons for the site, has a converter too; it would add 26
packages to ``pre-convex teach``, and leaves 39 cross-references in the lessons unconverted.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass

from .catalogue import Lesson, lessons

__all__ = ["to_markdown", "to_notebook", "to_script"]

HEADINGS = {"=": "#", "-": "##", "^": "###"}
UNDERLINE = re.compile(r"={3,}|-{3,}|\^{3,}")
DIRECTIVE = re.compile(r"\.\. (math|note)::")
EXERCISE = re.compile(r"\*\*Exercise \d+\.\*\*")
INLINE = re.compile(
    r"``(?P<code>.+?)``"
    r"|:math:`(?P<math>[^`]+)`"
    r"|:\w+:`(?P<text>[^`<]+?)\s*<[^`>]+>`"
    r"|:\w+:`(?P<stem>[^`]+)`",
    re.S,
)
PLACEHOLDERS = "*Your answer here.*", "# your code here"


@dataclass(frozen=True)
class _Cell:
    """A text or code cell of a lesson."""

    text: bool
    content: str


def to_notebook(lesson: Lesson, *, solutions: bool = True) -> str:
    """The lesson as a Jupyter notebook in format 4.5.

    Parameters
    ----------
    lesson : Lesson
        The lesson to convert.
    solutions : bool, default True
        Whether to include the solutions of the exercises; placeholders take their place otherwise.

    Returns
    -------
    str
        The notebook as JSON.

    Examples
    --------
    >>> from pre_convex.teaching.catalogue import find_lesson
    >>> json.loads(to_notebook(find_lesson("1")))["cells"][0]["source"]
    '# 01 From two samples to a ratio: KLIEP...'
    """
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "id": f"cell-{i}", "metadata": {}, "source": to_markdown(cell.content)}
        if cell.text
        else {
            "cell_type": "code",
            "id": f"cell-{i}",
            "metadata": {},
            "source": cell.content,
            "outputs": [],
            "execution_count": None,
        }
        for i, cell in enumerate(_cells(lesson.source, solutions))
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def to_script(lesson: Lesson, *, solutions: bool = True) -> str:
    """The lesson as a script, unchanged, or with placeholders instead of the solutions.

    Parameters
    ----------
    lesson : Lesson
        The lesson to convert.
    solutions : bool, default True
        Whether to include the solutions of the exercises.
    """
    if solutions:
        return lesson.source
    first, *others = _cells(lesson.source, solutions)
    parts = [f'r"""\n{first.content}\n"""\n']
    after_text = True  # code that follows text belongs to its cell
    for cell in others:
        if cell.text:
            comments = (f"# {line}".rstrip() for line in cell.content.splitlines())
            parts.append("\n# %%\n" + "\n".join(comments) + "\n")
        else:
            parts.append(("\n" if after_text else "\n# %%\n") + cell.content + "\n")
        after_text = cell.text
    return "".join(parts)


def _cells(source: str, solutions: bool) -> list[_Cell]:
    """Text and code cells of a script, starting with its docstring."""
    tree = ast.parse(source)
    docstring = ast.get_docstring(tree)
    assert docstring is not None  # every lesson has one; a test checks it
    rest = "\n".join(source.splitlines()[tree.body[0].end_lineno :])
    cells = [_Cell(True, docstring.strip())]
    for i, part in enumerate(re.split(r"^# %%.*\n?", rest, flags=re.M)):
        lines = part.strip("\n").splitlines()
        code = next((j for j, line in enumerate(lines) if i == 0 or not line.startswith("#")), len(lines))
        text = [line.removeprefix("#").removeprefix(" ") for line in lines[:code]]
        for kind, content in ((True, text), (False, lines[code:])):
            if any(map(str.strip, content)):
                cells.append(_Cell(kind, "\n".join(content).strip("\n")))
    return cells if solutions else _without_solutions(cells)


def _without_solutions(cells: list[_Cell]) -> list[_Cell]:
    """Cells with everything from a heading "Solution" to the next exercise replaced by placeholders."""
    kept: list[_Cell] = []
    solving = False
    for cell in cells:
        if not cell.text:
            if not solving:
                kept.append(cell)
            continue
        lines: list[str] = []
        given = cell.content.splitlines()
        for line, following in zip(given, [*given[1:], ""], strict=True):
            if line.startswith("Solution") and following.startswith("^"):
                solving = True
                kept += [_Cell(True, "\n".join([*lines, PLACEHOLDERS[0]]).strip("\n")), _Cell(False, PLACEHOLDERS[1])]
                lines = []
            solving = solving and not EXERCISE.match(line)
            if not solving:
                lines.append(line)
        if "\n".join(lines).strip():
            kept.append(_Cell(True, "\n".join(lines).strip("\n")))
    return kept


def to_markdown(text: str) -> str:
    r"""Convert reStructuredText, as far as lessons use it, to Markdown.

    Examples
    --------
    >>> print(to_markdown("The sum\n-------\n\nof :math:`x_i` is ``x.sum()``, see :doc:`/equations`."))
    ## The sum
    <BLANKLINE>
    of $x_i$ is `x.sum()`, see *equations*.
    """
    lines = text.splitlines()
    done: list[str] = []
    prose: list[str] = []
    i = 0
    while i < len(lines):
        line, following = lines[i], lines[i + 1] if i + 1 < len(lines) else ""
        directive = DIRECTIVE.match(line.strip())
        if line.strip() and UNDERLINE.fullmatch(following):
            done += [*_prose(prose), f"{HEADINGS[following[0]]} {_prose([line])[0]}"]
            prose, i = [], i + 2
        elif directive:
            indent = _indent(line)
            end = i + 1
            while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
                end += 1
            body = _dedent(lines[i + 1 : end])
            shown = _formula(body) if directive[1] == "math" else _note(body)
            done += [*_prose(prose), *(" " * indent + part if part else "" for part in shown), ""]
            prose, i = [], end
        else:
            prose.append(line)
            i += 1
    return "\n".join([*done, *_prose(prose)]).strip("\n")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dedent(lines: list[str]) -> list[str]:
    width = min((_indent(line) for line in lines if line.strip()), default=0)
    return "\n".join(line[width:] for line in lines).strip("\n").splitlines()


def _formula(body: list[str]) -> list[str]:
    """Displayed formulas, separated by blank lines."""
    shown: list[str] = []
    for formula in re.split(r"\n\s*\n", "\n".join(body)):
        aligned = r"\\" in formula and r"\begin" not in formula
        shown += ["$$", *([r"\begin{aligned}", formula, r"\end{aligned}"] if aligned else [formula]), "$$", ""]
    return shown[:-1]


def _note(body: list[str]) -> list[str]:
    """A note, as a block quote."""
    return [f"> {line}".rstrip() for line in ["**Note.**", *to_markdown("\n".join(body)).splitlines()]]


def _prose(lines: list[str]) -> list[str]:
    """Paragraphs and lists, with roles and literals converted."""
    return INLINE.sub(_inline, "\n".join(lines)).split("\n") if lines else []


def _inline(found: re.Match[str]) -> str:
    part = found.groupdict()
    if part["code"]:
        return f"`{part['code']}`"
    if part["math"]:
        return f"${part['math']}$"
    if part["text"]:
        return f"*{part['text']}*"
    titles = {
        lesson.stem: f"{lesson.name:0>2} {lesson.title}" if lesson.name.isdigit() else lesson.title
        for lesson in lessons()
    }
    return f"*{titles.get(part['stem'], part['stem'].rsplit('/', 1)[-1])}*"
