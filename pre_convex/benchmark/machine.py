"""What the numbers of a run depend on beside its settings: versions, code, processor."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..versions import processor, versions_of

__all__ = ["cores", "machine"]

PACKAGES = ("pre_convex", "numpy", "scipy", "cvxpy", "clarabel", "ecos", "scs", "mosek")
ROOT = Path(__file__).parents[1]
#: code that finds answers or judges them; the sets have checksums of their own
CODE = (
    "*.py",
    "programs/*.py",
    "solvers/*.py",
    "benchmark/contenders.py",
    "benchmark/metrics.py",
    "benchmark/attempt.py",
)


def machine(contenders: Iterable[str]) -> dict[str, Any]:
    """Versions, a checksum of the code that solves and judges, and the processor; no names of hosts or folders."""
    return {
        "versions": versions_of(PACKAGES),
        "code": _checksum(path for pattern in CODE for path in sorted(ROOT.glob(pattern))),
        "functions": {name: _source(name) for name in contenders if ":" in name},
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": processor(),
        "cores": cores(),
    }


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _source(contender: str) -> str:
    """Checksum of the file that a function comes from."""
    found = getattr(sys.modules.get(contender.partition(":")[0]), "__file__", None)
    return _checksum([Path(found)]) if found and Path(found).is_file() else ""


def _checksum(paths: Iterable[Path]) -> str:
    """First digits of the SHA-256 of files."""
    found = sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:16]
