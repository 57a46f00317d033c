"""The lessons shipped with the package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import DataError

__all__ = ["Lesson", "find_lesson", "lessons"]

FOLDER = Path(__file__).parent / "lessons"


@dataclass(frozen=True)
class Lesson:
    """A lesson: a script with a title, explanatory text between its code, and exercises.

    Attributes
    ----------
    name : str
        Its number, or ``"errata"``.
    title : str
        Its title, without the number.
    path : Path
        The script.

    Examples
    --------
    >>> lesson = find_lesson("1")
    >>> lesson.name, lesson.title
    ('1', 'From two samples to a ratio: KLIEP')
    """

    name: str
    title: str
    path: Path

    @property
    def stem(self) -> str:
        """File name without its suffix."""
        return self.path.stem

    @property
    def source(self) -> str:
        """Source code of the script."""
        return self.path.read_text(encoding="utf-8")


@cache
def lessons() -> tuple[Lesson, ...]:
    """All lessons in order, with the errata of the paper last."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.py")))


def _read(path: Path) -> Lesson:
    title = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.strip('r"'))
    numbered = re.fullmatch(r"(\d\d) (.+)", title)
    if numbered:
        return Lesson(str(int(numbered[1])), numbered[2], path)
    return Lesson(path.stem.split("-")[0], title, path)


def find_lesson(name: str) -> Lesson:
    """Find a lesson by its number, name or file name.

    Parameters
    ----------
    name : str
        For example ``"4"``, ``"04"``, ``"dual"`` or ``"04_dual.py"``; case is ignored.

    Examples
    --------
    >>> find_lesson("04") == find_lesson("4") == find_lesson("dual") == find_lesson("04_dual.py")
    True
    """
    wanted = name.strip().lower().removesuffix(".py").removesuffix(".ipynb")
    for lesson in lessons():
        if wanted and (wanted.lstrip("0") == lesson.name or wanted in (lesson.stem, lesson.stem.partition("_")[2])):
            return lesson
    known = ", ".join(lesson.name for lesson in lessons())
    raise DataError(
        "LESSON", f"there is no lesson {name!r}", f"use one of {known}; 'pre-convex teach' lists their titles"
    )
