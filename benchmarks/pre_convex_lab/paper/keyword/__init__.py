"""Keyword: finding a word in noisy speech with the paper's set-up, and with one that has a solution."""

from .experiment import TITLE, draw, run

__all__ = ["TITLE", "draw", "run"]
