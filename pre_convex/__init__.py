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
    "UnfittedError": "estimators",
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


if TYPE_CHECKING:  # repeated names: type checkers of users see them as exported
    from .classifier import RatioClassifier as RatioClassifier
    from .diagnostics import diagnose as diagnose
    from .errors import BoundaryError as BoundaryError
    from .errors import DataError as DataError
    from .errors import InfeasibleError as InfeasibleError
    from .errors import MissingExtraError as MissingExtraError
    from .errors import PreConvexError as PreConvexError
    from .errors import SolveError as SolveError
    from .errors import UnknownSolverError as UnknownSolverError
    from .estimators import KLIEP as KLIEP
    from .estimators import PluginRatio as PluginRatio
    from .estimators import PosteriorRatio as PosteriorRatio
    from .estimators import UnfittedError as UnfittedError
    from .feasibility import Hull as Hull
    from .feasibility import Position as Position
    from .feasibility import minimal_radius as minimal_radius
    from .features import Autocorrelation as Autocorrelation
    from .features import Concatenation as Concatenation
    from .features import LagProducts as LagProducts
    from .features import Linear as Linear
    from .features import Polynomial as Polynomial
    from .inference import Inference as Inference
    from .kernels import Kernel as Kernel
    from .likelihoods import ClassProbability as ClassProbability
    from .likelihoods import Gaussian as Gaussian
    from .problem import RatioProblem as RatioProblem
    from .programs import Program as Program
    from .programs import dual_program as dual_program
    from .programs import primal_program as primal_program
    from .solution import Certificate as Certificate
    from .solution import Solution as Solution
    from .solution import Status as Status
    from .solvers import Solutions as Solutions
    from .solvers import certify as certify
    from .solvers import installed_solvers as installed_solvers
    from .solvers import radius_path as radius_path
    from .solvers import solve as solve
    from .solvers import solve_many as solve_many
    from .storage import load as load
    from .storage import save as save
    from .theory import conditions as conditions
