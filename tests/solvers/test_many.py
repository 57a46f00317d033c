"""solve_many: the answers of single solves, certificates that hold, and bad problems that affect no other."""

import numpy as np
import pytest
from pre_convex_lab.solvers.cases import subgradient

import pre_convex as pre
from pre_convex.data.batch import make_batch


def family(n=300, k=3, W=7, seed=0, radius=0.0, norm=2, spread=1.0, bases="own", features=None):
    """(F, targets, log_bases, δ): problem w has exactly the answer δ_w, for any radius and norm."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, k)) if features is None else features
    n, k = F.shape
    delta = 0.4 * rng.normal(size=(W, k))
    if norm == np.inf:
        delta[:, 1::2] = 0.0  # what an ℓ1 penalty leaves
    if norm == 1:
        delta[:, 0] = 1.5 * np.abs(delta).max(axis=1)
    log_bases = {"flat": None, "shared": spread * rng.normal(size=n)}.get(bases, spread * rng.normal(size=(W, n)))
    if bases == "holes":
        log_bases[rng.random((W, n)) < 0.3] = -np.inf
    logits = delta @ F.T + (0.0 if log_bases is None else log_bases)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    targets = (weights / weights.sum(axis=1, keepdims=True)) @ F
    targets += np.multiply(radius, [subgradient(d, norm) for d in delta])
    return F, targets, log_bases, delta


def singles(F, targets, log_bases, radius=0.0, norm=2, tol=1e-8):
    """The same problems in a loop."""
    W = len(targets)
    bases = [None] * W if log_bases is None else np.broadcast_to(log_bases, (W, len(F)))
    problems = [pre.RatioProblem(b, F, a, radius=radius, norm=norm) for b, a in zip(targets, bases, strict=True)]
    return [pre.solve(problem, tol=tol, check=False) for problem in problems]


def check_proofs(found, tol=1e-8):
    """Every proven answer is also certified by the certificate of a single problem on all rows."""
    for w in np.flatnonzero(found.ok):
        proof = pre.certify(found.problem(w), found.delta[w])
        assert proof.proves(tol)
        assert proof.primal_value == pytest.approx(found.primal_value[w], abs=1e-12)
        assert found.gap[w] <= tol * (1.0 + abs(proof.primal_value))
        assert found.dual_value[w] <= proof.primal_value + 1e-15
        # no lower bound exceeds the optimum
        assert found.dual_value[w] <= pre.solve(found.problem(w), tol=1e-12, check=False).primal_value + 1e-13


@pytest.mark.parametrize("bases", ["flat", "shared", "own", "holes"])
@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.05, 2), (0.05, np.inf), (0.05, 1)])
def test_answers_are_those_of_single_solves(radius, norm, bases):
    F, targets, log_bases, delta = family(radius=radius, norm=norm, bases=bases)
    found = pre.solve_many(F, targets, log_bases, radius=radius, norm=norm)
    assert found.ok.all()
    np.testing.assert_allclose(found.delta, delta, atol=1e-7)
    for w, one in enumerate(singles(F, targets, log_bases, radius, norm)):
        assert found.status[w] is one.status
        np.testing.assert_allclose(found.delta[w], one.delta, atol=1e-7)
        np.testing.assert_allclose(found[w].mu, one.mu, atol=1e-8)
        assert found.ess[w] == pytest.approx(1.0 / (one.mu @ one.mu))
        base = np.exp(found.problem(w).log_base)
        assert found.ess_base[w] == pytest.approx(1.0 / (base @ base))
    check_proofs(found)


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.02, 2), (0.02, np.inf), (0.02, 1)])
@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_many_rows_are_solved_through_a_subset(radius, norm, spread):
    F, targets, log_bases, delta = family(42_000, W=4, spread=spread, radius=radius, norm=norm)
    found = pre.solve_many(F, targets, log_bases, radius=radius, norm=norm, tol=1e-9)
    assert found.ok.all()
    assert found.passes < 10
    np.testing.assert_allclose(found.delta, delta, atol=1e-3)
    for w, one in enumerate(singles(F, targets, log_bases, radius, norm, tol=1e-9)):
        assert found.status[w] is one.status
        assert found.primal_value[w] == pytest.approx(one.primal_value, abs=2e-9)
    check_proofs(found, 1e-9)


def test_many_rows_with_a_small_effective_sample_size():
    F, targets, log_bases, _ = family(42_000, k=2, W=3, spread=6.0)
    found = pre.solve_many(F, targets, log_bases)
    assert found.ok.all()
    assert found.ess_base.max() < 100
    check_proofs(found)


def test_many_rows_with_equal_base_weights():
    F, targets, _, delta = family(42_000, k=2, W=3, bases="flat")
    found = pre.solve_many(F, targets, tol=1e-11)
    assert found.ok.all()
    assert found.ess_base[0] == pytest.approx(42_000)
    np.testing.assert_allclose(found.delta, delta, atol=1e-4)


@pytest.mark.parametrize("n", [300, 5000, 42_000])
def test_a_function_of_rows_gives_the_same_as_its_array(n):
    F, targets, log_bases, _ = family(n, k=2, W=3)
    seen = []

    def columns(rows):
        seen.append(rows)
        return log_bases[:, rows].T

    on_demand = pre.solve_many(F, targets, columns)
    at_once = pre.solve_many(F, targets, log_bases)
    np.testing.assert_allclose(on_demand.delta, at_once.delta, atol=1e-12)
    np.testing.assert_allclose(on_demand[1].mu, at_once[1].mu, atol=1e-14)
    assert max(rows.stop - rows.start for rows in seen) <= 4096


def test_shared_base_weights_equal_repeated_ones():
    F, targets, log_bases, _ = family(bases="shared")
    shared = pre.solve_many(F, targets, log_bases)
    repeated = pre.solve_many(F, targets, np.tile(log_bases, (len(targets), 1)))
    np.testing.assert_allclose(shared.delta, repeated.delta, atol=1e-12)


@pytest.mark.parametrize("offset", [1e3, -1e7])
def test_offsets_of_log_base_weights_do_not_matter(offset):
    F, targets, log_bases, _ = family()
    moved = pre.solve_many(F, targets, log_bases + offset)
    np.testing.assert_allclose(moved.delta, pre.solve_many(F, targets, log_bases).delta, atol=1e-6)
    np.testing.assert_allclose(moved.primal_value, pre.solve_many(F, targets, log_bases).primal_value, atol=1e-7)
    shared = pre.solve_many(F, targets, log_bases[0] + offset)
    assert shared.ok.all()


@pytest.mark.parametrize("n", [300, 150_000])
@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.05, 2), (0.05, np.inf), (0.05, 1)])
def test_a_batch_of_one_problem_gives_the_answer_of_solve(n, radius, norm):
    F, targets, log_bases, _ = family(n, W=1, radius=radius, norm=norm)
    one = pre.solve(pre.RatioProblem(targets[0], F, log_bases[0], radius=radius, norm=norm), tol=1e-14, check=False)
    found = pre.solve_many(F, targets, log_bases, radius=radius, norm=norm, tol=1e-14)
    np.testing.assert_allclose(found.delta[0], one.delta, atol=1e-7)
    assert found[0].settings.tol == 1e-14
    assert [stage.name for stage in found[0].trace] == [stage.name for stage in one.trace]


def test_one_problem_and_one_feature():
    F, targets, log_bases, delta = family(k=1, W=1)
    found = pre.solve_many(F[:, 0], targets, log_bases)
    np.testing.assert_allclose(found.delta, delta, atol=1e-8)
    assert len(found) == 1
    assert found[-1].status.ok


def test_problems_without_a_solution_do_not_affect_the_others():
    F, targets, log_bases, delta = family(W=6)
    bad = targets.copy()
    bad[1] = F.max(axis=0) + 1.0  # outside the hull
    bad[4] = F[np.argmax(F[:, 0])]  # a vertex
    found = pre.solve_many(F, bad, log_bases)
    names = [status.name for status in found.status]
    assert names == ["OPTIMAL", "INFEASIBLE", "OPTIMAL", "OPTIMAL", "BOUNDARY", "OPTIMAL"]
    assert found[1].hull.radius > 0.0
    assert found.ok.tolist() == [True, False, True, True, True, True]
    assert found[4].recession[0] == (0, 1)
    good = np.array([0, 2, 3, 5])
    np.testing.assert_allclose(found.delta[good], delta[good], atol=1e-8)
    without = pre.solve_many(F, targets[good], log_bases[good])
    np.testing.assert_allclose(found.delta[good], without.delta, rtol=0, atol=1e-12)
    assert repr(found) == "Solutions(6 problems, k=3: 4 OPTIMAL, 1 INFEASIBLE, 1 BOUNDARY)"


def test_a_problem_without_a_solution_among_many_rows():
    F, targets, log_bases, _ = family(42_000, k=2, W=4)
    bad = np.concatenate([targets, [[9.0, 9.0]]])
    found = pre.solve_many(F, bad, np.concatenate([log_bases, log_bases[:1]]))
    assert [status.name for status in found.status] == ["OPTIMAL"] * 4 + ["INFEASIBLE"]
    check_proofs(found)


def test_targets_far_outside_the_hull_are_detected_in_few_passes():
    rng = np.random.default_rng(8)
    F = rng.normal(size=(600, 120))
    targets = F.mean(axis=0) + rng.normal(size=(5, 120))
    targets[3] = F.mean(axis=0) + 0.01
    found = pre.solve_many(F, targets)
    assert [status.name for status in found.status] == ["INFEASIBLE"] * 3 + ["OPTIMAL", "INFEASIBLE"]
    assert found.passes <= 15  # steps that diverge are recognised early
    assert found.delta[3] == pytest.approx(pre.solve(pre.RatioProblem(targets[3], F)).delta, abs=1e-7)


def test_each_problem_may_have_its_own_radius():
    F, targets, log_bases, _ = family(W=3)
    radius = [0.0, 0.1, 10.0]
    found = pre.solve_many(F, targets, log_bases, radius=radius)
    for w, R in enumerate(radius):
        one = pre.solve(pre.RatioProblem(targets[w], F, log_bases[w], radius=R))
        np.testing.assert_allclose(found.delta[w], one.delta, atol=1e-7)
        assert found.problem(w).radius == R
    assert not found.delta[2].any()


@pytest.mark.parametrize("change", ["collinear", "constant", "offset", "scales"])
def test_degenerate_features_give_the_answers_of_single_solves(change):
    F, *_ = family()
    if change == "collinear":
        F[:, 2] = F[:, 0] - 2.0 * F[:, 1]
    elif change == "constant":
        F[:, 1] = 3.0
    elif change == "offset":
        F = F + np.array([1e4, 0.0, -1e3])
    else:
        F = F * np.array([1e-6, 1.0, 1e5])
    log_bases = np.random.default_rng(1).normal(size=(4, len(F)))
    weights = np.exp(log_bases + 0.3 * np.sign(F[:, 0] - F[:, 0].mean()))
    targets = (weights / weights.sum(axis=1, keepdims=True)) @ F
    found = pre.solve_many(F, targets, log_bases)
    for w, one in enumerate(singles(F, targets, log_bases)):
        assert found.status[w] is one.status
        np.testing.assert_allclose(found.delta[w], one.delta, rtol=1e-5, atol=1e-7)
        assert found[w].free_directions == one.free_directions


def test_a_good_start_saves_passes_and_a_bad_one_does_no_harm():
    F, targets, log_bases, delta = family()
    cold = pre.solve_many(F, targets, log_bases)
    warm = pre.solve_many(F, targets, log_bases, start=delta)
    assert warm.passes < cold.passes
    np.testing.assert_allclose(warm.delta, delta, atol=1e-8)
    lost = pre.solve_many(F, targets, log_bases, start=[30.0, -50.0, 80.0])
    np.testing.assert_allclose(lost.delta, delta, atol=1e-7)


def test_features_and_names_come_from_a_problem():
    F, targets, log_bases, delta = family()
    problem = pre.RatioProblem(targets[0], F, feature_names=["a", "b", "c"])
    found = pre.solve_many(problem, targets, log_bases)
    np.testing.assert_allclose(found.delta, delta, atol=1e-7)
    frame = found.to_frame()
    assert list(frame.columns) == ["status", "value", "gap", "ess", "ess_base", "a", "b", "c"]
    assert (frame["status"] == "OPTIMAL").all()
    assert found.to_frame("polars").height == len(found)
    with pytest.raises(pre.DataError, match="backend"):
        found.to_frame("xlsx")
    with pytest.raises(IndexError):
        found[len(found)]
    assert len(list(found)) == len(found)
    with pytest.raises(ValueError, match="read-only"):
        found.delta[0] = 0.0


def test_verbose_prints_the_stages(capsys):
    F, targets, log_bases, _ = family()
    pre.solve_many(F, targets, log_bases, verbose=True)
    assert "7 of 7 problems" in capsys.readouterr().out


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("n", [300, 9000])
def test_bad_log_base_weights_are_named_by_row_and_problem(value, n):
    F, targets, log_bases, _ = family(n)
    log_bases[5, n - 11] = value
    with pytest.raises(pre.DataError, match=f"row {n - 11} of problem 5 is {value}") as error:
        pre.solve_many(F, targets, log_bases)
    assert error.value.argument == "log_bases"


@pytest.mark.parametrize("ids", [np.array([3, 4, 8, 290]), np.arange(1, 300, 9)], ids=["few", "many"])
@pytest.mark.parametrize("guess", [0.0, 900.0, -900.0])
def test_passes_of_a_batch_agree_with_those_of_single_problems_for_any_guess(guess, ids):
    F, targets, log_bases, delta = family(700, W=300)
    batch = make_batch(F, 300, None, log_bases)
    batch = batch.normalised(batch.summarise_base().level)
    found = batch.moments(3.0 * delta[ids], ids, np.full(len(ids), guess), covariance=True)
    for i, w in enumerate(ids):
        one = pre.RatioProblem(targets[w], F, log_bases[w]).tilt(3.0 * delta[w], covariance=True)
        assert found.log_z[i] + batch.centre @ (3.0 * delta[w]) == pytest.approx(one.log_z, abs=1e-12)
        np.testing.assert_allclose(found.mean[i] + batch.centre, one.mean, atol=1e-12)
        np.testing.assert_allclose(found.covariance[i], one.covariance, atol=1e-12)


def test_base_weights_radius_and_norm_come_from_a_problem():
    rng = np.random.default_rng(0)
    problem = pre.RatioProblem([0.2, 0.1], rng.normal(size=(300, 2)), rng.normal(size=300), radius=0.05, norm=1)
    found = pre.solve_many(problem, [problem.target])
    np.testing.assert_allclose(found.delta[0], pre.solve(problem).delta, atol=1e-6)
    plain = pre.solve_many(problem, [problem.target], radius=0.0, norm=2)
    np.testing.assert_allclose(plain.delta[0], pre.solve(problem.with_radius(0.0, 2)).delta, atol=1e-6)
    with pytest.raises(pre.DataError) as error:
        found[0:1]
    assert error.value.argument == "index"


FAMILY = [
    {"divergence": "chi2"},
    {"divergence": "reverse-kl", "bounds": (0.1, 5.0)},
    {"bounds": (np.linspace(0.0, 0.5, 200), 4.0)},
    {"divergence": "chi2", "max_weight": 0.02},
    {},
]


@pytest.mark.parametrize("radius", [0.0, 0.05, np.linspace(0.0, 0.1, 4), [[0.0, 0.05, np.inf]]], ids=str)
@pytest.mark.parametrize("terms", FAMILY, ids=lambda terms: "-".join(terms))
def test_the_whole_family_has_the_answers_of_single_solves(terms, radius):
    rng = np.random.default_rng(0)
    F, targets, bases = rng.normal(size=(200, 3)), 0.1 * rng.normal(size=(4, 3)), 0.3 * rng.normal(size=(4, 200))
    found = pre.solve_many(F, targets, bases, radius=radius, norm=1, **terms)
    assert found.ok.all()
    for w in range(4):
        R = radius if np.ndim(radius) == 0 else radius[w] if np.ndim(radius) == 1 else radius[0]
        one = pre.solve(pre.RatioProblem(targets[w], F, bases[w], radius=R, norm=1, **terms))
        np.testing.assert_allclose(found[w].mu, one.mu, atol=1e-9)
        np.testing.assert_allclose(found.delta[w], one.delta, atol=1e-7)
        assert found.ess[w] == pytest.approx(1.0 / (one.mu @ one.mu))


def test_a_problem_passes_on_its_divergence_bounds_and_radii():
    rng = np.random.default_rng(1)
    F, targets = rng.normal(size=(150, 2)), 0.1 * rng.normal(size=(3, 2))
    terms = {"divergence": "chi2", "max_weight": 0.02, "radius": [0.0, 0.05]}
    problem = pre.RatioProblem(targets[0], F, **terms)
    found = pre.solve_many(problem, targets)
    for w, target in enumerate(targets):
        np.testing.assert_allclose(found.delta[w], pre.solve(pre.RatioProblem(target, F, **terms)).delta, atol=1e-9)
    assert pre.solve_many(problem, targets, divergence="kl").problem(0).divergence == "kl"
    outside = pre.solve_many(problem, [[9.0, 9.0], targets[0]])
    assert [status.name for status in outside.status] == ["INFEASIBLE", "OPTIMAL"]
    with pytest.raises(pre.DataError, match="problem 1"):  # all base weight on rows that may have 0.02 each
        pre.solve_many(problem, targets[:2], [np.zeros(150), np.append(np.zeros(9), np.full(141, -np.inf))])
