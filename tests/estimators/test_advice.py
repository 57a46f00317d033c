"""An estimator that cannot fit says what to pass instead, and what it says works: its advice is followed literally."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

import pre_convex as pre

pytestmark = pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")  # few rows on purpose

DATA = {"breast cancer": load_breast_cancer, "wine": load_wine, "diabetes": load_diabetes, "digits": load_digits}


def biased_split(name, seed, strength=3.0):
    """Rows of which those with a large value of a random column are mostly on the p side."""
    X = DATA[name]().data
    rng = np.random.default_rng([seed, len(X)])
    varying = np.flatnonzero(X.std(axis=0) > 0.0)
    column = X[:, rng.choice(varying)]
    on_p = rng.random(len(X)) < 1.0 / (1.0 + np.exp(-strength * (column - column.mean()) / column.std()))
    return X[on_p], X[~on_p]


def usable(fit, n):
    """Weights that are not those of a few rows."""
    return 1.0 / np.square(fit.mu_).sum() >= min(10.0, 0.05 * n) and fit.mu_.max() < 0.5


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", DATA)
def test_ordinary_tables_are_fitted_by_default_or_by_the_advice(name, seed):
    x_p, x_q = biased_split(name, seed)
    try:
        fit = pre.KLIEP().fit(x_p, x_q)
    except pre.InfeasibleError as error:
        fits = [pre.KLIEP(**parameters).fit(x_p, x_q) for parameters in error.advice]
        assert all(fit.solution_.status is pre.Status.OPTIMAL for fit in fits)
        assert usable(fits[0], len(x_q))  # the first is the one to take
        for call in re.findall(r"(?:pass|features,) (radius=(?:\"\w+\"|\{.*?\}))", str(error)):
            assert eval(f"pre.KLIEP({call})", {"pre": pre}).fit(x_p, x_q).solution_.ok
        if re.search(r"drop x\d", str(error)):
            kept = [i for i in range(x_p.shape[1]) if f"x{i}" not in error.drop]
            assert pre.KLIEP().fit(x_p[:, kept], x_q[:, kept]).solution_.ok
    else:
        assert usable(fit, len(x_q)) or fit.diagnostics().warnings


def infeasible(**parameters):
    rng = np.random.default_rng(0)
    x_q = rng.uniform(0.0, 1.0, (300, 3)) * [1.0, 1e3, 1.0]
    x_p = rng.uniform(0.2, 0.8, (200, 3)) * [1.0, 1e3, 1.0] + [0.0, 700.0, 0.0]
    with pytest.raises(pre.InfeasibleError) as caught:
        pre.KLIEP(**parameters).fit(x_p, x_q)
    return caught.value, x_p, x_q


def test_the_error_names_the_remedies_as_text_and_as_fields():
    error, x_p, x_q = infeasible()
    assert [parameters["radius"] for parameters in error.advice[:2]] == ["cv", "auto"]
    assert error.conflict == error.drop == ("x1",)
    assert error.advice[2] == {"radius": error.advised_relaxation}
    assert error.advice[3]["radius"] > error.advised_radius
    text = str(error)
    b, high = x_p[:, 1].mean(), x_q[:, 1].max()
    assert f"The target {b:.4g} of x1 is outside the q range" in text
    assert f"{high:.4g}]" in text  # values as they are, not standardised
    for part in ('radius="cv"', 'radius="auto"', 'radius={"x1":', "standard deviations or more", "drop x1"):
        assert part in text
    assert pre.KLIEP(radius=error.advised_radius).fit(x_p, x_q).solution_.ok


def test_a_fit_in_raw_units_is_told_to_standardise():
    error, x_p, x_q = infeasible(standardise=False)
    assert error.advice[0] == {"radius": "cv", "standardise": True}
    assert "standardise=True" in str(error)
    for parameters in error.advice:
        assert pre.KLIEP(**{"standardise": False, **parameters}).fit(x_p, x_q).solution_.ok


@pytest.mark.parametrize("parameters", [{"divergence": "chi2"}, {"max_weight": 0.1}, {"radius": 0.2}])
def test_the_advice_holds_for_other_members_of_the_family(parameters):
    error, x_p, x_q = infeasible(**parameters)
    assert error.advice
    for advised in error.advice:
        assert pre.KLIEP(**{**parameters, **advised}).fit(x_p, x_q).solution_.ok
