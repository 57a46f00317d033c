"""``settings=`` of estimators and applications reaches the solver, and survives cloning and saving."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import pre_convex as pre
from pre_convex.applications import detection, explanation

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(0.3, 1.0, (90, 2)), RNG.normal(0.0, 1.2, (120, 2))
SETTINGS = pre.Settings(tol=1e-5, max_iter=50)


@pytest.mark.parametrize("kind", [pre.PosteriorRatio, pre.KLIEP, pre.PluginRatio])
def test_an_estimator_passes_its_settings_on(kind):
    fit = clone(kind(settings=SETTINGS)).fit(X_P, X_Q)
    assert fit.solution_.settings == SETTINGS


def test_the_classifier_passes_its_settings_on():
    X, y = np.concatenate([X_P, X_Q]), np.repeat([1, 0], [90, 120])
    assert pre.RatioClassifier(settings=SETTINGS).fit(X, y).solution_.settings == SETTINGS


def test_tol_replaces_that_of_the_settings():
    fit = pre.PosteriorRatio(tol=1e-9, settings=SETTINGS).fit(X_P, X_Q)
    assert fit.solution_.settings == pre.Settings(tol=1e-9, max_iter=50)


def test_a_limit_raises_an_error_that_carries_the_answer():
    with pytest.raises(pre.SolveError) as caught:
        pre.PosteriorRatio(settings=pre.Settings(max_iter=1)).fit(X_P, X_Q)
    assert caught.value.solution.status is pre.Status.ITERATION_LIMIT


@pytest.mark.parametrize("settings", [None, SETTINGS])
def test_settings_and_trace_are_saved_with_a_fit(settings, tmp_path: Path):
    fit = pre.PosteriorRatio(settings=settings).fit(X_P, X_Q)
    copy = pre.load(pre.save(fit, tmp_path / "fit.npz"))
    assert copy.settings == settings
    assert copy.solution_.settings == fit.solution_.settings
    assert fit.solution_.trace
    assert copy.solution_.trace == fit.solution_.trace


def test_a_detector_passes_its_settings_on():
    pair = {"noise": 1.0, "features": "linear", "settings": pre.Settings(max_iter=1)}
    rng = np.random.default_rng(0)
    priors = rng.normal(0.0, 1.0, (500, 4)), rng.normal(0.0, 2.0, (500, 4))
    status = detection.score(np.zeros(4), np.full(4, 2.0), *priors, warn=False, **pair).status
    assert status is pre.Status.ITERATION_LIMIT


def test_an_explanation_passes_its_settings_on():
    def box(z: np.ndarray) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-z[:, 0]))

    found = explanation.explain(box, [0.1, 0.2], 0.5, n=100, n_test=0, settings=SETTINGS)
    assert found.fit.solution.settings == SETTINGS
