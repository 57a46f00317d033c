"""Populations with known δ, log r and divergence, from which ``interval_coverage.py`` draws samples.

Most are products of independent coordinates. The population of a coordinate is integrated by Gauss–Legendre quadrature,
or summed if it is discrete, and solved as a problem of its own. So the true values need no formulas, and the model need
not be right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

import pre_convex as pre

#: levels of the five points at which log r is judged: quantiles of both posteriors mixed
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: probabilities between which the quadrature has its panels, and nodes in each
EDGES = np.concatenate([10.0 ** np.arange(-15.0, -2.0), np.linspace(0.01, 0.5, 15)])
NODES = 16

Likelihood = Callable[[np.ndarray], np.ndarray]


def identity(x: np.ndarray) -> np.ndarray:
    return x[:, None]


def quadratic(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, x**2])


def none(x: np.ndarray) -> np.ndarray:
    return np.zeros(len(x))


@dataclass(frozen=True)
class Truth:
    """δ*, log Z*, the target and the divergence of a population, and features and log r at five points."""

    delta: np.ndarray
    divergence: float
    points: np.ndarray
    log_ratio: np.ndarray


@dataclass(frozen=True)
class Coordinate:
    """One independent coordinate: priors as SciPy distributions, log-likelihoods and features of its values."""

    p: Any
    q: Any
    lik_p: Likelihood = none
    lik_q: Likelihood = none
    features: Callable[[np.ndarray], np.ndarray] = identity

    @property
    def discrete(self) -> bool:
        """Whether the values are counts."""
        return not hasattr(self.p, "logpdf")

    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """Values and the logs of their quadrature weights."""
        if self.discrete:
            top = max(one.isf(1e-15) for one in (self.p, self.q))
            x = np.arange(0.0, top + 1.0)
            return x, np.zeros_like(x)
        edges = np.unique(np.concatenate([f(EDGES) for one in (self.p, self.q) for f in (one.ppf, one.isf)]))
        edges = edges[np.append(True, np.diff(edges) > 1e-12 * np.ptp(edges))]
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        half = 0.5 * np.diff(edges)[:, None]
        return (edges[:-1, None] + half * (1.0 + nodes)).ravel(), np.log(half * weights).ravel()

    @cached_property
    def truth(self) -> Truth:
        """True values of this coordinate alone."""
        x, log_width = self.support()
        density = [one.logpmf(x) if self.discrete else one.logpdf(x) + log_width for one in (self.p, self.q)]
        log_p, log_q = density[0] + self.lik_p(x), density[1] + self.lik_q(x)
        cumulative = np.cumsum(sum(np.exp(one - np.logaddexp.reduce(one)) for one in (log_p, log_q)))
        points = x[np.searchsorted(cumulative / cumulative[-1], LEVELS)]
        return truth(self.features(x), log_p, log_q, self.features(points))


def truth(features: np.ndarray, log_p: np.ndarray, log_q: np.ndarray, points: np.ndarray) -> Truth:
    """True values of a population with these log weights on both sides."""
    keep = (log_p - log_p.max() > -80.0) | (log_q - log_q.max() > -80.0)
    scale = np.abs(features[keep]).max(axis=0)
    problem = pre.RatioProblem.from_samples(features[keep] / scale, features[keep] / scale, log_p[keep], log_q[keep])
    solution = pre.solve(problem, tol=1e-12)
    assert solution.ok
    delta = solution.delta / scale
    return Truth(delta, -solution.primal_value, points, points @ delta - problem.tilt(solution.delta).log_z)


@dataclass(frozen=True)
class Setting:
    """How to draw both samples, as features and log-likelihoods, and the true values."""

    name: str
    draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]
    truth: Truth
    n: tuple[int, int]
    paired: bool = False
    held_back: bool = False

    @property
    def null(self) -> bool:
        """Whether δ is zero."""
        return bool(np.abs(self.truth.delta).max() < 1e-8)

    def problem(self, rng: np.random.Generator) -> pre.RatioProblem:
        """A problem of new samples."""
        f_p, f_q, l_p, l_q = self.draw(rng)
        return pre.RatioProblem.from_samples(f_p, f_q, l_p, l_q, paired=self.paired)


def product(name: str, n_p: int, n_q: int, coordinates: Sequence[Coordinate], held_back: bool = False) -> Setting:
    """Independent coordinates; every second one has its points in reversed order."""
    truths = [one.truth for one in coordinates]

    def side(n: int, prior: str, likelihood: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        columns = [getattr(one, prior).rvs(size=n, random_state=rng).astype(float) for one in coordinates]
        pairs = list(zip(coordinates, columns, strict=True))
        features = np.concatenate([one.features(x) for one, x in pairs], axis=1)
        return features, np.sum([getattr(one, likelihood)(x) for one, x in pairs], axis=0)

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        (f_p, l_p), (f_q, l_q) = side(n_p, "p", "lik_p", rng), side(n_q, "q", "lik_q", rng)
        return f_p, f_q, l_p, l_q

    turned = [slice(None, None, -1 if i % 2 else 1) for i in range(len(truths))]
    whole = Truth(
        np.concatenate([one.delta for one in truths]),
        sum(one.divergence for one in truths),
        np.concatenate([one.points[turn] for one, turn in zip(truths, turned, strict=True)], axis=1),
        np.sum([one.log_ratio[turn] for one, turn in zip(truths, turned, strict=True)], axis=0),
    )
    return Setting(name, draw, whole, (n_p, n_q), held_back=held_back)


def classes(name: str, n: int, log_odds: Callable[[np.ndarray], np.ndarray], held_back: bool = False) -> Setting:
    """The same rows N(0, I₂) on both sides, weighted by the probabilities of two classes with these log-odds."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    grid = np.array([[u, v] for u in nodes for v in nodes])
    log_weight = np.log(np.outer(weights, weights).ravel())

    def sides(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        odds = log_odds(x)
        return -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        x = rng.normal(size=(n, 2))
        return x, x, *sides(x)

    one, zero = sides(grid)
    points = np.column_stack([stats.norm.ppf(LEVELS), stats.norm.ppf(LEVELS)[[2, 4, 0, 3, 1]]])
    return Setting(name, draw, truth(grid, log_weight + one, log_weight + zero, points), (n, n), True, held_back)


def normals(shifts: Sequence[float], **terms: Any) -> list[Coordinate]:
    """Normal coordinates of unit variance, with these means on the p side."""
    return [Coordinate(stats.norm(shift), stats.norm(0.0), **terms) for shift in shifts]


def gaussian_likelihood(mean: float, precision: float) -> Likelihood:
    return lambda x: -0.5 * precision * (x - mean) ** 2


class Mixture:
    """Mixture of two normal distributions, with the methods of a SciPy distribution that are used here."""

    def __init__(self, share: float, one: Any, two: Any) -> None:
        self.share, self.one, self.two = share, one, two

    def rvs(self, size: int, random_state: np.random.Generator) -> np.ndarray:
        """Draws."""
        first = random_state.uniform(size=size) < self.share
        draws = (part.rvs(size=size, random_state=random_state) for part in (self.one, self.two))
        return np.where(first, *draws)

    def logpdf(self, x: np.ndarray) -> np.ndarray:
        """Log density."""
        return np.logaddexp(np.log(self.share) + self.one.logpdf(x), np.log1p(-self.share) + self.two.logpdf(x))

    def ppf(self, u: np.ndarray) -> np.ndarray:
        """Quantiles of both parts."""
        return np.sort([self.one.ppf(u), self.two.ppf(u)], axis=None)

    def isf(self, u: np.ndarray) -> np.ndarray:
        """Upper quantiles of both parts."""
        return np.sort([self.one.isf(u), self.two.isf(u)], axis=None)


def _curved(x: np.ndarray) -> np.ndarray:
    return 0.8 * x[:, 0] + np.sin(2.0 * x[:, 1]) + 0.4 * x[:, 0] * x[:, 1]


def settings() -> list[Setting]:
    """Settings that the default was chosen on, then those held back from every choice."""
    c, norm = Coordinate, stats.norm
    paper = [
        c(norm(0), norm(0), gaussian_likelihood(a, 0.5), gaussian_likelihood(b, 0.5))
        for a, b in ((0.50, 0.62), (0.49, 0.41))
    ]
    same = [
        c(norm(0.3), norm(0.45), gaussian_likelihood(0.3, 1.0), gaussian_likelihood(0.15, 1.0)),
        c(norm(0.0), norm(0.0, 0.5**0.5), gaussian_likelihood(0.0, 3.0), gaussian_likelihood(0.0, 2.0)),
    ]
    return [
        product("set-up of the paper", 500, 500, paper),
        product("equal posteriors, different priors", 500, 2000, same),
        product("different likelihoods, x and x²", 500, 2000, [
            c(norm(0), norm(0), gaussian_likelihood(0.6, 1.0), gaussian_likelihood(0.0, 0.5), quadratic),
            c(norm(0), norm(0), gaussian_likelihood(-0.2, 1.0), gaussian_likelihood(0.3, 0.5), quadratic),
        ]),
        product("p narrower than q, x and x²", 500, 500, [
            c(norm(0.4, 0.8), norm(0), features=quadratic), c(norm(-0.3, 0.9), norm(0), features=quadratic),
        ]),
        classes("paired, misspecified", 1000, _curved),
        classes("paired, misspecified, steep", 500, lambda x: 2.0 * _curved(x)),
        product("gamma priors, (x + 5) and (x + 5)²", 700, 1500, [
            c(stats.gamma(2.0), stats.gamma(2.0), lambda x: 0.2 * x, lambda x: -0.3 * x, lambda x: quadratic(x + 5.0)),
        ]),
        product("N(1, 1) and N(0, 1)", 200, 200, normals([1.0])),
        product("N(1, 1) and N(0, 1), x and x²", 200, 200, normals([1.0], features=quadratic)),
        product("exponentials", 400, 400, [c(stats.expon(scale=1.5), stats.expon())]),
        product("ten features, n = 100", 100, 100, normals(np.linspace(-0.39, 0.39, 10))),
        product("log-normal priors", 400, 400, [
            c(stats.lognorm(0.8), stats.lognorm(0.8), lambda x: -0.3 * x, lambda x: -0.8 * x),
        ]),
        product("ESS 30", 300, 300, [
            c(norm(0), norm(0), gaussian_likelihood(1.0, 10.0), gaussian_likelihood(0.8, 10.0)),
            c(norm(0), norm(0), gaussian_likelihood(0.5, 10.0), gaussian_likelihood(0.6, 10.0)),
        ]),
        product("binary features", 150, 150, [
            c(stats.bernoulli(a), stats.bernoulli(b)) for a, b in ((0.5, 0.4), (0.3, 0.2), (0.6, 0.6))
        ]),
        product("misspecified: a mixture, logistic q", 300, 600, [
            c(Mixture(0.7, norm(0.0, 0.8), norm(1.5, 0.5)), stats.logistic(0.0, 0.5)),
            c(norm(0.2), stats.uniform(-2, 4)),
        ]),
        product("unequal sizes, few p", 60, 5000, normals([0.4, -0.2, 0.0])),
        product("unequal sizes, few q", 3000, 150, normals([0.4, -0.2, 0.0])),
        product("one feature, n = 50", 50, 50, normals([0.3])),
        product("twenty features, n = 11,000", 11000, 11000, normals(np.linspace(-0.2, 0.2, 20))),
        product("no difference, five features, n = 120", 120, 120, normals(np.zeros(5))),
        product("beta priors, log x and log(1 − x)", 250, 400, [
            c(stats.beta(2.5, 3.0), stats.beta(2.0, 2.0),
              features=lambda x: np.column_stack([np.log(x), np.log1p(-x)])),
        ]),
        product("Poisson counts", 120, 120, [c(stats.poisson(3.0), stats.poisson(2.2))]),
        product("Weibull and gamma, likelihoods", 400, 300, [
            c(stats.gamma(2.5), stats.weibull_min(1.5, scale=2.0), lambda x: -0.3 * x, lambda x: -0.2 * x),
            *normals([0.5]),
        ]),
        product("gamma shapes, x and log x", 400, 300, [
            c(stats.gamma(3.0), stats.gamma(2.0), features=lambda x: np.column_stack([x, np.log(x)])),
        ]),
        classes("paired, n = 250", 250, lambda x: 1.6 * x[:, 0] - 0.5 * x[:, 1] ** 2 + 0.3),
        product("a mixture against a wide normal, 2,000 and 500", 2000, 500, [
            c(Mixture(0.5, norm(-0.8, 0.6), norm(0.8, 0.6)), norm(0, 1.3), features=quadratic), *normals([0.3]),
        ]),
        product("rare binary features and a normal", 200, 200, [
            *(c(stats.bernoulli(a), stats.bernoulli(b)) for a, b in ((0.12, 0.08), (0.10, 0.15), (0.5, 0.4))),
            *normals([0.5]),
        ]),
        product("fifteen features, likelihoods", 600, 1200, [
            c(norm(0), norm(0), gaussian_likelihood(a, 0.2), gaussian_likelihood(-a, 0.2))
            for a in np.linspace(-0.6, 0.6, 15)
        ]),
        classes("paired, n = 180", 180, lambda x: 1.5 * x[:, 0] - 0.4 * x[:, 0] * x[:, 1] - 0.3 * x[:, 1] ** 2,
                held_back=True),
        classes("paired, n = 350", 350, lambda x: -1.3 * x[:, 0] + 0.5 * x[:, 1] ** 2 + 0.4 * x[:, 1], held_back=True),
        classes("paired, n = 700", 700, lambda x: 1.9 * x[:, 0] - 0.5 * x[:, 1] ** 2, held_back=True),
        classes("paired, n = 100", 100, lambda x: 1.2 * np.tanh(2.0 * x[:, 0]) + 0.8 * x[:, 1], held_back=True),
        product("gamma priors, exponential likelihoods, x", 250, 350, [
            c(stats.gamma(3.5), stats.gamma(3.0), lambda x: -0.1 * x, lambda x: -0.3 * x),
        ], held_back=True),
        product("four features, n = 90", 90, 90, normals([0.6, -0.3, 0.2, 0.0]), held_back=True),
        product("geometric counts", 200, 300, [c(stats.geom(0.35), stats.geom(0.45))], held_back=True),
        product("N(0.7, 0.9) and N(0, 1), x and x², few q", 600, 200, [
            c(norm(0.7, 0.9), norm(0), features=quadratic),
        ], held_back=True),
    ]  # fmt: skip
