"""Certificates: every number by hand, and what may be proven of inputs that are hard on them."""

import itertools
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from exact import Exact, mpf
from zoo import OPTIMAL, of_kind, planted

import pre_convex as pre
from pre_convex.certificate.certificate import Certificate, arithmetic_of, make_certificate, prove
from pre_convex.data.passes import tilt
from pre_convex.data.requests import Alone, Draw, Tilt
from pre_convex.penalties import make_penalty

NORMS = [2, np.inf, 1]
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def cube(scales):
    """Corners of a box: under uniform weights tilted by any δ, columns are independent and H is diagonal."""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=len(scales)))) * scales


def boxed(delta, scales, radius, norm, r):
    """Problem on the corners of a box with solution δ and residual r."""
    F = cube(np.array(scales))
    return pre.RatioProblem(np.tanh(np.array(delta) * scales) * scales + r, F, radius=radius, norm=norm)


def excess(problem, delta, best):
    return problem.value(delta) - problem.value(best)


@pytest.mark.parametrize("off", [1e-1, 1e-2, -1e-2, 1e-4])
def test_without_a_radius_the_gap_is_nearly_the_true_one(off):
    # two rows: one pair of weights meets the target, and the bound of its divergence is tight to a factor 1 + |off|
    problem = pre.RatioProblem([0.25], [[0.0], [1.0]])
    best = np.array([np.log(1 / 3)])
    certificate = make_certificate(problem, best + off)
    true = excess(problem, best + off, best)
    assert true <= certificate.gap <= (1.0 + abs(off)) * true + 2.0 * certificate.noise
    assert certificate.dual_value == certificate.primal_value - certificate.gap
    assert certificate.primal_value == pytest.approx(problem.value(best + off), abs=1e-15)
    assert certificate.moment_residual == pytest.approx(abs(problem.gradient(best + off)[0]))
    assert certificate.slackness == pytest.approx(problem.gradient(best + off) @ (best + off))


CLOSE = {
    "norm 2, equal spread": ([0.4, 0.4], [1.0, 1.0], 2, np.full(2, 0.1 / np.sqrt(2))),
    "norm inf, unequal spread": ([0.4, -0.2], [1.0, 3.0], np.inf, np.array([0.1, -0.1])),
    "norm inf, a zero": ([0.4, 0.0], [1.0, 3.0], np.inf, np.array([0.1, 0.02])),
    "norm 1, equal spread": ([0.4, 0.4], [1.0, 1.0], 1, np.full(2, 0.05)),
    "norm 1, one leads": ([0.4, 0.1], [1.0, 1.0], 1, np.array([0.1, 0.0])),
}


