"""Who takes part: the Newton engine, every installed cone solver, and any function of the same signature.

A contender is a function of (problem, formulation, tol) that returns an :class:`Answer`. A cone solver that cvxpy knows
takes part through its entry in ``pre_convex.solvers.registry``; a function of one's own by ``"module:function"``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from ..entropy import Array
from ..errors import DataError
from ..problem import RatioProblem
from ..solution import Status
from ..solvers import ConeSolver, find_solver, solve

__all__ = ["Answer", "Contender", "find_contender", "formulations_of"]

#: what the Newton engine's statuses are in the words of cvxpy, which all claims are compared in
CLAIMS = {
    Status.OPTIMAL: "optimal",
    Status.INFEASIBLE: "infeasible",
    Status.BOUNDARY: "boundary",
    Status.INACCURATE: "optimal_inaccurate",
    Status.FAILED: "solver_error",
}


@dataclass(frozen=True, eq=False)
class Answer:
    """What a contender returns: numbers, a claim in cvxpy's words, and times in seconds.

    Attributes
    ----------
    claim : str
        ``"optimal"``, ``"infeasible"``, ``"unbounded"``, ``"boundary"``; anything else, such as
        ``"optimal_inaccurate"``, claims nothing.
    delta, mu : ndarray or None
        The weights may be left out; μ(δ) of [LINK] is taken then.
    """

    claim: str
    delta: Array | None = None
    mu: Array | None = None
    iterations: int = 0
    compile_time: float = 0.0
    setup_time: float = 0.0
    solve_time: float = 0.0


Contender = Callable[[RatioProblem, str, float], Answer]


def _newton(problem: RatioProblem, formulation: str, tol: float) -> Answer:
    """The package's own engine, its certificate included in the time."""
    started = time.perf_counter()
    found = solve(problem, solver="newton", tol=tol, check=False)
    mu = found.mu
    seconds = time.perf_counter() - started
    return Answer(CLAIMS[found.status], found.delta, mu, found.iterations, solve_time=seconds)


def _cone(problem: RatioProblem, formulation: str, tol: float, *, name: str) -> Answer:
    """A cone solver through cvxpy, its own numbers and its own words; the runner's time limit is its only one."""
    from ..solvers.cone import cone

    entry = find_solver(name)
    assert entry is not None  # newton has been dealt with
    entry = replace(entry, options=partial(_options, entry))
    found = cone(problem, entry, formulation, penalty=None, constraints=None, tol=tol, verbose=False)
    times = (found.compile_time, found.setup_time, found.solve_time)
    return Answer(found.claim, found.delta, found.mu, found.iterations, *times)


def _options(entry: ConeSolver, tol: float) -> dict[str, Any]:
    """Options of a cone solver: the tolerance under its own names, no limit but that of time, no warm start."""
    options = {**entry.options(tol), "warm_start": False}
    for name, value in entry.patient.items():  # a solver may have options within an option
        options[name] = {**options.get(name, {}), **value} if isinstance(value, Mapping) else value
    return options


def find_contender(name: str) -> Contender:
    """The contender of a name: ``"newton"``, a cone solver, or ``"module:function"``."""
    if ":" in name:
        module, _, function = name.partition(":")
        try:
            found: Contender = getattr(import_module(module), function)
        except (ImportError, AttributeError) as error:
            missing = isinstance(error, ModuleNotFoundError) and error.name == module
            what = f"; run it where {module}.py is" if missing and "." not in module else ""
            raise DataError(f"solver: {name!r} cannot be imported ({error}){what}") from error
        except (Exception, SystemExit) as error:  # whatever a module does when it is loaded
            why = f"{type(error).__name__}: {error}"
            raise DataError(f"solver: {name!r} cannot be imported ({why})") from error
        if not callable(found):
            raise DataError(f"solver: {name!r} is not a function")
        return found
    return _newton if find_solver(name) is None else partial(_cone, name=name.upper())


def formulations_of(name: str) -> tuple[str, ...]:
    """Formulations a contender is run in; a function says so by its attribute ``formulations``."""
    if ":" in name:
        found = getattr(find_contender(name), "formulations", ("both",))
        if not isinstance(found, tuple | list) or not found or not all(isinstance(one, str) for one in found):
            raise DataError(f"solver: formulations of {name!r} must be a tuple of names, not {found!r}")
        return tuple(found)
    return ("both",) if find_solver(name) is None else ("primal", "dual")
