"""The answers that the sets claim are true, and newton finds them."""

from fractions import Fraction

import numpy as np
import pytest
from pre_convex_lab.solvers.case_files import checksum
from pre_convex_lab.solvers.cases import Truth
from pre_convex_lab.solvers.contenders import find_contender
from pre_convex_lab.solvers.metrics import Verdict, judge
from pre_convex_lab.solvers.sets import DEFAULT_SETS, SETS, load_set

import pre_convex as pre

CASES = {name: load_set(name).cases for name in SETS}


def cases_with(truth):
    """Parameters of a test: all cases of a truth."""
    return [
        pytest.param(case, id=f"{name}-{case.name}") for name in SETS for case in CASES[name] if case.truth is truth
    ]


@pytest.mark.parametrize("name", SETS)
def test_a_set_is_reproducible_and_its_names_are_unique(name):
    assert checksum(load_set(name)) == checksum(load_set(name))
    names = [case.name for case in CASES[name]]
    assert len(set(names)) == len(names) >= 4


@pytest.mark.parametrize("case", cases_with(Truth.OPTIMAL))
def test_known_answers_are_optimal(case):
    certificate = pre.certify(case.problem, case.delta)
    # if there are more columns than rows, some are combinations of others, each with the round-off of k products
    accuracy = 1e-12 * max(100, case.problem.k)
    assert certificate.gap <= accuracy * (1.0 + abs(case.value)) + certificate.noise
    assert certificate.noise <= 1e-8  # reached by columns whose mean is a million times their spread
    assert certificate.primal_value == pytest.approx(case.value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("case", cases_with(Truth.INFEASIBLE))
def test_infeasible_targets_are_separated_in_exact_arithmetic(case):
    problem = case.problem
    v = [Fraction(x) for x in pre.minimal_radius(problem).direction.tolist()]

    def height(row):
        return sum(x * Fraction(y) for x, y in zip(v, row, strict=True))

    # only the highest rows in floating point need exact arithmetic
    rough = problem.features_q @ np.array([float(x) for x in v])
    near = np.argsort(-rough)[:20]
    top = max(height(row) for row in problem.features_q[near].tolist())
    assert problem.radius == 0.0
    assert height(problem.target.tolist()) > top
    if "distance" in case.facts:
        assert pre.minimal_radius(problem).radius == pytest.approx(abs(case.facts["distance"]), rel=1e-6)


@pytest.mark.parametrize("case", cases_with(Truth.BOUNDARY))
def test_boundary_targets_are_on_a_face_and_have_optimal_weights(case):
    problem = case.problem
    tops = problem.features_q.max(axis=0)
    assert np.any(problem.target == tops)  # exactly on a supporting plane
    solution = pre.solve(problem, check=False)
    assert solution.dual_value == pytest.approx(case.value, abs=1e-9)
    assert np.abs(problem.residual(solution.mu)).max() < 1e-9


@pytest.mark.parametrize(
    ("name", "tol"), [*((name, 1e-8) for name in SETS), *((n, 1e-4) for n in SETS if n != "sparse")]
)
def test_newton_solves_every_case(name, tol):
    newton, wrong = find_contender("newton"), []
    for case in CASES[name]:
        answer = newton(case.problem, "both", tol)
        verdict, numbers = judge(case, answer, tol)
        if verdict is not Verdict.SOLVED or answer.claim != case.truth.value:
            wrong.append((case.name, answer.claim, verdict.value, numbers["gap"]))
    assert not wrong


@pytest.mark.parametrize("draw", range(3))
def test_newton_solves_the_boundary_set_with_other_seeds(draw, monkeypatch):
    seeded, newton, wrong = np.random.default_rng, find_contender("newton"), []
    monkeypatch.setattr(np.random, "default_rng", lambda seed: seeded([draw, *np.atleast_1d(seed)]))
    for case in load_set("boundary").cases:
        for tol in (1e-4, 1e-8):
            answer = newton(case.problem, "both", tol)
            if judge(case, answer, tol)[0] is not Verdict.SOLVED or answer.claim != case.truth.value:
                wrong.append((case.name, tol, answer.claim))
    assert not wrong


def test_the_sets_vary_what_their_titles_say():
    ess = [case.facts["ess"] for case in CASES["peaked"]]
    assert min(ess) == 5.0
    for case in CASES["peaked"]:
        w = np.exp(case.problem.log_base)
        assert w.sum() ** 2 / (w**2).sum() == pytest.approx(case.facts["ess"], rel=1e-6)
    for case in CASES["boundary"]:
        if case.name.startswith("inside"):
            assert 1.0 - (case.problem.target.max()) == pytest.approx(case.facts["distance"], rel=1e-6)
    sizes = {(case.problem.n_q, case.problem.k) for case in CASES["easy"]}
    assert {min(n for n, _ in sizes), max(n for n, _ in sizes)} == {100, 50_000}
    assert {min(k for _, k in sizes), max(k for _, k in sizes)} == {1, 100}
    spread = [np.ptp(case.problem.features_q, axis=0) for case in CASES["scaling"]]
    assert min(s[s > 0.0].min() for s in spread) < 1e-5
    assert max(s.max() for s in spread) > 1e6
    zeros = [case for case in CASES["radius"] if not np.any(case.delta)]
    assert {case.problem.norm for case in zeros} == {1.0, 2.0, np.inf}
    assert all(np.count_nonzero(case.delta) == 5 for case in CASES["sparse"])
    assert set(DEFAULT_SETS) < set(SETS)


def test_targets_of_constant_columns_are_exact():
    """Off by one bit, the problem would be infeasible."""
    for case in (case for cases in CASES.values() for case in cases if case.truth is Truth.OPTIMAL):
        constant = np.ptp(case.problem.features_q, axis=0) == 0.0
        distance = np.abs(case.problem.target - case.problem.features_q[0])[constant]
        assert np.all(distance <= case.problem.radius), case.name


def test_targets_reached_by_a_radius_differ_only_in_the_norm():
    reached = [case for case in CASES["boundary"] if case.name.startswith("reached")]
    assert [case.problem.norm for case in reached] == [1.0, 2.0, np.inf]
    for case in reached:
        assert case.delta.tolist() == reached[0].delta.tolist()
        assert case.problem.target[0] > 1.0


def test_an_unknown_set_is_reported():
    with pytest.raises(pre.DataError) as error:
        load_set("hard")
    assert error.value.argument == "set"
    assert "easy" in error.value.remedy
