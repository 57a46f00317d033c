"""Families of problems that are hard to prove: what is proven is true, and what is not has an honest gap."""

import mpmath as mp
import numpy as np
import pytest

import pre_convex as pre

#: round-off of a target, relative to it
LAST_DIGIT = 2.0 * np.finfo(float).eps


def off_by(b, share, radius, norm, rng):
    """Target at a given share of the radius from b."""
    off = rng.normal(size=b.size)
    return b + share * radius * off / np.linalg.norm(off, norm)


def one_hot(rng, n, k):
    return np.eye(k)[rng.integers(0, k, n)]


def few_categories(seed):
    """Base weights e^±700 and fewer rows than categories: no curvature on some active sets of the penalty."""
    rng = np.random.default_rng(seed)
    n, radius = int(rng.integers(3, 9)), (9.0, 6e-7)[seed % 2]
    F = one_hot(rng, n, 7)
    b = off_by(rng.dirichlet(np.ones(n)) @ F, 0.9, radius, 1, rng)
    return pre.RatioProblem(b, F, rng.uniform(-700, 700, n), radius=radius, norm=1)


def categories_far_from_the_target(seed):
    """Units from 1e-8 to 1e6 and one radius: in most columns no row is close to the target."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.integers(-8, 7, 8)
    F = one_hot(rng, 45, 8) * units
    b = off_by(rng.dirichlet(np.ones(45)) @ F, 0.9, 0.1, 1, rng)
    return pre.RatioProblem(b, F, rng.uniform(-50, 50, 45), radius=0.1, norm=1)


def radius_of_the_largest_unit(seed):
    """Units from 1e-8 to 1e5, and a radius that matters for the largest only."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(50, 8)) * 10.0 ** rng.integers(-8, 6, 8)
    radius = 1e-7 * float(np.ptp(F, axis=0).sum())
    b = off_by(rng.dirichlet(np.ones(50)) @ F, 0.9, radius, 1, rng)
    return pre.RatioProblem(b, F, rng.uniform(-700, 700, 50), radius=radius, norm=1)


def near_a_category(seed):
    """Target 1e-8 inside the hull, units of all sizes, and base weights that favour other rows."""
    rng = np.random.default_rng(seed)
    F = np.eye(8)[np.r_[np.arange(8), rng.integers(0, 8, 62)]] * 10.0 ** rng.integers(-8, 9, 8)
    return pre.RatioProblem((1 - 1e-8) * F[0] + 1e-8 * F.mean(axis=0), F, rng.uniform(-700, 700, 70))


def wide_base_weights(seed):
    """Base weights over six hundred orders of magnitude."""
    rng = np.random.default_rng(seed)
    F, log_base = rng.normal(size=(30, 3)), rng.uniform(-700, 700, 30)
    return pre.RatioProblem(rng.dirichlet(np.ones(30)) @ F, F, log_base)


def near_a_vertex(seed):
    """Target close to a vertex, and base weights that favour other rows."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(40, 3))
    vertex = F[np.argmax(F @ rng.normal(size=3))]
    target = vertex + 10.0 ** -(3 + seed % 6) * (F.mean(axis=0) - vertex)
    return pre.RatioProblem(target, F, rng.uniform(-700, 700, 40))


def far_apart(seed):
    """Log base weights that differ by 1e13, and a radius in each norm."""
    F = [[1.0, 0.0], [0.0, 1.0], [-1.0, -3.0], [0.0, 0.0]]
    return pre.RatioProblem([0.1, 0.1], F, [-1e13, 0.0, 1e13, 5.0], radius=0.01, norm=[2, np.inf, 1][seed % 3])


def radius_below_round_off(seed):
    """A radius near the round-off of the largest column."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(300, 4)) * [1e6, 1.0, 1e-6, 1e3]
    return pre.RatioProblem(F[:60].mean(axis=0), F, radius=5e-8, norm=[2, np.inf, 1][seed % 3])


FAMILIES = [
    few_categories, categories_far_from_the_target, radius_of_the_largest_unit, near_a_category, wide_base_weights,
    near_a_vertex, far_apart, radius_below_round_off,
]  # fmt: skip


@pytest.mark.parametrize("make", FAMILIES)
@pytest.mark.parametrize("seed", [*range(12), 26, 27, 28])
def test_no_certificate_is_false(make, seed):
    """Refuted by any δ, in extended precision, whose value is below the one that is proven to be lowest."""
    import independent

    problem = make(seed)
    solution = pre.solve(problem, check=False)
    assert solution.status is not pre.Status.INFEASIBLE  # all of them have a solution
    assert not independent.judge(problem, solution).false
    better, lowest = independent.improved(problem, solution.delta)
    allowed = 1e-12 * (1.0 + abs(solution.primal_value)) + float(LAST_DIGIT * np.abs(problem.target) @ np.abs(better))
    assert solution.dual_value <= lowest + allowed
    if solution.status is pre.Status.OPTIMAL:
        assert solution.gap <= 1e-8 * (1.0 + abs(solution.primal_value))


def test_a_radius_equal_to_the_distance_of_known_weights_is_not_infeasible():
    """The target is far away, so F − b has round-off; the distance is known to 40 digits."""
    for seed in range(60, 100):
        rng = np.random.default_rng(seed)
        F = rng.normal(size=(6, int(rng.integers(1, 60))))
        b = F.mean(axis=0) + rng.normal(size=F.shape[1]) * 10.0 ** rng.integers(3, 12)
        hull = pre.minimal_radius(pre.RatioProblem(b, F), rtol=1e-11)
        with mp.workdps(40):
            weights = [mp.mpf(float(w)) for w in hull.weights]
            total = mp.fsum(weights)
            away = [
                mp.mpf(float(b[i]))
                - mp.fsum(w * mp.mpf(float(f)) for w, f in zip(weights, F[hull.index, i], strict=True)) / total
                for i in range(b.size)
            ]
            distance = mp.sqrt(mp.fsum(x * x for x in away))
            radius = float(distance)
            radius = radius if mp.mpf(radius) >= distance else float(np.nextafter(radius, np.inf))
        solution = pre.solve(pre.RatioProblem(b, F, radius=radius), check=False)
        assert solution.status is not pre.Status.INFEASIBLE, seed


def test_a_face_of_tiny_features_is_found():
    F = [[0.0, 1e-120], [0.0, 0.0], [1.0, 5.0], [2.0, -3.0], [1.0, 1.0]]
    solution = pre.solve(pre.RatioProblem([0.0, 0.5e-120], F), check=False)
    assert solution.status is pre.Status.BOUNDARY
    np.testing.assert_allclose(solution.mu, [0.5, 0.5, 0.0, 0.0, 0.0], atol=1e-12)


def test_the_gap_of_a_target_barely_inside_covers_the_true_error():
    """Half of 1e-13 of the weight has to go to rows of base weight e^-700, which costs 3.4e-11."""
    for depth, base in ((1e-13, -700.0), (1e-13, -1e4), (1e-12, -700.0)):
        solution = pre.solve(pre.RatioProblem([depth], [[0.0], [1.0], [2.0]], [0.0, base, base]), check=False)
        w = 0.5 * depth  # putting it all on the furthest row is nearly optimal
        true = w * (np.log(w) - base) - w
        assert solution.gap >= 0.98 * true - 1e-12
