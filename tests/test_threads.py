"""Threads give what one thread gives, leave BLAS as it was, and survive forks and calls from inside."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import pre_convex as pre
import pre_convex.passes as passes
from pre_convex.passes import Rows, tilt
from pre_convex.threads import in_threads, one_thread_each


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(passes, "PART_NUMBERS", 1_000)
    rng = np.random.default_rng(0)
    return Rows(rng.normal(size=(5_000, 4)), rng.normal(size=5_000))


def blas():
    """Threads of NumPy's library; that of a solver may not know more than one."""
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def test_the_number_of_threads_changes_no_bit(rows):
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            found.append(tilt(rows, np.ones(4)))
            assert blas() == threads  # as it was before
    for other in found[1:]:
        assert other.log_z == found[0].log_z
        np.testing.assert_array_equal(other.mean, found[0].mean)
        np.testing.assert_array_equal(other.covariance, found[0].covariance)


def test_as_many_threads_work_as_blas_may_use():
    with threadpool_limits(2, user_api="blas"):
        meet = threading.Barrier(2, timeout=10)
        assert in_threads(lambda i: (meet.wait(), i)[1], [0, 1]) == [0, 1]  # neither could pass alone
        with one_thread_each():
            assert blas() == 1
    assert in_threads(lambda i: i * i, range(4)) == [0, 1, 4, 9]


def test_work_may_ask_for_threads_itself(rows):
    with threadpool_limits(2, user_api="blas"):
        found = in_threads(lambda i: tilt(rows, np.full(4, float(i))).log_z, range(6))
    assert found == [tilt(rows, np.full(4, float(i))).log_z for i in range(6)]


def test_an_error_in_a_thread_reaches_the_caller(rows):
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            in_threads(lambda i: 1 // i, [1, 0, 2])
        assert blas() == 2


def test_solving_from_many_threads_at_once():
    rng = np.random.default_rng(0)
    problems = [pre.RatioProblem(rng.normal(size=3) * 0.2, rng.normal(size=(400, 3))) for _ in range(40)]
    alone = [pre.solve(problem).delta for problem in problems]
    found = [None] * len(problems)

    def work(part):
        for i in range(part, len(problems), 8):
            found[i] = pre.solve(problems[i]).delta

    with threadpool_limits(2, user_api="blas"):
        threads = [threading.Thread(target=work, args=(part,)) for part in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert blas() == 2
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def _child(queue, rows):
    queue.put(tilt(rows, np.ones(4)).log_z)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(rows):
    with threadpool_limits(2, user_api="blas"):
        here = tilt(rows, np.ones(4)).log_z  # the pool exists now
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_child, args=(queue, rows))
        child.start()
        assert queue.get(timeout=30) == here
        child.join()


def test_newton_needs_neither_cvxpy_nor_scikit_learn_nor_matplotlib():
    code = (
        "import sys, numpy as np, pre_convex as pre\n"
        "rng = np.random.default_rng(0)\n"
        "F = rng.normal(size=(120_000, 4))\n"
        "for r, norm in ((0.0, 2), (0.05, 2), (0.05, 1), (0.05, np.inf)):\n"
        "    pre.solve(pre.RatioProblem([0.1, 0.2, 0.0, 0.0], F, radius=r, norm=norm))\n"
        "pre.solve_many(F[:500], np.zeros((3, 4)))\n"
        "heavy = {'cvxpy', 'sklearn', 'matplotlib', 'dask', 'pandas', 'rich', 'zarr', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
