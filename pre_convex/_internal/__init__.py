"""Helpers that every room may import: validation, linear algebra, log weights, random numbers, threads, progress."""
