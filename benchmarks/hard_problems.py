"""Random problems on which certificates have been false, and ways to an answer; the number of a problem is its seed.

Timestamps beside nearly equal columns, columns far from zero with uneven base weights, one heavy row among rows that
differ in their last digits, one-hot features, nearly collinear columns, and one time in several units; in all norms,
with and without a radius.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import pre_convex as pre

NORMS = (2, np.inf, 1)
#: microseconds from 1970 to 2023: doubles there are a quarter apart
EPOCH = 1_700_000_000_000_000

Data = tuple[np.ndarray, np.ndarray, np.ndarray | None]


@dataclass(frozen=True)
class Answer:
    """An answer to a problem: its δ and its certificate, with status and weights if there are any."""

    problem: pre.RatioProblem
    delta: np.ndarray
    certificate: pre.Certificate
    status: str = ""
    solution: pre.Solution | None = None


# data: (target, features, log base weights) ---------------------------------------------------------------------------


def timestamps(rng: np.random.Generator) -> Data:
    """Whole microseconds since 1970 beside two nearly equal columns; the target is the mean of a resample."""
    n, span, noise = int(10.0 ** rng.uniform(1.5, 3.3)), int(rng.integers(40, 500)), 10.0 ** rng.uniform(-5, -2)
    t, x = rng.integers(0, span, n), rng.normal(size=n)
    F = np.column_stack([EPOCH + t, x, x + noise * rng.normal(size=n)])
    i = rng.integers(0, n, n)
    target = F[i].mean(axis=0)
    target[0] = EPOCH + np.round(4.0 * t[i].mean()) / 4.0  # exact
    return target, F, None


def offsets(rng: np.random.Generator) -> Data:
    """Columns of many scales, some far from zero; a target close to a row, and base weights over up to e^±300."""
    k = int(rng.integers(1, 4))
    F = rng.normal(size=(k + 1 + int(rng.integers(0, 6)), k)) * 10.0 ** rng.uniform(-3, 3, k)
    F = F + 10.0 ** rng.uniform(-2, 12, k) * rng.choice([0.0, 1.0], k)
    small = 10.0 ** rng.uniform(-14, -1)
    w = rng.dirichlet(np.ones(k + 1)) * small
    w[0] += 1.0 - small
    return (w / w.sum()) @ F[: k + 1], F, rng.normal(size=len(F)) * rng.choice([0.0, 1.0, 10.0, 50.0, 300.0])


def heavy_row(rng: np.random.Generator) -> Data:
    """One row has nearly all weight, and columns vary in their last digits only."""
    k = int(rng.integers(1, 6))
    n = k + 2 + int(rng.integers(0, 10))
    F = 1.0 + 10.0 ** rng.uniform(-14, -9) * rng.normal(size=(n, k))
    a = rng.normal(size=n) - 10.0 ** rng.uniform(1, 2.5)
    a[0] = 0.0
    return rng.dirichlet(np.ones(n)) @ F, F, a


def one_hot(rng: np.random.Generator) -> Data:
    """Levels of a category, of which the p side may lack some, with uneven weights on both sides."""
    n, k, spread = int(rng.integers(50, 300)), int(rng.integers(3, 15)), float(rng.choice([0.0, 1.0, 3.0, 10.0, 30.0]))
    level = rng.integers(0, k, n)
    w = np.exp(spread * rng.normal(size=20))
    target = np.bincount(level[rng.integers(0, n, 20)], w / w.sum(), minlength=k)
    return target, (level[:, None] == np.arange(k)).astype(float), spread * rng.normal(size=n)


def collinear(rng: np.random.Generator) -> Data:
    """Two columns that agree to 6 to 10 digits; the target is a tilted mean."""
    n, k = int(rng.integers(15, 80)), int(rng.integers(3, 16))
    F = rng.normal(size=(n, k))
    F[:, -1] = F[:, 0] + 10.0 ** rng.uniform(-10, -6) * rng.normal(size=n)
    a = rng.normal(size=n) * rng.choice([0.0, 1.0, 30.0, 100.0])
    z = a + F @ rng.normal(size=k) * rng.choice([0.1, 1.0, 3.0])
    w = np.exp(z - z.max())
    return (w / w.sum()) @ F, F, a


def clocks(rng: np.random.Generator) -> Data:
    """One time in several units and epochs, some rounded, for a few events; the target is the mean of some of them."""
    n = int(rng.choice([3, 5, 10, 40]))
    t = EPOCH + np.floor(rng.random(n) * 10.0 ** rng.integers(4, 13))
    units = [t, np.floor(t / 1e3), 1e3 * t, t / 1e6, (t - EPOCH) / 3.6e9, 1970.0 + t / 3.15576e13, np.floor(t / 3.6e9)]
    x = 20.0 + 10.0 * rng.normal(size=n)
    units += [x, 1.8 * x + 32.0, (1.8 * x + 32.0).astype(np.float32).astype(float), np.full(n, float(rng.choice(t)))]
    F = np.column_stack([units[i] for i in rng.permutation(len(units))[: int(rng.integers(2, 6))]])
    chosen = F[rng.choice(n, max(2, n // 2), p=rng.dirichlet(np.ones(n)))]
    return chosen.mean(axis=0), F, rng.normal(size=n) * rng.choice([0.0, 1.0, 10.0])


KINDS: dict[str, Callable[[np.random.Generator], Data]] = {
    "timestamps": timestamps,
    "offsets": offsets,
    "heavy row": heavy_row,
    "one-hot": one_hot,
    "collinear": collinear,
    "clocks": clocks,
}


# ways to an answer ----------------------------------------------------------------------------------------------------


def solved(problem: pre.RatioProblem, solution: pre.Solution) -> list[Answer]:
    """The answer of a solution, unless it has no numbers."""
    return [Answer(problem, solution.delta, solution.certificate, solution.status.name, solution)]


def newton(problem: pre.RatioProblem, rng: np.random.Generator) -> list[Answer]:
    """``solve``."""
    return solved(problem, pre.solve(problem, check=False))


def raw_cone(problem: pre.RatioProblem, rng: np.random.Generator) -> list[Answer]:
    """A cone solver's own answer, unpolished."""
    formulation = ("primal", "dual")[int(rng.integers(2))]
    return solved(problem, pre.solve(problem, formulation, "CLARABEL", polish=False, check=False))


