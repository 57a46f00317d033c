"""Divergences: derivatives, conjugates under bounds, Fenchel–Young equality, domain ends, and how to add one."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pre_convex.divergences import DIVERGENCES, Divergence, Link, get_divergence
from pre_convex.errors import DataError

NAMES = sorted(DIVERGENCES)
BOUNDS = [(0.0, np.inf), (0.0, 3.0), (0.2, np.inf), (0.5, 1.7)]

# the definitions of design and docs, for 50 digits
PHI = {
    "kl": lambda t: t * mp.log(t) - t + 1,
    "chi2": lambda t: (t - 1) ** 2 / 2,
    "reverse-kl": lambda t: -mp.log(t) + t - 1,
}


def slopes(name, lower=0.01, upper=50.0):
    """Slopes s of ratios between two numbers."""
    divergence = DIVERGENCES[name]
    low, high = (float(divergence.slope(np.array(t))) for t in (lower, upper))
    return st.floats(low, high)


@pytest.mark.parametrize("name", NAMES)
@given(t=st.floats(1e-6, 1e6))
def test_phi_agrees_with_its_definition(name, t):
    divergence = DIVERGENCES[name]
    with mp.workdps(50):
        exact = PHI[name](mp.mpf(t))
        assert divergence.phi(np.array(t)) == pytest.approx(float(exact), rel=1e-9, abs=1e-300)
        slope = mp.diff(PHI[name], mp.mpf(t), h=mp.mpf(t) * mp.mpf(10) ** -20)
        assert divergence.slope(np.array(t)) == pytest.approx(float(slope), rel=1e-9, abs=1e-12)
        second = mp.diff(PHI[name], mp.mpf(t), 2, h=mp.mpf(t) * mp.mpf(10) ** -12)
        assert divergence.second(np.array(t)) == pytest.approx(float(second), rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_phi_is_normalised(name):
    divergence, one = DIVERGENCES[name], np.array(1.0)
    assert divergence.phi(one) == divergence.slope(one) == divergence.conjugate(np.array(0.0)) == 0.0
    assert divergence.second(one) == divergence.ratio(np.array(0.0)) == 1.0


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_ratio_inverts_the_slope(name, data):
    divergence = DIVERGENCES[name]
    s = np.array(data.draw(slopes(name)))
    assert divergence.slope(divergence.ratio(s)) == pytest.approx(s, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_fenchel_young_equality_at_the_ratio(name, bounds, data):
    link = Link(DIVERGENCES[name], *bounds)
    s = np.array(data.draw(slopes(name)))
    t = link.ratio(s)
    assert bounds[0] <= t <= bounds[1]
    value = float(s * t - link.divergence.phi(t))
    assert link.conjugate(s) == pytest.approx(value, rel=1e-12, abs=1e-13)
    # and the supremum is there
    other = np.linspace(max(bounds[0], 1e-9), min(bounds[1], 60.0), 999)
    assert np.all(s * other - link.divergence.phi(other) <= link.conjugate(s) + 1e-12 * (1.0 + abs(s) * other))


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_derivatives_of_the_conjugate_are_ratio_and_curvature(name, bounds, data):
    link = Link(DIVERGENCES[name], *bounds)
    s = data.draw(slopes(name))
    h = 1e-6 * min(1.0, 1.0 - s) if name == "reverse-kl" else 1e-6
    near = [float(link.divergence.slope(np.array(b))) for b in bounds if 0.0 < b < np.inf]
    near += [-1.0] if name == "chi2" else []
    if any(abs(s - kink) < 10.0 * h for kink in near):
        return
    low, high = link.conjugate(np.array([s - h, s + h]))
    assert (high - low) / (2 * h) == pytest.approx(float(link.ratio(np.array(s))), rel=1e-4, abs=1e-6)
    low, high = link.ratio(np.array([s - h, s + h]))
    assert (high - low) / (2 * h) == pytest.approx(float(link.curvature(np.array(s))), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_gap_is_the_fenchel_young_gap(name, bounds, data):
    link = Link(DIVERGENCES[name], *bounds)
    s = data.draw(slopes(name))
    t = float(link.ratio(np.array(s)))
    other = data.draw(st.floats(max(bounds[0], 1e-3), min(bounds[1], 50.0)))
    change = other - t
    gap = float(link.gap(np.array(s), np.array(t), np.array(change)))
    with mp.workdps(50):
        phi, end = PHI[name], mp.mpf(t) + mp.mpf(change)
        exact = phi(end) - (phi(mp.mpf(t)) if t > 0 else mp.mpf(1) if name == "kl" else mp.mpf(1) / 2)
        exact -= mp.mpf(s) * mp.mpf(change)
    assert gap >= 0.0
    assert gap == pytest.approx(float(exact), rel=1e-7, abs=1e-13 * (1.0 + abs(s) * max(t, other)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("u", [1e-4, -1e-5, 1e-9, -1e-12])
def test_small_increases_keep_their_digits(name, u):
    t = 1.7
    with mp.workdps(60):
        phi, change = PHI[name], mp.mpf(t * u)
        exact = phi(mp.mpf(t) + change) - phi(mp.mpf(t)) - mp.diff(phi, mp.mpf(t)) * change
    assert DIVERGENCES[name].increase(np.array(t), np.array(t * u)) == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_room_keeps_a_lift_within_the_bounds(name, bounds):
    link = Link(DIVERGENCES[name], *bounds)
    t = link.ratio(np.linspace(-3.0, 0.9, 200))
    room = link.room(t)
    assert np.all(room >= 0.0)
    assert np.all((t - 0.999 * room >= bounds[0]) & (t + 0.999 * room <= bounds[1]))
    assert np.all(room[(t == bounds[0]) | (t == bounds[1])] == 0.0)


@pytest.mark.parametrize("name", NAMES)
@given(t=st.floats(1e-3, 1e3), x=st.floats(0.0, 0.95), side=st.sampled_from([-1.0, 1.0]))
def test_the_second_derivative_grows_by_no_more_than_its_bound(name, t, x, side):
    divergence = DIVERGENCES[name]
    here = float(divergence.second(np.array(t)))
    there = float(divergence.second(np.array(t + side * x * min(t, 1.0 / here))))
    assert there <= divergence.growth(x) * here * (1.0 + 1e-12)


def test_domain_ends():
    s = np.array([0.5, 1.0, 2.0])
    reverse = Link(DIVERGENCES["reverse-kl"])
    assert reverse.ratio(s).tolist() == [2.0, np.inf, np.inf]
    assert reverse.conjugate(s)[1:].tolist() == [np.inf, np.inf]
    bounded = Link(DIVERGENCES["reverse-kl"], 0.0, 4.0)
    assert bounded.ratio(s).tolist() == [2.0, 4.0, 4.0]
    np.testing.assert_allclose(bounded.conjugate(s)[1:], 4.0 * s[1:] - (3.0 - np.log(4.0)))
    squares = Link(DIVERGENCES["chi2"])
    assert squares.ratio(np.array([-1.5, -1.0, 0.0])).tolist() == [0.0, 0.0, 1.0]
    assert squares.conjugate(np.array([-9.0, -1.0])).tolist() == [-0.5, -0.5]
    assert squares.curvature(np.array([-1.5, 0.0])).tolist() == [0.0, 1.0]
    assert Link(DIVERGENCES["kl"]).conjugate(np.array([-800.0, 800.0])).tolist() == [-1.0, np.inf]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_intercept_normalises_the_weights(name, bounds):
    rng = np.random.default_rng(3)
    pi, z = rng.dirichlet(np.ones(50)), rng.normal(size=50)
    link = Link(DIVERGENCES[name], *bounds)
    assert pi @ link.ratio(link.intercept(z, pi) + z) == pytest.approx(1.0, abs=1e-13)


def test_intercept_of_ratios_that_grow_by_hundreds_of_orders():
    """Nearly all rows are on their bounds at the start, and Newton from the other side falls by one unit a step."""
    z, pi = np.append(np.zeros(10), np.linspace(-60.0, -40.0, 5)), np.full(15, 1.0 / 15)
    link = Link(DIVERGENCES["kl"], 0.0, np.append(np.full(10, 0.5), np.full(5, np.inf)))
    assert pi @ link.ratio(link.intercept(z, pi, -700.0) + z) == pytest.approx(1.0, abs=1e-12)
    assert pi @ link.ratio(link.intercept(z, pi, 700.0) + z) == pytest.approx(1.0, abs=1e-12)
    assert pi @ link.ratio(link.intercept(z - 30.0, pi) + z - 30.0) == pytest.approx(1.0, abs=1e-12)


def test_intercept_with_bounds_for_each_row():
    rng = np.random.default_rng(4)
    pi = rng.dirichlet(np.ones(6))
    lower = np.array([1.5, 0.0, 0.0, 0.0, 0.2, 0.0])
    link = Link(DIVERGENCES["kl"], lower, np.array([2.0, 9.0, 9.0, 0.3, 9.0, np.inf]))
    assert link.per_row
    assert pi @ link.ratio(link.intercept(np.zeros(6), pi) + np.zeros(6)) == pytest.approx(1.0, abs=1e-13)
    assert link.take(slice(0, 2)).lower.tolist() == [1.5, 0.0]


@pytest.mark.parametrize("name", NAMES)
def test_cvxpy_atoms_agree(name):
    import cvxpy as cp

    rng = np.random.default_rng(1)
    divergence = DIVERGENCES[name]
    pi, mu = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
    s = rng.uniform(-3.0, 0.9, 7)
    variable, slope = cp.Variable(7), cp.Variable(7)
    dual, primal = divergence.dual_atom(variable, cp.Constant(pi)), divergence.primal_atom(slope)
    assert dual.is_convex()
    assert primal.is_convex()
    variable.value, slope.value = mu, s
    assert dual.value == pytest.approx(float(pi @ divergence.phi(mu / pi)))
    np.testing.assert_allclose(primal.value, Link(divergence).conjugate(s), atol=1e-12)


@pytest.mark.parametrize("name", [None, 3, "KL", "hellinger", ["kl"]])
def test_unknown_divergence(name):
    with pytest.raises(DataError) as error:
        get_divergence(name)
    assert error.value.argument == "divergence"


class Hellinger(Divergence):
    """φ(t) = 2(√t − 1)², so that φ''(1) = 1; the ratio is 1/(1 − s/2)², for s < 2."""

    name = "hellinger"
    known_as = ("Hellinger distance", "Cressie–Read λ = −1/2")

    def phi(self, t):
        return 2.0 * np.square(np.sqrt(t) - 1.0)

    def slope(self, t):
        with np.errstate(divide="ignore"):
            return 2.0 - 2.0 / np.sqrt(t)

    def ratio(self, s):
        s = np.asarray(s, dtype=float)
        return np.square(np.divide(1.0, 1.0 - s / 2.0, out=np.full(s.shape, np.inf), where=s < 2.0))

    def second(self, t):
        with np.errstate(divide="ignore"):
            return np.asarray(t, dtype=float) ** -1.5

    def dual_atom(self, mu, pi):
        import cvxpy as cp

        return 2.0 * cp.sum(mu + pi - 2.0 * cp.multiply(np.sqrt(pi.value), cp.sqrt(mu)))

    def primal_atom(self, s):
        import cvxpy as cp

        return 2.0 * cp.inv_pos(1.0 - s / 2.0) - 2.0


@pytest.fixture
def hellinger(monkeypatch):
    """A registered divergence of a user's own."""
    monkeypatch.setitem(DIVERGENCES, "hellinger", Hellinger())
    return DIVERGENCES["hellinger"]


def test_adding_a_divergence_is_one_class_and_one_line(hellinger):
    assert get_divergence("hellinger") is hellinger
    s = np.linspace(-3.0, 1.5, 50)
    for bounds in BOUNDS:
        link = Link(hellinger, *bounds)
        t = link.ratio(s)
        np.testing.assert_allclose(link.conjugate(s), s * t - hellinger.phi(t), rtol=1e-12, atol=1e-13)
        assert np.all(link.gap(s, t, 0.1 * link.room(t)) >= 0.0)
