"""Passes for a divergence with bounds: sums agree with their definitions, in memory, in blocks and on samples."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.linked import (
    Extremes,
    LiftRequest,
    LinkedRows,
    Magnitude,
    Room,
    StepLimit,
    capped_support,
    intercept_at,
    linked_scores,
    linked_tilt,
)
from pre_convex.data.requests import Draw
from pre_convex.divergences import Link, get_divergence

RNG = np.random.default_rng(0)
F, A = RNG.normal(size=(300, 3)) + [5.0, 0.0, -1.0], 0.4 * RNG.normal(size=300)
B = F.mean(axis=0) + 0.1
THETA = np.array([0.05, 0.2, -0.1, 0.15])
UPPER = RNG.uniform(1.1, 3.0, 300)


def problems():
    """The same problem in memory, stored as it is, and in blocks, with and without bounds for each row."""
    blocks = [lambda i=i: F[60 * i : 60 * (i + 1)] for i in range(5)]
    weights = [lambda i=i: A[60 * i : 60 * (i + 1)] for i in range(5)]
    for name in ("kl", "chi2", "reverse-kl"):
        for bounds in (None, (0.4, 1.5), (0.0, UPPER)):
            terms = {"divergence": name, "bounds": bounds}
            yield pre.RatioProblem(B, F, A, **terms)
            yield pre.RatioProblem.from_blocks(None, blocks, log_lik_q=weights, target=B, **terms)


@pytest.mark.parametrize("problem", list(problems()), ids=str)
def test_sums_agree_with_their_definitions(problem):
    link, pi = problem.link, np.exp(A) / np.exp(A).sum()
    G = np.column_stack([np.ones(300), F - B])
    s = G @ THETA
    t = link.ratio(s)
    summary = linked_tilt(problem.rows, link, THETA)
    assert summary.log_z == pytest.approx(-THETA[0] + pi @ link.conjugate(s), abs=1e-13)
    np.testing.assert_allclose(summary.mean, G.T @ (pi * t) - [1, 0, 0, 0], atol=1e-13)
    np.testing.assert_allclose(summary.covariance, (G * (pi * link.curvature(s))[:, None]).T @ G, atol=1e-12)
    scores, base = linked_scores(problem.rows, THETA)
    np.testing.assert_allclose(scores, s, atol=1e-13)
    np.testing.assert_allclose(base, pi, atol=1e-15)
    rows = LinkedRows(problem.rows, link)
    accuracy = 1e-14
    omega = pi * link.room(t, accuracy)
    np.testing.assert_allclose(rows._answer(Room(THETA, accuracy)), (G * omega[:, None]).T @ G, atol=1e-12)
    V, r = RNG.normal(size=(2, 4)), np.array([0.0, 0.1, -0.2, 0.3])
    Y = (G + r) @ V.T
    found = rows._answer(LiftRequest(THETA, accuracy, V, r))
    np.testing.assert_allclose(found.mean, (pi * t) @ Y, atol=1e-12)
    np.testing.assert_allclose(found.second, (Y * omega[:, None]).T @ Y, atol=1e-11)
    np.testing.assert_allclose(found.peak, np.abs(Y).max(axis=0))
    np.testing.assert_allclose(found.moving, np.abs(Y[omega > 0]).max(axis=0))
    np.testing.assert_allclose(found.squares, omega @ (G + r) ** 2)
    sizes = rows._answer(Magnitude(THETA))
    size = np.abs(G)
    h = size @ np.abs(THETA)
    # sums of passes may be relative to another point, and their sizes are then larger
    assert np.all(sizes.moment >= (1 - 1e-12) * (pi * t) @ size)
    assert np.all(sizes.change >= (1 - 1e-12) * (pi * link.width(t) * h) @ size)
    assert np.all(sizes.largest >= size.max(axis=0))
    assert sizes.value >= (1 - 1e-12) * pi @ (np.abs(link.conjugate(s)) + t * h)
    c = intercept_at(problem.rows, link, THETA[1:])
    assert pi @ link.ratio(c + s - THETA[0]) == pytest.approx(1.0, abs=1e-14)


def test_reach_ends_at_the_first_infinite_ratio():
    problem = pre.RatioProblem(B, F, A, divergence="reverse-kl")
    d = np.array([0.1, 0.3, -0.2, 0.1])
    reach = LinkedRows(problem.rows, problem.link)._answer(StepLimit(THETA, d))
    G = np.column_stack([np.ones(300), F - B])
    assert (G @ (THETA + reach * d)).max() == pytest.approx(1.0, abs=1e-12)
    bounded = pre.RatioProblem(B, F, A, divergence="reverse-kl", bounds=(0, 5))
    assert LinkedRows(bounded.rows, bounded.link)._answer(StepLimit(THETA, d)) == np.inf


@pytest.mark.parametrize(
    "bounds", [(0.0, np.inf), (0.0, 2.0), (0.4, 1.5), (0.0, UPPER)], ids=["none", "hi", "both", "rows"]
)
def test_support_function_agrees_with_a_linear_program(bounds):
    import cvxpy as cp

    pi, z = np.exp(A) / np.exp(A).sum(), F @ [1.0, -2.0, 0.5]
    mu = cp.Variable(300)
    limits = [cp.sum(mu) == 1, mu >= bounds[0] * pi]
    if np.all(np.isfinite(bounds[1])):
        limits.append(mu <= bounds[1] * pi)
    best = cp.Problem(cp.Maximize(z @ mu), limits).solve(solver="HIGHS")
    assert capped_support(z, pi, Link(get_divergence("kl"), *bounds)) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("base", [None, A])
def test_a_level_with_extremes_has_the_highest_rows_once_and_with_certainty(base):
    problem = pre.RatioProblem(B, F, base, divergence="reverse-kl")
    rows = LinkedRows(problem.rows, problem.link)
    sample = rows._answer(Draw(120))
    level, highest = rows._answer(Extremes(THETA, sample.number, 10))
    again, _ = rows._answer(Extremes(-THETA, level.number, 10))
    s = np.sort(linked_scores(problem.rows, THETA)[0])
    assert highest == pytest.approx(s[-1], abs=1e-12)
    for number, sign in ((level.number, 1.0), (again.number, -1.0)):
        chosen, weighted = rows.rows[number], rows.weighted[number]
        assert len(np.unique(chosen.features, axis=0)) == len(chosen.features)
        order = np.argsort(sign * (chosen.features @ THETA[1:]))[-10:]
        np.testing.assert_allclose(
            np.sort(sign * s)[-10:], sign * THETA[0] + sign * (chosen.features @ THETA[1:])[order]
        )
        np.testing.assert_array_equal(chosen.log_base[order], weighted.log_base[order])
