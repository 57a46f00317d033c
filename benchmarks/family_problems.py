"""Random problems of the convex family, feasible or infeasible by construction; the number of a problem is its seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from random_problems import FEATURES, NORMS, Drawn, flat, lattice, mean_of, mild, plain, wide, zeros

import pre_convex as pre
from pre_convex.divergences import DIVERGENCES, Link

#: how far a target is from the edge of what weights can reach, as a share of the way to the centre
DEEP, SHALLOW = (-1.0, 0.0), (-6.0, -1.0)
#: random corners of the weights within bounds whose mean is called the centre
CORNERS = 20


def wild(rng: np.random.Generator, n: int) -> np.ndarray:
    """Base weights from e^-5 to e^5."""
    return rng.uniform(-5.0, 5.0, n)


def _bounds(rng: np.random.Generator, pi: np.ndarray) -> tuple[str, dict[str, object]]:
    """Bounds of one sort as arguments of a problem, which always allow weights that sum to one."""
    sort = ("none", "cap", "both", "tight", "each row", "largest weight")[rng.integers(6)]
    n = len(pi)
    if sort == "cap":
        return sort, {"bounds": (0.0, float(rng.uniform(1.2, 20.0)))}
    if sort == "both":
        return sort, {"bounds": (float(rng.uniform(0.01, 0.6)), float(rng.uniform(1.5, 10.0)))}
    if sort == "tight":
        return sort, {"bounds": (float(rng.uniform(0.7, 0.95)), float(rng.uniform(1.05, 1.3)))}
    if sort == "each row":
        upper = np.where(rng.random(n) < 0.2, np.inf, rng.uniform(1.05, 5.0, n))
        return sort, {"bounds": (rng.uniform(0.0, 0.9, n), upper)}
    if sort == "largest weight":
        return sort, {"max_weight": float(rng.uniform(1.5, 6.0)) / np.count_nonzero(pi)}
    return sort, {}


def _radius(rng: np.random.Generator, F: np.ndarray, sort: str) -> dict[str, object]:
    """No radius, one in a norm, or one for each feature, from 10^-6 to half of the spread."""
    norm = NORMS[rng.integers(3)]
    if sort == "exact":
        return {}
    spread = np.where(np.ptp(F, axis=0) > 0.0, np.ptp(F, axis=0), 1.0)
    if sort == "one":
        return {"norm": norm, "radius": float(np.linalg.norm(spread, norm)) * 10.0 ** rng.uniform(-6, -0.3)}
    kind = rng.integers(4, size=F.shape[1])
    R = spread * 10.0 ** rng.uniform(-6, -0.3, F.shape[1])
    return {"radius": np.where(kind == 0, 0.0, np.where(kind == 1, np.inf, R))}


def _allowance(rng: np.random.Generator, terms: dict[str, object], k: int) -> np.ndarray:
    """A residual that the radius allows."""
    R = np.broadcast_to(terms.get("radius", 0.0), k)
    off = rng.uniform(-1.0, 1.0, k) * rng.choice([0.0, 0.5, 0.99])
    if np.ndim(terms.get("radius", 0.0)):
        return off * np.where(np.isfinite(R), R, 10.0)
    length = float(np.linalg.norm(off, terms.get("norm", 2)))
    return off * R / length * rng.uniform(0.0, 0.99) if length > 0.0 else off


def _extreme(z: np.ndarray, pi: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Weights within bounds whose mean of z is the largest."""
    mu, left = lower * pi, 1.0 - float(lower @ pi)  # rows without base weight have none
    for j in np.argsort(-z):
        if pi[j] > 0.0:
            more = min(left, (upper[j] - lower[j]) * pi[j])
            mu[j], left = mu[j] + more, left - more
    return mu


def _frame(rng: np.random.Generator, features: object, base: object, radius: object, name: str | None):
    """Features, log base weights, π and the terms of a problem, with bounds that these base weights allow."""
    features, base, radius = (
        part[rng.integers(len(part))] if isinstance(part, tuple) else part for part in (features, base, radius)
    )
    F = features(rng)
    a = base(rng, len(F))
    pi = np.exp(a - a.max())
    pi /= pi.sum()
    while True:
        sort, bounds = _bounds(rng, pi)
        terms = {"divergence": name or list(DIVERGENCES)[rng.integers(3)], **bounds, **_radius(rng, F, radius)}
        if terms["divergence"] == "kl" and sort == "none" and radius != "each":
            continue  # the campaign of the first edition
        try:
            problem = pre.RatioProblem(F[np.argmax(a)], F, a, **terms)
        except pre.DataError:  # these bounds allow no weights that sum to one
            continue
        lower, upper = (np.broadcast_to(x, len(F)).astype(float) for x in problem.bounds)
        return F, a, pi, terms, lower, upper


