"""verify: enclose the value of an answer and the optimum in ball arithmetic.

A certificate is computed in doubles with bounds on round-off. :func:`verify` checks it by other means: [P] at δ as a
ball, weights that satisfy the constraints of [D] exactly and the ball of their value (:mod:`.balls`), and a better δ
found in high precision (:mod:`.refine`). The first two prove "no answer is better by more than g", the first and the
last "some answer is better by at least g".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.typing import Array, Index
from .._internal.validation import MAX_PARAMETER, as_count, as_vector, check_tol, read_only
from ..errors import DataError, MissingExtraError
from ..feasibility.exposed import limit_problem
from ..problem import RatioProblem, as_problem
from .certificate import Certificate

if TYPE_CHECKING:
    from ..solution import Solution
    from .balls import Balls, Dependencies, Lifted, Rows

__all__ = ["Verification", "verify"]

#: bits of the first attempt; each further one has twice as many
FIRST_BITS = 192
#: limit of Newton steps in each precision
STEPS = 150
#: the enclosure of the gap is tight at this relative width, or at this absolute width relative to 1 + |value|
TIGHT, NEGLIGIBLE = 1e-6, 1e-25


@dataclass(frozen=True, eq=False)
class Verification:
    """What ball arithmetic proves about an answer; :func:`verify` makes it.

    All numbers are rounded outwards, so that each bound holds exactly. Base weights are those that the problem has
    stored, which sum to one up to round-off.

    Attributes
    ----------
    primal : tuple of two floats
        Lower and upper bound of ℓ_R(δ), or of its limit if coefficients run to infinity.
    dual : float
        Lower bound of the optimum, the value of [D] at weights that are exactly feasible; −inf if there are none.
    best : float
        Upper bound of the optimum: value of [P] at a better δ; −inf if the value is unbounded below.
    gap : float
        Upper bound of ℓ_R(δ) − optimum: no answer is better by more than that.
    least_gap : float
        Lower bound of ℓ_R(δ) − optimum: some answer is better by at least that.
    digits : int
        Decimal digits of the arithmetic.
    mu : ndarray of shape (n_q,)
        The weights behind ``dual``, rounded; nan if there are none.

    Examples
    --------
    >>> import pre_convex as pre
    >>> problem = pre.RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> proof = pre.verify(problem, pre.solve(problem))
    >>> proof.proves(1e-12)
    True
    >>> print(pre.verify(problem, [-1.0]))
    value in [-0.129885, -0.129885], optimum in [-0.130812, -0.130812], gap in [0.000926543, 0.000926543], 57 digits
    """

    primal: tuple[float, float]
    dual: float
    best: float
    gap: float
    least_gap: float
    digits: int
    mu: Array = field(repr=False)

    def proves(self, tol: float) -> bool:
        """Whether ``gap ≤ tol · (1 + |value|)``.

        Parameters
        ----------
        tol : float
            Relative tolerance, between 0 and 1.

        Returns
        -------
        bool
        """
        return self.gap <= check_tol(tol) * (1.0 + min(map(abs, self.primal)))

    def refutes(self, certificate: Any) -> bool:
        """Whether the certificate of this δ states something false.

        That is a gap below ``least_gap``, or a negative one. The values themselves depend on how base weights are
        normalised, and are not compared.

        Parameters
        ----------
        certificate : Certificate
            Certificate of the δ that was verified.

        Returns
        -------
        bool
        """
        if not isinstance(certificate, Certificate):
            reason = f"must be a Certificate, not {type(certificate).__name__}"
            raise DataError("certificate", reason, "pass solution.certificate")
        return bool(certificate.gap < self.least_gap or certificate.gap < 0.0)

    def __str__(self) -> str:
        return (
            f"value in [{self.primal[0]:.6g}, {self.primal[1]:.6g}], optimum in [{self.dual:.6g}, {self.best:.6g}], "
            f"gap in [{self.least_gap:.6g}, {self.gap:.6g}], {self.digits} digits"
        )


def verify(
    problem: RatioProblem, solution: Solution | Any, *, target_ulps: int = 0, max_bits: int = 3072
) -> Verification:
    """Enclose the value of an answer and the optimum in ball arithmetic, as a proof that does not rest on doubles.

    It takes some seconds at 100,000 rows, and needs the extra ``verify``. All numbers of the problem count as exact:
    the target, the features, the stored log base weights and the radius.

    Parameters
    ----------
    problem : RatioProblem
        The problem; rows that are read block by block are loaded.
    solution : Solution or array of shape (k,)
        The answer, or its δ. If coefficients run to infinity (``solution.recession``), its value is the limit.
        Answers to problems with the user's own penalty or constraints cannot be verified.
    target_ulps : int, default 0
        Units in the last place up to which the target is known. If columns are linearly dependent, the rounding of the
        target alone makes the problem infeasible, and with 0 the verdict is that its value is unbounded below. With 1,
        bounds of the optimum are those for the most favourable target within one unit in the last place. With a
        positive radius this has no effect.
    max_bits : int, default 3072
        Precision at which to give up, in bits; it is doubled from 192 until the bounds are tight.

    Returns
    -------
    Verification

    Raises
    ------
    DataError
        The solution has no finite δ, or was found with the user's own terms.
    MissingExtraError
        python-flint is not installed.

    Examples
    --------
    >>> import pre_convex as pre
    >>> problem = pre.RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> faked = pre.certify(problem, [-1.0986122886681098])
    >>> pre.verify(problem, [-1.0986]).refutes(faked)
    True
    """
    try:
        import flint
    except ImportError as error:
        raise MissingExtraError("python-flint", "verify") from error
    problem = as_problem(problem)
    problem.require_exponential("verify()")
    problem.require_one_radius("verify()")
    if getattr(solution, "user_terms", False):
        reason = "was found with a penalty or constraints of your own, which ball arithmetic does not know"
        raise DataError("solution", reason, "verify the problem without them")
    delta = as_vector(getattr(solution, "delta", solution), "solution", problem.k, limit=MAX_PARAMETER)
    ulps, max_bits = as_count(target_ulps, "target_ulps", 0), as_count(max_bits, "max_bits", 64)
    problem = limit_problem(problem.in_memory(), getattr(solution, "recession", ()))
    search = _Search(problem, delta, ulps, _weights(solution, problem.n_q))
    bits, found = min(FIRST_BITS, max_bits), None
    while True:
        with flint.ctx.workprec(bits):
            found = search.bounds()
        if found.is_tight or 2 * bits > max_bits:
            return found.verification(problem.n_q)
        bits *= 2


def _weights(solution: Any, n: int) -> Array | None:
    """Weights of a solution, whose zeros suggest a face; ``None`` if there are none."""
    mu = getattr(solution, "mu", None)
    return mu if mu is not None and np.shape(mu) == (n,) and np.all(np.isfinite(mu)) else None


@dataclass(frozen=True)
class _Bounds:
    """Balls of one precision: the value of δ, the dual bound with its weights, the better value (``None`` for −∞)."""

    value: Any
    lifted: Lifted | None
    best: Any | None
    rows: Index
    bits: int

    @property
    def is_tight(self) -> bool:
        """Whether more precision would not help."""
        if self.best is None:
            return True
        if self.lifted is None or not self.value.is_finite():
            return False
        width = float((self.best - self.lifted.value).upper())
        gap = float((self.value - self.lifted.value).upper())
        return width <= max(TIGHT * gap, NEGLIGIBLE * (1.0 + abs(float(self.value.mid()))))

    def verification(self, n: int) -> Verification:
        """The same in doubles, rounded outwards."""
        from .balls import float_above, float_below

        mu = np.full(n, np.nan)
        dual, gap = -math.inf, math.inf
        if self.lifted is not None:
            mu[:] = 0.0
            mu[self.rows] = [float(x.mid()) for x in self.lifted.mu]
            dual, gap = float_below(self.lifted.value), max(float_above(self.value - self.lifted.value), 0.0)
        least = math.inf if self.best is None else max(float_below(self.value - self.best), 0.0)
        return Verification(
            primal=(float_below(self.value), float_above(self.value)),
            dual=dual,
            best=-math.inf if self.best is None else float_above(self.best),
            gap=gap,
            least_gap=least,
            digits=int(self.bits * math.log10(2.0)),
            mu=read_only(mu),
        )


class _Search:
    """Bounds for one answer in rising precision; each attempt starts from the point that the last one found."""

    def __init__(self, problem: RatioProblem, delta: Array, ulps: int, mu: Array | None) -> None:
        self.problem, self.delta, self.mu = problem, delta, mu
        self.positive = problem.positive_rows
        self.features = np.asarray(problem.features_q[self.positive], dtype=float)
        self.base, self.target = problem.log_base[self.positive], problem.target
        exact = problem.radius == 0.0
        # zero is exact
        self.error = ulps * np.where(self.target == 0.0, 0.0, np.spacing(np.abs(self.target))) * exact
        self.rounds: list[tuple[Index, Array]] = []
        self.infeasible = False
        self.inside = np.arange(self.positive.size)
        if exact:
            self._expose(self.error == 0.0)
        self.points: dict[bytes, Balls] = {}
        self.relations: dict[bytes, Dependencies] = {}

    def _expose(self, columns: Array) -> None:
        """Facial reduction: if the target is at the end of a column's range, only rows at that end can have weight."""
        while self.inside.size:
            low, high = self.features[self.inside].min(axis=0), self.features[self.inside].max(axis=0)
            if np.any(columns & ((self.target < low) | (self.target > high))):
                break
            ends = columns & (low < high) & ((self.target == low) | (self.target == high))
            if not ends.any():
                return
            on = np.all(self.features[self.inside][:, ends] == self.target[ends], axis=1)
            self.rounds.append((self.inside[~on], np.where(ends, np.where(self.target == low, -1.0, 1.0), 0.0)))
            self.inside = self.inside[on]
        self.infeasible = True

    def bounds(self) -> _Bounds:
        """Bounds in the current precision."""
        from flint import arb

        from .ball_penalties import make_ball_penalty
        from .balls import Rows, precision

        rows = Rows(self.features, self.base, self.target)
        start = [arb(x) for x in self.delta.tolist()]
        own = make_ball_penalty(self.problem, np.zeros(self.problem.k))
        value = rows.loss(start) + own.value(start)
        if self.infeasible:
            return _Bounds(value, None, None, self.positive, precision())
        penalty = make_ball_penalty(self.problem, self.error)
        best, lifted, on = value + penalty.value(start) - own.value(start), None, self.inside
        for index in self._faces(rows):
            if self._off_span(penalty, index):
                if index is self.inside:
                    return _Bounds(value, None, None, self.positive, precision())
                continue
            point, candidate = self._on_face(rows, penalty, start, index)
            if _separates(rows, penalty, point):
                return _Bounds(value, None, None, self.positive, precision())
            trial = rows.loss(point) + penalty.value(point)
            best = trial if trial.is_finite() and trial.mid() < best.mid() else best
            if candidate is not None and (lifted is None or candidate.value.mid() > lifted.value.mid()):
                lifted, on = candidate, index
            if lifted is not None:
                break
        return _Bounds(value, lifted, best, self.positive[on], precision())

    def _faces(self, rows: Rows) -> Any:
        """Index sets to try: rows that exposed columns leave, rows with weight in the answer, rows with weight here."""
        yield self.inside
        if self.mu is not None:
            index = np.flatnonzero(self.mu[self.positive] > 0.0)
            if 0 < index.size < self.inside.size:
                yield index
        z = np.array([float(x.mid()) for x in rows.take(self.inside).logits(self.points[self.inside.tobytes()])])
        z = np.clip(z, -MAX_PARAMETER, MAX_PARAMETER)
        order = np.argsort(z)[::-1]
        falls = -np.diff(z[order])
        if falls.size and falls.max() > 30.0:
            yield np.sort(self.inside[order[: int(np.argmax(falls)) + 1]])

    def _on_face(self, rows: Rows, penalty: Any, start: Balls, index: Index) -> tuple[Balls, Lifted | None]:
        """A point that minimises over these rows, moved to where the other rows have no weight; and weights on them."""
        from flint import arb

        from .refine import refine

        key = index.tobytes()
        here = rows if index.size == self.positive.size else rows.take(index)
        # far out on a diverging sequence one row has all weight and Newton steps are short: zero is the second start
        for begin in (self.points.get(key, start), [arb(0)] * self.problem.k):
            point, residual = refine(here, penalty, begin, STEPS)
            lifted = self._lift(here, penalty, point, residual, index)
            if lifted is not None:
                break
        self.points[key] = point
        return (self._suppress(rows, point) if index is self.inside else point), lifted

    def _off_span(self, penalty: Any, index: Index) -> bool:
        """Whether the target has to be met exactly, but is off the affine span of these rows."""
        from .balls import dependencies

        key = index.tobytes()
        if key not in self.relations:
            self.relations[key] = dependencies(self.features[index], self.target)
        return bool(penalty.exact and not self.relations[key].meet_target)

    def _lift(self, here: Rows, penalty: Any, point: Balls, residual: Balls, index: Index) -> Lifted | None:
        """Feasible weights on these rows, for the columns that determine the others."""
        relations, centre = self.relations[index.tobytes()], None
        if len(relations.kept) < self.problem.k:
            centre = relations.shortest_residual(self.error)
            if centre is None:
                return None
        return here.lift(point, penalty.inside(residual, point, centre), penalty, relations.kept)

    def _suppress(self, rows: Rows, point: Balls) -> Balls:
        """Move along the exposing directions until rows off the face have no weight, the last direction first."""
        from flint import arb

        from .balls import precision

        for gone, direction in reversed(self.rounds):
            v = [arb(x) for x in direction.tolist()]
            z, along = rows.logits(point), rows.take(gone).along(v)
            top = max(z[j].mid() for j in self.inside.tolist())
            need = [((z[j] - top + precision()) / -x).mid() for j, x in zip(gone.tolist(), along, strict=True)]
            far = max(max(need), arb(0))
            point = [(x + far * y).mid() for x, y in zip(point, v, strict=True)]
        return point


def _separates(rows: Rows, penalty: Any, point: Balls) -> bool:
    """Whether the value provably falls without end along the point itself."""
    value = penalty.value(point)
    return all(x + value < 0 for x in rows.along(point))
