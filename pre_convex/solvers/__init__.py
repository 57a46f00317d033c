"""One front door: solve a problem with any engine, and certify the answer whoever found it."""

from .certify import certify
from .path import radius_path
from .registry import CONE_SOLVERS, ConeSolver, installed_solvers
from .solve import solve

__all__ = ["CONE_SOLVERS", "ConeSolver", "certify", "installed_solvers", "radius_path", "solve"]
