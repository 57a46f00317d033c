"""The failure contract: what every bad input gets, as rows that ``tests/test_failures.py`` runs and the site shows.

A row names the entry point, the argument, the kind of bad input and the type of the error; messages are free. Functions
of ``kinds.py`` make all the rows of an argument that is a matrix, a number, …; the other modules hold the rows of one
part of the package each, as ``ROWS``.
"""
