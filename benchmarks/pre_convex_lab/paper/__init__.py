"""The experiments of the paper, run again; each is one module or package and one command.

An experiment is a module with

- ``TITLE``, the question it answers,
- ``run(setting) -> Outcome``, which computes the answer, and
- ``draw(data) -> Figure``, which draws the figure from ``Outcome.data``, so that a stored result can be drawn again.

To add one, write the module and add its name to ``EXPERIMENTS`` in ``record.py``.
"""

from .record import (
    EXPERIMENTS,
    Finding,
    Outcome,
    Setting,
    load_experiment,
    perform,
    read_outcome,
    summarise,
    write_outcome,
)

__all__ = [
    "EXPERIMENTS",
    "Finding",
    "Outcome",
    "Setting",
    "load_experiment",
    "perform",
    "read_outcome",
    "summarise",
    "write_outcome",
]
