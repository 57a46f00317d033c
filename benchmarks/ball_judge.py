"""Judge answers by ball arithmetic: a certificate is true, false, or beyond what the arithmetic can decide."""

from __future__ import annotations

from dataclasses import dataclass, replace

import flint
import numpy as np
from hard_problems import Answer
from independent import separates

import pre_convex as pre
from pre_convex.certificate.balls import Rows, float_above, float_below
from pre_convex.feasibility.exposed import limit_problem

#: limit of the precision; what is open then is counted as undecided
MAX_BITS = 1536
#: total variation beyond which weights on the boundary count as wrong
WRONG_WEIGHTS = 1e-3


@dataclass(frozen=True)
class Verdict:
    """What ball arithmetic says about an answer.

    Attributes
    ----------
    false : bool
        The certificate claims something that is refuted.
    to_last_digit : bool
        The claim is about the data to their last digits, because columns are combinations of others
        (``certificate.dependent``), and it is judged without these columns.
    undecided : bool
        A finite gap is neither confirmed nor refuted.
    wrong_weights : bool
        The answer is on the boundary, where the weights are the answer, and they are not optimal.
    reported, least : float
        The reported gap, and the lower bound of the true one.
    """

    false: bool = False
    to_last_digit: bool = False
    undecided: bool = False
    wrong_weights: bool = False
    reported: float = np.inf
    least: float = 0.0

    @property
    def ratio(self) -> float:
        """True gap divided by the reported one; 0 if nothing was reported."""
        if not np.isfinite(self.reported):
            return 0.0
        return np.inf if self.reported <= 0.0 < self.least else self.least / max(self.reported, 1e-300)


def verdict(answer: Answer) -> Verdict:
    """Judge one answer, whatever its status: every certificate with a finite gap is a claim."""
    certificate, gap = answer.certificate, answer.certificate.gap
    if answer.status == "INFEASIBLE":
        assert answer.solution is not None
        assert answer.solution.hull is not None
        return Verdict(false=not separates(answer.problem, answer.solution.hull.direction))
    if not np.isfinite(gap) or not np.all(np.isfinite(answer.delta)):
        return Verdict(false=bool(gap < 0.0))
    to_last_digit = bool(certificate.dependent) and answer.problem.radius == 0.0
    if to_last_digit:
        proof = _without_dependent(answer)
    else:
        proof = pre.verify(answer.problem, answer.solution or answer.delta, max_bits=MAX_BITS)
    false = proof.refutes(certificate)
    wrong = False
    if answer.status == "BOUNDARY" and answer.solution is not None and np.all(np.isfinite(proof.mu)):
        # weights are optimal up to the root of half the width, by Pinsker's inequality
        doubt = np.sqrt(max(proof.gap - proof.least_gap, 0.0) / 2.0)
        wrong = bool(0.5 * np.abs(answer.solution.mu - proof.mu).sum() > WRONG_WEIGHTS + doubt)
    undecided = not false and gap >= 0.0 and proof.gap > max(gap, 1e-300)
    return Verdict(false, to_last_digit, undecided, wrong, gap, proof.least_gap)


def _without_dependent(answer: Answer) -> pre.Verification:
    """Bounds of the value of δ, and of the optimum without the dependent columns, on the rows of the face if any."""
    solution = answer.solution
    problem = limit_problem(answer.problem, () if solution is None else solution.recession)
    base = problem.log_base
    if answer.status == "BOUNDARY" and solution is not None:
        base = np.where(solution.mu > 0.0, base, -np.inf)
    kept = np.setdiff1d(np.arange(problem.k), answer.certificate.dependent)
    F, b = np.zeros((problem.n_q, 1)), np.zeros(1)
    if kept.size:
        F, b = problem.features_q[:, kept], problem.target[kept]
    on = base > -np.inf
    G = problem.features_q[on].astype(np.longdouble) - problem.target
    near = _same_logits(F[on].astype(np.longdouble) - b, G @ answer.delta.astype(np.longdouble))
    smaller = pre.RatioProblem(b, F).with_log_weights(base)
    proof = pre.verify(smaller, near, max_bits=MAX_BITS)
    with flint.ctx.workprec(MAX_BITS):
        value = _value(problem, answer.delta)
        above = value - _value(smaller, near)
        gap, least = above + flint.arb(proof.gap), above + flint.arb(proof.least_gap)
        primal = float_below(value), float_above(value)
        return replace(proof, primal=primal, gap=max(float_above(gap), 0.0), least_gap=max(float_below(least), 0.0))


def _value(problem: pre.RatioProblem, delta: np.ndarray) -> flint.arb:
    """[P] at δ without a radius, as a ball."""
    on = problem.positive_rows
    rows = Rows(problem.features_q[on], problem.log_base[on], problem.target)
    return rows.loss([flint.arb(x) for x in delta.tolist()])


def _same_logits(G: np.ndarray, z: np.ndarray) -> np.ndarray:
    """δ with Gδ = z up to a constant, by least squares."""
    A = np.column_stack([G, np.ones(len(G))]).astype(float)
    scale = np.abs(A).max(axis=0)
    scale[scale == 0.0] = 1.0
    return np.linalg.lstsq(A / scale, z.astype(float))[0][:-1] / scale[:-1]
