"""Black boxes for the tests of explanation, as functions from points to probabilities."""

import numpy as np
from scipy.special import expit

SLOPES = np.array([2.0, -1.0, 0.0])
X = np.array([0.3, -0.2, 5.0])


def linear(z):
    """Log-odds that are linear in three features."""
    return expit(np.asarray(z) @ SLOPES + 0.7)


def bent(z):
    """Log-odds of two features that are not linear."""
    return expit(3.0 * np.sin(2.0 * z[:, 0]) + z[:, 1])


def sparse(z):
    """Log-odds in which only features 0 and 4 matter."""
    return expit(2.0 * z[:, 0] - 1.5 * z[:, 4] + 0.3)


def three_classes(z):
    """Three classes, of which the last is never the most probable."""
    odds = np.exp(np.column_stack([z[:, 0], -z[:, 0] + z[:, 1] ** 2, np.full(len(z), -3.0)]))
    return odds / odds.sum(axis=1, keepdims=True)
