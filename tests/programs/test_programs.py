"""[P] and [D] in cvxpy for every member of the family: equal values, named parts, and terms of the weights."""

import cvxpy as cp
import numpy as np
import pytest

import pre_convex as pre

DIVERGENCES = ["kl", "chi2", "reverse-kl"]
BOUNDS = [None, (0.0, 3.0), (0.3, 2.5)]
TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def problem(divergence="kl", bounds=None, radius=0.1, seed=0, **terms):
    """A random feasible problem."""
    rng = np.random.default_rng(seed)
    F, a = rng.normal(size=(60, 3)), 0.3 * rng.normal(size=60)
    return pre.RatioProblem([0.2, 0.1, 0.0], F, a, radius, divergence=divergence, bounds=bounds, **terms)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("radius", [0.0, 0.1, [0.0, 0.1, 0.2], [0.0, 0.05, np.inf]], ids=str)
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_primal_and_dual_have_the_same_solution(divergence, bounds, radius):
    one = problem(divergence, bounds, radius)
    primal, dual = pre.primal_program(one), pre.dual_program(one)
    assert primal.cvxpy.is_dcp()
    assert dual.cvxpy.is_dcp()
    above, below = primal.cvxpy.solve(**TIGHT), dual.cvxpy.solve(**TIGHT)
    assert above == pytest.approx(below, abs=1e-7)
    (delta, mu), (multiplier, weights) = primal.recover(), dual.recover()
    np.testing.assert_allclose(delta, multiplier, atol=1e-4)
    np.testing.assert_allclose(mu, weights, atol=1e-5)
    assert one.value(delta) == pytest.approx(above, abs=1e-7)
    np.testing.assert_allclose(dual.mu.value, weights, atol=0)
    np.testing.assert_allclose(dual.r.value, one.residual(weights), atol=1e-7)
    np.testing.assert_allclose(primal.delta.value, delta, atol=1e-8)
    if primal.intercept is not None:
        assert primal.intercept.value == pytest.approx(one.intercept(delta), abs=1e-4)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_scaled_programs_have_the_same_parts(divergence):
    one = problem(divergence, (0.3, 2.5))
    plain, scaled = pre.primal_program(one), pre.primal_program(one, scaled=True)
    dual, counts = pre.dual_program(one), pre.dual_program(one, scaled=True, counts=True)
    for program in (plain, scaled, dual, counts):
        program.cvxpy.solve(**TIGHT)
    np.testing.assert_allclose(scaled.delta.value, plain.delta.value, atol=1e-5)
    assert scaled.intercept.value == pytest.approx(float(plain.intercept.value), abs=1e-5)
    np.testing.assert_allclose(counts.mu.value, dual.mu.value, atol=1e-6)
    np.testing.assert_allclose(counts.r.value, dual.r.value, atol=1e-6)


def test_bounds_of_some_rows():
    upper = np.where(np.arange(60) % 3 == 0, 1.2, np.inf)
    one = problem("chi2", (np.zeros(60), upper))
    primal, dual = pre.primal_program(one), pre.dual_program(one)
    assert primal.cvxpy.solve(**TIGHT) == pytest.approx(dual.cvxpy.solve(**TIGHT), abs=1e-7)
    assert np.all(dual.mu.value <= upper * np.exp(one.log_base) + 1e-8)


def test_rows_of_zero_base_weight_are_left_out():
    a = np.where(np.arange(60) < 5, -np.inf, 0.0)
    one = pre.RatioProblem([0.1, 0.0], np.random.default_rng(0).normal(size=(60, 2)), a, divergence="chi2")
    dual = pre.dual_program(one)
    dual.cvxpy.solve(**TIGHT)
    assert dual.mu.shape == (55,)
    assert np.all(dual.recover()[1][:5] == 0.0)


def test_programs_print_like_the_equations():
    text = str(pre.primal_program(problem("kl", (0.3, 2.5))))
    assert text == (
        "minimize -c - b @ delta + pi @ (exp(c + F @ delta - u + v) - 1.0) + hi * pi @ u - lo * pi @ v "
        "+ R * norm2(delta)"
    )
    text = str(pre.primal_program(problem("chi2")))
    assert text == "minimize -c - b @ delta + pi @ (0.5 * square(pos(1.0 + c + F @ delta)) - 0.5) + R * norm2(delta)"
    text = str(pre.primal_program(problem("reverse-kl", radius=[0.1, 0.1, 0.0])))
    assert text == "minimize -c - b @ delta + pi @ -log(1.0 - (c + F @ delta)) + R @ abs(delta)"
    text = str(pre.dual_program(problem("chi2", (0.0, 3.0), [0.1, 0.1, 0.0])))
    assert text == (
        "maximize -0.5 * sum_squares((mu - pi) / sqrt(pi))\n"
        "subject to 0.0 <= mu\n"
        "           mu <= hi * pi\n"
        "           sum(mu) == 1.0\n"
        "           r == b - F.T @ mu\n"
        "           abs(r) <= R"
    )


