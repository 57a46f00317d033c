"""Helpers for all modules: validation, linear algebra, log weights, random numbers, threads, progress."""
