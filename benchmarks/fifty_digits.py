"""The objective of [P] and its minimum in 50 digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np

import pre_convex as pre

mp.mp.dps = 50


def value_of(problem: pre.RatioProblem, delta: np.ndarray) -> mp.mpf:
    """Value at a δ given in double or extended precision, without rounding δ."""
    return _value(*_rows(problem), _exact(delta), problem)


def lowest(problem: pre.RatioProblem, delta: np.ndarray, steps: int = 6) -> tuple[np.ndarray, mp.mpf]:
    """Minimiser and minimum, by Newton steps in 50 digits; with a radius, δ itself and its value."""
    a, G = _rows(problem)
    point = _exact(delta)
    best = _value(a, G, point, problem)
    if problem.radius > 0.0:
        return delta, best
    k = len(point)
    for _ in range(steps):
        w = _weights(a, G, point)
        mean = [mp.fsum(w[j] * G[j][i] for j in range(len(w))) for i in range(k)]
        H = mp.matrix(k, k)
        for i in range(k):
            for h in range(i + 1):
                H[i, h] = H[h, i] = mp.fsum(w[j] * (G[j][i] - mean[i]) * (G[j][h] - mean[h]) for j in range(len(w)))
        for i in range(k):  # H is singular if columns are collinear
            H[i, i] = H[i, i] * (1 + mp.mpf(10) ** -30) + mp.mpf(10) ** -300
        try:
            d = mp.lu_solve(H, -mp.matrix(mean))
        except ZeroDivisionError:
            break
        trial = [x + y for x, y in zip(point, d, strict=True)]
        value = _value(a, G, trial, problem)
        if not value < best:
            break
        point, best = trial, value
    return np.array([float(x) for x in point]), best


def _exact(x: np.ndarray) -> list[mp.mpf]:
    """Convert without rounding; a number in extended precision is a sum of two doubles."""
    high = [float(v) for v in x]
    low = [float(v - h) for v, h in zip(x, high, strict=True)]
    return [mp.mpf(h) + mp.mpf(s) for h, s in zip(high, low, strict=True)]


def _rows(problem: pre.RatioProblem) -> tuple[list[mp.mpf], list[list[mp.mpf]]]:
    """Log base weights, and features minus target, of the rows with positive weight."""
    b = [mp.mpf(float(v)) for v in problem.target]
    positive = np.flatnonzero(problem.log_base > -np.inf)
    a = [mp.mpf(float(problem.log_base[j])) for j in positive]
    return a, [[mp.mpf(float(f)) - t for f, t in zip(problem.features_q[j], b, strict=True)] for j in positive]


def _logits(a: list[mp.mpf], G: list[list[mp.mpf]], point: list[mp.mpf]) -> list[mp.mpf]:
    return [x + mp.fdot(row, point) for x, row in zip(a, G, strict=True)]


def _weights(a: list[mp.mpf], G: list[list[mp.mpf]], point: list[mp.mpf]) -> list[mp.mpf]:
    z = _logits(a, G, point)
    top = max(z)
    w = [mp.exp(x - top) for x in z]
    total = mp.fsum(w)
    return [x / total for x in w]


def _value(a: list[mp.mpf], G: list[list[mp.mpf]], point: list[mp.mpf], problem: pre.RatioProblem) -> mp.mpf:
    z = _logits(a, G, point)
    top = max(z)
    size = [abs(x) for x in point]
    norm = mp.norm(point) if problem.norm == 2.0 else mp.fsum(size) if problem.norm == np.inf else max(size)
    return top + mp.log(mp.fsum(mp.exp(x - top) for x in z)) + mp.mpf(problem.radius) * norm
