"""Problems with known answers: δ is chosen first and the target computed from it.

``planted`` and ``gaussian`` make problems of any size. ``ZOO`` is a catalogue of small named problems, from easy to
nasty, whose answers are known to 1e-12 or better: targets are computed in 50 digits and rounded, and the answer to the
rounded problem is computed in 50 digits, too. An animal is built on first use.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from exact import Exact, mp, numbers
from pre_convex_lab.solvers.cases import planted as case_of
from pre_convex_lab.solvers.cases import subgradient

import pre_convex as pre

OPTIMAL, BOUNDARY, INFEASIBLE = pre.Status.OPTIMAL, pre.Status.BOUNDARY, pre.Status.INFEASIBLE
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def planted(n=200, k=3, seed=0, radius=0.0, norm=2, strength=0.5, spread=1.0, features=None):
    """(problem, δ): a problem with exactly this solution, for any radius and norm."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, k)) if features is None else features
    k = F.shape[1]
    log_base = spread * rng.normal(size=len(F))
    delta = strength * rng.normal(size=k)
    if norm == np.inf:
        delta[1::2] = 0.0  # as an ℓ1 penalty does
    if norm == 1:
        delta[0] = np.abs(delta).max() * 1.5
    return case_of("planted", F, delta, log_base, radius, norm).problem, delta


def gaussian(n, seed, precision=1.0, shift=(0.6, -0.3)):
    """(x_p, x_q, log l_p, log l_q, δ*): Gaussian priors and likelihoods, whose posterior ratio is log-linear.

    Prior N(m, I) and likelihood N(y; x, I/τ) give the posterior N((m + τy)/(1 + τ), I/(1 + τ)), so the ratio of
    two such posteriors has δ* = (m_p + τ y_p) − (m_q + τ y_q).
    """
    rng = np.random.default_rng(seed)
    m_p, y_p, y_q = np.array(shift), np.array([0.2, 0.4]), np.array([-0.1, 0.1])
    x_p, x_q = m_p + rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    return x_p, x_q, pre.Gaussian(y_p, precision), pre.Gaussian(y_q, precision), m_p + precision * (y_p - y_q)


def samples(n=300, seed=0):
    """(x_p, x_q, log l_p, log l_q) of :func:`gaussian`."""
    return gaussian(n, seed)[:4]


@dataclass(frozen=True, eq=False)
class Answer:
    """A problem and its known answer.

    ``delta`` is None if it is not unique or does not exist, ``mu`` if only δ is known. ``minimal_radius`` and
    ``direction`` (of unit dual norm, None if it is not unique) are for infeasible problems. ``conditioning`` is Σ|H⁻¹|
    at the answer: the sensitivity of δ to the target.
    """

    problem: pre.RatioProblem
    value: float
    delta: np.ndarray | None = None
    mu: np.ndarray | None = None
    minimal_radius: float = 0.0
    direction: np.ndarray | None = None
    conditioning: float = np.inf


@dataclass(frozen=True, eq=False)
class Animal:
    """A named problem with its status and its answer, built on first use."""

    name: str
    kind: pre.Status
    make: Callable[[], Answer]
    #: radius of the problem, to select animals without building them
    radius: float = 0.0

    @cached_property
    def answer(self) -> Answer:
        made = self.make()
        assert made.problem.radius == self.radius
        return made

    @cached_property
    def exact(self) -> Exact:
        """The same problem in 50 digits."""
        return Exact.of(self.problem)

    @cached_property
    def optimum(self):
        """The optimal value in 50 digits, or as accurate as the known weights; −inf if there is none."""
        if self.kind is INFEASIBLE:
            return -mp.inf
        if self.delta is not None:
            return self.exact.value(self.exact.optimum(self.delta))
        return self.exact.dual_value(self.answer.mu)

    @property
    def problem(self) -> pre.RatioProblem:
        return self.answer.problem

    @property
    def delta(self) -> np.ndarray | None:
        return self.answer.delta

    @property
    def value(self) -> float:
        return self.answer.value

    @property
    def small(self) -> bool:
        """Whether a cone solver solves it quickly."""
        return not self.name.startswith("seventy thousand")

    def __str__(self) -> str:
        return self.name


