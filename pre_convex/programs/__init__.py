"""The programs [P] and [D] in cvxpy, each with the map from its variables and multipliers to (δ, μ)."""

from .dual import dual_program
from .primal import primal_program
from .program import Program

__all__ = ["Program", "dual_program", "primal_program"]
