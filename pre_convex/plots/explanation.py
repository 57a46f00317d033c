"""Local explanations: effects with intervals, the boundary in two dimensions, super-pixels over their image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import as_matrix, as_names, as_numbers, as_scalar, as_vector, called, shown
from ..checks import LARGEST
from ..entropy import Array, Index
from ..errors import DataError
from .canvas import (
    BLUE,
    GREY,
    ORANGE,
    as_lines,
    as_text,
    axes_of,
    label,
    labels,
    name_rows,
    set_legend,
    set_title,
    shown_of,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.colors import Colormap

__all__ = ["plot_boundary", "plot_effects", "plot_superpixels"]

#: effects that a figure shows at most
MOST_EFFECTS = 25


def plot_effects(
    names: Sequence[str],
    effect: Array,
    lower: Array | None = None,
    upper: Array | None = None,
    *,
    title: Sequence[str] = (),
    xlabel: str = "effect on the log-odds",
    ax: Axes | None = None,
) -> Axes:
    """Bars of effects, the largest first, with their intervals; pale where the interval holds zero.

    Parameters
    ----------
    names : sequence of str
    effect : array of shape (k,)
    lower, upper : arrays of shape (k,), optional
        Limits; nan for an effect without them.
    title : sequence of str
        Lines of the title.
    xlabel : str
    ax : Axes, optional
    """
    effect, names = as_vector(effect, "effect", limit=LARGEST), as_names(names, "names")
    if len(names) != len(effect):
        raise DataError(f"names: {len(names)} names for {len(effect)} effects")
    lower, upper = _limits(lower, "lower", len(effect)), _limits(upper, "upper", len(effect))
    title, xlabel = as_lines(title, "title"), as_text(xlabel, "xlabel")
    count = int(np.sum(effect != 0.0)) or len(effect)  # what has no effect needs no bar, unless nothing has one
    order = np.argsort(-np.abs(effect), kind="stable")[: min(count, MOST_EFFECTS)]
    value, at = effect[order], np.arange(len(order))
    clear = np.ones(len(order), dtype=bool)
    if lower is not None and upper is not None:
        clear = ~((lower[order] <= 0.0) & (upper[order] >= 0.0))
    ax, own = axes_of(ax, 6.8, 1.9 + 0.26 * max(len(order), 4))
    for colour, positive, name in ((BLUE, True, "for the label"), (ORANGE, False, "against it")):
        side = (value > 0.0) if positive else (value < 0.0)
        for drawn, alpha in ((side & clear, 1.0), (side & ~clear, 0.3)):
            if drawn.any():
                named = name if alpha == 1.0 else f"{name}, not told apart from zero"
                ax.barh(at[drawn], value[drawn], height=0.66, color=colour, alpha=alpha, label=named, zorder=2)
    if lower is not None and upper is not None:
        ax.hlines(at, lower[order], upper[order], color="black", linewidth=1.3, zorder=3)
    ax.axvline(0.0, color="black", linewidth=0.9, zorder=1)
    shown_names = labels(names, order)
    name_rows(ax, shown_names)
    ax.set_xlabel(xlabel)
    some = shown_of(len(order), count)
    none = f"{len(effect) - count} features have no effect" * (count < len(effect))
    set_title(ax, own, *title, f"the largest {some}" * bool(some), none, beside=text_width(shown_names))
    if value.any():
        set_legend(ax, 2)
    return ax


def _limits(limit: Any, name: str, length: int) -> Array | None:
    """Ends of intervals; nan where there is none."""
    if limit is None:
        return None
    found = as_numbers(limit, name)
    if found.shape != (length,) or np.isinf(found).any():
        raise DataError(f"{name}: must have a finite number or nan for each of {length} effects")
    return found


def plot_boundary(
    points: Array,
    probability: Array,
    coef: Array,
    intercept: float,
    x: Array,
    *,
    names: Sequence[str] = ("x0", "x1"),
    black_box: Callable[[Array], Array] | None = None,
    title: Sequence[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """Points in the plane, the black box's boundary and that of the local classifier.

    Parameters
    ----------
    points : array of shape (n, 2)
    probability : array of shape (n,)
        What the black box says of the label at the points.
    coef, intercept : array of shape (2,), float
        The local classifier: log-odds ⟨coef, z⟩ + intercept.
    x : array of shape (2,)
        The point that is explained.
    names : sequence of str
    black_box : function of points, optional
        Probability of the label, to shade the plane with.
    title : sequence of str
    ax : Axes, optional
    """
    points = as_matrix(points, "points", limit=LARGEST)
    if points.shape[1] != 2:
        raise DataError(f"points: have {points.shape[1]} features; a boundary can be drawn for two of them")
    probability = as_vector(probability, "probability", len(points))
    coef, x = as_vector(coef, "coef", 2, limit=LARGEST), as_vector(x, "x", 2, limit=LARGEST)
    intercept, names, title = as_scalar(intercept, "intercept"), as_names(names, "names"), as_lines(title, "title")
    if len(names) != 2:
        raise DataError(f"names: {len(names)} names for 2 features")
    if black_box is not None and not callable(black_box):
        raise DataError(f"black_box: {shown(black_box)} is not a function of points")
    ax, own = axes_of(ax, 6.2, 5.6)
    low, high = points.min(axis=0), points.max(axis=0)
    pad = np.where(high > low, 0.08 * (high - low), 0.5 * np.maximum(np.abs(low), 1.0))
    low, high = low - pad, high + pad
    if black_box is not None:
        u, v = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
        answer = called(black_box, "black_box", np.column_stack([u.ravel(), v.ravel()]))
        p = as_vector(answer, "black_box", u.size).reshape(u.shape)
        ax.contourf(u, v, p, levels=np.linspace(0.0, 1.0, 11), cmap=_diverging(), alpha=0.35, zorder=0)
        if p.min() < 0.5 < p.max():
            ax.contour(u, v, p, levels=[0.5], colors=GREY, linewidths=2.0, zorder=2)
            ax.plot([], [], color=GREY, linewidth=2.0, label="black box, one half")
    for inside, colour, mark, name in (
        (probability > 0.5, BLUE, "o", "label more likely"),
        (probability <= 0.5, ORANGE, "s", "other classes"),
    ):
        if inside.any():
            first, second = points[inside].T
            ax.scatter(first, second, s=9, marker=mark, color=colour, alpha=0.55, linewidths=0, label=name, zorder=1)
    line = _line(coef, intercept, low, high)
    if line is not None:
        ax.plot(*line, color="black", linestyle="--", linewidth=2.0, label="local classifier, one half", zorder=3)
    ax.plot(*x, "*", color="white", markeredgecolor="black", markersize=15, label="x", zorder=4)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=label(names[0]), ylabel=label(names[1]))
    set_title(ax, own, *title, "" if line is not None else "the local classifier's boundary lies outside")
    set_legend(ax, 3)
    return ax


def _line(coef: Array, intercept: float, low: Array, high: Array) -> Any:
    """Part of the line ⟨coef, z⟩ + intercept = 0 inside a box, as (two first, two second coordinates)."""
    hits = []
    for i in (0, 1):  # crossings with the sides on which coordinate i is fixed
        j = 1 - i
        if coef[j] != 0.0:
            for edge in (low[i], high[i]):
                other = -(intercept + coef[i] * edge) / coef[j]
                if low[j] <= other <= high[j]:
                    hits.append((edge, other) if i == 0 else (other, edge))
    return None if len(hits) < 2 else np.array([min(hits), max(hits)]).T


def plot_superpixels(
    image: Any,
    superpixels: Index,
    value: Array,
    *,
    limit: float | None = None,
    title: Sequence[str] = (),
    bar: str = "effect on the log-odds",
    ax: Axes | None = None,
) -> Axes:
    """An image in grey with its super-pixels coloured by a value: blue for positive, orange for negative.

    Parameters
    ----------
    image : array of shape (height, width) or (height, width, channels)
    superpixels : array of shape (height, width)
        Number of the super-pixel of every pixel.
    value : array of shape (k,)
    limit : float, optional
        Size of the value with the strongest colour; the largest there is when left out.
    title : sequence of str
    bar : str
        Label of the colour bar; none is drawn if it is empty.
    ax : Axes, optional
    """
    picture, value = as_numbers(image, "image"), as_vector(value, "value", limit=LARGEST)
    if picture.ndim not in (2, 3) or not picture.size or not np.all(np.abs(picture) < LARGEST):
        raise DataError(f"image: shape {picture.shape} is not an image (height, width[, channels]) of finite numbers")
    grey = picture if picture.ndim == 2 else picture[..., :3].mean(axis=-1)
    superpixels = _places(superpixels, grey.shape, len(value))
    largest = float(np.abs(value).max()) if limit is None else as_scalar(limit, "limit")
    if largest < 0.0 or (limit is not None and largest == 0.0):
        raise DataError(f"limit: {largest:g} is not positive; it is the size with the strongest colour")
    title, bar = as_lines(title, "title"), as_text(bar, "bar")
    height, width = grey.shape
    ax, own = axes_of(ax, 5.6, 0.7 + 4.1 * min(max(height / width, 0.3), 2.0))
    span = np.ptp(grey) or 1.0  # faded, so that colours show on its darkest parts too
    ax.imshow(0.5 + 0.5 * (grey - grey.min()) / span, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
    shade = np.asarray(value[superpixels], dtype=float)
    seen = ax.imshow(
        shade,
        cmap=_diverging(),
        vmin=-(largest or 1.0),
        vmax=largest or 1.0,
        alpha=0.9 * np.clip(np.abs(shade) / (largest or 1.0), 0.0, 1.0) ** 0.4,
        interpolation="nearest",
    )
    if bar:
        figure = ax.get_figure(root=True)
        assert figure is not None  # the axes are on a figure
        beside = ax.inset_axes((1.04, 0.0, 0.04, 1.0))  # as high as the image, whatever its shape
        figure.colorbar(seen, cax=beside, label=bar, alpha=1.0)
    ax.set(xticks=[], yticks=[])
    set_title(ax, own, *title, beside=1.2 if bar else 0.3)
    return ax


def _places(superpixels: Any, shape: tuple[int, ...], count: int) -> Index:
    """Numbers of super-pixels, one for each pixel."""
    places = as_numbers(superpixels, "superpixels")
    if places.shape != shape:
        raise DataError(f"superpixels: shape {places.shape} for an image of {shape[0]} × {shape[1]} pixels")
    if not np.isin(places, np.arange(count)).all():
        raise DataError(f"superpixels: must be whole numbers from 0 to {count - 1}, the places of the values")
    return places.astype(np.intp)


def _diverging() -> Colormap:
    """Orange through white to blue."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("orange-blue", [ORANGE, "white", BLUE])
