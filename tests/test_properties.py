"""Metamorphic properties of problems, certificates and solvers, on planted and on fully random problems.

Two answers are compared by their certificates: each proves an interval that contains the optimum, so the intervals must
overlap. There are no tolerances apart from the round-off of the relation itself.
"""

import itertools
import tempfile
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from strategies import beyond, feasible, prop
from zoo import planted

import pre_convex as pre
from pre_convex.penalties import make_penalty
from pre_convex.solvers.stages import newton

EPS = float(np.finfo(float).eps)

seeds = st.integers(0, 10_000)
norms = st.sampled_from([2, np.inf, 1])
radii = st.sampled_from([0.0, 0.01, 0.1, 0.3])


@prop(seeds, norms, radii, st.floats(0.0, 4.0))
def test_the_gap_is_never_negative(seed, norm, radius, size):
    problem, delta = planted(n=60, k=3, seed=seed, radius=radius, norm=norm)
    rng = np.random.default_rng(seed)
    point = size * rng.normal(size=3)
    mu = rng.dirichlet(np.ones(problem.n_q))
    optimum = problem.value(delta)
    for given_mu in (None, mu, np.exp(problem.log_mu(delta))):
        certificate = pre.certify(problem, point, given_mu)
        assert certificate.gap >= -1e-12
        assert certificate.dual_value <= optimum + 1e-13
        assert certificate.primal_value >= optimum - 1e-13


@prop(seeds, norms, radii)
def test_the_gap_is_zero_at_the_optimum_and_slackness_holds(seed, norm, radius):
    problem, delta = planted(n=80, k=3, seed=seed, radius=radius, norm=norm)
    certificate = pre.certify(problem, delta)
    # the ball of a lift is smaller by a share of 1e-12
    assert certificate.gap <= 1e-13 + 2e-12 * (problem.value(delta) - problem.with_radius(0.0).value(delta))
    assert abs(certificate.slackness) <= 1e-12
    assert certificate.moment_residual <= 1e-12


@prop(seeds, norms, radii)
def test_shifting_the_features_changes_nothing(seed, norm, radius):
    problem, delta = planted(n=60, k=3, seed=seed, radius=radius, norm=norm)
    c = np.random.default_rng(seed).normal(size=3) * 10.0 ** np.random.default_rng(seed).integers(0, 5)
    moved = pre.RatioProblem(problem.target + c, problem.features_q + c, problem.log_base, radius=radius, norm=norm)
    np.testing.assert_allclose(pre.solve(moved).delta, delta, atol=1e-6)


@prop(seeds)
def test_linear_maps_of_the_features_map_delta_back(seed):
    problem, delta = planted(n=60, k=3, seed=seed)
    A = np.random.default_rng(seed).normal(size=(3, 3)) + 3 * np.eye(3)
    mapped = pre.RatioProblem(A @ problem.target, problem.features_q @ A.T, problem.log_base)
    np.testing.assert_allclose(A.T @ pre.solve(mapped).delta, delta, atol=1e-7)


@prop(seeds, norms)
def test_the_divergence_is_non_negative_and_falls_with_the_radius(seed, norm):
    problem, _ = planted(n=60, k=3, seed=seed, norm=norm)
    divergences = [-s.primal_value for s in pre.radius_path(problem.with_radius(0.0, norm), [0, 0.01, 0.1, 0.5, 3])]
    assert all(d >= -1e-14 for d in divergences)
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(divergences))


@prop(seeds, norms, st.floats(0.0, 1.0))
def test_beyond_the_base_residual_delta_is_exactly_zero(seed, norm, more):
    problem, _ = planted(n=60, k=3, seed=seed, norm=norm)
    at_zero = problem.moment_norm(problem.gradient(np.zeros(3)))
    solution = pre.solve(problem.with_radius(at_zero * (1 + 1e-12) + more, norm))
    assert np.all(solution.delta == 0.0)
    assert solution.gap <= 2.0 * solution.certificate.noise <= 1e-13


