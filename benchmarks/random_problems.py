"""Random problems of known feasibility, from easy to degenerate; the number of a problem is its seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pre_convex_lab.solvers.cases import subgradient

import pre_convex as pre

NORMS = (2, np.inf, 1)


@dataclass(frozen=True)
class Drawn:
    """A problem, and the known distance of its target from the hull: zero inside and on the boundary."""

    kind: str
    problem: pre.RatioProblem
    distance: float = 0.0

    @property
    def feasible(self) -> bool:
        """Whether weights exist that reach the target."""
        return self.distance <= self.problem.radius


# features ------------------------------------------------------------------------------------------------------------


def plain(rng: np.random.Generator, most: int = 80) -> np.ndarray:
    """Normal features, up to 8 of them."""
    k = int(rng.integers(1, 9))
    return rng.normal(size=(int(rng.integers(k + 2, max(most, k + 3))), k))


def lattice(rng: np.random.Generator) -> np.ndarray:
    """Small integers, so many rows are duplicates."""
    k = int(rng.integers(1, 7))
    reach = int(rng.integers(1, 5))
    return rng.integers(-reach, reach + 1, size=(int(rng.integers(k + 2, 80)), k)).astype(float)


def dependent(rng: np.random.Generator) -> np.ndarray:
    """Integer columns, integer combinations of them and a constant: exact sums, hence exact targets."""
    F = lattice(rng)
    more = F @ rng.integers(-2, 3, size=(F.shape[1], int(rng.integers(1, 3))))
    return np.column_stack([F, more, np.full(len(F), float(rng.integers(-9, 10)))])


def scaled(rng: np.random.Generator) -> np.ndarray:
    """Columns of very different scales."""
    F = plain(rng)
    return F * 10.0 ** rng.uniform(-8, 8, F.shape[1])


def shifted(rng: np.random.Generator) -> np.ndarray:
    """Columns far from zero."""
    F = plain(rng)
    return F + rng.choice([-1.0, 1.0], F.shape[1]) * 10.0 ** rng.uniform(0, 5, F.shape[1])


def wide(rng: np.random.Generator) -> np.ndarray:
    """At least as many features as rows."""
    n = int(rng.integers(1, 8))
    return rng.normal(size=(n, int(rng.integers(n, 11))))


def heavy_tailed(rng: np.random.Generator) -> np.ndarray:
    """Features with a few outlying rows."""
    F = plain(rng)
    return F * np.exp(rng.normal(scale=2.0, size=(len(F), 1)))


def powers(rng: np.random.Generator) -> np.ndarray:
    """x, x², x³ of a few variables."""
    x = rng.normal(size=(int(rng.integers(12, 80)), int(rng.integers(1, 3))))
    return np.column_stack([x**p for p in range(1, int(rng.integers(2, 5)))])


def repeated(rng: np.random.Generator) -> np.ndarray:
    """Features with duplicate rows."""
    F = plain(rng, 30)
    return F[rng.integers(0, len(F), 3 * len(F))]


FEATURES: tuple[Callable[[np.random.Generator], np.ndarray], ...] = (
    plain, lattice, dependent, scaled, shifted, wide, heavy_tailed, powers, repeated,
)  # fmt: skip


# base weights --------------------------------------------------------------------------------------------------------


def flat(rng: np.random.Generator, n: int) -> np.ndarray:
    """Equal weights."""
    return np.zeros(n)


def mild(rng: np.random.Generator, n: int) -> np.ndarray:
    """Log-normal weights."""
    return rng.normal(size=n)


def wild(rng: np.random.Generator, n: int) -> np.ndarray:
    """Weights from e^-50 to e^50."""
    return rng.uniform(-50, 50, n)


def extreme(rng: np.random.Generator, n: int) -> np.ndarray:
    """Weights from e^-700 to e^700."""
    return rng.uniform(-700, 700, n)


def zeros(rng: np.random.Generator, n: int) -> np.ndarray:
    """Weights of zero on a third of the rows."""
    a = rng.normal(size=n)
    a[rng.permutation(n)[: n // 3]] = -np.inf
    return a


BASES: tuple[Callable[[np.random.Generator, int], np.ndarray], ...] = (flat, mild, wild, extreme, zeros)


# targets in the hull -------------------------------------------------------------------------------------------------


def mean_of(weights: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Weighted mean of the rows; exact in a column that is constant over the rows with positive weight."""
    used = F[weights > 0.0]
    mean = (weights.astype(np.longdouble) @ F.astype(np.longdouble)).astype(float)
    return np.where(np.ptp(used, axis=0) == 0.0, used[0], mean)


def dyadic(rng: np.random.Generator, index: np.ndarray, n: int) -> np.ndarray:
    """Random multiples of 2^-20 on the given rows that sum to one: they give integers an exact mean."""
    weights = np.zeros(n)
    counts = rng.multinomial(2**20 - len(index), rng.dirichlet(np.ones(len(index)))) + 1
    weights[index] = counts / 2.0**20
    return weights


