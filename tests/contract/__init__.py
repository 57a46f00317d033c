"""The failure contract: what every bad input gets, as rows that ``tests/test_failures.py`` runs and the site shows.

A row names the entry point, the argument, the kind of input, the error and its words. ``kinds.py`` has the kinds and
makes a whole set of rows from one call; the other modules hold the rows, by part of the package, each as ``ROWS``.
"""
