"""The command line, ``pre-convex``."""
