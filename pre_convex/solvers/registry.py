"""The cone solvers: what each calls its tolerance, and which scaling of the programs it likes.

A new solver is one entry in ``CONE_SOLVERS``. An installed cvxpy solver that takes exponential cones but has no
entry here is used with its own defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..arrays import shown
from ..errors import UnknownSolverError

__all__ = ["CONE_SOLVERS", "ConeSolver", "find_solver", "installed_solvers"]


@dataclass(frozen=True)
class ConeSolver:
    """How one cone solver is called.

    Attributes
    ----------
    name : str
        As cvxpy knows it.
    options : callable
        Options of the solver's own for a tolerance.
    patient : mapping
        Options for the benchmark: one thread, and a time limit instead of a number of iterations ends a solve.
    counts : bool
        Whether the dual is posed in ν = n μ.
    scaled_primal, scaled_dual : bool
        Whether features are centred at b and columns scaled.
    note : str
        One line for ``pre-convex solvers``.
    """

    name: str
    options: Callable[[float], dict[str, Any]] = lambda tol: {}
    patient: Mapping[str, Any] = field(default_factory=dict)
    counts: bool = False
    scaled_primal: bool = True
    scaled_dual: bool = True
    note: str = "used with its own defaults"


def _mosek(tol: float) -> dict[str, Any]:
    names = ("REL_GAP", "PFEAS", "DFEAS")
    return {"mosek_params": {f"MSK_DPAR_INTPNT_CO_TOL_{name}": tol for name in names}}


CONE_SOLVERS: dict[str, ConeSolver] = {
    entry.name: entry
    for entry in (
        ConeSolver(
            "CLARABEL",
            lambda tol: {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol, "max_iter": 200},
            {"max_iter": 100_000},
            note="interior point, Apache-2.0",
        ),
        ConeSolver(
            "ECOS",
            lambda tol: {"abstol": tol, "reltol": tol, "feastol": tol, "max_iters": 200},
            {"max_iters": 100_000},
            note="interior point, GPLv3",
        ),
        ConeSolver(
            "SCS",
            lambda tol: {"eps_abs": tol, "eps_rel": tol, "max_iters": 5_000},
            {"max_iters": 100_000_000},
            counts=True,
            note="first order, MIT; slow to 1e-8",
        ),
        ConeSolver(
            "MOSEK",
            _mosek,
            {"mosek_params": {"MSK_IPAR_NUM_THREADS": 1, "MSK_IPAR_INTPNT_MAX_ITERATIONS": 100_000}},
            note="interior point, commercial licence",
        ),
    )
}

#: they take exponential cones through another solver of this list, or branch on integers
_INDIRECT = {"ECOS_BB", "DIFFCP"}


def _installed_cone_solvers() -> tuple[str, ...]:
    """Installed cvxpy solvers that take exponential cones, known ones first."""
    from cvxpy.constraints import ExpCone
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC

    able = [
        name
        for name, interface in SOLVER_MAP_CONIC.items()
        if name not in _INDIRECT and interface.is_installed() and ExpCone in interface.SUPPORTED_CONSTRAINTS
    ]
    return (
        *(name for name in CONE_SOLVERS if name in able),
        *(name for name in able if name not in CONE_SOLVERS),
    )


def installed_solvers() -> tuple[str, ...]:
    """Names that ``solve(..., solver=)`` takes on this machine.

    Examples
    --------
    >>> "newton" in installed_solvers(), "CLARABEL" in installed_solvers()
    (True, True)
    """
    return ("newton", *_installed_cone_solvers())


def find_solver(name: str) -> ConeSolver | None:
    """Entry of a cone solver; ``None`` for the Newton engine, which ``"auto"`` means too."""
    if not isinstance(name, str):
        raise UnknownSolverError(f"solver: {shown(name)} is not a name; use one of installed_solvers()")
    if name.lower() in ("auto", "newton"):
        return None
    found = _installed_cone_solvers()
    if name.upper() not in found:
        why = "is known but not installed" if name.upper() in CONE_SOLVERS else "is not known"
        raise UnknownSolverError(f"solver: {name!r} {why}; installed are {', '.join(('newton', *found))}")
    return CONE_SOLVERS.get(name.upper(), ConeSolver(name.upper()))