ZOO: dict[str, Animal] = {}


def animal(name, kind, make, *args, **kwargs):
    """Add one to the zoo."""
    assert name not in ZOO
    radius = inspect.signature(make).bind(*args, **kwargs).arguments.get("radius", 0.0)
    ZOO[name] = Animal(name, kind, lambda: make(*args, **kwargs), radius)


def of_kind(*kinds):
    """Animals of some kinds, to parametrise a test with ``ids=str``."""
    return [entry for entry in ZOO.values() if entry.kind in kinds]


def found_from(features, delta, log_base=None, radius=0.0, norm=2, share=0.3) -> Answer:
    """The problem whose solution is δ up to the rounding of its target, and the solution of the rounded problem."""
    features, delta = np.asarray(features, dtype=float), np.asarray(delta, dtype=float)
    bare = pre.RatioProblem(np.zeros(len(delta)), features, log_base)
    mean = Exact.of(bare).tilt(numbers(delta))[2]
    r = subgradient(delta, norm)
    if radius and norm == np.inf:  # where δ is zero, any residual inside the ball will do
        r = np.where(delta == 0.0, share, r)
    if radius and not delta.any():
        r = np.full(delta.size, share / delta.size)
    # summed in 50 digits, rounded once
    target = [float(m + radius * float(x)) for m, x in zip(mean, r, strict=True)]
    problem = pre.RatioProblem(target, features, log_base, radius=radius, norm=norm)
    exact = Exact.of(problem)
    best = exact.optimum(delta)
    assert exact.kkt(best) < 1e-30
    near = np.array([float(x) for x in best])
    H = problem.hessian(near)
    return Answer(problem, float(exact.value(best)), near, conditioning=float(np.abs(np.linalg.inv(H)).sum()))


def weights_given(features, mu, log_base=None, radius=0.0, norm=2, target=None) -> Answer:
    """A problem with known optimal weights, on numbers for which the target is exact."""
    features, mu = np.asarray(features, dtype=float), np.asarray(mu, dtype=float)
    problem = pre.RatioProblem(
        mu @ features if target is None else target, features, log_base, radius=radius, norm=norm
    )
    exact = Exact.of(problem)
    return Answer(problem, float(exact.dual_value(mu)), mu=mu)


def outside(features, target, distance, direction, radius=0.0, norm=2, log_base=None) -> Answer:
    """A problem with a target at a known distance from the hull."""
    problem = pre.RatioProblem(target, features, log_base, radius=radius, norm=norm)
    v = None if direction is None else np.asarray(direction, dtype=float)
    return Answer(problem, -np.inf, minimal_radius=distance, direction=v)


