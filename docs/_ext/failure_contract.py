"""Tables of the failure contract: the rows that the tests run, with the messages that they raise now."""

import html
import re
import sys
import warnings
from collections import Counter
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "helpers"))


class Fold(NamedTuple):
    """One fold of the page: entry points in its summary, and Markdown lines inside."""

    names: list[str]
    lines: list[str]


def _code(text: str) -> str:
    quote = "``" if "`" in text else "`"
    return quote + text.replace("|", "\\|").replace("\n", " ") + quote


def _grouped(pairs) -> dict:
    """Values by key, in order and without repetitions."""
    groups: dict = {}
    for key, value in pairs:
        groups.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in groups.items()}


def _table(head: str, lines: list[str]) -> list[str]:
    return ["", head, "|" + "---|" * head.count(" | ") + "---|", *lines, ""] if lines else []


def _text(error: BaseException) -> str:
    """The message without addresses in memory, and the type where that is not DataError."""
    name = type(error).__name__
    return _code(re.sub(r"0x[0-9a-f]{6,}", "0x…", str(error))) + ("" if name == "DataError" else f" ({_code(name)})")


class Answer(NamedTuple):
    """What a row gets: the message, and a key that is the same for rows that call for the same remedy."""

    text: str
    key: tuple[str, ...]


@cache
def _answer(row) -> Answer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = row.raised
    name = type(error).__name__
    if name == "OwnError":
        return Answer("your own error, with a note that names the argument", (name,))
    argument = getattr(error, "argument", "")
    text = re.sub(rf"^`{re.escape(row.argument)}(?=:)", "`ARG", _text(error))
    remedy = getattr(error, "remedy", "") or text
    named = "ARG" if argument == row.argument else argument
    return Answer(text, (name, named, re.sub(r"\d[\d.e+]*", "…", remedy)))


@cache
def _usual() -> dict[tuple[str, str], tuple[str, ...]]:
    """The most common answer to each kind of each family; the folds of entry points need not repeat it."""
    from contract.parts import ROWS

    keys: dict = {}
    for row in ROWS:
        if row.family:
            keys.setdefault((row.family, row.kind), Counter())[_answer(row).key] += 1
    return {kind: counter.most_common(1)[0][0] for kind, counter in keys.items()}


def _follows(row) -> bool:
    """Whether the answer to a row follows from the family of its argument."""
    return bool(row.family) and _answer(row).key == _usual()[row.family, row.kind]


def _forms(kinds: list[str]) -> list[str]:
    """Names of the sets of forms that are complete, and the kinds that are in none of them."""
    from contract.kinds import FORMS

    whole = [name for name, forms in FORMS.items() if set(forms) <= set(kinds)]
    return [*whole, *(kind for kind in kinds if not any(kind in FORMS[name] for name in whole))]


def _arguments(by_text: dict) -> str:
    return "; ".join(", ".join(map(_code, names)) + f": {text}" for text, names in by_text.items()) + "."


def _entry(refused, taken, known) -> list[str]:
    """What an entry point takes, its special messages, unusual forms that it accepts, and edge cases."""
    families = _grouped((row.argument, row.family) for row in refused if row.family)
    takes = _grouped((", ".join(names), argument) for argument, names in families.items())
    lines = [_arguments(takes)] if takes else []
    answers = _grouped(((row.argument, _answer(row).key), row) for row in refused if not _follows(row))
    places = _grouped(
        ((_answer(rows[0]).text, tuple(row.kind for row in rows)), argument) for (argument, _), rows in answers.items()
    )
    body = []
    for (text, kinds), names in places.items():
        message = text.replace("`ARG:", f"`{names[0]}:", 1) if len(names) == 1 else text
        body.append(f"| {', '.join(map(_code, names))}: {', '.join(kinds)} | {message} |")
    lines += _table("| input | message |", body)
    forms = _grouped((row.argument, row.kind) for row in taken)
    valid = _grouped((", ".join(_forms(found)), argument) for argument, found in forms.items())
    lines += ["", f"Also valid: {_arguments(valid)}", ""] if valid else []
    edge = [f"| {_code(row.argument)}: {row.kind} | {_code(str(row.answer))} |" for row in known]
    return lines + _table("| edge case | answer |", edge)


