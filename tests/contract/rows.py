"""A promise about bad input, and one about unusual input that is good."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pre_convex import DataError


class OwnError(Exception):
    """What a function of the user raises; it comes through as it is, with its own traceback."""


@dataclass(frozen=True)
class Row:
    """``entry`` called with a bad ``argument`` raises ``error``, which says ``says``; … stands for any words."""

    entry: str
    argument: str
    kind: str
    call: Callable[[], Any]
    says: str
    error: type[BaseException] = DataError

    @property
    def name(self) -> str:
        """What a test of this row is called."""
        return f"{self.entry}({self.argument}): {self.kind}"


@dataclass(frozen=True)
class Taken:
    """``call`` gives the same numbers for ``unusual`` as for ``plain``: an input that is unusual and good."""

    entry: str
    argument: str
    kind: str
    call: Callable[[Any], Any]
    unusual: Callable[[], Any]
    plain: Callable[[], Any]

    name = Row.name


@dataclass(frozen=True)
class Known:
    """``call`` gives ``answer``: an input at the edge of what makes sense, and what is known about it."""

    entry: str
    argument: str
    kind: str
    call: Callable[[], Any]
    answer: Any
    says: str = ""

    name = Row.name


def matches(says: str, message: str) -> bool:
    """Whether the whole message is as promised."""
    return re.fullmatch(".*".join(re.escape(part) for part in says.split("…")), message, re.S) is not None
