"""One solve, in a process of its own: load a case, call the contender, judge its answer.

The process reports each phase as it begins, because phases have different limits: ``load``, ``warm-up``, ``solve``,
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

from pre_convex._internal.typing import Array
from pre_convex.errors import DataError
from pre_convex.problem import RatioProblem

from .case_files import read_case
from .cases import Case, Truth
from .contenders import Answer, Contender, find_contender
from .metrics import Verdict, judge
from .records import one_line

__all__ = ["MB", "attempt", "check_answer", "outcome", "resident_bytes"]

MB = 1 << 20
#: a quick solve is repeated up to this many times, within this many seconds
MAX_REPEATS, REPEAT_SECONDS = 5, 0.25
#: address space beyond twice the memory limit, for libraries and stacks that are never touched
SLACK = 1024 * MB
#: characters of an exception's message that are read
MAX_MESSAGE = 4096

Report = Callable[[dict[str, Any]], None]
Loaded = TypeVar("Loaded")


class LoadError(Exception):
    """A case or contender that existed when the run began cannot be loaded; no solver is to blame."""


def attempt(task: Mapping[str, Any], report: Report) -> None:
    """Work on one task, and report phases and outcome.

    Parameters
    ----------
    task : mapping
        ``case``, the path of its file; ``solver``, ``formulation``, ``tol``; ``memory_limit`` in MB.
    report : callable
        Called with ``{"phase": name}`` as each phase begins and finally with the outcome, or with
        ``{"fault": message}`` if the case or the contender cannot be loaded.
    """
    try:
        report(_solve_and_judge(task, report))
    except LoadError as error:
        report({"fault": str(error)})


def _solve_and_judge(task: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Outcome of a task."""
    warnings.simplefilter("ignore")
    case, contender = _load(read_case, task["case"]), _load(find_contender, task["solver"])
    formulation, tol = str(task["formulation"]), float(task["tol"])
    report({"phase": "warm-up", "memory": resident_bytes()})
    limit = float(task["memory_limit"])
    lift_limit = _limit_address_space(limit * MB)
    _warm_up(contender, case, formulation, tol)
    gc.collect()
    before = _reset_peak()
    report({"phase": "solve", "memory": resident_bytes()})
    try:
        answer, seconds = _timed(contender, case.problem, formulation, tol)
    except Exception as error:
        verdict = Verdict.MEMORY if isinstance(error, MemoryError) else Verdict.FAILED
        return outcome(verdict, note=_describe(error))
    memory = max(_peak_bytes() - before, 0.0) / MB
    report({"phase": "repeat"})
    answer, fault = check_answer(answer, case.problem)
    answer, seconds = _median_times(contender, case.problem, formulation, tol, answer, seconds)
    lift_limit()
    report({"phase": "judge"})
    if "MemoryError" in answer.claim.partition(":")[0]:  # caught by the solver's interface
        return outcome(Verdict.MEMORY, claim=answer.claim, note="out of memory")
    if memory > limit:  # a short peak between two checks of the worker
        return outcome(Verdict.MEMORY, claim=answer.claim, note=f"over {limit:g} MB")
    case = _load(read_case, task["case"])  # the contender may have overwritten the arrays it was given
    return _judge(case, answer, tol, fault, {"memory": memory, "time": seconds})


def _load(load: Callable[[str], Loaded], name: str) -> Loaded:
    try:
        return load(name)
    except Exception as error:
        raise LoadError(str(error) if isinstance(error, DataError) else _describe(error)) from error


def outcome(verdict: Verdict, *, claim: str = "", note: str = "", numbers: Any = None) -> dict[str, Any]:
    """The final report of a solve."""
    return {"verdict": verdict.value, "claim": one_line(claim), "note": one_line(note), "numbers": numbers or {}}


def check_answer(answer: Any, problem: RatioProblem) -> tuple[Answer, str]:
    """The answer in a form that can be judged, and what was wrong with it.

    Examples
    --------
    >>> problem = RatioProblem([0.5], [[0.0], [1.0]])
    >>> check_answer(Answer("optimal", np.zeros(3)), problem)[1]
    'delta has shape (3,), not (1,)'
    >>> check_answer(None, problem)[1]
    'returned NoneType, not Answer'
    """
    if not isinstance(answer, Answer):
        return Answer(""), f"returned {type(answer).__name__}, not Answer"
    faults = [_array_fault("delta", answer.delta, problem.k), _array_fault("mu", answer.mu, problem.n_q)]
    claim: Any = answer.claim
    if not isinstance(claim, str):
        faults.append(f"claim is {type(claim).__name__}, not str")
        claim = ""
    times = [_seconds(t) for t in (answer.compile_time, answer.setup_time, answer.solve_time)]
    count = answer.iterations
    iterations = int(count) if isinstance(count, int | np.integer) and count >= 0 else 0
    fault = next(filter(None, faults), "")
    if fault:  # drop the numbers, which prove nothing
        return Answer(claim, None, None, iterations, *times), fault
    delta, mu = (None if x is None else np.asarray(x, dtype=float) for x in (answer.delta, answer.mu))
    return Answer(claim, delta, mu, iterations, *times), ""


