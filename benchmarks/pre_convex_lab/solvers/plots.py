"""Figures of the solver benchmark: performance profiles, time against size, gap against tolerance.

Contenders are named by solver and formulation, such as ``"CLARABEL dual"``. Each solver has a colour; primal
formulations have dashed lines and open markers, all others solid lines and filled markers.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, label, new_figure, text_width

from .document import format_tol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_gaps", "draw_profiles", "draw_sizes", "render"]

#: colours of common solvers; others take the remaining ones in turn
COLOURS = {"newton": "black", "CLARABEL": BLUE, "ECOS": ORANGE, "SCS": GREEN, "MOREAU": AMBER, "MOSEK": PINK}
OTHER_COLOURS = (SKY, "#8c510a", "#5e3c99", GREY)
#: number of colours in a PNG file
PNG_COLOURS = 96
#: gaps outside this range are drawn at its ends
GAP_RANGE = (1e-16, 1e4)


def draw_profiles(ratios: Mapping[float, Mapping[str, Array]], problems: Mapping[float, int]) -> Figure:
    """Performance profiles, one panel for each tolerance.

    Parameters
    ----------
    ratios : mapping
        By tolerance and contender, the sorted ratios of its times to the best, on problems that it solved.
    problems : mapping
        By tolerance, the number of problems that at least one contender solved.

    Examples
    --------
    >>> figure = draw_profiles({1e-6: {"newton": np.ones(3), "SCS dual": np.array([2.0, 9.0])}}, {1e-6: 3})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['newton', 'SCS dual']
    """
    names = _names(ratios.values())
    figure, axes = _panels(len(ratios))
    top = max((float(r.max()) for own in ratios.values() for r in own.values() if r.size), default=1.0)
    right = max(10.0, 1.5 * top)
    for ax, (tol, own) in zip(axes, ratios.items(), strict=True):
        total = max(problems[tol], 1)
        for name, style in _styles(names).items():
            r = own.get(name, np.empty(0))
            steps = np.concatenate([[0.0], np.arange(1, r.size + 1)]) / total
            ax.plot(
                np.concatenate([[1.0], r, [right]]),
                np.append(steps, steps[-1]),
                drawstyle="steps-post",
                color=style[0],
                linestyle=style[1],
                linewidth=_width(name),
                label=label(name),
            )
        ax.set(xscale="log", xlim=(0.93, right), ylim=(-0.02, 1.02), xlabel="time / quickest contender's time")
        ax.set_title(f"tolerance {format_tol(tol)}: {problems[tol]} problems", fontsize=11)
        ax.grid(color=LIGHT)
    axes[0].set_ylabel("share of problems solved")
    _legend(figure, axes[0])
    return figure


def draw_sizes(points: Mapping[float, Mapping[str, Array]], limit: float | None = None) -> Figure:
    """Time against size, one panel for each tolerance.

    Points are solves, and lines join geometric means over half decades of size. Crosses in the shaded area at the top
    are cases that were not solved.

    Parameters
    ----------
    points : mapping
        By tolerance and contender, an array of shape (m, 2): n·k and seconds, infinite if not solved.
    limit : float, optional
        Time limit in seconds, drawn if it is within the axis.
    """
    names = _names(points.values())
    figure, axes = _panels(len(points))
    everything = np.vstack([own for panel in points.values() for own in panel.values()] or [np.empty((0, 2))])
    finite = everything[np.isfinite(everything[:, 1]), 1]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (1e-3, 1.0)
    left, right = (float(everything[:, 0].min()), float(everything[:, 0].max())) if len(everything) else (1.0, 1.0)
    any_unsolved = not np.isfinite(everything[:, 1]).all()
    top = 4.0 * high
    for ax, (tol, panel) in zip(axes, points.items(), strict=True):
        styles = _styles(names)
        for place, name in enumerate(names):
            colour, line, fill = styles[name]
            own = panel.get(name, np.empty((0, 2)))
            solved = np.isfinite(own[:, 1])
            face = colour if fill else "none"
            size, seconds = own[solved].T
            ax.scatter(size, seconds, s=12, facecolors=face, edgecolors=colour, linewidths=0.8, alpha=0.45)
            ax.plot(
                *_binned_means(own[solved]).T, color=colour, linestyle=line, linewidth=_width(name), label=label(name)
            )
            unsolved = own[~solved, 0]
            height = np.full(unsolved.size, top * 1.32 ** (place - 0.5 * len(names)))  # or crosses would overlap
            ax.scatter(unsolved, height, marker="x", s=22, color=colour, linewidths=1.2)
        if limit is not None and low < limit < 1.5 * high:
            ax.axhline(limit, color=GREY, linestyle=":", linewidth=1.0)
        ax.set(xscale="log", yscale="log", xlabel="entries of F, n·k")
        ax.set(xlim=(left / 1.6, right * 1.6), ylim=(0.6 * low, 16.0 * high if any_unsolved else 2.0 * high))
        if any_unsolved:
            ax.axhspan(1.3 * high, 16.0 * high, color=GREY, alpha=0.13, linewidth=0)
        ax.set_title(f"tolerance {format_tol(tol)}" + " (shaded: not solved)" * any_unsolved, fontsize=11)
        ax.grid(color=LIGHT)
        ax.set_axisbelow(True)
    axes[0].set_ylabel("seconds")
    _legend(figure, axes[0])
    return figure


def draw_gaps(gaps: Mapping[float, Mapping[str, Array]]) -> Figure:
    """Proven gap against tolerance; points above the step are less accurate than asked for.

    Parameters
    ----------
    gaps : mapping
        By tolerance and contender, the relative gaps of answers it called optimal. Gaps below 1e-16 are drawn at 1e-16,
        gaps above 1e4 and unknown ones at 1e4.
    """
    names = _names(gaps.values())
    asked = sorted(gaps, reverse=True)
    figure = new_figure(10.5, 5.2)
    ax = figure.subplots()
    styles = _styles(names)
    rng = np.random.default_rng(0)
    width = 0.8 / max(len(names), 1)
    for column, tol in enumerate(asked):
        edges = [column - 0.5, column + 0.5]
        ax.fill_between(edges, tol, GAP_RANGE[1] * 10.0, color=GREY, alpha=0.13, linewidth=0)
        ax.plot(edges, [tol, tol], color=GREY, linewidth=1.6, label="asked for" if not column else "")
        if column:
            ax.vlines(column - 0.5, tol, asked[column - 1], color=GREY, linewidth=1.6)
        for place, name in enumerate(names):
            colour, _, fill = styles[name]
            own = np.asarray(gaps[tol].get(name, np.empty(0)), dtype=float)
            own = np.clip(np.where(np.isnan(own), np.inf, own), *GAP_RANGE)
            middle = column + (place - 0.5 * (len(names) - 1)) * width
            x = middle + rng.uniform(-0.3, 0.3, own.size) * width
            face = colour if fill else "none"
            shown = label(name) if not column else ""
            ax.scatter(x, own, s=16, facecolors=face, edgecolors=colour, linewidths=0.9, alpha=0.6, label=shown)
            if own.size:
                ax.hlines(np.median(own), middle - 0.42 * width, middle + 0.42 * width, color=colour, linewidth=2.4)
    ax.set_xticks(range(len(asked)), [format_tol(tol) for tol in asked])
    ax.set(yscale="log", xlim=(-0.5, len(asked) - 0.5), ylim=(GAP_RANGE[0] / 10.0, GAP_RANGE[1] * 10.0))
    ax.set(xlabel="tolerance asked for", ylabel="proven gap, relative")
    powers = range(-16, 5, 2)
    ax.set_yticks([10.0**power for power in powers], [f"1e{power}" if power < 4 else "1e4 or more" for power in powers])
    ax.set_title(
        "Gaps of answers that were called optimal; bars are medians, shaded is above the tolerance", fontsize=11
    )
    ax.grid(axis="y", color=LIGHT)
    ax.set_axisbelow(True)
    _legend(figure, ax)
    return figure


def render(figure: Figure) -> tuple[bytes, bytes]:
    """A figure as SVG and as a PNG with few colours, which is small; always the same bytes for the same figure."""
    from matplotlib import rc_context
    from PIL import Image  # a dependency of matplotlib

    figure.draw_without_rendering()  # compute the layout once for both
    figure.set_layout_engine("none")
    svg, png = io.BytesIO(), io.BytesIO()
    with rc_context({"svg.hashsalt": "pre_convex"}):
        figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png", dpi=110)
    small = io.BytesIO()
    with Image.open(png) as image:
        image.convert("RGB").quantize(PNG_COLOURS).save(small, format="png", optimize=True)
    return svg.getvalue(), small.getvalue()


def _panels(count: int) -> tuple[Figure, Sequence[Axes]]:
    """Panels side by side, with a common y axis."""
    count = max(count, 1)
    figure = new_figure(1.2 + 3.7 * max(count, 1.6), 4.9)
    return figure, list(figure.subplots(1, count, sharey=True, squeeze=False)[0])


def _legend(figure: Figure, ax: Axes) -> None:
    """One legend for all panels, below them, on as few lines as fit."""
    handles, texts = ax.get_legend_handles_labels()
    columns = int((figure.get_figwidth() - 0.3) / (text_width(texts) + 0.62))
    lines = -(-len(texts) // max(columns, 1))
    figure.legend(
        handles,
        texts,
        loc="outside lower center",
        ncols=max(-(-len(texts) // max(lines, 1)), 1),
        fontsize=9,
        frameon=False,
        columnspacing=1.2,
        handletextpad=0.5,
    )


def _names(panels: Iterable[Mapping[str, object]]) -> list[str]:
    """Names of the contenders in all panels."""
    return list(dict.fromkeys(name for panel in panels for name in panel))


def _styles(names: Sequence[str]) -> dict[str, tuple[str, str, bool]]:
    """Colour, line style, and whether markers are filled, by contender."""
    unused = iter(OTHER_COLOURS * (1 + len(names) // len(OTHER_COLOURS)))
    colours: dict[str, str] = {}
    for name in names:
        solver = _solver(name)
        if solver not in colours:
            colours[solver] = COLOURS.get(solver) or next(unused)
    lines = {name: ("--", False) if name.endswith(" primal") else ("-", True) for name in names}
    return {name: (colours[_solver(name)], *lines[name]) for name in names}


def _solver(name: str) -> str:
    """Name of a contender without its formulation."""
    return name.removesuffix(" primal").removesuffix(" dual")


def _width(name: str) -> float:
    """Line width; thicker for a solver with only one formulation."""
    return 1.6 if name != _solver(name) else 2.4


def _binned_means(points: Array) -> Array:
    """Geometric means of size and time over half decades of size."""
    if not len(points):
        return points
    logs = np.log(points)
    bins = np.floor(2.0 * logs[:, 0] / np.log(10.0) + 0.25)
    return np.array([np.exp(logs[bins == each].mean(axis=0)) for each in np.unique(bins)])