def entries(part) -> list[Fold]:
    """A fold for each entry point; entry points with the same lines share one."""
    three = [getattr(part, name, []) for name in ("ROWS", "TAKEN", "KNOWN")]
    names = dict.fromkeys(row.entry for rows in three for row in rows)
    folds = _grouped(
        (tuple(_entry(*([row for row in rows if row.entry == name] for rows in three))), name) for name in names
    )
    return [Fold(names, list(lines)) for lines, names in folds.items()]


def kinds() -> list[Fold]:
    """A fold for each family of arguments, with the usual answer to each kind of bad input."""
    from contract.kinds import FAMILIES, FORMS
    from contract.parts import ROWS

    examples: dict = {}
    for row in ROWS:
        if _follows(row):
            examples.setdefault((row.family, row.kind), _answer(row))
    folds = []
    for family, found in FAMILIES.items():
        groups = _grouped((examples[family, kind].key, kind) for kind in found)
        lines = [f"| {', '.join(group)} | {examples[family, group[0]].text} |" for group in groups.values()]
        folds.append(Fold([family], _table("| input | message |", lines)))
    return [*folds, *(Fold([name], [", ".join(forms) + "."]) for name, forms in FORMS.items())]


@cache
def _file_answer(row) -> Answer:
    with TemporaryDirectory() as name, chdir(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = row.raised(row.make(Path(name)))
    text = _text(error).replace(f"{name}/", "").replace(name, "folder")
    text = re.sub(r"\bbad(\.\w+)?\b", "FILE", text)
    return Answer(text, (type(error).__name__, row.named, error.remedy or text))


def on_disk(part) -> list[Fold]:
    """A fold for each reader or writer; FILE stands for the file's name."""
    tables = []
    for entry, rows in _grouped((row.entry, row) for row in part.ROWS).items():
        groups = _grouped((_file_answer(row).key, row) for row in rows)
        lines = [
            f"| {', '.join(row.kind for row in group)} | {_file_answer(group[0]).text} |" for group in groups.values()
        ]
        tables.append((tuple(_table("| input | message |", lines)), entry))
    return [Fold(names, list(lines)) for lines, names in _grouped(tables).items()]


@cache
def _printed(row) -> str:
    """The message of a command."""
    from contract.commands import make_files

    with TemporaryDirectory() as name, chdir(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_files(Path(name))
        _, message = row.run()
    return _code(message.replace(f"{name}/", ""))


def commands(part) -> list[Fold]:
    """A fold for each command, with a line for each bad value of an option."""
    folds = []
    for entry, rows in _grouped((row.entry, row) for row in part.ROWS).items():
        lines = [f"| {_code(row.argument)}: {row.kind} | {_printed(row)} |" for row in rows]
        folds.append(Fold([entry], _table("| input | message |", lines)))
    return folds


def endings(part) -> list[str]:
    """A table of the ways in which a command is ended from outside."""
    lines = [
        "| {} | {} | {} | {} |".format(
            row.kind.replace("|", "\\|"), row.code, _code(row.message) if row.message else "none", row.left
        )
        for row in part.ENDINGS.values()
    ]
    return _table("| what happens | exit code | message | files left |", lines)


class FailureRows(Directive):
    """``{failure-rows} part`` has a fold for each entry point, ``kinds`` for arguments; ``endings`` is a table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the tables as Markdown and let the page's own parser read them."""
        from contract.parts import ON_DISK, PARTS

        (name,) = self.arguments
        if name == "endings":
            return [self.holder(endings(ON_DISK["commands"]))]
        tables = {"files": on_disk, "commands": commands}.get(name, entries)
        folds = kinds() if name == "kinds" else tables({**PARTS, **ON_DISK}[name])
        found: list[nodes.Node] = []
        for names, lines in folds:
            tag = "strong" if name == "kinds" else "code"
            summary = ", ".join(f"<{tag}>{html.escape(each)}</{tag}>" for each in names)
            found.append(nodes.raw("", f'<details class="failures"><summary>{summary}</summary>', format="html"))
            found += [self.holder(lines), nodes.raw("", "</details>", format="html")]
        return found

    def holder(self, lines: list[str]) -> nodes.container:
        """A container with the parsed lines."""
        made = nodes.container(classes=["failure-rows"])
        self.state.nested_parse(StringList(lines, source="failures"), 0, made)
        return made


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("failure-rows", FailureRows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
