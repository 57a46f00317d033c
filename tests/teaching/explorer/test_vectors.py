"""The explorer's JavaScript reproduces the package's numbers, in a real browser."""

import json
from pathlib import Path

import numpy as np
import pytest
from make_vectors import make

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))

SOLVE = """vectors => vectors.map(v => {
    const problem = tilt.problem(v.features, v.target, v.log_base, v.radius, v.norm);
    const run = solver.solve(problem);
    const slow = solver.solve(problem, "gradient", 30);
    const proofs = v.certificates.map(c => {
        const now = tilt.at(problem, c.delta);
        const own = certificate.certify(problem, now, run.hull);
        const lift = certificate.certify(problem, now, run.hull, true);
        const finite = x => Number.isFinite(x) ? x : null;
        return {value: now.value, lift: finite(lift.gap), gap: finite(own.gap), mu: own.mu, dual: own.dual};
    });
    const {position, radius, lower, direction} = run.hull;
    const hull = {position, radius, lower, direction};
    return {status: run.status, delta: run.delta, value: run.value, gap: Number.isFinite(run.gap) ? run.gap : null,
            mu: run.mu, hull, proofs, values: run.path.map(x => x.value), slow: slow.path.map(x => x.value),
            duals: run.path.map(x => Number.isFinite(x.proof.dual) ? x.proof.dual : null)};
})"""


@pytest.fixture(scope="module")
def page(browser, address):
    page = browser.new_page()
    page.goto(address)
    return page


@pytest.fixture(scope="module")
def answers(page):
    found = page.evaluate(SOLVE, VECTORS)
    return dict(zip([v["name"] for v in VECTORS], found, strict=True))


def test_the_stored_vectors_are_up_to_date():
    made = make()
    assert [v["name"] for v in made] == [v["name"] for v in VECTORS]
    for new, old in zip(made, VECTORS, strict=True):
        assert (new["status"], new["position"], new["norm"]) == (old["status"], old["position"], old["norm"])
        for key in ("delta", "value", "mu", "minimal_radius", "features", "target", "log_base", "radius"):
            if old[key] is None:
                assert new[key] is None
            else:
                np.testing.assert_allclose(new[key], old[key], rtol=1e-9, atol=1e-9, err_msg=f"{old['name']}: {key}")
        for ours, stored in zip(new["certificates"], old["certificates"], strict=True):
            assert (ours["gap"] is None) == (stored["gap"] is None)
            np.testing.assert_allclose(ours["value"], stored["value"], rtol=1e-9, atol=1e-9)


def test_the_vectors_cover_all_statuses_norms_and_dimensions():
    assert len(VECTORS) >= 40
    assert {v["status"] for v in VECTORS} == {"optimal", "infeasible", "boundary"}
    assert {v["norm"] for v in VECTORS} == {"2", "inf", "1"}
    assert {len(v["target"]) for v in VECTORS} == {1, 2}
    assert max(max(v["log_base"]) - min(v["log_base"]) for v in VECTORS) >= 100


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_the_browser_finds_the_same_solution(answers, vector):
    found = answers[vector["name"]]
    assert found["status"] == vector["status"]
    assert found["hull"]["position"] == vector["position"]
    np.testing.assert_allclose(found["hull"]["radius"], vector["minimal_radius"], rtol=1e-9, atol=1e-9)
    if vector["status"] == "optimal":
        np.testing.assert_allclose(found["delta"], vector["delta"], rtol=1e-8, atol=1e-8)
        assert found["gap"] <= 1e-11 * (1 + abs(found["value"]))
    if vector["status"] != "infeasible":
        np.testing.assert_allclose(found["mu"], vector["mu"], rtol=0, atol=1e-8)
        np.testing.assert_allclose(found["value"], vector["value"], rtol=1e-8, atol=1e-8)
        bounds = [dual for dual in found["duals"] if dual is not None]
        assert len(bounds) == len(found["values"])  # every step has a certificate
        assert np.all(np.diff(bounds) >= -1e-9 * (1 + abs(found["value"])))  # and bounds never get worse
        assert max(bounds) <= found["value"] + 1e-9 * (1 + abs(found["value"]))
    else:
        assert found["hull"]["lower"] > vector["radius"]
        assert found["gap"] is None
        assert found["values"][-1] < found["values"][len(found["values"]) // 2] < 0  # it keeps falling


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["position"] == "outside"], ids=lambda v: v["name"])
def test_a_separating_direction_separates(answers, vector):
    hull = answers[vector["name"]]["hull"]
    v, F, b = np.array(hull["direction"]), np.array(vector["features"]), np.array(vector["target"])
    dual = {"2": 2, "inf": 1, "1": np.inf}[vector["norm"]]
    assert np.linalg.norm(v, dual) == pytest.approx(1.0, rel=1e-12)
    assert v @ b - (F @ v).max() == pytest.approx(hull["radius"], rel=1e-9)


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["certificates"]], ids=lambda v: v["name"])
def test_certificates_away_from_the_optimum_are_true_and_as_tight_as_those_of_the_package(answers, vector):
    F, b = np.array(vector["features"]), np.array(vector["target"])
    order = {"2": 2, "inf": np.inf, "1": 1}[vector["norm"]]
    a = np.array(vector["log_base"])
    a = a - np.logaddexp.reduce(a)
    for ours, theirs in zip(answers[vector["name"]]["proofs"], vector["certificates"], strict=True):
        assert ours["value"] == pytest.approx(theirs["value"], rel=1e-9, abs=1e-9)
        # the package bounds the divergence that the explorer computes
        assert theirs["gap"] is None or ours["gap"] <= theirs["gap"] * (1 + 1e-8) + 1e-10
        assert ours["lift"] is None or ours["gap"] <= ours["lift"] * (1 + 1e-12)
        assert min(ours["gap"], theirs["gap"] or np.inf) >= (theirs["value"] - vector["value"]) * (1 - 1e-8) - 1e-10
        # the weights behind the gap are feasible, and their value is the bound
        mu = np.array(ours["mu"])
        assert mu.min() >= 0.0
        assert mu.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.linalg.norm(b - mu @ F, order) <= vector["radius"] + 1e-12
        carried = mu[mu > 0]
        assert (carried * (a[mu > 0] - np.log(carried))).sum() >= ours["dual"] - 1e-9 * (1 + abs(ours["dual"]))
        assert ours["dual"] <= vector["value"] + 1e-9 * (1 + abs(vector["value"]))


