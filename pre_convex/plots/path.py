"""Solutions along the radius."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import as_radii
from ..entropy import Array, effective_sample_size, log
from ..errors import DataError
from ..estimators import PosteriorRatio
from ..problem import RatioProblem
from ..selection import RadiusChoice
from ..solution import Solution, Status
from ..solvers import radius_path, solve
from .canvas import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    LIGHT,
    ORANGE,
    PINK,
    SKY,
    fitted,
    labels,
    new_figure,
    set_title,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_radius_path"]

#: radii of a path by default
STEPS = 40
#: coefficients with a colour and a name
NAMED = ((BLUE, "-"), (ORANGE, "-"), (GREEN, "-"), (PINK, "-"), (AMBER, "--"), (SKY, "--"), ("black", "--"))


def plot_radius_path(source: PosteriorRatio | RatioProblem, radii: Iterable[float] | None = None) -> Figure:
    """Coefficients, divergence and effective sample size along the radius R, one panel above the other.

    A fit with ``radius="cv"`` adds the held-out score with one standard error. The coefficients that become largest
    have colours and names. Radii without a solution, below the distance to the hull, are left blank.

    Parameters
    ----------
    source : PosteriorRatio or RatioProblem
        A fitted estimator, whose radius is marked, or a problem.
    radii : sequence of positive float, optional
        By default the path of the cross-validation; otherwise from just above the radius at which δ is zero down to a
        thirtieth of the radius in use, or to a thousandth of the first if none is, but not below the distance to the
        hull.

    Examples
    --------
    >>> problem = RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> len(plot_radius_path(problem).axes)
    3
    """
    choice: RadiusChoice | None = None
    terms: dict[str, Any] = {}
    if isinstance(source, PosteriorRatio):
        problem: RatioProblem = fitted(source).problem_
        if source.radius_choice_ is not None and source.radius_choice_.method == "cv":
            choice = source.radius_choice_
        terms = {"penalty": source.penalty, "constraints": source.constraints, "tol": source.tol}
    elif isinstance(source, RatioProblem):
        problem = source
    else:
        raise DataError(f"source: must be a fitted estimator or a RatioProblem, not {type(source).__name__}")
    marked = problem.radius
    R = _radii(problem, radii, marked, choice)
    solutions = radius_path(problem, R, **terms)
    panels = 3 + (choice is not None)
    figure = new_figure(8.2, 2.4 + 1.75 * panels)
    axes: Sequence[Axes] = list(figure.subplots(panels, 1, sharex=True, height_ratios=[1.7] + [1.0] * (panels - 1)))
    names = _coefficients(axes[0], problem, R, solutions)
    _line(axes[1], R, [-problem.dual_value(s.mu) if s.status.ok else np.nan for s in solutions])
    axes[1].set_ylabel("divergence\nof μ from base")
    _line(axes[2], R, [effective_sample_size(log(s.mu)) if s.status.ok else np.nan for s in solutions])
    axes[2].axhline(effective_sample_size(problem.log_base), color=GREY, linestyle="--", linewidth=1.0)
    axes[2].set_ylabel("effective\nsample size")
    axes[2].set_ylim(0.0, 1.08 * axes[2].get_ylim()[1])
    if choice is not None:
        _scores(axes[3], choice)
    axes[-1].set(xscale="log", xlabel="radius R", xlim=_padded(R))
    figure.align_ylabels(axes)
    lost = sum(not s.status.ok for s in solutions)
    set_title(
        axes[0],
        True,
        "Solutions along the radius",
        _mark(axes, marked, R),
        f"no solution at {lost} of {len(R)} radii" * (lost > 0),
        beside=1.3 + text_width(names),
    )
    return figure


def _radii(problem: RatioProblem, radii: Any, marked: float, choice: RadiusChoice | None) -> Array:
    """Radii from the largest to the smallest, all positive."""
    if radii is not None:
        values = np.unique(as_radii(radii))[::-1]
        if len(values) < 2 or values[-1] <= 0.0:
            raise DataError("radii: give at least two different positive numbers; the axis is logarithmic")
        return values
    if choice is not None:
        return choice.radii
    top = problem.ball(problem.gradient(np.zeros(problem.k)))
    if not top > 0.0:
        raise DataError("radii: the q mean is the target already, so δ is zero at every radius; give radii yourself")
    low = min(top, marked) / 30.0 if marked > 0.0 else 1e-3 * top
    lowest = solve(problem.with_radius(low), check=False)
    if lowest.status is Status.INFEASIBLE and lowest.hull is not None:
        low = 1.01 * lowest.hull.radius
    return np.geomspace(max(1.3 * top, 1.3 * marked), low, STEPS)


def _padded(R: Array) -> tuple[float, float]:
    """Limits of a logarithmic axis with room at both ends."""
    pad = float(R.max() / R.min()) ** 0.04
    return float(R.min()) / pad, float(R.max()) * pad


def _line(ax: Axes, R: Array, values: Sequence[float]) -> None:
    """One quantity along the path."""
    ax.plot(R, values, color=BLUE, linewidth=1.8)
    ax.grid(color=LIGHT)


def _coefficients(ax: Axes, problem: RatioProblem, R: Array, solutions: Sequence[Solution]) -> list[str]:
    """Every coefficient along the path, the largest ones named beside it; those names."""
    delta = np.array([s.delta if s.status.ok else np.full(problem.k, np.nan) for s in solutions])
    size = np.nan_to_num(np.abs(delta)).max(axis=0)
    order = np.argsort(-size, kind="stable")
    named, others = order[: len(NAMED)], order[len(NAMED) :]
    lines = [
        ax.plot(R, delta[:, i], color=colour, linestyle=style, linewidth=1.8, zorder=3)[0]
        for i, (colour, style) in zip(named, NAMED, strict=False)
    ]
    names = labels(problem.feature_names, named, 28)
    if others.size:
        lines.append(ax.plot(R, delta[:, others], color=GREY, linewidth=0.7, alpha=0.5, zorder=2)[0])
        names.append(f"{others.size} other{'s' * (others.size > 1)}")
    legend = ax.legend(lines, ["name"] * len(lines), loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=9)
    for text, name in zip(legend.get_texts(), names, strict=True):  # names that begin with _ would be left out
        text.set_text(name)
    legend.set_frame_on(False)
    ax.axhline(0.0, color="black", linewidth=0.9, zorder=1)
    ax.grid(color=LIGHT)
    ax.set_ylabel("coefficients δ")
    return names


def _scores(ax: Axes, choice: RadiusChoice) -> None:
    """Held-out score along the path, with one standard error."""
    fine = np.isfinite(choice.mean)
    R, mean, error = choice.radii[fine], choice.mean[fine], choice.std_error[fine]
    ax.fill_between(R, mean - error, mean + error, color=BLUE, alpha=0.2, linewidth=0)
    ax.plot(R, mean, color=BLUE, linewidth=1.8)
    best = int(np.argmax(mean))
    ax.plot(R[best], mean[best], "o", color=GREEN, markeredgecolor="black", markersize=7, zorder=4)
    ax.annotate("best", (R[best], mean[best]), xytext=(0, -14), textcoords="offset points", ha="center", fontsize=9)
    ax.grid(color=LIGHT)
    ax.set_ylabel("held-out score\n± one s.e.")


def _mark(axes: Sequence[Axes], marked: float, R: Array) -> str:
    """A line at the radius of the fit; what the title says about it."""
    if R.min() <= marked <= R.max():
        for ax in axes:
            ax.axvline(marked, color=ORANGE, linestyle=":", linewidth=1.6, zorder=2)
        return f"dotted: the radius in use, {marked:.3g}"
    return (
        f"the radius in use, {marked:.3g}, is not on the axis"
        if marked > 0.0
        else "the radius in use is 0, left of the axis"
    )
