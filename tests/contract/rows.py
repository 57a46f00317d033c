"""Types of rows: bad input and its error; unusual but valid input; edge cases with a known answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from traceback import clear_frames
from typing import Any

from pre_convex import DataError


class OwnError(Exception):
    """Raised by a user's function; the library must let it through unchanged."""


@dataclass(frozen=True)
class Row:
    """``entry`` called with a bad ``argument`` raises exactly ``error``, and the error names the argument.

    ``named`` is what the error names where that is not the argument itself, such as ``features(x_p)``. ``family`` is
    the family of ``kinds.py`` that the row was made from, if any.
    """

    entry: str
    argument: str
    kind: str
    call: Callable[[], Any]
    error: type[BaseException] = DataError
    named: str = ""
    family: str = ""

    @property
    def name(self) -> str:
        """The row in words; rows have different names."""
        return f"{self.entry}({self.argument}): {self.kind}"

    @cached_property
    def raised(self) -> BaseException | None:
        """The error that the call raises, or None."""
        try:
            self.call()
        except Exception as error:
            clear_frames(error.__traceback__)  # the error is kept, but not the arrays of the call
            return error
        return None


@dataclass(frozen=True)
class Taken:
    """``call`` returns the same numbers for ``unusual`` as for ``plain``: an unusual form of valid input."""

    entry: str
    argument: str
    kind: str
    call: Callable[[Any], Any]
    unusual: Callable[[], Any]
    plain: Callable[[], Any]

    name = Row.name


@dataclass(frozen=True)
class Known:
    """``call`` returns ``answer``: an edge case whose answer is known."""

    entry: str
    argument: str
    kind: str
    call: Callable[[], Any]
    answer: Any

    name = Row.name
