"""Settings of a run: validation, a record of the environment, and how two records differ."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

import pre_convex
from pre_convex._internal.validation import duplicate
from pre_convex._internal.versions import installed_versions, processor_name
from pre_convex.errors import DataError

from .case_files import checksum, read_set
from .records import one_line
from .sets import TestSet, load_set

__all__ = ["available_cores", "check_positive", "differences", "environment", "find_sets", "sort_tolerances"]

PACKAGES = ("pre_convex", "numpy", "scipy", "cvxpy", "clarabel", "ecos", "scs", "moreau", "mosek")
#: folders with code that finds or judges answers; the sets have their own checksums
CODE = {
    Path(pre_convex.__file__).parent: (
        *("*.py", "_internal/*.py", "data/*.py", "penalties/*.py", "programs/*.py", "feasibility/*.py"),
        *("certificate/*.py", "solvers/*.py"),
    ),
    Path(__file__).parent: ("contenders.py", "metrics.py", "attempt.py"),
}
#: limit on the differences that a message lists, and on the names in each
MAX_LISTED = 4


def find_sets(sets: str | Path | TestSet | Sequence[str | Path | TestSet]) -> list[TestSet]:
    """Load one or more sets, given by name, by folder or as they are; names of sets and cases must be unique."""
    if isinstance(sets, str | Path | TestSet):
        sets = (sets,)
    loaded = [_find_set(given) for given in sets]
    if not loaded:
        raise DataError("sets", "the list is empty", "name at least one set")
    _check_names("set", [test_set.name for test_set in loaded])
    for test_set in loaded:
        _check_names(f"case of {test_set.name}", [case.name for case in test_set.cases])
    return loaded


def _find_set(given: str | Path | TestSet) -> TestSet:
    if isinstance(given, TestSet):
        return given
    if isinstance(given, Path) or os.sep in given:
        return read_set(given)
    return load_set(given)


def _check_names(kind: str, names: Sequence[str]) -> None:
    """Raise unless names are unique and fit a line of the table."""
    twice = duplicate(names)
    if twice is not None:
        raise DataError("sets", f"duplicate {kind} {twice!r}", "rename one of them")
    for name in names:
        if name != one_line(name) or not name:
            raise DataError("sets", f"{kind} {name!r}: the name is empty, too long or has line breaks", "rename it")


def sort_tolerances(tols: Sequence[float]) -> tuple[float, ...]:
    """Tolerances from loose to tight, without duplicates."""
    numbers = sorted({check_positive("tols", tol) for tol in ([tols] if isinstance(tols, int | float) else tols)})
    if not numbers:
        raise DataError("tols", "the list is empty", "pass at least one number between 0 and 1")
    if numbers[-1] >= 1.0:
        raise DataError("tols", f"{numbers[-1]!r} is not below 1", "pass numbers between 0 and 1")
    return tuple(reversed(numbers))


def check_positive(name: str, value: Any) -> float:
    """A positive finite number; raises DataError otherwise."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DataError(name, f"{value!r} is not a number", "pass a positive number") from None
    if not (isfinite(number) and number > 0.0):
        raise DataError(name, f"{value!r} is not positive and finite", "pass a positive number")
    return number


def environment(contenders: Iterable[str]) -> dict[str, Any]:
    """Versions, checksums of the code that solves and judges, and the processor; no host or folder names."""
    return {
        "versions": installed_versions(PACKAGES),
        "code": _checksum(
            path for folder, names in CODE.items() for name in names for path in sorted(folder.glob(name))
        ),
        "functions": {name: _source_checksum(name) for name in contenders if ":" in name},
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": processor_name(),
        "cores": available_cores(),
    }


def set_record(test_set: TestSet) -> dict[str, Any]:
    """What ``run.json`` stores about a set."""
    names = [case.name for case in test_set.cases]
    return {
        "name": test_set.name,
        "title": test_set.title,
        "version": test_set.version,
        "checksum": checksum(test_set),
        "cases": len(names),
        "names": names,
    }


def available_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _source_checksum(contender: str) -> str:
    """Checksum of the file that defines a function."""
    path = getattr(sys.modules.get(contender.partition(":")[0]), "__file__", None)
    return _checksum([Path(path)]) if path and Path(path).is_file() else ""


def _checksum(paths: Iterable[Path]) -> str:
    """First 16 digits of the SHA-256 of files."""
    digest = sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """How the settings and environment of a stored run differ from those of a new one, in one line; "" if equal.

    Examples
    --------
    >>> old = {"tolerances": [1e-4, 1e-6], "jobs": 2, "versions": {"numpy": "1.0"}}
    >>> differences(old, {"tolerances": [1e-4, 1e-8], "jobs": 2, "versions": {"numpy": "2.0"}})
    'tolerances: 1e-06 removed, 1e-08 added; versions of numpy: 1.0 stored, 2.0 now'
    """
    names = dict.fromkeys([*new, *old])
    return "; ".join(_shorten([part for name in names for part in _differences(name, old.get(name), new.get(name))]))


def _differences(name: str, old: Any, new: Any) -> Iterator[str]:
    """How one entry differs."""
    if old == new:
        return
    if name == "code":
        yield "code: the package has changed"
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*new, *old]):
            if name == "functions":
                if key in old and key in new and old[key] != new[key]:
                    yield f"functions: the file of {key} has changed"
            else:
                yield from _differences(f"{name} of {key}", old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list):
        yield f"{name}: {_list_differences(old, new)}"
    else:
        yield one_line(f"{name}: {old} stored, {new} now")


def _list_differences(old: list[Any], new: list[Any]) -> str:
    """Members that were removed, added or changed, by their names."""
    before, now = ({_member_name(member): member for member in members} for members in (old, new))
    changes = {
        "removed": [name for name in before if name not in now],
        "added": [name for name in now if name not in before],
        "changed": [name for name in now if name in before and before[name] != now[name]],
    }
    return ", ".join(f"{', '.join(_shorten(names))} {verb}" for verb, names in changes.items() if names) or "reordered"


def _member_name(member: Any) -> str:
    if isinstance(member, dict):
        return str(member.get("name"))
    return " ".join(map(str, member)) if isinstance(member, list) else str(member)


def _shorten(words: list[str]) -> list[str]:
    """The first few words, and how many more there are."""
    return words if len(words) <= MAX_LISTED else [*words[:MAX_LISTED], f"{len(words) - MAX_LISTED} more"]
