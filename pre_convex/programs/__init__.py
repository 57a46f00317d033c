"""The programs [P] and [D] as cvxpy problems, each with its way back to (δ, μ)."""

from .dual import dual_program
from .primal import primal_program
from .program import Program
from .step import StepProgram

__all__ = ["Program", "StepProgram", "dual_program", "primal_program"]
