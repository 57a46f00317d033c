"""What every figure shares: colours, figures without a screen, titles that fit, names as labels."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import shown
from ..entropy import Index
from ..errors import DataError, MissingExtraError
from ..estimators import PosteriorRatio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Figure

# Okabe and Ito's colours, which people with any colour vision can tell apart
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"
SKY, AMBER, PINK = "#56B4E9", "#E69F00", "#CC79A7"
LIGHT = "#e6e6e6"

#: features a figure names at most
MOST_NAMES = 40
#: characters of a name that are shown
NAME_LENGTH = 36


def new_figure(width: float, height: float) -> Figure:
    """A figure that needs no screen and that nothing else refers to."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    return Figure(figsize=(width, height), layout="constrained", dpi=130)


def axes_of(ax: Axes | None, width: float, height: float) -> tuple[Axes, bool]:
    """The axes to draw on, and whether their figure is new."""
    if ax is None:
        return new_figure(width, height).subplots(), True
    kind = getattr(ax, "name", None)
    if not isinstance(kind, str) or not hasattr(ax, "get_xaxis_transform"):
        raise DataError(f"ax: {shown(ax)} is not the axes of a plot; take them from figure.subplots()")
    if kind != "rectilinear":
        raise DataError(f"ax: has the projection {kind!r}; take plain axes, from figure.subplots()")
    if ax.get_figure(root=True) is None:
        raise DataError("ax: has been removed from its figure; take other axes")
    return ax, False


def fitted(fit: Any, name: str = "fit") -> PosteriorRatio:
    """The caller's estimator, if it is one and fitted."""
    if not isinstance(fit, PosteriorRatio):
        raise DataError(f"{name}: must be a fitted estimator of this package, not {type(fit).__name__}")
    fit._fitted()
    return fit


def as_lines(lines: Any, name: str) -> tuple[str, ...]:
    """Lines of text."""
    lines = [lines] if isinstance(lines, str) else lines
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise DataError(f"{name}: {shown(lines)} is neither a text nor a sequence of texts")
    return tuple(lines)


def as_text(text: Any, name: str) -> str:
    """One text."""
    if not isinstance(text, str):
        raise DataError(f"{name}: {shown(text)} is not a text")
    return text


def label(name: str, length: int = NAME_LENGTH) -> str:
    r"""A name as text: on one line, cut in the middle if it is long, dollars kept from starting a formula.

    Examples
    --------
    >>> label("the number of days since the last payment in $")
    'the number of days…last payment in \\$'
    """
    name = " ".join(str(name).split()) or "(no name)"
    if len(name) > length:
        name = name[: length // 2].rstrip() + "…" + name[1 - length // 2 :].lstrip()
    return name.replace("$", r"\$")


def labels(names: Sequence[str], chosen: Sequence[int] | Index, length: int = NAME_LENGTH) -> list[str]:
    """Labels of the chosen names; those that would look the same are numbered by their place among all names.

    Examples
    --------
    >>> labels(["a very long name", "b", "a very wrong name"], [0, 1, 2], 12)
    ['a v…me #0', 'b', 'a v…me #2']
    """
    short = [label(names[i], length) for i in chosen]
    twice = {name for name in short if short.count(name) > 1}
    return [
        f"{label(names[i], length - 5)} #{i}" if name in twice else name for i, name in zip(chosen, short, strict=True)
    ]


def text_width(texts: Sequence[str], size: float = 9.0) -> float:
    """About how many inches the longest text is wide; to measure it, the figure would have to be drawn."""
    return 0.56 * size / 72.0 * max(map(len, texts), default=0)


def set_title(ax: Axes, own: bool, *lines: str, beside: float = 0.8) -> None:
    """Title of one or more lines, empty ones left out, wrapped to the width of the axes.

    On a figure of our own the axes are as wide as it is, less the inches of what stands ``beside`` them.
    """
    size = 11.0
    figure = ax.get_figure(root=True)
    assert figure is not None  # the axes are on a figure
    width = figure.get_figwidth() - beside if own else ax.get_position().width * figure.get_figwidth()
    characters = max(int(width / text_width(["x"], size)), 24)
    ax.set_title("\n".join(textwrap.fill(line, characters) for line in lines if line), fontsize=size)


def set_legend(ax: Axes, columns: int = 3) -> None:
    """Legend below the axes and their label, where it covers no data."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None  # the axes are on a figure
    below = ax.transAxes + ScaledTranslation(0.0, -38.0 / 72.0, figure.dpi_scale_trans)
    narrow = ax.get_position().width * figure.get_figwidth() < 3.5
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        ncols=2 if narrow else columns,
        fontsize=9,
        frameon=False,
        borderaxespad=0.0,
    )


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """One named row for each entry, from the top down."""
    ax.set_yticks(range(len(names)), names, fontsize=9 if len(names) < 25 else 8)
    ax.set_ylim(len(names) - 0.2, -0.8)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color=LIGHT, linewidth=0.6)
    ax.set_axisbelow(True)


def at_most(count: int, most: int) -> Index:
    """Indices of at most ``most`` evenly spread entries, first and last included."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))


def shown_of(shown: int, total: int, what: str = "features") -> str:
    """A note when not everything is shown."""
    return f"{shown} of {total} {what}" if shown < total else ""


def refusal(fit: PosteriorRatio, error: DataError) -> str:
    """Why a fit has no intervals, as a line of a title."""
    if fit.radius_ > 0.0:
        return f"no intervals: the radius {fit.radius_:.3g} shrinks δ"
    return f"no intervals: {str(error).split(': ', 1)[-1].split(';')[0]}"


def percent(level: float) -> str:
    """A confidence level in words."""
    return f"{100.0 * level:.4g} %"


def position(key: Any, names: Sequence[str], argument: str) -> int:
    """Index of a column or feature given by its index or its name."""
    if isinstance(key, str):
        if key not in names:
            raise DataError(f"{argument}: {key!r} is not among {', '.join(names[:10])}{', …' * (len(names) > 10)}")
        return list(names).index(key)
    whole = isinstance(key, int | np.integer) and not isinstance(key, bool)
    if not whole or not -len(names) <= key < len(names):
        raise DataError(f"{argument}: {shown(key)} is neither a name nor an index below {len(names)}")
    return int(key) % len(names)
