"""Samples, features, kernels and likelihoods; rows and passes over them, in memory, in files or on Dask."""
