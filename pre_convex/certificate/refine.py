"""Minimise [P] in high precision: Newton steps on the manifolds of the penalty.

Nothing here needs to be rigorous: :mod:`.verify` evaluates the result in ball arithmetic.
"""

from __future__ import annotations

from typing import Any

from flint import arb, arb_mat

from .ball_penalties import BallPenalty
from .balls import Balls, Rows, column, dot, precision

__all__ = ["refine"]

#: shares of a step that the line search tries, each half of the one before
HALVINGS = 60


def refine(rows: Rows, penalty: BallPenalty, delta: Balls, steps: int) -> tuple[Balls, Balls]:
    """A point close to the minimiser, and its residual b − F'μ(δ); both are exact numbers.

    Parameters
    ----------
    rows : Rows
        Rows to sum over; their radii are ignored.
    penalty : BallPenalty
        g(δ).
    delta : list of arb
        Where to start.
    steps : int
        Limit of Newton steps.
    """
    rows = rows.midpoints
    k = rows.shape[1]
    negligible = arb(2) ** -(precision() - 24)
    point, settled = [x.mid() for x in delta], False
    mean, H, loss = _moments(rows, point)
    entered = penalty.enter(point, [-x for x in mean])
    if entered is None:
        return point, [-x for x in mean]
    point = entered
    mean, H, loss = _moments(rows, point)
    for _ in range(steps):
        if settled:
            if not penalty.release(point, [-x for x in mean]):
                break
            settled = False
        B = penalty.basis(k)
        if B.ncols() == 0:
            settled = True
            continue
        slope, curvature = penalty.model(point, B)
        gradient = [x + y for x, y in zip((B.transpose() * column(mean)).entries(), slope, strict=True)]
        reduced = B.transpose() * H * B
        direction = _solve(reduced if curvature is None else reduced + B.transpose() * curvature * B, gradient)
        if direction is None:
            break
        step = [x.mid() for x in (B * column(direction)).entries()]
        descent = dot(gradient, direction).mid()
        value = (loss + penalty.value(point)).mid()
        longest, wall = penalty.longest(point, step)
        if -descent <= negligible * (1 + abs(value)):  # beyond the digits of the value: the last step of this manifold
            point = [(x + longest * d).mid() for x, d in zip(point, step, strict=True)]
            settled = wall is None
        else:
            share, point = _search(rows, penalty, point, step, value, descent, longest)
            if share == 0:
                settled, wall = True, None
            elif share != longest:
                wall = None
        if wall is not None:
            point = penalty.leave(point, wall)
            if all(x == 0 for x in point) and not penalty.exact:
                mean, H, loss = _moments(rows, point)
                restarted = penalty.enter(point, [-x for x in mean])
                if restarted is None:
                    break
                point = restarted
        mean, H, loss = _moments(rows, point)
    return point, [-x for x in mean]


def _moments(rows: Rows, delta: Balls) -> tuple[Balls, Any, Any]:
    """Mean and covariance of F − b under the tilted weights, and the loss."""
    z = [x.mid() for x in rows.logits(delta)]
    top = max(z)
    w = [(x - top).exp().mid() for x in z]
    total = sum(w, arb(0)).mid()
    mean = [(x / total).mid() for x in rows.sums(w)]
    second, k = rows.scatter(w), len(mean)
    H = arb_mat([[(second[i, h] / total - mean[i] * mean[h]).mid() for h in range(k)] for i in range(k)])
    return mean, H, (top + total.log()).mid()


def _solve(H: Any, gradient: Balls) -> Balls | None:
    """Newton direction; a relative ridge of half the precision keeps a singular matrix solvable."""
    size = H.nrows()
    ridge = arb(2) ** -(precision() // 2)
    scale = [(1 / H[i, i].sqrt()).mid() if H[i, i] > 0 else arb(1) for i in range(size)]
    scaled = arb_mat([[(H[i, j] * scale[i] * scale[j]).mid() for j in range(size)] for i in range(size)])
    for i in range(size):
        scaled[i, i] = scaled[i, i] + ridge if H[i, i] > 0 else arb(1)
    try:
        x = scaled.solve(column([-g.mid() * s for g, s in zip(gradient, scale, strict=True)]), algorithm="approx")
    except ZeroDivisionError:
        return None
    found = [(y * s).mid() for y, s in zip(x.entries(), scale, strict=True)]
    return found if all(y.is_finite() for y in found) else None


def _search(
    rows: Rows, penalty: BallPenalty, point: Balls, step: Balls, value: Any, descent: Any, longest: Any
) -> tuple[Any, Balls]:
    """(share, new point) by halving the share of the step until the value falls enough; share 0 if it never does."""
    z, along = rows.logits(point), rows.along(step)
    spread = max(x.mid() for x in z) - min(x.mid() for x in z)
    move = max(x.mid() for x in along) - min(x.mid() for x in along)
    share = longest
    if move * share > 20 + 2 * spread:  # beyond that the value is linear, and a longer step only overflows the model
        share = ((20 + 2 * spread) / move).mid()
    for _ in range(HALVINGS):
        trial = [(x + share * d).mid() for x, d in zip(point, step, strict=True)]
        top = max((x + share * y).mid() for x, y in zip(z, along, strict=True))
        loss = top + sum(((x + share * y - top).exp() for x, y in zip(z, along, strict=True)), arb(0)).log()
        if (loss + penalty.value(trial)).mid() < value + share * descent * arb(2) ** -14:
            return share, trial
        share = share / 2
    return arb(0), point
