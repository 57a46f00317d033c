"""The lessons that come with the package."""

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
    """A script with a title, text between its code, and exercises.

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
        """Name of its files."""
        return self.path.stem

    @property
    def source(self) -> str:
        """The script as it stands in the package."""
        return self.path.read_text(encoding="utf-8")


@cache
def lessons() -> tuple[Lesson, ...]:
    """All lessons in their order, and the errata of the paper at the end."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.py")))


def _read(path: Path) -> Lesson:
    title = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.strip('r"'))
    numbered = re.fullmatch(r"(\d\d) (.+)", title)
    if numbered:
        return Lesson(str(int(numbered[1])), numbered[2], path)
    return Lesson(path.stem.split("-")[0], title, path)


def find_lesson(name: str) -> Lesson:
    """The lesson of that number or name, or that of a file of it.

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
    raise DataError(f"LESSON: there is no lesson {name!r}; choose one of {known}; pre-convex teach lists their titles")
