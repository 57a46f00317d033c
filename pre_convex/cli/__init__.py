"""The command line; adding a command is a file and its line here."""

from . import bench, demo, detect, experiment, explore, fit, solvers, teach  # in the order of the help page
from .app import app, run

__all__ = ["app", "bench", "demo", "detect", "experiment", "explore", "fit", "run", "solvers", "teach"]
