"""Contenders that go wrong, each in its own way; in all else they are newton."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from pre_convex.benchmark.contenders import Answer, find_contender

newton = find_contender("newton")
CONSTANT = 3
#: what eaters are stopped at, should the runner fail to
TOO_MUCH = 2000


def honest(problem, formulation, tol):
    return newton(problem, formulation, tol)


def chatter(problem, formulation, tol):
    """Prints through Python and past it, among it what looks like an outcome."""
    for _ in range(2000):
        print('{"verdict": "failed", "claim": "", "note": "", "numbers": {}}')
    os.write(1, b"\n{}\n" * 10_000)
    os.write(2, b"complaint\n" * 10_000)
    return newton(problem, formulation, tol)


def watched(problem, formulation, tol):
    """Looks at what it was forked from: threads there are a danger, and what is loaded there has a price."""
    place = f"/proc/{os.getppid()}/task"
    assert not os.path.isdir(place) or len(os.listdir(place)) == 1
    assert not {"sklearn", "matplotlib", "pandas"} & set(sys.modules)
    return newton(problem, formulation, tol)


def thief(problem, formulation, tol):
    """Takes all cases away."""
    for path in Path(os.environ["TMPDIR"]).glob("pre_convex-*/*.npz"):
        path.unlink()
    return newton(problem, formulation, tol)


def hungry(problem, formulation, tol):
    """Needs 64 MB for a moment."""
    np.ones(8 << 20)
    return newton(problem, formulation, tol)


def boaster(problem, formulation, tol):
    """Takes its time, and says that it took none."""
    time.sleep(0.1)
    return replace(newton(problem, formulation, tol), solve_time=1e-9)


def forger(problem, formulation, tol):
    """Moves the target to where its answer is right, and makes it hard to judge."""
    np.seterr(all="raise")
    problem.target.flags.writeable = True
    problem.target[:] = problem.features_q.mean(axis=0)
    return Answer("optimal", np.zeros(problem.k))


def liar(problem, formulation, tol):
    return Answer("optimal", np.full(problem.k, 0.7))


def denier(problem, formulation, tol):
    return Answer("infeasible")


def busy(problem, formulation, tol):
    while True:
        pass


def sleeper(problem, formulation, tol):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)


def slow_on_cases(problem, formulation, tol):
    """Quick on the four rows of the warm-up."""
    if problem.n_q > 4:
        time.sleep(3600)
    return newton(problem, formulation, tol)


def segfault(problem, formulation, tol):
    ctypes.string_at(0)


def abort(problem, formulation, tol):
    os.write(2, b"assertion failed: the solver's own\n")
    os.abort()


def quitter(problem, formulation, tol):
    os._exit(3)


def leaver(problem, formulation, tol):
    sys.exit(4)


def eater(problem, formulation, tol):
    """Eats step by step and touches all of it."""
    eaten = [np.ones(1 << 20) for _ in range(TOO_MUCH // 8)]
    return Answer("optimal", np.zeros(problem.k), iterations=len(eaten))


def glutton(problem, formulation, tol):
    """Asks for all at once."""
    return Answer("optimal", np.ones(1 << 40)[: problem.k])


def caught_glutton(problem, formulation, tol):
    """As an interface does that turns exceptions into a claim."""
    try:
        np.ones(1 << 40)
    except MemoryError as error:
        return Answer(f"{type(error).__name__}: {error}")


def thrower(problem, formulation, tol):
    raise ArithmeticError("of its own\nand more")


def talker(problem, formulation, tol):
    raise ValueError("more and " * (4 << 20))


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def unprintable(problem, formulation, tol):
    raise UnprintableError


def nothing(problem, formulation, tol):
    return None


def wrong_shape(problem, formulation, tol):
    return Answer("optimal", np.zeros(problem.k + 1))


def wrong_weights(problem, formulation, tol):
    return Answer("optimal", newton(problem, formulation, tol).delta, np.ones(3))


def not_numbers(problem, formulation, tol):
    return Answer("optimal", ["a", "b"], iterations="many", solve_time="long")


def not_finite(problem, formulation, tol):
    return Answer("optimal", np.full(problem.k, np.nan))


def speechless(problem, formulation, tol):
    return Answer(None, None)


def parent(problem, formulation, tol):
    """Leaves processes behind, one of which goes its own way, and hangs at 1e-6 until a file is there."""
    place = os.environ.get("PRE_TEST_GO")
    if problem.n_q > 4 and tol < 1e-5 and place is not None and not Path(place).exists():
        for own_way in (False, True):
            subprocess.Popen(["sleep", "3600"], start_new_session=own_way)
        time.sleep(3600)
    return newton(problem, formulation, tol)


def not_forms(problem, formulation, tol):
    return newton(problem, formulation, tol)


not_forms.formulations = "primal"


def killer(problem, formulation, tol):
    """Takes its watcher with it."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)


def choosy(problem, formulation, tol):
    return newton(problem, formulation, tol)


choosy.formulations = ("primal", "dual")
