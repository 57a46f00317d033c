"""The explorer's JavaScript reproduces the package's numbers, in a real browser."""

import json
from pathlib import Path

import numpy as np
import pytest
from make_vectors import make
from scipy.special import xlogy

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))

SOLVE = """vectors => vectors.map(v => {
    const link = divergences.link(v.divergence, v.bounds[0], v.bounds[1] ?? Infinity);
    const problem = tilt.problem(v.features, v.target, v.log_base, v.radius, v.norm, link);
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
    const {intercept} = run.path.at(-1);
    return {status: run.status, delta: run.delta, value: run.value, gap: Number.isFinite(run.gap) ? run.gap : null,
            mu: run.mu, intercept, hull, proofs, values: run.path.map(x => x.value), slow: slow.path.map(x => x.value),
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
    assert len(VECTORS) >= 150
    members = {(v["divergence"], *v["bounds"]) for v in VECTORS}
    assert members == {
        (d, *b) for d in ("kl", "chi2", "reverse-kl") for b in ((0, None), (0, 2.5), (0.3, None), (0.3, 2.5))
    }
    for status in ("optimal", "infeasible"):
        assert {(v["divergence"], *v["bounds"]) for v in VECTORS if v["status"] == status} == members
    assert {v["status"] for v in VECTORS} == {"optimal", "infeasible", "boundary"}
    assert {v["norm"] for v in VECTORS} == {"2", "inf", "1"}
    assert {len(v["target"]) for v in VECTORS} == {1, 2}
    assert max(max(v["log_base"]) - min(v["log_base"]) for v in VECTORS) >= 100


def base(vector):
    """Base weights π."""
    weights = np.exp(np.array(vector["log_base"]) - max(vector["log_base"]))
    return weights / weights.sum()


def intercept(found, vector):
    """c for features that are not centred, as in the package; the explorer centres them at the target."""
    return found["intercept"] - np.dot(found["delta"], vector["target"])


def dual_value(vector, mu):
    """D(μ) = −Σ π φ(μ/π)."""
    pi = base(vector)
    if vector["divergence"] == "kl":
        return -xlogy(mu, mu / pi).sum()
    return -0.5 * ((mu - pi) ** 2 / pi).sum() if vector["divergence"] == "chi2" else (pi * np.log(mu / pi)).sum()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_the_browser_finds_the_same_solution(answers, vector):
    found = answers[vector["name"]]
    assert found["status"] == vector["status"]
    assert found["hull"]["position"] == vector["position"]
    np.testing.assert_allclose(found["hull"]["radius"], vector["minimal_radius"], rtol=1e-9, atol=1e-9)
    if vector["status"] == "optimal":
        np.testing.assert_allclose(found["delta"], vector["delta"], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(intercept(found, vector), vector["intercept"], rtol=1e-8, atol=1e-8)
        assert found["gap"] <= 1e-11 * (1 + abs(found["value"]))
        lo, hi = vector["bounds"]
        ratios = np.array(found["mu"]) / base(vector)
        assert lo - 1e-12 <= ratios.min() <= ratios.max() <= (np.inf if hi is None else hi) + 1e-12
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
    # the farthest mean along v: as much weight as possible on the points that are highest
    pi, (lo, hi) = base(vector), vector["bounds"]
    mu, left = lo * pi, 1 - lo
    for j in np.argsort(-F @ v):
        more = left if hi is None else min((hi - lo) * pi[j], left)
        mu[j], left = mu[j] + more, left - more
    assert v @ b - mu @ F @ v == pytest.approx(hull["radius"], rel=1e-9)


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["certificates"]], ids=lambda v: v["name"])
def test_certificates_away_from_the_optimum_are_true_and_as_tight_as_those_of_the_package(answers, vector):
    F, b = np.array(vector["features"]), np.array(vector["target"])
    order = {"2": 2, "inf": np.inf, "1": 1}[vector["norm"]]
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
        lo, hi = vector["bounds"]
        assert np.all(mu >= lo * base(vector) * (1 - 1e-12))
        assert hi is None or np.all(mu <= hi * base(vector) * (1 + 1e-12))
        assert dual_value(vector, mu) >= ours["dual"] - 1e-9 * (1 + abs(ours["dual"]))
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


FOUR = [[0], [1], [2], [3]]


def kl_of(*ratios):
    return -np.mean([t * LOG(t) - t + 1 for t in ratios])


# features, target, radius, norm, divergence, bounds; then status, weights and dual value, computed by hand
TOUCHING_FAMILY = {
    "chi-square on a doubled end has a finite δ": (
        [[0], [1], [1]], [1], 0, "2", "chi2", (0, None), "optimal", [0, 0.5, 0.5], -0.25),
    "reverse KL forbids weights of zero": (
        [[0], [1], [1]], [1], 0, "2", "reverse-kl", (0, None), "boundary", [0, 0.5, 0.5], -np.inf),
    "at the end of what an upper bound leaves, two weights are zero": (
        FOUR, [2.5], 0, "2", "kl", (0, 2), "boundary", [0, 0, 0.5, 0.5], -LOG(2)),
    "with both bounds all weights are on a bound, and δ is finite": (
        FOUR, [2], 0, "2", "kl", (0.5, 1.5), "optimal", [0.125, 0.125, 0.375, 0.375], kl_of(0.5, 0.5, 1.5, 1.5)),
    "the ball ends there": (
        FOUR, [2.5], 0.5, "2", "kl", (0.5, 1.5), "optimal", [0.125, 0.125, 0.375, 0.375], kl_of(0.5, 0.5, 1.5, 1.5)),
    "an edge of the region in the plane": (
        [[0, 0], [0, 1], [1, 0], [1, 1]], [0.75, 0.5], 0, "2", "chi2", (0, 1.5), "optimal",
        [0.125, 0.125, 0.375, 0.375], -0.125),
    "an edge that a square ball touches": (
        [[0, 0], [0, 1], [1, 0], [1, 1]], [1.75, 0.5], 1, "inf", "kl", (0, 1.5), "optimal",
        [0.125, 0.125, 0.375, 0.375], kl_of(0.5, 0.5, 1.5, 1.5)),
}  # fmt: skip


def test_targets_at_the_edge_of_what_bounded_weights_reach(page):
    problems = [[*case[:5], list(case[5])] for case in TOUCHING_FAMILY.values()]
    script = """problems => problems.map(([F, b, R, norm, name, [lo, hi]]) => ["newton", "gradient"].map(method => {
        const link = divergences.link(name, lo, hi ?? Infinity);
        const run = solver.solve(tilt.problem(F, b, F.map(() => 0), R, norm, link), method);
        const {status, mu, delta, path} = run;
        const finite = x => Number.isFinite(x) ? x : null;
        return {status, mu, dual: finite(run.dual), delta, method,
                proofs: path.map(x => [x.value, finite(x.proof.gap), x.proof.mu])}; }))"""
    for (name, case), runs in zip(TOUCHING_FAMILY.items(), page.evaluate(script, problems), strict=True):
        F, b, R, _, _, (lo, hi), status, mu, dual = case
        for run in runs:
            if run["method"] == "newton":
                assert run["status"] == status, name
                np.testing.assert_allclose(run["mu"], mu, atol=1e-7, err_msg=name)
                assert run["dual"] == (None if dual == -np.inf else pytest.approx(dual, abs=1e-7)), name
            assert np.all(np.isfinite(run["delta"])), name
            for value, gap, weights in run["proofs"]:  # every certificate has feasible weights
                if gap is None:
                    continue
                assert value - gap <= dual + 1e-9, name
                ratios = np.array(weights) * len(F)
                assert lo - 1e-12 <= ratios.min() <= ratios.max() <= (hi or np.inf) + 1e-12, name
                assert np.abs(np.array(b) - np.array(weights) @ np.array(F)).max() <= R + 1e-12, name
