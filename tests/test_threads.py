"""Threads give what one thread gives, leave BLAS as it was, and survive forks and calls from inside."""

import copy
import multiprocessing
import os
import pickle
import stat
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext

import cvxpy as cp
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import pre_convex as pre
import pre_convex.passes as passes
from pre_convex.files import write_text
from pre_convex.passes import Rows, tilt
from pre_convex.threads import alone, in_threads, one_thread_each, quietly


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


def test_blas_is_held_and_let_go_by_whichever_thread_works():
    """Versions of threadpoolctl that listen to one thread only would leave BLAS as it is, without a word."""

    def held():
        with one_thread_each():
            return blas()

    def limited():
        with threadpool_limits(3, user_api="blas"):
            return blas()

    for begin in (0, 1):  # the limit is set by this thread, or by one that has ended since
        with threadpool_limits(2, user_api="blas") if begin == 0 else nullcontext():
            before = blas()
            assert held() == 1
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(held).result(10) == 1
            assert blas() == before
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(limited).result(10) == 3  # the user's own threads are listened to afterwards


def test_work_may_ask_for_threads_itself(rows):
    with threadpool_limits(2, user_api="blas"):
        found = in_threads(lambda i: tilt(rows, np.full(4, float(i))).log_z, range(6))
    assert found == [tilt(rows, np.full(4, float(i))).log_z for i in range(6)]


