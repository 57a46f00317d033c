"""[FY]: the certified interval holds the optimum, recomputed with 50 digits, for every member of the family."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pre_convex as pre

NAMES = ["kl", "chi2", "reverse-kl"]
BOUNDS = [None, (0.0, 3.0), (0.3, 2.2)]
RATIO = {"kl": mp.exp, "chi2": lambda s: 1 + s, "reverse-kl": lambda s: 1 / (1 - s) if s < 1 else mp.inf}
SECOND = {"kl": lambda t: 1 / t, "chi2": lambda t: mp.mpf(1), "reverse-kl": lambda t: 1 / t**2}
PHI = {
    "kl": lambda t: t * mp.log(t) - t + 1,
    "chi2": lambda t: (t - 1) ** 2 / 2,
    "reverse-kl": lambda t: -mp.log(t) + t - 1,
}


def draw(seed, name, bounds, n=40, k=2, offset=0.0, **terms):
    """A random problem; its features may be far from zero."""
    rng = np.random.default_rng(seed)
    F, a = rng.normal(size=(n, k)) + offset, 0.5 * rng.normal(size=n)
    b = (np.exp(a) / np.exp(a).sum()) @ F + 0.15 * rng.normal(size=k)
    return pre.RatioProblem(b, F, a, divergence=name, bounds=bounds, **terms)


def exact_optimum(problem, start):
    """Optimum of a problem with R = 0, by Newton with 50 digits from a float answer (c, δ)."""
    name, (low, high) = problem.divergence, problem.bounds
    F, b = mp.matrix(problem.features_q.tolist()), mp.matrix(problem.target.tolist())
    pi = [mp.exp(mp.mpf(float(a))) for a in problem.log_base]
    pi = [p / mp.fsum(pi) for p in pi]
    n, k = problem.n_q, problem.k
    rows = [mp.matrix([1, *(F[j, i] - b[i] for i in range(k))]) for j in range(n)]
    theta = mp.matrix([float(x) for x in start])
    for _ in range(8):
        s = [(row.T * theta)[0] for row in rows]
        t = [max(RATIO[name](x), mp.mpf(low)) for x in s]
        t = [min(x, mp.mpf(high)) for x in t] if high < np.inf else t
        gradient, H = mp.matrix(k + 1, 1), mp.zeros(k + 1)
        gradient[0] = -1
        for j in range(n):
            gradient += pi[j] * t[j] * rows[j]
            if low < t[j] < high:
                H += pi[j] / SECOND[name](t[j]) * rows[j] * rows[j].T
        theta -= mp.lu_solve(H, gradient)
    assert mp.norm(gradient) < mp.mpf(10) ** -35
    return -mp.fsum(p * PHI[name](x) for p, x in zip(pi, t, strict=True))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("name", NAMES)
def test_the_interval_holds_the_exact_optimum(name, bounds, offset):
    for seed in range(3):
        problem = draw(seed, name, bounds, offset=offset)
        solution = pre.solve(problem)
        c = solution.intercept + float(problem.target @ solution.delta)
        with mp.workdps(50):
            optimum = exact_optimum(problem, [c, *solution.delta])
            assert mp.mpf(solution.dual_value) <= optimum
            assert optimum <= mp.mpf(solution.primal_value) + mp.mpf(solution.certificate.noise)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    name=st.sampled_from(NAMES),
    bounds=st.sampled_from(BOUNDS),
    radius=st.sampled_from([0.0, 0.05, (0.0, 0.1), (0.05, np.inf)]),
    size=st.sampled_from([0.0, 1e-9, 1e-4, 0.03, 0.3]),
)
def test_certificates_of_any_delta_are_true(seed, name, bounds, radius, size):
    problem = draw(seed, name, bounds, radius=radius)
    best = pre.solve(problem, check=False)
    if not best.status.ok:
        return
    shift = size * np.random.default_rng(seed).normal(size=2)
    delta = best.delta + np.where(np.isinf(problem.radius), 0.0, shift)
    certificate = pre.certify(problem, delta)
    assert certificate.gap >= 0.0
    assert certificate.primal_value >= best.dual_value
    assert certificate.dual_value <= best.primal_value
    assert certificate.proves(1e-8) or size > 1e-9
    assert certificate.gap <= 1e-8 + 10.0 * size or size > 1e-4


def test_weights_of_the_user_are_compared_with_delta():
    problem = draw(0, "chi2", (0.2, 2.5))
    solution = pre.solve(problem)
    good = pre.certify(problem, solution.delta, solution.mu)
    assert good.proves(1e-8)
    assert good.simplex_residual < 1e-12
    base = np.exp(problem.log_base)
    assert not pre.certify(problem, solution.delta, base).proves(1e-8)
    too_large = solution.mu.copy()
    too_large[[0, 1]] += [0.2, -0.2]
    assert pre.certify(problem, solution.delta, too_large).simplex_residual > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_proven_far_away(name):
    problem = draw(1, name, None)
    assert not pre.certify(problem, np.array([1e3, -1e3])).proves(1e-8)


def test_a_feature_left_out_may_not_be_used():
    problem = draw(2, "kl", None, radius=[0.0, np.inf])
    delta = pre.solve(problem).delta
    assert pre.certify(problem, delta).proves(1e-8)
    assert not pre.certify(problem, delta + [0.0, 1e-3]).proves(1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_columns_without_variance_read_by_blocks(name):
    """Round-off leaves constant columns a negative variance."""
    row = np.array([26.0, 26.56712414167442, 0.5671241416744197, 0.0])
    for n in (3, 7, 20):
        blocks = [lambda: row[None]] * n
        problem = pre.RatioProblem.from_blocks(None, blocks, target=row, divergence=name, bounds=(0.1, 3.0))
        assert pre.solve(problem, check=False).gap >= 0.0


@pytest.mark.parametrize("seed", range(24))
def test_constant_and_collinear_columns_read_by_blocks(seed):
    """Passes over blocks are relative to another origin, which leaves round-off in place of a variance of zero."""
    rng, n, step = np.random.default_rng(seed), 90, 40
    category = np.eye(3)[rng.integers(0, 3, n)]
    F = np.column_stack([np.full(n, 3.3), category[:, : 2 + seed % 2], rng.normal(40.0, 15.0, n)])
    b, a = rng.dirichlet(np.full(n, 3.0)) @ F, rng.normal(size=n)
    b[0] = 3.3
    terms = {"radius": [0.0, 0.01][seed % 2], "divergence": NAMES[seed % 3], "bounds": (0.0, 20.0)}
    blocks, logs = ([lambda i=i, x=x: x[i : i + step] for i in range(0, n, step)] for x in (F, a))
    read = pre.solve(pre.RatioProblem.from_blocks(None, blocks, None, logs, target=b, **terms))
    assert read.primal_value == pytest.approx(pre.solve(pre.RatioProblem(b, F, a, **terms)).primal_value, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bounds", [None, (0.1, 5.0)])
@pytest.mark.parametrize("tiny", [1e-300, 1e-160, 1e-140, 1e-20])
def test_a_column_of_zeros_never_has_another_mean(name, bounds, tiny):
    """Squares of such targets underflow, and a certificate that loses them proves what is infeasible."""
    rng = np.random.default_rng(3)
    F = np.column_stack([rng.normal(size=(60, 2)), np.zeros(60)])
    b = rng.dirichlet(np.ones(60)) @ F
    for radius in (0.0, [0.0, 0.01, 0.0]):
        terms = {"radius": radius, "divergence": name, "bounds": bounds}
        assert pre.solve(pre.RatioProblem(b, F, **terms)).status is pre.Status.OPTIMAL
        missed = pre.solve(pre.RatioProblem(b + [0.0, 0.0, tiny], F, **terms), check=False)
        assert missed.status is pre.Status.INFEASIBLE
