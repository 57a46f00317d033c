import numpy as np
import pytest
from engines import OWN, cone, in_turn
from zoo import BOUNDARY, INFEASIBLE, OPTIMAL, ZOO, of_kind, planted

import pre_convex as pre

CONE = pre.installed_solvers()[1:]
NORMS = [2, np.inf, 1]


def assert_known(solution, animal):
    """The answer is the known one, to the accuracy that its gap proves."""
    assert solution.status is animal.kind
    known, scale = animal.answer, 1.0 + abs(animal.value)
    if animal.kind is INFEASIBLE:
        assert solution.hull.radius == pytest.approx(known.minimal_radius, rel=1e-9)
        return
    assert solution.gap <= 1e-8 * scale
    assert animal.value - 1e-12 * scale <= solution.primal_value + solution.certificate.noise
    assert solution.primal_value <= animal.value + solution.gap + 1e-12 * scale
    if known.delta is not None:
        off = solution.delta - known.delta
        H = animal.problem.hessian(known.delta)
        # the loss grows quadratically around the minimum
        assert 0.5 * off @ H @ off <= 1.01 * solution.gap + 1e-15 * scale
    if known.mu is not None:
        # by Pinsker's inequality
        assert np.abs(solution.mu - known.mu).sum() <= np.sqrt(2.0 * (solution.gap + 1e-15 * scale))
        assert animal.problem.dual_value(solution.mu) == pytest.approx(animal.value, abs=1e-7 * scale)


@pytest.mark.parametrize("animal", ZOO.values(), ids=str)
def test_newton_engines_solve_the_zoo(animal):
    for name, engine in OWN.items():
        if animal.small or name == "newton":
            assert_known(engine(animal.problem), animal)


@pytest.mark.parametrize(("animal", "solver", "formulation"), in_turn(ZOO.values(), 3), ids=str)
def test_cone_solvers_solve_the_zoo(animal, solver, formulation):
    solution = cone(solver, formulation)(animal.problem)
    assert_known(solution, animal)
    if solution.raw is not None:  # no answer, no certificate
        assert solution.raw.gap >= -1e-12 * (1.0 + abs(animal.value))


def test_a_batch_from_the_zoo():
    """Problems that share rows have the same answers in one batch as one by one."""
    square = [animal for animal in of_kind(BOUNDARY, INFEASIBLE) if animal.problem.features_q.shape == (4, 2)]
    rows = square[0].problem.features_q
    same = [animal for animal in square if np.array_equal(animal.problem.features_q, rows) and animal.problem.norm == 2]
    assert len(same) >= 8
    bases = np.array([animal.problem.log_base for animal in same])
    radii = np.array([animal.problem.radius for animal in same])
    found = pre.solve_many(rows, [animal.problem.target for animal in same], bases, radius=radii)
    for animal, solution in zip(same, found, strict=True):
        assert_known(solution, animal)


@pytest.mark.parametrize("norm", NORMS)
def test_a_path_of_radii_finds_the_answers_of_single_solves(norm):
    """Warm starts along a path lead to the known answers."""
    animals = [
        a for a in of_kind(OPTIMAL) if a.name.startswith(("norm", "zero is optimal, norm")) and a.problem.norm == norm
    ]
    assert len(animals) == 3
    for animal in animals:
        R = animal.problem.radius
        *_, there, back = pre.radius_path(animal.problem, [10.0 * R, 3.0 * R, R, 2.0 * R, R])
        assert_known(back, animal)
        assert there.status.ok


def test_the_required_solvers_are_installed():
    assert {"newton", "CLARABEL", "SCS"} <= set(pre.installed_solvers())


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("radius", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("formulation", ["primal", "dual"])
@pytest.mark.parametrize("solver", CONE)
def test_every_solver_agrees_with_newton_and_is_certified(solver, formulation, norm, radius, seed):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(150, 4))
    problem = pre.RatioProblem(0.35 * rng.normal(size=4), F, rng.normal(size=150), radius=radius, norm=norm)
    reference = pre.solve(problem)
    solution = pre.solve(problem, formulation, solver)
    assert solution.status is pre.Status.OPTIMAL
    assert solution.gap <= 1e-7 * (1 + abs(solution.primal_value))
    assert solution.certificate.e_qn <= 1e-7
    np.testing.assert_allclose(solution.delta, reference.delta, atol=1e-6)
    # the certificate can be recomputed, and that of the unpolished answer is kept
    assert pre.certify(problem, solution.delta, solution.mu).proves(1e-7)
    assert solution.raw is not None
    assert solution.raw.gap >= -1e-12
    assert solution.claim


