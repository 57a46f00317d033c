"""Ball arithmetic: [P] and [D] as intervals that provably contain the exact values, by python-flint.

All numbers of a problem are doubles, hence exact. A ball is a midpoint and a radius; every operation returns a ball
that contains the exact result for all numbers in its operands. :class:`Rows` holds the rows relative to the target in
the current precision (``flint.ctx.prec``), and :meth:`Rows.lift` is the only source of dual bounds: weights

    μ'_j = w_j (1 + ⟨A_j, d⟩),   A_j = [1, F_j − b],   Σ_j w_j A_j A_j' d = [1, −r'] − Σ_j w_j A_j,

sum to one and leave exactly the residual r', because d is the exact solution of that system, which lies in the ball
that the solver of linear systems returns. Any w_j = exp(a_j + ⟨δ, F_j − b⟩ − c) will do for the proof; δ decides only
how tight it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import flint
import numpy as np
from flint import arb, arb_mat, fmpz_mat

from .._internal.typing import Array, Index

if TYPE_CHECKING:
    from .ball_penalties import BallPenalty

__all__ = ["Lifted", "Rows", "column", "dependencies", "dot", "float_above", "float_below", "precision"]

Balls = list[Any]


def precision() -> int:
    """Bits of a midpoint."""
    return int(flint.ctx.prec)


def float_above(x: Any) -> float:
    """A double that is at least every number in the ball x."""
    return math.inf if not x.is_finite() else math.nextafter(float(x.upper()), math.inf)


def float_below(x: Any) -> float:
    """A double that is at most every number in the ball x."""
    return -math.inf if not x.is_finite() else math.nextafter(float(x.lower()), -math.inf)


def dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    """⟨x, y⟩."""
    return sum((u * v for u, v in zip(x, y, strict=True)), arb(0))


def column(x: Sequence[Any]) -> Any:
    """A matrix of one column."""
    return arb_mat(len(x), 1, list(x))


def _midpoints(matrix: Any) -> Any:
    return arb_mat(matrix.nrows(), matrix.ncols(), [x.mid() for x in matrix.entries()])


@dataclass(frozen=True)
class Lifted:
    """Weights that are feasible for [D], and the ball of their value."""

    mu: Balls
    value: Any


class Rows:
    """Rows of a problem relative to its target, in balls of the current precision.

    Parameters
    ----------
    features : ndarray of shape (n, k)
        F, as doubles.
    log_base : ndarray of shape (n,)
        a, finite.
    target : ndarray of shape (k,)
        b.
    """

    def __init__(self, features: Array, log_base: Array, target: Array) -> None:
        b = [arb(x) for x in target.tolist()]
        self.base = [arb(x) for x in log_base.tolist()]
        self.shape = (len(self.base), len(b))
        entries = [arb(x) - t for row in features.tolist() for x, t in zip(row, b, strict=True)]
        self.matrix = arb_mat(*self.shape, entries)

    @classmethod
    def _made(cls, matrix: Any, base: Balls) -> Rows:
        rows = cls.__new__(cls)
        rows.matrix, rows.base, rows.shape = matrix, base, (matrix.nrows(), matrix.ncols())
        return rows

    def take(self, index: Index) -> Rows:
        """Some of the rows."""
        table = self.lists
        chosen = [x for j in index.tolist() for x in table[j]]
        return self._made(arb_mat(index.size, self.shape[1], chosen), [self.base[j] for j in index.tolist()])

    @cached_property
    def midpoints(self) -> Rows:
        """The same rows without their radii, for arithmetic that need not be rigorous."""
        return self._made(_midpoints(self.matrix), [x.mid() for x in self.base])

    @cached_property
    def lists(self) -> list[Balls]:
        """One list for each row."""
        entries, k = self.matrix.entries(), self.shape[1]
        return [entries[j * k : (j + 1) * k] for j in range(self.shape[0])]

    def along(self, delta: Balls) -> Balls:
        """⟨δ, F_j − b⟩ of every row."""
        return list((self.matrix * column(delta)).entries()) if delta else [arb(0)] * self.shape[0]

    def logits(self, delta: Balls) -> Balls:
        """a_j + ⟨δ, F_j − b⟩."""
        return [a + x for a, x in zip(self.base, self.along(delta), strict=True)]

    def loss(self, delta: Balls) -> Any:
        """Log Σ_j exp(a_j + ⟨δ, F_j − b⟩), the objective of [P] without its penalty."""
        z = self.logits(delta)
        top = max(x.mid() for x in z)
        return top + sum(((x - top).exp() for x in z), arb(0)).log()

    def sums(self, weights: Balls) -> Balls:
        """Σ_j w_j (F_j − b)."""
        return list((arb_mat(1, self.shape[0], weights) * self.matrix).entries())

    def scatter(self, weights: Balls) -> Any:
        """Σ_j w_j (F_j − b)(F_j − b)'."""
        scaled = arb_mat(*self.shape, [w * x for w, row in zip(weights, self.lists, strict=True) for x in row])
        return scaled.transpose() * self.matrix

    def lift(self, delta: Balls, residual: Balls, penalty: BallPenalty, kept: Sequence[int]) -> Lifted | None:
        """Weights that leave this residual in the kept columns, which must be linearly independent; ``None`` if none.

        The residual of other columns is computed and must be in the ball of the penalty, unless its radius is zero:
        then :func:`dependencies` has shown that they follow the kept ones.
        """
        z = self.logits(delta)
        top = max(x.mid() for x in z)
        shift = (top + sum(((x - top).exp() for x in z), arb(0)).log()).mid()
        w = [(x - shift).exp() for x in z]
        total, sums = sum(w, arb(0)), self.sums(w)
        scatter = self.scatter(w).tolist()
        M = arb_mat([[total, *(sums[i] for i in kept)], *([sums[i], *(scatter[i][h] for h in kept)] for i in kept)])
        wanted = column([1 - total, *(-residual[i] - sums[i] for i in kept)])
        try:
            d = M.solve(wanted).entries()
        except ZeroDivisionError:  # not provably regular in this precision
            return None
        full = [arb(0)] * self.shape[1]
        for i, x in zip(kept, d[1:], strict=True):
            full[i] = x
        c = [d[0] + x for x in self.along(full)]
        if not all(x > -1 for x in c):
            return None
        mu = [u * (1 + x) for u, x in zip(w, c, strict=True)]
        left = residual
        if len(kept) < self.shape[1] and not penalty.exact:
            computed = [-x for x in self.sums(mu)]
            left = [residual[i] if i in kept else computed[i] for i in range(self.shape[1])]
        if not penalty.contains(left):
            return None
        # log μ'_j = a_j + ⟨δ, F_j − b⟩ − c + log(1 + ⟨A_j, d⟩), Σμ' = 1 and Σ μ'_j (F_j − b) = −r'
        value = shift + dot(delta, left) - dot(mu, [x.log1p() for x in c])
        return Lifted(mu, value) if value.is_finite() else None


