"""The map from the paper's symbols to ours names nothing that does not exist, and leaves no symbol out."""

import contextlib
import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import pre_convex as pre

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "symbols.md").read_text(encoding="utf-8")
#: a bar inside a formula is written \mid or \Vert, so that every other one ends a cell
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
ROWS = [row for row in ROWS if row[0] != "paper"]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[-1])})
#: of the method and of its theory
TEXT = r"""
\delta, \hat\delta, \delta^*, \hat\delta_{\mathrm{dual}}, \Delta_n, \ell, Z(\delta), X_p, X_q, n_p, n_q, y_p, y_q
l_p, l_q, \hat p(y_p), \hat q(y_q), f(x), r(x;\delta), r_{n_q}, f'_p, f'_q, f'_{p_n}, \Sigma, \Sigma_p, \Sigma_q, \mu_i
\hat\mu, R_n, E_{q_n}, C_0, C_r, R_1, R_2, R_3, \epsilon_{R_1}, \epsilon_{R_2}, \lambda_{\min}, C', \hat E_{p(x)}
\hat E_{q(x)}, X_{\mathrm{loc}}, \delta_0, \nabla_\delta, \nabla^2_\delta, t_i, p(x\mid y_p), q(x\mid y_q), p(y_p)
"""
SYMBOLS = re.split(r", |\n", TEXT.strip())
NAME = re.compile(r"(?P<path>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\((?P<argument>\w+)\))?")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    return pre.PosteriorRatio().fit(rng.normal(0.3, 1.0, (50, 1)), rng.normal(0.0, 1.0, (50, 1)))


def member(owner, name, fitted):
    """An attribute of a module or class; fields of dataclasses and what a fit sets exist on instances only."""
    if owner is pre.PosteriorRatio and name.endswith("_"):
        return getattr(fitted, name)
    if dataclasses.is_dataclass(owner) and name in owner.__dataclass_fields__:
        return owner.__dataclass_fields__[name]
    return getattr(owner, name)


def find(path, fitted):
    """What a dotted name stands for: a name of the package, or of a module of it."""
    found = pre
    if path.startswith("pre_convex_lab."):
        found, path = importlib.import_module("pre_convex_lab"), path.removeprefix("pre_convex_lab.")
    if path.startswith(("detection.", "explanation.")):
        found = importlib.import_module("pre_convex.applications")
    for word in path.split("."):
        if inspect.ismodule(found) and not hasattr(found, word):
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(f"{found.__name__}.{word}")
        found = member(found, word, fitted)
    assert not inspect.ismodule(found), f"{path} is a module"
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists(name, fitted):
    matched = NAME.fullmatch(name)
    assert matched, f"{name}: is neither A.b nor A(b)"
    found = find(matched["path"], fitted)
    if matched["argument"]:
        assert matched["argument"] in inspect.signature(found).parameters


def test_a_name_that_does_not_exist_is_noticed(fitted):
    for name in ("RatioProblem.nothing", "theory.nothing", "PosteriorRatio.nothing_"):
        with pytest.raises(AttributeError):
            find(name, fitted)


def test_every_row_has_four_cells_and_no_name_is_lost():
    assert len(ROWS) >= 60
    assert all(len(row) == 4 for row in ROWS), [row for row in ROWS if len(row) != 4]
    outside = [row for row in ROWS if any("`" in cell for cell in row[:3])]
    assert outside == []
    assert len(NAMES) >= 50


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_every_symbol_of_the_paper_is_there(symbol):
    assert any(symbol in row[0] for row in ROWS)


def test_scales_and_signs_are_those_of_the_remarks():
    rng = np.random.default_rng(1)
    x_p, x_q, delta = rng.normal(size=(40, 2)), rng.normal(size=(60, 2)), np.array([0.4, -0.2])
    l_p, l_q = np.exp(x_p[:, 0]), np.exp(-0.5 * x_q[:, 1] ** 2)
    problem = pre.RatioProblem.from_samples(x_p, x_q, np.log(l_p), np.log(l_q))
    p_hat, q_hat, tilted = l_p.mean(), l_q.mean(), l_q * np.exp(x_q @ delta)
    np.testing.assert_allclose(np.exp(problem.log_weights_p), l_p / (40 * p_hat))
    np.testing.assert_allclose(np.exp(problem.log_base), l_q / (60 * q_hat))
    np.testing.assert_allclose(problem.target, (l_p[:, None] / p_hat * x_p).mean(axis=0))  # E_p[f'_pn]
    loss = -(l_p * (x_p @ delta)).mean() / p_hat + np.log(tilted.mean()) - np.log(q_hat)  # (5) / p_hat, with C'
    assert problem.value(delta) == pytest.approx(loss)
    mu = np.exp(problem.log_mu(delta))
    entropy = -(mu * np.log(mu)).sum() + (mu * np.log(l_q)).sum() - np.log(l_q.sum())
    assert problem.dual_value(mu) == pytest.approx(entropy)
    # r_nq with q(y_q) = 1, and ours
    r_nq, log_z = np.exp(x_q @ delta) / tilted.mean(), problem.tilt(delta).log_z
    np.testing.assert_allclose(r_nq, np.exp(x_q @ delta - log_z) / q_hat)
    np.testing.assert_allclose(r_nq * l_q, 60 * mu)


def test_covariances_are_those_of_the_remarks():
    rng = np.random.default_rng(2)
    x_p, x_q = rng.normal(size=(400, 2)) + 1.0, rng.normal(size=(700, 2)) + 1.0
    l_p = np.exp(0.3 * x_p[:, 0])
    problem = pre.RatioProblem.from_samples(x_p, x_q, np.log(l_p))
    delta = pre.solve(problem).delta
    f_p, f_q = l_p[:, None] / l_p.mean() * x_p, 700 * np.exp(problem.log_mu(delta))[:, None] * x_q  # f'_p and r f'_q
    printed = np.cov(f_p.T, bias=True) / 400 + np.cov(f_q.T, bias=True) / 700
    np.testing.assert_allclose(pre.Inference(problem, delta, kind="paper").score_variance, printed, rtol=1e-6)
    b, w, mu = problem.target, np.exp(problem.log_weights_p), np.exp(problem.log_mu(delta))
    centred = (w[:, None] * (x_p - b)).T @ (w[:, None] * (x_p - b)) + (mu[:, None] * (x_q - b)).T @ (
        mu[:, None] * (x_q - b)
    )
    fit = pre.Inference(problem, delta, kind="centred")
    np.testing.assert_allclose(fit.score_variance, centred, rtol=1e-9)
    H = np.linalg.inv(problem.hessian(delta))
    np.testing.assert_allclose(fit.covariance, H @ centred @ H, rtol=1e-6)
