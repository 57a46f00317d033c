"""Results do not depend on threads, BLAS settings are restored, and forks and nested calls work."""

import copy
import multiprocessing
import os
import pickle
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
from pre_convex._internal.threads import cvxpy_lock, map_threads, single_threaded_blas, warnings_ignored
from pre_convex.data.passes import tilt
from pre_convex.data.rows import Rows


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr("pre_convex.data.rows.BLOCK_NUMBERS", 1_000)
    rng = np.random.default_rng(0)
    return Rows(rng.normal(size=(5_000, 4)), rng.normal(size=5_000))


def blas():
    """Threads of NumPy's BLAS; a library bundled with a solver may have one only."""
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def test_results_do_not_depend_on_the_number_of_threads(rows):
    summaries = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            summaries.append(tilt(rows, np.ones(4)))
            assert blas() == threads  # restored
    for other in summaries[1:]:
        assert other.log_z == summaries[0].log_z
        np.testing.assert_array_equal(other.mean, summaries[0].mean)
        np.testing.assert_array_equal(other.covariance, summaries[0].covariance)


def test_the_pool_has_as_many_threads_as_blas():
    with threadpool_limits(2, user_api="blas"):
        meet = threading.Barrier(2, timeout=10)
        assert map_threads(lambda i: (meet.wait(), i)[1], [0, 1]) == [0, 1]  # neither passes without the other
        with single_threaded_blas():
            assert blas() == 1
    assert map_threads(lambda i: i * i, range(4)) == [0, 1, 4, 9]


def test_blas_is_limited_and_restored_from_any_thread():
    """threadpoolctl 3.8 silently ignores changes from other threads than the first."""

    def limited():
        with single_threaded_blas():
            return blas()

    def limited_by_user():
        with threadpool_limits(3, user_api="blas"):
            return blas()

    for begin in (0, 1):  # the limit is set by this thread, or by one that has ended since
        with threadpool_limits(2, user_api="blas") if begin == 0 else nullcontext():
            before = blas()
            assert limited() == 1
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(limited).result(10) == 1
            assert blas() == before
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(limited_by_user).result(10) == 3  # the user's own threads have control again


def test_nested_calls_run_sequentially(rows):
    with threadpool_limits(2, user_api="blas"):
        values = map_threads(lambda i: tilt(rows, np.full(4, float(i))).log_z, range(6))
    assert values == [tilt(rows, np.full(4, float(i))).log_z for i in range(6)]


def test_an_error_in_a_thread_reaches_the_caller(rows):
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            map_threads(lambda i: 1 // i, [1, 0, 2])
        assert blas() == 2


def mixed_task(number):
    """Bytes of the result of one of 200 tasks that use every solver and estimator."""
    rng = np.random.default_rng(number)
    n = 50_000 if number in (1, 102) else 150  # enough for BLAS to use several threads
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


def test_200_tasks_on_8_threads_give_the_bits_of_one_thread():
    one_by_one = [mixed_task(number) for number in range(200)]
    filters, errors, mask = list(warnings.filters), np.geterr(), os.umask(0o022)
    os.umask(mask)
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(mixed_task, range(200))) == one_by_one
        assert blas() == 2
    assert warnings.filters == filters
    assert np.geterr() == errors
    assert os.umask(mask) == mask


def test_warning_filters_are_restored_when_threads_overlap():
    """Without a lock, the last thread to leave would restore the filters of the first."""
    before, inside, entered = list(warnings.filters), threading.Event(), threading.Event()

    def first():
        with warnings_ignored():
            inside.set()
            entered.wait(0.2)  # the other thread waits for the lock

    def later():
        inside.wait(10)
        with warnings_ignored(UserWarning):
            entered.set()
            threads[0].join(10)

    threads = [threading.Thread(target=work) for work in (first, later)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert entered.is_set()
    assert warnings.filters == before


def test_cvxpy_variables_have_distinct_ids_in_all_threads():
    """Two variables of one program with the same id would silently be one variable."""
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


def test_weights_of_a_solution_are_the_same_in_all_threads():
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


def _child(queue, rows):
    problem = pre.RatioProblem([0.1, 0.0], np.eye(2) - 0.4, radius=0.3)
    queue.put((tilt(rows, np.ones(4)).log_z, pre.solve(problem, solver="CLARABEL").status.ok))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_its_own_threads(rows):
    """Also if another thread of the parent holds the locks."""
    inside, leave = threading.Event(), threading.Event()

    def busy():
        with cvxpy_lock(), single_threaded_blas():
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


def test_a_copied_problem_has_the_same_solution_bit_for_bit():
    rng = np.random.default_rng(0)
    given = {"features_p": rng.normal(0.1, 1.0, (500, 2))}
    for base in (None, rng.normal(size=200)):
        problem = pre.RatioProblem(given["features_p"].mean(axis=0), rng.normal(size=(200, 2)), base, **given)
        for twin in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):
            one, other = pre.solve(problem), pre.solve(twin)
            assert one.delta.tobytes() + one.mu.tobytes() == other.delta.tobytes() + other.mu.tobytes()
            assert one.certificate == other.certificate
            assert twin.rows.uniform is problem.rows.uniform
            for array in (twin.target, twin.features_q, twin.log_base, twin.features_p, twin.rows.features):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 0.0
    large = pre.RatioProblem([0.0], rng.normal(size=(100_000, 1)))
    assert len(pickle.dumps(large)) < 900_000  # features once, no base weights


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_problems_solutions_and_errors_can_be_sent_to_other_processes(start):
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
        with pytest.raises(pre.InfeasibleError) as caught:
            pool.submit(pre.solve, outside).result(60)
        assert caught.value.minimal_radius == pre.minimal_radius(outside).radius
        with pytest.raises(pre.DataError) as error:
            pool.submit(pre.RatioProblem, [np.nan, 0.0], problem.features_q).result(60)
        assert error.value.argument == "target"


def test_many_threads_may_load_public_names_at_once():
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


def test_newton_imports_no_optional_library():
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
