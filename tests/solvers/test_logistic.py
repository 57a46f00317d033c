"""solve() on logistic problems: known answers, radii, user terms, cone solvers, large and separable samples."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import expit

import pre_convex as pre

RNG = np.random.default_rng(0)
UNITS, CENTRE = np.array([1.0, 10.0, 0.1, 1.0]), np.array([0.0, 100.0, 0.0, 5.0])
X_P = RNG.normal(0.4, 1.0, (150, 4)) * UNITS + CENTRE
X_Q = RNG.normal(0.0, 1.0, (300, 4)) * UNITS + CENTRE
RADII = [(0.0, 2), (0.1, 2), (0.1, np.inf), (0.1, 1), ([0.0, 0.1, np.inf, 0.01], 2)]


def log_lik_p(x):
    return -0.5 * (x[:, 0] - 1.0) ** 2


def log_lik_q(x):
    return 1000.0 + 0.03 * x[:, 1]


BASE = pre.LogisticProblem.from_samples(X_P, X_Q, log_lik_p, log_lik_q)


def residual(problem, solution):
    """(1/m) Σ (t − u) f at the solution."""
    u = problem.probabilities(solution.intercept, solution.delta)
    return (problem.features - problem.target).T @ (problem.link.positive - u) / problem.m


def test_the_score_vanishes():
    solution = pre.solve(BASE)
    assert solution.status is pre.Status.OPTIMAL
    assert np.all(np.abs(residual(BASE, solution)) < 1e-6 * UNITS)
    assert np.isclose(solution.mu.sum(), 1.0)


def test_expected_labels_give_back_their_parameter():
    # rows of both labels at every point, as often as the model says: the fit is the model
    x = np.array([[-2.0], [-1.0], [0.0], [1.0]])
    delta = np.log(2.0)
    p = expit(0.0 + delta * x[:, 0])  # 1/5, 1/3, 1/2, 2/3
    counts = np.round(60 * p).astype(int)
    x_p, x_q = np.repeat(x, counts, axis=0), np.repeat(x, 60 - counts, axis=0)
    solution = pre.solve(pre.LogisticProblem(x_p, x_q))
    assert np.isclose(solution.delta[0], delta, rtol=1e-7)
    assert np.isclose(solution.intercept, -np.log(len(x_p) / len(x_q)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("radius", "norm"), RADII)
@pytest.mark.parametrize("formulation", ["primal", "dual"])
def test_cone_solvers_find_the_same(radius, norm, formulation):
    problem = BASE.with_radius(radius, norm)
    newton = pre.solve(problem)
    cone = pre.solve(problem, formulation, "CLARABEL", polish=False, check=False)
    size = 1.0 / UNITS
    assert np.all(np.abs(cone.delta - newton.delta) < 1e-4 * size)
    assert cone.raw.gap < 1e-4
    assert newton.primal_value <= cone.primal_value + newton.gap
    assert newton.dual_value <= cone.primal_value + 1e-12
    assert np.abs(cone.mu - newton.mu).max() < 1e-6
    assert pre.solve(problem, formulation, "CLARABEL").status.ok


@pytest.mark.parametrize(("radius", "norm"), RADII[1:])
def test_the_residual_is_in_the_ball(radius, norm):
    problem = BASE.with_radius(radius, norm)
    solution = pre.solve(problem)
    r = residual(problem, solution)
    if np.ndim(radius):
        assert np.all(np.abs(r) <= np.asarray(radius) + 1e-7)
        assert solution.delta[2] == 0.0
    else:
        assert np.linalg.norm(r, norm) <= radius + 1e-7
    assert solution.certificate.moment_residual <= 1e-7


@pytest.mark.parametrize(
    "terms",
    [
        {"penalty": lambda d: 0.1 * cp.sum_squares(d)},
        {"constraints": lambda d: [d >= 0.1]},
        {"constraints": lambda d: [cp.norm(d) <= 0.1]},
    ],
)
def test_user_terms(terms):
    newton = pre.solve(BASE, tol=1e-6, **terms)  # [CONE] is as tight as the dual point of a cone solver
    cone = pre.solve(BASE, "primal", "CLARABEL", polish=False, check=False, **terms)
    assert newton.status.ok
    assert newton.user_terms
    np.testing.assert_allclose(newton.delta, cone.delta, atol=1e-4)


@pytest.mark.parametrize(("n_p", "n_q"), [(30_000, 40_000), (500, 60_000)])
def test_many_rows_take_few_passes(n_p, n_q):
    rng = np.random.default_rng(2)
    x_p, x_q = rng.normal(0.2, 1.0, (n_p, 8)), rng.normal(0.0, 1.0, (n_q, 8))
    problem = pre.LogisticProblem(x_p, x_q)
    solution = pre.solve(problem)
    assert solution.trace[0].name == "sample"
    assert solution.trace[-1].passes <= 8
    assert np.all(np.abs(residual(problem, solution)) < 1e-4)


def test_collinear_and_constant_columns():
    def wide(x):
        return np.column_stack([x, 2.0 * x[:, 0] - 0.1 * x[:, 1], np.ones(len(x))])

    plain = pre.solve(pre.LogisticProblem(X_P, X_Q))
    for radius, norm in ((0.0, 2), (0.1, 2), (0.1, 1), (0.1, np.inf)):
        solution = pre.solve(pre.LogisticProblem(wide(X_P), wide(X_Q), radius=radius, norm=norm))
        assert solution.status.ok
        if radius == 0.0:
            assert abs(solution.primal_value - plain.primal_value) <= 1e-10
    category = np.eye(3)[RNG.integers(0, 3, 450)]
    assert pre.solve(pre.LogisticProblem(category[:150], category[150:])).status.ok


def separation(x_p, x_q, **terms):
    with pytest.raises(pre.SeparationError) as caught:
        pre.solve(pre.LogisticProblem(x_p, x_q, **terms))
    error = caught.value
    assert np.isclose(np.linalg.norm(error.direction), 1.0)
    lowest, highest = (x_p @ error.direction).min(), (x_q @ error.direction).max()
    assert lowest >= error.threshold - 1e-7
    assert highest <= error.threshold + 1e-7
    assert error.solution.status is pre.Status.SEPARATED
    again = pre.solve(pre.LogisticProblem(x_p, x_q, radius=error.advised_radius))
    assert again.status.ok
    return error


def test_complete_separation():
    separation(X_P + [9.0, 0.0, 0.0, 0.0], X_Q)


def test_separation_by_a_rare_category():
    rare_p = np.column_stack([X_P[:, :2], RNG.random(150) < 0.1]).astype(float)
    rare_q = np.column_stack([X_Q[:, :2], np.zeros(300)])
    assert separation(rare_p, rare_q).features == ("x2",)
    # features with a radius do not count, those without do
    assert pre.solve(pre.LogisticProblem(rare_p, rare_q, radius=[0.0, 0.0, 0.1])).status.ok
    assert separation(rare_p, rare_q, radius=[0.1, 0.1, 0.0]).features == ("x2",)


def test_separation_of_many_rows():
    x_p, x_q = RNG.normal(size=(20_000, 5)), RNG.normal(size=(20_000, 5))
    x_p[:, 3], x_q[:, 3] = RNG.random(20_000) < 1e-3, 0.0
    assert separation(x_p, x_q).features == ("x3",)


def test_more_features_than_rows_separate():
    separation(RNG.normal(size=(10, 30)), RNG.normal(size=(12, 30)))


@pytest.mark.parametrize("overlap", [1e-8, 1e-10, 1e-12, 1e-14])
def test_a_tiny_overlap_is_no_separation(overlap):
    """One p row is below one q row, by less than a linear program can tell."""
    x = np.linspace(0.0, 1.0, 20)
    x_p, x_q = np.append(x + 1.1, 1.0 - overlap)[:, None], np.append(-x, 1.0)[:, None]
    solution = pre.solve(pre.LogisticProblem(x_p, x_q), check=False)
    assert solution.status in (pre.Status.OPTIMAL, pre.Status.INACCURATE)
    touching = separation(np.append(x_p[:-1], [[1.0]], axis=0), x_q)
    assert touching.threshold == pytest.approx(1.0)


def test_ties_on_an_oblique_threshold():
    """Rows of both samples lie on x0 + x1 = 3, and no other threshold separates them."""
    rng = np.random.default_rng(8)
    x_p, x_q = (rng.integers(0, 7, (60, 2)).astype(float) for _ in range(2))
    x_p, x_q = x_p[x_p.sum(axis=1) >= 3.0], x_q[x_q.sum(axis=1) <= 3.0]
    assert {3.0} <= set(x_p.sum(axis=1)) & set(x_q.sum(axis=1))
    assert separation(x_p, x_q).threshold == pytest.approx(3.0 / np.sqrt(2.0))
    nudged = np.vstack([x_p, [0.0, 3.0 - 1e-11]]), np.vstack([x_q, [[0.0, 3.0], [3.0, 0.0], [1.0, 2.0]]])
    x_p = np.vstack([nudged[0], [[3.0 - 1e-11, 0.0], [2.0, 1.0]]])
    solution = pre.solve(pre.LogisticProblem(x_p, nudged[1]), check=False)
    assert solution.status in (pre.Status.OPTIMAL, pre.Status.INACCURATE)


def test_separation_does_not_raise_without_check():
    solution = pre.solve(pre.LogisticProblem([[1.0], [2.0]], [[0.0]]), check=False)
    assert solution.status is pre.Status.SEPARATED
    assert not solution.ok
    assert solution.gap == np.inf or solution.gap > 0.0


def test_equal_samples_have_delta_zero():
    solution = pre.solve(pre.LogisticProblem(X_Q, X_Q))
    assert solution.status.ok
    assert np.all(np.abs(solution.delta * UNITS) < 1e-9)


def test_limits():
    solution = pre.solve(BASE, max_iter=1, check=False)
    assert solution.status is pre.Status.ITERATION_LIMIT
    assert pre.solve(BASE, time_limit=1e-9, check=False).status is pre.Status.TIME_LIMIT


def test_a_certificate_of_any_point():
    best = pre.solve(BASE)
    certificate = pre.certify(BASE, 0.9 * best.delta)
    assert certificate.dual_value <= best.primal_value
    assert certificate.primal_value >= best.dual_value
    assert pre.certify(BASE, best.delta).proves(1e-8)
