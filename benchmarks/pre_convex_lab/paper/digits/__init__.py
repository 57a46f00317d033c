"""Digits: which super-pixels explain what a network sees in a 6 or a 9, by PRE and by LIME."""

from .experiment import TITLE, draw, run

__all__ = ["TITLE", "draw", "run"]