def perturbed(problem: pre.RatioProblem, rng: np.random.Generator) -> list[Answer]:
    """``certify`` of zero, and of an answer that is slightly off."""
    delta = pre.solve(problem, check=False).delta
    found = [Answer(problem, np.zeros(problem.k), pre.certify(problem, np.zeros(problem.k)))]
    if np.all(np.isfinite(delta)):
        off = delta * (1.0 + 10.0 ** rng.uniform(-14, 0) * rng.normal(size=problem.k))
        found.append(Answer(problem, off, pre.certify(problem, off)))
        chosen = rng.choice(problem.n_q, size=1 + int(rng.integers(problem.n_q)))
        mu = np.exp(problem.log_mu(off)) * (1.0 + 1e-3 * rng.normal(size=problem.n_q)) + 1e-9 * np.bincount(
            chosen, minlength=problem.n_q
        )
        found.append(Answer(problem, off, pre.certify(problem, off, mu / mu.sum())))
    return found


def batch(problem: pre.RatioProblem, rng: np.random.Generator) -> list[Answer]:
    """``solve_many`` of the target and two others, mixtures of it and rows."""
    F, share = problem.features_q, 10.0 ** rng.uniform(-8, -1, size=(2, 1))
    rows = F[rng.integers(0, problem.n_q, 2)]
    targets = np.vstack([problem.target, (1.0 - share) * problem.target + share * rows])
    found = pre.solve_many(F, targets, problem.log_base, radius=problem.radius, norm=problem.norm)
    problems = [pre.RatioProblem(b, F, problem.log_base, radius=problem.radius, norm=problem.norm) for b in targets]
    return [answer for one, solution in zip(problems, found, strict=True) for answer in solved(one, solution)]


def blocks(problem: pre.RatioProblem, rng: np.random.Generator) -> list[Answer]:
    """The same problem in three blocks."""
    ends = [0, *sorted(rng.integers(1, problem.n_q, 2).tolist()), problem.n_q]
    slices = [slice(i, j) for i, j in pairwise(ends) if i < j]
    blocked = pre.RatioProblem.from_blocks(
        None,
        [lambda s=s: problem.features_q[s] for s in slices],
        log_lik_q=[lambda s=s: problem.log_base[s] for s in slices],
        target=problem.target,
        radius=problem.radius,
        norm=problem.norm,
    )
    return solved(problem, pre.solve(blocked, check=False))


WAYS: dict[str, Callable[[pre.RatioProblem, np.random.Generator], list[Answer]]] = {
    "solve": newton,
    "raw cone answer": raw_cone,
    "certify": perturbed,
    "solve_many": batch,
    "blocks": blocks,
}


@dataclass(frozen=True)
class Drawn:
    """A problem with its kind and the way to its answers."""

    kind: str
    way: str
    problem: pre.RatioProblem
    rng: np.random.Generator

    def answers(self) -> list[Answer]:
        """Answers by that way."""
        return WAYS[self.way](self.problem, self.rng)


def draw(number: int) -> Drawn:
    """The problem with this number; kinds, ways, norms and radii follow each other in a fixed order."""
    rng = np.random.default_rng([number, 1923])
    rest, kind = divmod(number, len(KINDS))
    rest, way = divmod(rest, len(WAYS))
    rest, norm = divmod(rest, len(NORMS))
    target, F, a = list(KINDS.values())[kind](rng)
    spread = float(np.ptp(F, axis=0).max())
    radius = spread * 10.0 ** rng.uniform(-12, -0.5) if rest % 2 else 0.0
    problem = pre.RatioProblem(target, F, a, radius=radius, norm=NORMS[norm])
    return Drawn(list(KINDS)[kind], list(WAYS)[way], problem, rng)
