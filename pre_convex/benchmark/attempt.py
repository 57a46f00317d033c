"""One attempt, in a process of its own: read a case, let the contender solve it, judge the answer.

The process tells its watcher where it is, since every phase has its own limit: ``load``, ``warm-up``, ``solve``,
``repeat``, ``judge``.
"""

from __future__ import annotations

import gc
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import median
from typing import Any, TypeVar

import numpy as np

from ..entropy import Array
from ..errors import DataError
from ..problem import RatioProblem
from .case import Case, Truth
from .contenders import Answer, Contender, find_contender
from .exchange import read_case
from .metrics import Verdict, judge
from .records import one_line

__all__ = ["MB", "attempt", "outcome", "resident"]

MB = 1 << 20
#: a quick solve is repeated so often, or for so many seconds
REPEATS, ENOUGH = 5, 0.25
#: address space beyond twice the memory limit, for libraries and stacks that are never touched
SLACK = 1024 * MB
#: letters of a contender's words that are looked at
MANY = 4096

Tell = Callable[[dict[str, Any]], None]
Loaded = TypeVar("Loaded")


def attempt(task: Mapping[str, Any], tell: Tell) -> None:
    """Work on one task and tell phases and outcome.

    Parameters
    ----------
    task : mapping
        ``case``, the path of its file; ``solver``, ``formulation``, ``tol``; ``memory_limit`` in MB.
    tell : callable
        Takes ``{"phase": name}`` and at last the outcome, or ``{"fault": words}`` where the case or the
        contender cannot be loaded.
    """
    try:
        _attempt(task, tell)
    except NotLoadedError as error:
        tell({"fault": str(error)})


class NotLoadedError(Exception):
    """A case or a contender that was there when the run began is not there: nobody has failed to solve anything."""


def _attempt(task: Mapping[str, Any], tell: Tell) -> None:
    """Work on a task."""
    warnings.simplefilter("ignore")
    case, contender = _loaded(read_case, task["case"]), _loaded(find_contender, task["solver"])
    formulation, tol = str(task["formulation"]), float(task["tol"])
    tell({"phase": "warm-up", "memory": resident()})
    limit = float(task["memory_limit"])
    unlimited = _limit_address_space(limit * MB)
    _warm_up(contender, case, formulation, tol)
    gc.collect()
    before = _forget_peak()
    tell({"phase": "solve", "memory": resident()})
    try:
        answer, seconds = _timed(contender, case.problem, formulation, tol)
    except Exception as error:
        tell(_thrown(error))
        return
    memory = max(_peak() - before, 0.0) / MB
    tell({"phase": "repeat"})
    answer, fault = sound(answer, case.problem)
    answer, seconds = _typical(contender, case.problem, formulation, tol, answer, seconds)
    unlimited()
    tell({"phase": "judge"})
    if "MemoryError" in answer.claim.partition(":")[0]:  # a solver's interface caught it
        tell(outcome(Verdict.MEMORY, claim=answer.claim, note="out of memory"))
    elif memory > limit:  # for a moment, between two looks of the watcher
        tell(outcome(Verdict.MEMORY, claim=answer.claim, note=f"over {limit:g} MB"))
    else:
        case = _loaded(read_case, task["case"])  # a contender may have written to the arrays that it was given
        tell(_judged(case, answer, tol, fault, {"memory": memory, "time": seconds}))


def _loaded(load: Callable[[str], Loaded], name: str) -> Loaded:
    """A case, or a contender."""
    try:
        return load(name)
    except Exception as error:
        raise NotLoadedError(str(error) if isinstance(error, DataError) else _words(error)) from error


def outcome(verdict: Verdict, *, claim: str = "", note: str = "", numbers: Any = None) -> dict[str, Any]:
    """What is told at last."""
    return {"verdict": verdict.value, "claim": one_line(claim), "note": one_line(note), "numbers": numbers or {}}


def sound(answer: Any, problem: RatioProblem) -> tuple[Answer, str]:
    """The answer as one that can be judged, and what was wrong with it.

    Examples
    --------
    >>> problem = RatioProblem([0.5], [[0.0], [1.0]])
    >>> sound(Answer("optimal", np.zeros(3)), problem)[1]
    'delta has the shape (3,), not (1,)'
    >>> sound(None, problem)[1]
    'returned NoneType, not Answer'
    """
    if not isinstance(answer, Answer):
        return Answer(""), f"returned {type(answer).__name__}, not Answer"
    faults = [
        *_faults("delta", answer.delta, problem.k),
        *_faults("mu", answer.mu, problem.n_q),
        *([] if isinstance(answer.claim, str) else [f"claim is {type(answer.claim).__name__}, not str"]),
    ]
    claim = answer.claim if isinstance(answer.claim, str) else ""
    times = [_seconds(t) for t in (answer.compile_time, answer.setup_time, answer.solve_time)]
    count = answer.iterations
    iterations = int(count) if isinstance(count, int | np.integer) and count >= 0 else 0
    if faults:  # no numbers that could prove anything
        return Answer(claim, None, None, iterations, *times), faults[0]
    delta, mu = (None if x is None else np.asarray(x, dtype=float) for x in (answer.delta, answer.mu))
    return Answer(claim, delta, mu, iterations, *times), ""