def _array_fault(name: str, value: Any, length: int) -> str:
    """Why a value is not a vector of finite numbers of this length; "" if it is, or is ``None``."""
    if value is None:
        return ""
    try:
        array: Array = np.asarray(value, dtype=float)
    except Exception:  # conversion may run the contender's code
        return f"{name} is not numeric"
    if array.shape != (length,):
        return f"{name} has shape {array.shape}, not ({length},)"
    return "" if np.all(np.isfinite(array)) else f"{name} is not finite"


def _seconds(value: Any) -> float:
    """A reported time; zero if it is not a valid one."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return 0.0
    return seconds if 0.0 <= seconds < np.inf else 0.0


def _judge(case: Case, answer: Answer, tol: float, fault: str, measured: Mapping[str, float]) -> dict[str, Any]:
    """Outcome of an answer, independent of NumPy and warning settings that the contender changed."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict, numbers = judge(case, answer, tol)
    except Exception as error:
        return outcome(Verdict.FAILED, claim=answer.claim, note=f"could not be judged: {_describe(error)}")
    plain = {name: float(value) for name, value in {**numbers, **measured}.items()}
    return outcome(verdict, claim=answer.claim, note=fault, numbers=plain)


def _describe(error: BaseException) -> str:
    """Type and first line of an exception."""
    try:
        lines = str(error)[:MAX_MESSAGE].strip().splitlines()
    except Exception:  # the contender may raise an exception class of its own
        lines = []
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _timed(contender: Contender, problem: RatioProblem, formulation: str, tol: float) -> tuple[Answer, float]:
    """An answer, and the seconds it took by the benchmark's clock."""
    started = time.perf_counter()
    answer = contender(problem, formulation, tol)
    return answer, time.perf_counter() - started


def _warm_up(contender: Contender, case: Case, formulation: str, tol: float) -> None:
    """Solve a problem of four rows with the same kind of answer, so that late imports are not timed."""
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    radius = 0.1 if case.problem.radius else 0.0
    height = {Truth.OPTIMAL: 0.7, Truth.BOUNDARY: 1.0 + radius, Truth.INFEASIBLE: 3.0}[case.truth]
    tiny = RatioProblem(np.array([0.4, height]), rows, radius=radius, norm=case.problem.norm)
    try:
        contender(tiny, formulation, tol)
    except Exception:  # the solve of the case itself will show it
        return


def _median_times(
    contender: Contender, problem: RatioProblem, formulation: str, tol: float, first: Answer, seconds: float
) -> tuple[Answer, float]:
    """The first answer with median times over repeated solves: those it reports, and those of the benchmark's clock."""
    names = ("compile_time", "setup_time", "solve_time")
    reports_times = any(getattr(first, name) for name in names)
    answers, clock, spent = [first], [seconds], seconds
    while spent < REPEAT_SECONDS and len(answers) < MAX_REPEATS:
        try:
            again, seconds = _timed(contender, problem, formulation, tol)
        except Exception:  # the first answer counts
            break
        answers.append(check_answer(again, problem)[0])
        clock.append(seconds)
        spent += seconds
    if not reports_times:
        return replace(first, solve_time=median(clock)), median(clock)
    times = {name: median(getattr(answer, name) for answer in answers) for name in names}
    return replace(first, **times), median(clock)


def resident_bytes(process: int | str = "self") -> float:
    """Resident memory of a process in bytes; zero if the system does not tell."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return float(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, IndexError):
        return 0.0


def _reset_peak() -> float:
    """Reset the peak of resident memory if the system can; returns it in bytes."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass
    return _peak_bytes()


def _peak_bytes() -> float:
    """Peak resident memory in bytes."""
    try:
        with open("/proc/self/status", "rb") as file:
            return next(float(line.split()[1]) * 1024 for line in file if line.startswith(b"VmHWM"))
    except (OSError, StopIteration):
        import resource
        import sys

        peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return peak if sys.platform == "darwin" else peak * 1024


def _limit_address_space(limit: float) -> Callable[[], None]:
    """Make one huge allocation fail, which the worker's polling would miss; returns a function that lifts the limit."""
    try:
        import resource

        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        allowed = int(now + 2 * limit + SLACK)
        if soft != resource.RLIM_INFINITY and soft < allowed:
            return lambda: None
        resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
    except (ImportError, OSError, ValueError):
        return lambda: None
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
