"""Requests to the rows: one problem and many get the same answers."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.batch import Together, make_batch
from pre_convex.data.requests import ALL, Alone, Draw, Height, Lowest, Sizes, Tilt, Whiten

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
    delta, d = 0.5 * rng.normal(size=(2, W, F.shape[1]))

    def make(w):
        yield Tilt(delta[w])
        yield Tilt(delta[w], covariance=True, guess=-50.0)  # a guess changes nothing
        log_z = float(np.log(np.exp(pre.RatioProblem(targets[w], F, a[w]).value(delta[w]))))
        yield Lowest(delta[w], log_z, d[w])
        yield Height(d[w])

    alone, together = both(F, targets, a, make)
    for one, other in zip(alone, together, strict=True):
        for x, y in zip(one, other, strict=True):
            assert_same(x, y, 1.0 + offset)


def test_answers_by_hand():
    F, targets, a = shared()
    delta, d, r = 0.5 * np.random.default_rng(1).normal(size=(3, F.shape[1]))
    V = np.random.default_rng(2).normal(size=(3, F.shape[1]))
    problem = pre.RatioProblem(targets[0], F, a[0])
    G = F - targets[0]
    log_z = problem.value(delta)
    mu = np.exp(problem.log_mu(delta))
    requests = [Tilt(delta, True), Lowest(delta, log_z, d), Height(d), Whiten(delta, log_z, V, r), Sizes()]
    summary, low, top, white, reach = Alone(problem.rows).run(ask(requests))
    assert summary.log_z == pytest.approx(log_z, abs=1e-13)
    np.testing.assert_allclose(summary.mean, mu @ G, atol=1e-13)
    np.testing.assert_allclose(summary.covariance, (G - mu @ G).T @ (mu[:, None] * (G - mu @ G)), atol=1e-13)
    assert summary.ess == pytest.approx(1.0 / (mu @ mu))
    assert low == pytest.approx((G @ d).min(), abs=1e-13)
    Y = (G + r) @ V.T
    np.testing.assert_allclose(white.mean, mu @ Y, atol=1e-13)
    np.testing.assert_allclose(white.second, Y.T @ (mu[:, None] * Y), atol=1e-12)
    np.testing.assert_allclose((white.low, white.high), (Y.min(axis=0), Y.max(axis=0)))
    np.testing.assert_allclose(white.peak, np.abs(Y).max(axis=0))
    np.testing.assert_allclose(white.squares, mu @ (G + r) ** 2, atol=1e-13)
    assert np.all(reach.largest >= np.abs(G).max(axis=0))
    np.testing.assert_allclose(reach.root, np.sqrt((G**2).sum(axis=0)), rtol=1e-5)
    assert top == pytest.approx((G @ d).max(), abs=1e-13)


def test_rows_whose_weight_underflows_do_not_count():
    problem = pre.RatioProblem([0.0], [[-1.0], [1.0], [-5.0], [-9.0]], [0.0, 0.0, -700.0, -800.0])
    (low,) = Alone(problem.rows).run(ask([Lowest(np.zeros(1), 0.0, np.ones(1))]))
    assert low == -5.0


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
