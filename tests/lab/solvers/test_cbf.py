"""Files in the Conic Benchmark Format: an independent reader and solver find the known answers in them."""

import csv
import gzip

import cbf_reader
import numpy as np
import pytest
from pre_convex_lab.solvers.cases import Case, Truth
from pre_convex_lab.solvers.cbf import export_cbf, write_cbf
from pre_convex_lab.solvers.sets import load_set
from zoo import planted

from pre_convex import RatioProblem, solve
from pre_convex.errors import DataError

BOTH = ("primal", "dual")
SOLVERS = {"CLARABEL": cbf_reader.solve_clarabel, "SCS": cbf_reader.solve_scs}
RADII = [(0.0, 2), (0.05, 2), (0.05, np.inf), (0.05, 1)]


def solved(case, path, formulation, solver="CLARABEL"):
    return SOLVERS[solver](cbf_reader.read(write_cbf(case, path, formulation)))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", BOTH)
@pytest.mark.parametrize(("radius", "norm"), RADII)
def test_programs_have_the_known_answer(solver, formulation, radius, norm, tmp_path):
    problem, delta = planted(n=40, k=3, seed=1, radius=radius, norm=norm)
    status, value, x = solved(problem, tmp_path / "case.cbf", formulation, solver)
    assert status == "optimal"
    assert value == pytest.approx(problem.value(delta), abs=1e-6)
    answer = delta if formulation == "primal" else np.exp(problem.log_mu(delta))  # the first variables
    assert x[: answer.size] == pytest.approx(answer, abs=1e-4)


@pytest.mark.parametrize("formulation", BOTH)
def test_norms_are_not_mixed_up(formulation, tmp_path):
    """With the same target, the three norms have three different values."""
    problem, _ = planted(n=40, k=3, seed=2)
    values = []
    for norm in (1, 2, np.inf):
        relaxed = problem.with_radius(0.1, norm)
        values.append(solve(relaxed).primal_value)
        assert solved(relaxed, tmp_path / "case.cbf", formulation)[1] == pytest.approx(values[-1], abs=1e-7)
    assert np.ptp(values) > 1e-3


@pytest.mark.parametrize("solver", SOLVERS)
def test_infeasible_problems_are_recognised(solver, tmp_path):
    case = load_set("smoke").cases[3]
    assert case.truth is Truth.INFEASIBLE
    assert solved(case, tmp_path / "case.cbf", "primal", solver)[0] == "unbounded"
    assert solved(case, tmp_path / "case.cbf", "dual", solver)[0] == "infeasible"


def test_boundary_problems_have_the_known_value(tmp_path):
    case = load_set("smoke").cases[2]
    for formulation in BOTH:
        _, value, _ = solved(case, tmp_path / "case.cbf", formulation)
        assert value == pytest.approx(case.value, abs=1e-5)


@pytest.mark.parametrize("formulation", BOTH)
def test_rows_without_weight_are_left_out(formulation, tmp_path):
    problem, delta = planted(n=30, k=2, seed=3)
    a = np.append(problem.log_base, -np.inf)
    wider = RatioProblem(problem.target, np.vstack([problem.features_q, [[1e3, 1e3]]]), a)
    case = Case("wider", wider, Truth.OPTIMAL, problem.value(delta), delta)
    path = write_cbf(case, tmp_path / "case.cbf", formulation)
    assert [name for name, _ in cbf_reader.read(path).constraints].count("EXP") == 30
    assert any("left out" in comment and comment.endswith(" 1") for comment in cbf_reader.read(path).comments)
    assert solved(case, path, formulation)[1] == pytest.approx(case.value, abs=1e-7)