def cloud(n=40, k=3, seed=0):
    """Rows and log base weights of moderate size."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.normal(size=n)


def norm_name(norm):
    return {2: "2", np.inf: "inf", 1: "1"}[norm]


def _benign():
    F, a = cloud()
    spread = {2: [0.5, -0.3, 0.4], np.inf: [0.5, 0.0, -0.4], 1: [0.6, -0.3, 0.4]}
    animal("plain", OPTIMAL, found_from, F, [0.5, -0.3, 0.4], a)
    for norm in (2, np.inf, 1):
        for R in (0.01, 0.3):
            animal(f"norm {norm_name(norm)}, R = {R}", OPTIMAL, found_from, F, spread[norm], a, R, norm)
        animal(f"zero is optimal, norm {norm_name(norm)}", OPTIMAL, found_from, F, np.zeros(3), a, 0.2, norm)
    animal("tied coefficients", OPTIMAL, found_from, F, [0.4, -0.4, 0.1], a, 0.1, 1)
    animal("zero is optimal, R = 0", OPTIMAL, lambda: _zero())
    animal("one feature", OPTIMAL, found_from, F[:, :1], [-0.7], a)
    animal("one feature, R = 0.05", OPTIMAL, found_from, F[:, :1], [-0.7], a, 0.05)
    animal("two rows", OPTIMAL, found_from, [[0.0], [1.0]], [-np.log(3.0)])
    animal("strong answer", OPTIMAL, found_from, F, [3.0, -2.0, 4.0], a)


def _zero():
    F = np.array([[-1.0, 2.0], [1.0, -2.0], [3.0, 1.0], [-3.0, -1.0]])
    return Answer(pre.RatioProblem([0.0, 0.0], F), 0.0, np.zeros(2), np.full(4, 0.25), conditioning=1.0)


def _shapes():
    rng = np.random.default_rng(1)
    animal("as many features as rows allow", OPTIMAL, found_from, rng.normal(size=(6, 5)), rng.normal(size=5) / 2)
    few = rng.normal(size=(7, 6))
    animal("as many features as rows allow, R > 0", OPTIMAL, found_from, few, rng.normal(size=6) / 2, None, 0.02)
    round_rows = np.array([[4.0, 0, 8, 16, 8, -8], [-8, 8, 0, 8, 0, 24], [0, 16, 8, 0, 8, 8], [8, -16, 8, 8, 0, 0]])
    animal("more features than rows", OPTIMAL, weights_given, round_rows, [0.5, 0.25, 0.125, 0.125])
    animal("one row", OPTIMAL, weights_given, [[2.0, 3.0]], [1.0])
    animal("one row, R > 0", OPTIMAL, _one_row, radius=0.5)
    F, a = cloud(30, 3, 2)
    doubled = np.column_stack([F, 2.0 * F[:, 0]])
    animal("doubled column", OPTIMAL, lambda: _collinear(F, a, doubled, [1, 1, 1, 2], [0, 1, 2, 0]))
    constant = np.column_stack([F, np.full(30, 3.0)])
    animal("constant column", OPTIMAL, lambda: _collinear(F, a, constant, [1, 1, 1, 3], [0, 1, 2, -1]))
    copies = np.repeat(F[:8], 5, axis=0)
    animal("repeated rows", OPTIMAL, found_from, copies, [0.5, -0.2, 0.3], np.repeat(a[:8], 5))
    gone = np.where(np.arange(30) % 3 == 0, -np.inf, a)
    animal("rows without weight", OPTIMAL, found_from, F, [0.3, 0.2, -0.4], gone)
    for norm in (2, np.inf, 1):
        delta = [0.6, 0.0, -0.4] if norm == np.inf else [0.6, 0.2, -0.4]
        name = f"rows without weight, norm {norm_name(norm)}"
        animal(name, OPTIMAL, found_from, F, delta, gone, 0.05, norm)
    wide, weights = (np.concatenate([part] * 2800) for part in cloud(25, 6, 3))
    animal("seventy thousand rows", OPTIMAL, found_from, wide, 0.2 * np.arange(-2.0, 4.0), weights)
    sparse = [0.4, 0.0, 0.0, -0.3, 0.2, 0.0]
    animal("seventy thousand rows, R > 0", OPTIMAL, found_from, wide, sparse, None, 0.05, np.inf)


def _one_row(radius):
    problem = pre.RatioProblem([2.25, 3.0], [[2.0, 3.0]], radius=radius)
    return Answer(problem, 0.0, np.zeros(2), np.ones(1), conditioning=1.0)


def _collinear(F, a, features, factor, source):
    """A redundant column: weights and value are those of the others alone, and δ is not unique."""
    bare = found_from(F, [0.5, -0.2, 0.3], a)
    target = [factor[i] * (bare.problem.target[j] if j >= 0 else 1.0) for i, j in enumerate(source)]
    mu = np.exp(bare.problem.log_mu(bare.delta))
    return Answer(pre.RatioProblem(target, features, a), bare.value, mu=mu)


def _scales():
    F, a = cloud(30, 3, 4)
    delta = np.array([0.5, -0.3, 0.4])
    for name, scale in (("tiny", 1e-9), ("tiniest", 1e-60), ("huge", 1e9)):
        animal(f"{name} unit", OPTIMAL, found_from, F * scale, delta / scale, a)
    units = np.array([1e6, 1.0, 1e-6])
    animal("different units", OPTIMAL, found_from, F * units, delta / units, a)
    common = np.array([1e4, 1.0, 1e-3])
    animal("different units, R > 0", OPTIMAL, found_from, F * common, delta / common, a, 1e-4)
    for offset in (1e2, 1e5, 1e8):
        animal(f"offset {offset:.0e}", OPTIMAL, found_from, F + offset, delta, a)
        animal(f"offset {offset:.0e}, R > 0", OPTIMAL, found_from, F + offset, delta, a, 0.05)
    animal("one column far away", OPTIMAL, found_from, F + [0.0, 1e7, 0.0], delta, a)
    for width in (1e-2, 1e-4, 1e-6):
        near = np.column_stack([F[:, 0], F[:, 0] + width * F[:, 1]])
        animal(f"nearly collinear {width:.0e}", OPTIMAL, found_from, near, [0.3, 0.2], a)
        turned = np.array([1.0 - 1.0 / width, 1.0 / width]) * 0.3
        animal(f"nearly collinear {width:.0e}, long answer", OPTIMAL, found_from, near, turned, a)


def _weights():
    F, a = cloud(30, 3, 5)
    for span in (30, 300, 700):
        slope = np.array([1.0, -0.5, 0.25])
        heights = F @ slope
        slope *= span / np.abs(heights).max()
        # base weights over e^±span that δ compensates
        animal(f"base weights over e^±{span}", OPTIMAL, found_from, F, slope, a - F @ slope)
        relaxed = 0.01 / span
        name = f"base weights over e^±{span}, R > 0"
        animal(name, OPTIMAL, found_from, F, slope, a - F @ slope, relaxed)
    for precision in (1e2, 1e3):
        x = np.linspace(-1.0, 1.0, 41)[:, None]
        log_lik = -0.5 * precision * np.square(x[:, 0] - 0.3)
        animal(f"peaked likelihood {precision:.0e}", OPTIMAL, found_from, x, [0.05 * precision], log_lik)
        both = np.column_stack([x, np.square(x)])
        wider = [0.02 * precision, 0.2 * precision]
        animal(f"peaked likelihood {precision:.0e}, two moments", OPTIMAL, found_from, both, wider, log_lik)


def _near_the_boundary():
    rng = np.random.default_rng(6)
    F = np.column_stack([rng.normal(size=(30, 2)), np.repeat([0.0, 1.0, 1.5], 10)])
    for depth in (1e-2, 1e-4, 1e-6, 1e-8):
        delta = [0.3, -0.2, np.log(depth)]
        animal(f"depth {depth:.0e}", OPTIMAL, found_from, F, delta)
        animal(f"depth {depth:.0e}, R > 0", OPTIMAL, found_from, F, delta, None, depth / 16)
    corner = np.vstack([SQUARE, [[0.5, 0.25]]])
    for depth in (1e-3, 1e-6):
        far = np.log(depth)
        animal(f"depth {depth:.0e} in a corner", OPTIMAL, found_from, corner, [far, far])


def _on_the_boundary():
    edge = np.vstack([SQUARE, [[0.5, 0.5], [0.25, 1.0]]])
    animal("middle of an edge", BOUNDARY, weights_given, SQUARE, [0.5, 0.5, 0.0, 0.0])
    animal("on an edge", BOUNDARY, weights_given, SQUARE, [0.75, 0.0, 0.25, 0.0])
    animal("in a corner", BOUNDARY, weights_given, SQUARE, [0.0, 0.0, 0.0, 1.0])
    heavy = [0.0, np.log(2.0), 50.0, 0.0, 3.0, -4.0]
    animal("on an edge, heavy weights elsewhere", BOUNDARY, weights_given, edge, [0.25, 0.75, 0, 0, 0, 0], heavy)
    copies = np.repeat(SQUARE, 4, axis=0)
    animal("on an edge of repeated rows", BOUNDARY, weights_given, copies, np.repeat([0.125, 0, 0.125, 0], 4))
    cube = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
    animal("on an edge of a cube", BOUNDARY, weights_given, cube, [0.5, 0.5, 0, 0, 0, 0, 0, 0])
    animal("on a face of a cube", BOUNDARY, weights_given, cube, [0.5625, 0.1875, 0.1875, 0.0625, 0, 0, 0, 0])
    large = SQUARE * 2.0**20 + 2.0**30
    animal("on an edge, far away", BOUNDARY, weights_given, large, [0.75, 0.0, 0.25, 0.0])
    none = [0.0, 0.0, 0.0, -np.inf]
    animal("on an edge that lost a row", BOUNDARY, weights_given, SQUARE, [0.0, 0.5, 0.5, 0.0], none)


def _outside():
    for norm in (2, np.inf, 1):
        name = norm_name(norm)
        animal(f"above the square, norm {name}", INFEASIBLE, outside, SQUARE, [0.5, 3.0], 2.0, [0, 1], 0.0, norm)
        animal(f"radius too small, norm {name}", INFEASIBLE, outside, SQUARE, [0.5, 3.0], 2.0, [0, 1], 1.999, norm)
    root = np.sqrt(2.0)
    animal("off a corner, norm 2", INFEASIBLE, outside, SQUARE, [2.0, 2.0], root, [1 / root] * 2)
    animal("off a corner, norm inf", INFEASIBLE, outside, SQUARE, [2.0, 2.0], 1.0, None, 0.0, np.inf)
    animal("off a corner, norm 1", INFEASIBLE, outside, SQUARE, [2.0, 2.0], 2.0, [1.0, 1.0], 0.0, 1)
    animal("outside by 1e-3", INFEASIBLE, outside, SQUARE, [0.5, 1.0 + 2.0**-10], 2.0**-10, [0.0, 1.0])
    animal("outside by 1e-8", INFEASIBLE, outside, SQUARE, [0.5, 1.0 + 2.0**-27], 2.0**-27, [0.0, 1.0])
    animal("far outside", INFEASIBLE, outside, SQUARE, [0.5, 1e6], 1e6 - 1.0, [0.0, 1.0])
    large = SQUARE * 2.0**20
    animal("outside in large units", INFEASIBLE, outside, large, [2.0**19, 2.0**21], 2.0**20, [0.0, 1.0])
    constant = np.column_stack([SQUARE, np.full(4, 3.0)])
    animal("constant column missed", INFEASIBLE, outside, constant, [0.5, 0.5, 3.5], 0.5, [0.0, 0.0, 1.0])
    x = np.linspace(-1.0, 1.0, 9)
    twice = np.column_stack([x, x])
    missed = [0.25, 0.25 + 2.0**-10]
    animal("doubled column missed", INFEASIBLE, outside, twice, missed, 2.0**-10 / root, [-1 / root, 1 / root])
    animal("one row missed", INFEASIBLE, outside, [[1.0, 2.0]], [1.0, 6.0], 4.0, [0.0, 1.0])
    lost = [0.0, -np.inf, 0.0, -np.inf]
    animal("inside but for rows without weight", INFEASIBLE, outside, SQUARE, [0.5, 0.5], 0.5, [0, 1], log_base=lost)


for build in (_benign, _shapes, _scales, _weights, _near_the_boundary, _on_the_boundary, _outside):
    build()
