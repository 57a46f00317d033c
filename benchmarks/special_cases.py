"""The special cases of the Newton engine, each with a way to switch it off.

A special case is a list of functions of the engine and what to put in their place. :func:`off` puts it there, and
:func:`watch` only records which special cases a solve reaches: where one is not reached, switching it off changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from pre_convex.certificate import lift, mixture
from pre_convex.data import rows
from pre_convex.errors import SolveError
from pre_convex.feasibility import hull
from pre_convex.penalties import ball, l1, linf, norms, polyhedral, step_program
from pre_convex.solvers import boundary, newton

solve = import_module("pre_convex.solvers.solve")  # the package has a function of the same name

Function = Callable[..., Any]


def always(result: Any, arguments: tuple[Any, ...]) -> bool:
    """Every call counts."""
    return True


def was_true(result: Any, arguments: tuple[Any, ...]) -> bool:
    """A call counts if it returned something true, or an array."""
    return result is not None and (isinstance(result, np.ndarray) or bool(result))


@dataclass(frozen=True)
class Switch:
    """A function of the engine, what to put in its place, and which of its calls count as reaching it."""

    owner: Any
    name: str
    without: Callable[[Function], Function]
    counts: Callable[[Any, tuple[Any, ...]], bool] = always


@dataclass(frozen=True)
class SpecialCase:
    """A named part of the engine that can be switched off."""

    name: str
    switches: tuple[Switch, ...]


def instead(function: Function) -> Callable[[Function], Function]:
    """Another function, whatever the original is."""
    return lambda original: function


def returning(value: Any) -> Callable[[Function], Function]:
    """A function that returns this value instead."""
    return lambda original: lambda *arguments, **options: value


def keeping(position: int) -> Callable[[Function], Function]:
    """A function that returns one of its arguments instead."""
    return lambda original: lambda *arguments, **options: arguments[position]


@contextmanager
def replaced(owner: Any, name: str, make: Callable[[Function], Function]) -> Iterator[None]:
    """Put another function in the place of ``owner.name`` for a while."""
    original = vars(owner)[name]
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def off(*cases: SpecialCase) -> Iterator[None]:
    """Switch off special cases."""
    with ExitStack() as stack:
        for case in cases:
            for switch in case.switches:
                stack.enter_context(replaced(switch.owner, switch.name, switch.without))
        yield


@contextmanager
def watch(cases: tuple[SpecialCase, ...]) -> Iterator[set[str]]:
    """Names of the special cases that are reached meanwhile."""
    reached: set[str] = set()

    def watching(case: SpecialCase, switch: Switch) -> Callable[[Function], Function]:
        def make(original: Function) -> Function:
            def function(*arguments: Any, **options: Any) -> Any:
                try:
                    result = original(*arguments, **options)
                except SolveError:
                    reached.add(case.name)
                    raise
                if case.name not in reached and switch.counts(result, arguments):
                    reached.add(case.name)
                return result

            return function

        return make

    with ExitStack() as stack:
        for case in cases:
            for switch in case.switches:
                stack.enter_context(replaced(switch.owner, switch.name, watching(case, switch)))
        yield reached


# replacements --------------------------------------------------------------------------------------------------------


def _unchanged_solution(original: Function) -> Function:
    """The answer as it was, with the hull."""
    return lambda problem, hull, solution, tol: replace(solution, hull=hull)


def _in_given_coordinates(original: Function) -> Function:
    """Newton in the coordinates of the problem, as if its covariance were well conditioned."""

    def function(problem: Any, span: Any, tol: float, start: Any, verbose: bool) -> Any:
        with replaced(newton, "well_conditioned", returning(True)):
            return newton._newton(problem, ball.NoPenalty(problem.moment_norm, 0.0), tol, start, verbose)

    return function


class _NoProgressError(Exception):
    """No step makes progress from this point."""


def _stop_after_search(original: Function) -> Function:
    """The line search, which ends the run if it fails."""

    def function(self: Any, point: Any, d: Any, gradient: Any) -> Any:
        moved = original(self, point, d, gradient)
        if moved is None:
            raise _NoProgressError(point)
        return moved

    return function


def _stop_without_step(original: Function) -> Function:
    """The step, which ends the run if there is none at a fresh covariance."""

    def function(self: Any, point: Any, gradient: Any, H: Any, damping: float) -> Any:
        d = original(self, point, gradient, H, damping)
        if d is None and (point.summary.covariance is not None or damping > 0.0):
            raise _NoProgressError(point)
        return d

    return function


def _run_until_stopped(original: Function) -> Function:
    """A run that returns the point where it gave up."""

    def function(self: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return original(self, *arguments, **options)
        except _NoProgressError as end:
            return end.args[0]

    return function


def _skipping(*names: str) -> Callable[[Function], Function]:
    """Corrections of a lift without some of its linear solvers."""

    def make(original: Function) -> Function:
        def function(self: Any, solver: Any, u: Any) -> Any:
            return None if getattr(solver, "__name__", "") in names else original(self, solver, u)

        return function

    return make


def _solver_was(*names: str) -> Callable[[Any, tuple[Any, ...]], bool]:
    return lambda result, arguments: getattr(arguments[1], "__name__", "") in names


def _bound_of_cost(original: Function) -> Function:
    """½(1 + x) Σ μ_j c_j² with x = max(0, −min c), instead of the divergence that it bounds."""

    def function(mu: Any, c: Any) -> float:
        x = max(0.0, -float(c.min(initial=0.0)))
        return np.inf if x > 1.0 else float(0.5 * (1.0 + x) * (mu @ (c * c)))

    return function


def _first_trial(original: Function) -> Function:
    return lambda *arguments: original(*arguments)[:1]


def _first_distance(original: Function) -> Function:
    """The search in the given coordinates, twice."""
    last = None

    def function(rows: Any, b: Any, norm: Any, scale: float, index: Any, rtol: float, basis: Any) -> Any:
        nonlocal last
        if last is None or _is_identity(basis):
            last = original(rows, b, norm, scale, index, rtol, basis)
        return last

    return function


def _is_identity(basis: Any) -> bool:
    return basis.shape[0] == basis.shape[1] and bool(np.all(basis == np.eye(len(basis))))


def _second_distance(result: Any, arguments: tuple[Any, ...]) -> bool:
    return not _is_identity(arguments[6])


def _proof_improved(result: Any, arguments: tuple[Any, ...]) -> bool:
    return result is not arguments[1]


def _changed_delta(result: Any, arguments: tuple[Any, ...]) -> bool:
    return not np.array_equal(result, arguments[1])


def _zeros_set(result: Any, arguments: tuple[Any, ...]) -> bool:
    return result[0] is not arguments[2]


def _several(result: Any, arguments: tuple[Any, ...]) -> bool:
    return len(result) > 1


def _no_step(*arguments: Any) -> Any:
    raise SolveError("no cvxpy step")


def _point_and_proof(problem: Any, descent: Any, point: Any, penalty: Any, subset: Any, tol: float, proof: Any) -> Any:
    return point, proof


def _no_trials(self: Any, delta: Any, r: Any, H: Any) -> list[Any]:
    return []


def _same_direction(rows: Any, v: Any) -> list[Any]:
    return [v]


def _as_projected(self: Any, point: Any, r: Any, fixed: Any) -> Any:
    return point


def _project(self: Any, r: Any, radius: float, variances: Any) -> Any:
    return self.project(r, radius)


def _flat(original: Function) -> Function:
    return lambda self, r, radius, variances: original(self, r, radius, np.ones_like(r))


def _descent(name: str, *rest: Any) -> Switch:
    return Switch(newton._DampedNewton, name, *rest)


def _failed(result: Any, arguments: tuple[Any, ...]) -> bool:
    return result is None


def _never(result: Any, arguments: tuple[Any, ...]) -> bool:
    return False


_SHORTEN = tuple(
    Switch(owner, "shorten", keeping(1), _changed_delta)
    for owner in (ball.BallPenalty, polyhedral.PolyhedralPenalty, l1.L1Penalty)
)

SPECIAL_CASES = (
    SpecialCase("restart: vertex of [D]", (Switch(solve, "vertex_start", returning(None), was_true),)),
    SpecialCase(
        "restart: continuation of base weights", (Switch(solve, "continuation_start", returning(None), was_true),)
    ),
    SpecialCase("restarts, all", (Switch(solve, "_restart", returning(None)),)),
    SpecialCase(
        "mixture bounds",
        (
            Switch(solve, "with_mixture_bound", keeping(1), _proof_improved),
            Switch(boundary, "with_mixture_bound", keeping(1), _proof_improved),
        ),
    ),
    SpecialCase("mixture with other rows", (Switch(mixture, "_mix_with_hull", returning(-np.inf)),)),
    SpecialCase("smallest face", (Switch(boundary, "smallest_face", returning(None)),)),
    SpecialCase("radius equal to the distance", (Switch(boundary, "_solve_at_hull_distance", _unchanged_solution),)),
    SpecialCase("rebalanced weights on a face", (Switch(boundary, "rebalance", keeping(1)),)),
    SpecialCase(
        "boundary answers, all",
        (
            Switch(solve, "solve_on_boundary", _unchanged_solution),
            Switch(boundary, "solve_on_boundary", _unchanged_solution),
        ),
    ),
    SpecialCase("norms 1, inf: guesses", (Switch(polyhedral.PolyhedralPenalty, "_guess", returning(None)),)),
    SpecialCase("norms 1, inf: cvxpy step", (Switch(step_program.StepProgram, "solve", instead(_no_step)),)),
    SpecialCase("norm 1: search of ties", (Switch(linf, "search_ties", returning(None)),)),
    SpecialCase("norm inf: search of signs", (Switch(l1, "search_signs", returning(None)),)),
    SpecialCase("own coordinates", (Switch(newton, "_in_coordinates", _in_given_coordinates),)),
    SpecialCase("exact zeros", (Switch(newton, "_with_exact_zeros", instead(_point_and_proof), _zeros_set),)),
    SpecialCase(
        "damping after a failed search",
        (
            _descent("_search", _stop_after_search, _failed),
            _descent("_step", _stop_without_step, _failed),
            _descent("run", _run_until_stopped, _never),
        ),
    ),
    SpecialCase("_misses_gradient", (_descent("_misses_gradient", returning(False), was_true),)),
    SpecialCase("_curvature_vanishes", (_descent("_curvature_vanishes", returning(False), was_true),)),
    SpecialCase("_diverges", (_descent("_diverges", returning(False), was_true),)),
    SpecialCase(
        "lift by factor", (Switch(lift.Lift, "_refine", _skipping("_solve_factor"), _solver_was("_solve_factor")),)
    ),
    SpecialCase(
        "lift by weighted factor",
        (Switch(lift.Lift, "_refine", _skipping("_solve_weighted"), _solver_was("_solve_weighted")),),
    ),
    SpecialCase(
        "lift by either factor",
        (Switch(lift.Lift, "_refine", _skipping("_solve_factor", "_solve_weighted"), _solver_was("_solve_factor")),),
    ),
    SpecialCase("bound for given weights", (Switch(ball.BallPenalty, "bound", returning(-np.inf)),)),
    SpecialCase(
        "trial residuals after the first", (Switch(ball.NormPenalty, "trial_residuals", _first_trial, _several),)
    ),
    SpecialCase("trial: expected residual", (Switch(ball.NormPenalty, "_expected_residual", instead(_no_trials)),)),
    SpecialCase("trial: fixed directions", (Switch(ball.BallPenalty, "_project_along", instead(_as_projected)),)),
    SpecialCase(
        "projection in units of variances",
        (
            Switch(norms.Euclidean, "project_weighted", instead(_project)),
            Switch(norms.Taxicab, "project_weighted", _flat),
        ),
    ),
    SpecialCase("shorten", _SHORTEN),
    SpecialCase("shrink_correlations", (Switch(newton, "shrink_correlations", keeping(0)),)),
    SpecialCase("exact cost of a lift", (Switch(lift, "tilting_cost", _bound_of_cost),)),
    SpecialCase("origin of rows", (Switch(rows, "choose_origin", returning(None), was_true),)),
    SpecialCase("hull: second search", (Switch(hull, "_distance", _first_distance, _second_distance),)),
    SpecialCase("hull: normals of a face", (Switch(hull, "_face_normals", instead(_same_direction)),)),
    SpecialCase("hull: asked when a step fails", (Switch(solve, "is_too_far", returning(False)),)),
)

#: special cases that the other sources than the campaign can do without one by one, less those that save time, keep the
#: status or the zeros of an answer, or stand in for another one here
TOGETHER = (
    "restart: vertex of [D]",
    "mixture bounds",
    "mixture with other rows",
    "radius equal to the distance",
    "rebalanced weights on a face",
    "norms 1, inf: guesses",
    "norms 1, inf: cvxpy step",
    "damping after a failed search",
    "_misses_gradient",
    "_curvature_vanishes",
    "lift by either factor",
    "bound for given weights",
    "trial residuals after the first",
    "trial: fixed directions",
    "projection in units of variances",
    "shrink_correlations",
    "exact cost of a lift",
    "origin of rows",
    "hull: second search",
    "hull: normals of a face",
    "hull: asked when a step fails",
)
