"""The solver benchmark: problems with known answers, one process per solve, answers judged by certificates.

Reports and comparisons are imported on first use, because worker processes do not need them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .case_files import checksum, read_case, read_set, write_case, write_set
from .cases import Case, Truth
from .cbf import export_cbf, write_cbf
from .contenders import Answer
from .metrics import METRICS, Metric, Verdict, judge
from .records import Row, Run, read_run
from .runner import run
from .sets import DEFAULT_SETS, SETS, TestSet, load_set

if TYPE_CHECKING:
    from .comparison import Comparison, compare
    from .report import write_report

_LAZY = {"Comparison": "comparison", "compare": "comparison", "write_report": "report"}

__all__ = [
    "DEFAULT_SETS",
    "METRICS",
    "SETS",
    "Answer",
    "Case",
    "Comparison",
    "Metric",
    "Row",
    "Run",
    "TestSet",
    "Truth",
    "Verdict",
    "checksum",
    "compare",
    "export_cbf",
    "judge",
    "load_set",
    "read_case",
    "read_run",
    "read_set",
    "run",
    "write_case",
    "write_cbf",
    "write_report",
    "write_set",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
