"""Judge answers by ball arithmetic: a certificate is true, false, or beyond what the arithmetic can decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hard_problems import Answer
from independent import separates

import pre_convex as pre

#: limit of the precision; what is open then is counted as undecided
MAX_BITS = 1536
#: units in the last place by which a target that is a sum of rounded products may be off
TARGET_ULPS = 4
#: total variation beyond which weights on the boundary count as wrong
WRONG_WEIGHTS = 1e-3


@dataclass(frozen=True)
class Verdict:
    """What ball arithmetic says about an answer.

    Attributes
    ----------
    false : bool
        The certificate claims something that is refuted.
    rounding : bool
        The claim is refuted only because the rounding of the target puts it outside the hull, where the value is
        unbounded below; for some target within a few units in the last place it stands.
    undecided : bool
        A finite gap is neither confirmed nor refuted.
    wrong_weights : bool
        The answer is on the boundary, where the weights are the answer, and they are not optimal.
    reported, least : float
        The reported gap, and the lower bound of the true one.
    """

    false: bool = False
    rounding: bool = False
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
    shown: pre.Solution | np.ndarray = answer.delta if answer.solution is None else answer.solution
    proof = pre.verify(answer.problem, shown, max_bits=MAX_BITS)
    rounding = False
    if proof.least_gap == np.inf and answer.problem.radius == 0.0:
        near = pre.verify(answer.problem, shown, target_ulps=TARGET_ULPS, max_bits=MAX_BITS)
        rounding = near.least_gap < np.inf  # otherwise the target is outside, whatever its last digits
        proof = near if rounding else proof
    false = proof.refutes(certificate)
    wrong = False
    if answer.status == "BOUNDARY" and answer.solution is not None and np.all(np.isfinite(proof.mu)):
        # weights are optimal up to the root of half the width, by Pinsker's inequality
        doubt = np.sqrt(max(proof.gap - proof.least_gap, 0.0) / 2.0)
        wrong = bool(0.5 * np.abs(answer.solution.mu - proof.mu).sum() > WRONG_WEIGHTS + doubt)
    undecided = not false and gap >= 0.0 and proof.gap > max(gap, 1e-300)
    return Verdict(false, rounding and not false, undecided, wrong, gap, proof.least_gap)
