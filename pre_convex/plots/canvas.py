"""Shared parts of all figures: colours, figures that need no display, titles that fit, labels."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.escaping import for_terminal
from .._internal.typing import Index
from .._internal.validation import preview
from ..errors import DataError, MissingExtraError
from ..estimators.posterior_ratio import PosteriorRatio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Figure

# Okabe and Ito's palette, which is safe for colour-blind readers
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"
SKY, AMBER, PINK = "#56B4E9", "#E69F00", "#CC79A7"
LIGHT = "#e6e6e6"

#: maximum number of features in a figure
MAX_NAMES = 40
#: maximum length of a name
NAME_LENGTH = 36


def new_figure(width: float, height: float) -> Figure:
    """A figure that needs no display and is freed when its caller drops it."""
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
        raise DataError("ax", f"{preview(ax)} is not the axes of a plot", "pass axes of figure.subplots()")
    if kind != "rectilinear":
        raise DataError("ax", f"has the projection {kind!r}", "pass plain axes of figure.subplots()")
    if ax.get_figure(root=True) is None:
        raise DataError("ax", "has been removed from its figure", "pass axes of a figure")
    return ax, False


def as_fit(fit: Any) -> PosteriorRatio:
    """The caller's estimator, checked to be fitted."""
    if not isinstance(fit, PosteriorRatio):
        raise DataError(
            "fit", f"is a {type(fit).__name__}, not an estimator of this package", "pass a fitted estimator"
        )
    fit._check_fitted()
    return fit


def as_lines(lines: Any, name: str) -> tuple[str, ...]:
    """One or several lines of text, as a tuple."""
    lines = [lines] if isinstance(lines, str) else lines
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise DataError(name, f"{preview(lines)} is neither a string nor a list of strings", "pass strings")
    return tuple(lines)


def as_text(text: Any, name: str) -> str:
    """A string."""
    if not isinstance(text, str):
        raise DataError(name, f"{preview(text)} is not a string", "pass a string")
    return text


def label(name: str, length: int = NAME_LENGTH) -> str:
    r"""A name for a label: on one line, cut in the middle if it is long, with dollar signs escaped.

    Examples
    --------
    >>> label("the number of days since the last payment in $")
    'the number of days…last payment in \\$'
    """
    name = for_terminal(" ".join(str(name).split())) or "(no name)"
    if len(name) > length:
        name = name[: length // 2].rstrip() + "…" + name[1 - length // 2 :].lstrip()
    return name.replace("$", r"\$")


def labels(names: Sequence[str], chosen: Sequence[int] | Index, length: int = NAME_LENGTH) -> list[str]:
    """Labels of the chosen names; names that would look the same get the index of their feature.

    Examples
    --------
    >>> labels(["a very long name", "b", "a very wrong name"], [0, 1, 2], 12)
    ['a v…me #0', 'b', 'a v…me #2']
    """
    short = [label(names[i], length) for i in chosen]
    ambiguous = {name for name in short if short.count(name) > 1}
    return [
        f"{label(names[i], length - 5)} #{i}" if name in ambiguous else name
        for i, name in zip(chosen, short, strict=True)
    ]


def text_width(texts: Sequence[str], size: float = 9.0) -> float:
    """Approximate width of the longest text in inches; measuring it would need the figure to be drawn."""
    return 0.56 * size / 72.0 * max(map(len, texts), default=0)


def set_title(ax: Axes, is_new: bool, *lines: str, margin: float = 0.8) -> None:
    """Title of one or more lines, wrapped to the width of the axes; empty lines are left out.

    On a new figure (``is_new``) the axes are taken to be as wide as the figure less ``margin`` inches, because its
    layout is not known before it is drawn.
    """
    size = 11.0
    figure = ax.get_figure(root=True)
    assert figure is not None  # the axes are on a figure
    width = figure.get_figwidth() - margin if is_new else ax.get_position().width * figure.get_figwidth()
    characters = max(int(width / text_width(["x"], size)), 24)
    ax.set_title("\n".join(textwrap.fill(line, characters) for line in lines if line), fontsize=size)


def set_legend(ax: Axes, columns: int = 3) -> None:
    """Legend below the axes and their label, so that it covers no data."""
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
    """One labelled row per name, from the top down."""
    ax.set_yticks(range(len(names)), names, fontsize=9 if len(names) < 25 else 8)
    ax.set_ylim(len(names) - 0.2, -0.8)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color=LIGHT, linewidth=0.6)
    ax.set_axisbelow(True)


def thin(count: int, most: int) -> Index:
    """Indices of at most ``most`` evenly spaced entries, including the first and the last."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))


def shown_of(shown: int, total: int, what: str = "features") -> str:
    """A note such as "40 of 60 features" if not everything is shown, otherwise an empty string."""
    return f"{shown} of {total} {what}" if shown < total else ""


def no_intervals(error: DataError) -> str:
    """Line of a title that says why a fit has no intervals."""
    return f"no intervals: {error.reason}"


def percent(level: float) -> str:
    """A confidence level as a percentage."""
    return f"{100.0 * level:.4g} %"


def position(key: Any, names: Sequence[str], argument: str) -> int:
    """Index of a column or feature that is given by index or by name."""
    if isinstance(key, str):
        if key not in names:
            known = ", ".join(names[:10]) + ", …" * (len(names) > 10)
            raise DataError(argument, f"{key!r} is not known", f"use one of {known}")
        return list(names).index(key)
    is_index = isinstance(key, int | np.integer) and not isinstance(key, bool)
    if not is_index or not -len(names) <= key < len(names):
        raise DataError(
            argument, f"{preview(key)} is neither a name nor an index", f"pass a name, or 0 to {len(names) - 1}"
        )
    return int(key) % len(names)
