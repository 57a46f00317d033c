"""Tables of the failure contract, made from the rows that the tests run."""

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
        entries.setdefault(row.entry, []).append(row.argument)
    return ", ".join(_code(f"{entry}({', '.join(names)})") for entry, names in entries.items())


def refused(rows) -> list[str]:
    """One line for each kind of input and each answer to it; ARG stands for the argument's name."""
    groups: dict[tuple[str, str, str], list] = {}
    for row in rows:
        said = row.says.replace(f"{row.argument}:", "ARG:", 1) if row.says.startswith(f"{row.argument}:") else row.says
        groups.setdefault((row.kind, row.error.__name__, said), []).append(row)
    lines = ["| input | error | message | where |", "|---|---|---|---|"]
    for (kind, error, said), found in groups.items():
        lines.append(f"| {kind} | {_code(error)} | {_code(said)} | {_places(found)} |")
    return lines


def taken(rows) -> list[str]:
    """One line for each kind of unusual input that is good."""
    groups: dict[str, list] = {}
    for row in rows:
        groups.setdefault(row.kind, []).append(row)
    return ["| input | where |", "|---|---|", *(f"| {kind} | {_places(found)} |" for kind, found in groups.items())]


class FailureRows(Directive):
    """``{failure-rows} part`` is the table of refusals, ``{failure-rows} part taken`` that of unusual good input."""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the table and let the page's own parser read it."""
        from contract.parts import PARTS

        part = PARTS[self.arguments[0]]
        lines = taken(part.TAKEN) if self.arguments[1:] == ["taken"] else refused(part.ROWS)
        holder = nodes.container(classes=["failure-rows"])
        self.state.nested_parse(StringList(lines, source=part.__name__), 0, holder)
        return [holder]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("failure-rows", FailureRows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