@prop(seeds)
def test_kl_of_the_weights_is_minus_the_value(seed):
    problem, delta = planted(n=60, k=3, seed=seed)
    solution = pre.solve(problem)
    positive = solution.mu > 0
    kl = np.sum(solution.mu[positive] * (np.log(solution.mu[positive]) - problem.log_base[positive]))
    assert -solution.primal_value == pytest.approx(kl - solution.certificate.slackness, abs=1e-13)
    assert abs(solution.certificate.slackness) <= 1e-7
    np.testing.assert_allclose(solution.delta, delta, atol=1e-7)


@prop(seeds, st.sampled_from([0.1, 0.5]), norms)
def test_the_hull_distance_has_a_matching_bound(seed, beyond, norm):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(80, 3))
    v = rng.normal(size=3)
    v /= np.linalg.norm(v)
    b = F[np.argmax(F @ v)] + beyond * v
    problem = pre.RatioProblem(b, F, norm=norm)
    hull = pre.minimal_radius(problem)
    assert hull.position is pre.Position.OUTSIDE
    assert problem.moment_norm(b - hull.weights @ F[hull.index]) == pytest.approx(hull.radius, rel=1e-12)
    assert hull.direction @ b - (F @ hull.direction).max() == pytest.approx(hull.radius, rel=1e-6)
    assert problem.moment_norm.dual(hull.direction) == pytest.approx(1.0)
    assert pre.solve(problem.with_radius(hull.radius * 1.01, norm)).status.ok


# whole random problems ------------------------------------------------------------------------------------------------


def proven(problem, solution=None):
    """The solution, which must be proven: optimal, or on the boundary with weights whose value δ comes close to.

    A target is on the boundary up to its round-off only, which costs its product with δ.
    """
    solution = pre.solve(problem, check=False) if solution is None else solution
    assert solution.status in (pre.Status.OPTIMAL, pre.Status.BOUNDARY), solution
    if solution.status is pre.Status.OPTIMAL or problem.radius == 0.0:
        allowed = 1e-8 * (1.0 + abs(solution.primal_value))
        if solution.status is pre.Status.BOUNDARY:
            allowed += float(0.5 * np.spacing(np.abs(problem.target)) @ np.abs(solution.delta))
        assert abs(solution.gap) <= allowed, solution
    return solution


def agree(first, second, slack=0.0):
    """Assert that the proven intervals of two solutions of equivalent problems overlap."""
    slack = slack + 1e-12 * (1.0 + abs(first.primal_value))
    if pre.Status.BOUNDARY in (first.status, second.status):  # the target is on the boundary to round-off only
        slack = slack + 1e-6 * (1.0 + abs(first.dual_value))
    assert first.dual_value <= second.primal_value + slack
    assert second.dual_value <= first.primal_value + slack


def rounding(problem, *deltas):
    """Effect of the round-off of features and target on the value, at these δ."""
    size = np.abs(problem.features_q).max(axis=0) + np.abs(problem.target)
    return 8 * EPS * sum(float(size @ np.abs(delta)) for delta in deltas)


@prop(feasible(), share=2)
def test_a_feasible_problem_is_proven_and_the_proof_is_true(made):
    import independent

    solution = proven(made.problem)
    found = independent.judge(made.problem, solution)
    assert not found.false, found


@prop(beyond((0.0, 1e-3, 0.5, 0.99)), share=2)
def test_an_infeasible_problem_is_proven_by_a_direction_that_separates_exactly(made):
    import independent

    assume(made.distance > 1e-10 * float(np.abs(made.problem.features_q).max() + np.abs(made.problem.target).max()))
    solution = pre.solve(made.problem, check=False)
    assert solution.status is pre.Status.INFEASIBLE
    assert independent.separates(made.problem, solution.hull.direction)
    v, hull = solution.hull.direction, solution.hull
    noise = 1e-14 * float(np.abs(v) @ (np.abs(made.problem.features_q).max(axis=0) + np.abs(made.problem.target)))
    assert hull.radius >= made.distance * (1 - 1e-9) - noise
    assert hull.lower <= hull.radius + noise
    with pytest.raises(pre.InfeasibleError):
        pre.solve(made.problem)


@pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")
@prop(beyond((1.01, 2.0)), share=1)
def test_a_radius_above_the_distance_has_a_solution(made):
    assume(made.distance > 1e-10 * float(np.abs(made.problem.features_q).max() + np.abs(made.problem.target).max()))
    solution = pre.solve(made.problem, check=False)
    if solution.status is not pre.Status.OPTIMAL:  # next to a corner few rows have any weight
        assert solution.status is pre.Status.INACCURATE
        distinct = np.unique(made.problem.features_q, axis=0, return_inverse=True)[1]
        assert np.count_nonzero(np.bincount(distinct, solution.mu) > 1e-2) <= made.problem.k


@prop(st.one_of(feasible(extreme=True), beyond((1.0,))), share=2)
def test_no_certificate_of_an_extreme_problem_is_false(made):
    """Whatever the status, it is true; a radius equal to the distance may be decided either way."""
    import independent

    solution = pre.solve(made.problem, check=False)
    if solution.status is pre.Status.INFEASIBLE:
        assert independent.separates(made.problem, solution.hull.direction)
    assert not independent.judge(made.problem, solution).false
    if solution.status is pre.Status.INACCURATE:
        assert solution.gap > 1e-8 * (1.0 + abs(solution.primal_value))


@prop(feasible(extreme=True), st.floats(-3, 3), share=1)
def test_certificates_are_true_at_any_point(made, size):
    import independent

    problem = made.problem
    rng = np.random.default_rng(made.seed)
    spread = np.where(np.ptp(problem.features_q, axis=0) > 0.0, np.ptp(problem.features_q, axis=0), 1.0)
    point = 10.0**size * rng.normal(size=problem.k) / spread
    answer = pre.solve(problem, check=False).delta
    lowest = min(float(independent.value(problem, d)) for d in (answer, 0.0 * answer, point))
    for mu in (None, rng.dirichlet(np.ones(problem.n_q)), np.full(problem.n_q, 1.0 / problem.n_q)):
        certificate = pre.certify(problem, point, mu)
        slack = rounding(problem, point, answer) + 1e-12 * (1.0 + abs(lowest))
        assert certificate.dual_value <= lowest + slack
        true = float(independent.value(problem, point))
        assert abs(certificate.primal_value - true) <= slack + 2.0 * np.spacing(abs(true))
        assert certificate.gap >= 0.0


@prop(feasible(), share=1)
def test_solve_many_agrees_with_solve(made):
    problem = made.problem
    rng = np.random.default_rng(made.seed)
    alone = proven(problem)
    others = problem.features_q[rng.integers(0, problem.n_q, 2)]
    together = pre.solve_many(problem, np.vstack([problem.target, others]))
    agree(alone, proven(problem, together[0]), rounding(problem, alone.delta, together[0].delta))


@prop(feasible(), share=0.5)
def test_blocks_agree_with_an_array(made):
    problem = made.problem
    cut = 1 + made.seed % problem.n_q
    F, a = problem.features_q, problem.log_base
    parts = [i for i in (slice(0, cut), slice(cut, None)) if len(F[i]) and np.any(a[i] > -np.inf)]
    assume(sum(len(F[i]) for i in parts) == len(F))
    blocks = pre.RatioProblem.from_blocks(
        None, [lambda i=i: F[i] for i in parts], None, [lambda i=i: a[i] for i in parts],
        target=problem.target, radius=problem.radius, norm=problem.norm,
    )  # fmt: skip
    solution = pre.solve(blocks, check=False)
    assume(solution.status is not pre.Status.INACCURATE)  # some methods need all rows in memory
    assert solution.status in (pre.Status.OPTIMAL, pre.Status.BOUNDARY)
    if solution.status is pre.Status.OPTIMAL:
        alone = proven(problem)
        agree(alone, solution, rounding(problem, alone.delta, solution.delta))


