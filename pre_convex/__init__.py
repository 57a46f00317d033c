"""Posterior ratio estimation and KLIEP as convex programs, with a certificate for every answer.

Names are loaded when first used, so that ``import pre_convex`` is quick and the Newton engine never waits for
cvxpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Autocorrelation": "features",
    "BoundaryError": "errors",
    "Certificate": "solution",
    "ClassProbability": "likelihoods",
    "Concatenation": "features",
    "DataError": "errors",
    "Gaussian": "likelihoods",
    "Hull": "feasibility",
    "Inference": "inference",
    "InfeasibleError": "errors",
    "KLIEP": "estimators",
    "Kernel": "kernels",
    "LagProducts": "features",
    "Linear": "features",
    "MissingExtraError": "errors",
    "PluginRatio": "estimators",
    "Polynomial": "features",
    "Position": "feasibility",
    "PosteriorRatio": "estimators",
    "PreConvexError": "errors",
    "Program": "programs",
    "RatioClassifier": "classifier",
    "RatioProblem": "problem",
    "Solution": "solution",
    "Solutions": "solvers",
    "SolveError": "errors",
    "Status": "solution",
    "UnknownSolverError": "errors",
    "certify": "solvers",
    "conditions": "theory",
    "diagnose": "diagnostics",
    "dual_program": "programs",
    "installed_solvers": "solvers",
    "load": "storage",
    "minimal_radius": "feasibility",
    "primal_program": "programs",
    "radius_path": "solvers",
    "save": "storage",
    "solve": "solvers",
    "solve_many": "solvers",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


if TYPE_CHECKING:
    from .classifier import RatioClassifier
    from .diagnostics import diagnose
    from .errors import (
        BoundaryError,
        DataError,
        InfeasibleError,
        MissingExtraError,
        PreConvexError,
        SolveError,
        UnknownSolverError,
    )
    from .estimators import KLIEP, PluginRatio, PosteriorRatio
    from .feasibility import Hull, Position, minimal_radius
    from .features import Autocorrelation, Concatenation, LagProducts, Linear, Polynomial
    from .inference import Inference
    from .kernels import Kernel
    from .likelihoods import ClassProbability, Gaussian
    from .problem import RatioProblem
    from .programs import Program, dual_program, primal_program
    from .solution import Certificate, Solution, Status
    from .solvers import Solutions, certify, installed_solvers, radius_path, solve, solve_many
    from .storage import load, save
    from .theory import conditions
