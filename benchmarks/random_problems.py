"""Random problems whose feasibility is known by construction, from benign to vicious; each is made from its number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import pre_convex as pre
from pre_convex.benchmark.answers import subgradient

NORMS = (2, np.inf, 1)


@dataclass(frozen=True)
class Drawn:
    """A problem, and the distance of its target from the hull that its maker knows; zero inside and on the boundary."""

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
    """Small whole numbers, with rows that come many times."""
    k = int(rng.integers(1, 7))
    reach = int(rng.integers(1, 5))
    return rng.integers(-reach, reach + 1, size=(int(rng.integers(k + 2, 80)), k)).astype(float)


def dependent(rng: np.random.Generator) -> np.ndarray:
    """Columns of small whole numbers, sums of them and a constant: the sums are exact, so that the target's are."""
    F = lattice(rng)
    more = F @ rng.integers(-2, 3, size=(F.shape[1], int(rng.integers(1, 3))))
    return np.column_stack([F, more, np.full(len(F), float(rng.integers(-9, 10)))])


def scaled(rng: np.random.Generator) -> np.ndarray:
    """Columns of very different size."""
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
    """A few rows far away from the others."""
    F = plain(rng)
    return F * np.exp(rng.normal(scale=2.0, size=(len(F), 1)))


def powers(rng: np.random.Generator) -> np.ndarray:
    """x, x², x³ of a few variables."""
    x = rng.normal(size=(int(rng.integers(12, 80)), int(rng.integers(1, 3))))
    return np.column_stack([x**p for p in range(1, int(rng.integers(2, 5)))])


def repeated(rng: np.random.Generator) -> np.ndarray:
    """The same rows several times."""
    F = plain(rng, 30)
    return F[rng.integers(0, len(F), 3 * len(F))]


FEATURES: tuple[Callable[[np.random.Generator], np.ndarray], ...] = (
    plain, lattice, dependent, scaled, shifted, wide, heavy_tailed, powers, repeated,
)  # fmt: skip


# base weights --------------------------------------------------------------------------------------------------------


def flat(rng: np.random.Generator, n: int) -> np.ndarray:
    """All the same."""
    return np.zeros(n)


def mild(rng: np.random.Generator, n: int) -> np.ndarray:
    """Log-normal."""
    return rng.normal(size=n)


def wild(rng: np.random.Generator, n: int) -> np.ndarray:
    """From e^-50 to e^50."""
    return rng.uniform(-50, 50, n)


def extreme(rng: np.random.Generator, n: int) -> np.ndarray:
    """From e^-700 to e^700."""
    return rng.uniform(-700, 700, n)


