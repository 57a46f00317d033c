"""Hypothesis strategies for whole problems, and the number of examples of each property."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pre_convex_lab.solvers.cases import subgradient

import pre_convex as pre

NORMS = (2, np.inf, 1)
DUAL = {2: 2, np.inf: 1, 1: np.inf}
#: completed examples by property; conftest.py collects them
FINISHED: Counter[str] = Counter()


def prop(*strategies, share=1.0, **named):
    """``given`` with a share of the profile's examples, counting those that complete."""

    def decorate(test):
        @functools.wraps(test)
        def counted(*args, **kwargs):
            test(*args, **kwargs)
            FINISHED[test.__name__] += 1

        most = max(1, round(share * settings.default.max_examples))
        return settings(max_examples=most)(given(*strategies, **named)(counted))

    return decorate


@dataclass(frozen=True)
class Made:
    """A problem, the distance of its target from the hull by construction, and a seed."""

    problem: pre.RatioProblem
    distance: float
    seed: int

    def __repr__(self) -> str:
        """Everything needed to rebuild a failing example."""
        p = self.problem
        return (
            f"Made(target={p.target.tolist()}, features_q={p.features_q.tolist()}, log_base={p.log_base.tolist()}, "
            f"radius={p.radius!r}, norm={p.norm!r}, distance={self.distance!r}, seed={self.seed})"
        )


@st.composite
def features(draw, most_rows=80, most_columns=8, vicious=True, extreme=False):
    """F: normal numbers or integers, with duplicate rows, dependent and constant columns, scales and offsets."""
    k = draw(st.integers(1, most_columns), label="k")
    n = draw(st.integers(1, most_rows), label="n")
    rng = np.random.default_rng(draw(st.integers(0, 2**20), label="seed of F"))
    kind = draw(st.sampled_from(["normal", "whole", "repeated", "one hot", "powers"]), label="kind of F")
    if kind == "whole":
        F = rng.integers(-3, 4, size=(n, k)).astype(float)
    elif kind == "repeated":
        F = rng.normal(size=(n, k))[rng.integers(0, n, n)]
    elif kind == "one hot":
        F = np.eye(k)[rng.integers(0, k, n)]
    elif kind == "powers":
        F = rng.normal(size=(n, 1)) ** np.arange(1, k + 1) if k <= 4 else rng.normal(size=(n, k))
    else:
        F = rng.normal(size=(n, k))
    change = draw(st.sampled_from(["none", "none", "dependent", "constant", "scales", "offsets"]), label="change of F")
    if not vicious:
        return F
    if change == "dependent" and k > 1:
        F[:, -1] = F[:, 0] + (F[:, 1] if k > 2 else 0.0)
    elif change == "constant":
        F[:, draw(st.integers(0, k - 1))] = draw(st.sampled_from([0.0, 1.0, -7.0, 1e3]))
    elif change == "scales":
        reach = 8 if extreme else 2
        F *= 10.0 ** np.array(draw(st.lists(st.integers(-reach, reach), min_size=k, max_size=k)))
    elif change == "offsets":
        F += 10.0 ** np.array(draw(st.lists(st.integers(0, 4), min_size=k, max_size=k)))
    return F


