"""Figure of the solutions along a path of radii."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.entropy import effective_sample_size, safe_log
from .._internal.typing import Array
from .._internal.validation import as_radii
from ..errors import DataError
from ..estimators.posterior_ratio import PosteriorRatio
from ..problem import RatioProblem
from ..solution import Solution, Status
from ..solvers import radius_path, solve
from ..statistics.selection import RadiusChoice
from .canvas import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    LIGHT,
    ORANGE,
    PINK,
    SKY,
    as_fit,
    labels,
    new_figure,
    set_title,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_radius_path"]

#: default number of radii
STEPS = 40
#: colours and line styles of the coefficients that are named
NAMED = ((BLUE, "-"), (ORANGE, "-"), (GREEN, "-"), (PINK, "-"), (AMBER, "--"), (SKY, "--"), ("black", "--"))


def plot_radius_path(source: PosteriorRatio | RatioProblem, radii: Iterable[float] | None = None) -> Figure:
    """Coefficients, divergence and effective sample size along the radius R, one panel below the other.

    A fit with ``radius="cv"`` adds a panel of the held-out score with one standard error. The largest coefficients are
    coloured and named. Radii without a solution, below the distance to the hull, are left blank.

    Parameters
    ----------
    source : PosteriorRatio or RatioProblem
        A fitted estimator or a problem; its radius is marked.
    radii : sequence of float, optional
        At least two different positive radii. By default the path of the cross-validation; without one, 40 radii from
        just above the radius at which δ is zero down to a thirtieth of the radius in use, or to a thousandth of the
        largest if that is 0, but not below the distance to the hull.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> problem = RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> len(plot_radius_path(problem).axes)
    3
    """
    choice: RadiusChoice | None = None
    unit, per = np.ones(1), ""
    terms: dict[str, Any] = {}
    if isinstance(source, PosteriorRatio):
        problem: RatioProblem = as_fit(source).problem_
        if source.radius_choice_ is not None and source.radius_choice_.radii.size:
            choice = source.radius_choice_  # features="auto" has no path
        terms = {**source._terms(), "tol": source.tol}
        unit, per = source.scale_, ", standard deviations" * bool(np.any(source.scale_ != 1.0))
    elif isinstance(source, RatioProblem):
        problem = source
    else:
        raise DataError("source", f"is a {type(source).__name__}", "pass a fitted estimator or a RatioProblem")
    problem.require_one_radius("a path of radii")
    R = _radii(problem, radii, choice)
    solutions = radius_path(problem, R, **terms)
    panels = 3 + (choice is not None)
    figure = new_figure(8.2, 2.4 + 1.75 * panels)
    axes: Sequence[Axes] = list(figure.subplots(panels, 1, sharex=True, height_ratios=[1.7] + [1.0] * (panels - 1)))
    names = _coefficients(axes[0], problem, R, [s.delta / unit for s in solutions], solutions)
    _line(axes[1], R, [-problem.dual_value(s.mu) if s.status.ok else np.nan for s in solutions])
    axes[1].set_ylabel("divergence\nof μ from base")
    _line(axes[2], R, [effective_sample_size(safe_log(s.mu)) if s.status.ok else np.nan for s in solutions])
    axes[2].axhline(effective_sample_size(problem.log_base), color=GREY, linestyle="--", linewidth=1.0)
    axes[2].set_ylabel("effective\nsample size")
    axes[2].set_ylim(0.0, 1.08 * axes[2].get_ylim()[1])
    if choice is not None:
        _scores(axes[3], choice)
    axes[-1].set(xscale="log", xlabel=f"radius R{per}", xlim=_padded(R))
    figure.align_ylabels(axes)
    unsolved = sum(not s.status.ok for s in solutions)
    set_title(
        axes[0],
        True,
        "Solutions along the radius",
        _mark(axes, problem.radius, R),
        f"no solution at {unsolved} of {len(R)} radii" * (unsolved > 0),
        margin=1.3 + text_width(names),
    )
    return figure


def _radii(problem: RatioProblem, radii: Any, choice: RadiusChoice | None) -> Array:
    """Radii from the largest to the smallest, all positive."""
    if radii is not None:
        values = np.unique(as_radii(radii))[::-1]
        if len(values) < 2 or values[-1] <= 0.0:
            raise DataError(
                "radii", "the logarithmic axis needs a range of positive radii", "pass two different positive numbers"
            )
        return values
    if choice is not None:
        return choice.radii
    top = problem.moment_norm(problem.gradient(np.zeros(problem.k)))
    if not top > 0.0:
        raise DataError("radii", "the q mean equals the target, so δ is zero at every radius", "pass radii")
    radius = problem.radius
    low = min(top, radius) / 30.0 if radius > 0.0 else 1e-3 * top
    lowest = solve(problem.with_radius(low), check=False)
    if lowest.status is Status.INFEASIBLE and lowest.hull is not None:
        low = 1.01 * lowest.hull.radius
    return np.geomspace(max(1.3 * top, 1.3 * radius), low, STEPS)


def _padded(R: Array) -> tuple[float, float]:
    """Limits of a logarithmic axis with a margin at both ends."""
    pad = float(R.max() / R.min()) ** 0.04
    return float(R.min()) / pad, float(R.max()) * pad


def _line(ax: Axes, R: Array, values: Sequence[float]) -> None:
    """One quantity along the path."""
    ax.plot(R, values, color=BLUE, linewidth=1.8)
    ax.grid(color=LIGHT)


def _coefficients(
    ax: Axes, problem: RatioProblem, R: Array, deltas: Sequence[Array], solutions: Sequence[Solution]
) -> list[str]:
    """Draw the coefficients along the path, with a legend of the largest; return the names in the legend."""
    unsolved = np.full(problem.k, np.nan)
    delta = np.array([d if s.status.ok else unsolved for d, s in zip(deltas, solutions, strict=True)])
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
    for text, name in zip(legend.get_texts(), names, strict=True):  # matplotlib leaves out names that begin with _
        text.set_text(name)
    legend.set_frame_on(False)
    ax.axhline(0.0, color="black", linewidth=0.9, zorder=1)
    ax.grid(color=LIGHT)
    ax.set_ylabel("coefficients δ")
    return names


def _scores(ax: Axes, choice: RadiusChoice) -> None:
    """Held-out score along the path, with one standard error."""
    solved = np.isfinite(choice.mean)
    R, mean, error = choice.radii[solved], choice.mean[solved], choice.std_error[solved]
    ax.fill_between(R, mean - error, mean + error, color=BLUE, alpha=0.2, linewidth=0)
    ax.plot(R, mean, color=BLUE, linewidth=1.8)
    best = int(np.argmax(mean))
    ax.plot(R[best], mean[best], "o", color=GREEN, markeredgecolor="black", markersize=7, zorder=4)
    ax.annotate("best", (R[best], mean[best]), xytext=(0, -14), textcoords="offset points", ha="center", fontsize=9)
    ax.grid(color=LIGHT)
    ax.set_ylabel("held-out score\n± one s.e.")


def _mark(axes: Sequence[Axes], radius: float, R: Array) -> str:
    """Mark the radius in use; return the line of the title about it."""
    if R.min() <= radius <= R.max():
        for ax in axes:
            ax.axvline(radius, color=ORANGE, linestyle=":", linewidth=1.6, zorder=2)
        return f"dotted: the radius in use, {radius:.3g}"
    return (
        f"the radius in use, {radius:.3g}, is not on the axis"
        if radius > 0.0
        else "the radius in use is 0, left of the axis"
    )
