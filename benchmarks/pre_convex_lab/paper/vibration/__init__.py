"""Vibration: changes in a real sensor series, detected by PRE with fitted priors and by ruptures."""

from .experiment import TITLE, draw, run

__all__ = ["TITLE", "draw", "run"]
