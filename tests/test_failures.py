"""What every bad input gets: the kind of error, and a message that names the argument and the place."""

import inspect
import pickle
from operator import attrgetter

import numpy as np
import pytest
from contract.complete import EXEMPT, MADE_HERE, entry_points, exempt, kinds_of, missing, parameters, public
from contract.parts import KNOWN, ROWS, TAKEN
from contract.rows import OwnError, matches
from zoo import planted

import pre_convex as pre


def by_argument(rows):
    """Rows of each argument: a test for every row would cost more than what it runs."""
    found = {}
    for row in rows:
        found.setdefault(f"{row.entry}({row.argument})", []).append(row)
    return [pytest.param(group, id=name) for name, group in found.items()]


@pytest.mark.parametrize("rows", by_argument(ROWS))
def test_bad_input_is_refused_in_words(rows):
    for row in rows:
        refused(row)


def refused(row):
    """Check the error that a row is about."""
    with pytest.raises(row.error) as error:
        row.call()
    assert type(error.value) is row.error
    assert row.error in (OwnError, IndexError) or isinstance(error.value, pre.PreConvexError)
    if row.error is OwnError:  # as it was raised, with a note that names the argument
        (note,) = error.value.__notes__
        assert row.argument in note
        assert note.endswith(": this was raised by the function that was passed")
    assert matches(row.says, str(error.value)), f"{row.name}: {error.value}"


@pytest.mark.parametrize("rows", by_argument(TAKEN))
def test_unusual_input_that_is_good_is_taken(rows):
    for row in rows:
        found, wanted = row.call(row.unusual()), row.call(row.plain())
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12, err_msg=row.name)


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row.name)
def test_input_at_the_edge_gets_the_answer_that_is_known(row):
    answer = row.call()
    if isinstance(row.answer, str | bool):
        assert answer == row.answer
    else:
        np.testing.assert_allclose(answer, row.answer, rtol=1e-9, atol=1e-9)


def test_every_parameter_of_an_entry_point_has_a_row_or_a_reason():
    for (_, parameter), entries in parameters().items():
        if not exempt(entries, parameter):
            assert kinds_of(entries, parameter), f"{sorted(entries)[0]}({parameter})"


def test_every_row_is_about_an_entry_point():
    there = public()
    for entry in {row.entry for row in [*ROWS, *TAKEN, *KNOWN]}:
        name, _, method = entry.partition(".")
        if name in there and method:
            attrgetter(method)(there[name])


def test_every_array_has_a_row_for_every_kind():
    for (_, parameter), entries in parameters().items():
        if not exempt(entries, parameter):
            assert not missing(kinds_of(entries, parameter), parameter), f"{sorted(entries)[0]}({parameter})"


def test_reasons_are_about_something_that_exists():
    there = {name for name, _ in entry_points()}
    there |= {f"{name}.{parameter}" for name, f in entry_points() for parameter in inspect.signature(f).parameters}
    assert set(EXEMPT) <= there
    assert set(MADE_HERE) <= set(public())


def test_a_row_stands_there_once():
    names = [row.name for row in [*ROWS, *TAKEN, *KNOWN]]
    assert sorted(set(names)) == sorted(names)


def test_a_known_solver_that_is_not_installed_is_named_as_such():
    if "MOSEK" in pre.installed_solvers():
        pytest.skip("MOSEK is installed here")
    with pytest.raises(pre.UnknownSolverError, match="known but not installed; installed are newton, CLARABEL"):
        pre.solve(planted()[0], solver="MOSEK")


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
