"""Certificates are true: everything is recomputed in 50 digits from the same float64 numbers."""

import math

import numpy as np
import pytest
from engines import OWN, cone, in_turn
from exact import Exact, mp, mpf, norm_of
from scipy.spatial import ConvexHull
from zoo import BOUNDARY, INFEASIBLE, OPTIMAL, SQUARE, ZOO, of_kind

import pre_convex as pre
from pre_convex.feasibility.exposed import limit_problem

#: tolerance between true and reported numbers, apart from the reported round-off
ALLOWED = 1e-12
EPS = float(np.finfo(float).eps)


def assert_bounds_hold(certificate, exact, delta, optimum, value=None):
    """Value, lower bound and gap against the true ones."""
    value = exact.value(delta) if value is None else value
    assert abs(value - mpf(certificate.primal_value)) <= certificate.noise
    assert mpf(certificate.dual_value) <= optimum
    assert value - optimum <= certificate.gap


def radii_around(distance):
    """The distance to the hull, and radii within round-off of it."""
    return [distance * (1.0 + share) for share in (-1e-8, -1e-12, -EPS, 0.0, EPS, 1e-12, 1e-8)]


def assert_residuals_are_true(certificate, exact, mu):
    """Moment and simplex residuals of the weights, up to the round-off of their terms."""
    size = 1.0 + float(norm_of(exact.b, 2)) + max(float(norm_of(f, 2)) for f in exact.F)
    true = max(norm_of(exact.residual(mu), exact.norm) - exact.R, 0)
    assert abs(true - mpf(certificate.moment_residual)) <= ALLOWED * size
    assert abs(math.fsum(mu) - 1.0) <= certificate.simplex_residual + ALLOWED
    assert mu.min() >= -certificate.simplex_residual


def assert_infeasible(solution, animal):
    """The direction separates by more than the radius, and the distance and its weights are the known ones."""
    exact, hull = animal.exact, solution.hull
    margin = exact.separation(hull.direction)
    assert margin > exact.R
    size = float(max(abs(x) for f in [*exact.F, exact.b] for x in f))
    assert mpf(hull.lower) <= margin + ALLOWED * size
    nearest = np.zeros(animal.problem.n_q)
    nearest[hull.index] = hull.weights
    assert abs(norm_of(exact.residual(nearest), exact.norm) - mpf(hull.radius)) <= ALLOWED * size
    assert hull.radius == pytest.approx(animal.answer.minimal_radius, rel=1e-9)
    assert margin <= mpf(animal.answer.minimal_radius) * (1 + mpf(ALLOWED))
    if animal.answer.direction is not None:
        np.testing.assert_allclose(hull.direction, animal.answer.direction, atol=1e-6)


def assert_honest(solution, animal):
    """Whatever the status, its claims are true."""
    if solution.status is INFEASIBLE:
        assert_infeasible(solution, animal)
        return
    limit = Exact.of(limit_problem(animal.problem, solution.recession)) if solution.recession else animal.exact
    assert_bounds_hold(solution.certificate, limit, solution.delta, animal.optimum)
    assert_residuals_are_true(solution.certificate, animal.exact, solution.mu)
    # no row is beyond the plane, up to the tolerance of the boundary
    if solution.status is BOUNDARY and not solution.recession and solution.hull is not None:
        spread = np.ptp(animal.problem.features_q, axis=0).max()
        assert animal.exact.separation(solution.hull.direction) >= -1e-8 * spread


@pytest.mark.parametrize("animal", ZOO.values(), ids=str)
def test_newton_solvers(animal):
    for engine in OWN.values():
        solution = engine(animal.problem)
        assert solution.status is animal.kind
        assert_honest(solution, animal)


@pytest.mark.parametrize(("animal", "solver", "formulation"), in_turn(ZOO.values()), ids=str)
def test_cone_solvers_unpolished(animal, solver, formulation):
    solution = cone(solver, formulation, polish=False)(animal.problem)
    assert (solution.status is INFEASIBLE) == (animal.kind is INFEASIBLE)
    assert_honest(solution, animal)