@dataclass(frozen=True)
class Dependencies:
    """Linear relations between columns: every row has ⟨v, F_j − b⟩ = v_0 for the columns v of ``vectors``.

    ``kept`` are columns that are linearly independent together with a column of ones, and determine the others.
    """

    kept: tuple[int, ...]
    vectors: Any
    constants: Any

    @property
    def meet_target(self) -> bool:
        """Whether the target itself satisfies all relations."""
        return all(x == 0 for x in self.constants.entries())

    def shortest_residual(self, scale: Array) -> Balls | None:
        """A residual r that satisfies all relations ⟨v, r⟩ = −v_0: the shortest in units of ``scale``, or as it is.

        ``None`` if it takes a higher precision.
        """
        smallest = arb(2) ** -2200  # in place of zero, to keep the system regular
        units = [arb(x) ** 2 if x > 0.0 else smallest for x in (scale if scale.any() else scale + 1.0).tolist()]
        V = arb_mat(self.vectors)
        scaled = arb_mat([[u * x for x in row] for u, row in zip(units, V.tolist(), strict=True)])
        try:
            y = (V.transpose() * scaled).solve(-arb_mat(self.constants).transpose())
        except ZeroDivisionError:
            return None
        return [x.mid() for x in (scaled * y).entries()]


def _integers(features: Array, target: Array) -> tuple[Any, list[int]]:
    """[F − b, 1] as integers, each column times a power of two, and these powers."""
    columns, shifts = [], []
    for x, t in zip(features.T.tolist(), target.tolist(), strict=True):
        ratios = [v.as_integer_ratio() for v in (*x, t)]
        shift = max(denominator.bit_length() - 1 for _, denominator in ratios)
        whole = [numerator << (shift - denominator.bit_length() + 1) for numerator, denominator in ratios]
        columns.append([v - whole[-1] for v in whole[:-1]])
        shifts.append(shift)
    columns.append([1] * len(features))
    return fmpz_mat(columns).transpose(), shifts


def dependencies(features: Array, target: Array) -> Dependencies:
    """Exact linear relations between the columns of F − b and a column of ones, by arithmetic of integers."""
    n, k = features.shape
    chosen = np.random.default_rng(0).permutation(n)[: 4 * (k + 1)]
    null, nullity = _integers(features[chosen], target)[0].nullspace()
    if nullity == 0:
        return Dependencies(tuple(range(k)), fmpz_mat(k, 0), fmpz_mat(1, 0))
    table, shifts = _integers(features, target)
    rows, used = table.tolist(), chosen.tolist()
    while True:  # relations of some rows, until all rows satisfy them
        null, nullity = fmpz_mat([rows[j] for j in used]).nullspace()
        if nullity == 0:
            return Dependencies(tuple(range(k)), fmpz_mat(k, 0), fmpz_mat(1, 0))
        basis = fmpz_mat([row[:nullity] for row in null.tolist()])
        broken = [j for j, row in enumerate((table * basis).tolist()) if any(x != 0 for x in row)]
        if not broken:
            break
        used += broken[: 4 * (k + 1)]
    reduced, _, rank = basis.transpose().rref()
    pivots = {next(i for i, x in enumerate(line) if x != 0) for line in reduced.tolist()[:rank]}
    basis_rows = basis.tolist()
    # a relation of scaled columns is one of columns whose coefficients carry the scale
    vectors = fmpz_mat([[x << shifts[i] for x in basis_rows[i]] for i in range(k)])
    constants = fmpz_mat([[-x for x in basis_rows[k]]])
    return Dependencies(tuple(i for i in range(k) if i not in pivots), vectors, constants)
