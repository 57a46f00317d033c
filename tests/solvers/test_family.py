"""The convex family: Newton in (c, δ) agrees with the cone engine and is certified, for every member."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_divergences import Hellinger

import pre_convex as pre
from pre_convex.divergences import DIVERGENCES
from pre_convex.penalties import make_penalty
from pre_convex.solvers.family import newton_linked

NAMES = ["kl", "chi2", "reverse-kl"]
BOUNDS = {"none": None, "loose": (0.05, 8.0), "tight": (0.4, 1.9)}
RADII = {
    "exact": (0.0, 2),
    **{f"{R} in norm {norm}": (R, norm) for R in (0.01, 0.3) for norm in (2, np.inf, 1)},
    "per feature": ([0.0, 0.01, 0.3, np.inf], 2),
    "small per feature": ([0.01, 0.0, 0.02, 0.005], 2),
}


def draw(seed=0, n=150, k=4, shift=0.25, **terms):
    """A random problem whose target is near the base mean."""
    rng = np.random.default_rng(seed)
    F, a = rng.normal(size=(n, k)), 0.3 * rng.normal(size=n)
    base = np.exp(a) / np.exp(a).sum()
    return pre.RatioProblem(base @ F + shift * rng.normal(size=k) / np.sqrt(k), F, a, **terms)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("divergence", NAMES)
def test_newton_agrees_with_the_cone_engine(divergence, bounds, radius):
    R, norm = RADII[radius]
    problem = draw(seed=len(radius), radius=R, norm=norm, divergence=divergence, bounds=BOUNDS[bounds])
    newton = pre.solve(problem)
    assert newton.status is pre.Status.OPTIMAL
    assert newton.gap <= 1e-8
    for formulation in ("primal", "dual"):
        cone = pre.solve(problem, formulation, "CLARABEL", polish=False, tol=1e-10, check=False)
        assert newton.primal_value == pytest.approx(cone.primal_value, abs=1e-6)
        np.testing.assert_allclose(newton.mu, cone.mu, atol=1e-6)
        np.testing.assert_allclose(newton.delta, cone.delta, atol=2e-4)


@pytest.mark.parametrize("divergence", NAMES)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_answers_satisfy_the_optimality_conditions(divergence, bounds):
    problem = draw(3, divergence=divergence, bounds=BOUNDS[bounds])
    solution = pre.solve(problem)
    s = solution.intercept + problem.features_q @ solution.delta
    ratio = solution.mu / np.exp(problem.log_base)
    np.testing.assert_allclose(ratio, problem.link.ratio(s), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(problem.residual(solution.mu), 0.0, atol=1e-8)
    assert solution.mu.sum() == pytest.approx(1.0, abs=1e-13)
    assert solution.dual_value == pytest.approx(problem.dual_value(solution.mu), abs=1e-9)
    assert solution.intercept == pytest.approx(problem.intercept(solution.delta), abs=1e-8)


def test_kl_by_the_family_engine_is_kl():
    problem = draw(1, radius=0.05)
    found = newton_linked(problem, make_penalty(problem), pre.Settings())
    known = pre.solve(problem)
    np.testing.assert_allclose(found.delta, known.delta, atol=1e-8)
    assert found.certificate.primal_value == pytest.approx(known.primal_value, abs=1e-12)
    assert found.certificate.proves(1e-8)
    assert known.intercept == pytest.approx(problem.intercept(known.delta), abs=1e-12)


@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_bounds_so_wide_that_they_do_not_bind_change_nothing(norm):
    free, bounded = draw(2, radius=0.02, norm=norm), draw(2, radius=0.02, norm=norm, bounds=(1e-6, 1e6))
    np.testing.assert_allclose(pre.solve(free).delta, pre.solve(bounded).delta, atol=1e-7)


def test_equal_radii_of_all_features_are_the_norm_inf():
    one, each = draw(4, radius=0.05, norm=np.inf), draw(4, radius=[0.05] * 4)
    np.testing.assert_allclose(pre.solve(one).delta, pre.solve(each).delta, atol=1e-8)


def test_a_feature_that_is_left_out_is_not_used():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(200, 3))
    with_it = pre.solve(pre.RatioProblem([0.1, 0.2, 99.0], F, radius=[0.0, 0.05, np.inf]))
    without = pre.solve(pre.RatioProblem([0.1, 0.2], F[:, :2], radius=[0.0, 0.05]))
    assert with_it.delta[2] == 0.0
    np.testing.assert_allclose(with_it.delta[:2], without.delta, atol=1e-9)


def test_radius_by_name():
    F = np.random.default_rng(0).normal(size=(50, 3))
    problem = pre.RatioProblem([0.1, 0.0, 0.0], F, radius={"age": 0.1, ...: 0.02}, feature_names=["age", "dose", "sex"])
    assert problem.radius.tolist() == [0.1, 0.02, 0.02]
    assert problem.with_radius({"sex": np.inf}).radius.tolist() == [0.0, 0.0, np.inf]


@pytest.mark.parametrize("divergence", NAMES)
def test_bounds_hold_exactly(divergence):
    problem = draw(5, divergence=divergence, bounds=(0.5, 1.6))
    mu, pi = pre.solve(problem).mu, np.exp(problem.log_base)
    assert np.all((mu >= 0.5 * pi) & (mu <= 1.6 * pi))
    assert np.any(mu == 1.6 * pi)
    capped = draw(5, divergence=divergence, max_weight=0.012)
    assert pre.solve(capped).mu.max() == 0.012


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    name=st.sampled_from(NAMES),
    low=st.floats(0.0, 0.6),
    high=st.floats(1.6, 6.0),
    radius=st.sampled_from([0.0, 0.05]),
)
def test_properties_of_bounded_problems(seed, name, low, high, radius):
    problem = draw(seed, n=60, k=3, shift=0.15, radius=radius, divergence=name, bounds=(low, high))
    solution = pre.solve(problem, check=False)
    if solution.status is pre.Status.INFEASIBLE:
        return
    assert solution.status.ok
    assert solution.gap >= 0.0
    tighter = pre.solve(
        draw(seed, n=60, k=3, shift=0.15, radius=radius, divergence=name, bounds=(low, 0.5 + 0.5 * high)), check=False
    )
    if tighter.status.ok:  # a smaller feasible set
        assert tighter.dual_value <= solution.primal_value + 1e-12
    order = np.random.default_rng(seed).permutation(60)
    F, a = problem.features_q, problem.log_base
    terms = {"radius": radius, "divergence": name, "bounds": (low, high)}
    moved = pre.solve(pre.RatioProblem(problem.target, F[order], a[order], **terms))
    np.testing.assert_allclose(moved.mu, solution.mu[order], atol=1e-7)
    twice = pre.solve(pre.RatioProblem(problem.target, np.vstack([F, F]), np.append(a, a), **terms))
    np.testing.assert_allclose(twice.mu[:60] + twice.mu[60:], solution.mu, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_affine_changes_of_features_change_delta_accordingly(name):
    problem = draw(6, divergence=name, bounds=(0.1, 3.0))
    T, offset = np.random.default_rng(1).normal(size=(4, 4)), np.array([1e3, -5.0, 0.0, 20.0])
    other = pre.RatioProblem(
        problem.target @ T + offset, problem.features_q @ T + offset, problem.log_base, divergence=name, bounds=(0.1, 3)
    )
    one, two = pre.solve(problem), pre.solve(other)
    np.testing.assert_allclose(one.mu, two.mu, atol=1e-8)
    np.testing.assert_allclose(T @ two.delta, one.delta, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_constant_and_collinear_features(name):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, size=(80, 2)).astype(float)
    F = np.column_stack([x, x.sum(axis=1), np.full(80, 7.0)])
    weights = rng.dirichlet(np.ones(80))
    b = weights @ F[:, :2]
    target = np.append(b, [b.sum(), 7.0])
    solution = pre.solve(pre.RatioProblem(target, F, divergence=name))
    plain = pre.solve(pre.RatioProblem(b, x, divergence=name))
    np.testing.assert_allclose(solution.mu, plain.mu, atol=1e-8)


def test_bounds_for_each_row():
    rng = np.random.default_rng(0)
    lower, upper = rng.uniform(0.0, 0.8, 150), rng.uniform(1.2, 3.0, 150)
    upper[::7] = np.inf
    problem = draw(7, divergence="chi2", bounds=(lower, upper))
    solution = pre.solve(problem)
    cone = pre.solve(problem, "dual", "CLARABEL", polish=False, tol=1e-9, check=False)
    np.testing.assert_allclose(solution.mu, cone.mu, atol=1e-6)


def test_rows_that_may_not_move():
    lower = np.where(np.arange(150) < 20, 1.0, 0.0)
    upper = np.where(np.arange(150) < 20, 1.0, np.inf)
    problem = draw(8, shift=0.1, bounds=(lower, upper))
    mu = pre.solve(problem).mu
    np.testing.assert_array_equal(mu[:20], np.exp(problem.log_base[:20]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bounds", [None, (0.3, 4.0)])
def test_user_terms_of_delta(name, bounds):
    problem = draw(9, radius=0.02, divergence=name, bounds=bounds)
    for terms in (
        {"constraints": lambda d: [d >= 0]},
        {"penalty": lambda d: 0.05 * cp.norm1(d)},
        {"penalty": lambda d: 0.1 * cp.sum_squares(d), "constraints": lambda d: [cp.sum(d) <= 0.1]},
    ):
        newton = pre.solve(problem, tol=1e-7, **terms)  # the tolerance of the step's own solver is part of the gap
        cone = pre.solve(problem, solver="CLARABEL", polish=False, tol=1e-9, check=False, **terms)
        assert newton.primal_value == pytest.approx(cone.primal_value, abs=1e-6)
    exact = problem.with_radius(0.0)
    assert pre.solve(exact, constraints=lambda d: [d >= 0]).delta.min() >= -1e-12


@pytest.mark.parametrize("kind", ["bounds", "max_weight", "per feature", "chi2", "reverse-kl"])
def test_infeasible_problems_are_proven(kind):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(60, 3))
    far = [9.0, 9.0, 9.0]
    problem = {
        "bounds": lambda: pre.RatioProblem([0.5, 0.4, 0.0], F, bounds=(0.0, 1.2)),
        "max_weight": lambda: pre.RatioProblem([0.5, 0.4, 0.0], F, max_weight=0.02),
        "per feature": lambda: pre.RatioProblem(far, F, radius=[0.1, 0.1, 0.0]),
        "chi2": lambda: pre.RatioProblem(far, F, divergence="chi2"),
        "reverse-kl": lambda: pre.RatioProblem(far, F, divergence="reverse-kl", radius=0.1),
    }[kind]()
    with pytest.raises(pre.InfeasibleError, match=r"[Nn]o weights") as error:
        pre.solve(problem)
    v = error.value.direction
    # no feasible weights: the best mean along v falls short of the target by more than the radius is worth
    assert problem.penalty_value(v) < -np.max((F - problem.target) @ v) or problem.link.bounded
    best = cp.Variable(60, nonneg=True)
    upper = np.broadcast_to(problem.bounds[1], 60) / 60
    limits = [cp.sum(best) == 1, *([best <= upper] if problem.link.bounded else [])]
    top = cp.Problem(cp.Maximize(((F - problem.target) @ v) @ best), limits).solve(solver="CLARABEL")
    assert top + problem.penalty_value(v) < 0.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bounds", [None, (0.1, 3.0)])
@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_targets_off_the_span_of_the_rows_are_infeasible(name, bounds, radius):
    F = np.random.default_rng(0).normal(size=(4, 6))
    problem = pre.RatioProblem(F.mean(axis=0) + 1.0, F, radius=radius, divergence=name, bounds=bounds)
    assert pre.solve(problem, check=False).status is pre.Status.INFEASIBLE
    assert problem.without_bounds().bounds == (0.0, np.inf)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bounds", [None, (0.3, 2.5)])
def test_blocks_give_the_same_answer(name, bounds):
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.2, 1.0, (300, 3)), rng.normal(size=(500, 3))
    blocks = [lambda i=i: x_q[100 * i : 100 * (i + 1)] for i in range(5)]
    terms = {"divergence": name, "bounds": bounds, "radius": 0.01}
    blocked = pre.RatioProblem.from_blocks([lambda: x_p], blocks, **terms)
    known = pre.RatioProblem.from_samples(x_p, x_q, **terms)
    one, two = pre.solve(blocked), pre.solve(known)
    np.testing.assert_allclose(one.delta, two.delta, atol=1e-8)
    np.testing.assert_allclose(one.mu, two.mu, atol=1e-10)
    assert blocked.in_memory().divergence == name
    assert blocked.in_memory().bounds == known.bounds


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bounds", [None, (0.2, 3.0)])
def test_many_rows_start_from_a_sample(name, bounds):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(80_000, 6))
    problem = pre.RatioProblem(0.2 * rng.normal(size=6), F, divergence=name, bounds=bounds)
    solution = pre.solve(problem)
    assert solution.status.ok
    assert solution.trace[0].name == "sample"
    exact = pre.solve(problem, settings=pre.Settings(small=10**9))
    assert solution.primal_value == pytest.approx(exact.primal_value, abs=1e-8)
    np.testing.assert_allclose(solution.mu * 80_000, exact.mu * 80_000, rtol=1e-3, atol=1e-3)  # the root of the gap


def test_radius_path_of_a_bounded_problem():
    problem = draw(10, divergence="chi2", bounds=(0.0, 3.0))
    path = pre.radius_path(problem, [0.3, 0.1, 0.0])
    assert all(solution.status.ok for solution in path)
    assert [s.primal_value for s in path] == sorted((s.primal_value for s in path), reverse=True)


def test_radius_path_with_one_radius_for_each_feature():
    problem = draw(9, divergence="chi2")
    radii = [[0.1, 0.0, 0.05, np.inf], {"f1": 0.02}, 0.03]
    for radius, solution in zip(radii, pre.radius_path(problem, radii), strict=True):
        np.testing.assert_allclose(solution.delta, pre.solve(problem.with_radius(radius)).delta, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_a_target_on_the_edge_of_what_the_bounds_allow_is_named(name):
    F = np.random.default_rng(0).normal(size=(16, 2))
    top = np.argsort(F[:, 0])[-8:]
    weights = np.full(16, 0.9 / 16)
    weights[top] = 1.1 / 16  # the largest mean of the first feature
    problem = pre.RatioProblem(weights @ F, F, divergence=name, bounds=(0.9, 1.1))
    solution = pre.solve(problem, check=False)
    np.testing.assert_allclose(solution.mu, weights, atol=1e-6)
    assert solution.hull.position is pre.Position.BOUNDARY
    with pytest.raises(pre.SolveError, match="on the edge of what weights within the bounds can match"):
        pre.solve(problem)


@pytest.mark.parametrize("name", NAMES)
def test_rows_without_base_weight_have_none_wherever_they_are(name):
    rng = np.random.default_rng(0)
    F, a = rng.normal(size=(40, 2)), np.zeros(40)
    a[:13] = -np.inf
    F[:13] *= 10.0  # reverse KL has infinite ratios there
    solution = pre.solve(pre.RatioProblem([0.3, -0.2], F, a, divergence=name, bounds=(0.0, 1e3)))
    assert solution.mu.sum() == pytest.approx(1.0, abs=1e-12)
    assert not np.any(solution.mu[:13])
    np.testing.assert_allclose(solution.mu @ F, [0.3, -0.2], atol=1e-6)
    free = pre.solve(pre.RatioProblem([0.3, -0.2], F, a, divergence=name))
    np.testing.assert_allclose(free.mu, solution.mu, atol=1e-6)


def test_an_added_divergence_is_solved_and_certified(monkeypatch):
    monkeypatch.setitem(DIVERGENCES, "hellinger", Hellinger())
    for bounds in (None, (0.3, 2.5)):
        problem = draw(11, divergence="hellinger", bounds=bounds, radius=0.01)
        newton = pre.solve(problem)
        cone = pre.solve(problem, "dual", "CLARABEL", polish=False, tol=1e-9, check=False)
        assert newton.gap <= 1e-8
        np.testing.assert_allclose(newton.mu, cone.mu, atol=1e-6)


def test_solutions_can_be_pickled():
    solution = pre.solve(draw(12, divergence="reverse-kl", bounds=(0.1, 5.0)))
    again = pickle.loads(pickle.dumps(solution))
    assert again.intercept == solution.intercept
    np.testing.assert_array_equal(again.mu, solution.mu)


@pytest.mark.parametrize("terms", [{"divergence": "chi2"}, {"bounds": (0.0, 3.0)}, {"radius": [0.1, 0.1]}])
def test_what_the_family_does_not_cover_is_refused(terms):
    from pre_convex.statistics.selection import automatic_radius

    rng = np.random.default_rng(0)
    problem = pre.RatioProblem.from_samples(rng.normal(0.1, 1.0, (60, 2)), rng.normal(size=(80, 2)), **terms)
    solution = pre.solve(problem)
    calls = [
        lambda: automatic_radius(problem),
        lambda: pre.verify(problem, solution),
    ]
    for call in calls:
        with pytest.raises(pre.DataError):
            call()
    assert pre.diagnose(problem, solution).ess_mu == pytest.approx(1.0 / (solution.mu @ solution.mu))


def test_intercepts_of_many_problems():
    rng = np.random.default_rng(0)
    found = pre.solve_many(rng.normal(size=(60, 2)) + 3.0, 3.0 + 0.1 * rng.normal(size=(4, 2)))
    for w in range(4):
        assert found[w].intercept == pytest.approx(found.problem(w).intercept(found[w].delta), abs=1e-11)


def test_files_keep_the_intercept(tmp_path):
    rng = np.random.default_rng(0)
    fit = pre.KLIEP().fit(rng.normal(0.3, 1.0, (50, 2)), rng.normal(size=(80, 2)))
    pre.save(fit, tmp_path / "fit.npz")
    loaded = pre.load(tmp_path / "fit.npz")
    assert loaded.solution_.intercept == pytest.approx(fit.solution_.intercept, abs=1e-14)
    assert fit.log_ratio([[0.0, 0.0]])[0] == pytest.approx(fit.solution_.intercept, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_few_extreme_rows_do_not_spoil_a_subset(seed):
    """The ratio of reverse KL has a pole, so that rows far out may have weights ten thousand times the average."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(40_000, 5))
    target = pre.RatioProblem(np.zeros(5), F).gradient(0.3 * rng.normal(size=5))
    problem = pre.RatioProblem(target, F, divergence="reverse-kl")
    solution, whole = pre.solve(problem, settings=pre.Settings(small=0)), pre.solve(problem)
    assert solution.mu.max() * 40_000 > 100.0
    assert abs(solution.primal_value - whole.primal_value) <= solution.gap + whole.gap
    assert sum(stage.passes for stage in solution.trace if stage.name == "all rows") <= 10


