"""Contenders that misbehave, each in one way; otherwise they are newton."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from pre_convex_lab.solvers.contenders import Answer, find_contender

newton = find_contender("newton")
CONSTANT = 3
#: MB at which memory hogs stop if the runner fails to stop them
SAFETY_LIMIT = 2000


def honest(problem, formulation, tol):
    return newton(problem, formulation, tol)


def noisy(problem, formulation, tol):
    """Prints through Python and directly to the file descriptors, including what looks like an outcome."""
    for _ in range(2000):
        print('{"verdict": "failed", "claim": "", "note": "", "numbers": {}}')
    os.write(1, b"\n{}\n" * 10_000)
    os.write(2, b"complaint\n" * 10_000)
    return newton(problem, formulation, tol)


def checks_worker(problem, formulation, tol):
    """Fails if the process it was forked from has threads, which is unsafe, or heavy modules, which is slow."""
    threads = f"/proc/{os.getppid()}/task"
    assert not os.path.isdir(threads) or len(os.listdir(threads)) == 1
    assert not {"sklearn", "matplotlib", "pandas"} & set(sys.modules)
    return newton(problem, formulation, tol)


def deletes_cases(problem, formulation, tol):
    for path in Path(os.environ["TMPDIR"]).glob("pre_convex-*/*.npz"):
        path.unlink()
    return newton(problem, formulation, tol)


def short_peak(problem, formulation, tol):
    """Uses 64 MB for a moment."""
    np.ones(8 << 20)
    return newton(problem, formulation, tol)


def reports_no_time(problem, formulation, tol):
    time.sleep(0.1)
    return replace(newton(problem, formulation, tol), solve_time=1e-9)


def overwrites_problem(problem, formulation, tol):
    """Moves the target to where its answer is right, and turns NumPy warnings into errors."""
    np.seterr(all="raise")
    problem.target.flags.writeable = True
    problem.target[:] = problem.features_q.mean(axis=0)
    return Answer("optimal", np.zeros(problem.k))


def false_optimal(problem, formulation, tol):
    return Answer("optimal", np.full(problem.k, 0.7))


def false_infeasible(problem, formulation, tol):
    return Answer("infeasible")


def infinite_loop(problem, formulation, tol):
    while True:
        pass


def ignores_sigterm(problem, formulation, tol):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)


def slow_after_warm_up(problem, formulation, tol):
    """Quick on the four rows of the warm-up problem."""
    if problem.n_q > 4:
        time.sleep(3600)
    return newton(problem, formulation, tol)


def segfault(problem, formulation, tol):
    ctypes.string_at(0)


def abort(problem, formulation, tol):
    os.write(2, b"assertion failed: in the solver\n")
    os.abort()


def exits_at_once(problem, formulation, tol):
    os._exit(3)


def raises_system_exit(problem, formulation, tol):
    sys.exit(4)


def memory_hog(problem, formulation, tol):
    """Allocates and touches memory step by step."""
    blocks = [np.ones(1 << 20) for _ in range(SAFETY_LIMIT // 8)]
    return Answer("optimal", np.zeros(problem.k), iterations=len(blocks))


def huge_allocation(problem, formulation, tol):
    return Answer("optimal", np.ones(1 << 40)[: problem.k])


def catches_memory_error(problem, formulation, tol):
    """Turns the exception into a claim, as solver interfaces do."""
    try:
        np.ones(1 << 40)
    except MemoryError as error:
        return Answer(f"{type(error).__name__}: {error}")


def raises(problem, formulation, tol):
    raise ArithmeticError("first line\nsecond line")


def long_message(problem, formulation, tol):
    raise ValueError("more and " * (4 << 20))


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no message")


def unprintable_error(problem, formulation, tol):
    raise UnprintableError


def returns_none(problem, formulation, tol):
    return None


def wrong_shape(problem, formulation, tol):
    return Answer("optimal", np.zeros(problem.k + 1))


def wrong_weights(problem, formulation, tol):
    return Answer("optimal", newton(problem, formulation, tol).delta, np.ones(3))


def not_numeric(problem, formulation, tol):
    return Answer("optimal", ["a", "b"], iterations="many", solve_time="long")


def not_finite(problem, formulation, tol):
    return Answer("optimal", np.full(problem.k, np.nan))


def claim_is_none(problem, formulation, tol):
    return Answer(None, None)


def starts_processes(problem, formulation, tol):
    """Starts two processes, one in its own session, and hangs at 1e-6 until a file exists."""
    go = os.environ.get("PRE_TEST_GO")
    if problem.n_q > 4 and tol < 1e-5 and go is not None and not Path(go).exists():
        for new_session in (False, True):
            subprocess.Popen(["sleep", "3600"], start_new_session=new_session)
        time.sleep(3600)
    return newton(problem, formulation, tol)


def bad_formulations(problem, formulation, tol):
    return newton(problem, formulation, tol)


bad_formulations.formulations = "primal"


def kills_worker(problem, formulation, tol):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)


def two_formulations(problem, formulation, tol):
    return newton(problem, formulation, tol)


two_formulations.formulations = ("primal", "dual")