def _faults(name: str, value: Any, length: int) -> list[str]:
    """Why an array is not one of so many finite numbers; ``None`` is allowed."""
    if value is None:
        return []
    try:
        array: Array = np.asarray(value, dtype=float)
    except Exception:  # whatever the object does when it is asked for numbers
        return [f"{name} holds no numbers"]
    if array.shape != (length,):
        return [f"{name} has the shape {array.shape}, not ({length},)"]
    return [] if np.all(np.isfinite(array)) else [f"{name} has numbers that are not finite"]


def _seconds(value: Any) -> float:
    """A time, zero where it is none."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return 0.0
    return seconds if 0.0 <= seconds < np.inf else 0.0


def _judged(case: Case, answer: Answer, tol: float, fault: str, measured: Mapping[str, float]) -> dict[str, Any]:
    """Outcome of an answer; NumPy and warnings are as they were before the contender could change them."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict, numbers = judge(case, answer, tol)
    except Exception as error:
        return outcome(Verdict.FAILED, claim=answer.claim, note=f"could not be judged: {_words(error)}")
    plain = {name: float(value) for name, value in {**numbers, **measured}.items()}
    return outcome(verdict, claim=answer.claim, note=fault, numbers=plain)


def _thrown(error: BaseException) -> dict[str, Any]:
    """Outcome of an exception."""
    verdict = Verdict.MEMORY if isinstance(error, MemoryError) else Verdict.FAILED
    return outcome(verdict, note=_words(error))


def _words(error: BaseException) -> str:
    """An exception in a line."""
    try:
        lines = str(error)[:MANY].strip().splitlines()
    except Exception:  # an exception may be of a class of the contender's own
        lines = []
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _timed(contender: Contender, problem: RatioProblem, formulation: str, tol: float) -> tuple[Answer, float]:
    """An answer, and the seconds it took as seen from outside."""
    started = time.perf_counter()
    answer = contender(problem, formulation, tol)
    return answer, time.perf_counter() - started


def _warm_up(contender: Contender, case: Case, formulation: str, tol: float) -> None:
    """Solve a problem of four rows of the same kind, so that late imports and first calls are not timed."""
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    radius = 0.1 if case.problem.radius else 0.0
    height = {Truth.OPTIMAL: 0.7, Truth.BOUNDARY: 1.0 + radius, Truth.INFEASIBLE: 3.0}[case.truth]
    tiny = RatioProblem(np.array([0.4, height]), rows, radius=radius, norm=case.problem.norm)
    try:
        contender(tiny, formulation, tol)
    except Exception:  # it will be seen on the case itself
        return


def _typical(
    contender: Contender, problem: RatioProblem, formulation: str, tol: float, first: Answer, seconds: float
) -> tuple[Answer, float]:
    """The first answer with the medians of the times that several tell, and of those as seen from outside."""
    names = ("compile_time", "setup_time", "solve_time")
    told = any(getattr(first, name) for name in names)
    answers, clock, spent = [first], [seconds], seconds
    while spent < ENOUGH and len(answers) < REPEATS:
        try:
            again, seconds = _timed(contender, problem, formulation, tol)
        except Exception:  # the first one counts
            break
        answers.append(sound(again, problem)[0])
        clock.append(seconds)
        spent += seconds
    typical = median(clock)
    if not told:
        return replace(first, solve_time=typical), typical
    times = {name: median(getattr(answer, name) for answer in answers) for name in names}
    return replace(first, **times), typical


def resident(process: int | str = "self") -> float:
    """Bytes of memory that a process holds now; zero where the system does not tell."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return float(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, IndexError):
        return 0.0


def _forget_peak() -> float:
    """Let the peak of memory begin anew where the system can; what it is now, in bytes."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass
    return _peak()


def _peak() -> float:
    """Bytes of memory at their peak."""
    try:
        with open("/proc/self/status", "rb") as file:
            return next(float(line.split()[1]) * 1024 for line in file if line.startswith(b"VmHWM"))
    except (OSError, StopIteration):
        import resource
        import sys

        most = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return most if sys.platform == "darwin" else most * 1024


def _limit_address_space(limit: float) -> Callable[[], None]:
    """Let a single huge allocation fail, which could not be seen in time from outside; returns what lifts the limit."""
    try:
        import resource

        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = int(now + 2 * limit + SLACK)
        if soft != resource.RLIM_INFINITY and soft < most:
            return lambda: None
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (ImportError, OSError, ValueError):
        return lambda: None
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