def tilted(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Mean under the weights of a random δ."""
    spread = np.where(np.ptp(F, axis=0) > 0.0, np.ptp(F, axis=0), 1.0)
    z = a + (F - F.mean(axis=0)) @ (rng.normal(scale=2.0, size=F.shape[1]) / spread)
    weights = np.exp(z - z.max())
    return mean_of(weights / weights.sum(), F)


def inside(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Mean under random positive weights on all rows, unrelated to the base weights."""
    return mean_of(dyadic(rng, np.flatnonzero(a > -np.inf), len(F)), F)


def of_few_rows(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Mean of a few rows; inside or on the boundary."""
    positive = np.flatnonzero(a > -np.inf)
    size = int(rng.integers(1, min(len(positive), F.shape[1] + 2) + 1))
    return mean_of(dyadic(rng, rng.permutation(positive)[:size], len(F)), F)


def corner(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> int:
    """Index of the row that is extreme in a random direction."""
    spread = np.where(np.ptp(F, axis=0) > 0.0, np.ptp(F, axis=0), 1.0)
    heights = (F / spread) @ rng.normal(size=F.shape[1])
    return int(np.argmax(np.where(a > -np.inf, heights, -np.inf)))


def vertex(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """A corner of the hull."""
    return F[corner(rng, F, a)].copy()


def face(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Mean of the rows that attain the maximum of one column."""
    column = int(rng.integers(F.shape[1]))
    top = F[a > -np.inf, column].max()
    return mean_of(dyadic(rng, np.flatnonzero((F[:, column] == top) & (a > -np.inf)), len(F)), F)


def near_vertex(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Inside, 10^-1 to 10^-8 of the way from a corner to the centre."""
    positive = np.flatnonzero(a > -np.inf)
    depth = 10.0 ** rng.uniform(-8, -1)
    weights = np.zeros(len(F))
    weights[positive] = depth / len(positive)
    weights[corner(rng, F, a)] += 1.0 - depth
    return mean_of(weights / weights.sum(), F)


def near_face(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Inside, 10^-1 to 10^-8 of the way from a facet of the hull to the centre."""
    from scipy.optimize import linprog

    positive = np.flatnonzero(a > -np.inf)
    A = F[positive] - F[positive].mean(axis=0)
    A = A / np.where(np.abs(A).max(axis=0) > 0.0, np.abs(A).max(axis=0), 1.0)
    # the facet that a random ray from the centre hits: maximise ⟨c, v⟩ under ⟨v, A_j⟩ ≤ 1
    found = linprog(-rng.normal(size=A.shape[1]), A_ub=A, b_ub=np.ones(len(A)), bounds=[(-1e3, 1e3)] * A.shape[1])
    on = positive[np.flatnonzero(A @ found.x >= 1.0 - 1e-9)] if found.status == 0 else positive[:1]
    on = on if on.size else positive[:1]
    depth = 10.0 ** rng.uniform(-8, -1)
    weights = np.zeros(len(F))
    weights[on] += (1.0 - depth) * rng.dirichlet(np.ones(on.size))
    weights[positive] += depth / len(positive)
    return mean_of(weights / weights.sum(), F)


TARGETS: tuple[Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray], ...] = (
    tilted, inside, of_few_rows, vertex, face, near_vertex, near_face,
)  # fmt: skip


# feasible problems ---------------------------------------------------------------------------------------------------


def _radius(rng: np.random.Generator, F: np.ndarray, norm: float) -> float:
    """A radius from 10^-9 to twice the spread of the features."""
    spread = float(np.linalg.norm(np.ptp(F, axis=0), norm)) or 1.0
    return spread * 10.0 ** float(rng.choice([rng.uniform(-9, -5), rng.uniform(-4, 0.3)]))


def _problem(rng, features, base, target, with_radius):
    """Draw features, base weights and target, and a radius that allows the target to move if asked for."""
    F = features(rng)
    a = base(rng, len(F))
    b = target(rng, F, a)
    if not with_radius:
        return pre.RatioProblem(b, F, a, norm=NORMS[rng.integers(3)])
    norm = NORMS[rng.integers(3)]
    R = _radius(rng, F, norm)
    off = rng.normal(size=F.shape[1])
    off *= R * rng.choice([0.0, rng.uniform(0.0, 0.999)]) / np.linalg.norm(off, norm)
    return pre.RatioProblem(b + off, F, a, radius=R, norm=norm)


def _kind(features=None, base=None, target=None, radius=False):
    """A function that draws problems; parts given as a tuple, or not given, are drawn at random."""

    def make(rng: np.random.Generator) -> tuple[pre.RatioProblem, float]:
        parts = (features or FEATURES, base or BASES, target or TARGETS)
        chosen = [part[rng.integers(len(part))] if isinstance(part, tuple) else part for part in parts]
        with_radius = bool(rng.integers(2)) if radius is None else radius
        return _problem(rng, *chosen, with_radius), 0.0

    return make


def _beyond(rng, factors):
    """A target at a known distance from the hull in the problem's norm, along a normal at a corner."""
    features = FEATURES[rng.integers(len(FEATURES))]
    while True:
        F = features(rng)
        a = BASES[rng.integers(len(BASES))](rng, len(F))
        positive = F[a > -np.inf]
        norm = NORMS[rng.integers(3)]
        spread = np.where(np.ptp(positive, axis=0) > 0.0, np.ptp(positive, axis=0), 1.0)
        v = rng.normal(size=F.shape[1]) / spread
        dual = {2: 2, np.inf: 1, 1: np.inf}[norm]
        v /= np.linalg.norm(v, dual)
        heights = positive @ v
        width = float(np.ptp(heights)) or 1.0
        d = width * 10.0 ** rng.uniform(-7, 1)
        b = positive[np.argmax(heights)] + d * subgradient(v, norm)
        exact = v.astype(np.longdouble)
        margin = float(exact @ b - (positive.astype(np.longdouble) @ exact).max()) / float(np.linalg.norm(exact, dual))
        size = float(np.abs(v) @ (np.abs(b) + np.abs(positive).max(axis=0)))
        if margin > max(1e-10 * size, 0.999 * d):  # otherwise round-off of the data swamps the distance
            break
        features = plain
    # round-off of b in a large column may move it away from the corner: the distance is between the two bounds
    factor = float(factors[rng.integers(len(factors))])
    distance = margin if factor < 1.0 else max(margin, float(np.linalg.norm(b - positive[np.argmax(heights)], norm)))
    return pre.RatioProblem(b, F, a, radius=factor * distance, norm=norm), distance


FEASIBLE: dict[str, Callable[[np.random.Generator], tuple[pre.RatioProblem, float]]] = {
    "tilted by a known δ": _kind(plain, mild, tilted),
    "inside the hull": _kind(plain, flat, inside),
    "whole numbers": _kind(lattice, (flat, mild), (inside, of_few_rows, vertex, face)),
    "collinear and constant columns": _kind(dependent, (flat, mild, wild), (tilted, inside, of_few_rows)),
    "columns from 1e-8 to 1e8": _kind(scaled, (flat, mild, wild), (tilted, inside)),
    "columns far from zero": _kind(shifted, (flat, mild), (tilted, inside)),
    "more features than rows": _kind(wide, (flat, mild, wild), (inside, of_few_rows, vertex)),
    "heavy tails and powers": _kind((heavy_tailed, powers), (flat, mild), (tilted, inside, near_face)),
    "repeated rows": _kind(repeated, (flat, mild, zeros), (inside, of_few_rows, vertex)),
    "base weights e^±50": _kind((plain, lattice, powers), wild, (inside, of_few_rows)),
    "base weights e^±700": _kind((plain, lattice, powers), extreme, (inside, of_few_rows)),
    "rows without weight": _kind((plain, lattice), zeros, (inside, of_few_rows, vertex)),
    "near a corner": _kind((plain, lattice), (flat, mild), near_vertex),
    "near a corner, base weights e^±50": _kind((plain, lattice), (wild, extreme), near_vertex),
    "near a face": _kind((plain, lattice), (flat, mild), near_face),
    "near a face, base weights e^±50": _kind((plain, lattice), (wild, extreme), near_face),
    "on a face or corner": _kind((plain, lattice), (flat, mild, wild), (vertex, face)),
    "radius": _kind((plain, lattice, shifted), (flat, mild), (tilted, inside, of_few_rows), radius=True),
    "radius, base weights e^±50": _kind((plain, lattice), (wild, extreme), None, radius=True),
    "radius, collinear or more features than rows": _kind(
        (dependent, wide), (flat, mild), (inside, of_few_rows), radius=True
    ),
    "outside, radius above the distance": lambda rng: _beyond(rng, (1.001, 1.01, 2.0, 10.0)),
    "anything": _kind(radius=None),
}  # fmt: skip

INFEASIBLE: dict[str, Callable[[np.random.Generator], tuple[pre.RatioProblem, float]]] = {
    "outside": lambda rng: _beyond(rng, (0.0,)),
    "outside, radius below the distance": lambda rng: _beyond(rng, (1e-6, 0.5, 0.9, 0.99, 0.999)),
}


def feasible(number: int) -> Drawn:
    """The feasible problem with this number."""
    return _draw(FEASIBLE, number, 0)


def infeasible(number: int) -> Drawn:
    """The infeasible problem with this number."""
    return _draw(INFEASIBLE, number, 1)


def _draw(makers, number, stream):
    kind = list(makers)[number % len(makers)]
    return Drawn(kind, *makers[kind](np.random.default_rng([stream, number])))
