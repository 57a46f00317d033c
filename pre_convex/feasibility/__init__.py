"""Feasibility: distance from the target to the hull of the rows, separating directions, faces."""

from .exposed import Recession
from .hull import Hull, Position, minimal_radius

__all__ = ["Hull", "Position", "Recession", "minimal_radius"]
