"""The certificate of a logistic regression against its optimum at 40 digits."""

import mpmath
import numpy as np
import pytest

import pre_convex as pre

mp = mpmath.mp.clone()
mp.dps = 40


class Exact:
    """[LOGIT] with R = 0 in 40 digits; the float64 features and offsets of a problem are taken as exact."""

    def __init__(self, problem):
        shift = mp.mpf(problem.shift)
        self.sign = [1 if t else -1 for t in problem.link.positive]
        self.offset = [mp.mpf(float(o)) - shift for o in problem.link.offset]
        self.rows = [[mp.mpf(1), *(mp.mpf(float(v)) for v in row)] for row in problem.features]
        n_p, n_q = problem.sizes
        self.m = mp.mpf(n_p) * n_q / (n_p + n_q)

    def value(self, theta):
        total = mp.mpf(0)
        for y, o, x in zip(self.sign, self.offset, self.rows, strict=True):
            z = -y * (o + mp.fdot(zip(x, theta, strict=True)))
            total += (z if z > 0 else 0) + mp.log1p(mp.exp(-abs(z)))
        return total / self.m

    def minimise(self, theta):
        theta = mp.matrix([mp.mpf(float(v)) for v in theta])
        k = len(theta)
        for _ in range(60):
            g, H = mp.zeros(k, 1), mp.zeros(k, k)
            for y, o, x in zip(self.sign, self.offset, self.rows, strict=True):
                u = 1 / (1 + mp.exp(-(o + mp.fdot(zip(x, theta, strict=True)))))
                for i in range(k):
                    g[i] += (u - (y > 0)) * x[i]
                    for j in range(k):
                        H[i, j] += u * (1 - u) * x[i] * x[j]
            step = mp.lu_solve(H, -g)
            theta += step
            if mp.norm(step) < mp.mpf(10) ** -25 * (1 + mp.norm(theta)):
                break
        return theta


def sample(seed, offset_size, shift, n_p=14, n_q=22, k=2):
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.integers(-4, 5, k)
    x_p, x_q = ((rng.normal(loc, 1.0, (n, k)) + shift) * units for loc, n in ((0.5, n_p), (0.0, n_q)))
    logs = [tuple(offset_size * rng.normal(size=n) for n in (n_p, n_q)) for _ in range(2)]
    return pre.LogisticProblem(x_p, x_q, *logs)


@pytest.mark.parametrize(("seed", "offset_size", "shift"), [(0, 0.0, 0.0), (1, 1.0, 3.0), (2, 5.0, 1e4), (3, 1.0, 1e7)])
def test_the_interval_contains_the_optimum(seed, offset_size, shift):
    problem = sample(seed, offset_size, shift)
    solution = pre.solve(problem, check=False)
    exact = Exact(problem)
    best = exact.value(exact.minimise([solution.intercept, *solution.delta]))
    others = [pre.certify(problem, factor * solution.delta) for factor in (0.0, 0.5, 0.999, 1.01, 3.0)]
    for certificate in (solution.certificate, *others):
        assert certificate.dual_value <= best <= certificate.primal_value + certificate.noise
        assert certificate.gap >= 0.0
    assert solution.status.ok
    assert solution.gap < 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_nearly_separable_samples(seed):
    # one p row on the wrong side, by less and less: δ is large, and the certificate is right or absent
    rng = np.random.default_rng(seed)
    x_p, x_q = rng.uniform(0.1, 1.0, (12, 1)), rng.uniform(-1.0, -0.1, (12, 1))
    for overlap in (0.1, 1e-4, 1e-8):
        x_p[0], x_q[0] = -overlap, overlap
        problem = pre.LogisticProblem(x_p, x_q)
        solution = pre.solve(problem, check=False)
        if solution.status is pre.Status.OPTIMAL:
            exact = Exact(problem)
            best = exact.value(exact.minimise([solution.intercept, *solution.delta]))
            assert solution.dual_value <= best <= solution.primal_value + solution.certificate.noise
    x_p[0], x_q[0] = 0.2, -0.2
    assert pre.solve(pre.LogisticProblem(x_p, x_q), check=False).status is pre.Status.SEPARATED


def test_separable_samples_are_never_certified():
    rng = np.random.default_rng(0)
    for _ in range(30):
        n, k = int(rng.integers(3, 30)), int(rng.integers(1, 4))
        F, v = rng.normal(size=(2 * n, k)), rng.normal(size=k)
        side = F @ v > np.median(F @ v)
        problem = pre.LogisticProblem(F[side], F[~side])
        for size in (0.0, 1.0, 10.0, 100.0, 1000.0):
            assert pre.certify(problem, size * v).gap == np.inf
        assert pre.solve(problem, check=False).status is pre.Status.SEPARATED


@pytest.mark.parametrize(("radius", "norm"), [(0.05, 2), (0.05, np.inf), (0.05, 1), ([0.0, 0.1, 0.02], 2)])
def test_lower_bounds_are_below_the_value_of_the_answer(radius, norm):
    rng = np.random.default_rng(5)
    problem = pre.LogisticProblem(rng.normal(0.4, 1, (40, 3)), rng.normal(0, 1, (60, 3)), radius=radius, norm=norm)
    best = pre.solve(problem)
    for _ in range(20):
        delta = best.delta + rng.normal(size=3) * 10.0 ** rng.uniform(-9, 0)
        certificate = pre.certify(problem, delta)
        assert certificate.dual_value <= best.primal_value + 1e-13
        assert certificate.primal_value >= best.dual_value
