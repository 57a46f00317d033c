"""Statistics of times of handmade rows have known values."""

import numpy as np
import pytest
from benchmark_rows import FALSE_OPTIMAL, four_problems, row
from hypothesis import given
from hypothesis import strategies as st
from pre_convex_lab.solvers.metrics import Verdict
from pre_convex_lab.solvers.summary import ALL, successes
from pre_convex_lab.solvers.timing import growths, mean_times, primal_dual, profiles, shifted_mean, time_of


def test_shifted_geometric_mean():
    assert shifted_mean([1.0, 4.0, 16.0]) == pytest.approx(4.0, rel=1e-14)
    assert shifted_mean([0.0, 3.0, 15.0], shift=1.0) == pytest.approx(3.0, rel=1e-14)
    assert np.isnan(shifted_mean([]))


@given(st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=9), st.floats(0.0, 10.0))
def test_shifted_mean_lies_between_geometric_and_arithmetic(times, shift):
    mean = shifted_mean(times, shift)
    assert min(times) - 1e-9 * (1 + shift) <= mean <= np.mean(times) * (1 + 1e-9) + 1e-9 * (1 + shift)
    assert mean >= shifted_mean(times) * (1 - 1e-9) - 1e-9 * (1 + shift)


def test_only_solved_rows_have_a_time():
    assert time_of(row("a", seconds=2.0)) == 2.0
    assert time_of(row("a", verdict=FALSE_OPTIMAL, seconds=2.0)) == np.inf
    assert time_of(row("a", seconds=np.nan)) == np.inf
    assert time_of(row("a", seconds=0.0)) > 0.0


def test_mean_times_put_unsolved_rows_at_the_limit():
    found = {m.contender: m for m in mean_times(four_problems(), limit=8.0, shift=0.0)}
    assert found["A dual"].seconds == pytest.approx((1.0 * 3.0 * 8.0 * 8.0) ** 0.25)
    assert found["B"].seconds == pytest.approx((4.0 * 8.0 * 2.0 * 8.0) ** 0.25)
    assert found["A dual"].ratio == 1.0
    assert found["B"].ratio == pytest.approx((512 / 192) ** 0.25)
    assert (found["B"].rows, found["B"].solved) == (4, 2)


def test_mean_times_by_set_and_over_all():
    rows = [row("a", "A", seconds=1.0), row("b", "A", seconds=4.0, test_set="real"), row("a", "B", seconds=2.0)]
    found = {(m.contender, m.test_set): m for m in mean_times(rows, limit=10.0, shift=0.0)}
    assert found["A", ALL].seconds == pytest.approx(2.0)
    assert found["B", "easy"].ratio == pytest.approx(2.0)
    assert np.isnan(found["B", "real"].seconds)
    assert np.isnan(found["B", ALL].ratio)  # not run on every case


def test_performance_profile():
    a, b = profiles(four_problems(), 1e-6)
    assert a.problems == b.problems == 3  # neither solved the fourth
    np.testing.assert_allclose(a.ratios, [1.0, 1.0])
    np.testing.assert_allclose(b.ratios, [1.0, 4.0])
    assert [a.share(1.0), a.share(100.0)] == [2 / 3, 2 / 3]
    assert [b.share(1.0), b.share(3.99), b.share(4.0)] == [1 / 3, 1 / 3, 2 / 3]


def test_recognising_an_infeasible_problem_counts_as_solved():
    rows = [
        row("outside", "A", truth="infeasible", claim="infeasible", seconds=2.0),
        row("outside", "B", FALSE_OPTIMAL, truth="infeasible", seconds=1.0),
    ]
    a, b = profiles(rows, 1e-6)
    assert (a.share(1.0), b.share(np.inf)) == (1.0, 0.0)


@st.composite
def some_rows(draw):
    verdicts = st.sampled_from([Verdict.SOLVED, Verdict.SOLVED, Verdict.FALSE_OPTIMAL, Verdict.TIME])
    return [
        row(f"c{i}", name, draw(verdicts), draw(st.floats(1e-4, 1e2)))
        for i in range(draw(st.integers(1, 6)))
        for name in ("A primal", "A dual", "B")
    ]