@pytest.mark.parametrize("animal", of_kind(OPTIMAL), ids=str)
def test_certificates_of_arbitrary_points(animal):
    """Points that are not optimal, with their tilted weights, with other weights, and without."""
    problem, exact = animal.problem, animal.exact
    rng = np.random.default_rng(7)
    best = pre.solve(problem, check=False).delta
    noise = rng.normal(size=problem.k) / np.maximum(np.ptp(problem.features_q, axis=0), 1e-90)
    points = [(1.0 + 1e-7) * best, np.zeros(problem.k), 0.5 * best, best + 0.1 * noise, 10.0 * best, 1e5 * noise]
    for delta in points if animal.small else points[:2]:
        with mp.workdps(150):  # δ may be 1e90 along a constant column, where it cancels
            others, value = np.exp(problem.log_mu(delta)), exact.value(delta)
        for mu in (None, others, 0.5 * (others + np.exp(problem.log_base))):
            assert_bounds_hold(pre.certify(problem, delta, mu), exact, delta, animal.optimum, value)


@pytest.mark.parametrize("animal", of_kind(INFEASIBLE), ids=str)
def test_an_infeasible_problem_has_no_bound(animal):
    rng = np.random.default_rng(7)
    for delta in (
        np.zeros(animal.problem.k),
        rng.normal(size=animal.problem.k),
        1e6 * rng.normal(size=animal.problem.k),
    ):
        for mu in (None, np.exp(animal.problem.log_base)):
            certificate = pre.certify(animal.problem, delta, mu)
            assert certificate.dual_value == -np.inf
            assert certificate.gap == np.inf
            assert not certificate.proves(0.9)


def true_optimum(problem):
    """The problem in 50 digits and its optimal value, started from the package's solution."""
    exact = Exact.of(problem)
    best = exact.optimum(pre.solve(problem, check=False).delta)
    assert exact.kkt(best) < 1e-25
    return exact, exact.value(best)


def test_a_lift_moves_columns_of_tiny_variance():
    """Nearly all weight on one row: the lift changes rows of weight 1e-27 and 1e-37, and all columns with them."""
    F = np.array([[4.0, -1, 2], [1, 0, -1], [2, -2, -4], [-2, 1, -2], [3, 1, 2]])
    log_base = np.array([0.5, -0.25, 0.75, 0.0, 0.25])
    problem = pre.RatioProblem([2.97, 0.9998, 1.976], F, log_base, radius=5e-4, norm=np.inf)
    exact, optimum = true_optimum(problem)
    delta = np.array([0.0, 42.0, 15.6])
    mu = np.exp(problem.log_mu(delta))
    assert_bounds_hold(pre.certify(problem, delta, mu), exact, delta, optimum)


def test_lifted_weights_still_sum_to_one():
    """Corrections of 1e35 on weights of 1e-38: their mean is round-off, but the total weight must not change."""
    F = np.array([[-0.9794741683587314, -1.5734903329477068], [-2.924970571840865, -0.35323216358269055], [1.25, 0.03]])
    log_base = np.array([-167.49216370827583, -104.3180531451988, 0.0])
    problem = pre.RatioProblem([1.206, 0.0243], F, log_base)
    exact, optimum = true_optimum(problem)
    for share in np.linspace(0.4, 0.6, 21):
        delta = share * np.array([-16.7, -77.7])
        mu = np.exp(problem.log_mu(delta))
        assert_bounds_hold(pre.certify(problem, delta, mu), exact, delta, optimum)


