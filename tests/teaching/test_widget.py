"""The explorer in a notebook: what it is given and gives back, and its frame in JupyterLab with a real kernel."""

import builtins

import numpy as np
import pytest
from browser import Watch
from notebooks import Notebook, jupyter_lab, write_notebook

import pre_convex as pre
from pre_convex.teaching.explorer import page as explorer_page
from pre_convex.teaching.shown import problem_of, state_of

RNG = np.random.default_rng(5)
X_P, X_Q = RNG.normal([62.0, 0.5], [8.0, 0.2], (20, 2)), RNG.normal([55.0, 0.4], [10.0, 0.2], (30, 2))
WEIGHTS = RNG.normal(size=30)
MU = RNG.dirichlet(np.ones(30))
PROBLEMS = {
    "two features, from samples": pre.RatioProblem.from_samples(X_P, X_Q, RNG.normal(size=20), WEIGHTS),
    "one feature, a radius": pre.RatioProblem.from_samples(X_P[:, :1], X_Q[:, :1], radius=0.7),
    "a target, names, chi-square, norm 1": pre.RatioProblem(
        MU @ X_Q, X_Q, WEIGHTS, radius=0.02, norm=1, divergence="chi2", feature_names=["age", "dose"]
    ),
    "reverse KL with bounds, norm inf": pre.RatioProblem.from_samples(
        X_P, X_Q, radius=0.1, norm=np.inf, divergence="reverse-kl", bounds=(0.1, 4.0)
    ),
    "small numbers, an upper bound": pre.RatioProblem([2.2e-4], 1e-4 * RNG.normal(2.0, 0.5, (40, 1)), bounds=(0, 3.0)),
    "a large offset, a row without weight": pre.RatioProblem(
        [1e5 + 1.0], 1e5 + RNG.normal(size=(15, 1)), np.r_[-np.inf, np.zeros(14)]
    ),
    "a radius that is a list of one": pre.RatioProblem([0.5], RNG.normal(size=(15, 1)), radius=[0.2]),
    "200 rows in the plane, bounds": pre.RatioProblem([0.3, 0.1], RNG.normal(size=(200, 2)), bounds=(0.2, 3.0)),
}


@pytest.fixture
def widget_of():
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    return pre.explore


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_comes_back_from_its_state(name):
    problem = PROBLEMS[name]
    back = problem_of(state_of(problem))
    for one in ("divergence", "bounds", "norm", "feature_names", "k"):
        assert getattr(back, one) == getattr(problem, one)
    np.testing.assert_allclose(back.target, problem.target, rtol=1e-14)
    assert (back.features_p is None) == (problem.features_p is None)
    ours, theirs = pre.solve(back), pre.solve(problem)
    np.testing.assert_allclose(ours.delta, theirs.delta, rtol=1e-9, atol=1e-12)


def test_a_widget_follows_its_problem(widget_of):
    one, other = PROBLEMS["one feature, a radius"], PROBLEMS["two features, from samples"]
    widget = widget_of(one)
    assert widget.problem.target == pytest.approx(one.target)
    widget.problem = other
    assert widget.problem.target == pytest.approx(other.target)
    widget._shown = {**state_of(other), "hand": True, "b": [60.0, 0.45]}  # as the page sends it
    assert widget.problem.target == pytest.approx([60.0, 0.45])
    widget.problem = one  # forgets what was moved before
    assert widget.problem.target == pytest.approx(one.target)
    with pytest.raises(pre.DataError):
        widget.problem = "another"
    assert widget_of().problem is None