def _kind(features=FEATURES, base=(flat, mild, zeros), radius=("exact", "one", "each"), target="inside", name=None):
    """A function that draws feasible problems; parts given as a tuple are drawn at random."""

    def make(rng: np.random.Generator) -> pre.RatioProblem:
        F, a, pi, terms, lower, upper = _frame(rng, features, base, radius, name)
        spread = np.where(np.ptp(F, axis=0) > 0.0, np.ptp(F, axis=0), 1.0)
        z = (F - F.mean(axis=0)) / spread @ rng.normal(size=F.shape[1])
        link = Link(DIVERGENCES[terms["divergence"]], lower, upper)
        if target == "known":  # the weights of a known δ
            z *= rng.uniform(0.1, 0.9 if terms["divergence"] == "reverse-kl" else 3.0)
            mu = pi * link.ratio(link.intercept(z, pi) + z)
        else:  # between the weights that are extreme in a direction, and random ones strictly within the bounds
            depth = 10.0 ** rng.uniform(*(DEEP if target == "inside" else SHALLOW))
            corners = [_extreme(rng.normal(size=len(F)), pi, lower, upper) for _ in range(CORNERS)]
            inner = np.mean(corners, axis=0)
            outer = _extreme(z, pi, lower, upper)
            mu = (1.0 - depth) * outer + depth * inner
        b = mean_of(mu / mu.sum(), F) + _allowance(rng, terms, F.shape[1])
        return pre.RatioProblem(b, F, a, **terms)

    return make


def _outside(within_hull: bool):
    """A function that draws problems whose target is beyond what weights within the bounds reach, by a known margin."""

    def make(rng: np.random.Generator) -> pre.RatioProblem:
        while True:
            F, a, pi, terms, lower, upper = _frame(rng, (plain, lattice), (flat, mild), ("exact", "one", "each"), None)
            k = F.shape[1]
            R = np.broadcast_to(terms.get("radius", 0.0), k)
            spread = np.where(np.ptp(F, axis=0) > 0.0, np.ptp(F, axis=0), 1.0)
            v = rng.normal(size=k) / spread * (rng.random(k) < rng.choice([0.3, 1.0]))
            v[np.isinf(R)] = 0.0
            if not np.any(v) or (within_hull and np.all(np.isinf(upper))):
                continue
            heights = F @ v
            mu = _extreme(heights, pi, lower, upper)
            top, hull = float(mu @ heights), float(heights[pi > 0.0].max())
            if np.ndim(terms.get("radius", 0.0)):
                push = np.where(np.isfinite(R), R, 0.0) * np.sign(v)
            else:
                norm = terms.get("norm", 2)
                unit = {2: v / np.linalg.norm(v), np.inf: np.sign(v), 1: np.zeros(k)}[norm]
                if norm == 1:
                    unit[np.argmax(np.abs(v))] = np.sign(v[np.argmax(np.abs(v))])
                push = R * unit
            room = hull - top
            if within_hull and not room > 1e-3 * float(np.ptp(heights)):
                continue
            further = room * rng.uniform(0.05, 0.9) if within_hull else np.ptp(heights) * 10.0 ** rng.uniform(-6, 0.5)
            b = mu @ F + push * (1.0 + 1e-9) + v * float(further) / float(v @ v)
            return pre.RatioProblem(b, F, a, **terms)

    return make


def _crossed(rng: np.random.Generator) -> pre.RatioProblem:
    """Two features that can each be matched within the bounds, but not together."""
    n, k = int(rng.integers(40, 80)), int(rng.integers(2, 6))
    F = rng.normal(size=(n, k))
    F[:, 1] = -F[:, 0] + 0.1 * rng.normal(size=n)
    pi, upper = np.full(n, 1.0 / n), float(rng.uniform(1.5, 4.0))
    least, most = np.zeros(n), np.full(n, upper)
    b = F.mean(axis=0)
    for i in (0, 1):
        b[i] += 0.8 * (float(_extreme(F[:, i], pi, least, most) @ F[:, i]) - b[i])
    return pre.RatioProblem(b, F, divergence=list(DIVERGENCES)[rng.integers(3)], bounds=(0.0, upper))


FEASIBLE: dict[str, Callable[[np.random.Generator], pre.RatioProblem]] = {
    "χ², known δ": _kind(plain, (flat, mild), target="known", name="chi2"),
    "reverse KL, known δ": _kind(plain, (flat, mild), target="known", name="reverse-kl"),
    "KL with bounds, known δ": _kind(plain, (flat, mild), target="known", name="kl"),
    "χ², inside": _kind(name="chi2"),
    "reverse KL, inside": _kind(name="reverse-kl"),
    "KL with bounds, inside": _kind(name="kl"),
    "whole numbers": _kind(lattice),
    "more features than rows": _kind(wide, radius=("one", "each")),
    "one radius for each feature": _kind(radius="each"),
    "near the edge of what weights reach": _kind((plain, lattice), (flat, mild), target="near the edge"),
    "base weights e^±5": _kind((plain, lattice), wild),
}  # fmt: skip

INFEASIBLE: dict[str, Callable[[np.random.Generator], pre.RatioProblem]] = {
    "inside the hull, beyond the bounds": _outside(True),
    "outside the hull": _outside(False),
    "two features in conflict": _crossed,
}


def feasible(number: int) -> Drawn:
    """The feasible problem with this number."""
    return _draw(FEASIBLE, number, 2)


def infeasible(number: int) -> Drawn:
    """The infeasible problem with this number."""
    return _draw(INFEASIBLE, number, 3)


def _draw(makers, number, stream):
    kind = list(makers)[number % len(makers)]
    problem = makers[kind](np.random.default_rng([stream, number]))
    return Drawn(kind, problem, 0.0 if makers is FEASIBLE else np.inf)