@prop(feasible(vicious=False, most_rows=40, most_columns=4), st.sampled_from(["primal", "dual"]), share=0.25)
def test_a_cone_solver_agrees(made, formulation):
    alone = proven(made.problem)
    for polish in (False, True):
        solution = pre.solve(made.problem, formulation, "CLARABEL", polish=polish, check=False)
        if solution.status is pre.Status.OPTIMAL:
            agree(alone, solution, rounding(made.problem, alone.delta, solution.delta))
        else:
            assert not polish or solution.status is pre.Status.BOUNDARY


@prop(feasible(radii=("zero",)), st.sampled_from([0.5, 0.99, 1.01, 2.0]), share=0.5)
def test_along_a_radius_path_solutions_are_proven_and_the_divergence_falls(made, factor):
    problem = made.problem
    residual = problem.moment_norm(problem.gradient(np.zeros(problem.k)))
    radii = [factor * residual, 0.3 * residual, 0.01 * residual, 1e-6 * residual]
    path = pre.radius_path(problem, radii)
    for radius, solution in zip(radii, path, strict=True):
        step = problem.with_radius(radius)
        alone = proven(step)
        agree(alone, proven(step, solution), rounding(problem, alone.delta, solution.delta))
    for wide, narrow in itertools.pairwise(path):
        assert narrow.dual_value <= wide.primal_value + 1e-12 * (1.0 + abs(wide.primal_value))


@prop(feasible(), st.floats(-2, 1), share=0.5)
def test_any_start_leads_to_the_same_answer(made, size):
    problem = made.problem
    spread = np.where(np.ptp(problem.features_q, axis=0) > 0.0, np.ptp(problem.features_q, axis=0), 1.0)
    start = 10.0**size * np.random.default_rng(made.seed).normal(size=problem.k) / spread
    found = newton(problem, make_penalty(problem), pre.Settings(), start=start)
    lowest = proven(problem)
    slack = rounding(problem, found.delta, lowest.delta) + 1e-12 * (1.0 + abs(lowest.primal_value))
    if lowest.status is pre.Status.OPTIMAL:
        assert found.certificate.dual_value <= lowest.primal_value + slack
        assert lowest.dual_value <= found.certificate.primal_value + slack


# relations between problems -------------------------------------------------------------------------------------------


def _permuted_rows(p, rng):
    order = rng.permutation(p.n_q)
    return pre.RatioProblem(p.target, p.features_q[order], p.log_base[order], radius=p.radius, norm=p.norm), None


def _permuted_columns(p, rng):
    order = rng.permutation(p.k)
    moved = pre.RatioProblem(p.target[order], p.features_q[:, order], p.log_base, radius=p.radius, norm=p.norm)
    return moved, lambda delta: delta[np.argsort(order)]


def _split_row(p, rng):
    """A row twice, with half of its weight each."""
    j = rng.integers(p.n_q)
    a = np.append(p.log_base, p.log_base[j] - np.log(2.0))
    a[j] -= np.log(2.0)
    return pre.RatioProblem(p.target, np.vstack([p.features_q, p.features_q[j]]), a, radius=p.radius, norm=p.norm), None


def _row_of_zero_weight(p, rng):
    F = np.vstack([p.features_q, p.features_q[0] + 1.0 + np.abs(p.features_q).max()])
    return pre.RatioProblem(p.target, F, np.append(p.log_base, -np.inf), radius=p.radius, norm=p.norm), None


def _constant_column(p, rng):
    c = float(rng.integers(-5, 6))
    moved = pre.RatioProblem(
        np.append(p.target, c), np.column_stack([p.features_q, np.full(p.n_q, c)]), p.log_base, radius=p.radius,
        norm=p.norm,
    )  # fmt: skip
    return moved, lambda delta: delta[:-1]


def _common_unit(p, rng):
    """Everything times a power of two, which is exact: δ is divided by it."""
    c = 2.0 ** rng.integers(-20, 21)
    moved = pre.RatioProblem(c * p.target, c * p.features_q, p.log_base, radius=c * p.radius, norm=p.norm)
    return moved, lambda delta: c * delta