def test_without_anywidget_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name == "anywidget":
            raise ModuleNotFoundError("No module named 'anywidget'", name="anywidget")
        return real(name, *rest)

    monkeypatch.delitem(__import__("sys").modules, "pre_convex.teaching.widget", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(pre.MissingExtraError, match="widget"):
        pre.explore()


@pytest.fixture(scope="module")
def framed(browser, tmp_path_factory):
    """The page, as a widget's frame has it."""
    path = tmp_path_factory.mktemp("framed") / "explorer.html"
    path.write_text(explorer_page(), encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    watch = Watch(tab)
    tab.goto(path.as_uri())
    tab.wait_for_selector("html.ready")
    yield tab
    assert watch.complaints == []
    tab.close()


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_page_shows_a_problem_and_finds_the_package_s_solution(framed, name):
    problem = PROBLEMS[name]
    send = """state => new Promise(done => {
        addEventListener('message', () => setTimeout(done), { once: true });
        postMessage({ explorer: 'problem', state }, '*'); })"""
    framed.evaluate(send, state_of(problem))
    framed.evaluate("explorer.flush()")
    run = framed.evaluate("(({ status, delta, gap, mu }) => ({ status, delta, gap, mu }))(explorer.current.run)")
    solution = pre.solve(problem)
    assert run["status"] == "optimal"
    np.testing.assert_allclose(run["delta"], solution.delta, rtol=1e-6, atol=1e-9)
    assert run["gap"] < 1e-8
    assert f"{len(run['mu'])} q points" in framed.inner_text("#given-text")
    for part in ("#presets", "#task", "#tq", "#copy"):
        assert not framed.is_visible(part)
    drawing = framed.evaluate("[...document.querySelectorAll('.plot svg')].map(n => n.innerHTML).join('')")
    assert not any(word in drawing for word in ("NaN", "Infinity", "undefined"))


def test_names_of_features_are_text_and_not_markup(framed):
    problem = pre.RatioProblem([0.1], [[-1.0], [0.0], [1.0]], feature_names=["<img src=x onerror=fail()>"])
    framed.evaluate("state => postMessage({ explorer: 'problem', state }, '*')", state_of(problem))
    framed.wait_for_function("document.getElementById('given-text').textContent.includes('<img')")
    framed.evaluate("store.select('q', 1); explorer.flush()")
    assert "<img" in framed.inner_text("#panel-samples .caption")
    assert framed.locator("img").count() == 0


CELLS = (
    """import numpy as np
import pre_convex as pre

rng = np.random.default_rng(3)
x_p, x_q = rng.normal(62.0, 8.0, (25, 1)), rng.normal(55.0, 10.0, (40, 1))
widget = pre.explore(pre.RatioProblem.from_samples(x_p, x_q))
widget""",
    'print(f"{widget.problem.target[0]:.3f}", widget.problem.divergence)',
    """x_p, x_q = rng.normal([0.5, 0.2], 1.0, (25, 2)), rng.normal(0.0, 1.0, (30, 2))
widget.problem = pre.RatioProblem.from_samples(x_p, x_q)""",
)


def test_in_jupyterlab_reader_and_kernel_see_the_same_problem(browser, tmp_path):
    """The one slow test here: a server, a kernel and a browser."""
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    write_notebook(tmp_path / "a.ipynb", *CELLS)
    with jupyter_lab(tmp_path) as address:
        tab = browser.new_page(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
        watch, errors = Watch(tab), []
        tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        notebook = Notebook(tab, address, tmp_path / "a.ipynb")
        notebook.run(0)
        tab.wait_for_selector(".jp-OutputArea-output iframe")
        [explorer] = [frame for frame in tab.frames if frame.parent_frame == tab.main_frame]
        explorer.wait_for_selector("html.ready")
        explorer.wait_for_function("explorer.current.state.given")
        assert explorer.evaluate("document.documentElement.dataset.theme") == "light"
        x_p = np.random.default_rng(3).normal(62.0, 8.0, (25, 1))
        assert notebook.run(1) == [f"{x_p.mean():.3f} kl\n"]
        # the reader moves the target by hand and chooses a divergence; the kernel has the new problem
        explorer.locator("[name=phi][value=chi2]").check(force=True)
        explorer.locator("[name=target][value=hand]").check(force=True)
        handle = explorer.locator("#panel-hull .handle[data-kind=b]")
        handle.focus()
        handle.press("ArrowRight")
        moved = explorer.evaluate("explorer.flush(), explorer.current.b[0]")
        assert moved > x_p.mean() + 0.5
        for _ in range(20):  # the page waits until points have come to rest
            explorer.wait_for_timeout(200)
            if (seen := notebook.run(1)) == [f"{moved:.3f} chi2\n"]:
                break
        assert seen == [f"{moved:.3f} chi2\n"]
        # the kernel gives another problem
        notebook.run(2)
        explorer.wait_for_function("explorer.current.k === 2 && explorer.current.problem.link.name === 'kl'")
        assert "30 q points and 25 p points" in explorer.inner_text("#given-text")
        height = tab.evaluate("document.querySelector('.jp-OutputArea-output iframe').clientHeight")
        assert height >= explorer.evaluate("document.querySelector('.page').clientHeight") > 1000
        assert errors == []  # JupyterLab itself warns of this and that
        assert {url.split("/")[2] for url in watch.requests if url.startswith("http")} == {address.split("/")[2]}
        tab.close()