@pytest.mark.parametrize("radius", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("norm", NORMS)
def test_newton_finds_the_planted_answer(norm, radius):
    for seed in range(5):
        problem, delta = planted(n=300, k=5, seed=seed, radius=radius, norm=norm)
        solution = pre.solve(problem)
        np.testing.assert_allclose(solution.delta, delta, atol=1e-7)
        assert solution.gap <= 1e-12
        if norm == np.inf and radius:
            assert np.all(solution.delta[1::2] == 0.0)  # exact zeros


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("radius", [0.0, 0.1])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_the_multiplier_of_the_dual_is_the_primal_delta(norm, radius, counts, scaled):
    """Both programs return the planted (δ, μ), as closely as the accuracy they reached allows."""
    problem, delta = planted(n=80, k=3, radius=radius, norm=norm)
    optimum, H, weights = problem.value(delta), problem.hessian(delta), np.exp(problem.log_mu(delta))
    dual = pre.dual_program(problem, scaled=scaled, counts=counts)
    primal = pre.primal_program(problem, scaled=scaled)
    slack = 0.0
    for program in (dual, primal):
        program.cvxpy.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        # on some machines round-off stalls CLARABEL, which then accepts its reduced tolerances, up to 1e-4
        accuracy = 1e-9 if program.cvxpy.status == "optimal" else 1e-3
        slack += accuracy
        found, mu = program.recover()
        assert mu.sum() == pytest.approx(1.0, abs=accuracy)
        mu = mu / mu.sum()
        proof = pre.certify(problem, found, mu)
        assert proof.gap <= accuracy
        off = found - delta
        assert 0.5 * off @ H @ off <= 1.01 * proof.gap + 1e-15  # what a step off the minimum costs
        shortfall = proof.gap
        if program is dual:  # its weights are variables of their own
            shortfall = optimum - problem.dual_value(mu) + np.abs(delta).sum() * proof.moment_residual
            assert shortfall <= accuracy
        assert np.abs(mu - weights).sum() <= np.sqrt(2.0 * max(shortfall, 0.0) + 1e-14)  # Pinsker's inequality
    if not (scaled or counts):
        assert dual.cvxpy.value == pytest.approx(primal.cvxpy.value, abs=slack)


def test_the_programs_are_dcp_and_print_like_the_equations():
    problem, _ = planted(n=20, k=2, radius=0.1)
    for program in (pre.primal_program(problem), pre.dual_program(problem)):
        assert program.cvxpy.is_dcp()
    assert str(pre.primal_program(problem)) == "minimize -b @ delta + log_sum_exp(a + F @ delta) + R * norm2(delta)"
    text = str(pre.dual_program(problem))
    for part in ("maximize sum(entr(mu)) + a @ mu", "sum(mu) == 1.0", "r == b - F.T @ mu", "norm2(r) <= R"):
        assert part in text
    assert "b - F.T @ mu == 0" in str(pre.dual_program(problem.with_radius(0.0)))


def test_the_newton_step_is_compiled_once():
    import cvxpy as cp

    from pre_convex.penalties.step_program import StepProgram

    problem, _ = planted(k=3)
    step = StepProgram(problem, lambda d: cp.norm1(d), lambda d: [d >= -1])
    form = step.form
    for scale in (1.0, 2.0):
        step.solve(scale * np.ones(3), np.eye(3))
        assert step.form is form


@pytest.mark.parametrize("name", ["CLARABEL", "newton"])
def test_fields_of_a_solution(name):
    problem, _ = planted()
    solution = pre.solve(problem, "dual", name)
    assert (solution.solver, solution.formulation) == (name, "dual")
    assert solution.iterations > 0
    assert solution.solve_time > 0.0
    assert (solution.compile_time > 0.0) == (name == "CLARABEL")
    assert solution.dual_value == pytest.approx(solution.primal_value, abs=1e-9)
    assert str(solution.status).startswith("Optimal: ")
    assert "OPTIMAL" in repr(solution)
    with pytest.raises(ValueError, match="read-only"):
        solution.delta[0] = 0.0


def test_without_polish_the_raw_answer_is_certified(monkeypatch):
    from pre_convex.solvers import CONE_SOLVERS, ConeSolver

    # final accuracy differs between versions of SCS; after 25 iterations all of them are far from the solution
    monkeypatch.setitem(CONE_SOLVERS, "SCS", ConeSolver("SCS", lambda tol: {"max_iters": 25}, counts=True))
    problem, _ = planted(n=150, spread=3.0)
    rough = pre.solve(problem, "dual", "SCS", polish=False, check=False, tol=1e-3)
    assert rough.raw is rough.certificate
    assert not rough.polished
    assert rough.certificate.gap > 1e-3
    polished = pre.solve(problem, "dual", "SCS", tol=1e-3)
    assert polished.polished
    assert polished.gap < rough.gap
    assert polished.raw.gap == pytest.approx(rough.gap, rel=1e-6)


def test_options_of_a_registry_entry_are_used(monkeypatch):
    from pre_convex.solvers import CONE_SOLVERS, ConeSolver

    monkeypatch.setitem(CONE_SOLVERS, "CLARABEL", ConeSolver("CLARABEL", lambda tol: {"max_iter": 3}))
    problem, _ = planted()
    with pytest.raises(pre.SolveError) as error:
        pre.solve(problem, solver="CLARABEL", polish=False)
    assert error.value.solution.status in (pre.Status.INACCURATE, pre.Status.FAILED)
    assert "CLARABEL" in str(error.value)


def test_radius_path_is_what_single_solves_give():
    problem, _ = planted(n=150, k=4)
    radii = [1.0, 0.3, 0.1, 0.01, 0.0]
    path = pre.radius_path(problem, radii)
    for radius, solution in zip(radii, path, strict=True):
        single = pre.solve(problem.with_radius(radius))
        np.testing.assert_allclose(solution.delta, single.delta, atol=1e-7)
        assert solution.status.ok


def tables_with_a_copy(seed, rounded):
    """Two samples with categories, a count and microseconds, and one column again in another unit."""
    rng = np.random.default_rng(seed)

    def draw(n, shift):
        level = rng.integers(0, 5, n)
        stamps = np.floor(1.7e15 + 5e11 * rng.beta(1.0 + shift, 1.0, n))
        count = rng.poisson(600.0 + 50.0 * shift, n).astype(float)
        small = 1e-6 * rng.normal(shift, 1.0, n)
        F = np.column_stack([*(level == j for j in range(5)), stamps, count, small]).astype(float)
        copied = 1.8 * F[:, 5 + seed % 3] + 32.0
        return np.column_stack([F, copied.astype(np.float32) if rounded else copied])

    return draw(200, 0.2), draw(300, 0.0)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("rounded", [False, True])
def test_copies_in_other_units_are_proven(rounded, norm):
    for seed in range(9):
        p, q = tables_with_a_copy(seed, rounded)
        problem = pre.RatioProblem.from_samples(p, q, norm=norm)
        solution = pre.solve(problem)
        assert solution.status is pre.Status.OPTIMAL
        assert pre.certify(problem, solution.delta).proves(1e-8)
        if not rounded:  # the copy adds nothing
            alone = pre.solve(pre.RatioProblem.from_samples(p[:, :-1], q[:, :-1]))
            assert solution.primal_value == pytest.approx(alone.primal_value, abs=1e-7)


def test_constant_columns_far_from_zero_cost_no_digits():
    rng = np.random.default_rng(4)
    for norm in (1, 2, np.inf):
        F = np.column_stack([rng.normal(size=(4000, 20)), np.full(4000, 1e6)])
        b = np.append(F[:400, :-1].mean(axis=0), 1e6)
        assert pre.solve(pre.RatioProblem(b, F, radius=0.02, norm=norm)).certificate.noise < 1e-12
