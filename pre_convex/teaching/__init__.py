"""Teaching material: lessons as scripts and notebooks, and the duality explorer, as a page and as a widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import MissingExtraError
from ..problem import RatioProblem
from .shown import state_of

if TYPE_CHECKING:
    from .widget import ExplorerWidget

__all__ = ["explore"]


def explore(problem: RatioProblem | None = None) -> ExplorerWidget:
    """Show a problem in the duality explorer, in a notebook; needs the extra ``widget``.

    Points, target, radius, divergence and bounds can be changed there, and every panel follows. The last line of a
    cell shows the widget; its attribute ``problem`` is the problem as it is shown now.

    Parameters
    ----------
    problem : RatioProblem, optional
        A problem with one or two features and at most 200 samples on each side, in memory; one radius, and one pair of
        bounds. Without a problem the explorer opens with its own questions.

    Returns
    -------
    ExplorerWidget

    Raises
    ------
    DataError
        If the explorer cannot show the problem; the error says why.
    MissingExtraError
        If anywidget is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import pre_convex as pre
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_q = rng.normal(0.5, 1.0, (30, 1)), rng.normal(0.0, 1.0, (40, 1))
    >>> widget = pre.explore(pre.RatioProblem.from_samples(x_p, x_q))
    >>> widget.problem
    RatioProblem(n_q=40, k=1, radius=0, norm=2)
    """
    if problem is not None:
        state_of(problem)  # what cannot be shown is said first
    try:
        from .widget import ExplorerWidget
    except ImportError as error:
        if error.name != "anywidget":
            raise
        raise MissingExtraError("anywidget", "widget") from None
    return ExplorerWidget(problem)
