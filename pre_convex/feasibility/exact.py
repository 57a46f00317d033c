"""Whether weights can match some features, decided in exact fractions: the simplex method, without round-off.

The numbers of a problem are taken as they are stored. Meant for problems of up to a few hundred rows.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..problem import RatioProblem

__all__ = ["exactly_matchable"]


def exactly_matchable(problem: RatioProblem, columns: tuple[int, ...]) -> bool:
    """Whether some weights within the bounds have |b − F'μ|_i ≤ R_i for all these features, in exact fractions.

    Parameters
    ----------
    problem : RatioProblem
        Its radius is zero, one for each feature, or one in norm inf.
    columns : tuple of int
        Numbers of features.

    Examples
    --------
    >>> problem = RatioProblem([0.8, 0.7], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> exactly_matchable(problem, (0,)), exactly_matchable(problem, (0, 1))
    (True, False)
    """
    rows = problem.positive_rows
    base = [Fraction(x) for x in np.exp(problem.log_base[rows]).tolist()]
    total = sum(base)
    lower, upper = (np.broadcast_to(x, problem.n_q)[rows].tolist() for x in problem.bounds)
    low = [Fraction(x) * w / total for x, w in zip(lower, base, strict=True)]
    room: list[Fraction | None] = [
        None if x == np.inf else Fraction(x) * w / total - least for x, w, least in zip(upper, base, low, strict=True)
    ]
    radius = np.broadcast_to(problem.radius, problem.k).tolist()
    equations, sides = [[Fraction(1)] * len(rows)], [1 - sum(low, Fraction(0))]
    for i in columns:
        b = Fraction(float(problem.target[i]))
        f = [Fraction(x) - b for x in problem.features_q[rows, i].tolist()]
        equations.append(f)
        sides.append(-sum((x * w for x, w in zip(f, low, strict=True)), Fraction(0)))
    for position, i in enumerate(columns, start=1):
        if radius[i] > 0.0:  # one more variable between 0 and 2 R_i
            for number, equation in enumerate(equations):
                equation.append(Fraction(int(number == position)))
            sides[position] += Fraction(radius[i])
            room.append(2 * Fraction(radius[i]))
    return _has_solution(equations, sides, room)


def _has_solution(A: list[list[Fraction]], c: list[Fraction], room: list[Fraction | None]) -> bool:
    """Whether A x = c for some 0 ≤ x ≤ room, where ``None`` stands for no limit.

    The first phase of the simplex method: x = 0 and artificial variables that make up for c, whose sum is lowered as
    far as it goes, by Bland's rule, which cannot cycle. A variable at its limit is counted from there.
    """
    T = [row[:] if side >= 0 else [-x for x in row] for row, side in zip(A, c, strict=True)]
    c, n = [abs(side) for side in c], len(room)
    basis = list(range(n, n + len(T)))  # numbers from n on are artificial variables, which never come back
    missing, price = sum(c), [sum(column) for column in zip(*T, strict=True)]
    while missing > 0:
        entering = next((j for j in range(n) if price[j] > 0 and room[j] != 0), None)
        if entering is None:
            return False
        step, leaving, at_limit = room[entering], -1, False
        for i, row in enumerate(T):
            slope, most = row[entering], room[basis[i]] if basis[i] < n else None
            if slope > 0:
                reach, top = c[i] / slope, False
            elif slope < 0 and most is not None:
                reach, top = (c[i] - most) / slope, True
            else:
                continue
            if step is None or reach < step or (reach == step and leaving >= 0 and basis[i] < basis[leaving]):
                step, leaving, at_limit = reach, i, top
        assert step is not None  # a sum of non-negative numbers does not fall for ever
        missing -= price[entering] * step
        c = [x - row[entering] * step for x, row in zip(c, T, strict=True)]
        if leaving < 0:  # from one of its bounds to the other
            for row in (*T, price):
                row[entering] = -row[entering]
            continue
        if at_limit:
            T[leaving] = [x if j == basis[leaving] else -x for j, x in enumerate(T[leaving])]
        pivot = T[leaving][entering]
        new = T[leaving] = [x / pivot for x in T[leaving]]
        basis[leaving], c[leaving] = entering, step
        for i, row in enumerate(T):
            if i != leaving and row[entering]:
                T[i] = [x - row[entering] * y if y else x for x, y in zip(row, new, strict=True)]
        price = [x - price[entering] * y if y else x for x, y in zip(price, new, strict=True)]
    return True