@pytest.mark.parametrize("case", CLOSE)
@pytest.mark.parametrize("size", [1e-2, -1e-2, 1e-4])
def test_close_to_the_solution_the_gap_is_tight(case, size):
    best, scales, norm, r = CLOSE[case]
    best = np.array(best)
    problem = boxed(best, scales, 0.1, norm, r)
    assert make_certificate(problem, best).gap <= 1e-13
    for e in ([1.0, 0.5], [1.0, -1.0], [0.0, 1.0], [1.0, 0.0]):
        delta = best + size * np.array(e) * (best != 0.0)
        true, certificate = excess(problem, delta, best), make_certificate(problem, delta)
        assert certificate.gap >= true - 1e-15
        if norm != 1:
            # the ball of a lift is smaller by a share of 1e-12
            floor = 2e-12 * (problem.value(delta) - problem.with_radius(0.0).value(delta)) + 1e-15
            assert certificate.gap - certificate.noise <= 1.05 * true + floor


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_every_number_of_a_certificate_by_hand(norm, radius):
    problem, best = planted(n=40, k=3, radius=radius, norm=norm)
    rng = np.random.default_rng(3)
    delta = best + 0.05 * rng.normal(size=3)
    tilted = np.exp(problem.log_mu(delta))
    mu = tilted * (1.0 + 0.1 * rng.random(40))
    mu[3] = -0.03
    clean = np.maximum(mu, 0.0) / np.maximum(mu, 0.0).sum()
    F, b = problem.features_q, problem.target
    dual = {2: np.linalg.norm(delta), np.inf: np.abs(delta).sum(), 1: np.abs(delta).max()}[norm]
    certificate = make_certificate(problem, delta, mu)
    assert certificate.primal_value == pytest.approx(problem.value(delta), abs=1e-14)
    assert certificate.gap >= excess(problem, delta, best)
    assert certificate.dual_value == certificate.primal_value - certificate.gap
    assert certificate.simplex_residual == pytest.approx(max(abs(mu.sum() - 1.0), 0.03), rel=1e-9)
    r = b - clean @ F
    assert certificate.slackness == pytest.approx(radius * dual - r @ delta)
    assert certificate.moment_residual == pytest.approx(max(np.linalg.norm(r, norm) - radius, 0.0))
    assert certificate.e_qn == pytest.approx(np.linalg.norm((clean - tilted) @ F))
    assert certificate.violation == 0.0
    mean = tilted @ F
    spread = np.sqrt(tilted @ (F - mean) ** 2)
    assert certificate.spread == pytest.approx(np.linalg.norm(spread))
    assert (
        abs(Exact(b, F, problem.log_base, radius, norm).value(delta) - mpf(certificate.primal_value))
        <= certificate.noise
        <= 1e-13
    )
    plain = make_certificate(problem, delta)
    assert (plain.simplex_residual, plain.e_qn) == (0.0, 0.0)
    assert plain.slackness == pytest.approx(radius * dual - (b - mean) @ delta)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_weights_that_are_optimal_prove_what_a_poor_delta_cannot(norm, radius):
    problem, best = planted(n=40, k=3, radius=radius, norm=norm)
    mu = np.exp(problem.log_mu(best))
    poor = best + np.array([0.4, -0.3, 0.5])
    without_mu, with_mu = make_certificate(problem, poor), make_certificate(problem, poor, mu)
    true = excess(problem, poor, best)
    assert true <= with_mu.gap < without_mu.gap
    if radius == 0.0:  # otherwise the bound depends on the residual that is aimed at, which depends on δ
        assert with_mu.gap - with_mu.noise == pytest.approx(true, rel=1e-7)
    with_zeros = pre.RatioProblem(problem.target, np.vstack([problem.features_q, 9 * np.ones((1, 3))]), np.append(
        problem.log_base, -np.inf), radius, norm)  # fmt: skip
    assert make_certificate(with_zeros, poor, np.append(mu, 0.0)).gap == pytest.approx(with_mu.gap, rel=1e-6)


def test_invalid_weights_have_a_simplex_residual():
    problem, best = planted(n=20, k=2)
    for mu, residual in ((np.zeros(20), 1.0), (np.full(20, -1.0), 21.0), (np.full(20, 0.1), 1.0)):
        certificate = make_certificate(problem, best, mu)
        assert certificate.simplex_residual == pytest.approx(residual)
        assert not certificate.proves(1e-6)
        assert certificate.gap == pytest.approx(make_certificate(problem, best).gap, abs=1e-12)
    exact = make_certificate(problem, best, np.exp(problem.log_mu(best)))
    assert exact.simplex_residual <= 1e-15
    assert exact.e_qn <= 1e-14


def test_round_off_of_the_moment_does_not_count_as_e_qn():
    problem = pre.RatioProblem([0.1 + 1e3], [[0.1 + 1e3], [7.0]], [0.0, -1e3])
    certificate = make_certificate(problem, [0.0], [1.0, 0.0])
    assert certificate.e_qn == 0.0
    wide, best = planted(features=10.0 + 0.1 * np.random.default_rng(0).normal(size=(50, 2)), strength=0.1)
    mu = np.exp(wide.log_mu(best))
    away = wide.residual(mu / mu.sum()) + wide.gradient(best)
    assert np.linalg.norm(away) < 1e-13  # round-off of numbers near ten
    assert make_certificate(wide, best, mu).e_qn == 0.0
    off = make_certificate(problem, [0.0], [1.0 - 1e-12, 1e-12])
    assert off.e_qn == pytest.approx(1e-12 * (1e3 - 6.9), rel=1e-2)


