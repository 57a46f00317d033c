"""Warnings about an explanation whose neighbourhood, kernel, radius or black box makes its numbers unreliable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..._internal.typing import Array
from .black_box import Sample
from .fidelity import Fidelity
from .surrogate import LinearSurrogate, sigmoid

__all__ = ["explanation_warnings"]

#: points at which two equally rare on/off features should be off together: with fewer, intervals lose their coverage
MIN_JOINT_POINTS = 10.0


def explanation_warnings(
    fit: LinearSurrogate,
    sample: Sample,
    index: int,
    names: Sequence[str],
    probability: float,
    fidelity: Fidelity,
    *,
    swap: bool,
    floor: float,
) -> Iterator[str]:
    """Warnings about a local classifier.

    Parameters
    ----------
    fit : LinearSurrogate
        The local classifier.
    sample : Sample
        The points it was fitted to.
    index : int
        Column of the class that is explained.
    names : sequence of str
        Names of the features.
    probability : float
        Probability of that class at x by the black box.
    fidelity : Fidelity
        Agreement with the black box.
    swap, floor
        As in :func:`~.explainer.explain`.
    """
    plus, minus = sample.one_against_rest(index)
    if fit.constant:
        yield f"the black box returns P = {plus[0]:.4g} at every point: nothing to explain; use a wider neighbourhood"
        return
    constant = [name for name, spread in zip(names, np.ptp(sample.z, axis=0), strict=True) if spread == 0.0]
    if constant:
        yield f"{_first(constant)}: constant at all points, so the effect is unknown"
    if np.all(plus > 0.5) or np.all(plus <= 0.5):
        side = "above" if plus[0] > 0.5 else "below"
        yield (
            f"P is {side} one half at every point: no decision changes here, and the coefficients describe how the "
            "odds vary"
        )
    ruled_out = (minus if swap else plus) <= floor
    share = float(np.exp(fit.problem.log_mu(fit.solution.delta))[ruled_out].sum())
    if share > 0.01:
        yield (
            f"{share:.0%} of the weight is on points that the black box rules out (P below {floor:g}): the "
            "coefficients depend on that floor; use another floor, or a smaller neighbourhood"
        )
    yield from _few_points(fit, sample, names)
    if fit.solution.free_directions > len(constant):
        yield "some features always change together, so their coefficients share one effect"
    yield from _poor_fit(fit, probability, fidelity)


def _few_points(fit: LinearSurrogate, sample: Sample, names: Sequence[str]) -> Iterator[str]:
    """Warnings about too few effective points: of the kernel, of a class, or of a feature that is rarely off or on."""
    needed = max(10.0, 2.0 * fit.problem.k)
    w, on = sample.weights, sample.z == 1.0
    ess = _effective_counts(w, np.ones((len(w), 1)))[0]
    if sample.log_weights is not None and ess < needed:
        yield f"the kernel leaves {ess:.0f} effective points; use a wider one, or more points"
    elif min(fit.ess) < needed:
        yield (
            f"ESS is {min(fit.ess):.0f}: a few points dominate, and intervals are too short; use more points, a "
            "smaller neighbourhood, or swap"
        )
    switched = np.all(on | (sample.z == 0.0), axis=0) & np.any(on != on[0], axis=0)
    rarer = np.minimum(*(_effective_counts(w, side) for side in (on, ~on)))
    rare = np.flatnonzero(switched & (np.square(rarer) < MIN_JOINT_POINTS * ess))
    if rare.size:
        features = _first([names[i] for i in rare.tolist()])
        yield (
            f"{features}: rarely off or rarely on ({rarer[rare].min():.0f} of {ess:.0f} points), so intervals may be "
            "too short; use more points, or keep features about half of the time"
        )


def _effective_counts(weights: Array, chosen: Array) -> Array:
    """Effective numbers of weighted points in each column of a boolean matrix."""
    return np.asarray(np.square(weights @ chosen) / np.maximum(np.square(weights) @ chosen, 1e-300))


def _poor_fit(fit: LinearSurrogate, probability: float, fidelity: Fidelity) -> Iterator[str]:
    """Warnings that the local classifier disagrees with the black box."""
    local, radius = float(sigmoid(np.array([fit.offset]))[0]), fit.problem.radius
    if abs(local - probability) > 0.2:
        reason = (
            f"the radius {radius:.3g} shrinks the coefficients strongly"
            if radius > 0.0
            else "the neighbourhood is too wide to describe x"
        )
        yield f"at x itself the black box says P = {probability:.2f} and the local classifier {local:.2f}: {reason}"
    if fidelity.r2 < 0.5 and radius > 0.0:
        yield (f"R2 is {fidelity.r2:.2f}: the radius {radius:.3g} shrinks the coefficients strongly; use a smaller one")
    elif fidelity.r2 < 0.5 and fidelity.ess >= 10.0:
        yield f"R2 is {fidelity.r2:.2f}: the black box is far from linear here; use a smaller neighbourhood"


def _first(names: list[str]) -> str:
    """The first five names of a list."""
    return ", ".join(names[:5]) + ", …" * (len(names) > 5)