def _column_units(p, rng):
    c = 2.0 ** rng.integers(-20, 21, p.k) if p.radius == 0.0 else np.ones(p.k)
    moved = pre.RatioProblem(c * p.target, c * p.features_q, p.log_base, radius=p.radius, norm=p.norm)
    return moved, lambda delta: c * delta


def _shifted_log_likelihoods(p, rng):
    return pre.RatioProblem(p.target, p.features_q, p.log_base + 37.5, radius=p.radius, norm=p.norm), None


def _shifted_features(p, rng):
    c = rng.normal(size=p.k) * np.abs(p.features_q).max(axis=0)
    return pre.RatioProblem(p.target + c, p.features_q + c, p.log_base, radius=p.radius, norm=p.norm), None


def _flipped_signs(p, rng):
    c = rng.choice([-1.0, 1.0], p.k)
    moved = pre.RatioProblem(c * p.target, c * p.features_q, p.log_base, radius=p.radius, norm=p.norm)
    return moved, lambda delta: c * delta


RELATIONS = (
    _permuted_rows, _permuted_columns, _split_row, _row_of_zero_weight, _constant_column,
    _common_unit, _column_units, _shifted_log_likelihoods, _shifted_features, _flipped_signs,
)  # fmt: skip


@pytest.mark.parametrize("relation", RELATIONS)
@prop(feasible(), share=0.3)
def test_equivalent_problems_have_the_same_value(relation, made):
    p = made.problem
    other, back = relation(p, np.random.default_rng(made.seed))
    first, second = proven(p), proven(other)
    delta = second.delta if back is None else back(second.delta)
    slack = rounding(p, first.delta, delta) + rounding(other, second.delta)
    agree(first, second, slack)
    if first.status is second.status is pre.Status.OPTIMAL:  # δ of one solves the other
        assert abs(p.value(delta) - first.primal_value) <= first.gap + second.gap + slack + 1e-12 * (
            1.0 + abs(first.primal_value)
        )


@prop(feasible(radii=("zero",), where=("inside",)), share=0.5)
def test_an_invertible_map_of_the_features_keeps_the_value(made):
    p = made.problem
    rng = np.random.default_rng(made.seed)
    A = np.eye(p.k) + np.triu(rng.integers(-2, 3, (p.k, p.k)), 1)
    scale = 2.0 ** np.round(np.log2(np.maximum(np.ptp(p.features_q, axis=0), 1e-300)))
    scale = np.where(np.ptp(p.features_q, axis=0) > 0.0, scale, 1.0)
    positive = p.features_q[p.log_base > -np.inf] / scale
    # if the rows lie in a plane, the map rounds some of them off it
    assume(np.linalg.matrix_rank(positive - positive.mean(axis=0), tol=1e-6) == p.k)
    mapped = pre.RatioProblem((p.target / scale) @ A.T, (p.features_q / scale) @ A.T, p.log_base)
    first, second = proven(p), proven(mapped)
    slack = rounding(p, first.delta) + 10 * p.k * rounding(mapped, second.delta)
    agree(first, second, slack)


# penalties and constraints of a user ----------------------------------------------------------------------------------

TERMS = {
    "lasso": ({"penalty": lambda d: 0.05 * cp.norm1(d)}, lambda d: 0.05 * np.abs(d).sum()),
    "squares": ({"penalty": lambda d: 0.1 * cp.sum_squares(d)}, lambda d: 0.1 * (d @ d)),
    "positive": ({"constraints": lambda d: [d >= 0]}, lambda d: 0.0 if np.all(d >= -1e-8) else np.inf),
    "sums to one": ({"constraints": lambda d: [cp.sum(d) == 1]}, lambda d: 0.0),
    "both": (
        {"penalty": lambda d: 0.1 * cp.norm(d, 2), "constraints": lambda d: [cp.abs(d) <= 1]},
        lambda d: 0.1 * np.linalg.norm(d),
    ),
}