def partial(rng: np.random.Generator, n: int) -> np.ndarray:
    """Some rows have no weight at all."""
    a = rng.normal(size=n)
    a[rng.permutation(n)[: n // 3]] = -np.inf
    return a


BASES: tuple[Callable[[np.random.Generator, int], np.ndarray], ...] = (flat, mild, wild, extreme, partial)


# targets in the hull -------------------------------------------------------------------------------------------------


def mean_of(weights: np.ndarray, F: np.ndarray) -> np.ndarray:
    """The mean of the rows; exactly what the rows have in a column that does not change among those with weight."""
    some = F[weights > 0.0]
    mean = (weights.astype(np.longdouble) @ F.astype(np.longdouble)).astype(float)
    return np.where(np.ptp(some, axis=0) == 0.0, some[0], mean)


def dyadic(rng: np.random.Generator, index: np.ndarray, n: int) -> np.ndarray:
    """Random multiples of 2^-20 on some rows that sum to one: means of whole numbers under them are exact."""
    weights = np.zeros(n)
    counts = rng.multinomial(2**20 - len(index), rng.dirichlet(np.ones(len(index)))) + 1
    weights[index] = counts / 2.0**20
    return weights


def tilted(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The mean under weights that belong to a random δ."""
    spread = np.where(np.ptp(F, axis=0) > 0.0, np.ptp(F, axis=0), 1.0)
    z = a + (F - F.mean(axis=0)) @ (rng.normal(scale=2.0, size=F.shape[1]) / spread)
    weights = np.exp(z - z.max())
    return mean_of(weights / weights.sum(), F)


def inside(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The mean under positive weights on all rows, whatever their base weights."""
    return mean_of(dyadic(rng, np.flatnonzero(a > -np.inf), len(F)), F)


def few(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The mean of a few rows; inside or on the boundary."""
    alive = np.flatnonzero(a > -np.inf)
    size = int(rng.integers(1, min(len(alive), F.shape[1] + 2) + 1))
    return mean_of(dyadic(rng, rng.permutation(alive)[:size], len(F)), F)


def corner(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> int:
    """A row that is furthest in a random direction."""
    spread = np.where(np.ptp(F, axis=0) > 0.0, np.ptp(F, axis=0), 1.0)
    heights = (F / spread) @ rng.normal(size=F.shape[1])
    return int(np.argmax(np.where(a > -np.inf, heights, -np.inf)))


def vertex(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """A corner of the hull itself."""
    return F[corner(rng, F, a)].copy()


def face(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The mean of all rows that are largest in one column."""
    column = int(rng.integers(F.shape[1]))
    top = F[a > -np.inf, column].max()
    return mean_of(dyadic(rng, np.flatnonzero((F[:, column] == top) & (a > -np.inf)), len(F)), F)


def near_vertex(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Inside, by 10^-1 to 10^-8 of the way from a corner to the middle."""
    alive = np.flatnonzero(a > -np.inf)
    depth = 10.0 ** rng.uniform(-8, -1)
    weights = np.zeros(len(F))
    weights[alive] = depth / len(alive)
    weights[corner(rng, F, a)] += 1.0 - depth
    return mean_of(weights / weights.sum(), F)


def near_face(rng: np.random.Generator, F: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Inside, by 10^-1 to 10^-8 of the way from a face of the hull's polyhedron to the middle."""
    from scipy.optimize import linprog

    alive = np.flatnonzero(a > -np.inf)
    A = F[alive] - F[alive].mean(axis=0)
    A = A / np.where(np.abs(A).max(axis=0) > 0.0, np.abs(A).max(axis=0), 1.0)
    # the facet that a ray from the middle meets: maximise ⟨c, v⟩ under ⟨v, A_j⟩ ≤ 1
    found = linprog(-rng.normal(size=A.shape[1]), A_ub=A, b_ub=np.ones(len(A)), bounds=[(-1e3, 1e3)] * A.shape[1])
    on = alive[np.flatnonzero(A @ found.x >= 1.0 - 1e-9)] if found.status == 0 else alive[:1]
    on = on if on.size else alive[:1]
    depth = 10.0 ** rng.uniform(-8, -1)
    weights = np.zeros(len(F))
    weights[on] += (1.0 - depth) * rng.dirichlet(np.ones(on.size))
    weights[alive] += depth / len(alive)
    return mean_of(weights / weights.sum(), F)


TARGETS: tuple[Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray], ...] = (
    tilted, inside, few, vertex, face, near_vertex, near_face,
)  # fmt: skip


# feasible problems ---------------------------------------------------------------------------------------------------


def _radius(rng: np.random.Generator, F: np.ndarray, norm: float) -> float:
    """From 10^-9 of the features' spread to twice the spread."""
    spread = float(np.linalg.norm(np.ptp(F, axis=0), norm)) or 1.0
    return spread * 10.0 ** float(rng.choice([rng.uniform(-9, -5), rng.uniform(-4, 0.3)]))


def _problem(rng, features, base, target, with_radius):
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
    """A maker of problems; what is left open is drawn from all there is."""

    def make(rng: np.random.Generator) -> tuple[pre.RatioProblem, float]:
        parts = [
            given if isinstance(given, tuple) is False and given is not None else (given or every)
            for given, every in ((features, FEATURES), (base, BASES), (target, TARGETS))
        ]
        chosen = [part[rng.integers(len(part))] if isinstance(part, tuple) else part for part in parts]
        wants = bool(rng.integers(2)) if radius is None else radius
        return _problem(rng, *chosen, wants), 0.0

    return make


def _beyond(rng, factors):
    """A target at a known distance from the hull: along a normal at a corner, measured in the problem's own norm."""
    features = FEATURES[rng.integers(len(FEATURES))]
    while True:
        F = features(rng)
        a = BASES[rng.integers(len(BASES))](rng, len(F))
        alive = F[a > -np.inf]
        norm = NORMS[rng.integers(3)]
        spread = np.where(np.ptp(alive, axis=0) > 0.0, np.ptp(alive, axis=0), 1.0)
        v = rng.normal(size=F.shape[1]) / spread
        dual = {2: 2, np.inf: 1, 1: np.inf}[norm]
        v /= np.linalg.norm(v, dual)
        heights = alive @ v
        width = float(np.ptp(heights)) or 1.0
        d = width * 10.0 ** rng.uniform(-7, 1)
        b = alive[np.argmax(heights)] + d * subgradient(v, norm)
        exact = v.astype(np.longdouble)
        margin = float(exact @ b - (alive.astype(np.longdouble) @ exact).max()) / float(np.linalg.norm(exact, dual))
        size = float(np.abs(v) @ (np.abs(b) + np.abs(alive).max(axis=0)))
        if margin > max(1e-10 * size, 0.999 * d):  # otherwise the distance is lost in round-off of the data
            break
        features = plain
    # round-off of b in a large column may take it further from the corner than v shows: the distance is between both
    factor = float(factors[rng.integers(len(factors))])
    distance = margin if factor < 1.0 else max(margin, float(np.linalg.norm(b - alive[np.argmax(heights)], norm)))
    return pre.RatioProblem(b, F, a, radius=factor * distance, norm=norm), distance


FEASIBLE: dict[str, Callable[[np.random.Generator], tuple[pre.RatioProblem, float]]] = {
    "tilted by a known δ": _kind(plain, mild, tilted),
    "inside the hull": _kind(plain, flat, inside),
    "whole numbers": _kind(lattice, (flat, mild), (inside, few, vertex, face)),
    "collinear and constant columns": _kind(dependent, (flat, mild, wild), (tilted, inside, few)),
    "columns from 1e-8 to 1e8": _kind(scaled, (flat, mild, wild), (tilted, inside)),
    "columns far from zero": _kind(shifted, (flat, mild), (tilted, inside)),
    "more features than rows": _kind(wide, (flat, mild, wild), (inside, few, vertex)),
    "heavy tails and powers": _kind((heavy_tailed, powers), (flat, mild), (tilted, inside, near_face)),
    "repeated rows": _kind(repeated, (flat, mild, partial), (inside, few, vertex)),
    "base weights e^±50": _kind((plain, lattice, powers), wild, (inside, few)),
    "base weights e^±700": _kind((plain, lattice, powers), extreme, (inside, few)),
    "rows without weight": _kind((plain, lattice), partial, (inside, few, vertex)),
    "near a corner": _kind((plain, lattice), (flat, mild), near_vertex),
    "near a corner, base weights e^±50": _kind((plain, lattice), (wild, extreme), near_vertex),
    "near a face": _kind((plain, lattice), (flat, mild), near_face),
    "near a face, base weights e^±50": _kind((plain, lattice), (wild, extreme), near_face),
    "on a face or corner": _kind((plain, lattice), (flat, mild, wild), (vertex, face)),
    "radius": _kind((plain, lattice, shifted), (flat, mild), (tilted, inside, few), radius=True),
    "radius, base weights e^±50": _kind((plain, lattice), (wild, extreme), None, radius=True),
    "radius, collinear or more features than rows": _kind((dependent, wide), (flat, mild), (inside, few), radius=True),
    "outside, radius above the distance": lambda rng: _beyond(rng, (1.001, 1.01, 2.0, 10.0)),
    "anything": _kind(radius=None),
}  # fmt: skip

INFEASIBLE: dict[str, Callable[[np.random.Generator], tuple[pre.RatioProblem, float]]] = {
    "outside": lambda rng: _beyond(rng, (0.0,)),
    "outside, radius below the distance": lambda rng: _beyond(rng, (1e-6, 0.5, 0.9, 0.99, 0.999)),
}


def feasible(number: int) -> Drawn:
    """The feasible problem of this number."""
    return _draw(FEASIBLE, number, 0)


def infeasible(number: int) -> Drawn:
    """The infeasible problem of this number."""
    return _draw(INFEASIBLE, number, 1)


def _draw(makers, number, stream):
    kind = list(makers)[number % len(makers)]
    return Drawn(kind, *makers[kind](np.random.default_rng([stream, number])))
