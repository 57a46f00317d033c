"""Two samples with a known ratio: 24 settings, and covariate-shift splits of data sets that scikit-learn bundles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

#: rows of the sample on which an estimate is judged, on each side
TEST_ROWS = 10_000
Generator = np.random.Generator


@dataclass(frozen=True, eq=False)
class Draw:
    """Two samples to fit to, and weighted test rows of both sides with the true log ratio at the rows."""

    x_p: np.ndarray
    x_q: np.ndarray
    test_p: np.ndarray
    test_q: np.ndarray
    weight_p: np.ndarray
    log_ratio_p: np.ndarray
    log_ratio_q: np.ndarray


@dataclass(frozen=True)
class Setting:
    """A named setting; ``draw(seed)`` makes its samples."""

    kind: str
    name: str
    draw: Callable[[int], Draw]


#: samplers of p and q, and the log ratio, in d dimensions
Family = tuple[Callable[[Generator, int], np.ndarray], Callable[[Generator, int], np.ndarray], Callable]


def shift(d: int) -> Family:
    """Gaussians whose means differ by one standard deviation, in all columns alike."""
    m = np.full(d, 1.0 / np.sqrt(d))
    return (
        lambda g, n: g.normal(size=(n, d)) + m,
        lambda g, n: g.normal(size=(n, d)),
        lambda x: x @ m - 0.5,
    )


def scale(d: int) -> Family:
    """A Gaussian with smaller standard deviations; the divergence is about the same for every d."""
    s = np.exp(-0.6 / np.sqrt(d))
    return (
        lambda g, n: s * g.normal(size=(n, d)),
        lambda g, n: g.normal(size=(n, d)),
        lambda x: -0.5 * np.square(x).sum(axis=1) * (s**-2 - 1.0) - d * np.log(s),
    )


def bumps(d: int) -> Family:
    """Two narrow bumps in the first column against one wide bump; the other columns are noise."""

    def p(g: Generator, n: int) -> np.ndarray:
        x = g.normal(size=(n, d))
        x[:, 0] = 0.6 * x[:, 0] + 1.2 * g.choice([-1.0, 1.0], size=n)
        return x

    def q(g: Generator, n: int) -> np.ndarray:
        x = g.normal(size=(n, d))
        x[:, 0] *= 1.5
        return x

    def log_ratio(x: np.ndarray) -> np.ndarray:
        one = x[:, 0]
        log_p = np.logaddexp(stats.norm.logpdf(one, 1.2, 0.6), stats.norm.logpdf(one, -1.2, 0.6)) - np.log(2.0)
        return log_p - stats.norm.logpdf(one, 0.0, 1.5)

    return p, q, log_ratio


def tails(d: int) -> Family:
    """Student's t with four degrees of freedom in every column, the first ones shifted."""
    m = np.where(np.arange(d) < 3, 0.5, 0.0)
    return (
        lambda g, n: g.standard_t(4, size=(n, d)) + m,
        lambda g, n: g.standard_t(4, size=(n, d)),
        lambda x: (stats.t.logpdf(x - m, 4) - stats.t.logpdf(x, 4)).sum(axis=1),
    )


def bounded(d: int) -> Family:
    """Beta(2, 3) in the first columns against the uniform distribution on a cube."""
    used = min(d, 2)

    def p(g: Generator, n: int) -> np.ndarray:
        x = g.uniform(size=(n, d))
        x[:, :used] = g.beta(2.0, 3.0, size=(n, used))
        return x

    return (
        p,
        lambda g, n: g.uniform(size=(n, d)),
        lambda x: stats.beta.logpdf(x[:, :used], 2.0, 3.0).sum(axis=1),
    )


def correlation(d: int) -> Family:
    """Gaussians with the same marginals, the first two columns of one correlated."""
    rho = 0.7

    def p(g: Generator, n: int) -> np.ndarray:
        x = g.normal(size=(n, d))
        x[:, 1] = rho * x[:, 0] + np.sqrt(1.0 - rho**2) * x[:, 1]
        return x

    def log_ratio(x: np.ndarray) -> np.ndarray:
        u, v = x[:, 0], x[:, 1]
        squares = (u**2 + v**2 - 2.0 * rho * u * v) / (1.0 - rho**2)
        return -0.5 * np.log(1.0 - rho**2) - 0.5 * squares + 0.5 * (u**2 + v**2)

    return p, lambda g, n: g.normal(size=(n, d)), log_ratio


def ring(d: int) -> Family:
    """A ring in the first two columns against a Gaussian."""
    radius, width = 1.6, 0.35
    area = stats.norm.cdf(radius / width) * radius + width * stats.norm.pdf(
        radius / width
    )  # ∫ s N(s; radius, width) ds

    def p(g: Generator, n: int) -> np.ndarray:
        x = g.normal(size=(n, d))
        proposals = g.normal(radius, width, size=(4 * n + 100))
        proposals = proposals[(proposals > 0.0) & (g.uniform(size=proposals.size) < proposals / (radius + 6.0 * width))]
        while len(proposals) < n:  # accepted in proportion to the radius, as an area is
            more = g.normal(radius, width, size=4 * n)
            kept = (more > 0.0) & (g.uniform(size=more.size) < more / (radius + 6.0 * width))
            proposals = np.append(proposals, more[kept])
        angle = g.uniform(0.0, 2.0 * np.pi, size=n)
        x[:, 0], x[:, 1] = proposals[:n] * np.cos(angle), proposals[:n] * np.sin(angle)
        return x

    def log_ratio(x: np.ndarray) -> np.ndarray:
        s = np.hypot(x[:, 0], x[:, 1])
        log_p = stats.norm.logpdf(s, radius, width) - np.log(2.0 * np.pi * area)
        return log_p - stats.norm.logpdf(x[:, :2]).sum(axis=1)

    return p, lambda g, n: g.normal(size=(n, d)), log_ratio


