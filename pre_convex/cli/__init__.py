"""The command line; adding a command is a file and its line here."""

from . import demo, experiment, fit, solvers  # in the order of the help page
from .app import app, run

__all__ = ["app", "demo", "experiment", "fit", "run", "solvers"]