def test_targets_close_to_the_edge_of_what_bounded_weights_reach_are_proven():
    """Few rows are strictly within their bounds there, so that the curvature vanishes along some directions."""
    rng = np.random.default_rng(11)
    proven = []
    for _ in range(60):
        n, k = int(rng.integers(12, 60)), int(rng.integers(2, 7))
        F, high = rng.normal(size=(n, k)), float(rng.uniform(1.5, 4.0))
        inside = np.full(n, 1.0 / n)
        corner = np.zeros(n)  # the weights of a corner: as many rows as possible at the upper bound
        order = np.argsort(-(F @ rng.normal(size=k)))
        left = 1.0
        for j in order:
            corner[j] = min(high / n, left)
            left -= corner[j]
        mu = corner + 1e-6 * (inside - corner)
        solution = pre.solve(pre.RatioProblem(mu @ F, F, divergence="chi2", bounds=(0.0, high)), check=False)
        proven.append(solution.status is pre.Status.OPTIMAL)
    assert np.mean(proven) >= 0.95


@pytest.mark.parametrize(
    "terms", [{"radius": [0.0, 0.0, 0.0]}, {"radius": [0.0, 0.01, 0.0]}, {"divergence": "chi2"},
              {"divergence": "reverse-kl"}, {"bounds": (0.0, 20.0)}]
)  # fmt: skip
def test_collinear_columns_are_solved_in_coordinates_of_their_own(terms):
    """Celsius and Fahrenheit rounded to float32: the ratio is determined, δ only along one direction."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = np.append(rng.normal(17.0, 9.0, 500), rng.normal(15.0, 9.0, 1000))
        F = np.column_stack([x.astype("f4"), rng.normal(size=1500), (x * 1.8 + 32.0).astype("f4")]).astype(float)
        solution = pre.solve(pre.RatioProblem.from_samples(F[:500], F[500:], **terms))
        F[:, 2] -= 1.8 * F[:, 0] + 32.0  # what rounding left, in a column of its own
        apart = pre.solve(pre.RatioProblem.from_samples(F[:500], F[500:], **terms))
        assert solution.primal_value == pytest.approx(apart.primal_value, abs=1e-8)


@pytest.mark.parametrize(
    "terms", [{}, {"radius": [0.0, 1e-2]}, {"radius": [0.0, 0.0]}, {"radius": 0.01}, {"divergence": "chi2"},
              {"divergence": "chi2", "radius": [0.0, 1e-2]}, {"divergence": "reverse-kl"}, {"bounds": (0.0, 20.0)}]
)  # fmt: skip
@pytest.mark.parametrize("n_p", [30, 1000, 3000])
@pytest.mark.parametrize("uneven", [0.0, 0.5])
def test_a_target_may_be_a_mean_of_equal_numbers_added_one_after_the_other(terms, n_p, uneven):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        P = np.column_stack([np.full(n_p, 1.1), rng.normal(0.2, 1.0, n_p)])
        Q = np.column_stack([np.full(1000, 1.1), rng.normal(size=1000)])
        target, a = P.mean(axis=0), uneven * rng.normal(size=1000)
        assert target[0] != 1.1
        solution = pre.solve(pre.RatioProblem(target, Q, a, **terms))
        plain = {name: value[1:] if isinstance(value, list) else value for name, value in terms.items()}
        alone = pre.solve(pre.RatioProblem(target[1:], Q[:, 1:], a, **plain))
        assert solution.delta[1] == pytest.approx(alone.delta[0], abs=1e-6)


def test_weights_sum_to_one_however_large_their_ratios_are():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        F, a = rng.normal(size=(30, 2)), 20.0 * rng.normal(size=30)
        target = rng.dirichlet(np.ones(30)) @ F
        for bounds in (None, (0.3, np.inf)):
            problem = pre.RatioProblem(target, F, a, divergence="reverse-kl", bounds=bounds)
            assert pre.solve(problem, check=False).mu.sum() == pytest.approx(1.0, abs=1e-13)
        far = pre.RatioProblem(target, F, a, divergence="reverse-kl")
        assert far.mu(10.0 ** rng.integers(0, 15) * rng.normal(size=2)).sum() == pytest.approx(1.0, abs=1e-13)
