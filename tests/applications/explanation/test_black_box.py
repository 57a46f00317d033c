"""Predictions of the black box and their checks."""

import numpy as np
import pytest
from black_boxes import SLOPES, X, linear
from sklearn.linear_model import LogisticRegression

import pre_convex as pre
from pre_convex.applications.explanation import explain
from pre_convex.applications.explanation.black_box import BlackBox


@pytest.mark.parametrize(
    "answer",
    [linear, lambda z: linear(z)[:, None], lambda z: np.column_stack([1 - linear(z), linear(z)]).astype("float32")],
)
def test_probabilities_may_have_one_or_two_columns_or_single_precision(answer):
    np.testing.assert_allclose(explain(answer, X, 0.5, 300, label=1).coef, SLOPES, atol=2e-5)


def test_probabilities_near_one_stay_accurate():
    """Where P rounds to one, the sum of the other columns is still accurate."""

    def sure(z):
        odds = z @ [1.0, -2.0] + 22.0
        return np.column_stack([np.exp(-odds) / (1 + np.exp(-odds)), 1 / (1 + np.exp(-odds))])

    np.testing.assert_allclose(explain(sure, [0.0, 0.0], 0.5, 300, label=1).coef, [1.0, -2.0], rtol=1e-6)


@pytest.mark.parametrize(
    "returned",
    [
        lambda z: np.zeros((2, 2)),
        lambda z: np.full(len(z), 9.0),
        lambda z: np.full(len(z), np.nan),
        lambda z: [np.ones((len(z), 1))] * 2,  # several targets
        lambda z: np.full((len(z), 1000), 0.00105),  # sum 1.05
    ],
)
def test_answers_that_are_not_probabilities_are_refused(returned):
    with pytest.raises(pre.DataError) as error:
        BlackBox(returned)(np.zeros((10, 3)))
    assert error.value.argument == "predict_proba"


def test_a_classifier_of_one_class_is_refused():
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.classes_ = np.array([0])
    with pytest.raises(pre.DataError) as error:
        BlackBox(model)
    assert error.value.argument == "predict_proba"