def test_an_error_in_a_thread_reaches_the_caller(rows):
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            in_threads(lambda i: 1 // i, [1, 0, 2])
        assert blas() == 2


def mixed(number):
    """One of 200 pieces of work, by every road to an answer; and the numbers it ends with."""
    rng = np.random.default_rng(number)
    n = 50_000 if number in (1, 102) else 150  # so many that BLAS, left to itself, would share out the products
    F, b = rng.normal(size=(n, 3)), rng.normal(size=3) * 0.2
    radius, norm = ((0.0, 2), (0.05, 2), (0.05, np.inf), (0.05, 1))[number % 4]
    problem = pre.RatioProblem(b, F, radius=radius, norm=norm)
    if number % 20 == 7:
        solution = pre.solve(problem, ("primal", "dual")[number // 20 % 2], "CLARABEL")
    elif number % 20 == 13:
        solution = pre.solve(problem, constraints=lambda delta: [delta >= -0.1])
    elif number % 20 == 17:
        many = pre.solve_many(F, np.array([b, -b]), radius=0.05)
        return many.delta.tobytes() + many.gap.tobytes()
    elif number % 20 == 19:
        fit = pre.KLIEP(radius="auto", random_state=number).fit(F + b, rng.normal(size=(150, 3)))
        return fit.delta_.tobytes() + fit.bootstrap(2, rng=number).tobytes()
    else:
        solution = pre.solve(problem)
    numbers = [solution.primal_value, solution.dual_value, *solution.delta, *solution.mu]
    return np.array(numbers).tobytes()


def test_200_problems_on_8_threads_give_the_bytes_of_one():
    alone = [mixed(number) for number in range(200)]
    filters, errors, mask = list(warnings.filters), np.geterr(), os.umask(0o022)
    os.umask(mask)
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(mixed, range(200))) == alone
        assert blas() == 2
    assert warnings.filters == filters
    assert np.geterr() == errors
    assert os.umask(mask) == mask


def test_filters_of_warnings_are_put_back_when_threads_overlap():
    """Without a turn for each, the first to leave would put back filters that the last to leave undoes."""
    before, inside, entered = list(warnings.filters), threading.Event(), threading.Event()

    def first():
        with quietly():
            inside.set()
            entered.wait(0.2)  # the other waits for its turn meanwhile

    def later():
        inside.wait(10)
        with quietly(UserWarning):
            entered.set()
            threads[0].join(10)

    threads = [threading.Thread(target=work) for work in (first, later)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert entered.is_set()
    assert warnings.filters == before


def test_cvxpys_counter_is_never_set_back():
    """Two variables with one number in one program would be one variable, and its answer wrong without a word."""
    problem, seen = pre.RatioProblem([0.1, 0.0], np.eye(2) - 0.4), []

    def build(_):
        return [variable.id for variable in pre.primal_program(problem, penalty=cp.norm1).cvxpy.variables()]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for ids in pool.map(build, range(200)):
                seen += ids
    finally:
        sys.setswitchinterval(interval)
    assert len(set(seen)) == len(seen)


def test_weights_are_computed_once_for_all_threads_that_ask():
    rng = np.random.default_rng(0)
    problem = pre.RatioProblem(np.full(4, 0.1), rng.normal(size=(60_000, 4)))
    for _ in range(5):
        solution = pre.solve(problem)
        meet = threading.Barrier(4, timeout=10)

        def ask(_, solution=solution, meet=meet):
            meet.wait()
            return solution.mu.sum()

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(ask, range(4)))) == 1


def test_a_file_is_written_without_a_change_of_the_umask(tmp_path, monkeypatch):
    """The umask is the process's: another thread's file would be open to everybody in between."""
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")
            place = write_text(tmp_path / "a.txt", "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def _child(queue, rows):
    problem = pre.RatioProblem([0.1, 0.0], np.eye(2) - 0.4, radius=0.3)
    queue.put((tilt(rows, np.ones(4)).log_z, pre.solve(problem, solver="CLARABEL").status.ok))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(rows):
    """Also while other threads of the parent solve, wait in a pass, or have the turn at cvxpy."""
    inside, leave = threading.Event(), threading.Event()

    def busy():
        with alone(), one_thread_each():
            inside.set()
            leave.wait(60)

    other = threading.Thread(target=busy)
    with threadpool_limits(2, user_api="blas"):
        here = tilt(rows, np.ones(4)).log_z  # the pool exists now
        other.start()
        inside.wait(10)
        try:
            context = multiprocessing.get_context("fork")
            queue = context.Queue()
            child = context.Process(target=_child, args=(queue, rows), daemon=True)
            child.start()
            assert queue.get(timeout=60) == (here, True)
            child.join(60)
        finally:
            leave.set()
            other.join(10)
        assert child.exitcode == 0


def test_a_copy_of_a_problem_has_the_bytes_of_its_answer():
    rng = np.random.default_rng(0)
    given = {"features_p": rng.normal(0.1, 1.0, (500, 2))}
    for base in (None, rng.normal(size=200)):
        problem = pre.RatioProblem(given["features_p"].mean(axis=0), rng.normal(size=(200, 2)), base, **given)
        for twin in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):
            one, other = pre.solve(problem), pre.solve(twin)
            assert one.delta.tobytes() + one.mu.tobytes() == other.delta.tobytes() + other.mu.tobytes()
            assert one.certificate == other.certificate
            assert twin.rows.flat is problem.rows.flat
            for array in (twin.target, twin.features_q, twin.log_base, twin.features_p, twin.rows.features):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 0.0
    large = pre.RatioProblem([0.0], rng.normal(size=(100_000, 1)))
    assert len(pickle.dumps(large)) < 900_000  # its features once, and no base weights


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_problems_answers_and_errors_travel_to_other_processes(start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip("not on this system")
    rng = np.random.default_rng(0)
    problem = pre.RatioProblem([0.1, 0.2], rng.normal(size=(200, 2)))
    context = multiprocessing.get_context(start)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        solution = pool.submit(pre.solve, problem).result(60)
        assert solution.delta.tobytes() == pre.solve(problem).delta.tobytes()
        fit = pool.submit(pre.KLIEP().fit, problem.features_q + 0.1, problem.features_q).result(60)
        assert fit.log_ratio([[0.1, 0.2]]).shape == (1,)
        outside = pre.RatioProblem([9.0, 0.0], problem.features_q)
        with pytest.raises(pre.InfeasibleError, match="outside the hull") as caught:
            pool.submit(pre.solve, outside).result(60)
        assert caught.value.minimal_radius == pre.minimal_radius(outside).radius
        with pytest.raises(pre.DataError, match=r"^target: "):
            pool.submit(pre.RatioProblem, [np.nan, 0.0], problem.features_q).result(60)


def test_names_may_be_asked_for_by_many_threads_at_first():
    code = (
        "import threading, pre_convex\n"
        "names, meet, wrong = pre_convex.__all__, threading.Barrier(16), []\n"
        "def ask(i):\n"
        "    meet.wait()\n"
        "    for name in names[i * 5 % len(names):] + names:\n"
        "        try:\n"
        "            getattr(pre_convex, name)\n"
        "        except BaseException as error:\n"
        "            wrong.append((name, error))\n"
        "threads = [threading.Thread(target=ask, args=(i,), daemon=True) for i in range(16)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join(60) for thread in threads]\n"
        "assert not wrong, wrong[:3]\n"
        "assert not any(thread.is_alive() for thread in threads)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


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
