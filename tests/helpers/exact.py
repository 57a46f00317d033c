"""Independent implementation of the mathematics in mpmath at 50 digits, without any code of the package.

The float64 numbers of a problem are taken as exact, so that results are true of exactly the problem the package solved.
Equal rows are counted, not repeated, so that a large problem with few distinct rows is small here.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np

mp = mpmath.mp.clone()
mp.dps = 50
mpf = mp.mpf


def norm_of(x, order):
    """‖x‖ of order 1, 2 or inf."""
    if order == 2:
        return mp.sqrt(mp.fsum(v * v for v in x))
    return max(abs(v) for v in x) if order == np.inf else mp.fsum(abs(v) for v in x)


def dual_order(order):
    """Order of the dual norm."""
    return {2: 2, np.inf: 1, 1: np.inf}[order]


def dot(x, y):
    """⟨x, y⟩."""
    return mp.fdot(zip(x, y, strict=True))


def numbers(x):
    """The numbers as mpf, converted exactly."""
    return [mpf(v) for v in (x.tolist() if isinstance(x, np.ndarray) else x)]


class Exact:
    """A problem in 50 digits: target b, rows F, log base weights a, radius and norm."""

    def __init__(self, target, features, log_base, radius=0.0, norm=2):
        self.b, self.R, self.norm = numbers(target), mpf(radius), norm
        features, log_base = np.asarray(features, dtype=float), np.asarray(log_base, dtype=float)
        positive = np.flatnonzero(log_base > -np.inf)
        table = np.column_stack([features, log_base])[positive]
        seen: dict[bytes, int] = {}
        where = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in table])
        self.of_row = np.full(len(features), -1)
        self.of_row[positive] = where
        self.counts = np.bincount(where).tolist()
        rows = table[np.unique(where, return_index=True)[1]]
        self.F, self.a = [numbers(row) for row in rows[:, :-1]], numbers(rows[:, -1])

    @classmethod
    def of(cls, problem):
        """From a RatioProblem."""
        return cls(problem.target, problem.features_q, problem.log_base, problem.radius, problem.norm)

    def tilt(self, delta):
        """(log Z, μ of every distinct row, their mean) at δ."""
        z = [a + dot(f, delta) for f, a in zip(self.F, self.a, strict=True)]
        top = max(z)
        w = [count * mp.exp(v - top) for v, count in zip(z, self.counts, strict=True)]
        total = mp.fsum(w)
        mu = [v / total for v in w]
        return top + mp.log(total), mu, self.mean(mu)

    def mean(self, mu):
        """Σ μ_j F_j over the distinct rows."""
        return [dot(mu, column) for column in zip(*self.F, strict=True)]

    def value(self, delta):
        """ℓ_R(δ) of [P]."""
        delta = numbers(delta)
        return self.tilt(delta)[0] - dot(self.b, delta) + self.R * norm_of(delta, dual_order(self.norm))

    def weights(self, mu):
        """Weights of the distinct rows from weights of all rows, clipped at zero and scaled to sum to one."""
        mu = np.maximum(mu, 0.0)
        assert not mu[self.of_row < 0].any()  # rows of zero base weight
        if len(mu) > 1000:  # exact sums, each rounded once
            total = [mpf(math.fsum(mu[self.of_row == j])) for j in range(len(self.F))]
        else:
            total = [mpf(0)] * len(self.F)
            for weight, j in zip(mu.tolist(), self.of_row.tolist(), strict=True):
                total[j] += mpf(weight)
        whole = mp.fsum(total)
        return [m / whole for m in total]

    def dual_value(self, mu):
        """Σ −μ log μ + μ a of [D]; equal rows share their weight evenly, which is optimal."""
        terms = zip(self.weights(mu), self.a, self.counts, strict=True)
        return mp.fsum(m * (a - mp.log(m / count)) for m, a, count in terms if m > 0)

    def residual(self, mu):
        """b − F'μ for weights of all rows."""
        return [b - m for b, m in zip(self.b, self.mean(self.weights(mu)), strict=True)]

    def optimum(self, start, steps=30):
        """δ near ``start`` that solves the optimality conditions for its active set, by Newton's method.

        There δ = B z and ‖δ‖_* = ⟨c, z⟩; for norm 2 there is no active set, and the penalty is curved.
        """
        start = np.asarray(start, dtype=float)
        if not start.any():
            return numbers(start)
        B, c = active_set(start, self.norm if self.R else 2)
        z = numbers(np.linalg.lstsq(B, start, rcond=None)[0])
        B = [numbers(row) for row in B]
        last = None
        for _ in range(steps):
            delta = [dot(row, z) for row in B]
            _, mu, m = self.tilt(delta)
            k, gradient = len(m), [x - b for x, b in zip(m, self.b, strict=True)]
            G = [[x - y for x, y in zip(f, m, strict=True)] for f in self.F]
            H = mp.matrix(k, k)
            for i in range(k):
                for j in range(i + 1):
                    H[i, j] = H[j, i] = mp.fsum(w * g[i] * g[j] for w, g in zip(mu, G, strict=True))
            if self.R and self.norm == 2 and any(delta):
                length = norm_of(delta, 2)
                gradient = [x + self.R * d / length for x, d in zip(gradient, delta, strict=True)]
                for i in range(k):
                    for j in range(k):
                        H[i, j] += self.R * ((i == j) - delta[i] * delta[j] / length**2) / length
            Bt = list(zip(*B, strict=True))
            pull = mp.matrix([dot(col, gradient) + self.R * mpf(x) for col, x in zip(Bt, c.tolist(), strict=True)])
            size = max(abs(x) for x in pull)
            if last is not None and size >= last / 10:  # only round-off is left
                break
            last = size
            P = mp.matrix(B)
            z = [x - y for x, y in zip(z, mp.lu_solve(P.T * H * P, pull), strict=True)]
        return delta

    def kkt(self, delta):
        """Violation of the optimality conditions ‖b − m‖ ≤ R and ⟨b − m, δ⟩ = R‖δ‖_*."""
        r = [b - m for b, m in zip(self.b, self.tilt(delta)[2], strict=True)]
        size = norm_of(delta, dual_order(self.norm))
        return max(norm_of(r, self.norm) - self.R, abs(self.R * size - dot(r, delta)))

    def separation(self, v):
        """⟨v,b⟩ − max_j ⟨v,F_j⟩ for v scaled to unit dual norm, a lower bound of the distance."""
        v = numbers(v)
        return (dot(v, self.b) - max(dot(v, f) for f in self.F)) / norm_of(v, dual_order(self.norm))


def active_set(delta, norm):
    """(B, c) with δ = B z and ‖δ‖_* = ⟨c, z⟩ for all δ with the same active set; c is zero for norm 2."""
    k = delta.size
    if norm == 2:
        return np.eye(k), np.zeros(k)
    if norm == np.inf:
        support = np.flatnonzero(delta)
        return np.eye(k)[:, support], np.sign(delta[support])
    tied = np.abs(delta) == np.abs(delta).max()
    free = np.flatnonzero(~tied)
    B = np.column_stack([np.where(tied, np.sign(delta), 0.0), np.eye(k)[:, free]])
    return B, np.append(1.0, np.zeros(free.size))
