"""One front door: solve a problem with any engine, and certify the answer whoever found it."""

from .certify import certify
from .many import solve_many
from .path import radius_path
from .registry import CONE_SOLVERS, ConeSolver, find_solver, installed_solvers
from .solutions import Solutions
from .solve import solve

__all__ = [
    "CONE_SOLVERS",
    "ConeSolver",
    "Solutions",
    "certify",
    "find_solver",
    "installed_solvers",
    "radius_path",
    "solve",
    "solve_many",
]