def test_gradient_descent_never_rises(answers):
    for found in answers.values():
        values = np.array(found["slow"])
        assert np.all(np.diff(values) <= 1e-12 * (1 + np.abs(values[1:])))


LOG = np.log
SIDE = [[1, 0], [1, 1]]
CORNER = [[0, 0], *SIDE, [1, 0.2]]
# features, target, radius, norm; then status, weights and dual value (or None), computed by hand
TOUCHING = {
    "the ball ends where two points are": (
        [[0], [1], [1]], [1.5], 0.5, "2", "boundary", [0, 0.5, 0.5], LOG(2 / 3)),
    "all points in one place, as far as the radius": ([[1], [1]], [1.5], 0.5, "2", "optimal", [0.5, 0.5], 0),
    "in the plane too": ([[0.6, 0.8]] * 3, [0, 0], 1, "2", "optimal", [1 / 3] * 3, 0),
    "a side of the ball on three points": (
        CORNER, [2, 0.5], 1, "inf", "boundary", [0, 1 / 3, 1 / 3, 1 / 3], LOG(3 / 4)),
    "a circle on a face": (SIDE + [[0, 0]], [2, 0.8], 1, "2", "boundary", [0.2, 0.8, 0], None),
    "a circle on all points": (SIDE, [2, 0.8], 1, "2", "boundary", [0.2, 0.8], None),
    "a circle on all points, at their mean": (SIDE, [2, 0.5], 1, "2", "optimal", [0.5, 0.5], 0),
    "a side of the ball on all points": (SIDE, [2, 1.8], 1, "inf", "optimal", [0.2, 0.8], None),
    "a corner of the ball on a face": (SIDE + [[0, 0]], [2, 0.8], 1, "1", "boundary", [0.2, 0.8, 0], None),
    "the target in the one place but for round-off": (
        [[0.43, 0.1849]] * 4, [0.43 - 2**-54, 0.1849 + 2**-55], 0, "2", "optimal", [0.25] * 4, 0),
    "so on the line": ([[2]] * 7, [2 - 2**-52], 0, "2", "optimal", [1 / 7] * 7, 0),
    "a target on a doubled corner": (
        [[0, 0], [0, 0], [1, 0], [0, 1]], [0, 0], 0, "2", "boundary", [0.5, 0.5, 0, 0], LOG(1 / 2)),
}  # fmt: skip


# weights may violate the constraint by 1e-12; along the tangent of a circle that allows 1.4e-6, which changes D by
# log 4 times as much
def test_a_ball_that_just_touches_the_hull_and_coinciding_points(page):
    problems = [[F, b, R, norm] for F, b, R, norm, *_ in TOUCHING.values()]
    script = """problems => problems.map(([F, b, R, norm]) => ["newton", "gradient"].map(method => {
        const {status, mu, dual, delta, path} = solver.solve(tilt.problem(F, b, F.map(() => 0), R, norm), method);
        return {status, mu, dual, delta, proofs: path.map(x => [x.value, x.proof.gap, x.proof.mu])}; }))"""
    found = page.evaluate(script, problems)
    for (name, case), runs in zip(TOUCHING.items(), found, strict=True):
        F, b, R, norm, status, mu, dual = case
        expected = -sum(w * LOG(w * len(mu)) for w in mu if w) if dual is None else dual
        for run in runs:
            assert run["status"] == status, name
            np.testing.assert_allclose(run["mu"], mu, atol=1e-7, err_msg=name)
            assert run["dual"] == pytest.approx(expected, abs=1e-7), name
            assert np.all(np.isfinite(run["delta"])), name
            for value, gap, weights in run["proofs"]:  # every certificate has feasible weights
                assert value - gap <= expected + (2e-6 if name.startswith("a circle") else 1e-9), name
                assert sum(weights) == pytest.approx(1, abs=1e-12), name
                order = {"2": 2, "inf": np.inf, "1": 1}[norm]
                assert np.linalg.norm(np.array(b) - np.array(weights) @ np.array(F), order) <= R + 1e-12, name
