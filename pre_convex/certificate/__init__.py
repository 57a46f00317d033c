"""Certificates: the lift, and the duality gap it proves."""
