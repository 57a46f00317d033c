"""Experiments that run with one command."""
