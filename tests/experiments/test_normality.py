"""Normality of the estimates: what theory predicts, and the quick version of the experiment."""

import numpy as np
import pytest

from pre_convex.experiments import Setting, perform
from pre_convex.experiments.normality import NAMES, N, draw, estimate, exact_delta, judge, observe, shifted, theory
from pre_convex.experiments.shares import Share
from pre_convex.inference import Inference
from pre_convex.problem import RatioProblem
from pre_convex.solvers import solve


@pytest.fixture(scope="module")
def outcome():
    return perform("normality", Setting(quick=True))[0]


@pytest.fixture(scope="module")
def large():
    """One problem so large that its own covariance is close to the theory's, for both features."""
    p, q = observe(np.random.default_rng(5))
    x_p, x_q = np.random.default_rng(6).normal(size=(2, 200_000, 2))
    problems = {s: RatioProblem.from_samples(x_p, x_q, p.log_lik, q.log_lik, features=shifted(s)) for s in (0.0, 3.0)}
    return p, q, problems


@pytest.mark.parametrize("key", NAMES, ids=lambda key: f"{key[1]}-{key[0]:g}")
def test_theory_is_the_limit_of_what_a_sample_gives(large, key):
    p, _, problems = large
    problem = problems[key[0]]
    V = 200_000 * Inference(problem, solve(problem).delta, kind=key[1]).covariance
    assert pytest.approx(theory(p, *key), rel=0.02, abs=0.03) == V


def test_delta_star_is_what_a_large_sample_finds(large):
    p, q, problems = large
    wide = 5.0 * np.sqrt(np.diag(theory(p, 0.0, "centred")) / 200_000)
    assert np.all(np.abs(solve(problems[0.0]).delta - exact_delta(p, q)) < wide)
    assert np.all(wide < 0.02)


def test_the_centred_theory_ignores_a_shift_and_the_papers_does_not():
    p, _ = observe(np.random.default_rng(5))
    assert theory(p, 3.0, "centred") == pytest.approx(theory(p, 0.0, "centred"), abs=1e-10)
    longest = [np.linalg.eigvalsh(theory(p, shift, "paper"))[-1] for shift in (0.0, 3.0)]
    assert longest[1] > 5 * longest[0]


def test_verdicts(outcome):
    verdicts = {finding.question: finding.verdict for finding in outcome.findings}
    for name in ("ellipse, centred, x", "ellipse, centred, x+3", "own region, centred, x", "own region, centred, x+3"):
        assert verdicts[name] == "holds"
    for name in ("ellipse, paper, x", "own region, paper, x"):
        assert verdicts[name].startswith("holds nearly: tends to 4.")
    for name in ("ellipse, paper, x+3", "own region, paper, x+3"):
        assert verdicts[name].startswith("does not hold: tends to 1.")
    assert verdicts["distance to normal (KS)"] == "holds"
    assert outcome.verdict.startswith("holds: estimates are normal. The centred covariance is right")


def test_every_run_is_certified_and_no_shift_moves_an_estimate(outcome):
    assert 0.0 < outcome.data["largest_gap"] < 1e-8
    assert outcome.data["largest_move_by_shift"] < 1e-6
    assert len(outcome.data["root_n_delta"][0]) == outcome.data["shares"][0]["total"] == 400


def test_a_run_does_not_depend_on_the_others():
    p, q = observe(np.random.default_rng(0))
    few, more = (estimate(Setting(quick=True), p, q, runs) for runs in (3, 130))
    assert np.array_equal(few.delta, more.delta[:3])
    assert more.covariance.shape == (130, len(NAMES), 2, 2)


@pytest.mark.parametrize(
    ("share", "limit", "verdict"),
    [
        (Share(250, 5000), 0.05, "holds"),
        (Share(210, 5000), 0.042, "holds nearly: tends to 4.2 %"),
        (Share(65, 5000), 0.015, "does not hold: tends to 1.5 %"),
        (Share(9, 400), 0.015, "does not hold: tends to 1.5 %"),
        (Share(400, 5000), 0.05, "does not hold"),
    ],
)
def test_judgement(share, limit, verdict):
    assert judge(share, limit) == verdict


def test_the_figure_shows_all_shares(outcome):
    figure = draw(outcome.data)
    assert len(figure.axes) == 5
    names = [text.get_text() for text in figure.axes[2].get_yticklabels()]
    assert len(names) == 10
    assert outcome.data["n"] == N
