"""Contenders of the benchmark: the Newton engine, every installed cone solver, and your own functions.

A contender is a function of (problem, formulation, tol) that returns an :class:`Answer`. Cone solvers that cvxpy knows
are called through their entry in ``pre_convex.solvers.registry``, your own function by ``"module:function"``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.errors import DataError
from pre_convex.problem import RatioProblem
from pre_convex.solution import Solution, Status
from pre_convex.solvers import ConeCall, ConeSolver, Settings, find_solver, installed_solvers, solve

__all__ = ["NO_ITERATION_LIMIT", "Answer", "Contender", "contenders_of", "find_contender", "solver_options"]

#: claims, in cvxpy's words, that the statuses of the Newton engine stand for
CLAIMS = {
    Status.OPTIMAL: "optimal",
    Status.INFEASIBLE: "infeasible",
    Status.BOUNDARY: "boundary",
    Status.INACCURATE: "optimal_inaccurate",
    Status.ITERATION_LIMIT: "user_limit",
    Status.TIME_LIMIT: "user_limit",
    Status.FAILED: "solver_error",
}

#: options that lift a solver's iteration limit, so that only time ends a solve, and keep it to one thread
NO_ITERATION_LIMIT: dict[str, dict[str, Any]] = {
    "CLARABEL": {"max_iter": 100_000},
    "ECOS": {"max_iters": 100_000},
    "SCS": {"max_iters": 100_000_000},
    "MOREAU": {"max_iter": 100_000},
    "MOSEK": {"mosek_params": {"MSK_IPAR_NUM_THREADS": 1, "MSK_IPAR_INTPNT_MAX_ITERATIONS": 100_000}},
}


@dataclass(frozen=True, eq=False)
class Answer:
    """What a contender returns.

    Attributes
    ----------
    claim : str
        ``"optimal"``, ``"infeasible"``, ``"unbounded"`` or ``"boundary"``, in cvxpy's words. Anything else, such as
        ``"optimal_inaccurate"``, claims nothing.
    delta : ndarray of shape (k,), or None
        δ.
    mu : ndarray of shape (n,), or None
        The weights; μ(δ) of [LINK] if left out.
    iterations : int, default 0
        Iterations of the solver.
    compile_time, setup_time, solve_time : float, default 0
        Seconds spent translating the program for the solver, building it, and solving it. If all are zero, the
        benchmark's own clock gives the solve time.
    """

    claim: str
    delta: Array | None = None
    mu: Array | None = None
    iterations: int = 0
    compile_time: float = 0.0
    setup_time: float = 0.0
    solve_time: float = 0.0


Contender = Callable[[RatioProblem, str, float], Answer]


def find_contender(name: str) -> Contender:
    """The contender called ``"newton"``, by the name of a cone solver, or ``"module:function"``."""
    if ":" not in name:
        return _newton if find_solver(name) is None else partial(_cone, name=name.upper())
    module, _, function = name.partition(":")
    try:
        contender: Contender = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == module
        remedy = f"run the command in the folder of {module}.py" if missing and "." not in module else "check the name"
        raise DataError("solver", f"{name!r} cannot be imported ({error})", remedy) from error
    except (Exception, SystemExit) as error:  # importing a module may run anything
        why = f"{type(error).__name__}: {error}"
        raise DataError("solver", f"{name!r} cannot be imported ({why})", "fix the module") from error
    if not callable(contender):
        raise DataError("solver", f"{name!r} is not a function", "pass a function of problem, formulation and tol")
    return contender


def contenders_of(solvers: Sequence[str] | None, formulations: Sequence[str] | None) -> list[tuple[str, str]]:
    """Pairs of solver and formulation to run, without duplicates.

    Parameters
    ----------
    solvers : sequence of str, or None
        Names; all installed solvers by default.
    formulations : sequence of str, or None
        Formulations to keep; all by default. A solver with only one formulation is always kept.
    """
    if isinstance(solvers, str):
        solvers = (solvers,)
    if isinstance(formulations, str):
        formulations = (formulations,)
    pairs: list[tuple[str, str]] = []
    known: set[str] = set()
    for given in installed_solvers() if solvers is None else solvers:
        entry = None if isinstance(given, str) and ":" in given else find_solver(given)
        name = given if ":" in given else "newton" if entry is None else entry.name
        available = _formulations(name)
        known |= set(available)
        keep_all = formulations is None or len(available) == 1
        pairs += [(name, one) for one in available if keep_all or one in (formulations or ())]
    unknown = sorted(set(formulations or ()) - known - {"primal", "dual", "both"})
    if unknown:
        raise DataError("formulations", f"{unknown[0]!r} is not known", f"use {', '.join(sorted(known))}")
    if not pairs:
        raise DataError("solvers", "nothing is left to run", "name at least one solver and a formulation that it has")
    return list(dict.fromkeys(pairs))


def _formulations(name: str) -> tuple[str, ...]:
    """Formulations that a contender is run in; a function lists them in its attribute ``formulations``."""
    if ":" not in name:
        return ("both",) if find_solver(name) is None else ("primal", "dual")
    names = getattr(find_contender(name), "formulations", ("both",))
    if not isinstance(names, tuple | list) or not names or not all(isinstance(one, str) for one in names):
        reason = f"the attribute 'formulations' of {name!r} is {names!r}"
        raise DataError("solver", reason, 'use a tuple of names, such as ("primal", "dual")')
    return tuple(names)


def _newton(problem: RatioProblem, formulation: str, tol: float) -> Answer:
    """The package's own engine; its time includes the certificate."""
    started = time.perf_counter()
    solution = solve(problem, solver="newton", tol=tol, check=False)
    mu = solution.mu
    seconds = time.perf_counter() - started
    return Answer(CLAIMS[solution.status], _far_delta(problem, solution), mu, solution.iterations, solve_time=seconds)


def _far_delta(problem: RatioProblem, solution: Solution) -> Array:
    """A finite δ whose value is that of the solution, where coefficients run to infinity."""
    v = np.zeros(problem.k)
    for faster, (feature, sign) in enumerate(reversed(solution.recession)):
        v[feature] = sign * 16.0**faster
    for t in 2.0 ** np.arange(60 if solution.recession else 0):
        delta = np.asarray(solution.delta + t * v)
        if problem.value(delta) - solution.primal_value <= 1e-14:
            return delta
    return solution.delta


def _cone(problem: RatioProblem, formulation: str, tol: float, *, name: str) -> Answer:
    """A cone solver called through cvxpy, without polishing."""
    from pre_convex.solvers.cone import solve_cone

    entry = find_solver(name)
    assert entry is not None  # only "newton" has no entry
    entry = replace(entry, options=partial(solver_options, entry))
    call = ConeCall(entry, formulation, penalty=None, constraints=None, options={}, verbose=False)
    result = solve_cone(problem, call, Settings(tol=tol))
    times = (result.compile_time, result.setup_time, result.solve_time)
    return Answer(result.claim, result.delta, result.mu, result.iterations, *times)


def solver_options(entry: ConeSolver, tol: float) -> dict[str, Any]:
    """Options of a cone solver in the benchmark: the tolerance, no iteration limit, no warm start."""
    options = {**entry.options(tol), "warm_start": False}
    for name, value in NO_ITERATION_LIMIT.get(entry.name, {}).items():
        options[name] = {**options.get(name, {}), **value} if isinstance(value, Mapping) else value
    return options
