"""Certificate and Solution: every number of a proof computed by hand, and what an answer says of itself."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from zoo import planted

import pre_convex as pre
import pre_convex.solution as solution_module
from pre_convex.lift import Lift
from pre_convex.norms import get_norm
from pre_convex.passes import Rows, tilt
from pre_convex.solution import BallPenalty, Certificate, Solution, Status, certificate

NORMS = [2, np.inf, 1]
EPS = np.finfo(float).eps


def cube(scales):
    """Corners of a box: under flat weights tilted by any δ the columns are independent, so that H is diagonal."""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=len(scales)))) * scales


def boxed(delta, scales, radius, norm, r):
    """Problem on the corners of a box with this solution; r is the residual there."""
    F = cube(np.array(scales))
    return pre.RatioProblem(np.tanh(np.array(delta) * scales) * scales + r, F, radius=radius, norm=norm)


def excess(problem, delta, best):
    return problem.value(delta) - problem.value(best)


@pytest.mark.parametrize("off", [1e-1, 1e-2, -1e-2, 1e-4])
def test_without_a_radius_the_gap_is_the_excess_of_the_value(off):
    # two rows: there is only one way to meet a moment, so that the bound is the optimum itself
    problem = pre.RatioProblem([0.25], [[0.0], [1.0]])
    best = np.array([np.log(1 / 3)])
    found = certificate(problem, best + off)
    assert found.gap - found.noise == pytest.approx(excess(problem, best + off, best), rel=1e-9, abs=1e-15)
    assert found.dual_value == pytest.approx(problem.value(best), abs=1e-14)
    assert found.primal_value == problem.value(best + off)
    assert found.moment_residual == pytest.approx(abs(problem.gradient(best + off)[0]))
    assert found.slackness == pytest.approx(problem.gradient(best + off) @ (best + off))


CLOSE = {
    "norm 2, equal spread": ([0.4, 0.4], [1.0, 1.0], 2, np.full(2, 0.1 / np.sqrt(2))),
    "norm inf, unequal spread": ([0.4, -0.2], [1.0, 3.0], np.inf, np.array([0.1, -0.1])),
    "norm inf, a zero": ([0.4, 0.0], [1.0, 3.0], np.inf, np.array([0.1, 0.02])),
    "norm 1, equal spread": ([0.4, 0.4], [1.0, 1.0], 1, np.full(2, 0.05)),
    "norm 1, one leads": ([0.4, 0.1], [1.0, 1.0], 1, np.array([0.1, 0.0])),
}


@pytest.mark.parametrize("case", CLOSE)
@pytest.mark.parametrize("size", [1e-2, -1e-2, 1e-4])
def test_close_to_the_solution_the_gap_is_hardly_larger_than_the_excess(case, size):
    best, scales, norm, r = CLOSE[case]
    best = np.array(best)
    problem = boxed(best, scales, 0.1, norm, r)
    assert certificate(problem, best).gap <= 1e-13
    for e in ([1.0, 0.5], [1.0, -1.0], [0.0, 1.0], [1.0, 0.0]):
        delta = best + size * np.array(e) * (best != 0.0)
        true, found = excess(problem, delta, best), certificate(problem, delta)
        assert found.gap >= true - 1e-15
        if norm != 1:
            assert found.gap - found.noise <= 1.05 * true + 1e-15


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
    found = certificate(problem, delta, mu)
    assert found.primal_value == pytest.approx(problem.value(delta), abs=1e-14)
    assert found.gap >= excess(problem, delta, best)
    assert found.dual_value == found.primal_value - found.gap
    assert found.simplex_residual == pytest.approx(max(abs(mu.sum() - 1.0), 0.03), rel=1e-9)
    r = b - clean @ F
    assert found.slackness == pytest.approx(radius * dual - r @ delta)
    assert found.moment_residual == pytest.approx(max(np.linalg.norm(r, norm) - radius, 0.0))
    assert found.e_qn == pytest.approx(np.linalg.norm((clean - tilted) @ F))
    assert found.violation == 0.0
    mean = tilted @ F
    spread = np.sqrt(tilted @ (F - mean) ** 2)
    assert found.spread == pytest.approx(np.linalg.norm(spread))
    size = np.abs(b) + np.abs(mean) + spread
    log_z = problem.tilt(delta).log_z
    noise = 4 * EPS * (1 + abs(log_z) + size @ np.abs(delta) + radius * dual)
    assert found.noise == pytest.approx(noise, rel=1e-9, abs=0.0)
    plain = certificate(problem, delta)
    assert (plain.simplex_residual, plain.e_qn) == (0.0, 0.0)
    assert plain.slackness == pytest.approx(radius * dual - (b - mean) @ delta)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_weights_that_are_optimal_prove_what_a_poor_delta_cannot(norm, radius):
    problem, best = planted(n=40, k=3, radius=radius, norm=norm)
    mu = np.exp(problem.log_mu(best))
    poor = best + np.array([0.4, -0.3, 0.5])
    alone, together = certificate(problem, poor), certificate(problem, poor, mu)
    true = excess(problem, poor, best)
    assert together.gap - together.noise == pytest.approx(true, rel=1e-7)
    assert alone.gap > together.gap
    ball, lift = BallPenalty(problem.ball, radius), Lift(problem.rows, mu / mu.sum())
    bound = ball.bound(problem.moment(mu / mu.sum()), poor, lift, problem.log_base)
    assert together.gap == together.primal_value - bound + together.noise
    with_zeros = pre.RatioProblem(problem.target, np.vstack([problem.features_q, 9 * np.ones((1, 3))]), np.append(
        problem.log_base, -np.inf), radius, norm)  # fmt: skip
    assert certificate(with_zeros, poor, np.append(mu, 0.0)).gap == pytest.approx(together.gap, rel=1e-6)


def test_weights_that_are_none_are_said_to_be_none():
    problem, best = planted(n=20, k=2)
    for mu, residual in ((np.zeros(20), 1.0), (np.full(20, -1.0), 21.0), (np.full(20, 0.1), 1.0)):
        found = certificate(problem, best, mu)
        assert found.simplex_residual == pytest.approx(residual)
        assert not found.proves(1e-6)
        assert found.gap == pytest.approx(certificate(problem, best).gap, abs=1e-12)
    exact = certificate(problem, best, np.exp(problem.log_mu(best)))
    assert exact.simplex_residual <= 1e-15
    assert exact.e_qn <= 1e-14


def test_where_one_row_has_all_weight_round_off_of_the_moment_is_none():
    problem = pre.RatioProblem([0.1 + 1e3], [[0.1 + 1e3], [7.0]], [0.0, -1e3])
    found = certificate(problem, [0.0], [1.0, 0.0])
    assert found.e_qn == 0.0
    wide, best = planted(features=10.0 + 0.1 * np.random.default_rng(0).normal(size=(50, 2)), strength=0.1)
    mu = np.exp(wide.log_mu(best))
    away = wide.moment(mu / mu.sum()) + wide.gradient(best)
    assert 1e-15 < np.linalg.norm(away) < 1e-13  # the last digits of ten
    assert certificate(wide, best, mu).e_qn == 0.0
    off = certificate(problem, [0.0], [1.0 - 1e-12, 1e-12])
    assert off.e_qn == pytest.approx(1e-12 * (1e3 - 6.9), rel=1e-2)


def test_what_has_been_computed_already_is_not_computed_again():
    problem, best = planted(n=60, k=2)
    lie = replace(tilt(problem.rows, best), log_z=5.0)
    assert certificate(problem, best, summary=lie).primal_value == pytest.approx(5.0 - problem.target @ best)
    some = certificate(problem, best + 0.01, rows=problem.rows.take(slice(0, 30)))
    everything = certificate(problem, best + 0.01)
    assert some.gap > everything.gap > excess(problem, best + 0.01, best)
    assert some.primal_value == everything.primal_value
    F, mu = problem.features_q[:30], np.exp(problem.log_mu(best + 0.01))[:30]  # whose sum is not one
    mean = mu @ F / mu.sum()
    assert some.spread == pytest.approx(np.sqrt((mu @ (F - mean) ** 2).sum() / mu.sum()))
    with pytest.raises(pre.DataError, match=r"^delta: has 3 entries where 2 are needed"):
        certificate(problem, np.zeros(3))
    with pytest.raises(pre.DataError, match=r"^mu: has 3 entries where 60 are needed"):
        certificate(problem, best, np.zeros(3))
    with pytest.raises(pre.DataError, match=r"^mu: holds 1e\+101, and numbers beyond 1e\+100"):
        certificate(problem, best, np.full(60, 1e101))


class Shift:
    """g(δ) = 1 wherever δ is, and nothing is proven."""

    def value(self, delta):
        return 1.0

    def violation(self, delta):
        return float(np.abs(delta).sum())

    def gap(self, delta, r, lift):
        return np.inf


def test_a_penalty_of_ones_own_takes_the_place_of_the_ball():
    problem, best = planted(n=30, k=2, radius=0.1)
    found = certificate(problem, best, np.exp(problem.log_mu(best)), penalty=Shift())
    plain = problem.with_radius(0.0).value(best)
    assert found.primal_value == pytest.approx(plain + 1.0)
    assert (found.gap, found.dual_value, found.violation) == (np.inf, -np.inf, np.abs(best).sum())
    assert found.slackness == pytest.approx(1.0 - problem.moment(np.exp(problem.log_mu(best))) @ best)


def test_rows_that_are_read_in_blocks_are_certified_by_passes():
    problem, best = planted(n=40, k=2)
    blocks = pre.RatioProblem.from_blocks(None, problem.features_q, None, problem.log_base, target=problem.target)
    mu = np.exp(problem.log_mu(best))
    found = certificate(blocks, best + 1e-3, mu)
    true = excess(problem, best + 1e-3, best)
    assert true <= found.gap <= 2.0 * true
    assert found.e_qn == pytest.approx(certificate(problem, best + 1e-3, mu).e_qn)


class Priced:
    """A lift whose cost, and the round-off it leaves, are given; it counts how often it was asked."""

    scatter, asked = np.eye(2), 0

    def __init__(self, cost, left):
        self.answer = cost, np.array(left)

    def cost(self, u):
        self.asked += 1
        return self.answer


def test_a_gap_is_charged_with_what_a_lift_leaves():
    delta, r = np.array([3.0, -4.0]), np.array([0.1, 0.2])
    assert BallPenalty(get_norm(2), 0.0).gap(delta, r, Priced(0.25, [1e-3, 2e-3])) == pytest.approx(0.261)
    # the best that can be had ends the search among four residuals
    for cost, asked in ((solution_module.ENOUGH, 1), (1.01 * solution_module.ENOUGH, 4)):
        lift = Priced(cost, [0.0, 0.0])
        BallPenalty(get_norm(2), 0.5).gap(np.zeros(2), r, lift)
        assert lift.asked == asked


PROOF = Certificate(3.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("change", "tol", "proven"),
    [
        ({}, 1e-6, True),
        ({"gap": 4e-6}, 1e-6, True),  # tol (1 + |value|)
        ({"gap": 4.1e-6}, 1e-6, False),
        ({"gap": -4.1e-6}, 1e-6, False),
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


@pytest.mark.parametrize("norm", NORMS)
def test_the_penalty_of_a_ball(norm):
    delta = np.array([3.0, -4.0])
    dual = {2: 5.0, np.inf: 7.0, 1: 4.0}[norm]
    ball = BallPenalty(get_norm(norm), 0.5)
    assert (ball.value(delta), ball.violation(delta)) == (0.5 * dual, 0.0)
    assert BallPenalty(get_norm(norm), 0.0).value(delta) == 0.0
    np.testing.assert_array_equal(ball.inside(np.array([0.1, -0.2])), [0.1, -0.2])
    for point in (delta, np.array([0.5, 1e-9]), np.array([-7.0, 0.0])):
        inside = ball.inside(point)
        assert ball.norm(inside) <= 0.5
        assert ball.norm(inside) == pytest.approx(0.5)
        np.testing.assert_allclose(inside, ball.norm.project(point, 0.5), rtol=1e-14)


@pytest.mark.parametrize("norm", NORMS)
def test_residuals_to_try_lie_in_the_ball_and_one_of_them_is_aligned_with_delta(norm):
    ball, r, H = BallPenalty(get_norm(norm), 0.5), np.array([0.3, -0.2]), np.diag([1.0, 3.0])
    delta = np.array([0.8, -0.1])
    expected = [ball.inside(r + t * delta) for t in (0.0, 2.0, np.array([1.0, 3.0]), 0.5e8 / np.linalg.norm(delta))]
    points = ball.points(delta, r, H)
    np.testing.assert_allclose(points, expected, rtol=1e-12)
    assert max(ball.norm(p) for p in points) <= 0.5
    assert max(float(p @ delta) for p in points) == pytest.approx(ball.value(delta), rel=1e-7)
    np.testing.assert_array_equal(BallPenalty(get_norm(norm), 0.0).points(delta, r, H), [[0.0, 0.0]])
    np.testing.assert_allclose(ball.points(np.zeros(2), r, H), [ball.inside(r)] * 4)


@pytest.mark.parametrize("norm", NORMS)
def test_residuals_to_try_leave_alone_what_no_lift_moves(norm):
    ball, H = BallPenalty(get_norm(norm), 0.5), np.diag([1.0, 0.0])
    delta = np.array([0.8, 5.0])
    for r in (np.array([0.4, 0.2]), np.array([3.0, -0.4]), np.array([1.0, 0.1])):
        points = ball.points(delta, r, H)
        assert len(points) == 4
        for point in points:
            assert ball.norm(point) <= 0.5
            assert point[1] == pytest.approx(r[1], abs=1e-12)
        assert points[0][0] > 0.1 or norm == 1  # not only the part that nothing moves
    np.testing.assert_allclose(ball.points(delta, np.array([0.0, 0.5]), H)[0], [0.0, 0.5])
    assert ball.points(delta, np.array([0.1, 0.6]), H) == []  # the ball has no point with such a residual


def test_a_lift_may_not_make_a_weight_negative():
    F = np.array([[0.0], [1.0], [2.0]])
    lift = Lift(Rows(F, np.zeros(3)), np.array([0.98, 0.01, 0.01]))
    ball, log_base = BallPenalty(get_norm(2), 0.0), np.log(np.full(3, 1 / 3))
    assert ball.bound(np.array([-0.1]), np.zeros(1), lift, log_base) == -np.inf
    r = np.array([0.005])
    mu = lift.mu * (1.0 + lift.correction(r)[0])
    assert (mu @ F)[0] == pytest.approx(0.035)
    assert ball.bound(r, np.zeros(1), lift, log_base) == pytest.approx(-mu @ np.log(3 * mu))
    edge = Lift(Rows(F, np.zeros(3)), np.array([0.5, 0.5, 0.0]))  # all weight moves to one row
    assert ball.bound(np.array([-0.5]), np.zeros(1), edge, log_base) == pytest.approx(-np.log(3.0))


def test_weights_on_a_row_that_cannot_occur_prove_nothing():
    lift = Lift(Rows(np.array([[0.0], [1.0], [2.0]]), np.zeros(3)), np.array([0.5, 0.25, 0.25]))
    ball, r = BallPenalty(get_norm(2), 0.0), np.array([0.1])
    assert ball.bound(r, np.zeros(1), lift, np.array([0.0, 0.0, -np.inf])) == -np.inf
    assert ball.bound(r, np.zeros(1), lift, np.zeros(3)) > 0.0


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_a_bound_is_charged_with_the_round_off_of_its_moment(spread):
    rng = np.random.default_rng(5)
    F, best = np.vstack([1e3 * rng.normal(size=(30, 2)), [[9e3, 9e3]]]), np.array([2e-3, -1e-3])
    log_base = np.append(spread * rng.normal(size=30), -np.inf)
    mu = np.exp(F @ best + log_base)
    mu /= mu.sum()
    lift, delta = Lift(Rows(F, log_base), mu), np.array([1e-3, 3e-3])
    left = lift.correction(np.zeros(2)).left
    value = mu[:30] @ (log_base[:30] - np.log(mu[:30]))
    found = BallPenalty(get_norm(2), 0.0).bound(np.zeros(2), delta, lift, log_base)
    # a change u of the moment changes the value by ⟨δ, u⟩ to first order
    charge = (left + 4 * EPS * lift.reached) @ (np.abs(delta) + 2 * np.abs(best))
    assert charge > 1e-14
    assert value - found == pytest.approx(charge, rel=0.15, abs=0.0)


def test_a_solution_holds_read_only_numbers_and_computes_its_weights_once():
    calls = []

    def weights():
        calls.append(1)
        return [1, 0]

    solution = Solution([1, 2], weights, Status.OPTIMAL, PROOF, "newton", "primal", 3)
    assert solution.delta.dtype == float
    assert not solution.delta.flags.writeable
    assert not calls
    for _ in range(2):
        assert solution.mu.dtype == float
        assert not solution.mu.flags.writeable
        np.testing.assert_array_equal(solution.mu, [1.0, 0.0])
    assert len(calls) == 1
    given = Solution([1, 2], [0, 1], Status.OPTIMAL, PROOF, "newton", "primal", 3)
    np.testing.assert_array_equal(given.weights, [0.0, 1.0])
    assert given.weights.dtype == float
    assert not given.weights.flags.writeable
    later = Solution([1, 2], weights, Status.INACCURATE, PROOF, "newton", "primal", 3, claim="done")
    copy = pickle.loads(pickle.dumps(later))  # the function stays behind
    np.testing.assert_array_equal(copy.weights, [1.0, 0.0])
    assert (copy.status, copy.claim, copy.iterations) == (Status.INACCURATE, "done", 3)
    assert (given.free_directions, given.solve_time, given.claim, given.raw, given.hull) == (0, 0.0, "", None, None)
