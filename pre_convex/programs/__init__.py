"""The programs [P], [D] and [LOGIT] in cvxpy, each with the map from its variables and multipliers to (δ, μ)."""

from .dual import dual_program
from .logistic import logistic_dual_program, logistic_primal_program
from .primal import primal_program
from .program import Program

__all__ = ["Program", "dual_program", "logistic_dual_program", "logistic_primal_program", "primal_program"]
