"""How the cone solvers of the benchmark are called."""

import time

import pytest

from pre_convex.benchmark.contenders import _options, find_contender
from pre_convex.solvers import CONE_SOLVERS, find_solver, installed_solvers

#: what each solver's manual calls its tolerances
TOLERANCES = {
    "CLARABEL": ["tol_gap_abs", "tol_gap_rel", "tol_feas"],
    "ECOS": ["abstol", "reltol", "feastol"],
    "SCS": ["eps_abs", "eps_rel"],
    "MOSEK": [f"MSK_DPAR_INTPNT_CO_TOL_{name}" for name in ("REL_GAP", "PFEAS", "DFEAS")],
}


@pytest.mark.parametrize("name", CONE_SOLVERS)
def test_one_tolerance_has_each_solvers_own_names_and_nothing_else_ends_a_solve(name):
    options = _options(CONE_SOLVERS[name], 1e-5)
    assert options.pop("warm_start") is False
    options |= options.pop("mosek_params", {})
    assert [option for option, value in options.items() if value == 1e-5] == TOLERANCES[name]
    rest = {option: value for option, value in options.items() if option not in TOLERANCES[name]}
    assert rest.pop("MSK_IPAR_NUM_THREADS", 1) == 1
    (limit,) = rest.values()
    assert limit >= 100_000


@pytest.mark.parametrize("name", [name for name in installed_solvers() if find_solver(name) is not None])
def test_the_solver_is_given_them(name, monkeypatch):
    """cvxpy takes all options, and hands them on."""
    import cvxpy as cp

    from pre_convex.benchmark.sets import load_set

    seen, solve = [], cp.Problem.solve
    monkeypatch.setattr(cp.Problem, "solve", lambda self, **options: seen.append(options) or solve(self, **options))
    answer = find_contender(name)(load_set("smoke").cases[0].problem, "dual", 1e-6)
    assert answer.claim == "optimal"
    assert {"solver": name, **_options(find_solver(name), 1e-6)}.items() <= seen[0].items()


def test_a_solver_that_raises_has_spent_the_time_itself(monkeypatch):
    import cvxpy as cp

    from pre_convex.benchmark.sets import load_set

    def fail(self, **options):
        time.sleep(0.2)
        raise cp.SolverError("gave up")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    answer = find_contender("CLARABEL")(load_set("smoke").cases[0].problem, "dual", 1e-6)
    assert answer.claim == "SolverError: gave up"
    assert answer.solve_time >= 0.2