def proof_from_every_second_row(problem, delta):
    """What a lift on half of the rows proves."""

    def requests():
        level = yield Draw(problem.n_q // 2, at_random=False)
        summary = yield Tilt(delta)
        return (yield from prove(delta, summary, make_penalty(problem), arithmetic_of(problem), level.number))

    return Alone(problem.rows).run(requests())


def test_a_given_pass_and_a_given_subset_are_used():
    problem, best = planted(n=60, k=2)
    lie = tilt(problem.rows, best)._replace(log_z=5.0)
    assert make_certificate(problem, best, summary=lie).primal_value == pytest.approx(5.0)
    everything = make_certificate(problem, best + 0.01)
    some = proof_from_every_second_row(problem, best + 0.01)
    assert some.gap > everything.gap > excess(problem, best + 0.01, best)
    F, mu = problem.features_q[::2], np.exp(problem.log_mu(best + 0.01))[::2]  # the sum is not one
    mean = mu @ F / mu.sum()
    assert some.spread == pytest.approx(np.sqrt((mu @ (F - mean) ** 2).sum() / mu.sum()))
    for call, argument in (
        (lambda: make_certificate(problem, np.zeros(3)), "delta"),
        (lambda: make_certificate(problem, best, np.zeros(3)), "mu"),
        (lambda: make_certificate(problem, best, np.full(60, 1e101)), "mu"),
    ):
        with pytest.raises(pre.DataError) as error:
            call()
        assert error.value.argument == argument


class Shift:
    """g(δ) = 1 everywhere, with an infinite gap."""

    def value(self, delta):
        return 1.0

    def violation(self, delta):
        return float(np.abs(delta).sum())

    def trial(self, delta, r, H, margin):
        return None


def test_a_given_penalty_replaces_that_of_the_problem():
    problem, best = planted(n=30, k=2, radius=0.1)
    certificate = make_certificate(problem, best, np.exp(problem.log_mu(best)), penalty=Shift())
    plain = problem.with_radius(0.0).value(best)
    assert certificate.primal_value == pytest.approx(plain + 1.0)
    assert (certificate.gap, certificate.dual_value, certificate.violation) == (np.inf, -np.inf, np.abs(best).sum())
    assert certificate.slackness == pytest.approx(1.0 - problem.residual(np.exp(problem.log_mu(best))) @ best)


def test_rows_in_blocks_are_certified_by_passes():
    problem, best = planted(n=40, k=2)
    blocks = pre.RatioProblem.from_blocks(None, problem.features_q, None, problem.log_base, target=problem.target)
    mu = np.exp(problem.log_mu(best))
    certificate = make_certificate(blocks, best + 1e-3, mu)
    true = excess(problem, best + 1e-3, best)
    assert true <= certificate.gap <= 2.0 * true
    assert certificate.e_qn == pytest.approx(make_certificate(problem, best + 1e-3, mu).e_qn)


PROOF = Certificate(3.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("change", "tol", "proven"),
    [
        ({}, 1e-6, True),
        ({"gap": 4e-6}, 1e-6, True),  # tol (1 + |value|)
        ({"gap": 4.1e-6}, 1e-6, False),
        ({"gap": 4.1e-6, "last_digit": 1e-6}, 1e-6, True),  # no answer has a smaller gap
        ({"gap": 4e-6, "primal_value": -3.0}, 1e-6, True),
        ({"gap": 2e-6, "primal_value": 0.0}, 1e-6, False),
        ({"violation": 1e-6}, 1e-6, True),
        ({"violation": 1.1e-6}, 1e-6, False),
        ({"violation": 1e-8}, 1e-10, True),  # but no closer than 1e-8
        ({"violation": 1.1e-8}, 1e-10, False),
        ({"simplex_residual": 1e-6}, 1e-6, True),
        ({"simplex_residual": 1.1e-6}, 1e-6, False),
        ({"e_qn": 0.039, "spread": 2.0}, 1e-6, True),  # 10 √(tol · 4) in units of the spread
        ({"e_qn": 0.041, "spread": 2.0}, 1e-6, False),
        ({"e_qn": 0.04, "spread": 2.0}, 1e-6, True),
    ],
)
def test_what_a_certificate_proves(change, tol, proven):
    assert replace(PROOF, **change).proves(tol) is proven


@pytest.mark.parametrize("animal", [a for a in of_kind(OPTIMAL) if a.small], ids=str)
def test_the_known_answer_is_proven_and_no_other(animal):
    """The gap at a known δ is round-off; a δ off by one unit of the Hessian is not proven."""
    problem, delta = animal.problem, animal.delta
    delta = pre.solve(problem).delta if delta is None else delta  # one of many
    proof = pre.certify(problem, delta)
    assert proof.gap <= 1e-12 * (1.0 + abs(animal.value)) + 10.0 * proof.noise
    assert proof.primal_value == pytest.approx(animal.value, abs=1e-12 + proof.noise)
    if problem.n_q > 1:
        v = np.random.default_rng(0).normal(size=problem.k)
        off = v / np.sqrt(v @ problem.hessian(delta) @ v)
        wrong = pre.certify(problem, delta + off)
        assert not wrong.proves(1e-3)
        assert wrong.primal_value - animal.value <= wrong.gap + 1e-12 + wrong.noise


@pytest.mark.parametrize("width", [1e-9, 1e-11, 1e-13])
def test_nearly_collinear_columns_are_not_proven_beyond_round_off(width):
    # the exact value of ℓ needs more digits than doubles have, and extended precision has three more
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=12), rng.normal(size=12)
    F = np.column_stack([x, x + width * z])
    problem = pre.RatioProblem(rng.dirichlet(np.ones(12)) @ F, F)
    solution = pre.solve(problem, check=False)
    assert solution.gap >= 1e-20 / width
    pytest.importorskip("flint")
    assert pre.verify(problem, solution.delta).gap <= solution.gap
    off = pre.RatioProblem(problem.target + [0.0, 20 * width], F)
    assert pre.solve(off, check=False).status is pre.Status.INFEASIBLE


