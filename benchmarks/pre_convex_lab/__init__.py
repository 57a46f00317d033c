"""The laboratory of pre_convex: the solver benchmark, and the experiments of the source paper.

It imports the library; the library never imports it.
"""
