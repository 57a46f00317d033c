"""Every set says the truth about its cases, and newton finds it."""

from fractions import Fraction

import numpy as np
import pytest
from zoo import planted

import pre_convex as pre
from pre_convex.benchmark.case import Truth
from pre_convex.benchmark.contenders import find_contender
from pre_convex.benchmark.exchange import checksum
from pre_convex.benchmark.metrics import Verdict, judge
from pre_convex.benchmark.reference import solved
from pre_convex.benchmark.sets import DEFAULT_SETS, SETS, load_set

CASES = {name: load_set(name).cases for name in SETS}
KNOWN = [(name, case) for name in SETS for case in CASES[name]]


def of(truth):
    return [pytest.param(case, id=f"{name}-{case.name}") for name, case in KNOWN if case.truth is truth]


@pytest.mark.parametrize("name", SETS)
def test_a_set_is_the_same_every_time(name):
    assert checksum(load_set(name)) == checksum(load_set(name))
    names = [case.name for case in CASES[name]]
    assert len(set(names)) == len(names) >= 4


@pytest.mark.parametrize("case", of(Truth.OPTIMAL))
def test_known_answers_are_optimal(case):
    proof = pre.certify(case.problem, case.delta)
    assert proof.gap <= 1e-11 * (1.0 + abs(case.value)) + proof.noise
    assert proof.noise <= 1e-8  # of columns whose mean is a million times their spread
    assert proof.primal_value == pytest.approx(case.value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("case", of(Truth.INFEASIBLE))
def test_targets_without_an_answer_are_separated_in_exact_arithmetic(case):
    problem = case.problem
    v = [Fraction(x) for x in pre.minimal_radius(problem).direction.tolist()]

    def height(row):
        return sum(x * Fraction(y) for x, y in zip(v, row, strict=True))

    # rows that floating point puts far below need no fractions
    rough = problem.features_q @ np.array([float(x) for x in v])
    near = np.argsort(-rough)[:20]
    top = max(height(row) for row in problem.features_q[near].tolist())
    assert problem.radius == 0.0
    assert height(problem.target.tolist()) > top
    if "distance" in case.facts:
        assert pre.minimal_radius(problem).radius == pytest.approx(abs(case.facts["distance"]), rel=1e-6)


@pytest.mark.parametrize("case", of(Truth.BOUNDARY))
def test_targets_on_the_boundary_touch_it_and_have_weights(case):
    problem = case.problem
    tops = problem.features_q.max(axis=0)
    assert np.any(problem.target == tops)  # exactly on the supporting plane of a coordinate
    solution = pre.solve(problem, check=False)
    assert solution.dual_value == pytest.approx(case.value, abs=1e-9)
    assert np.abs(problem.moment(solution.mu)).max() < 1e-9


@pytest.mark.parametrize(
    ("name", "tol"), [*((name, 1e-8) for name in SETS), *((n, 1e-4) for n in SETS if n != "sparse")]
)
def test_newton_finds_the_truth_of_every_case(name, tol):
    newton, wrong = find_contender("newton"), []
    for case in CASES[name]:
        answer = newton(case.problem, "both", tol)
        verdict, numbers = judge(case, answer, tol)
        if verdict is not Verdict.SOLVED or answer.claim != case.truth.value:
            wrong.append((case.name, answer.claim, verdict.value, numbers["gap"]))
    assert not wrong


@pytest.mark.parametrize("draw", range(3))
def test_newton_is_right_on_other_draws_too(draw, monkeypatch):
    """The sets could have been drawn otherwise; near the hull and on it this has mattered."""
    seeded, newton, wrong = np.random.default_rng, find_contender("newton"), []
    monkeypatch.setattr(np.random, "default_rng", lambda seed: seeded([draw, *np.atleast_1d(seed)]))
    for case in load_set("boundary").cases:
        for tol in (1e-4, 1e-8):
            answer = newton(case.problem, "both", tol)
            if judge(case, answer, tol)[0] is not Verdict.SOLVED or answer.claim != case.truth.value:
                wrong.append((case.name, tol, answer.claim))
    assert not wrong


def test_the_sets_are_what_their_names_say():
    ess = [case.facts["ess"] for case in CASES["peaked"]]
    assert min(ess) == 5.0
    for case in CASES["peaked"]:
        assert pre.entropy.effective_sample_size(case.problem.log_base) == pytest.approx(case.facts["ess"], rel=1e-6)
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


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.2, 2), (0.2, np.inf)])
def test_the_reference_finds_a_planted_answer(radius, norm):
    problem, delta = planted(n=80, k=4, radius=radius, norm=norm)
    case = solved("planted", problem)
    assert case.delta == pytest.approx(delta, abs=1e-13)
    assert np.all((case.delta == 0.0) == (delta == 0.0))


@pytest.mark.parametrize("case", of(Truth.OPTIMAL))
def test_no_constant_column_puts_the_target_out_of_reach(case):
    """Off by the last bit there are no weights, and whoever says so is right."""
    constant = np.ptp(case.problem.features_q, axis=0) == 0.0
    off = np.abs(case.problem.target - case.problem.features_q[0])[constant]
    assert np.all(off <= case.problem.radius)


def test_the_reference_says_what_it_cannot_do():
    problem, _ = planted(n=80, k=4, radius=0.2, norm=1)
    with pytest.raises(pre.DataError, match="norm 1"):
        solved("tied", problem)
    with pytest.raises(pre.DataError, match="answer is zero"):
        solved("zero", problem.with_radius(100.0, 2))


def test_targets_that_a_radius_reaches_differ_in_the_norm_alone():
    reached = [case for case in CASES["boundary"] if case.name.startswith("reached")]
    assert [case.problem.norm for case in reached] == [1.0, 2.0, np.inf]
    for case in reached:
        assert case.delta.tolist() == reached[0].delta.tolist()
        assert case.problem.target[0] > 1.0


def test_an_unknown_set_is_named():
    with pytest.raises(pre.DataError, match="set: 'hard' is not known; use easy"):
        load_set("hard")
