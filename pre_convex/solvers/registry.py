"""Registry of cone solvers: their tolerance options, and the scaling of the program that suits each.

A new solver is one entry in ``CONE_SOLVERS``. An installed cvxpy solver that supports exponential cones but has no
entry here runs with its own defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._internal.validation import preview
from ..errors import DataError, UnknownSolverError

__all__ = ["CONE_SOLVERS", "ConeCall", "ConeSolver", "check_options", "find_solver", "installed_solvers"]


@dataclass(frozen=True)
class ConeSolver:
    """How to call one cone solver.

    Attributes
    ----------
    name : str
        Name of the solver in cvxpy.
    options : callable, default no options
        ``options(tol)`` returns the solver's own options for a tolerance, as a dict of keyword arguments.
    iteration_option, time_option : str or None
        Names of the solver's options for the maximum number of iterations and of seconds, if it has them.
    counts : bool, default False
        Whether to pose the dual in ν = n μ, whose entries are of size one, instead of μ.
    scaled_primal, scaled_dual : bool, default True
        Whether to centre the features at b and scale their columns in the primal, and in the dual.
    note : str
        One line for ``pre-convex solvers``.

    Examples
    --------
    >>> CONE_SOLVERS["ECOS"].options(1e-6)
    {'abstol': 1e-06, 'reltol': 1e-06, 'feastol': 1e-06, 'max_iters': 200}
    """

    name: str
    options: Callable[[float], dict[str, Any]] = lambda tol: {}
    iteration_option: str | None = None
    time_option: str | None = None
    counts: bool = False
    scaled_primal: bool = True
    scaled_dual: bool = True
    note: str = "runs with its own defaults"


@dataclass(frozen=True)
class ConeCall:
    """One call of a cone solver: its entry, the formulation, the user's terms and options, and whether it prints."""

    solver: ConeSolver
    formulation: str
    penalty: Any
    constraints: Any
    options: dict[str, Any]
    verbose: bool
    weight_penalty: Any = None
    weight_constraints: Any = None


def _moreau(tol: float) -> dict[str, Any]:
    names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    return {"ipm_settings": dict.fromkeys(names, tol), "max_iter": 200}


def _mosek(tol: float) -> dict[str, Any]:
    names = ("REL_GAP", "PFEAS", "DFEAS")
    return {"mosek_params": {f"MSK_DPAR_INTPNT_CO_TOL_{name}": tol for name in names}}


CONE_SOLVERS: dict[str, ConeSolver] = {
    entry.name: entry
    for entry in (
        ConeSolver(
            "CLARABEL",
            lambda tol: {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol, "max_iter": 200},
            iteration_option="max_iter",
            time_option="time_limit",
            note="interior point, Apache-2.0",
        ),
        ConeSolver(
            "ECOS",
            lambda tol: {"abstol": tol, "reltol": tol, "feastol": tol, "max_iters": 200},
            iteration_option="max_iters",
            note="interior point, GPLv3",
        ),
        ConeSolver(
            "SCS",
            lambda tol: {"eps_abs": tol, "eps_rel": tol, "max_iters": 5_000},
            iteration_option="max_iters",
            time_option="time_limit_secs",
            counts=True,
            note="first order, MIT; slow to 1e-8",
        ),
        ConeSolver(
            "MOREAU",
            _moreau,
            iteration_option="max_iter",
            time_option="time_limit",
            scaled_dual=False,
            note="interior point, Apache-2.0; needs cvxpy 1.8",
        ),
        ConeSolver(
            "MOSEK",
            _mosek,
            note="interior point, commercial licence",
        ),
    )
}

#: wrappers of another solver, and a branch-and-bound variant
_INDIRECT = {"ECOS_BB", "DIFFCP"}


def _installed_cone_solvers() -> tuple[str, ...]:
    """Installed cvxpy solvers that support exponential cones, registered ones first."""
    from cvxpy.constraints import ExpCone
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC

    supported = [
        name
        for name, interface in SOLVER_MAP_CONIC.items()
        if name not in _INDIRECT and interface.is_installed() and ExpCone in interface.SUPPORTED_CONSTRAINTS
    ]
    return (
        *(name for name in CONE_SOLVERS if name in supported),
        *(name for name in supported if name not in CONE_SOLVERS),
    )


def installed_solvers() -> tuple[str, ...]:
    """Names of the solvers that are installed.

    Returns
    -------
    tuple of str
        ``"newton"``, then the installed cvxpy solvers that support exponential cones: values for ``solver`` of
        :func:`solve`.

    Examples
    --------
    >>> "newton" in installed_solvers(), "CLARABEL" in installed_solvers()
    (True, True)
    """
    return ("newton", *_installed_cone_solvers())


def find_solver(name: str) -> ConeSolver | None:
    """Look up an installed solver.

    Parameters
    ----------
    name : str
        Name of the solver, in upper or lower case.

    Returns
    -------
    ConeSolver or None
        The solver's entry, or ``None`` for the Newton engine (``"newton"`` or ``"auto"``).

    Raises
    ------
    UnknownSolverError
        The solver is not installed, or does not support exponential cones.

    Examples
    --------
    >>> find_solver("clarabel").name
    'CLARABEL'
    """
    if not isinstance(name, str):
        raise UnknownSolverError("solver", f"{preview(name)} is not a name", "use a name from installed_solvers()")
    if name.lower() in ("auto", "newton"):
        return None
    installed = _installed_cone_solvers()
    if name.upper() not in installed:
        known = name.upper() in CONE_SOLVERS
        reason = "is not installed" if known else "is not a known solver for exponential cones"
        remedy = f"{'install it, or ' if known else ''}use one of {', '.join(('newton', *installed))}"
        raise UnknownSolverError("solver", f"{name!r} {reason}", remedy)
    return CONE_SOLVERS.get(name.upper(), ConeSolver(name.upper()))


def check_options(solver_options: Any, solver: str) -> dict[str, Any]:
    """The options of a cone solver as a dict."""
    if solver_options is None:
        return {}
    if not (isinstance(solver_options, dict) and all(isinstance(name, str) for name in solver_options)):
        raise DataError("solver_options", "is not a dict of options by name", 'pass a dict such as {"max_iter": 50}')
    if find_solver(solver) is None:
        raise DataError("solver_options", "are for cone solvers", "use settings for the Newton engine")
    return solver_options