@pytest.mark.parametrize("formulation", BOTH)
def test_numbers_are_written_exactly(formulation, tmp_path):
    rng = np.random.default_rng(4)
    F = rng.normal(size=(50, 4)) * 10.0 ** rng.integers(-12, 12, size=(50, 4))
    problem = RatioProblem(F.mean(axis=0), F, rng.normal(size=50), radius=1 / 3, norm=1)
    program = cbf_reader.read(write_cbf(problem, tmp_path / "case.cbf", formulation))
    A = program.A.tocsr()
    if formulation == "primal":
        cones = A[-150:]
        assert np.array_equal(cones[2::3, :4].toarray(), F)
        assert np.array_equal(program.b[-150:][2::3], problem.log_base)
        assert np.array_equal(program.c[:4], -problem.target)
        assert program.c[5] == 1 / 3
    else:
        assert np.array_equal(A[1:5, :50].toarray(), -F.T)
        assert np.array_equal(program.b[1:5], problem.target)
        assert np.array_equal(program.c[:50], problem.log_base)
        assert 1 / 3 in program.b


def test_zeros_are_not_written(tmp_path):
    problem = RatioProblem([0.2, 0.0], [[1.0, 0.0], [0.0, -0.0], [0.0, 1.0]])
    program = cbf_reader.read(write_cbf(problem, tmp_path / "case.cbf", "primal"))
    assert np.all(program.A.data != 0.0)
    assert program.A.nnz == 3 + 3 + 3 + 2  # Σu, u, t, F


def test_comments_give_the_known_answer(tmp_path):
    smoke = load_set("smoke")
    comments = cbf_reader.read(write_cbf(smoke.cases[0], tmp_path / "a.cbf", "dual")).comments
    assert "'plain'" in comments[0]
    assert "dual" in comments[0]
    assert f"optimal value: {smoke.cases[0].value!r}" in comments
    edge = cbf_reader.read(write_cbf(smoke.cases[2], tmp_path / "a.cbf", "primal")).comments
    assert any("not attained" in comment for comment in edge)
    odd = Case("ü\n" * 900, smoke.cases[0].problem, Truth.OPTIMAL, 0.0)
    assert cbf_reader.read(write_cbf(odd, tmp_path / "a.cbf", "primal")).comments  # lines are short and ASCII


def test_export_writes_every_case_and_its_answer(tmp_path):
    smoke = load_set("smoke")
    paths = export_cbf(smoke, tmp_path)
    assert len(paths) == 9
    first = {path.name: path.read_bytes() for path in paths}
    export_cbf(smoke, tmp_path)
    assert first == {path.name: path.read_bytes() for path in paths}, "a second export has different bytes"
    with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == [*["optimal"] * 4, "not attained", "optimal", "unbounded", "infeasible"]
    for row in rows:
        status, value, _ = cbf_reader.solve_clarabel(cbf_reader.read(tmp_path / row["file"]))
        if row["status"] == "optimal":
            assert value == pytest.approx(float(row["value"]), abs=1e-6)
        elif row["status"] != "not attained":
            assert status == row["status"]
    assert [path.name for path in export_cbf(smoke, tmp_path / "one", ["dual"])][:2] == [
        "000-plain.dual.cbf.gz",
        "001-radius.dual.cbf.gz",
    ]


def test_compressed_and_plain_are_the_same(tmp_path):
    case = load_set("smoke").cases[1]
    plain = write_cbf(case, tmp_path / "a.cbf", "dual").read_bytes()
    assert gzip.decompress(write_cbf(case, tmp_path / "a.cbf.gz", "dual").read_bytes()) == plain


def test_errors_name_the_argument_and_leave_no_file(tmp_path):
    case = load_set("smoke").cases[0]
    (tmp_path / "file").write_text("")
    for argument, call in (
        ("formulation", lambda: write_cbf(case, tmp_path / "a.cbf", "both")),
        ("path", lambda: write_cbf(case, tmp_path / "none" / "a.cbf", "dual")),
        ("folder", lambda: export_cbf(load_set("smoke"), tmp_path / "file")),
    ):
        with pytest.raises(DataError) as error:
            call()
        assert error.value.argument == argument
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
