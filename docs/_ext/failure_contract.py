"""Tables of the failure contract, made from the rows that the tests run: one fold for each entry point."""

import html
import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

#: a fold: what its summary says, and the lines in it
Fold = tuple[list[str], list[str]]


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("\n", " ") + "`"


def _grouped(pairs) -> dict:
    """What came with each key, in order and once."""
    found: dict = {}
    for key, value in pairs:
        found.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in found.items()}


def _table(head: str, lines: list[str]) -> list[str]:
    return ["", head, "|" + "---|" * head.count(" | ") + "---|", *lines, ""] if lines else []


def _said(row) -> str:
    return re.sub(rf"^{re.escape(row.argument)}(?=:)", "ARG", row.says)


def _families(rows) -> tuple[list[str], list]:
    """What an argument is, by the kinds of input that it refuses, and the rows that do not follow from that."""
    from contract.kinds import FAMILIES

    found, rest = [], list(rows)
    while True:
        follow = {
            name: [row for row in rest if row.kind in kinds and _said(row) == "ARG" + kinds[row.kind][1]]
            for name, kinds in FAMILIES.items()
        }
        name = max(follow, key=lambda name: len(follow[name]) / len(FAMILIES[name]))
        if len(follow[name]) < 0.6 * len(FAMILIES[name]):
            return found, rest
        found.append(name)
        followed = set(map(id, follow[name]))
        rest = [row for row in rest if id(row) not in followed]


def _forms(kinds: list[str]) -> list[str]:
    """Names of the sets of forms that are all there, and the kinds that are in none of them."""
    from contract.kinds import FORMS

    whole = [name for name, forms in FORMS.items() if set(forms) <= set(kinds)]
    return [*whole, *(kind for kind in kinds if not any(kind in FORMS[name] for name in whole))]


def _error(row) -> str:
    name = row.error.__name__
    if name == "OwnError":
        return "as it was raised, with a note that names the argument"
    return _code(_said(row)) + ("" if name == "DataError" else f" ({_code(name)})")


def _argument_lines(by_argument: dict) -> list[str]:
    return [", ".join(map(_code, names)) + f": {words}" for words, names in by_argument.items()]


def _entry(refused, taken, known) -> list[str]:
    """What an entry point takes, what it says of input for which that does not tell, and what else is good."""
    takes, rest = [], []
    for argument, rows in _grouped((row.argument, row) for row in refused).items():
        families, others = _families(rows)
        takes += [(", ".join(families), argument)] if families else []
        rest += others
    lines = ["; ".join(_argument_lines(_grouped(takes))) + "."] if takes else []
    kinds = _grouped(((_error(row), row.argument), row.kind) for row in rest)
    places = _grouped(((said, tuple(found)), argument) for (said, argument), found in kinds.items())
    body = []
    for (said, found), names in places.items():
        message = said.replace("ARG:", f"{names[0]}:", 1) if len(names) == 1 else said
        body.append(f"| {', '.join(map(_code, names))}: {', '.join(found)} | {message} |")
    lines += _table("| input | message |", body)
    forms = _grouped((row.argument, row.kind) for row in taken)
    good = _grouped((", ".join(_forms(found)), argument) for argument, found in forms.items())
    lines += ["", "Also good: " + "; ".join(_argument_lines(good)) + ".", ""] if good else []
    edge = [f"| {_code(row.argument)}: {row.kind} | {_code(row.says or str(row.answer))} |" for row in known]
    return lines + _table("| input at the edge | answer |", edge)


def entries(part) -> list[Fold]:
    """A fold for each entry point; those about which the same is said share one."""
    three = [getattr(part, name, []) for name in ("ROWS", "TAKEN", "KNOWN")]
    names = dict.fromkeys(row.entry for rows in three for row in rows)
    found = _grouped(
        (tuple(_entry(*([row for row in rows if row.entry == name] for rows in three))), name) for name in names
    )
    return [(names, list(lines)) for lines, names in found.items()]


def kinds() -> list[Fold]:
    """A fold for what an argument may be, with the messages that follow from it."""
    from contract.kinds import FAMILIES, FORMS

    folds: list[Fold] = []
    for name, found in FAMILIES.items():
        words = ((_kind_words(value, words), kind) for kind, (value, words) in found.items())
        lines = [f"| {', '.join(group)} | {_code('ARG' + said)} |" for said, group in _grouped(words).items()]
        folds.append(([name], _table("| input | message |", lines)))
    return [*folds, *(([name], [", ".join(forms) + "."]) for name, forms in FORMS.items())]


def _kind_words(value, words: str) -> str:
    """Words in which VALUE stands for the value, where they name it."""
    given = "nan|-?inf" if callable(value) else re.escape(repr(value))
    return re.sub(rf"(?<=[ :])({given})(?=[ ;])", "VALUE", words, count=1)


def _left(row) -> str:
    return f"; leaves {', '.join(map(_code, row.left))}, whole" if row.left else ""


def on_disk(part) -> list[Fold]:
    """A fold for each reader or writer; FILE stands for the file's name."""
    folds = _grouped((row.entry, row) for row in part.ROWS)
    found = []
    for entry, rows in folds.items():
        said = ((_error(row).replace("ARG:", f"{row.argument}:") + _left(row), row.kind) for row in rows)
        words = _grouped((re.sub(r"\bbad(\.\w+)?\b", "FILE", words), kind) for words, kind in said)
        lines = [f"| {', '.join(kinds)} | {words} |" for words, kinds in words.items()]
        found.append((tuple(_table("| input | message |", lines)), entry))
    return [(names, list(lines)) for lines, names in _grouped(found).items()]


def commands(part) -> list[Fold]:
    """A fold for each command, with a line for each bad value of an option."""
    folds = []
    for entry, rows in _grouped((row.entry, row) for row in part.ROWS).items():
        lines = []
        for row in rows:
            code = "" if row.code == 2 else f" (exit code {row.code})"
            lines.append(f"| {_code(row.argument)}: {row.kind} | {_code(row.says)}{code}{_left(row)} |")
        folds.append(([entry], _table("| input | message |", lines)))
    return folds


def endings(part) -> list[str]:
    """One line for each way in which a command is ended from outside."""
    rows = part.ENDINGS.values()
    lines = [
        "| {} | {} | {} | {} |".format(
            row.kind.replace("|", "\\|"), row.code, _code(row.says) if row.says else "none", row.left
        )
        for row in rows
    ]
    return _table("| what happens | exit code | message | left on disk |", lines)


class FailureRows(Directive):
    """``{failure-rows} part`` has a fold for each entry point, ``kinds`` for arguments; ``endings`` is a table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the tables and let the page's own parser read them."""
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
        """What the lines are as a part of the page."""
        made = nodes.container(classes=["failure-rows"])
        self.state.nested_parse(StringList(lines, source="failures"), 0, made)
        return made


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("failure-rows", FailureRows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
