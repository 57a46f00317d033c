"""Posterior ratio estimation and KLIEP as convex programs, with a certificate for every answer.

Names are imported on first use, so that ``import pre_convex`` is fast and the Newton solver does not import cvxpy.
"""

from __future__ import annotations

import importlib
from threading import RLock
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

#: public name: module that defines it
_HOMES = {
    "Autocorrelation": "data.features",
    "Balance": "applications.balancing",
    "BoundaryError": "errors",
    "Certificate": "certificate.certificate",
    "ClassProbability": "data.likelihoods",
    "Concatenation": "data.features",
    "DataError": "errors",
    "Gaussian": "data.likelihoods",
    "Hull": "feasibility",
    "Inference": "statistics.inference",
    "InfeasibleError": "errors",
    "KLIEP": "estimators",
    "Kernel": "data.kernels",
    "LSIF": "estimators",
    "LagProducts": "data.features",
    "Linear": "data.features",
    "LogisticProblem": "logistic",
    "LogisticRatio": "estimators",
    "MissingExtraError": "errors",
    "MixtureKLIEP": "estimators",
    "PluginRatio": "estimators",
    "Polynomial": "data.features",
    "Position": "feasibility",
    "PosteriorRatio": "estimators",
    "PreConvexError": "errors",
    "PreConvexWarning": "errors",
    "Program": "programs",
    "RatioClassifier": "estimators",
    "RatioProblem": "problem",
    "Recession": "feasibility",
    "SeparationError": "errors",
    "Settings": "solvers",
    "Solution": "solution",
    "Solutions": "solvers",
    "SolveError": "errors",
    "SpecificationTest": "statistics.specification",
    "Stage": "solution",
    "Status": "solution",
    "UnfittedError": "estimators",
    "UnknownSolverError": "errors",
    "Verification": "certificate.verify",
    "certify": "certificate.certificate",
    "compare": "solvers",
    "conditions": "statistics.theory",
    "diagnose": "statistics.diagnostics",
    "dual_program": "programs",
    "explore": "teaching",
    "installed_solvers": "solvers",
    "load": "estimators",
    "minimal_radius": "feasibility",
    "primal_program": "programs",
    "radius_path": "solvers",
    "save": "estimators",
    "solve": "solvers",
    "solve_many": "solvers",
    "specification_test": "statistics.specification",
    "verify": "certificate.verify",
}

__all__ = [*_HOMES, "__version__"]

#: two threads that import a package and one of its modules at the same time can see a half-initialised module
_import_lock = RLock()


def __getattr__(name: str) -> Any:
    if name == "plots":
        with _import_lock:
            return importlib.import_module(".plots", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _import_lock:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, "plots"})


if TYPE_CHECKING:  # the same names for type checkers, which take `X as X` as an export
    from .applications.balancing import Balance as Balance
    from .certificate.certificate import Certificate as Certificate
    from .certificate.certificate import certify as certify
    from .certificate.verify import Verification as Verification
    from .certificate.verify import verify as verify
    from .data.features import Autocorrelation as Autocorrelation
    from .data.features import Concatenation as Concatenation
    from .data.features import LagProducts as LagProducts
    from .data.features import Linear as Linear
    from .data.features import Polynomial as Polynomial
    from .data.kernels import Kernel as Kernel
    from .data.likelihoods import ClassProbability as ClassProbability
    from .data.likelihoods import Gaussian as Gaussian
    from .errors import BoundaryError as BoundaryError
    from .errors import DataError as DataError
    from .errors import InfeasibleError as InfeasibleError
    from .errors import MissingExtraError as MissingExtraError
    from .errors import PreConvexError as PreConvexError
    from .errors import PreConvexWarning as PreConvexWarning
    from .errors import SeparationError as SeparationError
    from .errors import SolveError as SolveError
    from .errors import UnknownSolverError as UnknownSolverError
    from .estimators import KLIEP as KLIEP
    from .estimators import LSIF as LSIF
    from .estimators import LogisticRatio as LogisticRatio
    from .estimators import MixtureKLIEP as MixtureKLIEP
    from .estimators import PluginRatio as PluginRatio
    from .estimators import PosteriorRatio as PosteriorRatio
    from .estimators import RatioClassifier as RatioClassifier
    from .estimators import UnfittedError as UnfittedError
    from .estimators import load as load
    from .estimators import save as save
    from .feasibility import Hull as Hull
    from .feasibility import Position as Position
    from .feasibility import Recession as Recession
    from .feasibility import minimal_radius as minimal_radius
    from .logistic import LogisticProblem as LogisticProblem
    from .problem import RatioProblem as RatioProblem
    from .programs import Program as Program
    from .programs import dual_program as dual_program
    from .programs import primal_program as primal_program
    from .solution import Solution as Solution
    from .solution import Stage as Stage
    from .solution import Status as Status
    from .solvers import Settings as Settings
    from .solvers import Solutions as Solutions
    from .solvers import compare as compare
    from .solvers import installed_solvers as installed_solvers
    from .solvers import radius_path as radius_path
    from .solvers import solve as solve
    from .solvers import solve_many as solve_many
    from .statistics.diagnostics import diagnose as diagnose
    from .statistics.inference import Inference as Inference
    from .statistics.specification import SpecificationTest as SpecificationTest
    from .statistics.specification import specification_test as specification_test
    from .statistics.theory import conditions as conditions
    from .teaching import explore as explore