@pytest.mark.parametrize("off", [3e-11, 1e-8, 1e-3])
def test_a_duplicate_column_that_the_target_does_not_duplicate(off):
    x = np.linspace(-1, 1, 9)
    problem = pre.RatioProblem([0.3, 0.3 + off], np.column_stack([x, x]))
    solution = pre.solve(problem, check=False)
    assert solution.status is pre.Status.INFEASIBLE
    assert solution.hull.radius == pytest.approx(off / np.sqrt(2), rel=1e-3)
    assert pre.certify(problem, [0.0, 0.0]).dual_value == -np.inf


@pytest.mark.parametrize("width", [1e-4, 1e-6, 1e-8])
def test_positions_relative_to_a_thin_hull(width):
    F = SQUARE @ np.array([[1.0, 1.0], [0.0, width]])
    inside = pre.solve(pre.RatioProblem([0.5, 0.5 + 0.3 * width], F), check=False, tol=1e-6)
    assert inside.status is pre.Status.OPTIMAL
    edge = pre.solve(pre.RatioProblem([0.5, 0.5], F), check=False)
    assert edge.status in (pre.Status.BOUNDARY, pre.Status.INACCURATE)  # where round-off prevents a proof
    if edge.status is pre.Status.BOUNDARY:
        last_digit = 1e-13 / width  # what one of the target is worth, across the hull
        assert edge.dual_value == pytest.approx(-np.log(2), abs=max(1e-6, last_digit))
    assert pre.solve(pre.RatioProblem([0.5, 0.5 - width], F), check=False).status is pre.Status.INFEASIBLE


