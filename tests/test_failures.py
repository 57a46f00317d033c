"""The failure contract: every bad input raises the promised error, which names the argument and offers a remedy."""

import ast
import inspect
import pickle
import traceback
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from contract.complete import EXEMPT, MADE_HERE, entry_points, exempt, kinds_of, missing, parameters, public
from contract.parts import KNOWN, ROWS, TAKEN
from contract.rows import OwnError
from zoo import planted

import pre_convex as pre


def by_argument(rows):
    """Rows grouped by argument: one test for each row would cost more than the rows."""
    groups = {}
    for row in rows:
        groups.setdefault(f"{row.entry}({row.argument})", []).append(row)
    return [pytest.param(group, id=name) for name, group in groups.items()]


@pytest.mark.parametrize("rows", by_argument(ROWS))
def test_bad_input_raises_an_error_that_names_the_argument(rows):
    for row in rows:
        error = row.raised
        assert type(error) is row.error, f"{row.name}: {error!r}"
        named = row.named or row.argument
        if isinstance(error, pre.DataError):
            assert error.argument == named, f"{row.name}: {error}"
            assert error.argument in str(error)
            assert error.reason, row.name
        elif isinstance(error, OwnError):  # raised unchanged, with a note that names the argument
            (note,) = error.__notes__
            assert row.argument in note
        elif isinstance(error, pre.InfeasibleError):
            assert error.minimal_radius > 0.0
            assert np.all(np.isfinite(error.direction))
        elif isinstance(error, pre.SeparationError):
            assert np.isclose(np.linalg.norm(error.direction), 1.0)
        else:
            assert isinstance(error, IndexError)


def test_every_data_error_offers_a_remedy():
    root, without = Path(pre.__file__).parents[1], {}
    for row in ROWS:
        error = row.raised
        if isinstance(error, pre.DataError) and not error.remedy:
            place = traceback.extract_tb(error.__traceback__)[-1]
            without[f"{Path(place.filename).relative_to(root)}:{place.lineno}"] = f"{row.name}: {error}"
    assert not without, "no remedy:\n" + "\n".join(f"{place} {what}" for place, what in sorted(without.items()))


def test_no_data_error_is_written_without_a_remedy():
    root = Path(pre.__file__).parents[1]
    errors = {"DataError", *(error.__name__ for error in pre.DataError.__subclasses__())}
    without = []
    for path in [*root.glob("pre_convex/**/*.py"), *root.glob("benchmarks/pre_convex_lab/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in errors:
                last = node.args[-1] if node.args else None
                if isinstance(last, ast.Constant) and last.value == "":
                    without.append(f"{path.relative_to(root)}:{node.lineno}")
    assert not without, f"{len(without)} without a remedy:\n" + "\n".join(without)


@pytest.mark.parametrize("rows", by_argument(TAKEN))
def test_unusual_but_valid_input_is_accepted(rows):
    for row in rows:
        np.testing.assert_allclose(
            row.call(row.unusual()), row.call(row.plain()), rtol=1e-10, atol=1e-12, err_msg=row.name
        )


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row.name)
def test_edge_cases_have_the_known_answer(row):
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
    objects = public()
    for entry in {row.entry for row in [*ROWS, *TAKEN, *KNOWN]}:
        name, _, method = entry.partition(".")
        if name in objects and method:
            attrgetter(method)(objects[name])


def test_every_array_has_a_row_for_every_kind():
    for (_, parameter), entries in parameters().items():
        if not exempt(entries, parameter):
            assert not missing(kinds_of(entries, parameter), parameter), f"{sorted(entries)[0]}({parameter})"


def test_reasons_are_about_something_that_exists():
    known = {name for name, _ in entry_points()}
    known |= {f"{name}.{parameter}" for name, f in entry_points() for parameter in inspect.signature(f).parameters}
    assert set(EXEMPT) <= known
    assert set(MADE_HERE) <= set(public())


def test_rows_have_different_names():
    names = [row.name for row in [*ROWS, *TAKEN, *KNOWN]]
    assert sorted(set(names)) == sorted(names)


def test_a_known_solver_that_is_not_installed_is_named_as_such():
    if "MOSEK" in pre.installed_solvers():
        pytest.skip("MOSEK is installed here")
    with pytest.raises(pre.UnknownSolverError, match="not installed"):
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
