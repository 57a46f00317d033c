"""Figures of local explanations: effects with intervals, decision boundaries, super-pixels over an image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.typing import Array, Index
from .._internal.validation import (
    MAX_ENTRY,
    as_matrix,
    as_names,
    as_numbers,
    as_scalar,
    as_vector,
    call_user_function,
    preview,
)
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

#: maximum number of effects in a figure
MAX_EFFECTS = 25


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
    """Bar chart of effects, the largest first, with their intervals.

    Bars are pale where the interval contains zero. At most 25 effects are shown.

    Parameters
    ----------
    names : sequence of str
        One name per effect.
    effect : array of shape (k,)
        The effects; those that are exactly zero get no bar.
    lower, upper : array of shape (k,), optional
        Limits of the intervals; nan for an effect without an interval.
    title : str or sequence of str, default ()
        Lines of the title.
    xlabel : str, default "effect on the log-odds"
        Label of the horizontal axis.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> plot_effects(["age", "dose"], [0.5, -1.0]).get_xlabel()
    'effect on the log-odds'
    """
    effect, names = as_vector(effect, "effect", limit=MAX_ENTRY), as_names(names, "names")
    if len(names) != len(effect):
        raise DataError("names", f"{len(names)} names for {len(effect)} effects", "pass one name per effect")
    lower, upper = _limits(lower, "lower", len(effect)), _limits(upper, "upper", len(effect))
    title, xlabel = as_lines(title, "title"), as_text(xlabel, "xlabel")
    count = int(np.sum(effect != 0.0)) or len(effect)  # zero effects get no bar, unless all are zero
    order = np.argsort(-np.abs(effect), kind="stable")[: min(count, MAX_EFFECTS)]
    value, at = effect[order], np.arange(len(order))
    clear = np.ones(len(order), dtype=bool)
    if lower is not None and upper is not None:
        clear = ~((lower[order] <= 0.0) & (upper[order] >= 0.0))
    ax, is_new = axes_of(ax, 6.8, 1.9 + 0.26 * max(len(order), 4))
    for colour, positive, name in ((BLUE, True, "for the label"), (ORANGE, False, "against it")):
        side = (value > 0.0) if positive else (value < 0.0)
        for drawn, alpha in ((side & clear, 1.0), (side & ~clear, 0.3)):
            if drawn.any():
                named = name if alpha == 1.0 else f"{name}, not significant"
                ax.barh(at[drawn], value[drawn], height=0.66, color=colour, alpha=alpha, label=named, zorder=2)
    if lower is not None and upper is not None:
        ax.hlines(at, lower[order], upper[order], color="black", linewidth=1.3, zorder=3)
    ax.axvline(0.0, color="black", linewidth=0.9, zorder=1)
    shown_names = labels(names, order)
    name_rows(ax, shown_names)
    ax.set_xlabel(xlabel)
    some = shown_of(len(order), count)
    none = f"{len(effect) - count} features have no effect" * (count < len(effect))
    set_title(ax, is_new, *title, f"the largest {some}" * bool(some), none, margin=text_width(shown_names))
    if value.any():
        set_legend(ax, 2)
    return ax


def _limits(limit: Any, name: str, length: int) -> Array | None:
    """Limits of the intervals; nan for an effect without an interval."""
    if limit is None:
        return None
    values = as_numbers(limit, name)
    if values.shape != (length,) or np.isinf(values).any():
        raise DataError(
            name, f"has shape {values.shape} or infinite entries", f"pass {length} numbers, nan for no limit"
        )
    return values


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
    """Decision boundaries of a black box and of its local classifier, in two dimensions.

    Parameters
    ----------
    points : array of shape (n, 2)
        Points at which the black box was evaluated.
    probability : array of shape (n,)
        Probability of the label at these points, by the black box.
    coef : array of shape (2,)
        Coefficients of the local classifier: log-odds ⟨coef, z⟩ + intercept.
    intercept : float
        Intercept of the local classifier.
    x : array of shape (2,)
        The point that is explained.
    names : sequence of two str, default ("x0", "x1")
        Names of the two features, as labels of the axes.
    black_box : function of an array of shape (n, 2), optional
        Returns the probability of the label, shape (n,); the plane is shaded by it.
    title : str or sequence of str, default ()
        Lines of the title.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(50, 2))
    >>> ax = plot_boundary(points, points[:, 0] > 0.0, [1.0, 0.0], 0.0, [0.1, 0.0])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x0', 'x1')
    """
    points = as_matrix(points, "points", limit=MAX_ENTRY)
    if points.shape[1] != 2:
        raise DataError("points", f"has {points.shape[1]} columns", "pass the two features to draw")
    probability = as_vector(probability, "probability", len(points))
    coef, x = as_vector(coef, "coef", 2, limit=MAX_ENTRY), as_vector(x, "x", 2, limit=MAX_ENTRY)
    intercept, names, title = as_scalar(intercept, "intercept"), as_names(names, "names"), as_lines(title, "title")
    if len(names) != 2:
        raise DataError("names", f"{len(names)} names for 2 features", "pass two names")
    if black_box is not None and not callable(black_box):
        raise DataError("black_box", f"{preview(black_box)} is not a function", "pass a function of points, or None")
    ax, is_new = axes_of(ax, 6.2, 5.6)
    low, high = points.min(axis=0), points.max(axis=0)
    pad = np.where(high > low, 0.08 * (high - low), 0.5 * np.maximum(np.abs(low), 1.0))
    low, high = low - pad, high + pad
    if black_box is not None:
        _shade(ax, black_box, low, high)
    for inside, colour, mark, name in (
        (probability > 0.5, BLUE, "o", "label more likely"),
        (probability <= 0.5, ORANGE, "s", "other classes"),
    ):
        if inside.any():
            first, second = points[inside].T
            ax.scatter(first, second, s=9, marker=mark, color=colour, alpha=0.55, linewidths=0, label=name, zorder=1)
    line = _line(coef, intercept, low, high)
    if line is not None:
        ax.plot(*line, color="black", linestyle="--", linewidth=2.0, label="local classifier, P = ½", zorder=3)
    ax.plot(*x, "*", color="white", markeredgecolor="black", markersize=15, label="x", zorder=4)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=label(names[0]), ylabel=label(names[1]))
    set_title(ax, is_new, *title, "" if line is not None else "the local classifier's boundary is outside the plot")
    set_legend(ax, 3)
    return ax


def _shade(ax: Axes, black_box: Callable[[Array], Array], low: Array, high: Array) -> None:
    """Shade a box by the probability of the label, with a line at one half."""
    u, v = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
    answer = call_user_function(black_box, "black_box", np.column_stack([u.ravel(), v.ravel()]))
    p = as_vector(answer, "black_box", u.size).reshape(u.shape)
    ax.contourf(u, v, p, levels=np.linspace(0.0, 1.0, 11), cmap=_diverging(), alpha=0.35, zorder=0)
    if p.min() < 0.5 < p.max():
        ax.contour(u, v, p, levels=[0.5], colors=GREY, linewidths=2.0, zorder=2)
        ax.plot([], [], color=GREY, linewidth=2.0, label="black box, P = ½")


def _line(coef: Array, intercept: float, low: Array, high: Array) -> Any:
    """Segment of the line ⟨coef, z⟩ + intercept = 0 inside a box, as (two first, two second coordinates)."""
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
    """A grey image with its super-pixels coloured by a value: blue if positive, orange if negative.

    Parameters
    ----------
    image : array of shape (height, width) or (height, width, channels)
        The image, in any range of finite numbers.
    superpixels : array of int of shape (height, width)
        Index of the super-pixel of every pixel, from 0 to k − 1.
    value : array of shape (k,)
        Value of every super-pixel.
    limit : float, optional
        Absolute value with the strongest colour, positive; by default the largest in ``value``.
    title : str or sequence of str, default ()
        Lines of the title.
    bar : str, default "effect on the log-odds"
        Label of the colour bar; none is drawn if it is empty.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = plot_superpixels(np.eye(4), np.arange(16).reshape(4, 4) // 8, [0.5, -1.0], title="an image")
    >>> ax.get_title()
    'an image'
    """
    picture, value = as_numbers(image, "image"), as_vector(value, "value", limit=MAX_ENTRY)
    if picture.ndim not in (2, 3) or not picture.size or not np.all(np.abs(picture) < MAX_ENTRY):
        raise DataError(
            "image",
            f"has shape {picture.shape} or entries that are not finite",
            "pass finite numbers of shape (height, width) or (height, width, channels)",
        )
    grey = picture if picture.ndim == 2 else picture[..., :3].mean(axis=-1)
    superpixels = _places(superpixels, grey.shape, len(value))
    largest = float(np.abs(value).max()) if limit is None else as_scalar(limit, "limit")
    if largest < 0.0 or (limit is not None and largest == 0.0):
        raise DataError("limit", f"{largest:g} is not positive", "pass the absolute value of the strongest colour")
    title, bar = as_lines(title, "title"), as_text(bar, "bar")
    height, width = grey.shape
    ax, is_new = axes_of(ax, 5.6, 0.7 + 4.1 * min(max(height / width, 0.3), 2.0))
    span = np.ptp(grey) or 1.0  # lightened, so that colours show on dark parts too
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
    set_title(ax, is_new, *title, margin=1.2 if bar else 0.3)
    return ax


def _places(superpixels: Any, shape: tuple[int, ...], count: int) -> Index:
    """Index of the super-pixel of every pixel."""
    places = as_numbers(superpixels, "superpixels")
    if places.shape != shape:
        raise DataError("superpixels", f"has shape {places.shape}, the image {shape}", "pass one index per pixel")
    if not np.isin(places, np.arange(count)).all():
        raise DataError("superpixels", f"has entries other than 0 to {count - 1}", "pass indices into value")
    return places.astype(np.intp)


def _diverging() -> Colormap:
    """Orange through white to blue."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("orange-blue", [ORANGE, "white", BLUE])
