"""Families of problems that fuzzing once found unproven, or that ended in an error of a library."""

import numpy as np
import pytest

import pre_convex as pre


def off_by(b, share, radius, norm, rng):
    """A target that is a share of the radius away from b."""
    off = rng.normal(size=b.size)
    return b + share * radius * off / np.linalg.norm(off, norm)


def one_hot(rng, n, k):
    return np.eye(k)[rng.integers(0, k, n)]


def few_categories(seed):
    """Base weights e^±700 and fewer rows than categories: some faces of the penalty have no curvature at all."""
    rng = np.random.default_rng(seed)
    n, radius = int(rng.integers(3, 9)), (9.0, 6e-7)[seed % 2]
    F = one_hot(rng, n, 7)
    b = off_by(rng.dirichlet(np.ones(n)) @ F, 0.9, radius, 1, rng)
    return pre.RatioProblem(b, F, rng.uniform(-700, 700, n), radius=radius, norm=1)


def categories_far_from_the_target(seed):
    """Units from 1e-8 to 1e6 and one radius: in most columns no row comes near the target."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.integers(-8, 7, 8)
    F = one_hot(rng, 45, 8) * units
    b = off_by(rng.dirichlet(np.ones(45)) @ F, 0.9, 0.1, 1, rng)
    return pre.RatioProblem(b, F, rng.uniform(-50, 50, 45), radius=0.1, norm=1)


def radius_of_the_largest_unit(seed):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(50, 8)) * 10.0 ** rng.integers(-8, 6, 8)
    radius = 1e-7 * float(np.ptp(F, axis=0).sum())
    b = off_by(rng.dirichlet(np.ones(50)) @ F, 0.9, radius, 1, rng)
    return pre.RatioProblem(b, F, rng.uniform(-700, 700, 50), radius=radius, norm=1)


def next_to_a_category(seed):
    """Inside by 1e-8, in units of all sizes, with base weights that put everything elsewhere."""
    rng = np.random.default_rng(seed)
    F = np.eye(8)[np.r_[np.arange(8), rng.integers(0, 8, 62)]] * 10.0 ** rng.integers(-8, 9, 8)
    return pre.RatioProblem((1 - 1e-8) * F[0] + 1e-8 * F.mean(axis=0), F, rng.uniform(-700, 700, 70))


@pytest.mark.parametrize(
    ("make", "seed"),
    [
        *((few_categories, seed) for seed in (3, 11, 19, 25)),
        *((categories_far_from_the_target, seed) for seed in (1, 6, 8, 10)),
        *((radius_of_the_largest_unit, seed) for seed in (0, 2, 3, 9)),
        *((next_to_a_category, seed) for seed in (26, 27, 28)),
    ],
)
def test_problems_that_fuzzing_found(make, seed):
    import independent

    problem = make(seed)
    solution = pre.solve(problem)
    assert solution.status is pre.Status.OPTIMAL
    assert not independent.judge(problem, solution).false