def test_limits_on_single_weights_are_bounds():
    one = problem(radius=0.0)
    capped = pre.solve(one, "dual", "CLARABEL", weight_constraints=lambda mu: [mu <= 2 / 60])
    assert capped.status is pre.Status.OPTIMAL
    known = pre.solve(problem(radius=0.0, max_weight=2 / 60))
    np.testing.assert_allclose(capped.mu, known.mu, atol=1e-7)
    np.testing.assert_allclose(capped.delta, known.delta, atol=1e-6)


Z = np.random.default_rng(5).normal(size=60)
AFFINE = {
    "group": {"weight_constraints": lambda mu: [cp.sum(mu[:20]) <= 0.25]},
    "equations": {"weight_constraints": lambda mu: [Z @ mu == Z.mean(), mu[0] == mu[1], cp.sum(mu[:10]) >= 0.2]},
    "mixed": {"weight_constraints": lambda mu: [mu >= 0.2 / 60, mu <= 3 / 60, Z @ mu <= Z.mean() + 0.05]},
    "no effect": {"weight_constraints": lambda mu: [cp.sum(mu) <= 2, mu >= 0]},
    "penalty": {"weight_penalty": lambda mu: 0.3 * (Z @ mu) + 1.5},
    "both": {
        "weight_penalty": lambda mu: 0.3 * (Z @ mu),
        "weight_constraints": lambda mu: [cp.sum(mu[:20]) <= 0.25, cp.sum(mu[5:9]) == 0.1],
    },
}


@pytest.mark.parametrize("divergence", ["kl", "chi2", "reverse-kl"])
@pytest.mark.parametrize("name", AFFINE)
def test_affine_terms_of_weights_are_proven(name, divergence):
    terms = AFFINE[name]
    settings = [{"radius": 0.0}, {"radius": 0.0, "bounds": (0.1, 5.0)}, {"radius": [0.05, 0.0, np.inf]},
                *({"radius": 0.05, "norm": norm} for norm in (1, 2, np.inf))]  # fmt: skip
    for given in settings:
        one = problem(divergence, **given)
        found = pre.solve(one, "dual", "CLARABEL", weight_constraints=terms.get("weight_constraints"),
                          weight_penalty=terms.get("weight_penalty"), check=False)  # fmt: skip
        assert found.status is pre.Status.OPTIMAL
        program = pre.dual_program(one, **terms)
        program.cvxpy.solve(solver="CLARABEL")
        mu, pi = program.mu.value, np.exp(one.log_base)
        penalty = terms["weight_penalty"](cp.Constant(found.mu)).value if "weight_penalty" in terms else 0.0
        value = -pi @ one.link.divergence.phi(found.mu / pi) - penalty
        np.testing.assert_allclose(found.mu, mu, atol=2e-5)
        assert found.primal_value == pytest.approx(value, abs=1e-7)
        for constraint in terms.get("weight_constraints", lambda mu: [])(cp.Constant(found.mu)):
            assert np.max(constraint.violation()) < 1e-7


def test_terms_of_weights_that_are_not_affine_are_claims():
    for term in ({"weight_constraints": lambda mu: [cp.sum_squares(mu) <= 0.03]}, {"weight_penalty": cp.sum_squares}):
        found = pre.solve(problem(radius=0.0), "dual", "CLARABEL", **term)
        assert found.status is pre.Status.CLAIMED
        assert not found.status.ok
        assert found.certificate.moment_residual < 1e-6


def test_penalty_of_weights_counts_every_row_once():
    one = problem("chi2", radius=0.0)
    plain = pre.solve(one)
    spread = pre.solve(one, "dual", "CLARABEL", weight_penalty=lambda mu: 1e3 * cp.sum_squares(mu))
    assert np.sum(spread.mu**2) < np.sum(plain.mu**2)
    np.testing.assert_allclose(one.residual(spread.mu), 0.0, atol=1e-6)


def test_contradictory_constraints_of_weights_fail():
    with pytest.raises(pre.SolveError):
        pre.solve(problem(), "dual", "CLARABEL", weight_constraints=lambda mu: [mu <= 0])


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_terms_of_delta_never_reach_the_weights(solver):
    rng = np.random.default_rng(0)
    fit = pre.KLIEP(formulation="dual", solver=solver, constraints=lambda mu: [mu <= 5 / 80])
    with pytest.raises(pre.DataError) as error:
        fit.fit(rng.normal(0.5, 1.0, (50, 1)), rng.normal(size=(80, 1)))
    assert error.value.argument == "formulation"
