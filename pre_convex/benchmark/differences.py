"""In what the facts of two runs differ, in words that fit a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .records import one_line

__all__ = ["differences"]

#: differences that are told, and names in each
FEW = 4


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """What the facts of a run in a folder have and those of a new one have not, or otherwise; nothing if they agree.

    Examples
    --------
    >>> there = {"tolerances": [1e-4, 1e-6], "jobs": 2, "versions": {"numpy": "1.0"}}
    >>> differences(there, {"tolerances": [1e-4, 1e-8], "jobs": 2, "versions": {"numpy": "2.0"}})
    'tolerances: without 1e-06, with 1e-08; versions of numpy: 1.0 there, 2.0 now'
    """
    names = dict.fromkeys([*here, *there])
    parts = [part for name in names for part in _parts(name, there.get(name), here.get(name))]
    return "; ".join(_few(parts))


def _parts(name: str, there: Any, here: Any) -> Iterator[str]:
    """Where two facts differ."""
    if there == here:
        return
    if name == "code":
        yield "code: the package's own has changed"
    elif isinstance(there, dict) and isinstance(here, dict):
        for key in dict.fromkeys([*here, *there]):
            if name == "functions":
                if key in there and key in here and there[key] != here[key]:
                    yield f"functions: the file of {key} has changed"
            else:
                yield from _parts(f"{name} of {key}", there.get(key), here.get(key))
    elif isinstance(there, list) and isinstance(here, list):
        yield f"{name}: {_members(there, here)}"
    else:
        yield one_line(f"{name}: {_value(there)} there, {_value(here)} now")


def _members(there: list[Any], here: list[Any]) -> str:
    """What is in one list alone; members of the same name may have changed."""
    before, now = ({_name(one): one for one in many} for many in (there, here))
    said = [
        f"{word} {', '.join(_few(names))}"
        for word, names in (
            ("without", [name for name in before if name not in now]),
            ("with", [name for name in now if name not in before]),
            ("other data in", [name for name in now if name in before and before[name] != now[name]]),
        )
        if names
    ]
    return ", ".join(said) or "in another order"


def _few(words: list[str]) -> list[str]:
    """The first words, and how many are left."""
    return words if len(words) <= FEW else [*words[:FEW], f"{len(words) - FEW} more"]


def _name(member: Any) -> str:
    """What a member of a list is called."""
    if isinstance(member, dict):
        return str(member.get("name"))
    return " ".join(map(str, member)) if isinstance(member, list) else str(member)


def _value(value: Any) -> str:
    """A fact, or that there is none."""
    return "none" if value is None else str(value)
