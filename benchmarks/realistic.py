"""Realistic problems: what users of the estimators and applications would pass, good and bad.

Each family draws two samples, as a user would have them, and takes the mean features of one as the target. From every
draw come a problem without a radius, which may be feasible, infeasible or on the boundary, and one in each norm with a
radius. ``python benchmarks/realistic.py`` shows the families and their statuses.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

import pre_convex as pre
from pre_convex.applications.detection import noise as detection_noise
from pre_convex.data.kernels import Kernel

Rng = np.random.Generator
#: target, features, log base weights
Draw = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def moments(F_p: np.ndarray, F_q: np.ndarray, log_p: np.ndarray | None = None, log_q: np.ndarray | None = None) -> Draw:
    """Weighted mean features of the p side as the target."""
    w = np.ones(len(F_p)) if log_p is None else np.exp(log_p - log_p.max())
    return w @ F_p / w.sum(), F_q, log_q


def rows_and_columns(rng: Rng) -> tuple[int, int]:
    """50 to 20,000 rows and 1 to 60 columns."""
    n = int(np.exp(rng.uniform(np.log(50), np.log(20_000))))
    return n, int(np.exp(rng.uniform(0.0, np.log(min(60, n // 5)))))


def shifted(rng: Rng, n: int, k: int, shift: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Two correlated normal samples with different means and scales."""
    mix = rng.normal(size=(k, k)) / np.sqrt(k) + np.eye(k)
    direction = rng.normal(size=k) / np.sqrt(k)
    x_p, x_q = rng.normal(size=(max(50, n // 2), k)), rng.normal(size=(n, k))
    return (0.9 * x_p + shift * direction) @ mix, x_q @ mix


def likelihood(rng: Rng, x: np.ndarray, precision: float = 1.0) -> np.ndarray:
    """Gaussian log-likelihoods of an observation."""
    return -0.5 * precision * np.square(x - 0.5 * x.std(axis=0) * rng.normal(size=x.shape[1])).sum(axis=1) / x.shape[1]


# estimators ----------------------------------------------------------------------------------------------------------


def linear(rng: Rng) -> Draw:
    """KLIEP with linear features."""
    return moments(*shifted(rng, *rows_and_columns(rng)))


def linear_with_likelihoods(rng: Rng) -> Draw:
    """PosteriorRatio with linear features and likelihoods, some of them sharp."""
    x_p, x_q = shifted(rng, *rows_and_columns(rng))
    precision = float(rng.choice([1.0, 5.0, 20.0]))
    return moments(x_p, x_q, likelihood(rng, x_p, precision), likelihood(rng, x_q, precision))


def polynomial(rng: Rng) -> Draw:
    """Powers of each column up to two or three."""
    n, k = rows_and_columns(rng)
    x_p, x_q = shifted(rng, n, min(k, 15))
    f = pre.Polynomial(degree=int(rng.integers(2, 4)))
    log_p, log_q = (likelihood(rng, x) for x in (x_p, x_q)) if rng.integers(2) else (None, None)
    return moments(f(x_p), f(x_q), log_p, log_q)


def kernel(rng: Rng) -> Draw:
    """Gaussian kernels at up to 60 landmarks."""
    x_p, x_q = shifted(rng, int(rng.integers(100, 3_000)), int(rng.integers(1, 5)), 0.3)
    f = Kernel(landmarks=int(rng.integers(10, 61))).fitted(np.concatenate([x_p, x_q]), 0)
    return moments(f(x_p), f(x_q))


def large(rng: Rng) -> Draw:
    """So many rows that the engine starts with a subset of them."""
    x_p, x_q = shifted(rng, 20_000, int(rng.integers(21, 61)), 0.5)
    log_q = likelihood(rng, x_q, 4.0) if rng.integers(2) else None
    return moments(x_p, x_q, None, log_q)


def uneven_weights(rng: Rng) -> Draw:
    """Base weights whose logs have a standard deviation of 1, 3 or 10."""
    x_p, x_q = shifted(rng, *rows_and_columns(rng))
    return moments(x_p, x_q, None, float(rng.choice([1.0, 3.0, 10.0])) * rng.normal(size=len(x_q)))


def few_rows(rng: Rng) -> Draw:
    """50 to 100 rows and almost as many features."""
    return moments(*shifted(rng, int(rng.integers(50, 100)), int(rng.integers(20, 61))))


# applications --------------------------------------------------------------------------------------------------------


def detection(rng: Rng) -> Draw:
    """Autoregressive priors, one window on each side, and features of the latent sequences."""
    n, steps = int(rng.integers(500, 5_000)), 40

    def sequences(alpha: np.ndarray) -> np.ndarray:
        x = np.zeros((len(alpha), 30 + steps))
        for t in range(1, x.shape[1]):
            x[:, t] = alpha * x[:, t - 1] + rng.normal(size=len(alpha))
        return x[:, 30:]

    prior_p, prior_q = sequences(rng.normal(0.6, 0.1, n)), sequences(rng.uniform(-0.9, 0.9, n))
    f = pre.Autocorrelation(int(rng.integers(1, 16))) if rng.integers(2) else pre.LagProducts(int(rng.integers(1, 10)))
    sigma = float(rng.choice([0.5, 1.0, 3.0]))
    model = detection_noise.GaussianNoise(np.full(steps, sigma**-2), np.zeros(steps))
    y_p, y_q = (
        sequences(np.array([alpha])) + 0.5 * rng.normal(size=(1, steps)) for alpha in (0.6, rng.uniform(-0.9, 0.9))
    )
    log_p, log_q = (model.log_likelihoods(x, model.precompute(x), y)[0] for x, y in ((prior_p, y_p), (prior_q, y_q)))
    if rng.integers(2):  # a simulated window leaves out the row that it came from
        log_q[rng.integers(n)] = -np.inf
    return moments(f(prior_p), f(prior_q), log_p, log_q)


def explanation(rng: Rng) -> Draw:
    """Points around an input, weighted by the two probabilities of a black box."""
    n, k = int(rng.integers(200, 3_000)), int(rng.integers(2, 30))
    u = (rng.uniform(size=(n, k)) < 0.5) - 1.0 if rng.integers(2) else rng.uniform(-1.0, 1.0, (n, k))
    if rng.integers(2):  # a table with numbers and categories
        u[:, ::2] = (rng.uniform(size=u[:, ::2].shape) < 0.7) - 1.0
    log_odds = float(rng.choice([1.0, 5.0, 20.0])) * (u @ rng.normal(size=k) / np.sqrt(k) + 0.3 * u[:, 0] * u[:, -1])
    floor = 1e-6
    plus = np.clip(1.0 / (1.0 + np.exp(-log_odds)), floor, 1.0)
    minus = np.clip(1.0 / (1.0 + np.exp(log_odds)), floor, 1.0)
    near = -np.square(u).sum(axis=1) / (0.75 * np.sqrt(k)) ** 2 if rng.integers(2) else np.zeros(n)
    return moments(u, u, np.log(minus) + near, np.log(plus) + near)


def narrow_kernel(rng: Rng) -> Draw:
    """An explanation with a kernel so narrow that a few points have nearly all the weight."""
    n, k = int(rng.integers(200, 2_000)), int(rng.integers(2, 8))
    u = rng.uniform(-1.0, 1.0, (n, k))
    log_odds = 3.0 * (u @ rng.normal(size=k) / np.sqrt(k) + 0.3 * u[:, 0] * u[:, -1])
    near = -np.square(u).sum(axis=1) / (float(rng.choice([0.001, 0.02, 0.1, 0.3])) * np.sqrt(k)) ** 2
    return moments(u, u, near - np.logaddexp(0.0, log_odds), near - np.logaddexp(0.0, -log_odds))


# real data -----------------------------------------------------------------------------------------------------------

DATA = ("iris", "wine", "breast_cancer", "diabetes", "digits")


def real_data(rng: Rng) -> Draw:
    """A data set of scikit-learn split by a column: at random with odds that depend on it, or at its median."""
    from sklearn import datasets

    X = np.asarray(getattr(datasets, f"load_{DATA[rng.integers(len(DATA))]}")().data, dtype=float)
    column = X[:, int(rng.choice(np.flatnonzero(X.std(axis=0) > 0.0)))]
    z = (column - column.mean()) / column.std()
    if rng.integers(3):
        in_p = rng.uniform(size=len(X)) < 1.0 / (1.0 + np.exp(-float(rng.choice([0.5, 1.0, 2.0])) * z))
    else:
        in_p = z > np.median(z)
    columns = np.sort(rng.permutation(X.shape[1])[: int(rng.integers(1, min(X.shape[1], 60) + 1))])
    X = X[:, columns]
    if rng.integers(2):
        spread = np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
        X = (X - X.mean(axis=0)) / spread
    return moments(X[in_p], X[~in_p])


def entropy_balancing(rng: Rng) -> Draw:
    """Means and squares of covariates of a treated group, matched by controls."""
    n = int(rng.integers(200, 3_000))
    age, income = rng.integers(18, 90, n).astype(float), np.exp(rng.normal(10.0, 0.8, n))
    years, female = rng.integers(8, 21, n).astype(float), (rng.uniform(size=n) < 0.5).astype(float)
    odds = 0.03 * (age - 50.0) - 0.5 * (np.log(income) - 10.0) + 0.5 * female
    treated = rng.uniform(size=n) < 0.4 / (1.0 + np.exp(-odds))
    F = np.column_stack([age, income, years, female, age**2, income**2, years**2][: int(rng.integers(4, 8))])
    return moments(F[treated], F[~treated])


def raking(rng: Rng) -> Draw:
    """Known shares of a population, rounded to three digits, and a survey with design weights."""
    n = int(rng.integers(100, 3_000))
    F, b = [], []
    for _ in range(int(rng.integers(2, 5))):
        levels = int(rng.integers(2, 8))
        share = rng.dirichlet(np.full(levels, 3.0))
        answer = rng.choice(levels, n, p=rng.dirichlet(20.0 * share + 0.5))
        rounded = np.round(share, 3)
        rounded[-1] = 1.0 - rounded[:-1].sum()
        keep = levels - int(rng.integers(2))  # with all levels the columns add up to one
        F.append((answer[:, None] == np.arange(keep)).astype(float))
        b.append(rounded[:keep])
    return np.concatenate(b), np.column_stack(F), np.log(rng.gamma(4.0, size=n))


# columns that make trouble -------------------------------------------------------------------------------------------


def one_hot(rng: Rng) -> Draw:
    """Categories as indicators, some rare, some absent on one side."""
    n = int(rng.integers(100, 5_000))
    parts_p, parts_q = [], []
    for _ in range(int(rng.integers(1, 5))):
        levels = int(rng.integers(3, 12))
        share_q = rng.dirichlet(np.full(levels, 1.0))
        share_p = share_q * np.exp(0.5 * rng.normal(size=levels))
        if rng.uniform() < 0.3:
            share_p[rng.integers(levels)] = 0.0
        if rng.uniform() < 0.15:
            share_q[rng.integers(levels)] = 0.0
        first = int(rng.integers(2))  # the first level dropped, or not
        for parts, share in ((parts_p, share_p), (parts_q, share_q)):
            parts.append(rng.choice(levels, n, p=share / share.sum())[:, None] == np.arange(first, levels))
    F_p, F_q = (np.column_stack(parts).astype(float) for parts in (parts_p, parts_q))
    return moments(F_p, F_q)


def counts(rng: Rng) -> Draw:
    """Counts, many of them zero, sometimes with their squares."""
    n, k = int(rng.integers(50, 5_000)), int(rng.integers(1, 12))
    rate = np.exp(rng.normal(0.0, 1.5, k))
    x_p, x_q = (rng.poisson(r, (n, k)) * (rng.uniform(size=(n, k)) < 0.7) for r in (1.2 * rate, rate))
    F_p, F_q = x_p.astype(float), x_q.astype(float)
    if rng.integers(2):
        F_p, F_q = np.column_stack([F_p, F_p**2]), np.column_stack([F_q, F_q**2])
    return moments(F_p, F_q)


def mixed_units(rng: Rng) -> Draw:
    """Columns in units that differ by up to twelve orders of magnitude."""
    x_p, x_q = shifted(rng, *rows_and_columns(rng))
    unit = 10.0 ** rng.integers(-6, 7, x_q.shape[1])
    return moments(x_p * unit, x_q * unit)


def timestamps(rng: Rng) -> Draw:
    """Seconds since 1970 and calendar years beside ordinary columns."""
    n = int(rng.integers(100, 5_000))
    x_p, x_q = shifted(rng, n, int(rng.integers(1, 6)), 0.3)
    day = float(rng.choice([1.0, 30.0, 3650.0])) * 86_400.0
    F = []
    for x, late in ((x_p, 0.55), (x_q, 0.5)):
        seconds = 1.7e9 + np.round(day * rng.beta(4 * late, 4 * (1 - late), len(x)))
        year = 1970.0 + np.floor(seconds / 3.15576e7) - rng.integers(0, 20, len(x))
        columns = [[seconds], [year], [seconds, year], [year, year**2]][int(day) % 4 if rng.integers(2) else 2]
        F.append(np.column_stack([*columns, x]))
    k = min(f.shape[1] for f in F)
    return moments(F[0][:, :k], F[1][:, :k])


def collinear(rng: Rng) -> Draw:
    """Copies of a column in other units, or a total beside its parts."""
    x_p, x_q = shifted(rng, int(rng.integers(50, 5_000)), int(rng.integers(2, 15)))
    kind, parts = int(rng.integers(3)), []
    for x in (x_p, x_q):
        celsius = np.round(15.0 + 8.0 * x[:, 0], 1)
        more = {0: celsius * 1.8 + 32.0, 1: celsius + x[:, 1], 2: np.round(celsius * 1.8 + 32.0, 1)}[kind]
        parts.append(np.column_stack([celsius, x[:, 1:], more]))
    return moments(*parts)


def constant_columns(rng: Rng) -> Draw:
    """An intercept, a column that is constant on one side or on both, and an indicator that is almost always zero."""
    x_p, x_q = shifted(rng, int(rng.integers(50, 5_000)), int(rng.integers(1, 8)))
    rare = [(rng.uniform(size=len(x)) < share).astype(float) for x, share in ((x_p, 0.01), (x_q, 0.004))]
    differs = float(rng.uniform() < 0.2)
    one = [np.full(len(x_p), 3.7 + differs), np.full(len(x_q), 3.7)]
    with_rare = bool(rng.integers(2))
    F = [np.column_stack([o, x, *([r] if with_rare else [])]) for o, x, r in zip(one, (x_p, x_q), rare, strict=True)]
    return moments(*F)


def on_a_face(rng: Rng) -> Draw:
    """A p sample from a part of the q population: one category only, or the largest value of a bounded score."""
    n = int(rng.integers(100, 3_000))
    x_p, x_q = shifted(rng, n, int(rng.integers(1, 8)), 0.2)
    score = rng.integers(0, 6, n).astype(float)
    member = (rng.uniform(size=n) < 0.3).astype(float)
    columns_q = [score, member][: int(rng.integers(1, 3))]
    columns_p = [np.full(len(x_p), 5.0), np.ones(len(x_p))][: len(columns_q)]
    return moments(np.column_stack([*columns_p, x_p]), np.column_stack([*columns_q, x_q]))


#: draws of each family
FAMILIES: dict[Callable[[Rng], Draw], int] = {
    linear: 10, linear_with_likelihoods: 10, polynomial: 10, kernel: 6, large: 4, uneven_weights: 12, few_rows: 6,
    detection: 10, explanation: 10, real_data: 24, entropy_balancing: 8, raking: 8, one_hot: 12, counts: 8,
    mixed_units: 10, timestamps: 8, collinear: 8, constant_columns: 6, on_a_face: 8,
    narrow_kernel: 10,
}  # fmt: skip


def with_radii(rng: Rng, problem: pre.RatioProblem) -> Iterator[pre.RatioProblem]:
    """One problem in each norm: a share of the residual at δ = 0, or just above or below the minimal radius."""
    base = np.exp(problem.log_base)
    residual = problem.target - base @ problem.features_q
    for norm in (2, np.inf, 1):
        at_zero = float(np.linalg.norm(residual, norm))
        try:
            distance = pre.minimal_radius(problem.with_radius(0.0, norm)).radius
        except pre.SolveError:
            distance = 0.0
        if distance > 0.0:
            radius = distance * float(rng.choice([0.9, 1.0001, 1.01, 1.05, 1.5]))
        else:
            radius = at_zero * float(rng.choice([1e-3, 0.03, 0.1, 0.3, 0.7]))
        if radius > 0.0:
            yield problem.with_radius(radius, norm)


def realistic(draws: int = 1) -> Iterator[tuple[str, pre.RatioProblem]]:
    """All problems with the names of their families, the same ones every time; ``draws`` times as many of them."""
    for family, (draw, count) in enumerate(FAMILIES.items()):
        for number in range(draws * count):
            rng = np.random.default_rng([7, family, number])
            problem = pre.RatioProblem(*draw(rng))
            name = draw.__name__.replace("_", " ")
            yield name, problem
            for relaxed in with_radii(rng, problem):
                yield name, relaxed


def main() -> None:
    statuses: dict[str, Counter[str]] = {}
    slow: Counter[str] = Counter()
    for name, problem in realistic():
        started = time.perf_counter()
        solution = pre.solve(problem, check=False)
        slow[name] += time.perf_counter() - started
        proven = solution.status.ok or solution.status is pre.Status.INFEASIBLE or solution.certificate.proves(1e-8)
        mark = "" if proven else " not proven"
        statuses.setdefault(name, Counter())[solution.status.name + mark] += 1
    for name, counted in statuses.items():
        print(f"{name:25s} {slow[name]:6.2f} s  {dict(counted)}")
    print(f"{sum(sum(c.values()) for c in statuses.values())} problems, {sum(slow.values()):.1f} s")


if __name__ == "__main__":
    main()