@pytest.mark.parametrize("terms", TERMS)
@prop(feasible(vicious=False, most_rows=30, most_columns=3, radii=("zero", "moderate")), share=0.05)
def test_newton_and_cone_solver_agree_on_user_terms(terms, made):
    given_terms, cost = TERMS[terms]
    first = pre.solve(made.problem, check=False, **given_terms)
    assume(first.status.ok)
    second = pre.solve(made.problem, "primal", "CLARABEL", polish=False, check=False, **given_terms)
    if second.status.ok:
        agree(first, second, 1e-8 * (1.0 + abs(first.primal_value)))  # tolerance of constraints
    assert made.problem.value(first.delta) + cost(first.delta) == pytest.approx(first.primal_value, abs=1e-7)
    # no point between the two solutions is better
    free = pre.solve(made.problem, check=False)
    if "constraints" not in given_terms:
        for t in (0.0, 0.5, 0.9):
            point = (1 - t) * free.delta + t * first.delta
            assert made.problem.value(point) + cost(point) >= first.dual_value - 1e-9


# estimators and files -------------------------------------------------------------------------------------------------

MAPS = (
    "linear",
    "polynomial",
    pre.Polynomial(degree=3),
    pre.Polynomial(interactions=True),
    pre.Linear() + pre.LagProducts(),
    pre.Kernel(landmarks=5),
)


@pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")
@prop(
    st.integers(0, 2**20),
    st.integers(5, 80),
    st.integers(2, 3),
    st.sampled_from(MAPS),
    st.sampled_from([2, np.inf, 1]),
    st.sampled_from(["none", "gaussian", "array"]),
    st.booleans(),
    share=0.2,
)
def test_an_estimator_agrees_with_its_problem_and_survives_a_file(seed, n, d, features, norm, likelihood, standardise):
    rng = np.random.default_rng(seed)
    norm = 2 if isinstance(features, pre.Kernel) else norm
    x_p, x_q = 0.5 * rng.normal(size=(n, d)) + 0.2, rng.normal(size=(2 * n, d))
    lik = {
        "none": (None, None),
        "gaussian": (pre.Gaussian(np.full(d, 0.3)), pre.Gaussian(np.zeros(d), precision=0.5)),
        "array": (rng.normal(size=n), rng.normal(size=2 * n)),
    }[likelihood]
    estimator = pre.PosteriorRatio(features=features, norm=norm, radius=0.1, standardise=standardise)
    advised = 0.1
    try:
        fit = estimator.fit(x_p, x_q, *lik)
    except pre.InfeasibleError as error:  # the estimator keeps nothing of a failed fit
        advised = error.advised_radius
        fit = estimator.set_params(radius=advised).fit(x_p, x_q, *lik)
    terms = {"features": lambda x: fit.features_(x) / fit.scale_, "radius": 0.1, "norm": norm}
    problem = pre.RatioProblem.from_samples(x_p, x_q, *lik, **terms)
    if advised > 0.1:
        assert 0.1 < pre.minimal_radius(problem).lower < advised
        return
    agree(fit.solution_, proven(problem), rounding(problem, fit.solution_.delta))
    assert fit.divergence_ == -fit.solution_.primal_value
    np.testing.assert_allclose(np.exp(problem.log_base) @ fit.ratio(x_q), 1.0, rtol=1e-9)
    if likelihood == "none":
        kliep = pre.KLIEP(features=features, norm=norm, radius=0.1, standardise=standardise).fit(x_p, x_q)
        np.testing.assert_array_equal(kliep.delta_, fit.delta_)
    with tempfile.TemporaryDirectory() as folder:
        again = pre.load(pre.save(fit, Path(folder) / "fit.npz"))
    np.testing.assert_array_equal(again.delta_, fit.delta_)
    np.testing.assert_array_equal(again.mu_, fit.mu_)
    np.testing.assert_array_equal(again.log_ratio(x_q), fit.log_ratio(x_q))
    assert again.solution_.certificate == fit.solution_.certificate
    assert again.radius_ == fit.radius_
