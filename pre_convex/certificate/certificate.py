"""The duality-gap certificate: numbers that prove an answer, recomputed from (δ, μ) in original variables.

A solver's own claim of optimality is ignored. For weights μ(δ) tilted by any δ, [LINK] gives the identity

    ℓ(δ) + g(δ) − (D(μ') − g*(r')) = g(δ) + g*(r') − ⟨r', δ⟩ + KL(μ' ‖ μ(δ)),      r' = b − F'μ',

for every μ' on the simplex, where g is the penalty (R‖δ‖_*, whose conjugate g* is the indicator of the ball
of radius R). Both parts on the right are non-negative, so the gap is a sum of small terms, not a difference of
large ones. The point μ' comes from the linear correction [LIFT]

    μ'_j = μ_j (1 + ⟨F_j − m, d⟩),  j in S,     d = H_S⁻¹ u,

which keeps Σμ' = 1 and moves F'μ by exactly u as long as μ' ≥ 0. S is the set of all rows or any subset of them, m
and H_S are the mean and scatter of F over S under μ; the bound from a subset is as rigorous, only less tight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._internal.entropy import safe_log
from .._internal.linear_algebra import EPS
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import MAX_ENTRY, MAX_PARAMETER, as_vector, check_tol
from ..data.passes import Summary, tilt
from ..data.requests import ALL, Alone, Requests, Sizes, Tilt
from ..errors import DataError
from ..logistic import LogisticProblem
from ..penalties import BallPenalty, Penalty, Trial, make_penalty
from ..problem import RatioProblem, as_problem
from .extended import precise_value
from .lift import Arithmetic, Lifted, RoundOff, lift, lift_in_own_coordinates
from .mixture import mix

__all__ = [
    "NO_PROOF",
    "SMALL_GAP",
    "Certificate",
    "Proof",
    "arithmetic_of",
    "certificate_of",
    "certify",
    "make_certificate",
    "prove",
    "with_noise",
]

#: once the gap is this small, no better bound is sought
NEGLIGIBLE_GAP = 1e-12
#: a lift with a gap this small is taken without trying others
SMALL_GAP = 1e-10
#: lifts that are tried in turn without and with a ball, and the share of their terms that coordinates may miss in it
LIFTS = (
    ((lift_in_own_coordinates, 0.0), (mix, 0.0)),
    tuple((lift_in_own_coordinates, room) for room in (1e-14, 1e-11, 1e-9)) + ((mix, 1e-11),),
)


@dataclass(frozen=True)
class Certificate:
    """Numbers that prove, or fail to prove, an answer; all recomputed from (δ, μ) in original variables.

    :func:`certify` and :func:`solve` make it.

    Attributes
    ----------
    primal_value : float
        ℓ_R(δ), an upper bound of the optimum.
    dual_value : float
        Value of [D] at a feasible μ' close to μ, a lower bound; −inf if none was found near μ.
    gap : float
        Their difference plus a bound on round-off: no answer is better than this one by more than ``gap``.
    moment_residual : float
        Excess of ‖b − F'μ‖ over the radius, for μ clipped at zero and scaled to sum to one.
    simplex_residual : float
        ``max(|Σμ − 1|, −min μ)``.
    slackness : float
        g(δ) − ⟨b − F'μ, δ⟩, which is R‖δ‖_* − ⟨b − F'μ, δ⟩ without a user's penalty; zero at the optimum.
    e_qn : float
        ‖F'μ(δ) − F'μ‖₂, the paper's E_qn; zero if μ = μ(δ).
    violation : float
        Largest violation of the user's constraints at δ.
    noise : float
        Bound on the round-off of the value; part of the gap.
    spread : float
        Root of the total variance of the features under μ(δ); the unit of ``e_qn``.
    last_digit : float
        Part of the gap that is due to the last digits of the target. It is zero unless columns are linear combinations
        of others to the last digits of the data. Then no weights match the target of those columns more closely than
        it is known, and the gap is that of a target which agrees with the given one to its last digits.
    dependent, missed : tuple of int, tuple of float
        Those columns, and how far their targets may be missed.

    Examples
    --------
    >>> problem = RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> print(certify(problem, [0.0]))
    value in [-0.2, 0], gap 2.0e-01, moment residual 2.5e-01, slackness 0.0e+00, E_qn 0.0e+00
    """

    primal_value: float
    dual_value: float
    gap: float
    moment_residual: float
    simplex_residual: float
    slackness: float
    e_qn: float
    violation: float = 0.0
    noise: float = 0.0
    spread: float = np.inf
    last_digit: float = 0.0
    dependent: tuple[int, ...] = ()
    missed: tuple[float, ...] = ()

    def proves(self, tol: float) -> bool:
        """Whether ``gap ≤ tol · (1 + |value|)``, with constraints and simplex satisfied to the same tolerance.

        The part of the gap that is due to the last digits of the data does not count: no answer has a smaller one. If
        μ was given, it must match δ too: moments may differ by at most a multiple of the root of that bound.

        Parameters
        ----------
        tol : float
            Relative tolerance, between 0 and 1.

        Returns
        -------
        bool
        """
        tol = check_tol(tol)
        scale = 1.0 + abs(self.primal_value)
        small = max(tol, 1e-8)
        if not math.isfinite(self.gap):  # also if the value is infinite
            return False
        if self.e_qn > 10.0 * float(np.sqrt(tol * scale)) * self.spread:
            return False
        return self.gap - self.last_digit <= tol * scale and self.violation <= small and self.simplex_residual <= small

    def __str__(self) -> str:
        return (
            f"value in [{self.dual_value:.12g}, {self.primal_value:.12g}], gap {self.gap:.1e}, "
            f"moment residual {self.moment_residual:.1e}, slackness {self.slackness:.1e}, E_qn {self.e_qn:.1e}"
        )


class Proof(NamedTuple):
    """What a lift proves.

    Attributes
    ----------
    gap : float
        Duality gap, round-off included.
    noise : float
        Bound on the round-off of the value.
    spread : float
        Root of the total variance of the features.
    last_digit : float
        Part of the gap that is due to the last digits of the target, see :class:`Certificate`.
    dependent, missed : tuple of int, tuple of float
        Columns that are combinations of others, and how far their targets may be missed.
    """

    gap: float
    noise: float
    spread: float
    last_digit: float = 0.0
    dependent: tuple[int, ...] = ()
    missed: tuple[float, ...] = ()


#: proof of a δ that separates the target from all rows, where the value is unbounded below
NO_PROOF = Proof(math.inf, 0.0, math.inf)


def prove(
    delta: Array, summary: Summary, penalty: Penalty, arithmetic: Arithmetic, level: int = ALL, thorough: bool = True
) -> Requests[Proof]:
    """Duality gap of δ by a lift on the rows of one level.

    Parameters
    ----------
    delta : ndarray of shape (k,)
        Ratio parameter δ.
    summary : Summary
        Result of a pass over all rows at δ.
    penalty : Penalty
        g(δ).
    arithmetic : Arithmetic
        How the passes compute.
    level : int, default ALL
        Number of the level that is lifted; any rows give a valid bound, more rows a tighter one.
    thorough : bool, default True
        Whether to go on with lifts that need several passes over all rows, if the cheap one proves nothing.
    """
    on_level = summary
    if level != ALL or summary.covariance is None:
        on_level = yield Tilt(delta, True, level, weighted=False, guess=summary.log_z)
    H, round_off = on_level.covariance, RoundOff(delta, summary, (yield Sizes()), arithmetic)
    assert H is not None  # it was asked for
    noise = round_off.value + EPS * (delta.size + 4) * penalty.value(delta)
    proof = Proof(math.inf, noise, float(np.sqrt(np.sum(np.maximum(H.diagonal(), 0.0)))))
    if not (math.isfinite(noise) and np.all(np.isfinite(H))):  # after overflow nothing can be proven
        return proof
    found = yield from _lift_to_feasible(
        delta, delta, summary, on_level, level, penalty, round_off, arithmetic, thorough
    )
    if found is None:
        return proof
    lifted, trial = found
    worth = lifted.missed * np.abs(delta)
    gap = trial.slack + lifted.cost + float(worth.sum()) + noise
    return _with_dependent(proof._replace(gap=gap), lifted, penalty, worth)


def _with_dependent(proof: Proof, lifted: Lifted, penalty: Penalty, worth: Array) -> Proof:
    """The proof with the columns that a lift found to depend on others, and the gap due to their last digits."""
    last_digit = float(worth[penalty.exact(worth.size)].sum())
    missed = tuple(lifted.missed[list(lifted.dependent)].tolist())
    return proof._replace(last_digit=last_digit, dependent=lifted.dependent, missed=missed)


def _lift_to_feasible(
    delta: Array,
    at: Array,
    summary: Summary,
    on_level: Summary,
    level: int,
    penalty: Penalty,
    round_off: RoundOff,
    arithmetic: Arithmetic,
    thorough: bool = True,
) -> Requests[tuple[Lifted, Trial] | None]:
    """Lift of the weights at δ to weights that are feasible for [D], and their residual with its slack at another δ.

    The lift in the given coordinates is cheap and usually enough; if the columns are nearly collinear, it is made in
    coordinates of their own; if a few rows have nearly all the weight, some is added to others. In a ball the weights
    may be feasible as they are. ``None`` if none of these is proven.
    """
    assert on_level.covariance is not None  # it was asked for
    r, margin = -summary.mean, np.zeros(delta.size)
    H = math.exp(min(on_level.log_z - summary.log_z, 0.0)) * on_level.covariance
    ball = penalty if isinstance(penalty, BallPenalty) and penalty.relaxed else None
    as_it_is = None if ball is None else ball.slack(at, r, round_off.mean)
    if as_it_is is not None and as_it_is.slack <= NEGLIGIBLE_GAP:
        return Lifted(0.0, 0.0, (), margin), as_it_is
    trial = penalty.trial(at, r, H, margin)
    if trial is None:
        return None
    lifted = yield from lift(delta, summary, trial.residual, trial.error, on_level, level, round_off, arithmetic)
    if lifted is not None:
        return lifted, trial
    if ball is None and not penalty.exact(delta.size).size:
        as_it_is = _around(penalty, at, r, H, trial, round_off.mean)
    best, found = math.inf, None
    if as_it_is is not None:
        best, found = as_it_is.slack, (Lifted(0.0, 0.0, (), np.zeros(delta.size)), as_it_is)
    relaxed = np.setdiff1d(np.arange(delta.size), penalty.exact(delta.size))

    def exceeds(missed: Array, margin: Array) -> bool:
        if ball is not None:
            return bool(ball.norm(missed) > ball.norm(margin))
        return bool(np.any(missed[relaxed] > margin[relaxed]))

    for method, room in LIFTS[0 if ball is None else 1] if thorough else ():
        lifted = yield from method(delta, summary, trial.residual, trial.error, round_off, arithmetic, room)
        if lifted is not None and exceeds(lifted.missed, margin):
            # a relaxed residual is off by what is missed, and the slack has to hold nevertheless
            margin = 4.0 * lifted.missed
            trial = penalty.trial(at, r, H, margin)
            if trial is None:
                break
            lifted = yield from method(delta, summary, trial.residual, trial.error, round_off, arithmetic, room)
            if lifted is not None and exceeds(lifted.missed, margin):
                lifted = None
        if lifted is not None:
            gap = trial.slack + lifted.cost + float(lifted.missed @ np.abs(at))
            if gap < best:
                best, found = gap, (lifted, trial)
            if gap <= SMALL_GAP:
                break
    return found


def _around(penalty: Penalty, at: Array, r: Array, H: Array, trial: Trial, r_error: Array) -> Trial | None:
    """A trial whose slack holds for the residual of μ(δ) itself, so that nothing is lifted, if there is one."""
    margin = 2.0 * (np.abs(trial.residual - r) + trial.error + r_error)
    wide = penalty.trial(at, r, H, margin)
    if wide is None or np.any(np.abs(wide.residual - r) + wide.error + r_error > margin):
        return None
    return wide


def arithmetic_of(problem: RatioProblem) -> Arithmetic:
    """How the passes of one problem compute."""
    rows = problem.rows
    shift = np.zeros(problem.k) + rows.shift_size
    depths = rows.depth, rows.log_z_depth
    return Arithmetic(shift, np.abs(problem.target), *depths, problem.n_q, accuracy=rows.accuracy)


def make_certificate(
    problem: RatioProblem,
    delta: Array,
    mu: Array | None = None,
    *,
    penalty: Penalty | None = None,
    summary: Summary | None = None,
) -> Certificate:
    """Certificate of (δ, μ), for solvers that have computed parts of it.

    Parameters
    ----------
    problem : RatioProblem
        The problem.
    delta : array of shape (k,)
        Ratio parameter δ.
    mu : array of shape (n_q,), optional
        Weights found together with δ; by default the tilted weights μ(δ) of [LINK].
    penalty : Penalty, optional
        By default R‖δ‖_* of the problem.
    summary : Summary, optional
        Result of a pass at δ; computed by default.
    """
    delta = as_vector(delta, "delta", problem.k)
    penalty = penalty or make_penalty(problem)
    if problem.has_intercept:
        from .family import linked_certificate  # imports from this module

        return linked_certificate(problem, delta, mu, penalty)
    if summary is None or summary.covariance is None:
        summary = tilt(problem.rows, delta)
    arithmetic = arithmetic_of(problem)
    proof = Alone(problem.rows).run(prove(delta, summary, penalty, arithmetic))
    if problem.rows.in_memory and SMALL_GAP < proof.gap < 2.0 * proof.noise:
        value, noise = precise_value(problem, delta)
        summary, proof = with_noise(summary, proof, value, noise + EPS * (delta.size + 4) * penalty.value(delta))
    if mu is None:
        return certificate_of(problem, delta, summary, penalty, proof)
    mu = as_vector(mu, "mu", problem.n_q, limit=MAX_ENTRY)
    simplex = max(abs(float(mu.sum()) - 1.0), -float(mu.min()), 0.0)
    clean = np.maximum(mu, 0.0)
    clean = clean / (clean.sum() or 1.0)
    value = summary.log_z + penalty.value(delta)
    r = problem.residual(clean)
    if proof.gap > NEGLIGIBLE_GAP * (1.0 + abs(value)) and clean.any() and problem.rows.in_memory:
        rows = problem.rows.with_log_base(safe_log(clean))
        lower, lifted = Alone(rows).run(_dual_bound(problem, clean, delta, penalty, arithmetic))
        gap = value - lower + proof.noise
        if lifted is not None and 0.0 <= gap < proof.gap:  # below zero they contradict each other
            worth = lifted.missed * np.abs(delta)
            proof = _with_dependent(proof._replace(gap=max(gap, proof.noise)), lifted, penalty, worth)
    e_qn = float(np.linalg.norm(r + summary.mean))
    certificate = certificate_of(problem, delta, summary, penalty, proof, r)
    return replace(certificate, simplex_residual=simplex, e_qn=e_qn if e_qn > 1e-14 * proof.spread else 0.0)


def with_noise(summary: Summary, proof: Proof, value: float, noise: float) -> tuple[Summary, Proof]:
    """A pass and its proof with a value that has less round-off, if it has less."""
    if not noise < proof.noise:
        return summary, proof
    gap = (proof.gap - proof.noise + noise) * (1.0 + 4.0 * EPS) + EPS * proof.gap
    return summary._replace(log_z=value), proof._replace(gap=gap, noise=noise)


def _dual_bound(
    problem: RatioProblem, mu: Array, delta: Array, penalty: Penalty, arithmetic: Arithmetic
) -> Requests[tuple[float, Lifted | None]]:
    """Lower bound of D(μ') − g*(r') for a lift μ' of given weights, which are base weights tilted by zero.

    With h_j = a_j − log μ_j, D(μ') = −KL(μ' ‖ μ) + Σ μ'_j h_j, and the last sum differs from D(μ) = Σ μ_j h_j by no
    more than √q times the standard deviation of h, over Σν. It is returned with the lift; without one it is −inf.
    """
    if np.any(problem.log_base[mu > 0.0] == -np.inf):  # a lift only rescales weights, and these must be zero
        return -math.inf, None
    zero = np.zeros(problem.k)
    summary = yield Tilt(zero, True)
    round_off = RoundOff(zero, summary, (yield Sizes()), arithmetic)
    found = yield from _lift_to_feasible(zero, delta, summary, summary, ALL, penalty, round_off, arithmetic)
    if found is None:
        return -math.inf, None
    lifted, trial = found
    if not lifted.q < 1.0:
        return -math.inf, None
    weights, a = mu[mu > 0.0], problem.log_base[mu > 0.0]
    h = a - np.log(weights)
    average = float(weights @ h)
    deviation = math.sqrt(float(weights @ np.square(h - average)))
    terms = float(weights @ (np.abs(a) + np.abs(np.log(weights))))
    conjugate = trial.slack - penalty.value(delta) + float(trial.residual @ delta)
    moved = math.sqrt(lifted.q) * deviation / (1.0 - lifted.q) + float(np.sum(lifted.missed * np.abs(delta)))
    bound = average - moved - lifted.cost - conjugate - EPS * arithmetic.depth * (1.0 + terms)
    return bound, lifted


def certificate_of(
    problem: RatioProblem, delta: Array, summary: Summary, penalty: Penalty, proof: Proof, r: Array | None = None
) -> Certificate:
    """Certificate from what a lift proves; ``r`` is the residual of the weights, by default that of μ(δ)."""
    r = -summary.mean if r is None else r
    g = penalty.value(delta)
    value, gap = float(summary.log_z + g), proof.gap if proof.gap == proof.gap else math.inf  # nan proves nothing
    return Certificate(
        primal_value=value,
        dual_value=value - gap if math.isfinite(gap) else -math.inf,
        gap=gap,
        moment_residual=problem.excess(r),
        simplex_residual=0.0,
        slackness=g - float(r @ delta),
        e_qn=0.0,
        violation=penalty.violation(delta),
        noise=proof.noise,
        spread=proof.spread,
        last_digit=proof.last_digit,
        dependent=proof.dependent,
        missed=proof.missed,
    )


@single_threaded_blas()
def certify(
    problem: RatioProblem | LogisticProblem,
    delta: Any,
    mu: Any = None,
    *,
    penalty: Any = None,
    constraints: Any = None,
) -> Certificate:
    """Certificate of any (δ, μ), however they were computed.

    Parameters
    ----------
    problem : RatioProblem or LogisticProblem
        The problem that (δ, μ) is an answer to; for a logistic problem δ gets the intercept that is best for it.
    delta : array of shape (k,)
        Ratio parameter δ; entries up to 1e150 in size.
    mu : array of shape (n_q,), optional
        Weights found together with δ, which should sum to one; by default the tilted weights μ(δ) of [LINK].
    penalty, constraints : functions of a cvxpy expression, optional
        The user's terms that the problem was solved with.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> problem = RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> certify(problem, [-1.0986122886681098]).proves(1e-12)
    True
    >>> round(certify(problem, [0.0], mu=[0.75, 0.25]).gap, 9)  # optimal weights, but δ is not
    0.130812036
    """
    if isinstance(problem, LogisticProblem):
        from .logistic import certify_logistic  # imports from this module

        if mu is not None:
            raise DataError("mu", "is for a RatioProblem", "leave it out")
        return certify_logistic(problem, delta, penalty=penalty, constraints=constraints)
    problem = as_problem(problem)
    delta = as_vector(delta, "delta", problem.k, limit=MAX_PARAMETER)
    terms = make_penalty(problem, penalty, constraints)
    with np.errstate(over="ignore", invalid="ignore"):  # after overflow the gap is infinite
        return make_certificate(problem, delta, mu, penalty=terms)