def test_blocks_of_vanishing_weight():
    F = np.random.default_rng(0).normal(size=(60_000, 3))
    sorted_base = pre.RatioProblem([0.3, 0.1, -0.2], F, np.linspace(800, -800, 60_000))
    assert sorted_base.value(np.zeros(3)) == pytest.approx(0.0, abs=1e-12)
    F[123, 0] = 1e4  # one outlier
    assert pre.solve(pre.RatioProblem([0.3, 0.1, -0.2], F)).status.ok


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.01, 2), (0.01, np.inf), (0.01, 1)])
def test_a_column_that_is_nonzero_in_one_row(radius, norm):
    F = np.random.default_rng(0).normal(size=(60_000, 3))
    F[:, 2] = 0.0
    F[77, 2] = 1.0
    problem = pre.RatioProblem([0.3, 0.1, 1e-3], F, radius=radius, norm=norm)
    solution = pre.solve(problem)
    assert pre.certify(problem, solution.delta).proves(1e-7)


def test_a_lift_keeps_the_total_weight():
    problem = pre.RatioProblem([1.5], [[1.0], [2.0]], [0.0, -50.0])
    optimum = -25.0 + np.log(2.0)  # half of the weight on each row
    assert pre.certify(problem, [0.0]).dual_value <= optimum + 1e-12
    assert pre.solve(problem).primal_value == pytest.approx(optimum, abs=1e-12)


def test_round_off_at_a_huge_delta_gives_no_false_bound():
    problem = pre.RatioProblem([1.5], [[1.0], [1.0]], radius=1.0)
    assert pre.certify(problem, [1e13 / 3]).dual_value <= 0.0


@pytest.mark.parametrize("radius", [1e-300, 1e-16, 1e-9, 0.5])
def test_a_single_constant_column_with_any_radius(radius):
    column = np.full((8, 1), 0.3)
    met = pre.solve(pre.RatioProblem([0.3], column, 20.0 * np.arange(8), radius=radius), check=False)
    assert met.status is pre.Status.OPTIMAL
    missed = pre.solve(pre.RatioProblem([0.8 + 2 * radius], column, radius=radius), check=False)
    assert missed.status is pre.Status.INFEASIBLE


def test_a_penalty_outside_its_domain_is_infinite():
    certificate = pre.certify(planted()[0], [-1.0, -1.0, 1.0], penalty=lambda d: -cp.sum(cp.log(d)))
    assert certificate.primal_value == np.inf
    assert certificate.dual_value == -np.inf


def test_an_unbounded_problem_with_a_penalty_is_not_proven():
    problem = pre.RatioProblem([9.0, 9.0], planted(k=2)[0].features_q)
    solution = pre.solve(problem, penalty=lambda d: 0.01 * cp.norm1(d), check=False)
    assert solution.status is pre.Status.INACCURATE
    assert solution.gap == np.inf


@pytest.mark.parametrize(("delta", "mu"), [(np.zeros(3), None), ([0.0, 1e151], None), ([0.0, 0.0], np.zeros(3))])
def test_certify_refuses_bad_input(delta, mu):
    with pytest.raises(pre.DataError) as error:
        pre.certify(planted(n=20, k=2)[0], delta, mu)
    assert error.value.argument == ("delta" if mu is None else "mu")


def test_certify_counts_the_users_terms():
    problem, delta = planted(n=20, k=2)
    terms = {"penalty": lambda d: cp.norm1(d), "constraints": lambda d: [d >= delta + 0.5]}
    certificate = pre.certify(problem, delta, **terms)
    assert certificate.violation == pytest.approx(0.5)
    assert certificate.primal_value == pytest.approx(problem.value(delta) + np.abs(delta).sum())
    assert not certificate.proves(0.4)


@pytest.mark.parametrize("norm", NORMS)
def test_numbers_that_overflow_prove_nothing(norm):
    problem = pre.RatioProblem([1e99, 0.0], [[1e100, 0.0], [-1e100, 1.0]], radius=1.0, norm=norm)
    certificate = pre.certify(problem, [1e150, -1e150])
    assert certificate.gap == np.inf
    assert not certificate.proves(0.5)


def test_the_right_delta_does_not_prove_the_wrong_weights():
    problem, delta = planted()
    right, wrong = np.exp(problem.log_mu(delta)), np.full(problem.n_q, 1 / problem.n_q)
    assert pre.certify(problem, delta, right).proves(1e-8)
    assert not pre.certify(problem, delta, wrong).proves(1e-8)


