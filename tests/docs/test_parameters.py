"""Every parameter of the public API is documented: type, default, and meaning in a sentence."""

import inspect
import re

from contract.complete import MADE_HERE, entry_points

HEAD = re.compile(r"(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*) : (?P<type>.+)")


def documented(docstring):
    """Header and description of each parameter in a numpydoc section ``Parameters``."""
    found = {}
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}\n|\Z)", docstring, re.M | re.S)
    names = []
    for line in section[1].splitlines() if section else []:
        head = HEAD.fullmatch(line)
        if head:
            names = [name.lstrip("*") for name in head["names"].split(", ")]
            found.update({name: [head["type"], ""] for name in names})
        elif names:
            for name in names:
                found[name][1] += f" {line.strip()}"
    return found


def own_parameters(function):
    """Parameters that a caller passes."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self" and parameter.kind is not parameter.VAR_KEYWORD:
            yield parameter


def docstring(function):
    """The docstring, and for a class that inherits its parameters that of the class it refers to."""
    text = inspect.getdoc(function) or ""
    if isinstance(function, type):
        home = next(base for base in function.__mro__ if "__init__" in vars(base))
        if home is not function and home.__name__ in text:
            return inspect.getdoc(home)
    return text


def undocumented(name, function):
    """What the docstring of an entry point lacks."""
    found = documented(docstring(function))
    for parameter in own_parameters(function):
        kind, words = found.get(parameter.name, ("", ""))
        if not kind:
            yield f"{name}({parameter.name}): not documented"
        elif len(words.split()) < 3:
            yield f"{name}({parameter.name}): no sentence"
        elif parameter.default is not parameter.empty and not re.search(r"\b(default|optional)\b", kind):
            yield f"{name}({parameter.name}): default not documented"


def test_every_parameter_is_documented():
    missing = [line for pair in entry_points() if pair[0] not in MADE_HERE for line in undocumented(*pair)]
    assert not missing, "\n".join(missing)