def few(d: int) -> Family:
    """A shift in one column, a smaller scale in another and skewness in a third; the other columns are noise."""
    low, up = 0.6, 1.4

    def p(g: Generator, n: int) -> np.ndarray:
        x = g.normal(size=(n, d))
        x[:, 0] += 0.6
        x[:, 1] *= 0.7
        side = g.uniform(size=n) < low / (low + up)  # two halves of Gaussians that meet at zero
        x[:, 2] = np.where(side, -low, up) * np.abs(x[:, 2])
        return x

    def log_ratio(x: np.ndarray) -> np.ndarray:
        first = stats.norm.logpdf(x[:, 0], 0.6) - stats.norm.logpdf(x[:, 0])
        second = stats.norm.logpdf(x[:, 1], 0.0, 0.7) - stats.norm.logpdf(x[:, 1])
        unit = np.where(x[:, 2] < 0.0, low, up)
        third = np.log(2.0 / (low + up)) - 0.5 * np.square(x[:, 2] / unit) + 0.5 * np.square(x[:, 2])
        return first + second + third

    return p, lambda g, n: g.normal(size=(n, d)), log_ratio


FAMILIES: dict[str, Callable[[int], Family]] = {
    "shift": shift,
    "scale": scale,
    "two bumps against one": bumps,
    "t tails": tails,
    "bounded support": bounded,
    "pure correlation change": correlation,
    "ring": ring,
    "few relevant columns": few,
}
#: columns and rows of each sample
SIZES: dict[str, tuple[tuple[int, int], ...]] = {
    "shift": ((1, 100), (5, 500), (20, 2_000)),
    "scale": ((1, 200), (5, 1_000), (20, 5_000)),
    "two bumps against one": ((1, 200), (2, 1_000), (10, 2_000)),
    "t tails": ((1, 200), (5, 1_000), (20, 1_000)),
    "bounded support": ((1, 200), (3, 500), (10, 2_000)),
    "pure correlation change": ((2, 200), (5, 1_000), (20, 5_000)),
    "ring": ((2, 300), (2, 5_000), (5, 2_000)),
    "few relevant columns": ((5, 500), (10, 1_000), (20, 5_000)),
}


def synthetic(kind: str, d: int, n: int) -> Setting:
    """A setting of a family."""

    def draw(seed: int) -> Draw:
        p, q, log_ratio = FAMILIES[kind](d)
        g = np.random.default_rng([seed, d, n, list(FAMILIES).index(kind)])
        x_p, x_q, test_p, test_q = p(g, n), q(g, n), p(g, TEST_ROWS), q(g, TEST_ROWS)
        weight = np.full(TEST_ROWS, 1.0 / TEST_ROWS)
        return Draw(x_p, x_q, test_p, test_q, weight, log_ratio(test_p), log_ratio(test_q))

    return Setting(kind, f"d = {d}, n = {n:,}", draw)


@lru_cache
def data_set(name: str) -> np.ndarray:
    """Standardised columns of a bundled data set, without constant ones."""
    from sklearn import datasets

    x = getattr(datasets, f"load_{name}")().data.astype(float)
    x = x[:, x.std(axis=0) > 0.0]
    return (x - x.mean(axis=0)) / x.std(axis=0)


def split(name: str) -> Setting:
    """A covariate shift: a third of the rows is q; others are p rows with a chance that depends on two columns.

    The chance is that of a logistic function of a random direction and of the square of another one, so the true ratio
    is known up to its constant at every row of the last third, which is the test sample of both sides.
    """

    def draw(seed: int) -> Draw:
        g, x = np.random.default_rng([seed, 77]), data_set(name)
        x = x[g.permutation(len(x))]
        first, second = g.normal(size=(2, x.shape[1]))
        u, v = (x @ a / np.std(x @ a) for a in (first, second))
        chance = 1.0 / (1.0 + np.exp(-(1.5 * u - 0.7 * (v**2 - 1.0))))
        third = len(x) // 3
        q, rest, test = np.split(np.arange(len(x)), [third, 2 * third])
        p = rest[g.uniform(size=rest.size) < chance[rest]]
        weight = chance[test] / chance[test].sum()
        log_ratio = np.log(weight * test.size)
        return Draw(x[p], x[q], x[test], x[test], weight, log_ratio, log_ratio)

    return Setting("real data", name.replace("_", " "), draw)


SETTINGS = tuple(synthetic(kind, d, n) for kind, sizes in SIZES.items() for d, n in sizes)
SPLITS = tuple(split(name) for name in ("breast_cancer", "diabetes", "digits"))
