"""Cone solvers get the tolerance under their own names, no iteration limit, and no warm start."""

import time

import pytest
from pre_convex_lab.solvers.contenders import find_contender, solver_options
from pre_convex_lab.solvers.sets import load_set

from pre_convex.solvers import CONE_SOLVERS, find_solver, installed_solvers

#: names of the tolerances in each solver's manual
TOLERANCES = {
    "CLARABEL": ["tol_gap_abs", "tol_gap_rel", "tol_feas"],
    "ECOS": ["abstol", "reltol", "feastol"],
    "SCS": ["eps_abs", "eps_rel"],
    "MOREAU": ["tol_gap_abs", "tol_gap_rel", "tol_feas"],
    "MOSEK": [f"MSK_DPAR_INTPNT_CO_TOL_{name}" for name in ("REL_GAP", "PFEAS", "DFEAS")],
}


@pytest.mark.parametrize("name", CONE_SOLVERS)
def test_options_set_all_tolerances_and_lift_the_iteration_limit(name):
    options = solver_options(CONE_SOLVERS[name], 1e-5)
    assert options.pop("warm_start") is False
    options |= options.pop("mosek_params", {}) | options.pop("ipm_settings", {})
    assert [option for option, value in options.items() if value == 1e-5] == TOLERANCES[name]
    rest = {option: value for option, value in options.items() if option not in TOLERANCES[name]}
    assert rest.pop("MSK_IPAR_NUM_THREADS", 1) == 1
    (limit,) = rest.values()
    assert limit >= 100_000


@pytest.mark.parametrize("name", [name for name in installed_solvers() if find_solver(name) is not None])
def test_cvxpy_passes_the_options_to_the_solver(name, monkeypatch):
    import cvxpy as cp

    seen, solve = [], cp.Problem.solve
    monkeypatch.setattr(cp.Problem, "solve", lambda self, **options: seen.append(options) or solve(self, **options))
    answer = find_contender(name)(load_set("smoke").cases[0].problem, "dual", 1e-6)
    assert answer.claim == "optimal"
    assert {"solver": name, **solver_options(find_solver(name), 1e-6)}.items() <= seen[0].items()


def test_an_exception_of_the_solver_becomes_its_claim_and_counts_as_solve_time(monkeypatch):
    import cvxpy as cp

    def fail(self, **options):
        time.sleep(0.2)
        raise cp.SolverError("gave up")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    answer = find_contender("CLARABEL")(load_set("smoke").cases[0].problem, "dual", 1e-6)
    assert answer.claim == "SolverError: gave up"
    assert answer.solve_time >= 0.2