def test_user_terms_on_infeasible_data_report_the_distance():
    problem = pre.RatioProblem([9.0, 9.0], planted(k=2)[0].features_q)
    with pytest.raises(pre.SolveError) as error:
        pre.solve(problem, penalty=lambda d: 0.01 * cp.norm1(d))
    assert error.value.solution.hull.lower > 0.0
    assert f"{error.value.solution.hull.radius:.6g}" in str(error.value)


def test_infeasible_comes_with_a_separating_direction():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        F = rng.normal(size=(60, 3)) * 10.0 ** rng.uniform(-6, 6, 3)
        problem = pre.RatioProblem(F[0] * rng.uniform(0.5, 6.0), F, norm=[2, np.inf, 1][seed % 3])
        solution = pre.solve(problem, check=False)
        if solution.status is pre.Status.INFEASIBLE:
            v = solution.hull.direction
            assert (F @ v).max() < v @ problem.target
            assert solution.hull.lower > 0.0


def test_mass_on_a_row_of_base_weight_zero_proves_nothing():
    problem = pre.RatioProblem([0.1], [[0.0], [1.0], [2.0]], [0.0, 0.0, -np.inf])
    certificate = pre.certify(problem, [0.4], np.full(3, 1 / 3))
    assert certificate.dual_value <= pre.solve(problem).primal_value + 1e-12


@pytest.mark.parametrize("terms", [{}, {"divergence": "chi2"}, {"radius": [0.0] * 5}])
def test_what_dependent_columns_miss_is_bounded_whichever_are_left_out(terms):
    """Two rows of years and microseconds: one column fixes the weights, and those of the others are known exactly."""
    F = [
        [1972.0, 1978.0, 1700000000003525.0, 1700000000008307.0, 1700000000005151.0],
        [1989.0, 1927.0, 1700000000007437.0, 1700000000002770.0, 1700000000007680.0],
    ]
    seen = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        w = rng.random()
        b = np.array([w, 1.0 - w]) @ np.array(F)
        problem = pre.RatioProblem(b, F, [-1e-7, -rng.random() * 20.0], **terms)
        certificate = pre.solve(problem, check=False).certificate
        if len(certificate.dependent) != 4:
            continue
        seen += 1
        (kept,) = set(range(5)) - set(certificate.dependent)
        low, high, target = ([Fraction(x) for x in row] for row in (F[1], F[0], b.tolist()))
        share = (target[kept] - low[kept]) / (high[kept] - low[kept])
        for i, bound in zip(certificate.dependent, certificate.missed, strict=True):
            assert abs(target[i] - low[i] - share * (high[i] - low[i])) <= Fraction(bound)
    assert seen > 20


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("unit", [1.0, 1e6, 1e9])
def test_an_indicator_of_rows_without_weight_does_not_prevent_a_proof(norm, unit):
    """A narrow kernel leaves no weight on the rows with the indicator; its moment stays as it is within the radius."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        z, x = rng.standard_normal(300), rng.standard_normal(300) * unit
        indicator = (np.argsort(np.argsort(-np.abs(z - 0.3))) < 3).astype(float)
        F, a = np.column_stack([x, indicator]), -((z - 0.3) ** 2) / 1e-2
        problem = pre.RatioProblem([0.2 * unit, 0.01], F, a, radius=0.02 * unit, norm=norm)
        assert pre.solve(problem).status is pre.Status.OPTIMAL


def test_collinear_float32_columns_within_a_radius_are_as_well_known_as_in_float64():
    rng = np.random.default_rng(0)
    x = rng.normal(15.0, 9.0, 1500)
    F = np.column_stack([x.astype("f4"), (x * 1.8 + 32.0).astype("f4")])
    for radius in (0.01, [0.01, 0.01]):
        single, double = (
            pre.solve(pre.RatioProblem.from_samples(f[:500], f[500:], radius=radius)) for f in (F, F.astype(float))
        )
        assert single.gap < 1e-10
        assert single.primal_value == pytest.approx(double.primal_value, abs=1e-9)
