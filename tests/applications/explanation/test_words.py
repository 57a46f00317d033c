"""Texts whose words are on or off."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import pre_convex as pre
from pre_convex.applications.explanation import Words, explain


def test_words_of_a_linear_classifier_are_recovered_exactly():
    texts = ["good film", "bad film", "a good and fine film", "a bad and dull film", "fine", "dull"] * 5
    model = make_pipeline(CountVectorizer(binary=True), LogisticRegression()).fit(texts, [1, 0, 1, 0, 1, 0] * 5)
    found = explain(model, "A good but dull film, good!", n=400, label=1)
    assert found.names == ("A", "good", "but", "dull", "film")
    weights = dict(zip(model[0].get_feature_names_out(), model[1].coef_[0], strict=True))
    expected = [0.0, weights["good"], 0.0, weights["dull"], weights["film"]]
    np.testing.assert_allclose(found.coef, expected, atol=1e-5)
    near = found.near
    assert near.inputs(near.origin[None, :], None) == ["A good but dull film, good!"]
    np.testing.assert_allclose(found.decision_function("good film"), found.decision_function([[0, 1, 0, 0, 1]]))
    np.testing.assert_allclose(found.decision_function("goodness"), found.decision_function([[0, 0, 0, 0, 0]]))


def test_every_occurrence_of_a_word_can_be_a_feature():
    near = Words(together=False, mask="[MASK]").around("to be or not to be")
    assert near.names == ("to (1)", "be (1)", "or", "not", "to (2)", "be (2)")
    assert near.inputs(np.array([[1.0, 0, 1, 1, 0, 1]]), None) == ["to [MASK] or not [MASK] be"]
    with pytest.raises(pre.DataError) as error:
        near.encode("to be")
    assert error.value.argument == "z"
