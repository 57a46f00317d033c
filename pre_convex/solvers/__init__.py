"""solve() and its engines: Newton and cone solvers, many problems at once, paths, comparisons."""

from ..certificate.certificate import certify
from .compare import Comparison, ComparisonRow, compare
from .many import solve_many
from .path import radius_path
from .registry import CONE_SOLVERS, ConeCall, ConeSolver, find_solver, installed_solvers
from .settings import Settings
from .solutions import Solutions
from .solve import solve

__all__ = [
    "CONE_SOLVERS",
    "Comparison",
    "ComparisonRow",
    "ConeCall",
    "ConeSolver",
    "Settings",
    "Solutions",
    "certify",
    "compare",
    "find_solver",
    "installed_solvers",
    "radius_path",
    "solve",
    "solve_many",
]
