"""Fidelity of a local classifier."""

import numpy as np
import pytest

from pre_convex.applications.explanation.fidelity import measure_fidelity


def test_auc_counts_weights_and_ties_and_needs_both_classes():
    answers, weights = np.array([0.9, 0.1, 0.8]), np.array([1.0, 2.0, 3.0])
    local = np.array([0.7, 0.4, 0.4])  # one tie between the classes, which counts half
    assert measure_fidelity(answers, local, weights, True).auc == pytest.approx((1.0 + 0.5 * 3.0) / 4.0)
    assert np.isnan(measure_fidelity(answers, local, np.array([1.0, 0.0, 1.0]), True).auc)
    assert np.isnan(measure_fidelity(answers + 1.0, local, weights, True).auc)
