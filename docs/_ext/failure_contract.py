"""Tables of the failure contract, made from the rows that the tests run."""

import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("\n", " ") + "`"


def _places(rows) -> str:
    entries: dict[str, list[str]] = {}
    for row in rows:
        entries.setdefault(row.entry.removeprefix("RatioProblem."), []).append(row.argument)
    return ", ".join(_code(f"{entry}({', '.join(names)})") for entry, names in entries.items())


def _said(row) -> str:
    return row.says.replace(f"{row.argument}:", "ARG:", 1) if row.says.startswith(f"{row.argument}:") else row.says


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
        rest = [row for row in rest if row not in follow[name]]


def refused(rows) -> list[str]:
    """What the arguments of each entry point are, and then the rows that do not follow from that."""
    arguments: dict[str, dict[str, list]] = {}
    for row in rows:
        arguments.setdefault(row.entry, {}).setdefault(row.argument, []).append(row)
    lines, others = ["| entry point | arguments |", "|---|---|"], []
    for entry, by_name in arguments.items():
        words = []
        for name, found in by_name.items():
            families, rest = _families(found)
            others += rest
            if families:
                words.append(f"{_code(name)}: {', '.join(families)}")
        if words:
            lines.append(f"| {_code(entry)} | {'; '.join(words)} |")
    lines = lines if len(lines) > 2 else []
    return [*lines, "", "| input | message | where |", "|---|---|---|", *_lines(others)]


def _lines(rows) -> list[str]:
    """One line for each answer and the places that give it, with the kinds of input that get it."""
    places: dict[tuple[str, str], list] = {}
    for row in rows:
        error = row.error.__name__
        said = _code(_said(row)) if error == "DataError" else f"{_code(_said(row))} ({_code(error)})"
        if error == "OwnError":
            said = "as it was raised, with a note that names the argument"
        places.setdefault((row.kind, said), []).append(row)
    answers: dict[tuple[str, str], list[str]] = {}
    for (kind, said), found in places.items():
        answers.setdefault((said, _places(found)), []).append(kind)
    return [f"| {', '.join(kinds)} | {said} | {where} |" for (said, where), kinds in answers.items()]


def kinds() -> list[str]:
    """One line for each kind of input and each answer to it that does not depend on the entry point."""
    from contract.kinds import FAMILIES

    groups: dict[tuple[str, str], list[str]] = {}
    for name, found in FAMILIES.items():
        for kind, (_, words) in found.items():
            groups.setdefault((kind, words), []).append(name)
    answers: dict[tuple[str, str], list[str]] = {}
    for (kind, words), names in groups.items():
        answers.setdefault((_code("ARG" + words), ", ".join(names)), []).append(kind)
    lines = ["| input | message | where this is needed |", "|---|---|---|"]
    return [*lines, *(f"| {', '.join(found)} | {said} | {names} |" for (said, names), found in answers.items())]


def known(rows) -> list[str]:
    """One line for each input at the edge of what makes sense."""
    lines = ["| input | answer | where |", "|---|---|---|"]
    return [*lines, *(f"| {row.kind} | {_code(row.says or str(row.answer))} | {_places([row])} |" for row in rows)]


def taken(rows) -> list[str]:
    """One line for each place where the same numbers may come in other forms."""
    forms: dict[tuple[str, ...], list] = {}
    for row in rows:
        forms.setdefault((row.entry, row.argument), []).append(row)
    groups: dict[tuple[str, ...], list] = {}
    for found in forms.values():
        groups.setdefault(tuple(row.kind for row in found), []).append(found[0])
    return [
        "| input | where |",
        "|---|---|",
        *(f"| {', '.join(k)} | {_places(found)} |" for k, found in groups.items()),
    ]


class FailureKinds(Directive):
    """``{failure-kinds}`` is the table of kinds; ``{failure-kinds} part`` that of answers at the edge."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the table and let the page's own parser read it."""
        from contract.parts import PARTS

        lines = known(PARTS[self.arguments[0]].KNOWN) if self.arguments else kinds()
        holder = nodes.container(classes=["failure-rows"])
        self.state.nested_parse(StringList(lines, source="kinds"), 0, holder)
        return [holder]


def _left(row) -> str:
    return ", ".join(map(_code, row.left)) + ", whole" if row.left else "nothing new"


def on_disk(rows) -> list[str]:
    """One line for each kind of file and each answer to it; FILE stands for its name."""
    groups: dict[tuple[str, str, str, str], list] = {}
    for row in rows:
        said = re.sub(r"\bbad(\.\w+)?\b", "FILE", row.says)
        groups.setdefault((row.kind, row.error.__name__, said, _left(row)), []).append(row)
    lines = ["| input | error | message | left on disk | where |", "|---|---|---|---|---|"]
    for (kind, error, said, left), found in groups.items():
        places = ", ".join(dict.fromkeys(_code(row.entry) for row in found))
        lines.append(f"| {kind} | {_code(error)} | {_code(said)} | {left} | {places} |")
    return lines


def refused_by_commands(rows) -> list[str]:
    """One line for each bad value of an option."""
    lines = ["| command | option | input | exit code | message | left on disk |", "|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: row.entry):
        words = (_code(row.entry), _code(row.argument), row.kind, str(row.code), _code(row.says), _left(row))
        lines.append(f"| {' | '.join(words)} |")
    return lines


def endings(rows) -> list[str]:
    """One line for each way in which a command is ended from outside."""
    lines = ["| what happens | exit code | message | left on disk |", "|---|---|---|---|"]
    for row in rows:
        kind = row.kind.replace("|", "\\|")
        lines.append(f"| {kind} | {row.code} | {_code(row.says) if row.says else 'none'} | {row.left} |")
    return lines


class FailureRows(Directive):
    """``{failure-rows} part`` is the table of refusals, ``{failure-rows} part taken`` that of unusual good input."""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the table and let the page's own parser read it."""
        from contract.parts import ON_DISK, PARTS

        name, *what = self.arguments
        part = {**PARTS, **ON_DISK}[name]
        if what == ["taken"]:
            lines = taken(part.TAKEN)
        elif what == ["endings"]:
            lines = endings(part.ENDINGS.values())
        else:
            table = {"files": on_disk, "commands": refused_by_commands}.get(name, refused)
            lines = table(part.ROWS)
        holder = nodes.container(classes=["failure-rows"])
        self.state.nested_parse(StringList(lines, source=part.__name__), 0, holder)
        return [holder]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("failure-rows", FailureRows)
    app.add_directive("failure-kinds", FailureKinds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
