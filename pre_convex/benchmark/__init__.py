"""The solver benchmark: problems with known answers, a process for every solve, and certificates as judges."""

from .case import Case, Truth
from .cbf import export_cbf, write_cbf
from .comparison import Comparison, compare
from .contenders import Answer
from .exchange import checksum, read_case, read_set, write_case, write_set
from .metrics import METRICS, Metric, Verdict, judge
from .records import Row, Run, read_run
from .report import write_report
from .runner import run
from .sets import DEFAULT_SETS, SETS, TestSet, load_set

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
