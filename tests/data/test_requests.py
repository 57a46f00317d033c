"""Requests to the rows: one problem and many get the same answers."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.batch import Together, make_batch
from pre_convex.data.requests import ALL, Alone, Draw, Height, Push, Tilt

W = 5


def shared(n=700, k=4, offset=0.0, seed=0, bases="own"):
    """(features, targets, log base weights of every problem) of W problems."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, k)) + offset
    a = {"equal": np.zeros((W, n)), "shared": np.tile(rng.normal(size=n), (W, 1))}.get(bases, rng.normal(size=(W, n)))
    if bases == "holes":
        a[rng.random((W, n)) < 0.3] = -np.inf
    return F, offset + 0.2 * rng.normal(size=(W, k)), a


def ask(requests):
    """Generator that asks each request and returns all answers."""
    answers = []
    for request in requests:
        answer = yield request
        answers += [answer]
    return answers


def both(F, targets, a, make):
    """Answers of the problems alone, and of all of them together."""
    problems = [pre.RatioProblem(b, F, log_base) for b, log_base in zip(targets, a, strict=True)]
    alone = [Alone(problem.rows).run(ask(make(w))) for w, problem in enumerate(problems)]
    own = None if not np.any(a) else a
    batch = make_batch(F, len(targets), None, own)
    base = batch.summarise_base()
    batch = batch.normalised(base.level)
    together = Together(batch, targets - batch.centre, base).run([ask(make(w)) for w in range(len(targets))])
    return alone, together


def assert_same(one, other, size):
    """Two answers agree up to round-off."""
    if isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-13 * size)
    elif hasattr(one, "log_z"):
        assert one.log_z == pytest.approx(other.log_z, abs=1e-12 * size)
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-12 * size)
        assert (one.covariance is None) == (other.covariance is None)
        if one.covariance is not None:
            np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-12 * size)
    else:
        for x, y in zip(one, other, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12 * size)


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("bases", ["equal", "shared", "own", "holes"])
def test_alone_and_together_agree(bases, offset):
    F, targets, a = shared(offset=offset, bases=bases)
    rng = np.random.default_rng(1)
    delta, d, centre = 0.5 * rng.normal(size=(3, W, F.shape[1]))

    def make(w):
        yield Tilt(delta[w])
        yield Tilt(delta[w], covariance=True, guess=-50.0)  # a guess changes nothing
        log_z = float(np.log(np.exp(pre.RatioProblem(targets[w], F, a[w]).value(delta[w]))))
        yield Push(delta[w], log_z, centre[w], d[w])
        yield Height(d[w])

    alone, together = both(F, targets, a, make)
    for one, other in zip(alone, together, strict=True):
        for x, y in zip(one, other, strict=True):
            assert_same(x, y, 1.0 + offset)


def test_answers_by_hand():
    F, targets, a = shared()
    delta, d, centre = 0.5 * np.random.default_rng(1).normal(size=(3, F.shape[1]))
    problem = pre.RatioProblem(targets[0], F, a[0])
    G = F - targets[0]
    log_z = problem.value(delta)
    mu = np.exp(problem.log_mu(delta))
    summary, pushed, top = Alone(problem.rows).run(ask([Tilt(delta, True), Push(delta, log_z, centre, d), Height(d)]))
    assert summary.log_z == pytest.approx(log_z, abs=1e-13)
    np.testing.assert_allclose(summary.mean, mu @ G, atol=1e-13)
    np.testing.assert_allclose(summary.covariance, (G - mu @ G).T @ (mu[:, None] * (G - mu @ G)), atol=1e-13)
    c = (G - centre) @ d
    np.testing.assert_allclose(pushed.moved, (mu * c) @ (G - centre), atol=1e-13)
    assert pushed.drift == pytest.approx(mu @ c, abs=1e-13)
    assert pushed.squares == pytest.approx(mu @ c**2, abs=1e-13)
    assert pushed.lowest == pytest.approx(c.min(), abs=1e-13)
    assert top == pytest.approx((G @ d).max(), abs=1e-13)


@pytest.mark.parametrize("bases", ["equal", "own"])
def test_draws_represent_all_rows(bases):
    """A weighted level estimates log Z of all rows; unweighted, its rows keep their weights, which are smaller."""
    F, targets, a = shared(n=40_000, k=2, bases=bases)
    delta = np.array([0.3, -0.2])

    def make(w):
        yield Draw(4_000)
        yield Tilt(delta)
        yield Tilt(delta, level=1)
        yield Tilt(delta, level=1, weighted=False)
        yield Draw(400, source=1, at_random=False)
        yield Tilt(delta, level=2, weighted=False)

    for answers in (answers for side in both(F, targets, a, make) for answers in side):
        level, whole, weighted, plain, some, fewer = answers
        assert level.number == ALL + 1
        assert some.number == ALL + 2
        assert level.size == pytest.approx(4_000, rel=0.1)
        assert 400 <= some.size <= 800
        assert weighted.log_z == pytest.approx(whole.log_z, abs=0.2)
        np.testing.assert_allclose(weighted.mean, whole.mean, atol=0.2)
        assert fewer.log_z < plain.log_z < whole.log_z
        assert np.exp(plain.log_z - whole.log_z) == pytest.approx(level.size / len(F), rel=0.5)


def test_a_level_is_drawn_once_for_all_problems():
    F, targets, _ = shared(n=2_000)
    batch = make_batch(F, W, None, None)
    base = batch.summarise_base()
    together = Together(batch.normalised(base.level), targets - batch.centre, base)
    levels = together.run([ask([Draw(100 + w)]) for w in range(W)])
    assert len({level for (level,) in levels}) == 1
    assert len(together.rows) == 2
    assert levels[0][0].size == 100 + W - 1  # enough for each of them


def test_generators_may_end_at_different_times():
    F, targets, a = shared()
    zero = np.zeros(F.shape[1])
    alone, together = both(F, targets, a, lambda w: [Tilt(zero)] * w)
    assert [len(answers) for answers in together] == [len(answers) for answers in alone] == list(range(W))
