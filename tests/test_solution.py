import pickle

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.certificate.certificate import Certificate
from pre_convex.solution import Solution, Status

PROOF = Certificate(3.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def solution(weights, **fields):
    return Solution(np.array([1.0, 2.0]), weights, Status.OPTIMAL, PROOF, "newton", "primal", 3, **fields)


def test_weights_are_computed_once_and_on_first_use():
    calls = []

    def weights():
        calls.append(1)
        return np.array([1.0, 0.0])

    later = solution(weights)
    assert not calls
    for _ in range(2):
        np.testing.assert_array_equal(later.mu, [1.0, 0.0])
    assert len(calls) == 1
    np.testing.assert_array_equal(solution(np.array([0.0, 1.0])).mu, [0.0, 1.0])


def test_attributes_are_read_only():
    for answer in (solution(np.array([0.0, 1.0])), pre.solve(pre.RatioProblem([0.25], [[0.0], [1.0]]))):
        for array in (answer.delta, answer.mu):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0
        with pytest.raises(AttributeError):
            answer.status = Status.FAILED


def test_a_pickled_solution_holds_its_weights():
    later = solution(lambda: np.array([1.0, 0.0]), claim="done")  # a function that cannot be pickled
    copy = pickle.loads(pickle.dumps(later))
    np.testing.assert_array_equal(copy.mu, [1.0, 0.0])
    assert (copy.status, copy.claim, copy.iterations, copy.gap) == (Status.OPTIMAL, "done", 3, 0.0)


def test_only_a_proven_answer_is_ok():
    assert [status for status in Status if status.ok] == [Status.OPTIMAL]
