"""The special cases of the Newton engine, each with a way to switch it off.

A special case is a list of functions of the engine and what to put in their place. :func:`off` puts it there, and
:func:`watch` only records which special cases a solve reaches: where one is not reached, switching it off changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import isgenerator
from typing import Any

import numpy as np

from pre_convex.certificate import certificate, lift
from pre_convex.data.passes import tilt
from pre_convex.errors import SolveError
from pre_convex.penalties import ball, l1, linf, polyhedral
from pre_convex.solvers import boundary, newton, stages

solve = import_module("pre_convex.solvers.solve")  # the package has a function of the same name

Function = Callable[..., Any]


def _found_by_name(function: Function) -> Function:
    """The function that the module of certificates has under this name when it is called."""
    return lambda *arguments: vars(certificate)[function.__name__](*arguments)


certificate.LIFTS = tuple(
    tuple((_found_by_name(method), room) for method, room in methods) for methods in certificate.LIFTS
)


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


def returning(value: Any) -> Callable[[Function], Function]:
    """A function that returns this value instead."""
    return lambda original: lambda *arguments, **options: value


def keeping(position: int) -> Callable[[Function], Function]:
    """A function that returns one of its arguments instead."""
    return lambda original: lambda *arguments, **options: arguments[position]


def asking_nothing(value: Any) -> Callable[[Function], Function]:
    """A generator of requests that makes none and returns this value instead."""

    def function(*arguments: Any, **options: Any) -> Generator[Any, Any, Any]:
        return value
        yield

    return lambda original: function


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
                if isgenerator(result):
                    return noting(result, arguments)
                note(result, arguments)
                return result

            def note(result: Any, arguments: tuple[Any, ...]) -> None:
                if case.name not in reached and switch.counts(result, arguments):
                    reached.add(case.name)

            def noting(requests: Any, arguments: tuple[Any, ...]) -> Generator[Any, Any, Any]:
                result = yield from requests
                note(result, arguments)
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
    return lambda problem, hull, solution, settings: replace(solution, hull=hull)


def _in_given_coordinates(original: Function) -> Function:
    """Newton in the coordinates of the problem, as if its covariance were well conditioned."""

    def function(problem: Any, penalty: Any, columns: Any, start: Any, run: Any) -> Any:
        return run(problem, start, np.setdiff1d(np.arange(problem.k), columns))

    return function


class _NoProgressError(Exception):
    """No step makes progress from this point."""


def _stop_after_search(original: Function) -> Function:
    """The line search, which ends the run if it fails."""

    def function(self: Any, point: Any, d: Any) -> Generator[Any, Any, Any]:
        moved = yield from original(self, point, d)
        if moved is None:
            raise _NoProgressError(point)
        return moved

    return function


def _stop_without_step(original: Function) -> Function:
    """The step, which ends the run if there is none at a fresh covariance."""

    def function(self: Any, point: Any, H: Any, damping: float) -> Any:
        d = original(self, point, H, damping)
        if d is None and (point.summary.covariance is not None or damping > 0.0):
            raise _NoProgressError(point)
        return d

    return function


def _run_until_stopped(original: Function) -> Function:
    """A run that returns the point where it gave up."""

    def function(self: Any, *arguments: Any, **options: Any) -> Generator[Any, Any, Any]:
        try:
            return (yield from original(self, *arguments, **options))
        except _NoProgressError as end:
            self.reason = "no progress"
            return end.args[0]

    return function


def _one_round(original: Function) -> Function:
    """The residual of one step, projected on the ball if it is outside."""

    def function(*arguments: Any) -> Any:
        rounds, ball.ROUNDS = ball.ROUNDS, 1
        try:
            return original(*arguments)
        finally:
            ball.ROUNDS = rounds

    return function


def _search_from_start(original: Function) -> Function:
    """No guess of the active set, so that the search starts from δ."""
    return lambda self, x, q, H: (None, x)


def _in_doubles(original: Function) -> Function:
    """The value in doubles, with their round-off."""

    def function(problem: Any, delta: np.ndarray) -> tuple[float, float]:
        summary, arithmetic = tilt(problem.rows, delta), certificate.arithmetic_of(problem)
        return summary.log_z, lift.RoundOff(delta, summary, problem.rows.reach, arithmetic).value

    return function


def _all_rows(original: Function) -> Function:
    """No subset is worth its cost."""
    return lambda self, share: self.n


def _no_sample(original: Function) -> Function:
    """All rows from the start, however many there are."""

    def function(self: Any) -> None:
        self.settings = replace(self.settings, small=self.n * self.k)
        original(self)

    return function


def _with_secants(original: Function) -> Function:
    """Secants for tiny problems, too."""

    def function(self: Any, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        self.always = False

    return function


def _first_changed(result: Any, arguments: tuple[Any, ...]) -> bool:
    return result is not arguments[0]


def _fewer_rows(result: Any, arguments: tuple[Any, ...]) -> bool:
    return bool(result < arguments[0].n)


def _failed(result: Any, arguments: tuple[Any, ...]) -> bool:
    return result is None


def _is_large(result: Any, arguments: tuple[Any, ...]) -> bool:
    return bool(arguments[0].n * arguments[0].k > arguments[0].settings.small)


def _is_tiny(result: Any, arguments: tuple[Any, ...]) -> bool:
    return bool(arguments[0].always)


def _is_false(result: Any, arguments: tuple[Any, ...]) -> bool:
    return not result


def _is_relaxed(result: Any, arguments: tuple[Any, ...]) -> bool:
    return bool(arguments[0].relaxed)


def _never(result: Any, arguments: tuple[Any, ...]) -> bool:
    return False


def _descent(name: str, *rest: Any) -> Switch:
    return Switch(newton.Descent, name, *rest)


SPECIAL_CASES = (
    SpecialCase("exposed faces", (Switch(boundary, "exposed_face", returning(None), was_true),)),
    SpecialCase("smallest face", (Switch(boundary, "smallest_face", returning(None)),)),
    SpecialCase("boundary answers", (Switch(solve, "solve_on_boundary", _unchanged_solution),)),
    SpecialCase(
        "values in extended precision",
        (Switch(boundary, "precise_value", _in_doubles), Switch(certificate, "precise_value", _in_doubles)),
    ),
    SpecialCase("norms 1, inf: guesses", (Switch(polyhedral.PolyhedralPenalty, "_guess", _search_from_start),)),
    SpecialCase("norm 1: search of ties", (Switch(linf, "search_ties", returning(None)),)),
    SpecialCase("norm inf: search of signs", (Switch(l1, "search_signs", returning(None)),)),
    SpecialCase("hull first if k >= n", (Switch(solve, "_far_outside", returning(None), was_true),)),
    SpecialCase("own coordinates", (Switch(stages, "in_coordinates", _in_given_coordinates),)),
    SpecialCase("collinear columns noticed", (Switch(stages, "well_conditioned", returning(True), _is_false),)),
    SpecialCase("sample and subset", (Switch(stages.Staged, "__post_init__", _no_sample, _is_large),)),
    SpecialCase("subset", (Switch(stages.Staged, "_subset_size", _all_rows, _fewer_rows),)),
    SpecialCase("covariances in every pass of tiny problems", (_descent("__init__", _with_secants, _is_tiny),)),
    SpecialCase("shrink_correlations", (Switch(stages, "shrink_correlations", keeping(0), _first_changed),)),
    SpecialCase("secants", (Switch(newton, "update_curvature", keeping(0), _first_changed),)),
    SpecialCase(
        "damping after a failed search",
        (
            _descent("_search", _stop_after_search, _failed),
            _descent("_direction", _stop_without_step, _failed),
            _descent("run", _run_until_stopped, _never),
        ),
    ),
    SpecialCase("_misses_gradient", (_descent("_misses_gradient", returning(False), was_true),)),
    SpecialCase("_separates", (_descent("_separates", asking_nothing(False), was_true),)),
    SpecialCase("trial in smaller balls", (Switch(ball.BallPenalty, "trial", _one_round, _is_relaxed),)),
    SpecialCase("lift: own coordinates", (Switch(certificate, "lift_in_own_coordinates", asking_nothing(None)),)),
    SpecialCase("lift: mixture", (Switch(certificate, "mix", asking_nothing(None)),)),
    SpecialCase("bound for given weights", (Switch(certificate, "_dual_bound", asking_nothing(-np.inf)),)),
)
