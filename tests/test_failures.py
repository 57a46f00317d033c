"""What every bad input gets: the kind of error, and a message that names the argument and the place."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from contract.parts import KNOWN, ROWS, TAKEN
from contract.rows import OwnError, matches
from zoo import planted

import pre_convex as pre

F = np.random.default_rng(0).normal(size=(20, 2))
X = np.random.default_rng(1).normal(size=(15, 2))


def broken(row=4, column=1, value=np.nan, of=F):
    x = of.copy()
    x[row, column] = value
    return x


DIRECT = {
    "nan in features": (lambda: pre.RatioProblem([0, 0], broken()), r"features_q: row 4, column 1 is nan"),
    "inf in features": (
        lambda: pre.RatioProblem([0, 0], broken(value=np.inf)),
        r"features_q: row 4.* is inf",
    ),
    "nan in target": (lambda: pre.RatioProblem([0, np.nan], F), r"target: entry 1 is nan"),
    "target of the wrong length": (
        lambda: pre.RatioProblem([0, 0, 0], F),
        r"target: has 3 entries for 2 columns",
    ),
    "nan in log_base": (
        lambda: pre.RatioProblem([0, 0], F, np.append(np.zeros(19), np.nan)),
        r"log_base: row 19 is nan",
    ),
    "+inf in log_base": (lambda: pre.RatioProblem([0, 0], F, np.full(20, np.inf)), r"log_base: row 0 is inf"),
    "all -inf": (lambda: pre.RatioProblem([0, 0], F, np.full(20, -np.inf)), r"log_base: every row is -inf"),
    "short log_base": (lambda: pre.RatioProblem([0, 0], F, np.zeros(3)), r"log_base: has 3 entries where 20"),
    "no rows": (lambda: pre.RatioProblem([0, 0], np.zeros((0, 2))), r"features_q: is empty, shape \(0, 2\)"),
    "no columns": (lambda: pre.RatioProblem([], np.zeros((5, 0))), r"features_q: is empty"),
    "three dimensions": (
        lambda: pre.RatioProblem([0, 0], np.zeros((2, 2, 2))),
        r"features_q: has 3 dimensions",
    ),
    "text": (
        lambda: pre.RatioProblem([0, 0], [["a", "b"]]),
        r"features_q: holds dtype <U1; pass real numbers",
    ),
    "mixed objects": (
        lambda: pre.RatioProblem([0, 0], np.array([[1, "b"]], dtype=object)),
        r"features_q: holds text",
    ),
    "complex": (lambda: pre.RatioProblem([0, 0], F + 1j), r"features_q: holds complex numbers"),
    "dates": (
        lambda: pre.RatioProblem([0], np.array([["2026-01-01"]], dtype="datetime64[D]")),
        r"features_q: holds dtype",
    ),
    "ragged": (lambda: pre.RatioProblem([0, 0], [[1.0], [1.0, 2.0]]), r"features_q: cannot be read"),
    "none": (lambda: pre.RatioProblem([0, 0], None), r"features_q: is None"),
    "masked": (lambda: pre.RatioProblem([0, 0], np.ma.masked_less(F, 0)), r"features_q: has masked entries"),
    "negative radius": (lambda: pre.RatioProblem([0, 0], F, radius=-1), r"radius: -1 is negative"),
    "nan radius": (lambda: pre.RatioProblem([0, 0], F, radius=np.nan), r"radius: is nan"),
    "radius as text": (lambda: pre.RatioProblem([0, 0], F, radius="big"), r"radius: 'big' is not a number"),
    "unknown norm": (
        lambda: pre.RatioProblem([0, 0], F, norm=3),
        r"norm: 3 is not known; use one of 2, inf, 1",
    ),
    "p weights without p features": (
        lambda: pre.RatioProblem([0, 0], F, log_weights_p=np.zeros(3)),
        r"features_p: is needed with log_weights_p",
    ),
    "p features that have another mean": (
        lambda: pre.RatioProblem([9, 9], F, features_p=F),
        r"target: is not the mean of features_p",
    ),
    "pairs that are none": (
        lambda: pre.RatioProblem(F[:9].mean(axis=0), F, features_p=F[:9], paired=True),
        r"paired: features_p has 9 rows and features_q 20",
    ),
    "a name twice": (lambda: pre.RatioProblem([0, 0], F, feature_names=["a", "a"]), r"feature_names: 'a' stands there"),
    "names as one text": (lambda: pre.RatioProblem([0, 0], F, feature_names="ab"), r"feature_names: must be a seq"),
    "numbers as text": (
        lambda: pre.RatioProblem([0, 0], np.array([["1", "2"]], dtype=object)),
        r"features_q: holds text",
    ),
    "too large": (lambda: pre.RatioProblem([0, 0], F * 1e150), r"features_q: holds .* beyond 1e\+100"),
    "names": (
        lambda: pre.RatioProblem([0, 0], F, feature_names=["a"]),
        r"feature_names: 1 names for 2 columns",
    ),
}
SAMPLES = {
    "nan in x_p": (lambda: pre.RatioProblem.from_samples(broken(of=X), X), r"x_p: row 4, column 1 is nan"),
    "empty x_q": (lambda: pre.RatioProblem.from_samples(X, np.zeros((0, 2))), r"x_q: is empty"),
    "a path": (lambda: pre.RatioProblem.from_samples(Path("p.npy"), X), r"x_p: is text .*RatioProblem.from_blocks"),
    "the name of a file": (lambda: pre.KLIEP().fit(X, "q.parquet"), r"x_q: is text .*RatioProblem.from_blocks"),
    "labels": (lambda: pre.KLIEP().fit(X, np.zeros(15)), r"x_q: has 1 columns, x_p has 2; .* RatioClassifier"),
    "other width": (lambda: pre.RatioProblem.from_samples(X, X[:, :1]), r"x_q: has 1 columns, x_p has 2"),
    "likelihood of the wrong length": (
        lambda: pre.RatioProblem.from_samples(X, X, np.zeros(3)),
        r"log_lik_p: has 3 entries where 15",
    ),
    "likelihood that returns a matrix": (
        lambda: pre.RatioProblem.from_samples(X, X, None, lambda x: x),
        r"log_lik_q: has shape \(15, 2\)",
    ),
    "likelihood that returns nan": (
        lambda: pre.RatioProblem.from_samples(X, X, lambda x: np.full(15, np.nan)),
        r"log_lik_p: row 0 is nan \(15 such entries\)",
    ),
    "unknown features": (
        lambda: pre.RatioProblem.from_samples(X, X, features="spline"),
        r"features: 'spline'",
    ),
    "features that are no map": (
        lambda: pre.RatioProblem.from_samples(X, X, features=3),
        r"features: 3 is neither",
    ),
    "features of the wrong shape": (
        lambda: pre.RatioProblem.from_samples(X, X, features=lambda x: x[:3]),
        r"features: returned shape \(3, 2\) for 15",
    ),
    "features that overflow": (
        lambda: pre.RatioProblem.from_samples(X, X, features=lambda x: x / 0.0),
        r"features\(x_p\): row 0, column 0 is",
    ),
    "paired rows": (
        lambda: pre.RatioProblem.from_samples(X, X[:9], paired=True),
        r"paired: x_p has 15 rows and x_q 9",
    ),
    "degree": (lambda: pre.Polynomial(0), r"degree: 0"),
    "precision": (lambda: pre.Gaussian([0.0], -1.0), r"precision: -1.0 is not positive"),
}
SOLVE = {
    "no problem": (lambda: pre.solve(F), r"problem: must be a RatioProblem, not ndarray"),
    "formulation": (lambda: pre.solve(planted()[0], "mixed"), r"formulation: 'mixed' is not known"),
    "tolerance": (lambda: pre.solve(planted()[0], tol=0.0), r"tol: 0.0 is not between 0 and 1"),
    "penalty that is no function": (
        lambda: pre.solve(planted()[0], penalty=3),
        r"penalty: must be a function",
    ),
    "penalty that is no expression": (
        lambda: pre.solve(planted()[0], penalty=lambda d: 3),
        r"penalty: must return one convex",
    ),
    "concave penalty": (
        lambda: pre.solve(planted()[0], penalty=lambda d: -(d[0] ** 2)),
        r"penalty: must return one convex",
    ),
    "constraints": (
        lambda: pre.solve(planted()[0], constraints=lambda d: [1]),
        r"constraints: entry 0 is not",
    ),
    "dual with a penalty": (
        lambda: pre.solve(planted()[0], "dual", "CLARABEL", constraints=lambda d: [d >= 0]),
        r"use formulation='primal'",
    ),
    "delta of the wrong length": (lambda: pre.certify(planted()[0], [1.0]), r"delta: has 1 entries where 3"),
    "mu of the wrong length": (
        lambda: pre.certify(planted()[0], np.zeros(3), [1.0]),
        r"mu: has 1 entries where 200",
    ),
    "delta with nan": (lambda: planted()[0].value([np.nan, 0, 0]), r"delta: entry 0 is nan"),
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_bad_input_is_refused_in_words(row):
    with pytest.raises(row.error) as error:
        row.call()
    assert type(error.value) is row.error
    assert row.error in (OwnError, IndexError) or isinstance(error.value, pre.PreConvexError)
    if row.error is OwnError:  # as it was raised, with a note that names the argument
        (note,) = error.value.__notes__
        assert row.argument in note
        assert note.endswith(": this was raised by the function that was passed")
    assert matches(row.says, str(error.value)), str(error.value)


@pytest.mark.parametrize("row", TAKEN, ids=lambda row: row.name)
def test_unusual_input_that_is_good_is_taken(row):
    np.testing.assert_allclose(row.call(row.unusual()), row.call(row.plain()), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row.name)
def test_input_at_the_edge_gets_the_answer_that_is_known(row):
    answer = row.call()
    if isinstance(row.answer, str | bool):
        assert answer == row.answer
    else:
        np.testing.assert_allclose(answer, row.answer, rtol=1e-9, atol=1e-9)


def test_a_row_stands_there_once():
    names = [row.name for row in [*ROWS, *TAKEN, *KNOWN]]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("case", {**DIRECT, **SAMPLES, **SOLVE})
def test_bad_input(case):
    call, message = {**DIRECT, **SAMPLES, **SOLVE}[case]
    with pytest.raises(pre.DataError, match=message) as error:
        call()
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, pre.PreConvexError)


@pytest.mark.parametrize("name", ["GUROBI", "clarabell", "", 3])
def test_unknown_solver(name):
    with pytest.raises(pre.UnknownSolverError, match="solver: "):
        pre.solve(planted()[0], solver=name)


def test_a_known_solver_that_is_not_installed_is_named_as_such():
    if "MOSEK" in pre.installed_solvers():
        pytest.skip("MOSEK is installed here")
    with pytest.raises(pre.UnknownSolverError, match="known but not installed; installed are newton, CLARABEL"):
        pre.solve(planted()[0], solver="MOSEK")


def test_solver_names_are_taken_in_any_case():
    assert pre.solve(planted()[0], solver="clarabel").solver == "CLARABEL"


def test_sparse_matrices_are_refused():
    sparse = pytest.importorskip("scipy.sparse").csr_array(F)
    with pytest.raises(pre.DataError, match="features_q: sparse matrices are not taken"):
        pre.RatioProblem([0, 0], sparse)


def test_frames_with_missing_values_and_text_name_the_column():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": [1.0, None, 3.0], "town": ["a", "b", "c"]})
    with pytest.raises(pre.DataError, match="x_p: column 'town' has type"):
        pre.RatioProblem.from_samples(frame, frame)
    with pytest.raises(pre.DataError, match="x_p: row 1, column 'age' is nan"):
        pre.RatioProblem.from_samples(frame[["age"]], frame[["age"]])
    other = frame.rename(columns={"age": "years"})
    with pytest.raises(pre.DataError, match="x_q: its columns differ from those of x_p in age, years; give both"):
        pre.RatioProblem.from_samples(frame[["age"]], other[["years"]])


def test_arrays_of_any_layout_give_the_same_problem():
    problem, delta = planted()
    x = problem.features_q
    layouts = [
        np.asfortranarray(x),
        np.repeat(x, 2, axis=0)[::2],
        x.astype(np.float64).T.copy().T,
        x.tolist(),
    ]
    for layout in layouts:
        other = pre.RatioProblem(problem.target, layout, problem.log_base)
        np.testing.assert_allclose(pre.solve(other).delta, delta, atol=1e-8)
    single = pre.RatioProblem(problem.target, x.astype(np.float32), problem.log_base)
    assert single.features_q.dtype == np.float64


def test_errors_survive_pickling():
    with pytest.raises(pre.InfeasibleError) as error:
        pre.solve(pre.RatioProblem([5.0], [[0.0], [1.0]]))
    copy = pickle.loads(pickle.dumps(error.value))
    assert copy.minimal_radius == pytest.approx(4.0)
    assert str(copy) == str(error.value)
    assert pickle.loads(pickle.dumps(pre.MissingExtraError("rich", "cli"))).extra == "cli"


def test_problems_and_solutions_survive_pickling():
    problem, delta = planted()
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.value(delta) == problem.value(delta)
    solution = pickle.loads(pickle.dumps(pre.solve(problem, "dual", "CLARABEL")))
    assert solution.status is pre.Status.OPTIMAL


def test_check_false_returns_the_facts_that_check_true_raises():
    problem = pre.RatioProblem([5.0], [[0.0], [1.0]])
    solution = pre.solve(problem, check=False)
    assert solution.status is pre.Status.INFEASIBLE
    with pytest.raises(pre.InfeasibleError) as error:
        pre.solve(problem)
    assert error.value.solution.status is solution.status
    assert error.value.minimal_radius == solution.hull.radius
