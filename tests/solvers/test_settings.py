"""Settings of a solve: validation, limits, options of a cone solver."""

import threading
import time

import numpy as np
import pytest
from zoo import planted

import pre_convex as pre
from pre_convex.data import passes

CONE = ["CLARABEL", "SCS"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tol", 0.0), ("tol", 1.0), ("tol", "small"), ("max_iter", 0), ("max_iter", 2.5), ("time_limit", 0.0),
        ("time_limit", -1.0), ("time_limit", np.nan), ("max_step", 0.0), ("small", -1), ("first_rows", 0),
        ("subset_rows", 0), ("threads", 0), ("threads", 1.5), ("block_size", 0),
    ],
)  # fmt: skip
def test_bad_settings_are_named(name, value):
    with pytest.raises(pre.DataError) as error:
        pre.Settings(**{name: value})
    assert error.value.argument == name


def test_arguments_of_solve_take_the_place_of_settings():
    problem, _ = planted()
    settings = pre.Settings(tol=1e-3, max_iter=7)
    assert pre.solve(problem, settings=settings).settings == settings
    assert pre.solve(problem, settings=settings, tol=1e-9).settings == pre.Settings(tol=1e-9, max_iter=7)
    assert pre.solve(problem).settings == pre.Settings()
    assert pre.solve_many(problem, [problem.target], settings=settings)[0].settings == settings
    for call in (pre.solve, lambda p, **given: pre.solve_many(p, [p.target], **given)):
        with pytest.raises(pre.DataError) as error:
            call(problem, settings={"tol": 1e-3})
        assert error.value.argument == "settings"
    for name, value in (("tol", 2.0), ("max_iter", 0), ("time_limit", -1.0)):
        with pytest.raises(pre.DataError) as error:
            pre.solve(problem, **{name: value})
        assert error.value.argument == name


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.02, 2), (0.02, np.inf), (0.02, 1)])
@pytest.mark.parametrize("n", [300, 150_000])
def test_the_iteration_limit_ends_newton_with_a_true_gap(n, radius, norm):
    problem, _ = planted(n=n, k=4, radius=radius, norm=norm, strength=2.0)
    optimum = pre.solve(problem).primal_value
    limited = [pre.solve(problem, max_iter=m, check=False, tol=1e-13) for m in range(1, 12)]
    for m, solution in enumerate(limited, 1):
        assert solution.iterations <= m
        assert solution.status in (pre.Status.ITERATION_LIMIT, pre.Status.OPTIMAL, pre.Status.INACCURATE)
        assert solution.primal_value - optimum <= solution.gap
        assert solution.dual_value <= optimum + 1e-8
    assert limited[0].status is pre.Status.ITERATION_LIMIT
    with pytest.raises(pre.SolveError) as error:
        pre.solve(problem, max_iter=1, tol=1e-13)
    assert error.value.solution.status is pre.Status.ITERATION_LIMIT
    assert str(error.value).startswith("Stopped at the iteration limit")


def test_a_limit_does_not_hide_that_a_problem_is_infeasible():
    rows = np.random.default_rng(0).normal(size=(100, 2))
    assert pre.solve(pre.RatioProblem([9.0, 9.0], rows), max_iter=1, check=False).status is pre.Status.INFEASIBLE


@pytest.mark.parametrize("solver", ["newton", *CONE])
def test_the_time_limit_ends_a_solve(solver):
    problem, best = planted(n=3_000, k=10, strength=1.0)
    started = time.perf_counter()
    solution = pre.solve(problem, "dual", solver, time_limit=1e-5, check=False)
    assert solution.status is pre.Status.TIME_LIMIT
    assert time.perf_counter() - started < 10.0  # compiling a program does not count
    assert solution.gap >= solution.primal_value - problem.value(best) or solution.gap == np.inf
    assert pre.solve(problem, "dual", solver, time_limit=600.0).status is pre.Status.OPTIMAL


@pytest.mark.parametrize(("solver", "name"), [("CLARABEL", "max_iter"), ("SCS", "max_iters")])
def test_options_reach_the_cone_solver(solver, name):
    problem, _ = planted(spread=3.0)
    few = pre.solve(problem, "dual", solver, solver_options={name: 3}, polish=False, check=False)
    assert few.iterations <= 3
    assert few.status is not pre.Status.OPTIMAL
    limited = pre.solve(problem, "dual", solver, max_iter=3, polish=False, check=False)
    assert limited.iterations <= 3
    assert limited.status is pre.Status.ITERATION_LIMIT
    assert pre.solve(problem, "dual", solver, max_iter=3).status is pre.Status.OPTIMAL  # polished


@pytest.mark.parametrize("options", [{"max_iter": 5}, ["max_iter"], {1: 2}])
def test_options_for_newton_or_of_another_type_are_refused(options):
    problem, _ = planted()
    solver = "newton" if options == {"max_iter": 5} else "CLARABEL"
    with pytest.raises(pre.DataError) as error:
        pre.solve(problem, solver=solver, solver_options=options)
    assert error.value.argument == "solver_options"


def test_sizes_of_samples_change_the_way_but_not_the_answer():
    problem, best = planted(n=40_000, k=4, strength=0.4)
    whole = pre.solve(problem, tol=1e-13)
    staged = pre.solve(problem, tol=1e-13, settings=pre.Settings(small=0, first_rows=500, subset_rows=5_000))
    assert [stage.name for stage in whole.trace] == ["all rows"]
    assert [stage.rows for stage in staged.trace][:2] == [2_000, 5_000]
    np.testing.assert_allclose(staged.delta, whole.delta, atol=1e-6)
    short = pre.solve(problem, settings=pre.Settings(max_step=0.1))
    assert short.iterations > whole.iterations
    np.testing.assert_allclose(short.delta, best, atol=1e-4)


def test_results_do_not_depend_on_the_number_of_threads():
    problem, _ = planted(n=60_000, k=4, strength=1.0)
    found = [
        pre.solve(problem, settings=pre.Settings(threads=threads, block_size=20_000, small=0))
        for threads in (None, 1, 2, 3)
    ]
    for solution in found:
        assert np.array_equal(solution.delta, found[0].delta)
        assert solution.certificate == found[0].certificate
    targets = problem.target + np.zeros((5, 4))
    many = [pre.solve_many(problem, targets, settings=pre.Settings(threads=threads)) for threads in (1, 2)]
    assert np.array_equal(many[0].delta, many[1].delta)


def test_blocks_are_reduced_by_the_given_number_of_threads(monkeypatch):
    seen, work = set(), passes._unscaled_moments

    def watched(rows, delta):
        seen.add((threading.get_ident(), rows.shape[0]))
        time.sleep(0.01)  # so that no thread is idle for long
        return work(rows, delta)

    monkeypatch.setattr(passes, "_unscaled_moments", watched)
    problem, _ = planted(n=60_000, k=4, strength=1.0)
    for threads in (1, 3):
        seen.clear()
        pre.solve(problem, settings=pre.Settings(threads=threads, block_size=20_000))
        assert len({thread for thread, _ in seen}) == threads
        assert {rows for _, rows in seen} == {5_000}