@st.composite
def log_bases(draw, n, vicious=True, extreme=False):
    """Uniform, mild, e^±10, with rows of zero weight; if extreme, also e^±50 and e^±700."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20), label="seed of a"))
    kind = draw(st.sampled_from(["flat", "mild", "zero weights", 10, 50, 700][: 6 if extreme else 4 if vicious else 2]))
    if kind == "flat":
        return np.zeros(n)
    if kind == "mild":
        return rng.normal(size=n)
    if kind == "zero weights":
        a = rng.normal(size=n)
        a[rng.permutation(n)[: n // 3]] = -np.inf
        return a
    return rng.uniform(-kind, kind, n)


def mean_of(weights, F):
    """The weighted mean of the rows, exact in columns where all weighted rows agree."""
    some = F[weights > 0]
    mean = (weights.astype(np.longdouble) @ F.astype(np.longdouble)).astype(float)
    return np.where(np.ptp(some, axis=0) == 0.0, some[0], mean)


@st.composite
def targets(draw, F, a, where=("inside", "few", "vertex", "near")):
    """b in the hull: inside, a mean of a few rows, a corner, or near a corner."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20), label="seed of b"))
    positive = np.flatnonzero(a > -np.inf)
    kind = draw(st.sampled_from(where), label="target")
    weights = np.zeros(len(F))
    if kind == "inside":
        weights[positive] = rng.dirichlet(np.ones(positive.size)) * 0.9 + 0.1 / positive.size
    elif kind == "few":
        some = rng.permutation(positive)[: rng.integers(1, F.shape[1] + 3)]
        weights[some] = rng.multinomial(2**20 - some.size, np.ones(some.size) / some.size) + 1.0
    else:
        spread = np.where(np.ptp(F, axis=0) > 0.0, np.ptp(F, axis=0), 1.0)
        corner = positive[np.argmax((F[positive] / spread) @ rng.normal(size=F.shape[1]))]
        if kind == "near":
            depth = 10.0 ** -draw(st.integers(1, 8), label="depth")
            weights[positive] = depth / positive.size
            weights[corner] += 1.0 - depth
        else:
            weights[corner] = 1.0
    return mean_of(weights / weights.sum(), F)


@st.composite
def feasible(draw, vicious=True, extreme=False, radii=("zero", "tiny", "moderate", "large"), where=None, **sizes):
    """A feasible problem: the target is inside, on the boundary, or within the radius.

    Not all extreme problems are proven: their units or base weights differ by many orders of magnitude.
    """
    F = draw(features(vicious=vicious, extreme=extreme, **sizes))
    a = draw(log_bases(len(F), vicious=vicious, extreme=extreme))
    b = draw(targets(F, a, where or (("inside", "few", "vertex", "near") if vicious else ("inside",))))
    norm = draw(st.sampled_from(NORMS), label="norm")
    seed = draw(st.integers(0, 2**20), label="seed")
    kind = draw(st.sampled_from(radii), label="radius")
    spread = float(np.linalg.norm(np.ptp(F, axis=0), norm)) or 1.0
    R = {"zero": 0.0, "tiny": 1e-7, "moderate": 0.03, "large": 3.0}[kind] * spread
    if R:
        off = np.random.default_rng(seed).normal(size=F.shape[1])
        moved = b + 0.9 * R * off / np.linalg.norm(off, norm)
        assume(np.linalg.norm(moved - b, norm) <= 0.95 * R)  # a tiny radius may be below the round-off of a column
        b = moved
    return Made(pre.RatioProblem(b, F, a, radius=R, norm=norm), 0.0, seed)


@st.composite
def beyond(draw, factors, vicious=True, **sizes):
    """A target at a known distance from the hull, along a normal at a corner; the radius is a multiple of it."""
    F = draw(features(vicious=vicious, **sizes))
    a = draw(log_bases(len(F), vicious=vicious))
    positive = F[a > -np.inf]
    norm = draw(st.sampled_from(NORMS), label="norm")
    seed = draw(st.integers(0, 2**20), label="seed")
    spread = np.where(np.ptp(positive, axis=0) > 0.0, np.ptp(positive, axis=0), 1.0)
    v = np.random.default_rng(seed).normal(size=F.shape[1]) / spread
    v /= np.linalg.norm(v, DUAL[norm])
    heights = positive @ v
    d = (float(np.ptp(heights)) or 1.0) * 10.0 ** draw(st.integers(-5, 1), label="distance")
    b = positive[np.argmax(heights)] + d * subgradient(v, norm)
    long = v.astype(np.longdouble)
    margin = float((long @ b - (positive.astype(np.longdouble) @ long).max()) / np.linalg.norm(v, DUAL[norm]))
    factor = draw(st.sampled_from(factors), label="factor")
    return Made(pre.RatioProblem(b, F, a, radius=factor * max(margin, 0.0), norm=norm), margin, seed)