@given(some_rows())
def test_properties_of_profiles(rows):
    found = profiles(rows, 1e-6)
    taus = [1.0, 1.5, 4.0, 1e3, 1e7]
    rate = {s.contender: s.solved for s in successes(rows)}
    for p in found:
        if not p.problems:
            assert np.isnan(p.share(1.0))
            continue
        shares = [p.share(tau) for tau in taus]
        assert all(0.0 <= share <= 1.0 for share in shares)
        assert shares == sorted(shares)
        assert p.share(0.999) == 0.0
        assert p.share(np.inf) == rate[p.contender] / p.problems
    if found[0].problems:
        assert sum(p.share(1.0) for p in found) >= 1.0 - 1e-12


def test_exact_power_law_is_recovered():
    rows = [
        row(f"{n} {k}", seconds=2e-5 * n**1.25 * k**0.5, n=n, k=k) for n in (100, 1000, 50000) for k in (1, 10, 100)
    ]
    rows += [row("slow", verdict=Verdict.TIME, n=10, k=1), row("elsewhere", test_set="real", n=10, seconds=99.0)]
    (g,) = growths(rows, 1e-6)
    assert (g.rows, g.note) == (9, "")
    np.testing.assert_allclose([g.n_power, g.k_power, g.spread], [1.25, 0.5, 1.0], atol=1e-7)
    assert max(g.n_error, g.k_error) < 1e-7


def test_standard_errors_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    n, k = rng.integers(10, 10000, 40), rng.integers(1, 100, 40)
    noise = rng.normal(size=40) * 0.3
    rows = [
        row(str(i), seconds=float(1e-4 * a * b**0.5 * np.exp(e)), n=int(a), k=int(b))
        for i, (a, b, e) in enumerate(zip(n, k, noise, strict=True))
    ]
    (g,) = growths(rows, 1e-6)
    from scipy.stats import linregress

    # with log k taken out of both sides, one line is left: Frisch, Waugh and Lovell
    y = np.log([r.numbers["time"] for r in rows])
    x, z = np.log(n), np.log(k)
    left, right = (linregress(z, v) for v in (x, y))
    line = linregress(x - left.slope * z - left.intercept, y - right.slope * z - right.intercept)
    assert g.n_power == pytest.approx(line.slope)
    assert g.n_error == pytest.approx(line.stderr * np.sqrt(38 / 37))
    assert np.exp(0.2) < g.spread < np.exp(0.4)


@pytest.mark.parametrize(
    ("sizes", "note"),
    [([(100, 1)] * 3, "3 solved rows"), ([(10**i, 3) for i in range(1, 9)], "do not vary"), ([], "0 solved rows")],
)
def test_no_fit_without_enough_variation(sizes, note):
    rows = [row(str(i), n=n, k=k) for i, (n, k) in enumerate(sizes)] + [row("x", verdict=FALSE_OPTIMAL)]
    (g,) = growths(rows, 1e-6)
    assert note in g.note
    assert np.isnan(g.n_power)


def test_primal_against_dual():
    rows = []
    for case, test_set, n, primal, dual in (
        ("a", "easy", 20, 1.0, 4.0),
        ("b", "easy", 2000, 1.0, 16.0),
        ("c", "real", 2000, 2.0, 1.0),
        ("d", "real", 2000, None, 1.0),
    ):
        size = {"test_set": test_set, "n": n}
        rows += [row(case, "S primal", Verdict.SOLVED if primal else Verdict.TIME, primal or 9.0, **size)]
        rows += [row(case, "S dual", seconds=dual, **size)]
    rows += [row("a", "newton"), row("e", "S dual")]
    found = {v.subset: v for v in primal_dual(rows, 1e-6)}
    assert set(found) == {ALL, "easy", "real", "n/k ≤ 30", "n/k > 300"}
    v = found[ALL]
    assert (v.cases, v.primal, v.dual, v.both, v.primal_wins, v.dual_wins) == (4, 3, 4, 3, 2, 1)
    assert v.ratio == pytest.approx(2.0 ** (-5 / 3))
    assert found["easy"].ratio == pytest.approx(1 / 8)
    assert found["n/k > 300"].ratio == pytest.approx((1 / 16 * 2) ** 0.5)
