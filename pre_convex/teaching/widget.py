"""The explorer as a widget for notebooks; the only module that imports anywidget."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from ..problem import RatioProblem
from .explorer import page
from .shown import problem_of, state_of

__all__ = ["ExplorerWidget"]


def _script() -> str:
    """The widget's JavaScript module, with the page inside: it needs neither files nor a network."""
    source = files(__package__).joinpath("widget.js").read_text(encoding="utf-8")
    return source.replace('"/*page*/"', json.dumps(page()))


class ExplorerWidget(anywidget.AnyWidget):
    """The explorer in a notebook, as :func:`~pre_convex.explore` makes it.

    Parameters
    ----------
    problem : RatioProblem, optional
        The problem to show; without one, the explorer opens with its own questions.
    """

    _esm = _script()
    #: the state set from Python, and the state after changes in the page
    _given = traitlets.Dict().tag(sync=True)
    _shown = traitlets.Dict().tag(sync=True)

    def __init__(self, problem: RatioProblem | None = None, **options: Any) -> None:
        super().__init__(_given={} if problem is None else state_of(problem), **options)

    @property
    def problem(self) -> RatioProblem | None:
        """The problem as it is shown now, with every point that has been moved; set it to show another."""
        state = self._shown or self._given
        return problem_of(state) if state else None

    @problem.setter
    def problem(self, problem: RatioProblem) -> None:
        state = state_of(problem)
        with self.hold_sync():
            self._shown, self._given = {}, state