@pytest.mark.parametrize("width", [1e-3, 1e-4, 1e-6])
def test_the_remainder_of_a_lift_is_charged_at_the_optimal_delta(width):
    """Nearly collinear columns: at δ = 0, ⟨δ, remainder⟩ is zero, but the optimal δ is of size 1 / width."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        F = rng.normal(size=(4, 3))
        F[:, 2] = F[:, 0] + width * F[:, 2]
        problem = pre.RatioProblem(rng.dirichlet(np.full(4, 0.5)) @ F, F)
        exact, optimum = true_optimum(problem)
        for delta in (np.zeros(3), 1e-3 * rng.normal(size=3)):
            assert_bounds_hold(pre.certify(problem, delta), exact, delta, optimum)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8, 1e10])
def test_an_offset_does_not_widen_the_gap(offset):
    """Features relative to the origin are small differences of two numbers, which are exact."""
    rng = np.random.default_rng(3)
    F = np.round(rng.normal(size=(50, 2)) * 2.0**10) / 2.0**10 + offset
    problem = pre.RatioProblem(F[:30].mean(axis=0), F)
    for solution in (pre.solve(problem), OWN["many"](problem)):
        assert solution.gap <= 1e-12
        exact = Exact.of(problem)
        optimum = exact.value(exact.optimum(solution.delta))
        assert_bounds_hold(solution.certificate, exact, solution.delta, optimum)


@pytest.mark.parametrize("shift", [0.0, 1e3, -1e6, 1e10])
def test_likelihoods_with_a_large_constant(shift):
    """solve_many takes base weights that are not normalised; its problems have them normalised."""
    rng = np.random.default_rng(4)
    F = rng.normal(size=(40, 2))
    bases = rng.normal(size=(3, 40)) + shift
    found = pre.solve_many(F, [[0.1, 0.2], [0.0, -0.1], [0.3, 0.0]], bases)
    for w, solution in enumerate(found):
        exact = Exact.of(found.problem(w))
        optimum = exact.value(exact.optimum(solution.delta))
        assert_bounds_hold(solution.certificate, exact, solution.delta, optimum)


@pytest.mark.parametrize("base", [0.0, 300.0])
def test_on_the_boundary_round_off_is_part_of_the_gap(base):
    """The value is large where base weights on the face are small."""
    for third in (1 / 3, 0.1, 0.7):
        problem = pre.RatioProblem([third, 1.0], SQUARE, [base, -base / 3, base / 2, -base])
        solution = pre.solve(problem, check=False)
        assert solution.status in (BOUNDARY, OPTIMAL)  # a δ far out is optimal within the tolerance
        exact = Exact.of(problem)
        weights = [0, 1 - mpf(third), 0, mpf(third)]
        rows = [exact.of_row.tolist().index(j) for j in range(4)]
        terms = ((weights[i], exact.a[j]) for j, i in enumerate(rows))
        optimum = mp.fsum(m * (a - mp.log(m)) for m, a in terms if m)
        limit = Exact.of(limit_problem(problem, solution.recession))
        assert_bounds_hold(solution.certificate, limit, solution.delta, optimum)


@pytest.mark.parametrize("units", [1.0, np.array([1e-3, 1.0, 1e2])], ids=["one unit", "three units"])
@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_both_sides_of_a_facet_are_distinguished_down_to_round_off(norm, units):
    """Targets 1e-9 of the spread inside or outside are classified so, and those outside are truly separated."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        F = rng.normal(size=(30, 3))
        hull = ConvexHull(F)
        corners, outwards = hull.simplices[0], hull.equations[0, :-1]
        on_facet = rng.dirichlet(np.ones(3)) @ F[corners]
        for depth in (1e-2, 1e-5, 1e-7, 1e-8, 2e-9):
            inside = pre.RatioProblem((on_facet - depth * outwards) * units, F * units, norm=norm)
            assert pre.minimal_radius(inside).position is pre.Position.INSIDE
            assert pre.solve(inside, check=False).status is OPTIMAL
            outside = pre.RatioProblem((on_facet + depth * outwards) * units, F * units, norm=norm)
            found = pre.minimal_radius(outside)
            assert found.position is pre.Position.OUTSIDE
            assert 0 < mpf(found.lower) <= Exact.of(outside).separation(found.direction) * (1 + 1e-6)
        if isinstance(units, float):
            assert pre.minimal_radius(pre.RatioProblem(on_facet, F, norm=norm)).position is pre.Position.BOUNDARY
            for depth in (1e-10, 1e-12):
                outside = pre.RatioProblem(on_facet + depth * outwards, F, norm=norm)
                assert pre.solve(outside, check=False).status is INFEASIBLE


def test_a_radius_next_to_the_distance():
    """Infeasible only with a true separation beyond the radius, optimal only beyond the distance."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        F = rng.normal(size=(30, 2))
        problem = pre.RatioProblem(6.0 * F[0] / np.linalg.norm(F[0]), F)
        v = pre.minimal_radius(problem).direction
        distance = float(Exact.of(problem).separation(v))
        for radius in radii_around(distance):
            solution = pre.solve(problem.with_radius(radius), check=False)
            exact = Exact.of(problem.with_radius(radius))
            if solution.status is INFEASIBLE:
                assert exact.separation(solution.hull.direction) > exact.R
            elif solution.status is OPTIMAL:
                assert radius > distance
            else:
                assert solution.status is pre.Status.INACCURATE
                assert abs(radius - distance) <= 1e-7 * distance
                assert solution.gap == np.inf or radius > distance
