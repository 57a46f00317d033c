"""The paper's experiments, each one file and one command; adding one is a file and its name here.

An experiment is a module with

- ``TITLE``, a line that says what it decides,
- ``run(setting) -> Outcome``, which computes, and
- ``draw(data) -> Figure``, which draws what ``Outcome.data`` holds, so that a stored result can be drawn again.
"""

from .record import EXPERIMENTS, Finding, Outcome, Setting, load_experiment, perform, read_outcome, write_outcome

__all__ = [
    "EXPERIMENTS",
    "Finding",
    "Outcome",
    "Setting",
    "load_experiment",
    "perform",
    "read_outcome",
    "write_outcome",
]
